/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shown.h"

#define TEXT_SIZE 48
#define FIGURES_COLUMNS 50u /* of a policy's row, behind its name */
#define COUNT_COLUMNS 22u   /* of a key's row */
#define NAME_COLUMNS_MIN 12u

/* A policy's figures. */
struct row {
    const char *name;
    double allowed, denied, would; /* per second */
    uint64_t denied_all, all;
};

/* --- figures --------------------------------------------------------------------- */

static uint64_t number(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

static uint64_t number_in(const json_t *object, const char *outer, const char *name)
{
    return number(json_object_get(object, outer), name);
}

static uint64_t allowed_of(const json_t *counts)
{
    return number(counts, "allowed") + number(counts, "would_deny") + number(counts, "failed_open");
}

static uint64_t denied_of(const json_t *counts)
{
    return number(counts, "denied") + number(counts, "failed_closed");
}

/* Of the same daemon, with time in between; else 0. */
static double seconds_between(const struct mete__top_view *view)
{
    if (view->before == NULL || number(view->before, "started_ms") != number(view->now, "started_ms")) {
        return 0;
    }
    uint64_t from = number(view->before, "now_ms"), to = number(view->now, "now_ms");
    return to > from ? (double)(to - from) / 1000 : 0;
}

static double rate(uint64_t now, uint64_t before, double seconds)
{
    return seconds > 0 && now > before ? (double)(now - before) / seconds : 0;
}

static const json_t *find_policy(const json_t *stats, const char *name)
{
    size_t at;
    json_t *policy;
    json_array_foreach(json_object_get(stats, "policies"), at, policy)
    {
        const char *found = json_string_value(json_object_get(policy, "name"));
        if (found != NULL && strcmp(found, name) == 0) {
            return policy;
        }
    }
    return NULL;
}

static struct row make_row(const char *name, const json_t *now, const json_t *before, double seconds)
{
    return (struct row){.name = name,
                        .allowed = rate(allowed_of(now), allowed_of(before), seconds),
                        .denied = rate(denied_of(now), denied_of(before), seconds),
                        .would = rate(number(now, "would_deny"), number(before, "would_deny"), seconds),
                        .denied_all = denied_of(now) + number(now, "would_deny"),
                        .all = allowed_of(now) + denied_of(now)};
}

/* The busiest first; of two that are equal, the one that was busier. */
static int by_traffic(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    double l = left->allowed + left->denied, r = right->allowed + right->denied;
    if (l != r) {
        return l < r ? 1 : -1;
    }
    return (left->all < right->all) - (left->all > right->all);
}

/* --- texts ------------------------------------------------------------------------- */

static const char *duration(uint64_t ms, char out[TEXT_SIZE])
{
    uint64_t s = ms / 1000;
    if (s < 60) {
        snprintf(out, TEXT_SIZE, "%" PRIu64 " s", s);
    } else if (s < 3600) {
        snprintf(out, TEXT_SIZE, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    } else if (s < 86400) {
        snprintf(out, TEXT_SIZE, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
    } else {
        snprintf(out, TEXT_SIZE, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
    }
    return out;
}

static const char *rate_text(double value, char out[TEXT_SIZE])
{
    snprintf(out, TEXT_SIZE, value > 0 && value < 9.95 ? "%.1f" : "%.0f", value);
    return out;
}

static void heading(const struct mete__top_view *view, const char *text)
{
    printf(view->is_styled ? "\033[1m%s\033[0m\n" : "%s\n", text);
}

/* Name or key in `columns` columns, cut with a mark when it is longer. */
static void print_cell(const char *text, size_t len, size_t columns)
{
    size_t width = mete__shown_width(text, len);
    if (width <= columns) {
        mete__shown_print(text, len, columns);
        printf("%*s", (int)(columns - width), "");
        return;
    }
    size_t used = mete__shown_print(text, len, columns - 1);
    printf("~%*s", (int)(columns - 1 - used), "");
}

/* --- the parts ------------------------------------------------------------------------- */

static void print_head(const struct mete__top_view *view)
{
    char up[TEXT_SIZE], allowed[TEXT_SIZE], denied[TEXT_SIZE];
    const json_t *totals = json_object_get(view->now, "totals");
    struct row all = make_row("", totals, json_object_get(view->before, "totals"), seconds_between(view));
    uint64_t live = 0, max = 0;
    bool is_known = true;
    size_t at;
    json_t *store;
    json_array_foreach(json_object_get(view->now, "stores"), at, store)
    {
        is_known = is_known && json_is_integer(json_object_get(store, "keys_live"));
        live += number(store, "keys_live");
        max += number(store, "keys_max");
    }
    printf("mete %s at %s, up %s%s\n", json_string_value(json_object_get(view->now, "version")), view->address,
           duration(number(view->now, "uptime_ms"), up),
           json_is_true(json_object_get(view->now, "draining")) ? ", stopping" : "");
    uint64_t open = number_in(view->now, "connections", "open");
    printf("%s allowed/s, %s denied/s; %" PRIu64 " connection%s; ", rate_text(all.allowed, allowed),
           rate_text(all.denied, denied), open, open == 1 ? "" : "s");
    if (is_known) {
        printf("%" PRIu64 " of %" PRIu64 " keys live; ", live, max);
    } else {
        printf("room for %" PRIu64 " keys; ", max);
    }
    printf("%" PRIu64 " MiB\n", number_in(view->now, "process", "rss_bytes") >> 20);
}

static void print_policy(const struct row *row, size_t name_columns)
{
    char allowed[TEXT_SIZE], denied[TEXT_SIZE], would[TEXT_SIZE];
    print_cell(row->name, strlen(row->name), name_columns);
    printf(" %10s %9s %12s %12" PRIu64, rate_text(row->allowed, allowed), rate_text(row->denied, denied),
           rate_text(row->would, would), row->denied_all);
    printf(row->all > 0 ? " %3.0f%%\n" : "\n", row->all > 0 ? 100.0 * (double)row->denied_all / (double)row->all : 0.0);
}

static void print_policies(const struct mete__top_view *view)
{
    const json_t *policies = json_object_get(view->now, "policies");
    const json_t *own = json_object_get(view->now, "own");
    double seconds = seconds_between(view);
    size_t count = 0, at;
    struct row *rows = calloc(json_array_size(policies) + 1, sizeof *rows);
    if (rows == NULL) {
        return;
    }
    json_t *policy;
    json_array_foreach(policies, at, policy)
    {
        const char *name = json_string_value(json_object_get(policy, "name"));
        if (name != NULL) {
            rows[count++] = make_row(name, policy, find_policy(view->before, name), seconds);
        }
    }
    if (allowed_of(own) + denied_of(own) > 0) {
        rows[count++] = make_row("(own limits)", own, json_object_get(view->before, "own"), seconds);
    }
    qsort(rows, count, sizeof *rows, by_traffic);
    size_t columns =
        view->columns > FIGURES_COLUMNS + NAME_COLUMNS_MIN ? view->columns - FIGURES_COLUMNS : NAME_COLUMNS_MIN;
    char title[128];
    snprintf(title, sizeof title, "\n%-*s %10s %9s %12s %12s", (int)(columns < 64 ? columns : 64), "policy",
             "allowed/s", "denied/s", "dry denied/s", "denied");
    heading(view, title);
    for (size_t i = 0; i < count && i < view->policies_max; i++) {
        print_policy(&rows[i], columns < 64 ? columns : 64);
    }
    if (count > view->policies_max) {
        printf("and %zu more\n", count - view->policies_max);
    }
    free(rows);
}

/* A key that is not UTF-8 is told in base64 as well: that is shown. */
static void print_key(const json_t *entry, bool is_denied, size_t columns)
{
    const char *policy = json_string_value(json_object_get(entry, "policy"));
    const json_t *base64 = json_object_get(entry, "key_base64");
    const json_t *key = base64 != NULL ? base64 : json_object_get(entry, "key");
    bool has_text = json_string_length(key) > 0;
    const char *text = has_text ? json_string_value(key) : "(empty)";
    size_t len = has_text ? json_string_length(key) : strlen(text);
    char mark[TEXT_SIZE];
    snprintf(mark, sizeof mark, "%s%s",
             json_is_true(json_object_get(entry, "is_cut")) ? "..."
             : base64 != NULL                               ? " (base64)"
                                                            : "",
             is_denied && json_is_true(json_object_get(entry, "dry_run")) ? " (would deny)" : "");
    size_t policy_columns = columns / 4;
    policy = policy != NULL ? policy : "(own limits)";
    printf("%9" PRIu64, number(entry, "count"));
    if (number(entry, "error") > 0) {
        char error[TEXT_SIZE];
        snprintf(error, sizeof error, "-%" PRIu64, number(entry, "error"));
        printf(" %-8s  ", error);
    } else {
        printf("%11s", "");
    }
    print_cell(policy, strlen(policy), policy_columns);
    printf(" ");
    size_t room = columns - policy_columns - 1;
    size_t width = mete__shown_width(text, len);
    size_t mark_len = strlen(mark);
    print_cell(text, len, width + mark_len <= room ? width : room > mark_len ? room - mark_len : 1);
    printf("%s\n", mark);
}

static void print_keys(const struct mete__top_view *view, bool is_denied, const char *title, const char *none)
{
    const json_t *entries = json_object_get(view->top, is_denied ? "denied" : "allowed");
    size_t columns =
        view->columns > COUNT_COLUMNS + 2 * NAME_COLUMNS_MIN ? view->columns - COUNT_COLUMNS : 2 * NAME_COLUMNS_MIN;
    heading(view, title);
    if (json_array_size(entries) == 0) {
        printf("%s\n", none);
    }
    for (size_t i = 0; i < json_array_size(entries) && i < view->keys_max; i++) {
        print_key(json_array_get(entries, i), is_denied, columns);
    }
}

void mete__top_view_print(const struct mete__top_view *view)
{
    print_head(view);
    print_policies(view);
    print_keys(view, true, "\nmost denied keys of the last one to two minutes", "nobody");
    print_keys(view, false, "\nmost allowed keys", "nobody");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* `mete top`: what a running daemon does, live on a terminal, or once when piped. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/top_view.h"

#define PATH_SIZE 64
#define PLAIN_COLUMNS 100
#define HEAD_ROWS 9 /* of a terminal: what is not policies or keys */
#define FIRST_MS 1000
#define WHY_SIZE 1024

struct options {
    struct mete__client client;
    uint64_t interval_s;
    uint64_t count;
    bool is_once;
    bool is_json;
};

static volatile sig_atomic_t is_over;

static void on_signal(int number)
{
    (void)number;
    is_over = 1;
}

/* NULL after a sentence, with the exit code. */
static json_t *fetch(const struct options *options, const char *path, int *code)
{
    struct mete__client_answer answer;
    *code = mete__client_ask(&options->client, path, NULL, &answer);
    if (*code != METE__EXIT_OK) {
        return NULL;
    }
    if (answer.status != 200) {
        *code = mete__client_complain(&options->client, &answer);
        json_decref(answer.body);
        return NULL;
    }
    return answer.body;
}

static json_t *fetch_top(const struct options *options, int *code)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/v1/top?count=%llu", (unsigned long long)options->count);
    return fetch(options, path, code);
}

static void wait_ms(uint64_t ms)
{
    struct timespec span = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&span, NULL); /* a signal ends it */
}

/* --- once ---------------------------------------------------------------------------- */

static int print_json(const struct options *options)
{
    int code;
    json_t *stats = fetch(options, "/v1/stats", &code);
    json_t *top = stats != NULL ? fetch_top(options, &code) : NULL;
    if (top != NULL) {
        json_t *both = json_pack("{s:O, s:O}", "stats", stats, "top", top);
        json_dumpf(both, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(both);
    }
    json_decref(stats);
    json_decref(top);
    return code;
}

/* Rates are over one second. */
static int print_once(const struct options *options)
{
    int code;
    json_t *before = fetch(options, "/v1/stats", &code);
    json_t *now = NULL, *top = NULL;
    if (before != NULL) {
        wait_ms(FIRST_MS);
        now = fetch(options, "/v1/stats", &code);
    }
    if (now != NULL) {
        top = fetch_top(options, &code);
    }
    if (top != NULL) {
        const struct mete__top_view view = {.address = options->client.address,
                                            .before = before,
                                            .now = now,
                                            .top = top,
                                            .columns = PLAIN_COLUMNS,
                                            .policies_max = SIZE_MAX,
                                            .keys_max = options->count};
        mete__top_view_print(&view);
    }
    json_decref(before);
    json_decref(now);
    json_decref(top);
    return code;
}

/* --- live ------------------------------------------------------------------------------- */

/* Two fifths of the rows for policies, the rest for the two lists of keys. */
static void fit(struct mete__top_view *view, uint64_t count)
{
    struct winsize size;
    size_t rows = 24;
    view->columns = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        rows = size.ws_row;
        view->columns = size.ws_col;
    }
    size_t left = rows > HEAD_ROWS ? rows - HEAD_ROWS : 1;
    view->policies_max = left * 2 / 5 > 0 ? left * 2 / 5 : 1;
    size_t policies = json_array_size(json_object_get(view->now, "policies")) + 1;
    view->policies_max = policies < view->policies_max ? policies : view->policies_max;
    size_t keys = (left - view->policies_max) / 2;
    view->keys_max = keys < count ? keys : count;
}

/* Until a signal, or an answer that does not come: *now is the last that came. */
static int watch_on(const struct options *options, json_t **now)
{
    int code = METE__EXIT_OK;
    json_t *before = NULL;
    while (!is_over) {
        json_t *top = fetch_top(options, &code);
        if (top == NULL) {
            break;
        }
        struct mete__top_view view = {
            .address = options->client.address, .before = before, .now = *now, .top = top, .is_styled = true};
        fit(&view, options->count);
        fputs("\033[H\033[2J", stdout);
        mete__top_view_print(&view);
        fflush(stdout);
        json_decref(top);
        wait_ms(before == NULL ? FIRST_MS : options->interval_s * 1000);
        json_t *next = is_over ? NULL : fetch(options, "/v1/stats", &code);
        if (next == NULL) {
            break;
        }
        json_decref(before);
        before = *now;
        *now = next;
    }
    json_decref(before);
    return is_over ? METE__EXIT_OK : code;
}

/* On the other screen of the terminal, without a cursor.  The screen that was there comes back at the
 * end; what went wrong is told on that one. */
static int watch(struct options *options)
{
    struct sigaction action = {.sa_handler = on_signal};
    char why[WHY_SIZE] = "";
    int code;
    json_t *now = fetch(options, "/v1/stats", &code);
    if (now == NULL) {
        return code;
    }
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    options->client.why = why;
    options->client.why_size = sizeof why;
    fputs("\033[?1049h\033[?25l", stdout);
    code = watch_on(options, &now);
    options->client.why = NULL;
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (code != METE__EXIT_OK) {
        mete__cli_error("top", "%s", why);
    }
    json_decref(now);
    return code;
}

int mete__cli_top(int argc, char **argv)
{
    struct options options = {.client = mete__client_default("top"), .interval_s = 2, .count = 10};
    const struct mete__arg table[] = {
        {"once", NULL, "print once and end, as when standard output is no terminal", METE__ARG_FLAG, &options.is_once,
         0, 0},
        {"json", NULL, "print the daemon's figures once", METE__ARG_FLAG, &options.is_json, 0, 0},
        {"interval", "SECONDS", "between two looks (2)", METE__ARG_U64, &options.interval_s, 1, 3600},
        {"count", "N", "keys per list (10)", METE__ARG_U64, &options.count, 1, 1000},
        METE__CLIENT_OPTIONS(options.client),
    };
    const struct mete__args args = {
        .command = "top",
        .operands = "",
        .summary = "Shows what a running daemon does: decisions per second by policy, and the keys that are\n"
                   "denied and allowed most.",
        .notes = "The user must be one who may_administer.",
        .table = table,
        .table_count = sizeof table / sizeof *table,
    };
    size_t operand_count;
    switch (mete__args_parse(&args, argc, argv, &operand_count)) {
    case METE__ARGS_HELP:
        return METE__EXIT_OK;
    case METE__ARGS_BAD:
        return METE__EXIT_USAGE;
    case METE__ARGS_OK:
        break;
    }
    if (options.is_json) {
        return print_json(&options);
    }
    return options.is_once || isatty(STDOUT_FILENO) == 0 ? print_once(&options) : watch(&options);
}

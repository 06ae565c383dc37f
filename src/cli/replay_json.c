/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as one JSON object.  Counts are integers; one above 2^63 - 1, which
 * many readers of JSON cannot hold, is given as that.
 *
 * Every json_pack fails when one of its parts is NULL, that is, without memory.
 */
#include <stdlib.h>

#include <jansson.h>

#include "cli/log_sniff.h"
#include "cli/replay_report.h"
#include "cli/replay_words.h"

static json_t *totals_json(const struct mete__report *report);
static json_t *files_json(const struct mete__report *report);
static json_t *limits_json(const struct mete__report *report);
static json_t *reasons_json(const struct mete__report *report);
static json_t *span_json(const struct mete__replay_counts *counts);
static json_t *worst_json(const struct mete__report *report);
static const char *format_of_all(const struct mete__report *report);

bool mete__report_print_json(const struct mete__report *report)
{
    json_t *root = totals_json(report);
    json_t *limits = limits_json(report);
    json_t *rest =
        json_pack("{s:O, s:o, s:s, s:o?, s:o, s:o, s:o}", "limit", json_array_get(limits, 0), "limits", limits,
                  "format", format_of_all(report), "span", span_json(&report->decider->counts), "skipped_reasons",
                  reasons_json(report), "worst", worst_json(report), "files", files_json(report));
    bool ok = root != NULL && rest != NULL && json_object_update(root, rest) == 0 &&
              json_dumpf(root, stdout, JSON_INDENT(2)) == 0;
    printf("\n");
    json_decref(rest);
    json_decref(root);
    return ok;
}

static json_int_t integer(uint64_t n)
{
    return n > INT64_MAX ? INT64_MAX : (json_int_t)n;
}

static json_t *totals_json(const struct mete__report *report)
{
    const struct mete__replay_counts *counts = &report->decider->counts;
    const struct mete__keys *keys = &report->decider->keys;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", /* in this order */
                     "requests", integer(counts->requests), "allowed", integer(counts->allowed), "denied",
                     integer(counts->denied), "skipped", integer(mete__report_skipped(report)), "empty_lines",
                     integer(mete__report_empty(report)), "keys", integer(keys->count), "keys_complete", !keys->full,
                     "requests_of_other_keys", integer(counts->unnamed), "keys_evicted",
                     integer(report->stats.keys_evicted), "units_allowed", integer(counts->units_allowed),
                     "units_denied", integer(counts->units_denied), "denied_forever", integer(counts->never),
                     "steps_back", integer(counts->steps_back), "step_back_max_ns", integer(counts->step_back_max_ns),
                     "files_out_of_order", integer(mete__report_disorder(report).count));
}

/* Text from outside: as it is when it is UTF-8, else escaped. */
static json_t *text_json(const char *bytes, size_t len)
{
    json_t *text = json_stringn(bytes, len);
    if (text != NULL) {
        return text;
    }
    size_t size = 4 * len + 8;
    char *escaped = malloc(size);
    if (escaped == NULL) {
        return NULL;
    }
    size_t escaped_len = mete__escape(mete__text_of(bytes, len), escaped, size);
    text = json_stringn(escaped, escaped_len);
    free(escaped);
    return text;
}

/* The name of a field in use; null for none. */
static json_t *field_json(const char *name)
{
    return name == NULL || name[0] == '\0' ? json_null() : text_json(name, strlen(name));
}

/* "unknown" when the file could not be read as any. */
static const char *format_of_one(const struct mete__replay_file *file)
{
    if (file->format == METE__FORMAT_AUTO) {
        return file->error[0] != '\0' ? "unknown" : "empty";
    }
    return mete__format_name(file->format);
}

static json_t *files_json(const struct mete__report *report)
{
    json_t *files = json_array();
    for (size_t i = 0; i < report->file_count; i++) {
        const struct mete__replay_file *file = &report->files[i];
        json_t *one = json_pack(
            "{s:o, s:s, s:b, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:s?}", /* in this order */
            "name", text_json(file->name, strlen(file->name)), "format", format_of_one(file), "gzip", file->gzip, "key",
            field_json(file->key_name), "time", field_json(file->time_name), "cost", field_json(report->cost_name),
            "lines", integer(file->lines), "requests", integer(file->requests), "skipped", integer(file->skipped),
            "empty", integer(file->empty), "error", file->error[0] != '\0' ? file->error : NULL);
        if (json_array_append_new(files, one) != 0) {
            json_decref(files);
            return NULL;
        }
    }
    return files;
}

static json_t *limits_json(const struct mete__report *report)
{
    json_t *limits = json_array();
    for (size_t i = 0; i < report->decider->limit_count; i++) {
        char text[256];
        mete_limit_format(&report->decider->limits[i], text, sizeof(text));
        if (json_array_append_new(limits, json_string(text)) != 0) {
            json_decref(limits);
            return NULL;
        }
    }
    return limits;
}

static json_t *lines_json(const struct mete__report *report, const struct mete__skips *skips)
{
    json_t *lines = json_array();
    for (size_t i = 0; i < skips->count && i < METE__SKIPS_NAMED; i++) {
        const char *name = report->files[skips->first[i].file].name;
        json_t *line =
            json_pack("{s:o, s:I}", "file", text_json(name, strlen(name)), "line", integer(skips->first[i].line));
        if (json_array_append_new(lines, line) != 0) {
            json_decref(lines);
            return NULL;
        }
    }
    return lines;
}

static json_t *reasons_json(const struct mete__report *report)
{
    json_t *reasons = json_object();
    for (enum mete__reason reason = 0; reason < METE__REASONS; reason++) {
        const struct mete__skips *skips = &report->skips[reason];
        if (skips->count == 0) {
            continue;
        }
        json_t *one = json_pack("{s:I, s:s, s:o}", "count", integer(skips->count), "text", mete__reason_text(reason),
                                "first", lines_json(report, skips));
        if (json_object_set_new(reasons, mete__reason_name(reason), one) != 0) {
            json_decref(reasons);
            return NULL;
        }
    }
    return reasons;
}

/* NULL, which becomes null, when there are no requests. */
static json_t *span_json(const struct mete__replay_counts *counts)
{
    if (counts->requests == 0) {
        return NULL;
    }
    char first[40];
    char last[40];
    mete__time_words(counts->first_ns, first, sizeof(first));
    mete__time_words(counts->last_ns, last, sizeof(last));
    return json_pack("{s:s, s:s, s:I, s:I}", "first", first, "last", last, "first_ns", integer(counts->first_ns),
                     "last_ns", integer(counts->last_ns));
}

static json_t *worst_json(const struct mete__report *report)
{
    json_t *rows = json_array();
    const struct mete__key_count **worst = calloc(report->top + 1, sizeof(const struct mete__key_count *));
    size_t n = worst != NULL ? mete__keys_worst(&report->decider->keys, worst, report->top) : 0;
    bool ok = worst != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        json_t *row = json_pack("{s:o, s:I, s:I, s:I}", "key", text_json(worst[i]->key, worst[i]->key_len), "requests",
                                integer(worst[i]->allowed + worst[i]->denied), "allowed", integer(worst[i]->allowed),
                                "denied", integer(worst[i]->denied));
        ok = json_array_append_new(rows, row) == 0;
    }
    free(worst);
    if (!ok) {
        json_decref(rows);
        return NULL;
    }
    return rows;
}

/* The format of the files that were read and are not empty; "mixed" when they differ. */
static const char *format_of_all(const struct mete__report *report)
{
    enum mete__format format = METE__FORMAT_AUTO;
    const char *none = "empty";
    for (size_t i = 0; i < report->file_count; i++) {
        enum mete__format one = report->files[i].format;
        if (format != METE__FORMAT_AUTO && one != METE__FORMAT_AUTO && one != format) {
            return "mixed";
        }
        format = one != METE__FORMAT_AUTO ? one : format;
        none = report->files[i].error[0] != '\0' ? "unknown" : none;
    }
    return format == METE__FORMAT_AUTO ? none : mete__format_name(format);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The report for people.  Names and keys come from outside and are printed escaped. */
#include "cli/replay_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/log_sniff.h"
#include "cli/replay_words.h"

/* The longest key that is printed; a longer one is cut. */
#define KEY_TEXT_SIZE 128

static void print_files(const struct mete__report *report);
static void print_limits(const struct mete__report *report);
static void print_totals(const struct mete__report *report);
static void print_skips(const struct mete__report *report);
static void print_notes(const struct mete__report *report);
static bool print_worst(const struct mete__report *report);

bool mete__report_print(const struct mete__report *report)
{
    if (!report->quiet) {
        print_files(report);
        print_limits(report);
        printf("\n");
    }
    print_totals(report);
    if (!report->quiet) {
        print_skips(report);
    }
    print_notes(report);
    return report->quiet || print_worst(report);
}

void mete__report_skip(struct mete__report *report, enum mete__reason reason, size_t file, uint64_t line)
{
    struct mete__skips *skips = &report->skips[reason];
    if (skips->count < METE__SKIPS_NAMED) {
        skips->first[skips->count].file = file;
        skips->first[skips->count].line = line;
    }
    skips->count++;
}

uint64_t mete__report_skipped(const struct mete__report *report)
{
    uint64_t skipped = 0;
    for (enum mete__reason reason = 0; reason < METE__REASONS; reason++) {
        skipped += report->skips[reason].count;
    }
    return skipped;
}

uint64_t mete__report_empty(const struct mete__report *report)
{
    uint64_t empty = 0;
    for (size_t i = 0; i < report->file_count; i++) {
        empty += report->files[i].empty;
    }
    return empty;
}

struct mete__disorder mete__report_disorder(const struct mete__report *report)
{
    struct mete__disorder disorder = {0, NULL, NULL};
    const struct mete__replay_file *latest = NULL;
    for (size_t i = 0; i < report->file_count; i++) {
        const struct mete__replay_file *file = &report->files[i];
        if (file->requests == 0) {
            continue;
        }
        if (latest != NULL && file->first_ns < latest->last_ns && disorder.count++ == 0) {
            disorder.file = file;
            disorder.before = latest;
        }
        latest = latest == NULL || file->last_ns > latest->last_ns ? file : latest;
    }
    return disorder;
}

static const char *name_of(const struct mete__replay_file *file)
{
    return strcmp(file->name, "-") == 0 ? "standard input" : file->name;
}

static void print_file(const struct mete__replay_file *file)
{
    const char *name = name_of(file);
    if (file->format == METE__FORMAT_AUTO) {
        /* What went wrong was told on standard error. */
        printf("%s: %s\n", name, file->error[0] != '\0' ? "not read" : "empty: it holds no requests");
        return;
    }
    printf("%s: %s%s, %" PRIu64 " lines; ", name, mete__format_name(file->format), file->gzip ? " in gzip" : "",
           file->lines);
    if (file->key_missing) {
        printf("no field has the name of a key, so all requests share one, as with --key -");
    } else if (file->shared_key) {
        printf("all requests share one key");
    } else {
        printf("key: %s", file->key_name);
    }
    printf("; time: %s\n", file->time_name);
}

static void print_files(const struct mete__report *report)
{
    for (size_t i = 0; i < report->file_count; i++) {
        print_file(&report->files[i]);
    }
}

static void print_limits(const struct mete__report *report)
{
    const char *unit = report->cost_name != NULL ? "unit" : "request";
    for (size_t i = 0; i < report->decider->limit_count; i++) {
        char text[256];
        char words[384];
        mete_limit_format(&report->decider->limits[i], text, sizeof(text));
        mete__limit_words(&report->decider->limits[i], unit, words, sizeof(words));
        printf("limit: %s: %s\n", text, words);
    }
    if (report->cost_name != NULL) {
        printf("cost: %s\n", report->cost_name);
    }
}

/* part / whole in percent with two digits, rounded to nearest. */
static void print_percent(uint64_t part, uint64_t whole)
{
    uint64_t hundredths = whole == 0 ? 0 : (uint64_t)(((unsigned __int128)part * 20000 + whole) / (2 * whole));
    printf(" (%" PRIu64 ".%02u %%)", hundredths / 100, (unsigned)(hundredths % 100));
}

static void print_span(const struct mete__replay_counts *counts)
{
    char first[40];
    char last[40];
    char span[160];
    mete__time_words(counts->first_ns, first, sizeof(first));
    mete__time_words(counts->last_ns, last, sizeof(last));
    mete__span_words(counts->last_ns - counts->first_ns, span, sizeof(span));
    printf("span      %s .. %s, %s\n", first, last, span);
    if (counts->steps_back > 0) {
        mete__span_words(counts->step_back_max_ns, span, sizeof(span));
        printf("          %" PRIu64 " requests are earlier than the one before, by up to %s\n", counts->steps_back,
               span);
    }
}

static void print_totals(const struct mete__report *report)
{
    const struct mete__replay_counts *counts = &report->decider->counts;
    printf("requests  %" PRIu64 "\nallowed   %" PRIu64, counts->requests, counts->allowed);
    print_percent(counts->allowed, counts->requests);
    printf("\ndenied    %" PRIu64, counts->denied);
    print_percent(counts->denied, counts->requests);
    printf("\n");
    if (report->cost_name != NULL) {
        printf("units     %" PRIu64 " allowed, %" PRIu64 " denied\n", counts->units_allowed, counts->units_denied);
    }
    printf("skipped   %" PRIu64 " lines", mete__report_skipped(report));
    uint64_t empty = mete__report_empty(report);
    if (empty > 0) {
        printf(", and %" PRIu64 " empty", empty);
    }
    printf("\n");
    printf("keys      %s%zu\n", report->decider->keys.full ? "more than " : "", report->decider->keys.count);
    if (counts->requests > 0) {
        print_span(counts);
    }
}

static void print_skips(const struct mete__report *report)
{
    for (enum mete__reason reason = 0; reason < METE__REASONS; reason++) {
        const struct mete__skips *skips = &report->skips[reason];
        if (skips->count == 0) {
            continue;
        }
        printf("skipped %" PRIu64 ": %s: line%s", skips->count, mete__reason_text(reason), skips->count > 1 ? "s" : "");
        for (size_t i = 0; i < skips->count && i < METE__SKIPS_NAMED; i++) {
            printf("%s ", i > 0 ? "," : "");
            if (report->file_count > 1) {
                printf("%s:", report->files[skips->first[i].file].name);
            }
            printf("%" PRIu64, skips->first[i].line);
        }
        printf("%s\n", skips->count > METE__SKIPS_NAMED ? ", ..." : "");
    }
}

static void print_disorder(const struct mete__disorder *disorder)
{
    char span[160];
    mete__span_words(disorder->before->last_ns - disorder->file->first_ns, span, sizeof(span));
    printf("note: %s begins %s before %s ends", name_of(disorder->file), span, name_of(disorder->before));
    if (disorder->count > 1) {
        printf(", and %" PRIu64 " more file%s so", disorder->count - 1, disorder->count > 2 ? "s do" : " does");
    }
    printf(": give the oldest file first\n");
}

/* Notes say why a figure is not what one may take it for, so they stay when all
 * else is quiet. */
static void print_notes(const struct mete__report *report)
{
    if (report->decider->counts.never > 0) {
        printf("note: requests that cost more than the limit ever lets pass: %" PRIu64 "\n",
               report->decider->counts.never);
    }
    for (size_t i = 0; report->quiet && i < report->file_count; i++) {
        if (report->files[i].key_missing) {
            printf("note: %s: no field has the name of a key, so all requests share one\n", name_of(&report->files[i]));
        }
    }
    const struct mete__disorder disorder = mete__report_disorder(report);
    if (disorder.count > 0) {
        print_disorder(&disorder);
    }
    if (report->decider->keys.full) {
        printf("note: only %zu keys are counted one by one; %" PRIu64 " requests were of others (--keys-max)\n",
               report->decider->keys.count, report->decider->counts.unnamed);
    }
    if (report->stats.keys_evicted > 0) {
        printf("note: the store forgot %" PRIu64 " keys to make room: a larger --keys-max is more exact\n",
               report->stats.keys_evicted);
    }
}

static bool print_worst(const struct mete__report *report)
{
    const struct mete__key_count **worst = calloc(report->top + 1, sizeof(const struct mete__key_count *));
    if (worst == NULL) {
        return false;
    }
    size_t n = mete__keys_worst(&report->decider->keys, worst, report->top);
    if (n > 0) {
        printf("\n%12s %12s  key\n", "denied", "allowed");
    }
    for (size_t i = 0; i < n; i++) {
        char key[KEY_TEXT_SIZE];
        size_t len = mete__escape(mete__text_of(worst[i]->key, worst[i]->key_len), key, sizeof(key));
        printf("%12" PRIu64 " %12" PRIu64 "  %s\n", worst[i]->denied, worst[i]->allowed, len > 0 ? key : "(all)");
    }
    free(worst);
    return true;
}

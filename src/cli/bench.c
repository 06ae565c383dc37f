/* SPDX-License-Identifier: Apache-2.0 */
/* `mete bench`: what a decision costs here, against floors and an opponent
 * measured in the same run.  bench.h says how it is made fair. */
#include "cli/bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/args.h"
#include "cli/cli.h"

#define KEYS_MIN 1000u
#define KEYS_MAX 100000000u

struct options {
    const char *keys;
    const char *only;
    uint64_t runs;
    bool quick;
    bool json;
    bool check;
};

/* In the order they are made: bench_replay.c says why replay is first. */
static const struct mete__bench_group *const groups[] = {
    &mete__bench_replay,
    &mete__bench_floors,
    &mete__bench_hot,
    &mete__bench_keys,
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

struct plan {
    struct mete__bench *bench;
    uint64_t runs;
    bool is_wanted[GROUPS];
    void *states[GROUPS];
};

static void show_progress(const char *what, uint64_t run, uint64_t runs)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s", what);
        if (runs != 0) {
            fprintf(stderr, " %llu of %llu", (unsigned long long)run, (unsigned long long)runs);
        }
    }
}

/* Makes the wanted groups, runs them in turn, frees them. */
static void measure_groups(struct plan *plan, size_t from, size_t to)
{
    struct mete__bench *bench = plan->bench;
    show_progress("filling the tables", 0, 0);
    for (size_t i = from; i < to && bench->report->failure == NULL; i++) {
        /* What one group holds while it is not running takes memory, not time. */
        plan->states[i] = plan->is_wanted[i] ? groups[i]->make(bench) : NULL;
    }
    for (uint64_t run = 1; run <= plan->runs && bench->report->failure == NULL; run++) {
        show_progress("run", run, plan->runs);
        for (size_t i = from; i < to; i++) {
            if (plan->is_wanted[i]) {
                groups[i]->run(bench, plan->states[i]);
            }
        }
    }
    show_progress("", 0, 0);
    for (size_t i = from; i < to; i++) {
        groups[i]->free(plan->states[i]);
    }
}

/*
 * The replay comes first and alone: it runs as a child, and a child's peak of
 * memory counts what its parent held when it was made.
 */
static void *measure(void *argument)
{
    struct plan *plan = argument;
    mete__bench_pin(plan->bench->cpus[0]);
    measure_groups(plan, 0, 1);
    measure_groups(plan, 1, GROUPS);
    return NULL;
}

/* "1000000,10000000" */
static bool parse_keys(const char *list, struct mete__bench *bench)
{
    struct mete__text text = mete__text_of(list, strlen(list));
    do {
        uint64_t count = 0;
        if (mete__text_u64(&text, &count) != METE__NUMBER_OK || count < KEYS_MIN || count > KEYS_MAX ||
            bench->size_count == METE__BENCH_SIZES_MAX) {
            mete__cli_error("bench", "--keys: '%s' is not a list of 1..%u numbers from %u to %u", list,
                            METE__BENCH_SIZES_MAX, KEYS_MIN, KEYS_MAX);
            return false;
        }
        bench->key_counts[bench->size_count++] = count;
    } while (mete__text_eat(&text, ','));
    if (!mete__text_is_empty(&text)) {
        mete__cli_error("bench", "--keys: '%s' is not a list of numbers with commas between them", list);
        return false;
    }
    return true;
}

static bool choose_groups(const struct options *options, struct plan *plan)
{
    bool found = options->only == NULL;
    for (size_t i = 0; i < GROUPS; i++) {
        bool is_replay = groups[i] == &mete__bench_replay;
        bool is_named = options->only != NULL && strcmp(options->only, groups[i]->name) == 0;
        found = found || is_named;
        plan->is_wanted[i] = options->only == NULL ? !is_replay || plan->bench->replay_sample != NULL : is_named;
        /* The hot rows are judged against the floors of the same run. */
        if (groups[i] == &mete__bench_floors && options->only != NULL && strcmp(options->only, "hot") == 0) {
            plan->is_wanted[i] = true;
        }
    }
    if (!found) {
        mete__cli_error("bench", "--only: '%s' is none of floors, hot, keys, replay", options->only);
        return false;
    }
    if (plan->is_wanted[0] && plan->bench->replay_sample == NULL) {
        mete__cli_error("bench", "--only replay: needs --replay LOG, the sample to make a long log from");
        return false;
    }
    return true;
}

static enum mete__args_result parse(int argc, char **argv, struct options *options, struct mete__bench *bench)
{
    const struct mete__arg table[] = {
        {"keys", "LIST", "numbers of keys, up to 4 (default 1000000,10000000)", METE__ARG_TEXT, &options->keys, 0, 0},
        {"runs", "N", "runs of everything, 1..99 (default 5)", METE__ARG_U64, &options->runs, 1, METE__BENCH_RUNS_MAX},
        {"only", "GROUP", "floors, hot, keys or replay", METE__ARG_TEXT, &options->only, 0, 0},
        {"replay", "LOG", "also time 'mete replay' on a long log made from this sample,\nwritten to $TMPDIR",
         METE__ARG_TEXT, &bench->replay_sample, 0, 0},
        {"replay-bytes", "N", "how long that log is (default 1000000000)", METE__ARG_U64, &bench->replay_bytes, 1000000,
         UINT64_C(100000000000)},
        {"quick", NULL, "a tenth of the decisions, 1000000 keys only: a first impression", METE__ARG_FLAG,
         &options->quick, 0, 0},
        {"check", NULL, "exit 1 when a requirement is missed", METE__ARG_FLAG, &options->check, 0, 0},
        {"json", NULL, "print one JSON object", METE__ARG_FLAG, &options->json, 0, 0},
    };
    const struct mete__args args = {
        .command = "bench",
        .operands = "",
        .summary = "Measures what a decision costs on this machine, and sets it against the floors\n"
                   "(clock, hash, compare-and-swap, memory) and against a hand-written limiter (64\n"
                   "mutexes, a hash table, malloc'd nodes, doubles) measured in the same run.",
        .notes = "Ratios within one run are what counts: nanoseconds differ between machines.",
        .table = table,
        .table_count = sizeof(table) / sizeof(table[0]),
        .operands_min = 0,
        .operands_max = 0,
    };
    size_t operand_count = 0;
    enum mete__args_result result = mete__args_parse(&args, argc, argv, &operand_count);
    if (result != METE__ARGS_OK) {
        return result;
    }
    if (options->quick) {
        bench->hot_decisions /= 10;
        bench->key_decisions /= 10;
    }
    const char *keys = options->keys != NULL ? options->keys : options->quick ? "1000000" : "1000000,10000000";
    return parse_keys(keys, bench) ? METE__ARGS_OK : METE__ARGS_BAD;
}

/* Measures in a thread of its own; bench.h says why. */
static int measure_and_print(struct plan *plan, const struct options *options)
{
    struct mete__bench_report *report = plan->bench->report;
    pthread_t thread;
    mete__bench_describe(plan->bench);
    if (pthread_create(&thread, NULL, measure, plan) != 0) {
        mete__cli_error("bench", "no thread could be made");
        return METE__EXIT_INPUT;
    }
    pthread_join(thread, NULL);
    if (report->failure != NULL) {
        mete__cli_error("bench", "%s", report->failure);
        return METE__EXIT_INPUT;
    }
    for (size_t i = 0; i < GROUPS; i++) {
        groups[i]->require(plan->bench);
    }
    size_t misses = options->json ? mete__bench_print_json(report) : mete__bench_print_table(report);
    return options->check && misses > 0 ? METE__EXIT_CHECK : METE__EXIT_OK;
}

int mete__cli_bench(int argc, char **argv)
{
    struct options options = {.runs = 5};
    struct mete__bench bench = {
        .hot_decisions = 4000000,
        .key_decisions = 2000000,
        .replay_bytes = 1000000000,
    };
    struct plan plan = {.bench = &bench};
    enum mete__args_result parsed = parse(argc, argv, &options, &bench);
    if (parsed != METE__ARGS_OK) {
        return parsed == METE__ARGS_HELP ? METE__EXIT_OK : METE__EXIT_USAGE;
    }
    if (!choose_groups(&options, &plan)) {
        return METE__EXIT_USAGE;
    }
    bench.report = calloc(1, sizeof(*bench.report));
    if (bench.report == NULL) {
        mete__cli_error("bench", "no memory");
        return METE__EXIT_INPUT;
    }
    plan.runs = options.runs;
    bench.report->runs = (size_t)options.runs;
    int status = measure_and_print(&plan, &options);
    free(bench.report);
    return status;
}

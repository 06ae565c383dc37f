/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mete stress`: is the burst exact when everybody asks at once?  The real
 * clock, real workers.  In each round all callers start together on a key never
 * seen before and ask until they are denied: exactly the burst must have
 * passed.  Only a round shorter than the time in which half a unit refills can
 * say so; a longer one says nothing and another is run in its place.
 */
#define _GNU_SOURCE /* mkdtemp */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/stress_crew.h"
#include "cli/stress_report.h"

#define NS_PER_S UINT64_C(1000000000)
#define CONCLUSIVE_MIN 100u         /* fewer say too little, so fewer are not asked for */
#define INCONCLUSIVE_IN_A_ROW 1000u /* so many, and no round will ever be short enough */
#define TURNS_BETWEEN_LOOKS 128u    /* of waiting, between looks at what may have gone wrong */
#define PATIENCE_FACTOR 10u         /* a run may take this many times what was asked for ... */
#define PATIENCE_S 60u              /* ... and a minute, before it ends with what it has */

struct options {
    uint64_t callers;
    uint64_t burst;
    uint64_t rounds;
    uint64_t seconds;
    const char *rate;
    const char *mode;
    const char *store;
    const char *algorithm;
    bool json;
};

struct run {
    struct options options;
    enum mete__stress_mode mode;
    struct mete__stress_target target;
    struct mete__stress_opened opened; /* the coordinator's own */
    struct mete__stress_gate *gate;
    struct mete__stress_crew *crew;
    char limiter_name[64];
    char folder[256]; /* made for this run and removed with what is in it; "" when the store was given */
    char path[288];
    struct mete__stress_result result;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* As long as half a unit takes to refill. */
static bool is_too_long(const struct mete_limit *limit, uint64_t elapsed_ns)
{
    return (unsigned __int128)elapsed_ns * 2 * limit->count >= limit->period_ns;
}

/* A round also says nothing when a fixed window ended in it. */
static bool is_conclusive(const struct mete_limit *limit, uint64_t start_ns, uint64_t end_ns, uint64_t elapsed_ns)
{
    if (limit->algorithm == METE_FIXED_WINDOW && limit->alignment == METE_ALIGN_EPOCH &&
        start_ns / limit->period_ns != end_ns / limit->period_ns) {
        return false;
    }
    return !is_too_long(limit, elapsed_ns);
}

/* Waits until all callers are at the gate.  False when one will never come.  A
 * round that has become too long, or is interrupted, is abandoned. */
static bool wait_for_all(const struct run *run, uint64_t round, uint64_t start_ns)
{
    struct mete__stress_gate *gate = run->gate;
    unsigned turns = 0;
    for (uint64_t i = 1; atomic_load_explicit(&gate->arrived, memory_order_acquire) != run->options.callers; i++) {
        mete__stress_pause(&turns);
        if (i % TURNS_BETWEEN_LOOKS != 0) {
            continue;
        }
        if (!mete__stress_crew_is_well(run->crew)) {
            return false;
        }
        if (interrupted != 0 || is_too_long(&run->target.limit, now_ns() - start_ns)) {
            atomic_store_explicit(&gate->abandoned, round, memory_order_relaxed);
        }
    }
    return true;
}

static void count_round(struct run *run, bool conclusive, uint64_t elapsed_ns)
{
    struct mete__stress_result *result = &run->result;
    uint64_t admitted = 0;
    for (size_t i = 0; i < run->options.callers; i++) {
        admitted += run->gate->tallies[i].admitted;
        result->decisions += run->gate->tallies[i].decisions;
    }
    result->rounds++;
    if (!conclusive) {
        return;
    }
    result->conclusive++;
    result->longest_ns = elapsed_ns > result->longest_ns ? elapsed_ns : result->longest_ns;
    if (admitted == run->options.burst) {
        result->exact++;
    } else if (result->deviation_round == 0) {
        result->deviation_round = result->rounds;
        result->deviation_admitted = admitted;
        result->deviation_ns = elapsed_ns;
    }
}

/* Opens the gate once.  *conclusive tells whether the round says anything. */
static bool play_round(struct run *run, bool *conclusive)
{
    struct mete__stress_gate *gate = run->gate;
    uint64_t round = run->result.rounds + 1;
    unsigned char key[METE__STRESS_KEY_SIZE];
    uint64_t store_start_ns = mete_store_now(run->opened.store);
    uint64_t start_ns = now_ns();
    atomic_store_explicit(&gate->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&gate->round, round, memory_order_release);
    if (!wait_for_all(run, round, start_ns)) {
        return false;
    }
    uint64_t elapsed_ns = now_ns() - start_ns;
    uint64_t store_end_ns = mete_store_now(run->opened.store);
    *conclusive = atomic_load_explicit(&gate->abandoned, memory_order_relaxed) != round &&
                  is_conclusive(&run->target.limit, store_start_ns, store_end_ns, elapsed_ns);
    count_round(run, *conclusive, elapsed_ns);
    /* The key never comes again: without this the store would fill with them. */
    mete__stress_key(round, key);
    (void)mete_reset(run->opened.limiter, key, sizeof(key));
    return true;
}

/* Rounds until both the number and the time asked for are reached. */
static bool play(struct run *run)
{
    const struct options *options = &run->options;
    struct mete__stress_result *result = &run->result;
    uint64_t patience_ns = (options->seconds * PATIENCE_FACTOR + PATIENCE_S) * NS_PER_S;
    uint64_t inconclusive_in_a_row = 0;
    uint64_t start_ns = now_ns();
    if (!wait_for_all(run, 0, start_ns)) {
        return false;
    }
    start_ns = now_ns();
    while (interrupted == 0 && inconclusive_in_a_row < INCONCLUSIVE_IN_A_ROW && result->elapsed_ns < patience_ns &&
           (result->conclusive < options->rounds || result->elapsed_ns < options->seconds * NS_PER_S)) {
        bool conclusive = false;
        if (!play_round(run, &conclusive)) {
            return false;
        }
        inconclusive_in_a_row = conclusive ? 0 : inconclusive_in_a_row + 1;
        result->elapsed_ns = now_ns() - start_ns;
    }
    return true;
}

/* Prints and judges. */
static int report(struct run *run)
{
    struct mete__stress_result *result = &run->result;
    bool enough = result->conclusive >= CONCLUSIVE_MIN;
    bool passed = enough && result->exact == result->conclusive;
    if (run->options.json) {
        mete__stress_print_json(result, &run->target.limit, run->options.mode, passed);
    } else {
        mete__stress_print_text(result, &run->target.limit, run->options.mode);
    }
    if (interrupted != 0) {
        mete__cli_error("stress", "interrupted");
        return METE__EXIT_INPUT;
    }
    if (!enough) {
        mete__cli_error("stress",
                        "only %llu conclusive rounds, at least %u are needed: the others took as long as "
                        "half a unit takes to refill",
                        (unsigned long long)result->conclusive, CONCLUSIVE_MIN);
    }
    return passed ? METE__EXIT_OK : METE__EXIT_CHECK;
}

/* Parses --algorithm and --rate as one limit, then sets the burst: of a bucket
 * as it is; of a window its count, over as long a period as keeps the rate. */
static bool make_limit(const struct options *options, struct mete_limit *limit)
{
    char text[256];
    char why[256];
    snprintf(text, sizeof(text), "%s %s", options->algorithm, options->rate);
    if (mete_limit_parse_why(text, limit, why, sizeof(why)) != METE_OK) {
        mete__cli_error("stress", "--algorithm '%s', --rate '%s': %s", options->algorithm, options->rate, why);
        return false;
    }
    if (limit->period_ns == 0) {
        mete__cli_error("stress", "--rate '%s': a calendar window has no fixed length", options->rate);
        return false;
    }
    if (limit->algorithm == METE_TOKEN_BUCKET || limit->algorithm == METE_LEAKY_BUCKET) {
        limit->burst = options->burst;
    } else {
        unsigned __int128 period_ns = (unsigned __int128)options->burst * limit->period_ns / limit->count;
        limit->period_ns = period_ns <= METE_PERIOD_MAX ? (uint64_t)period_ns : METE_PERIOD_MAX;
        limit->count = options->burst;
    }
    if (mete_limit_check(limit, why, sizeof(why)) != METE_OK) {
        mete__cli_error("stress", "--burst %llu: %s", (unsigned long long)options->burst, why);
        return false;
    }
    return true;
}

static bool choose_mode(struct run *run)
{
    static const char *const names[] = {"threads", "processes", "mixed"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(run->options.mode, names[i]) == 0) {
            run->mode = (enum mete__stress_mode)i;
            if (run->mode != METE__STRESS_THREADS && run->options.store != NULL &&
                strcmp(run->options.store, "memory") == 0) {
                mete__cli_error("stress", "--store memory: processes cannot share it; name a file, or leave it out");
                return false;
            }
            return true;
        }
    }
    mete__cli_error("stress", "--mode: '%s' is none of threads, processes, mixed", run->options.mode);
    return false;
}

/* Where the store is: in memory, in the file that was named, or in a file of
 * this run's own, best on a file system in memory. */
static bool choose_store(struct run *run)
{
    const char *store = run->options.store;
    run->target.options = (struct mete_store_options)METE_STORE_OPTIONS_INIT;
    if (store == NULL && run->mode != METE__STRESS_THREADS) {
        const char *parent = getenv("TMPDIR");
        if (parent == NULL || parent[0] == '\0') {
            parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        }
        int len = snprintf(run->folder, sizeof(run->folder), "%s/mete-stress-XXXXXX", parent);
        if (len >= (int)sizeof(run->folder) || mkdtemp(run->folder) == NULL) {
            run->folder[0] = '\0';
            mete__cli_error("stress", "no folder for the store can be made in %s", parent);
            return false;
        }
        snprintf(run->path, sizeof(run->path), "%s/store", run->folder);
        run->target.options.path = run->path;
    } else if (store != NULL && strcmp(store, "memory") != 0) {
        run->target.options.path = store;
    }
    return true;
}

/* The store's file and what a sliding log keeps beside it. */
static void remove_folder(const struct run *run)
{
    DIR *folder = run->folder[0] != '\0' ? opendir(run->folder) : NULL;
    if (folder == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    closedir(folder);
    (void)rmdir(run->folder);
}

static int execute(struct run *run)
{
    char why[METE__STRESS_WHY_SIZE];
    int status = METE__EXIT_INPUT;
    run->gate = mete__stress_gate_create();
    run->crew = calloc(1, sizeof(*run->crew));
    if (run->gate == NULL || run->crew == NULL) {
        mete__cli_error("stress", "no memory");
        goto out;
    }
    if (!choose_store(run)) {
        goto out;
    }
    /* Another run over the same file must not meet this one's keys. */
    snprintf(run->limiter_name, sizeof(run->limiter_name), "stress %ld %llu", (long)getpid(),
             (unsigned long long)now_ns());
    run->target.limiter_name = run->limiter_name;
    run->result.callers = run->options.callers;
    run->result.burst = run->options.burst;
    if (!mete__stress_open(&run->target, &run->opened, why, sizeof(why))) {
        mete__cli_error("stress", "%s", why);
        goto out;
    }
    bool played = mete__stress_crew_start(run->crew, run->gate, run->mode, (size_t)run->options.callers, &run->target,
                                          run->opened.limiter) &&
                  play(run);
    mete__stress_crew_end(run->crew);
    if (!played) {
        mete__cli_error("stress", "%s", run->gate->why);
        goto out;
    }
    status = report(run);

out:
    mete__stress_close(&run->opened);
    remove_folder(run);
    free(run->crew);
    mete__stress_gate_destroy(run->gate);
    return status;
}

static enum mete__args_result parse(int argc, char **argv, struct options *options)
{
    const struct mete__arg table[] = {
        {"callers", "N", "callers of one key at once (default 8)", METE__ARG_U64, &options->callers, 1,
         METE__STRESS_CALLERS_MAX},
        {"burst", "N", "units that must pass in each round (default 1000)", METE__ARG_U64, &options->burst, 1,
         1000000000},
        {"rate", "N/PERIOD", "how fast units come back (default 1/s)", METE__ARG_TEXT, &options->rate, 0, 0},
        {"rounds", "N", "conclusive rounds, at least 100 (default 400)", METE__ARG_U64, &options->rounds,
         CONCLUSIVE_MIN, 1000000000},
        {"seconds", "N", "go on for at least so long (default 10)", METE__ARG_U64, &options->seconds, 0, 86400},
        {"mode", "MODE", "threads (default), processes, or mixed:\nprocesses of 4 threads", METE__ARG_TEXT,
         &options->mode, 0, 0},
        {"store", "PLACE", "memory, or a file (default: memory for threads, else a\ntemporary file)", METE__ARG_TEXT,
         &options->store, 0, 0},
        {"algorithm", "NAME", "token_bucket (default), leaky_bucket, fixed_window,\nsliding_window, sliding_log",
         METE__ARG_TEXT, &options->algorithm, 0, 0},
        {"json", NULL, "print one JSON object", METE__ARG_FLAG, &options->json, 0, 0},
    };
    const struct mete__args args = {
        .command = "stress",
        .operands = "",
        .summary = "Real callers on the real clock ask for one fresh key, all at once, until they are\n"
                   "denied. Exactly the burst must have passed, in every round.",
        .notes = "A round that took as long as half a unit takes to refill says nothing and is\n"
                 "repeated. Exits 1 when a round let another number pass.",
        .table = table,
        .table_count = sizeof(table) / sizeof(table[0]),
        .operands_min = 0,
        .operands_max = 0,
    };
    size_t operand_count = 0;
    return mete__args_parse(&args, argc, argv, &operand_count);
}

int mete__cli_stress(int argc, char **argv)
{
    struct run run = {.options = {.callers = 8,
                                  .burst = 1000,
                                  .rounds = 400,
                                  .seconds = 10,
                                  .rate = "1/s",
                                  .mode = "threads",
                                  .algorithm = "token_bucket"}};
    enum mete__args_result parsed = parse(argc, argv, &run.options);
    if (parsed != METE__ARGS_OK) {
        return parsed == METE__ARGS_HELP ? METE__EXIT_OK : METE__EXIT_USAGE;
    }
    if (!choose_mode(&run) || !make_limit(&run.options, &run.target.limit)) {
        return METE__EXIT_USAGE;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return execute(&run);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One key that everybody asks for: admitted and denied, by one thread and by
 * two, and what the whole decision of mete_take costs over mete_allow's bool.
 *
 * The admitted key owes units all the time and never runs out: it takes the
 * same steps as a key of a real limit.  The full key is full again at each
 * request: its decision needs the exact time, which the other two do not, so it
 * shows what mete_take's numbers cost apart from the clock.
 */
#include "cli/bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/opponent.h"

/* A thousand a second, at most 1e12 at once: nobody spends that in a benchmark. */
#define ADMIT_COUNT 1000u
#define ADMIT_BURST UINT64_C(1000000000000)
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_H (3600 * NS_PER_S)

struct hot {
    mete_store *store;
    mete_limiter *admitting;
    mete_limiter *denying; /* one per hour, spent before the clock starts */
    mete_limiter *filling; /* 1e9 a second: full again at each request */
    struct opponent *opponent_admitting;
    struct opponent *opponent_denying;
    unsigned char key[METE__BENCH_KEY_SIZE];
};

typedef bool allow_fn(void *subject, const unsigned char *key);

static inline bool mete_one(void *subject, const unsigned char *key)
{
    return mete_allow(subject, key, METE__BENCH_KEY_SIZE);
}

static inline bool opponent_one(void *subject, const unsigned char *key)
{
    return opponent_allow(subject, key, METE__BENCH_KEY_SIZE);
}

/* The whole decision is made and kept, not only its first field. */
static inline bool mete_whole(void *subject, const unsigned char *key)
{
    struct mete_request request = METE_REQUEST_INIT;
    struct mete_decision decision;
    request.key = key;
    request.key_len = METE__BENCH_KEY_SIZE;
    bool decided = mete_take(subject, &request, &decision) == METE_OK;
    __asm__ volatile("" : : "m"(decision));
    return decided && decision.allowed;
}

/* The one loop of this file; inlined once per kind of decision. */
static inline __attribute__((always_inline)) uint64_t repeat(allow_fn *allow, void *subject, const unsigned char *key,
                                                             uint64_t decisions)
{
    uint64_t allowed = 0;
    for (uint64_t i = 0; i < decisions; i++) {
        allowed += allow(subject, mete__bench_opaque(key)) ? 1 : 0;
    }
    return allowed;
}

static uint64_t repeat_mete(void *subject, const unsigned char *key, uint64_t decisions)
{
    return repeat(mete_one, subject, key, decisions);
}

static uint64_t repeat_opponent(void *subject, const unsigned char *key, uint64_t decisions)
{
    return repeat(opponent_one, subject, key, decisions);
}

static uint64_t repeat_whole(void *subject, const unsigned char *key, uint64_t decisions)
{
    return repeat(mete_whole, subject, key, decisions);
}

typedef uint64_t repeat_fn(void *subject, const unsigned char *key, uint64_t decisions);

/* A tenth of the decisions to warm up, then the sample: ns per decision. */
static double time_one(struct mete__bench *bench, repeat_fn *loop, void *subject, const unsigned char *key,
                       bool must_admit)
{
    uint64_t decisions = bench->hot_decisions;
    loop(subject, key, decisions / 10);
    uint64_t start_ns = mete__bench_cpu_ns();
    uint64_t allowed = loop(subject, key, decisions);
    uint64_t end_ns = mete__bench_cpu_ns();
    if (allowed != (must_admit ? decisions : 0)) {
        mete__bench_fail(bench, must_admit ? "the admitted key was denied" : "the denied key was admitted");
    }
    return (double)(end_ns - start_ns) / (double)decisions;
}

struct racer {
    repeat_fn *loop;
    void *subject;
    const unsigned char *key;
    uint64_t decisions;
    int cpu;
    _Atomic unsigned *waiting;
    uint64_t allowed;
    uint64_t start_ns;
    uint64_t end_ns;
};

static void *race(void *argument)
{
    struct racer *racer = argument;
    mete__bench_pin(racer->cpu);
    racer->loop(racer->subject, racer->key, racer->decisions / 10);
    atomic_fetch_sub_explicit(racer->waiting, 1, memory_order_acq_rel);
    while (atomic_load_explicit(racer->waiting, memory_order_acquire) != 0) {
    }
    racer->start_ns = mete__bench_now_ns();
    racer->allowed = racer->loop(racer->subject, racer->key, racer->decisions);
    racer->end_ns = mete__bench_now_ns();
    return NULL;
}

/* Two threads, each on its own processor: wall time per decision of both. */
static double time_two(struct mete__bench *bench, repeat_fn *loop, void *subject, const unsigned char *key,
                       bool must_admit)
{
    uint64_t decisions = bench->hot_decisions;
    _Atomic unsigned waiting = 2;
    struct racer racers[2];
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++) {
        racers[i] = (struct racer){loop, subject, key, decisions, bench->cpus[i], &waiting, 0, 0, 0};
    }
    if (pthread_create(&threads[0], NULL, race, &racers[0]) != 0) {
        mete__bench_fail(bench, "no thread could be made");
        return 1;
    }
    /* The measuring thread is the second one; it goes back to its own processor afterwards. */
    race(&racers[1]);
    pthread_join(threads[0], NULL);
    mete__bench_pin(bench->cpus[0]);
    if (racers[0].allowed + racers[1].allowed != (must_admit ? 2 * decisions : 0)) {
        mete__bench_fail(bench, must_admit ? "the admitted key was denied" : "the denied key was admitted");
    }
    uint64_t start_ns = racers[0].start_ns < racers[1].start_ns ? racers[0].start_ns : racers[1].start_ns;
    uint64_t end_ns = racers[0].end_ns > racers[1].end_ns ? racers[0].end_ns : racers[1].end_ns;
    return (double)(end_ns - start_ns) / (double)(2 * decisions);
}

static void run_hot(struct mete__bench *bench, void *state)
{
    struct hot *hot = state;
    struct mete__bench_report *report = bench->report;
    const unsigned char *key = hot->key;
    mete__bench_add(report, "hot key, admitted, mete", "ns", time_one(bench, repeat_mete, hot->admitting, key, true));
    mete__bench_add(report, "hot key, admitted, opponent", "ns",
                    time_one(bench, repeat_opponent, hot->opponent_admitting, key, true));
    mete__bench_add(report, "hot key, admitted, mete_take", "ns",
                    time_one(bench, repeat_whole, hot->admitting, key, true));
    mete__bench_add(report, "hot key, denied, mete", "ns", time_one(bench, repeat_mete, hot->denying, key, false));
    mete__bench_add(report, "hot key, denied, opponent", "ns",
                    time_one(bench, repeat_opponent, hot->opponent_denying, key, false));
    mete__bench_add(report, "hot key, denied, mete_take", "ns",
                    time_one(bench, repeat_whole, hot->denying, key, false));
    mete__bench_add(report, "hot key, full, mete", "ns", time_one(bench, repeat_mete, hot->filling, key, true));
    mete__bench_add(report, "hot key, full, mete_take", "ns", time_one(bench, repeat_whole, hot->filling, key, true));
    if (bench->cpu_count < 2) {
        return;
    }
    mete__bench_add(report, "hot key, denied, 2 threads, mete", "ns",
                    time_two(bench, repeat_mete, hot->denying, key, false));
    mete__bench_add(report, "hot key, denied, 2 threads, opponent", "ns",
                    time_two(bench, repeat_opponent, hot->opponent_denying, key, false));
    mete__bench_add(report, "hot key, admitted, 2 threads, mete", "ns",
                    time_two(bench, repeat_mete, hot->admitting, key, true));
    mete__bench_add(report, "hot key, admitted, 2 threads, opponent", "ns",
                    time_two(bench, repeat_opponent, hot->opponent_admitting, key, true));
}

static void require_hot(struct mete__bench *bench)
{
    static const struct mete__bench_check checks[] = {
        {"hot key, admitted / (clock + hash + swap)", "hot key, admitted, mete", METE__BENCH_FLOOR, METE__BENCH_RATIO,
         METE__BENCH_AT_MOST, 0.9},
        {"hot key, denied / (clock + hash + swap)", "hot key, denied, mete", METE__BENCH_FLOOR, METE__BENCH_RATIO,
         METE__BENCH_AT_MOST, 0.9},
        {"hot key, admitted / opponent", "hot key, admitted, mete", "hot key, admitted, opponent", METE__BENCH_RATIO,
         METE__BENCH_AT_MOST, 0.35},
        {"hot key, denied / opponent", "hot key, denied, mete", "hot key, denied, opponent", METE__BENCH_RATIO,
         METE__BENCH_AT_MOST, 0.35},
        {"hot key, denied, throughput of 2 threads / 1", "hot key, denied, mete", "hot key, denied, 2 threads, mete",
         METE__BENCH_RATIO, METE__BENCH_AT_LEAST, 1.8},
        {"hot key, admitted, 2 threads / opponent", "hot key, admitted, 2 threads, mete",
         "hot key, admitted, 2 threads, opponent", METE__BENCH_RATIO, METE__BENCH_AT_MOST, 0.35},
        {"mete_take - mete_allow, admitted (ns)", "hot key, admitted, mete_take", "hot key, admitted, mete",
         METE__BENCH_DIFFERENCE, METE__BENCH_AT_MOST, 6},
        {"mete_take - mete_allow, full (ns)", "hot key, full, mete_take", "hot key, full, mete", METE__BENCH_DIFFERENCE,
         METE__BENCH_AT_MOST, 6},
        {"mete_take - mete_allow, denied (ns)", "hot key, denied, mete_take", "hot key, denied, mete",
         METE__BENCH_DIFFERENCE, METE__BENCH_AT_MOST, 6},
    };
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        mete__bench_require(bench->report, &checks[i]);
    }
}

static void free_hot(void *state)
{
    struct hot *hot = state;
    if (hot == NULL) {
        return;
    }
    opponent_destroy(hot->opponent_admitting);
    opponent_destroy(hot->opponent_denying);
    mete_limiter_destroy(hot->admitting);
    mete_limiter_destroy(hot->denying);
    mete_limiter_destroy(hot->filling);
    mete_store_destroy(hot->store);
    free(hot);
}

static bool make_limiters(struct hot *hot)
{
    struct mete_limit admit = {0};
    admit.count = ADMIT_COUNT;
    admit.period_ns = NS_PER_S;
    admit.burst = ADMIT_BURST;
    struct mete_limit deny = {0};
    deny.count = 1;
    deny.period_ns = NS_PER_H;
    struct mete_limit fill = {0};
    fill.count = NS_PER_S;
    fill.period_ns = NS_PER_S;
    return mete_limiter_create(hot->store, "admit", &admit, &hot->admitting) == METE_OK &&
           mete_limiter_create(hot->store, "deny", &deny, &hot->denying) == METE_OK &&
           mete_limiter_create(hot->store, "fill", &fill, &hot->filling) == METE_OK;
}

static void *make_hot(struct mete__bench *bench)
{
    struct hot *hot = calloc(1, sizeof(*hot));
    if (hot == NULL || mete_store_create(NULL, &hot->store) != METE_OK || !make_limiters(hot)) {
        mete__bench_fail(bench, "no memory for the rows on one key");
        free_hot(hot);
        return NULL;
    }
    hot->opponent_admitting = opponent_create(1000000, ADMIT_COUNT, (double)ADMIT_BURST, hot->store);
    hot->opponent_denying = opponent_create(1000000, 1.0 / 3600, 1, hot->store);
    if (hot->opponent_admitting == NULL || hot->opponent_denying == NULL) {
        mete__bench_fail(bench, "no memory for the opponent");
        free_hot(hot);
        return NULL;
    }
    mete__bench_key(0, hot->key);
    (void)mete_one(hot->denying, hot->key);
    (void)opponent_one(hot->opponent_denying, hot->key);
    return hot;
}

const struct mete__bench_group mete__bench_hot = {"hot", make_hot, run_hot, require_hot, free_hot};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that change, keys that are reset, clocks that others move, and demands
 * on several limiters, all under threads.  METE_TEST_SCALE multiplies the work.
 */
#include "limiter/concurrency.h"

#define MEMBERS 3u

/* What the first member must have done before the others stop: else a busy
 * machine might run it when they are through. */
#define CHANGES_MIN 200u

#ifdef __SANITIZE_THREAD__
#define CALLS 20000
#else
#define CALLS 200000
#endif

struct bench {
    struct crew crew;
    mete_store *store;
    mete_limiter *limiters[2];
    uint64_t calls;
    uint64_t done; /* members that are through */
    uint64_t now_ns;
    uint64_t taken[2];
    uint64_t changes; /* made by the first member */
};

static uint64_t read_clock(void *context)
{
    return read_of(&((struct bench *)context)->now_ns);
}

static void open_bench(struct bench *bench, void (*run)(void *, unsigned), const char *limit)
{
    struct mete_clock clock = {read_clock, bench};
    *bench = (struct bench){.calls = CALLS * test_scale(), .now_ns = 1000 * SEC};
    bench->crew = (struct crew){.run = run, .context = bench, .members = MEMBERS};
    bench->store = open_store(100, METE_FULL_DENY, &clock);
    bench->limiters[0] = open_limiter(bench->store, limit);
}

static void close_bench(struct bench *bench)
{
    mete_limiter_destroy(bench->limiters[0]);
    mete_limiter_destroy(bench->limiters[1]);
    mete_store_destroy(bench->store);
}

static void take_many(struct bench *bench)
{
    uint64_t taken = 0;
    for (uint64_t i = 0; i < bench->calls || read_of(&bench->changes) < CHANGES_MIN; i++) {
        taken += mete_allow(bench->limiters[0], "key", 3);
    }
    add_to(&bench->taken[0], taken);
    add_to(&bench->done, 1);
}

/* --- set_limit ------------------------------------------------------------------------ */

/* Member 0 changes between rates of one burst until the others are through. */
static void change_rates(void *context, unsigned member)
{
    static const char *const limits[] = {"1/1h burst 1000", "7/1h burst 1000", "leaky_bucket 1/1h burst 1000",
                                         "3/1m burst 1000"};
    struct bench *bench = context;
    if (member > 0) {
        take_many(bench);
        return;
    }
    while (read_of(&bench->done) < MEMBERS - 1) {
        struct mete_limit limit = limit_of(limits[read_of(&bench->changes) % 4]);
        assert_int_equal(mete_limiter_set_limit(bench->limiters[0], &limit), METE_OK);
        add_to(&bench->changes, 1);
        sched_yield();
    }
}

/* Time stands still: all rates allow the same 1000 units.  A debt that is carried
 * over is rounded up by less than a tick, which all together is less than a unit. */
static void test_changing_rates_gives_nothing_away(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, change_rates, "1/1h burst 1000");
    crew_run(&bench.crew);
    uint64_t units = bench.taken[0] + drain_at(bench.limiters[0], "key", METE_NOW);
    assert_in_range(units, 999, 1000);
    close_bench(&bench);
}

/* Between bursts of one rate the word stays: never more than the larger burst. */
static void change_bursts(void *context, unsigned member)
{
    struct bench *bench = context;
    if (member > 0) {
        take_many(bench);
        return;
    }
    while (read_of(&bench->done) < MEMBERS - 1) {
        struct mete_limit limit = limit_of(read_of(&bench->changes) % 2 != 0 ? "1/1h burst 1000" : "1/1h burst 500");
        assert_int_equal(mete_limiter_set_limit(bench->limiters[0], &limit), METE_OK);
        add_to(&bench->changes, 1);
        sched_yield();
    }
}

static void test_changing_bursts_admits_the_larger_at_most(void **state)
{
    struct mete_limit large = limit_of("1/1h burst 1000");
    struct bench bench;
    (void)state;
    open_bench(&bench, change_bursts, "1/1h burst 1000");
    crew_run(&bench.crew);
    assert_int_equal(mete_limiter_set_limit(bench.limiters[0], &large), METE_OK);
    assert_int_equal(bench.taken[0] + drain_at(bench.limiters[0], "key", METE_NOW), 1000);
    close_bench(&bench);
}

/* --- reset ---------------------------------------------------------------------------- */

static void reset_often(void *context, unsigned member)
{
    struct bench *bench = context;
    if (member > 0) {
        take_many(bench);
        return;
    }
    while (read_of(&bench->done) < MEMBERS - 1) {
        assert_int_equal(mete_reset(bench->limiters[0], "key", 3), METE_OK);
        add_to(&bench->changes, 1);
        sched_yield();
    }
}

static void test_a_reset_gives_a_burst(void **state)
{
    static const char *const limits[] = {"1/1h burst 10", "fixed_window 10/1h", "sliding_window 10/1h",
                                         "sliding_log 10/1h"};
    struct bench bench;
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        open_bench(&bench, reset_often, limits[i]);
        crew_run(&bench.crew);
        bench.taken[0] += drain_at(bench.limiters[0], "key", METE_NOW);
        assert_in_range(bench.taken[0], 10, 10 * (bench.changes + 1));
        close_bench(&bench);
    }
}

/* --- a clock that another thread moves --------------------------------------------------- */

static void move_clock(void *context, unsigned member)
{
    struct bench *bench = context;
    if (member > 0) {
        take_many(bench);
        return;
    }
    while (read_of(&bench->done) < MEMBERS - 1) {
        add_to(&bench->now_ns, SEC / 4);
        add_to(&bench->changes, 1);
        sched_yield();
    }
}

/* 4 units a second; half of the burst is taken first, so that it is never full again. */
static void test_time_that_another_thread_moves(void **state)
{
    struct bench bench;
    uint64_t burst = UINT64_C(1) << 32;
    (void)state;
    open_bench(&bench, move_clock, "4/s burst 4294967296");
    assert_true(take_at(bench.limiters[0], "key", burst - 1000, METE_NOW));
    crew_run(&bench.crew);
    uint64_t steps = (bench.now_ns - 1000 * SEC) / (SEC / 4);
    uint64_t units = burst - 1000 + bench.taken[0] + drain_at(bench.limiters[0], "key", METE_NOW);
    assert_int_equal(units, burst + steps);
    close_bench(&bench);
}

/* --- take_all ----------------------------------------------------------------------------- */

static void take_crosswise(void *context, unsigned member)
{
    struct bench *bench = context;
    struct mete_request request = request_of("key", 1, METE_NOW);
    unsigned first = member % 2;
    uint64_t both = 0;
    uint64_t single = 0;
    for (uint64_t i = 0; i < bench->calls; i++) {
        struct mete_demand demands[2] = {{bench->limiters[first], request}, {bench->limiters[1 - first], request}};
        struct mete_decision out[2];
        assert_int_equal(mete_take_all(demands, 2, out, NULL), METE_OK);
        both += out[0].allowed && out[1].allowed;
        if (i % 4 == 0) {
            single += take_at(bench->limiters[0], "key", 1, METE_NOW);
        }
        if (i % 8 == 0) { /* keeps both near their end, where rollbacks happen */
            assert_int_equal(mete_refund(bench->limiters[1], &request, &out[0]), METE_OK);
        }
    }
    add_to(&bench->taken[0], both + single);
    add_to(&bench->taken[1], both);
}

/* The first limiter is never given back to from outside: what it admitted is what it owes. */
static void test_nothing_stays_charged_after_a_rollback(void **state)
{
    struct bench bench;
    uint64_t burst = 1000;
    (void)state;
    open_bench(&bench, take_crosswise, "1/1h burst 1000");
    bench.limiters[1] = open_limiter(bench.store, "2/1h burst 50");
    bench.calls /= 4;
    crew_run(&bench.crew);
    bench.taken[0] += drain_at(bench.limiters[0], "key", METE_NOW);
    assert_int_equal(bench.taken[0], burst);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changing_rates_gives_nothing_away),
        cmocka_unit_test(test_changing_bursts_admits_the_larger_at_most),
        cmocka_unit_test(test_a_reset_gives_a_burst),
        cmocka_unit_test(test_time_that_another_thread_moves),
        cmocka_unit_test(test_nothing_stays_charged_after_a_rollback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

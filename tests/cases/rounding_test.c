/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of rounding: rates that drift, refills that get lost, intervals cut to
 * whole milliseconds.  Every rate here is an exact fraction, so every count is
 * exact, not within a tolerance.
 */
#include "case.h"

/* Each call earned less than one token, which was cut to 0 while the time mark
 * moved on: no rate under 1000/s ever refilled.
 * Source: https://github.com/apache/polaris/pull/3433 */
static void case_001_rounding_drift(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "100/s burst 100");
    assert_true(case_take(&world, 0, "k", 100).allowed);
    uint64_t admitted = 0;
    for (uint64_t ms = 1; ms <= 50; ms++) {
        bool allowed = case_take(&world, ms * MS, "k", 1).allowed;
        assert_int_equal(allowed, ms % 10 == 0);
        admitted += allowed;
    }
    assert_int_equal(admitted, 5);
    case_close(&world);
}

/* Tokens were rounded to the nearest whole number at each 1 ms refill (2.718
 * became 3): the rate ran 10 % high.
 * Source: https://github.com/scylladb/seastar/pull/1801 */
static void case_003_rounding_drift(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "2718/s burst 10");
    assert_true(case_take(&world, 0, "k", 10).allowed);
    uint64_t admitted = 0;
    for (uint64_t ms = 1; ms <= 1000; ms++) {
        admitted += case_admitted(&world, ms * MS, "k", 3);
        assert_int_equal(admitted, 2718 * ms / 1000);
    }
    assert_int_equal(admitted, 2718);
    case_close(&world);
}

/* The remainder of rate * microseconds / 1e6 was dropped at each refill: 3000/s
 * let 2500/s through.
 * Source: https://github.com/envoyproxy/envoy/issues/16407 */
static void case_005_rounding_drift(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "3000/s burst 3000");
    assert_true(case_take(&world, 0, "k", 3000).allowed);
    uint64_t admitted = 0;
    for (uint64_t step = 1; step <= 2500; step++) {
        while (case_take(&world, step * 400 * US, "k", 1).allowed) {
            admitted++;
        }
        assert_int_equal(admitted, step * 12 / 10);
    }
    assert_int_equal(admitted, 3000);
    case_close(&world);
}

/* Admitted in (0, 60 s] by a caller that comes again exactly when it is told. */
static uint64_t greedy_minute(const char *limit, uint64_t first_cost)
{
    struct case_world world;
    case_open(&world, limit);
    assert_true(case_take(&world, 0, "k", first_cost).allowed);
    uint64_t admitted = 0;
    for (uint64_t now_ns = 0; now_ns <= 60 * SEC;) {
        struct mete_decision decision = case_take(&world, now_ns, "k", 1);
        admitted += decision.allowed;
        now_ns += decision.retry_after_ns;
    }
    case_close(&world);
    return admitted;
}

/* The interval was kept in whole milliseconds: 700/min became 706/min, 40000/min
 * became 60000/min, and anything faster crashed on an interval of 0.
 * Source: https://github.com/Govcraft/acton-service/issues/141 */
static void case_006_rounding_of_interval(void **state)
{
    (void)state;
    assert_int_equal(greedy_minute("gcra 40000/1m burst 1", 1), 40000);
    assert_int_equal(greedy_minute("gcra 120000/1m burst 1", 1), 120000);
    /* The interval of 700/min is 85714285 5/7 ns.  With a burst of 1 nothing may
     * be saved up, so each grant waits for the next whole nanosecond: the 700th
     * is due 200 ns after the minute.  A burst of 2 saves the fraction. */
    assert_int_equal(greedy_minute("gcra 700/1m burst 1", 1), 699);
    assert_int_equal(greedy_minute("gcra 700/1m burst 2", 2), 700);
}

/* The interval of 2000/s in whole milliseconds was 0: nothing was ever refused.
 * Source: https://github.com/dragonflydb/dragonfly/pull/5686 */
static void case_008_rounding_of_interval(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "gcra 2000/s burst 16");
    assert_int_equal(case_admitted(&world, 0, "k", 16), 16);
    struct mete_decision refused = case_take(&world, 0, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, 500 * US);
    assert_true(case_take(&world, 500 * US, "k", 1).allowed);
    case_close(&world);
}

/* A short lifetime was rounded to 0, so the key was never stored and the
 * remaining units stood still.
 * Source: https://github.com/brandur/redis-cell/issues/50 */
static void case_010_huge_rate(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "gcra 1000/60s burst 1001");
    assert_int_equal(case_take(&world, 0, "k", 1).remaining, 1000);
    assert_int_equal(case_take(&world, 10 * MS, "k", 1).remaining, 999);
    assert_int_equal(case_take(&world, 20 * MS, "k", 1).remaining, 998);
    uint64_t live = 0;
    assert_int_equal(mete_store_keys_live(world.store, &live), METE_OK);
    assert_int_equal(live, 1);
    case_close(&world);
}

/* The interval of the bucket was taken for the interval of a token: after a
 * second 1 request passed instead of 30.
 * Source: https://github.com/didip/tollbooth/issues/17 */
static void case_065_refill_quantum(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "30/s burst 30");
    assert_int_equal(case_admitted(&world, 0, "k", 50), 30);
    assert_int_equal(case_admitted(&world, 1 * SEC, "k", 30), 30);
    assert_false(case_take(&world, 1 * SEC, "k", 1).allowed);
    case_close(&world);
}

/* Each hit restarted the leak, so nothing leaked while hits came faster than the
 * leak interval.
 * Source: https://github.com/mailgun/gubernator/issues/77 */
static void case_061_leak_restarted_by_hits(void **state)
{
    (void)state;
    static const uint64_t remaining[] = {9, 8, 7, 7, 6, 5, 5, 4, 3, 3, 2};
    struct case_world world;
    case_open(&world, "leaky_bucket 10/30s burst 10");
    for (uint64_t s = 0; s < CASE_COUNT_OF(remaining); s++) {
        struct mete_decision decision = case_take(&world, s * SEC, "k", 1);
        assert_true(decision.allowed);
        assert_int_equal(decision.remaining, remaining[s]);
    }
    case_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_001_rounding_drift),       cmocka_unit_test(case_003_rounding_drift),
        cmocka_unit_test(case_005_rounding_drift),       cmocka_unit_test(case_006_rounding_of_interval),
        cmocka_unit_test(case_008_rounding_of_interval), cmocka_unit_test(case_010_huge_rate),
        cmocka_unit_test(case_065_refill_quantum),       cmocka_unit_test(case_061_leak_restarted_by_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of time: clocks that go back, waits that are told wrong, levels that
 * outgrow their cap while idle.
 */
#include "case.h"

#include <unistd.h>

/* A call with an older time moved the last-update mark back, so the same 5 s
 * were credited twice.
 * Source: https://github.com/golang/go/issues/56287 */
static void case_025_clock_out_of_order_mint(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/s burst 10");
    struct mete_decision decision = case_take(&world, 10 * SEC, "k", 8);
    assert_true(decision.allowed);
    assert_int_equal(decision.remaining, 2);
    /* The report would admit this one, at the level of 10 s.  A limiter that
     * keeps the moment of being full is stricter: seen from 5 s, 13 are owed. */
    assert_false(case_take_stale(&world, 5 * SEC, "k", 1).allowed);
    /* The point of the report: nothing is credited twice. */
    decision = case_take(&world, 10 * SEC, "k", 6);
    assert_false(decision.allowed);
    assert_int_equal(decision.remaining, 2);
    assert_int_equal(decision.retry_after_ns, 4 * SEC);
    assert_int_equal(case_admitted(&world, 10 * SEC, "k", 3), 2);
    case_close(&world);
}

/* Any order of times between 10 s and 20 s admits at most burst + rate * 10 s. */
static void case_025_clock_any_order(void **state)
{
    (void)state;
    struct case_world world;
    uint64_t seed = 25;
    case_open(&world, "1/s burst 10");
    for (unsigned history = 0; history < 200; history++) {
        uint64_t admitted = 0;
        case_set(&world, 20 * SEC);
        assert_int_equal(mete_reset(world.limiter, "k", 1), METE_OK);
        for (unsigned call = 0; call < 100; call++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            admitted += case_take_stale(&world, 10 * SEC + (seed >> 33) % (10 * SEC + 1), "k", 1).allowed;
        }
        assert_true(admitted <= 20);
    }
    case_close(&world);
}

/* Reconfiguring or cancelling with a stale time moved the last-update mark back:
 * the next call got 5 s of credit again.
 * Source: https://github.com/tikv/pd/pull/10745 */
static void case_026_clock_stale_reconfig(void **state)
{
    (void)state;
    struct case_world world;
    struct mete_limit limit = case_limit("10/s burst 100");
    case_open(&world, "10/s burst 100");
    assert_true(case_take(&world, 10 * SEC, "k", 100).allowed);
    case_set(&world, 5 * SEC);
    assert_int_equal(mete_limiter_set_limit(world.limiter, &limit), METE_OK);
    struct mete_decision decision = case_take(&world, 10 * SEC, "k", 1);
    assert_false(decision.allowed);
    assert_int_equal(decision.remaining, 0);
    /* A cancelled call gives back its own unit, whatever its time, and no more. */
    assert_true(case_take(&world, 10 * SEC + 100 * MS, "k", 1).allowed);
    case_refund(&world, 10 * SEC + 100 * MS, "k", 1, 5 * SEC);
    assert_int_equal(case_admitted(&world, 10 * SEC + 100 * MS, "k", 2), 1);
    case_close(&world);
}

/* After a step back of 120 s a denied call was told to wait window + step.
 * Source: https://github.com/JSONbored/loopover/pull/5855 */
static void case_028_clock_backward_retry_after(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 1/60s anchored");
    assert_true(case_take(&world, 1000 * SEC, "k", 1).allowed);
    struct mete_decision refused = case_take_stale(&world, 880 * SEC, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, 60 * SEC);
    case_close(&world);
}

/* State saved under one clock was compared with another after a restart: limits
 * ended early or stayed.
 * Source: https://github.com/systemd/systemd/pull/42919 */
static void case_098_persisted_time_wrong_clock(void **state)
{
    (void)state;
    char path[] = "/tmp/mete-case-098-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    struct case_world world;
    case_set(&world, 5000 * SEC);
    world.store = case_store(&world, 100, path);
    world.limiter = case_limiter(world.store, "case", "fixed_window 2/3600s");
    assert_int_equal(case_admitted(&world, 5000 * SEC, "k", 3), 2);
    case_close(&world);
    /* The clock starts again near 0: the key is still used up, and no wait is
     * longer than a window. */
    case_set(&world, 10 * SEC);
    world.store = case_store(&world, 100, path);
    world.limiter = case_limiter(world.store, "case", "fixed_window 2/3600s");
    struct mete_decision refused = case_take(&world, 10 * SEC, "k", 1);
    assert_false(refused.allowed);
    assert_true(refused.retry_after_ns > 0);
    assert_true(refused.retry_after_ns <= 3600 * SEC);
    case_close(&world);
    unlink(path);
}

/* A wait of 200 ms became "Retry-After: 0".
 * Source: https://github.com/benwis/tower-governor/issues/65 */
static void case_068_retry_after_zero(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "gcra 5/s burst 1");
    assert_true(case_take(&world, 0, "k", 1).allowed);
    struct mete_decision refused = case_take(&world, 0, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, 200 * MS);
    assert_int_equal((refused.retry_after_ns + SEC - 1) / SEC, 1);
    /* Down to the last nanosecond a refusal never says 0. */
    refused = case_take(&world, 200 * MS - 1, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, 1);
    case_close(&world);
}

/* At the end of a window the entry had just vanished and the header showed large
 * negative numbers.
 * Source: https://github.com/alisaifee/flask-limiter/issues/62 */
static void case_070_retry_after_negative(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 1/60s anchored");
    assert_true(case_take(&world, 0, "k", 1).allowed);
    struct mete_decision refused = case_take(&world, 59900 * MS, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, 100 * MS);
    assert_true(case_take(&world, 60 * SEC, "k", 1).allowed);
    case_close(&world);
}

/* The wait told was the whole window (20 s) with 1 s left.
 * Source: https://github.com/dotnet/runtime/issues/92557 */
static void case_071_retry_after_full_window(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 2/20s anchored");
    assert_true(case_take(&world, 0, "k", 2).allowed);
    struct mete_decision refused = case_take(&world, 19 * SEC, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, 1 * SEC);
    case_close(&world);
}

/* A header carried a span where its clients expect a time.  The library knows
 * spans only, whatever the clock reads.
 * Source: https://github.com/utksh1/SecuScan/issues/1838 */
static void case_073_header_unit_mix(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 1/60s anchored");
    assert_true(case_take(&world, 1700000000 * SEC, "k", 1).allowed);
    struct mete_decision refused = case_take(&world, 1700000010 * SEC, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, 50 * SEC);
    assert_int_equal(refused.reset_after_ns, 50 * SEC);
    case_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_025_clock_out_of_order_mint),
        cmocka_unit_test(case_025_clock_any_order),
        cmocka_unit_test(case_026_clock_stale_reconfig),
        cmocka_unit_test(case_028_clock_backward_retry_after),
        cmocka_unit_test(case_098_persisted_time_wrong_clock),
        cmocka_unit_test(case_068_retry_after_zero),
        cmocka_unit_test(case_070_retry_after_negative),
        cmocka_unit_test(case_071_retry_after_full_window),
        cmocka_unit_test(case_073_header_unit_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

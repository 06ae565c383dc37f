/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of the bucket's level: one unit too many, no cap after idling, a reset
 * that counts one unit only, units given back in the wrong amount.
 */
#include "case.h"

/* The tolerance was one unit too large: an extra one slipped through once time
 * had moved on.
 * Source: https://github.com/boinkor-net/governor/issues/107 */
static void case_050_burst_definition_off_by_one(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "gcra 20/s burst 5");
    static const struct case_step steps[] = {
        {0, 1, true},        {0, 1, true},        {0, 1, true},        {0, 1, true},        {0, 1, true},
        {0, 1, false},       {50 * MS, 1, true},  {50 * MS, 1, false}, {10 * SEC, 1, true}, {10 * SEC, 1, true},
        {10 * SEC, 1, true}, {10 * SEC, 1, true}, {10 * SEC, 1, true}, {10 * SEC, 1, false}};
    case_run(&world, "k", steps);
    case_close(&world);
    /* Five at once are the same as one five times. */
    case_open(&world, "gcra 20/s burst 5");
    static const struct case_step batched[] = {{0, 5, true},           {0, 1, false},        {50 * MS, 1, true},
                                               {50 * MS, 1, false},    {10 * SEC, 5, true},  {10 * SEC, 1, false},
                                               {10250 * MS, 6, false}, {10250 * MS, 5, true}};
    case_run(&world, "k", batched);
    case_close(&world);
}

/* After a long idle time any number of tokens could be taken.
 * Source: https://github.com/udoprog/leaky-bucket/pull/30 */
static void case_053_burst_cap_after_idle(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/s burst 10");
    assert_true(case_take(&world, 0, "k", 10).allowed);
    struct mete_decision refused = case_take(&world, 1000 * SEC, "k", 500);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, METE_NEVER);
    assert_int_equal(refused.remaining, 10);
    assert_true(case_take(&world, 1000 * SEC, "k", 10).allowed);
    assert_false(case_take(&world, 1000 * SEC, "k", 1).allowed);
    case_close(&world);
}

/* The reset time counted one unit (3 s) instead of all units in the bucket.
 * Source: https://github.com/mailgun/gubernator/pull/110 */
static void case_060_reset_time_wrong(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "leaky_bucket 10/30s burst 10");
    struct mete_decision decision = case_take(&world, 0, "k", 4);
    assert_true(decision.allowed);
    assert_int_equal(decision.reset_after_ns, 12 * SEC);
    case_close(&world);
}

/* Cancelling a reservation gave 8 of its 10 tokens back, because what later
 * reservations took was subtracted again.
 * Source: https://github.com/golang/go/issues/56924 */
static void case_081_cancel_refund_wrong(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "10/s burst 20");
    assert_int_equal(case_reserve(&world, 0, "k", 15, 10 * SEC).wait_ns, 0);
    assert_int_equal(case_reserve(&world, 100 * MS, "k", 10, 10 * SEC).wait_ns, 400 * MS);
    assert_true(case_reserve(&world, 200 * MS, "k", 2, 10 * SEC).allowed);
    assert_int_equal(case_refund(&world, 300 * MS, "k", 10, METE_NOW).remaining, 6);
    assert_int_equal(case_remaining(&world, 300 * MS, "k"), 6);
    case_close(&world);
    /* As if the cancelled one had never been made. */
    case_open(&world, "10/s burst 20");
    assert_true(case_reserve(&world, 0, "k", 15, 10 * SEC).allowed);
    assert_true(case_reserve(&world, 200 * MS, "k", 2, 10 * SEC).allowed);
    assert_int_equal(case_remaining(&world, 300 * MS, "k"), 6);
    case_close(&world);
}

/* Cancelling a reservation that was usable at once did nothing, so refusals by a
 * later rule drained the shared bucket.
 * Source: https://github.com/hugalafutro/model-hotel/pull/976 */
static void case_083_cancel_refund_noop(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/3600s burst 5");
    struct mete_decision decision = case_reserve(&world, 0, "owner", 1, 0);
    assert_true(decision.allowed);
    assert_int_equal(decision.wait_ns, 0);
    assert_int_equal(decision.remaining, 4);
    assert_int_equal(case_refund(&world, MS, "owner", 1, METE_NOW).remaining, 5);
    assert_int_equal(case_remaining(&world, MS, "owner"), 5);
    case_close(&world);
}

/* The refund of a grant went to the window after its own, took the usage of
 * others away and gave capacity for free.
 * Source: https://github.com/Instawork/llm-proxy/pull/40 */
static void case_085_refund_into_next_window(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 100/60s");
    assert_true(case_reserve(&world, 59 * SEC, "k", 60, 0).allowed);
    assert_true(case_take(&world, 60 * SEC, "k", 50).allowed);
    assert_int_equal(case_refund(&world, 61 * SEC, "k", 60, 59 * SEC).remaining, 50);
    assert_false(case_take(&world, 61 * SEC, "k", 51).allowed);
    assert_true(case_take(&world, 61 * SEC, "k", 50).allowed);
    case_close(&world);
}

/* A refund while nothing remained was answered "over the limit" and ignored.
 * Source: https://github.com/mailgun/gubernator/issues/156 */
static void case_086_refund_at_zero_ignored(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "10/60s burst 10");
    assert_true(case_take(&world, 0, "k", 10).allowed);
    struct mete_decision decision = case_refund(&world, 0, "k", 1, METE_NOW);
    assert_true(decision.allowed);
    assert_int_equal(decision.remaining, 1);
    assert_true(case_take(&world, 0, "k", 1).allowed);
    assert_false(case_take(&world, 0, "k", 1).allowed);
    case_close(&world);
}

/* Forced sends overfilled the bucket without bound, so the wait grew without
 * bound.
 * Source: https://github.com/chatmail/core/pull/3496 */
static void case_088_debt_unbounded(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "leaky_bucket 1/s burst 5");
    /* There is no call that forces: 100 never fit into 5, by take or by reserve. */
    assert_int_equal(case_take(&world, 0, "k", 100).retry_after_ns, METE_NEVER);
    assert_false(case_reserve(&world, 0, "k", 100, METE_NEVER).allowed);
    /* The most a key can owe is the capacity, so a unit waits 1 s at most. */
    assert_int_equal(case_admitted(&world, 0, "k", 100), 5);
    assert_false(case_reserve(&world, 0, "k", 1, METE_NEVER).allowed);
    assert_int_equal(case_take(&world, 0, "k", 1).retry_after_ns, SEC);
    case_close(&world);
    /* A token bucket's reservations go into debt as far as the caller accepts to
     * wait, and not a nanosecond further. */
    case_open(&world, "1/s burst 5");
    uint64_t granted = 0;
    while (case_reserve(&world, 0, "k", 1, 10 * SEC).allowed) {
        granted++;
    }
    assert_int_equal(granted, 15);
    assert_int_equal(case_take(&world, 0, "k", 1).retry_after_ns, 11 * SEC);
    case_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_050_burst_definition_off_by_one),
        cmocka_unit_test(case_053_burst_cap_after_idle),
        cmocka_unit_test(case_060_reset_time_wrong),
        cmocka_unit_test(case_081_cancel_refund_wrong),
        cmocka_unit_test(case_083_cancel_refund_noop),
        cmocka_unit_test(case_085_refund_into_next_window),
        cmocka_unit_test(case_086_refund_at_zero_ignored),
        cmocka_unit_test(case_088_debt_unbounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

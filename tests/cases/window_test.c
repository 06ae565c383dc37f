/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of windows: off by one, a previous window that is not weighed, windows
 * that move, never rotate, or are shared by all keys.
 */
#include "case.h"

/* The weight of the previous window (0.95 of 1) was cut to 0, so the call right
 * after the boundary passed.
 * Source: https://github.com/tempesta-tech/xFW/pull/79 */
static void case_011_sliding_counter_truncation(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "sliding_window 1/1s");
    static const struct case_step steps[] = {
        {900 * MS, 1, true}, {1050 * MS, 1, false}, {1900 * MS, 1, false}, {1990 * MS, 1, false}, {2000 * MS, 1, true}};
    case_run(&world, "k", steps);
    case_close(&world);
    /* The same to the nanosecond. */
    case_open(&world, "sliding_window 1/1s");
    assert_true(case_take(&world, 900 * MS, "k", 1).allowed);
    struct mete_decision refused = case_take(&world, 2 * SEC - 1, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, 1);
    case_close(&world);
}

/* The previous window was looked up under the wrong index: it counted for
 * nothing and the client was told that 90 are left.
 * Source: https://github.com/upstash/ratelimit-js/pull/61 */
static void case_013_sliding_counter_window_index(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "sliding_window 100/10s");
    assert_int_equal(case_admitted(&world, 5 * SEC, "k", 50), 50);
    assert_int_equal(case_admitted(&world, 11 * SEC, "k", 10), 10);
    assert_int_equal(case_remaining(&world, 11 * SEC, "k"), 45);
    assert_int_equal(case_admitted(&world, 11 * SEC, "k", 46), 45);
    case_close(&world);
}

/* The period counters saw only the milliseconds within a second, so periods
 * above 1 s never rotated.
 * Source: https://github.com/haproxy/haproxy/issues/1196 */
static void case_063_window_never_rotates(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "sliding_window 200/10s");
    for (uint64_t s = 0; s < 300; s++) {
        assert_true(case_take(&world, s * SEC, "k", 1).allowed);
    }
    case_close(&world);
    /* Ten calls a period from 1 ms to 30 days, for 30 periods: none is refused,
     * and the estimate stays at the 20 of two windows at most. */
    static const char *const periods[] = {"1ms", "10ms", "999ms", "1s", "1001ms", "1m", "1h", "1d", "30d"};
    for (size_t i = 0; i < CASE_COUNT_OF(periods); i++) {
        char text[64];
        snprintf(text, sizeof(text), "sliding_window 200/%s", periods[i]);
        uint64_t step_ns = case_limit(text).period_ns / 10;
        case_open(&world, text);
        for (uint64_t call = 0; call < 300; call++) {
            struct mete_decision decision = case_take(&world, call * step_ns, "k", 1);
            assert_true(decision.allowed);
            assert_true(decision.remaining >= 180);
        }
        case_close(&world);
    }
}

/* A limit of 5 let 4 through.
 * Source: https://github.com/TykTechnologies/tyk/issues/48 */
static void case_051_off_by_one(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 5/5s");
    static const struct case_step steps[] = {{0, 1, true},        {100 * MS, 1, true}, {200 * MS, 1, true},
                                             {300 * MS, 1, true}, {400 * MS, 1, true}, {500 * MS, 1, false}};
    case_run(&world, "k", steps);
    case_close(&world);
    /* n means n, for every algorithm. */
    static const char *const names[] = {"token_bucket", "leaky_bucket", "fixed_window", "sliding_window",
                                        "sliding_log"};
    for (size_t i = 0; i < CASE_COUNT_OF(names); i++) {
        for (unsigned count = 1; count <= 1000; count += count < 20 ? 1 : 49) {
            char text[64];
            snprintf(text, sizeof(text), "%s %u/1h", names[i], count);
            case_open(&world, text);
            assert_int_equal(case_admitted(&world, 0, "k", count + 2), count);
            case_close(&world);
        }
    }
}

/* Refused calls were logged too: a client that kept trying was never let in
 * again.
 * Source: https://github.com/rcarmo/piclaw/pull/105 */
static void case_055_denied_extend_window(void **state)
{
    (void)state;
    static const bool allowed[] = {1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1};
    struct case_world world;
    case_open(&world, "sliding_log 3/60s");
    for (uint64_t i = 0; i < CASE_COUNT_OF(allowed); i++) {
        assert_int_equal(case_take(&world, i * 10 * SEC, "k", 1).allowed, allowed[i]);
    }
    case_close(&world);
}

/* The start of the window moved with every request: a polling client stayed
 * locked out.
 * Source: https://github.com/fade/asteroid/pull/102 */
static void case_056_denied_extend_window(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 10/60s anchored");
    uint64_t denied = 0;
    for (uint64_t s = 0; s <= 125; s += 5) {
        bool allowed = case_take(&world, s * SEC, "k", 1).allowed;
        assert_int_equal(allowed, s != 50 && s != 55 && s != 110 && s != 115);
        denied += !allowed;
    }
    assert_int_equal(denied, 4);
    case_close(&world);
}

/* One timer wiped all keys: B, used up at 174 s, was free again at 180 s.
 * Source: https://github.com/express-rate-limit/express-rate-limit/issues/194 */
static void case_058_shared_window_reset(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 5/180s anchored");
    assert_true(case_take(&world, 0, "A", 1).allowed);
    for (uint64_t s = 170; s < 175; s++) {
        assert_true(case_take(&world, s * SEC, "B", 1).allowed);
    }
    struct mete_decision refused = case_take(&world, 181 * SEC, "B", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, (350 - 181) * SEC);
    assert_false(case_take(&world, 350 * SEC - 1, "B", 1).allowed);
    assert_true(case_take(&world, 350 * SEC, "B", 1).allowed);
    case_close(&world);
}

/* A month was 30 days, so quotas were not reset on the first of the month.
 * Source: https://github.com/Kong/kong/issues/9581 */
static void case_066_calendar_window(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 1/month calendar");
    static const struct case_step steps[] = {{1709251199 * SEC, 1, true},   /* 2024-02-29T23:59:59Z */
                                             {1709251200 * SEC, 1, true},   /* 2024-03-01T00:00:00Z */
                                             {1711929599 * SEC, 1, false}}; /* 2024-03-31T23:59:59Z */
    case_run(&world, "k", steps);
    assert_int_equal(case_take(&world, 1711929599 * SEC, "k", 1).retry_after_ns, SEC);
    assert_true(case_take(&world, 1711929600 * SEC, "k", 1).allowed);
    case_close(&world);
}

/* Big and small costs together: after a cost of 8 the limit was not enforced.
 * Source: https://github.com/alisaifee/limits/pull/112 */
static void case_045_mixed_cost_miscount(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "sliding_log 10/60s");
    static const struct case_step steps[] = {{0, 8, true}, {1 * SEC, 1, true}, {2 * SEC, 1, true}, {3 * SEC, 1, false}};
    case_run(&world, "k", steps);
    assert_int_equal(case_take(&world, 3 * SEC, "k", 1).retry_after_ns, 57 * SEC);
    assert_int_equal(case_remaining(&world, 60 * SEC, "k"), 8);
    case_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_011_sliding_counter_truncation), cmocka_unit_test(case_013_sliding_counter_window_index),
        cmocka_unit_test(case_063_window_never_rotates),       cmocka_unit_test(case_051_off_by_one),
        cmocka_unit_test(case_055_denied_extend_window),       cmocka_unit_test(case_056_denied_extend_window),
        cmocka_unit_test(case_058_shared_window_reset),        cmocka_unit_test(case_066_calendar_window),
        cmocka_unit_test(case_045_mixed_cost_miscount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of zero, negative and oversized numbers: a rate of 0 that is unlimited,
 * a cost that mints units, a cost that never fits but is told to come back.
 */
#include "case.h"

/* Refused when the limit is made, with the field named and nothing written. */
static void assert_count_refused(struct mete_limit limit)
{
    struct case_world world;
    case_set(&world, 0);
    mete_store *store = case_store(&world, 16, NULL);
    mete_limiter *untouched = (mete_limiter *)&world;
    mete_limiter *limiter = untouched;
    char why[200] = "";
    assert_true(mete_limiter_create_why(store, "case", &limit, &limiter, why, sizeof(why)) < 0);
    assert_ptr_equal(limiter, untouched);
    assert_non_null(strstr(why, "count"));
    mete_store_destroy(store);
}

/* A rate of 0 with a burst of 1 admitted every call: the division by zero gave
 * an infinite refill.
 * Source: https://github.com/golang/go/issues/39984 */
static void case_030_zero_rate(void **state)
{
    (void)state;
    assert_count_refused((struct mete_limit){.count = 0, .period_ns = SEC, .burst = 1});
    struct mete_limit limit;
    assert_int_not_equal(mete_limit_parse("0/s burst 1", &limit), METE_OK);
    /* The nearest rate there is, one per ten years: the first unit, then nothing. */
    struct case_world world;
    case_open(&world, "1/315576000s burst 1");
    static const struct case_step steps[] = {{0, 1, true}, {1 * SEC, 1, false}, {1000000 * SEC, 1, false}};
    case_run(&world, "k", steps);
    case_close(&world);
}

/* A limit of 0 let the first request of a client through.
 * Source: https://github.com/abersheeran/asgi-ratelimit/issues/56 */
static void case_031_zero_limit(void **state)
{
    (void)state;
    for (int algorithm = METE_TOKEN_BUCKET; algorithm <= METE_SLIDING_LOG; algorithm++) {
        assert_count_refused((struct mete_limit){.algorithm = (enum mete_algorithm)algorithm, .period_ns = 3600 * SEC});
    }
}

/* 0 was documented as "unlimited" and became "nothing": here neither, a count of
 * 0 is refused, and the one 0 with a meaning (burst) means what is documented.
 * Source: https://github.com/traefik/traefik/pull/9621 */
static void case_033_zero_means_unlimited(void **state)
{
    (void)state;
    assert_count_refused((struct mete_limit){.count = 0, .period_ns = SEC, .burst = 0});
    struct case_world world;
    struct mete_limit limit = {.count = 7, .period_ns = SEC, .burst = 0};
    case_set(&world, 0);
    world.store = case_store(&world, 16, NULL);
    assert_int_equal(mete_limiter_create(world.store, "case", &limit, &world.limiter), METE_OK);
    assert_int_equal(case_admitted(&world, 0, "k", 10), 7);
    case_close(&world);
}

/* A negative count was accepted and minted capacity.
 * Source: https://github.com/songzhibin97/gkit/pull/133 */
static void case_035_negative_cost(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/s burst 1");
    assert_true(case_take(&world, 0, "k", 1).allowed);
    /* The type has no sign: -5 arrives as 2^64 - 5, which can never pass. */
    struct mete_decision refused = case_take(&world, 0, "k", (uint64_t)-5);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, METE_NEVER);
    assert_int_equal(refused.remaining, 0);
    assert_false(case_take(&world, 0, "k", 1).allowed);
    case_close(&world);
}

/* A cost of -1 made the remaining units 11 of 10, then a huge negative number.
 * Source: https://github.com/symfony/symfony/pull/63550 */
static void case_036_negative_cost(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 10/3600s");
    struct mete_decision refused = case_take(&world, 0, "k", (uint64_t)-1);
    assert_false(refused.allowed);
    assert_int_equal(refused.remaining, 10);
    assert_int_equal(case_take(&world, 0, "k", 1).remaining, 9);
    /* Giving back has its own call, and stops at full. */
    assert_int_equal(case_refund(&world, 0, "k", 5, METE_NOW).remaining, 10);
    assert_int_equal(case_take(&world, 0, "k", 1).remaining, 9);
    case_close(&world);
}

/* A cost that is no whole number surfaced as an obscure script error.
 * Source: https://github.com/animir/node-rate-limiter-flexible/issues/221 */
static void case_038_bad_input_error(void **state)
{
    (void)state;
    struct case_world world;
    struct mete_request request = case_request("k", 1);
    struct mete_decision decision;
    case_open(&world, "10/60s");
    /* Costs are typed here; what is text is the limit. */
    static const char *const bad[] = {"1.5/s", "abc/s", "/s", "", "10/60s burst 1.5", "10/60s burst abc"};
    for (size_t i = 0; i < CASE_COUNT_OF(bad); i++) {
        struct mete_limit limit;
        char why[200] = "";
        assert_int_equal(mete_limit_parse_why(bad[i], &limit, why, sizeof(why)), METE_EINVAL);
        assert_true(strlen(why) > 0);
    }
    /* And a request without a key. */
    request.key = NULL;
    assert_int_equal(mete_take(world.limiter, &request, &decision), METE_EINVAL);
    assert_int_equal(case_take(&world, 0, "k", 1).remaining, 9);
    case_close(&world);
}

/* The cap was the rate itself (0.1), below the cost of one item: the bucket could
 * never pay.
 * Source: https://github.com/jaegertracing/jaeger-client-python/pull/35 */
static void case_040_capacity_below_cost(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/10s");
    static const struct case_step steps[] = {
        {0, 1, true}, {5 * SEC, 1, false}, {10 * SEC, 1, true}, {20 * SEC, 1, true}};
    case_run(&world, "k", steps);
    case_close(&world);
}

/* With a burst of 0 nothing could ever pass and waiters hung for ever.
 * Source: https://github.com/temporalio/temporal/pull/10327 */
static void case_041_zero_burst_stall(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "10/s");
    /* No limit has a capacity of 0.  What can never pass fails at once: the
     * clock of this store stands still, so a wait that sleeps would not return. */
    struct mete_request request = case_request("k", 11);
    struct mete_decision decision;
    request.wait_ns_max = METE_NEVER;
    assert_int_equal(mete_wait(world.limiter, &request, &decision), METE_OK);
    assert_false(decision.allowed);
    assert_int_equal(decision.retry_after_ns, METE_NEVER);
    assert_int_equal(case_admitted(&world, 0, "k", 11), 10);
    case_close(&world);
}

/* A cost of 4 on a bucket of 3 was told to come back in 0.66 s.
 * Source: https://github.com/bucket4j/bucket4j/issues/220 */
static void case_043_cost_above_burst(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "3/2s burst 3");
    struct mete_decision refused = case_take(&world, 0, "k", 4);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, METE_NEVER);
    assert_true(case_take(&world, 0, "k", 3).allowed);
    case_close(&world);
}

/* The check asked whether units were left, not whether there were enough.
 * Source: https://github.com/ExHammer/hammer/pull/119 */
static void case_046_cost_compared_with_zero(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/s burst 10");
    assert_true(case_take(&world, 0, "k", 8).allowed);
    struct mete_decision refused = case_take(&world, 0, "k", 5);
    assert_false(refused.allowed);
    assert_int_equal(refused.remaining, 2);
    assert_int_equal(refused.retry_after_ns, 3 * SEC);
    assert_true(case_take(&world, 0, "k", 2).allowed);
    case_close(&world);
}

/* The answer to an oversized call contradicted itself: refused, yet free at once.
 * Source: https://github.com/redis/redis/pull/15113 */
static void case_048_cost_above_burst_fields(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "gcra 1/60s burst 6");
    struct mete_decision refused = case_take(&world, 0, "k", 10);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, METE_NEVER);
    assert_int_equal(refused.limit, 6);
    assert_int_equal(refused.remaining, 6);
    assert_int_equal(refused.reset_after_ns, 0);
    assert_int_equal(refused.wait_ns, 0);
    struct mete_decision second = case_take(&world, 0, "k", 1);
    assert_true(second.allowed);
    assert_int_equal(second.remaining, 5);
    assert_int_equal(second.retry_after_ns, 0);
    assert_int_equal(second.reset_after_ns, 60 * SEC);
    case_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_030_zero_rate),
        cmocka_unit_test(case_031_zero_limit),
        cmocka_unit_test(case_033_zero_means_unlimited),
        cmocka_unit_test(case_035_negative_cost),
        cmocka_unit_test(case_036_negative_cost),
        cmocka_unit_test(case_038_bad_input_error),
        cmocka_unit_test(case_040_capacity_below_cost),
        cmocka_unit_test(case_041_zero_burst_stall),
        cmocka_unit_test(case_043_cost_above_burst),
        cmocka_unit_test(case_046_cost_compared_with_zero),
        cmocka_unit_test(case_048_cost_above_burst_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

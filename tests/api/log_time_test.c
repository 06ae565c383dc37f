/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "A t before last is judged at last, and waits are counted from there.  A refund
 * or a reset does not move last back."  (docs/algorithms.md, "Sliding window log")
 */
#include "api.h"

static struct api_world world;

static int open_world(void **state)
{
    (void)state;
    api_open(&world, "sliding_log 3/10s");
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    api_close(&world);
    return 0;
}

static struct mete_decision take_at(const char *key, uint64_t cost, uint64_t now_ns)
{
    struct mete_request request = api_request(key, cost);
    struct mete_decision decision;
    request.now_ns = now_ns;
    assert_int_equal(mete_take(world.limiter, &request, &decision), METE_OK);
    return decision;
}

static void waits_count_from_last(void **state)
{
    (void)state;
    assert_true(take_at("k", 3, 100 * SEC).allowed);
    struct mete_decision decision = take_at("k", 1, 95 * SEC);
    assert_false(decision.allowed);
    assert_int_equal(decision.retry_after_ns, 10 * SEC);
    assert_int_equal(decision.reset_after_ns, 10 * SEC);
}

/* The units of 90 s are over at last, 100 s, so they do not count at 95 s; and what is taken then counts from last. */
static void what_is_over_at_last_is_over(void **state)
{
    (void)state;
    assert_true(take_at("k", 2, 90 * SEC).allowed);
    assert_true(take_at("k", 1, 100 * SEC).allowed);
    struct mete_decision decision = take_at("k", 2, 95 * SEC);
    assert_true(decision.allowed);
    assert_int_equal(decision.remaining, 0);
    assert_int_equal(decision.reset_after_ns, 10 * SEC);
    assert_false(take_at("k", 1, 110 * SEC - 1).allowed);
    assert_true(take_at("k", 3, 110 * SEC).allowed);
}

static void spend_again_at_an_older_time(void)
{
    assert_true(take_at("k", 3, 95 * SEC).allowed);
    assert_false(take_at("k", 1, 105 * SEC).allowed);
    assert_false(take_at("k", 1, 110 * SEC - 1).allowed);
    assert_true(take_at("k", 1, 110 * SEC).allowed);
}

static void a_reset_keeps_last(void **state)
{
    (void)state;
    assert_true(take_at("k", 3, 100 * SEC).allowed);
    assert_int_equal(mete_reset(world.limiter, "k", 1), METE_OK);
    spend_again_at_an_older_time();
}

static void a_refund_keeps_last(void **state)
{
    (void)state;
    assert_true(take_at("k", 3, 100 * SEC).allowed);
    assert_int_equal(api_refund(&world, 100 * SEC, "k", 3, 100 * SEC).remaining, 3);
    spend_again_at_an_older_time();
}

#define log_test(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        log_test(waits_count_from_last),
        log_test(what_is_over_at_last_is_over),
        log_test(a_reset_keeps_last),
        log_test(a_refund_keeps_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

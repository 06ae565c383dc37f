/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of reloading and of several rules at once: full buckets after a reload,
 * two configurations in force, time priced at the wrong rate, refused calls that
 * are charged elsewhere.
 */
#include "case.h"

static void set_limit(struct case_world *world, uint64_t at_ns, const char *text)
{
    struct mete_limit limit = case_limit(text);
    case_set(world, at_ns);
    assert_int_equal(mete_limiter_set_limit(world->limiter, &limit), METE_OK);
}

/* Every reload made full buckets: frequent reloads made the limit meaningless.
 * Source: https://github.com/nuetzliches/hookaido/pull/239 */
static void case_093_reload_refills(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/60s burst 10");
    assert_true(case_take(&world, 0, "k", 10).allowed);
    set_limit(&world, 100 * MS, "1/60s burst 10");
    assert_false(case_take(&world, 200 * MS, "k", 1).allowed);
    /* A limiter made anew under the same name is the same limiter. */
    mete_limiter_destroy(world.limiter);
    world.limiter = case_limiter(world.store, "case", "1/60s burst 10");
    struct mete_decision refused = case_take(&world, 300 * MS, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, 59700 * MS);
    case_close(&world);
}

/* After lowering 20 to 10 a peek still said 20 while a call of 12 was refused as
 * above the burst.
 * Source: https://github.com/symfony/symfony/issues/44850 */
static void case_095_reload_mixed_config(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "20/60s burst 20");
    assert_int_equal(case_remaining(&world, 0, "k"), 20);
    set_limit(&world, 0, "10/60s burst 10");
    assert_int_equal(case_remaining(&world, 0, "k"), 10);
    struct mete_decision refused = case_take(&world, 0, "k", 12);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, METE_NEVER);
    assert_int_equal(refused.limit, 10);
    assert_int_equal(refused.remaining, 10);
    case_close(&world);
}

/* The rate changed but the old time mark stayed: the past 10 s were priced at
 * the new rate.
 * Source: https://github.com/OpenZeppelin/contracts-sui/pull/350 */
static void case_096_reload_reprices_time(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/s burst 1000");
    assert_true(case_take(&world, 0, "k", 1000).allowed);
    set_limit(&world, 10 * SEC, "100/s burst 1000");
    assert_int_equal(case_remaining(&world, 10 * SEC, "k"), 10);
    assert_int_equal(case_remaining(&world, 11 * SEC, "k"), 110);
    case_close(&world);
    /* Also when the key is first used long after the change. */
    case_open(&world, "1/s burst 1000");
    assert_true(case_take(&world, 0, "k", 1000).allowed);
    set_limit(&world, 10 * SEC, "100/s burst 1000");
    assert_int_equal(case_remaining(&world, 11 * SEC, "k"), 110);
    case_close(&world);
}

/* Whether one call passes under both limiters; the same key for both. */
static bool passes_both(mete_limiter *first, const char *first_key, mete_limiter *second, const char *second_key,
                        size_t *binding)
{
    struct mete_demand demands[2] = {{first, case_request(first_key, 1)}, {second, case_request(second_key, 1)}};
    struct mete_decision decisions[2];
    assert_int_equal(mete_take_all(demands, 2, decisions, binding), METE_OK);
    return decisions[0].allowed && decisions[1].allowed;
}

/* Calls refused by the first limit counted in the second: after 31 tries the
 * user was blocked for half an hour.
 * Source: https://github.com/ravangen/graphql-rate-limit/issues/129 */
static void case_110_multi_limit_partial_consume(void **state)
{
    (void)state;
    struct case_world world;
    size_t binding = SIZE_MAX;
    case_open(&world, "fixed_window 10/60s");
    mete_limiter *half_hour = case_limiter(world.store, "half-hour", "fixed_window 30/1800s");
    static const unsigned calls[] = {20, 11, 11};
    for (unsigned minute = 0; minute < 3; minute++) {
        unsigned admitted = 0;
        case_set(&world, minute * 60 * SEC);
        for (unsigned i = 0; i < calls[minute]; i++) {
            admitted += passes_both(world.limiter, "u", half_hour, "u", &binding);
        }
        assert_int_equal(admitted, 10);
        /* The last call of the third minute finds both used up: the half hour binds. */
        assert_int_equal(binding, minute < 2 ? 0 : 1);
    }
    case_set(&world, 180 * SEC);
    assert_false(passes_both(world.limiter, "u", half_hour, "u", &binding));
    assert_int_equal(binding, 1);
    assert_int_equal(case_remaining(&world, 180 * SEC, "u"), 10);
    mete_limiter_destroy(half_hour);
    case_close(&world);
}

/* One throttled user ate the shared quota with refused calls; an honest user was
 * refused.
 * Source: https://github.com/symfony/symfony/pull/65796 */
static void case_111_multi_limit_partial_consume(void **state)
{
    (void)state;
    for (int user_first = 0; user_first < 2; user_first++) {
        struct case_world world;
        case_open(&world, "fixed_window 10/3600s");
        mete_limiter *user = case_limiter(world.store, "user", "fixed_window 1/3600s");
        unsigned admitted = 0;
        for (unsigned i = 0; i < 20; i++) {
            admitted += user_first ? passes_both(user, "u1", world.limiter, "global", NULL)
                                   : passes_both(world.limiter, "global", user, "u1", NULL);
        }
        assert_int_equal(admitted, 1);
        assert_int_equal(case_remaining(&world, 1 * SEC, "global"), 9);
        assert_true(passes_both(user, "u2", world.limiter, "global", NULL));
        assert_int_equal(case_remaining(&world, 1 * SEC, "global"), 8);
        mete_limiter_destroy(user);
        case_close(&world);
    }
}

/* A normal call on a key that was blocked for ever replaced the block by the
 * length of a window.
 * Source: https://github.com/animir/node-rate-limiter-flexible/issues/210 */
static void case_113_block_shortened(void **state)
{
    (void)state;
    struct case_world world;
    /* There is no call that blocks a key.  The nearest thing is a key that owes
     * for 31 years: calls on it neither shorten nor lengthen that. */
    case_open(&world, "10/1000000000s burst 10");
    assert_true(case_take(&world, 0, "k", 1).allowed);
    assert_true(case_take(&world, 0, "k", 9).allowed);
    uint64_t free_at_ns = 100000000 * SEC;
    for (uint64_t ms = 200; ms <= 5000; ms += 100) {
        struct mete_decision refused = case_take(&world, ms * MS, "k", 1);
        assert_false(refused.allowed);
        assert_int_equal(ms * MS + refused.retry_after_ns, free_at_ns);
        assert_int_equal(ms * MS + refused.reset_after_ns, 10 * free_at_ns);
    }
    /* Nor does a limiter of another name on the same key. */
    mete_limiter *other = case_limiter(world.store, "other", "fixed_window 5/1s");
    assert_true(mete_allow(other, "k", 1));
    assert_false(case_take(&world, free_at_ns - 1, "k", 1).allowed);
    assert_true(case_take(&world, free_at_ns, "k", 1).allowed);
    mete_limiter_destroy(other);
    case_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_093_reload_refills),
        cmocka_unit_test(case_095_reload_mixed_config),
        cmocka_unit_test(case_096_reload_reprices_time),
        cmocka_unit_test(case_110_multi_limit_partial_consume),
        cmocka_unit_test(case_111_multi_limit_partial_consume),
        cmocka_unit_test(case_113_block_shortened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What each policy does with a new key when every ring of a sliding log is live. */
#include "api.h"

#define RINGS 8u /* the fewest there are: one bucket */

static void open_full(struct api_world *world, enum mete_full_policy policy)
{
    struct mete_store_options options = api_options(world);
    options.log_units_max = 1;
    options.on_full = policy;
    api_set(world, 100 * SEC);
    world->store = api_store(&options);
    world->limiter = api_limiter(world->store, "n", "sliding_log 3/10s");
    for (char key[2] = "0"; key[0] < (char)('0' + RINGS); key[0]++) {
        assert_true(api_take_of(world->limiter, key, key[0] == '0' ? 1 : 3).allowed);
    }
}

static void deny_until_a_ring_is_over(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_DENY);
    struct mete_decision decision = api_take(&world, 104 * SEC, "new", 1);
    assert_false(decision.allowed);
    assert_int_equal(decision.retry_after_ns, 6 * SEC);
    assert_int_equal(decision.remaining, 0);
    assert_int_equal(api_stats(world.store).full_denied, 1);
    assert_false(api_take(&world, 110 * SEC - 1, "new", 1).allowed);
    assert_true(api_take(&world, 110 * SEC, "new", 1).allowed);
    assert_int_equal(api_stats(world.store).keys_evicted, 0);
    api_close(&world);
}

static void allow_admits_untracked(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_ALLOW);
    for (unsigned i = 1; i <= 10; i++) {
        struct mete_decision decision = api_take_of(world.limiter, "new", 2);
        assert_true(decision.allowed);
        assert_int_equal(decision.remaining, 1);
        assert_int_equal(api_stats(world.store).full_untracked, i);
    }
    assert_false(api_take_of(world.limiter, "1", 1).allowed); /* those that are known are held to their limit */
    api_close(&world);
}

static void evict_forgets_the_least(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_EVICT);
    assert_true(api_take_of(world.limiter, "new", 3).allowed);
    assert_false(api_take_of(world.limiter, "new", 1).allowed);
    for (char key[2] = "1"; key[0] < (char)('0' + RINGS); key[0]++) {
        assert_false(api_take_of(world.limiter, key, 1).allowed);
    }
    api_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deny_until_a_ring_is_over),
        cmocka_unit_test(allow_admits_untracked),
        cmocka_unit_test(evict_forgets_the_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

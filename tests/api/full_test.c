/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table without a free cell: METE_FULL_EVICT, METE_FULL_DENY, METE_FULL_ALLOW.
 * With keys_max 4 all keys share four cells, so it is known when it is full.
 */
#include "api.h"

static void open_full(struct api_world *world, enum mete_full_policy policy)
{
    struct mete_store_options options = api_options(world);
    options.keys_max = 4;
    options.on_full = policy;
    api_set(world, 0);
    world->store = api_store(&options);
    world->limiter = api_limiter(world->store, "api", "10/10s");
    /* a owes 4, b 3, c 2, d 1: d is closest to full. */
    assert_true(api_take(world, 0, "a", 4).allowed);
    assert_true(api_take(world, 0, "b", 3).allowed);
    assert_true(api_take(world, 0, "c", 2).allowed);
    assert_true(api_take(world, 0, "d", 1).allowed);
    assert_int_equal(api_keys_live(world->store), 4);
    struct mete_store_stats stats = api_stats(world->store);
    assert_int_equal(stats.keys_inserted, 4);
    assert_int_equal(stats.keys_evicted + stats.full_denied + stats.full_untracked, 0);
}

static void deny_denies_new_keys_only(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_DENY);
    for (uint64_t cost = 1; cost <= 10; cost++) {
        struct mete_decision denied = api_take(&world, 0, "new", cost);
        assert_false(denied.allowed);
        assert_int_equal(denied.limit, 10);
        assert_int_equal(denied.retry_after_ns, SEC); /* when d's cell is free */
    }
    assert_int_equal(api_take(&world, 0, "new", 11).retry_after_ns, METE_NEVER);
    struct mete_store_stats stats = api_stats(world.store);
    assert_true(stats.full_denied >= 10);
    assert_int_equal(stats.keys_evicted + stats.full_untracked, 0);
    assert_int_equal(stats.keys_inserted, 4);
    assert_false(mete_allow(world.limiter, "newer", 5));
    /* Known keys go on as if nothing had happened. */
    assert_int_equal(api_take(&world, 0, "a", 1).remaining, 5);
    assert_int_equal(api_take(&world, 0, "d", 0).remaining, 9);
    api_close(&world);
}

static void deny_until_a_cell_is_free(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_DENY);
    struct mete_decision denied = api_take(&world, SEC - 1, "new", 1);
    assert_false(denied.allowed);
    assert_int_equal(denied.retry_after_ns, 1);
    assert_true(api_take(&world, SEC, "new", 10).allowed);
    assert_int_equal(api_keys_live(world.store), 4);
    assert_int_equal(api_take(&world, SEC, "d", 1).retry_after_ns, SEC); /* now d is the new one; c is free at 2 s */
    assert_int_equal(api_stats(world.store).keys_evicted, 0);
    api_close(&world);
}

/* A reset, or a refund to full, frees the cell at once. */
static void deny_until_a_key_is_reset(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_DENY);
    assert_false(mete_allow(world.limiter, "new", 3));
    assert_int_equal(mete_reset(world.limiter, "a", 1), METE_OK);
    assert_true(mete_allow(world.limiter, "new", 3));
    assert_false(mete_allow(world.limiter, "newer", 5));
    api_refund(&world, 0, "b", 3, METE_NOW);
    assert_true(mete_allow(world.limiter, "newer", 5));
    api_close(&world);
}

/* Asking costs nothing, so it is answered: an absent key is full. */
static void deny_and_cost_zero(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_DENY);
    struct mete_decision decision = api_take(&world, 0, "new", 0);
    assert_true(decision.allowed);
    assert_int_equal(decision.remaining, 10);
    decision = api_refund(&world, 0, "new", 3, METE_NOW);
    assert_true(decision.allowed);
    assert_int_equal(api_stats(world.store).full_denied, 0);
    api_close(&world);
}

/* A denial because of the table is a denial of the whole call. */
static void deny_in_take_all_and_batch(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_decision decisions[3];
    size_t binding = SIZE_MAX;
    open_full(&world, METE_FULL_DENY);
    struct mete_demand demands[3] = {{world.limiter, api_request("a", 1)},
                                     {world.limiter, api_request("new", 1)},
                                     {world.limiter, api_request("b", 1)}};
    assert_int_equal(mete_take_all(demands, 3, decisions, &binding), METE_OK);
    assert_false(decisions[1].allowed);
    assert_int_equal(binding, 1);
    assert_int_equal(api_take(&world, 0, "a", 0).remaining, 6);
    assert_int_equal(api_take(&world, 0, "b", 0).remaining, 7);
    struct mete_request requests[3] = {demands[0].request, demands[1].request, demands[2].request};
    assert_int_equal(mete_take_batch(world.limiter, requests, 3, decisions), METE_OK);
    assert_true(decisions[0].allowed);
    assert_false(decisions[1].allowed);
    assert_true(decisions[2].allowed);
    api_close(&world);
}

static void allow_admits_untracked(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_ALLOW);
    for (unsigned call = 1; call <= 50; call++) {
        assert_true(api_take(&world, 0, "new", 10).allowed);
        assert_int_equal(api_stats(world.store).full_untracked, call);
    }
    assert_int_equal(api_take(&world, 0, "new", 11).retry_after_ns, METE_NEVER);
    assert_int_equal(api_keys_live(world.store), 4);
    assert_int_equal(api_stats(world.store).keys_inserted, 4);
    /* Known keys are limited as ever. */
    assert_true(api_take(&world, 0, "a", 6).allowed);
    assert_false(api_take(&world, 0, "a", 1).allowed);
    /* And when d's cell is free the new key is counted. */
    assert_true(api_take(&world, SEC, "new", 10).allowed);
    assert_false(api_take(&world, SEC, "new", 1).allowed);
    assert_int_equal(api_stats(world.store).full_untracked, 50);
    assert_int_equal(api_stats(world.store).keys_evicted, 0);
    api_close(&world);
}

/* The live key that is closest to full is forgotten, and it alone. */
static void evict_takes_the_closest_to_full(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_EVICT);
    assert_int_equal(api_take(&world, 0, "new", 5).remaining, 5);
    assert_int_equal(api_stats(world.store).keys_evicted, 1);
    assert_int_equal(api_stats(world.store).keys_inserted, 5);
    assert_int_equal(api_keys_live(world.store), 4);
    assert_int_equal(api_take(&world, 0, "a", 0).remaining, 6);
    assert_int_equal(api_take(&world, 0, "b", 0).remaining, 7);
    assert_int_equal(api_take(&world, 0, "c", 0).remaining, 8);
    assert_int_equal(api_take(&world, 0, "d", 0).remaining, 10);
    assert_int_equal(api_take(&world, 0, "new", 0).remaining, 5);
    /* A flood of keys that owe 1 never pushes out those that owe more. */
    for (unsigned i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof(key), "flood-%u", i);
        assert_true(api_take(&world, 0, key, 1).allowed);
    }
    assert_int_equal(api_take(&world, 0, "a", 0).remaining, 6);
    assert_int_equal(api_take(&world, 0, "b", 0).remaining, 7);
    assert_int_equal(api_take(&world, 0, "new", 0).remaining, 5);
    assert_int_equal(api_keys_live(world.store), 4);
    assert_int_equal(api_stats(world.store).full_denied + api_stats(world.store).full_untracked, 0);
    api_close(&world);
}

/* An idle cell is a free cell: nothing is evicted when somebody is full again. */
static void evict_prefers_idle_cells(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_EVICT);
    assert_true(api_take(&world, SEC, "new", 1).allowed);
    assert_int_equal(api_stats(world.store).keys_evicted, 0);
    assert_int_equal(api_keys_live(world.store), 4);
    /* Any number of keys one after the other, each idle before the next comes. */
    for (unsigned i = 0; i < 20000; i++) {
        char key[16];
        snprintf(key, sizeof(key), "key-%u", i);
        assert_true(api_take(&world, (100 + i) * SEC, key, 1).allowed);
    }
    assert_int_equal(api_stats(world.store).keys_evicted, 0);
    api_close(&world);
}

/* Keys of several limiters share the table. */
static void limiters_share_the_cells(void **state)
{
    (void)state;
    struct api_world world;
    open_full(&world, METE_FULL_DENY);
    mete_limiter *windows = api_limiter(world.store, "windows", "fixed_window 5/1m");
    mete_limiter *slides = api_limiter(world.store, "slides", "sliding_window 5/1m");
    assert_false(mete_allow(windows, "a", 1));
    assert_false(mete_allow(slides, "a", 1));
    api_set(&world, 2 * SEC);
    assert_true(mete_allow(windows, "a", 1));
    assert_true(mete_allow(slides, "a", 1));
    assert_int_equal(api_keys_live(world.store), 4);
    struct mete_decision denied = api_take_of(windows, "z", 1);
    assert_false(denied.allowed);
    assert_int_equal(denied.retry_after_ns, SEC); /* b is full at 3 s */
    mete_limiter_destroy(windows);
    mete_limiter_destroy(slides);
    api_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deny_denies_new_keys_only),       cmocka_unit_test(deny_until_a_cell_is_free),
        cmocka_unit_test(deny_until_a_key_is_reset),       cmocka_unit_test(deny_and_cost_zero),
        cmocka_unit_test(deny_in_take_all_and_batch),      cmocka_unit_test(allow_admits_untracked),
        cmocka_unit_test(evict_takes_the_closest_to_full), cmocka_unit_test(evict_prefers_idle_cells),
        cmocka_unit_test(limiters_share_the_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks: when a cell near a key was taken over, the key must not begin before
 * that, unless the mark is one that only a caller's own time can have made.
 * Here at the moments that trap_test.c leaves out: a takeover in the middle of a
 * claim, and what a key that did not believe a mark is told later.
 */
#include "place.h"

#include "limiter/decide.h"

#define HOUR (3600 * SEC)

static void open_cells(struct api_world *world, uint64_t n, const char *limit)
{
    struct mete_store_options options = api_options(world);
    options.keys_max = n;
    options.on_full = METE_FULL_DENY;
    world->store = api_store(&options);
    world->limiter = api_limiter(world->store, "n", limit);
}

static bool take_at(struct api_world *world, const char *key, uint64_t cost, uint64_t now_ns)
{
    struct mete_request request = api_request(key, cost);
    struct mete_decision decision;
    request.now_ns = now_ns;
    assert_int_equal(mete_take(world->limiter, &request, &decision), METE_OK);
    return decision.allowed;
}

/* What others do while one call is slow: k spends all and is taken over when it is idle. */
static struct {
    struct api_world *world;
    struct mete__judge own;
    bool is_done;
} meddler;

static void meddle(void)
{
    meddler.is_done = true;
    assert_true(take_at(meddler.world, "k", 10, 0));
    assert_true(take_at(meddler.world, "other", 1, 110 * SEC));
    assert_int_equal(mete_reset(meddler.world->limiter, "other", 5), METE_OK);
}

/* The store's judge; the first time it is asked is when the others come. */
static uint64_t meddler_rank(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                             uint64_t *idle_at_ns)
{
    if (!meddler.is_done) {
        meddle();
    }
    return meddler.own.rank(context, address, cell, now_ns, idle_at_ns);
}

/*
 * k is absent.  A call for it, of the time 1 s, has read the marks and looks for a
 * place; then k is made by another, spends all at 0 s, and is taken over at 110 s,
 * when it owes nothing; its new owner leaves.  The slow call finds neither k nor,
 * before its claim, a mark: if it began k at 1 s, k would have had twenty units
 * within a second.
 */
static void taken_over_while_claiming(void **state)
{
    (void)state;
    struct api_world world;
    api_set(&world, 0);
    open_cells(&world, 2, "10/10s burst 10");
    assert_true(take_at(&world, "neighbour", 10, 109 * SEC));
    meddler.world = &world;
    meddler.own = world.store->judge;
    meddler.is_done = false;
    world.store->judge.rank = meddler_rank;
    assert_true(take_at(&world, "k", 10, 1 * SEC));
    world.store->judge.rank = meddler.own.rank;
    assert_true(meddler.is_done);
    /* It began at the takeover's time: then there is nothing more to be had. */
    assert_false(take_at(&world, "k", 1, 110 * SEC));
    assert_true(take_at(&world, "k", 1, 111 * SEC));
    api_close(&world);
}

/* The store's clock; the others come after it was read, and before the reading is used. */
static uint64_t meddler_now(void *context)
{
    struct api_world *world = context;
    uint64_t now_ns = api_clock_now(world);
    if (meddler.world == world && !meddler.is_done) {
        meddle();
        api_set(world, 110 * SEC);
    }
    return now_ns;
}

/* A thread sleeps right after it read the clock: the store's clock is read again
 * when the key is not there, else the mark would be one from the future. */
static void taken_over_after_the_clock_was_read(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = api_options(&world);
    world.clock.now_ns = meddler_now;
    options.keys_max = 1;
    options.on_full = METE_FULL_DENY;
    meddler.world = NULL;
    api_set(&world, 1 * SEC);
    world.store = api_store(&options);
    world.limiter = api_limiter(world.store, "n", "10/10s burst 10");
    meddler.world = &world;
    meddler.is_done = false;
    assert_true(take_at(&world, "k", 10, METE_NOW));
    assert_true(meddler.is_done);
    assert_false(take_at(&world, "k", 1, METE_NOW));
    api_set(&world, 111 * SEC);
    assert_true(take_at(&world, "k", 1, METE_NOW));
    api_close(&world);
}

/* A mark far ahead is a caller's.  A key that begins by the store's clock beside
 * it earns from the store's time on, not from the mark's. */
static void a_mark_far_ahead(void **state)
{
    (void)state;
    struct api_world world;
    api_set(&world, 100 * SEC);
    open_cells(&world, 1, "10/10s burst 10");
    assert_true(take_at(&world, "k", 1, 0));
    assert_true(take_at(&world, "other", 1, 1000 * HOUR));
    assert_int_equal(mete_reset(world.limiter, "other", 5), METE_OK);
    assert_true(take_at(&world, "new", 10, METE_NOW));
    assert_false(take_at(&world, "new", 1, METE_NOW));
    api_set(&world, 102 * SEC);
    assert_true(take_at(&world, "new", 1, METE_NOW));
    api_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken_over_while_claiming),
        cmocka_unit_test(taken_over_after_the_clock_was_read),
        cmocka_unit_test(a_mark_far_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

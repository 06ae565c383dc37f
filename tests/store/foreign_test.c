/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's keys under a rate that this limiter has never had: what it tells at the
 * first look must hold later, whether or not that look changed anything else.
 */
#include "place.h"

static struct place place;

static void open_as(struct api_world *world, const char *limit)
{
    struct mete_store_options options = api_options(world);
    options.path = place.path;
    options.keys_max = 10;
    world->store = api_store(&options);
    world->limiter = api_limiter(world->store, "n", limit);
}

/* Spends all under one limit, then is told a wait under the other: it must be exact. */
static void told_wait_holds(const char *before, const char *after, uint64_t cost)
{
    struct api_world world;
    const uint64_t start_ns = 1000 * 3600 * SEC;
    api_set(&world, start_ns);
    open_as(&world, before);
    while (api_take_of(world.limiter, "k", 1).allowed) {
    }
    api_close(&world);
    open_as(&world, after);
    struct mete_decision told = api_take(&world, start_ns + 60 * SEC, "k", cost);
    assert_false(told.allowed);
    assert_true(told.retry_after_ns != METE_NEVER);
    uint64_t until_ns = start_ns + 60 * SEC + told.retry_after_ns;
    struct mete_decision then = api_take(&world, until_ns - 1, "k", cost);
    if (then.allowed || then.retry_after_ns != 1) {
        fail_msg("%s, then %s: told %llu ns, a nanosecond before its end %llu", before, after,
                 (unsigned long long)told.retry_after_ns, (unsigned long long)then.retry_after_ns);
    }
    assert_true(api_take(&world, until_ns, "k", cost).allowed);
    api_close(&world);
    place_files(&place, "store", true);
}

static void waits_of_a_foreign_key_hold(void **state)
{
    (void)state;
    place_make(&place);
    told_wait_holds("10/1h burst 10", "20/1h burst 10", 3);
    told_wait_holds("20/1h burst 10", "10/1h burst 10", 3);
    told_wait_holds("10/1h burst 10", "fixed_window 10/1d", 1);
    told_wait_holds("10/1h burst 10", "sliding_window 10/1d", 4);
    told_wait_holds("fixed_window 10/1h", "10/1h burst 10", 2);
    told_wait_holds("sliding_window 10/1h", "20/1h burst 10", 2);
    assert_int_equal(rmdir(place.folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_of_a_foreign_key_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

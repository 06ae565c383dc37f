/* SPDX-License-Identifier: Apache-2.0 */
/* Cells that are taken over from their keys: live ones and idle ones. */
#include "interleave/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct scene scene;
static char key[16];
static char other[16];
static char third[16];

static void open_scene(const char *name, unsigned width, enum mete_full_policy on_full, const char *limit)
{
    struct world_shape shape = {.buckets = 1, .width = width, .on_full = on_full};
    scene_open(&scene, name, &shape, limit, NULL);
    world_key(&scene.world, 0, 0, key);
    world_key(&scene.world, 0, 0, other);
    world_key(&scene.world, 0, 0, third);
    scene.steps_more = 36;
}

static uint64_t evicted(void)
{
    return mete__table_counted(&scene.world.store->table, METE__COUNT_EVICTED);
}

/* --- a live key gives way -------------------------------------------------------------- */

/* Two new keys, one cell to be had: each is admitted, and one of them, or the old
 * key, is forgotten for each insert beyond the two cells. */
static const char *check_two_inserts(struct scene *at, unsigned finished)
{
    uint64_t present = 0;
    for (unsigned i = 0; i < 2; i++) {
        present += at->world.store->table.buckets[0].cells[i].lo != 0;
    }
    if (finished != 3) {
        return NULL;
    }
    if (!at->answers[0].decisions[0].allowed || !at->answers[1].decisions[0].allowed) {
        return "a new key was denied, although another may be evicted";
    }
    if (present != 2) {
        return "a cell was lost";
    }
    return evicted() != 2 ? "evictions were not counted one by one" : NULL;
}

static void test_insert_against_insert_in_a_full_bucket(void **state)
{
    (void)state;
    open_scene("two inserts in a full bucket", 2, METE_FULL_EVICT, "1/s burst 4");
    scene_took(&scene, third, 3, 0);
    world_key(&scene.world, 0, 0, third);
    scene_took(&scene, third, 2, 0);
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'B', other, 1);
    scene.check = check_two_inserts;
    scene_play(&scene);
}

static void test_inserts_in_a_full_bucket_that_evicts_nobody(void **state)
{
    (void)state;
    open_scene("two inserts for the last cell, nobody evicted", 2, METE_FULL_DENY, "1/s burst 1");
    scene_took(&scene, third, 1, 0);
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'B', other, 1);
    scene_take(&scene, '-', key, 1);
    scene_take(&scene, '-', other, 1);
    scene.admitted_max = 1;
    scene_play(&scene);
}

/*
 * The victim and the new key have the same word: both owe one unit from the same
 * start.  A swap of the word alone would charge the new key's cell for the old
 * key, and give it the old key's name.
 */
static const char *check_charge_of_evicted(struct scene *at, unsigned finished)
{
    if (finished != 3 || evicted() != 1) {
        return NULL; /* the new key was evicted in its turn, or nobody yet */
    }
    uint64_t left = scene_remaining(at, 0, other, 0);
    return left == 1 ? NULL : "the new key's unit was lost, or charged twice";
}

static void test_eviction_of_a_key_while_another_charges_it(void **state)
{
    (void)state;
    open_scene("eviction of a key against a charge of it", 2, METE_FULL_EVICT, "1/s burst 2");
    scene_took(&scene, third, 2, 0);
    scene_took(&scene, key, 1, 0);
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'B', other, 1);
    scene.check = check_charge_of_evicted;
    scene_play(&scene);
}

/* The charge is too late: the key begins anew elsewhere, and the cell's new owner keeps its unit. */
static void test_takeover_of_an_idle_key_while_another_charges_it(void **state)
{
    uint64_t later_ns = WORLD_START + 10 * WORLD_SECOND;
    (void)state;
    open_scene("takeover of an idle key against a charge of it", 1, METE_FULL_DENY, "1/s burst 2");
    scene_took(&scene, key, 1, 0);
    scene_take_at(&scene, 'A', key, 1, later_ns);
    scene_take_at(&scene, 'B', other, 1, later_ns);
    scene_take_at(&scene, '-', key, 1, later_ns);
    scene_take_at(&scene, '-', other, 1, later_ns);
    scene.is_linear = true;
    scene_play(&scene);
}

/* --- time ---------------------------------------------------------------------------------- */

/*
 * The key took its only unit at the start.  A asks half a second later and is
 * slow; B takes the key's cell over a second later, when it is idle.  The key's
 * other bucket is free, and no live key is evicted: so nothing is forgotten, and
 * whatever A is told, at a second and a half the key must not have had three units.
 */
static void open_stale(const char *name)
{
    struct world_shape shape = {.buckets = 2, .width = 1, .on_full = METE_FULL_DENY};
    scene_open(&scene, name, &shape, "1/s burst 1", NULL);
    world_key(&scene.world, 0, 1, key);
    world_key(&scene.world, 0, 0, other);
    scene_took(&scene, key, 1, WORLD_START);
    scene.admitted_max = 1;
    scene.steps_more = 36;
}

static void test_old_time_beside_a_takeover(void **state)
{
    (void)state;
    open_stale("an old time beside a takeover");
    scene_take_at(&scene, 'A', key, 1, WORLD_START + WORLD_SECOND / 2);
    scene_take_at(&scene, 'B', other, 1, WORLD_START + WORLD_SECOND);
    scene_take_at(&scene, '-', key, 1, WORLD_START + WORLD_SECOND * 3 / 2);
    scene_play(&scene);
}

/* The same by the store's clock, which B moves. */
static void test_slow_thread_beside_a_takeover(void **state)
{
    (void)state;
    open_stale("a slow thread beside a takeover");
    scene.world.is_clock_shared = true;
    scene.world.now_ns = WORLD_START + WORLD_SECOND / 2;
    scene_take(&scene, 'A', key, 1);
    scene_add(&scene, (struct scene_call){.program = 1, .op = SCENE_SET_CLOCK, .now_ns = WORLD_START + WORLD_SECOND});
    scene_take(&scene, 'B', other, 1);
    scene_take_at(&scene, '-', key, 1, WORLD_START + WORLD_SECOND * 3 / 2);
    scene_play(&scene);
}

/*
 * A finds the key absent, at the start, and is slow.  Meanwhile B gives the key
 * its only unit, a second passes, and the key's cell, idle again, goes to another
 * key.  If A now began the key at its time, a third unit would pass in hardly more
 * than a second.
 */
static void open_began_before(const char *name, const char *limit)
{
    struct world_shape shape = {.buckets = 2, .width = 1, .on_full = METE_FULL_DENY};
    scene_open(&scene, name, &shape, limit, NULL);
    world_key(&scene.world, 0, 1, key);
    world_key(&scene.world, 0, 0, other);
    scene.admitted_max = 2;
    scene.steps_more = 36;
}

static void test_old_time_from_before_the_key(void **state)
{
    uint64_t later_ns = WORLD_START + WORLD_SECOND;
    (void)state;
    open_began_before("an old time from before the key", "1/s burst 1");
    scene_take_at(&scene, 'A', key, 1, WORLD_START);
    scene_take_at(&scene, 'B', key, 1, WORLD_START);
    scene_take_at(&scene, 'B', other, 1, later_ns);
    scene_take_at(&scene, '-', key, 1, later_ns + 10000);
    scene_play_bounded(&scene, 4);
}

/* The same by the store's clock, which B moves: A has read it before. */
static void test_slow_thread_from_before_the_key(void **state)
{
    static const char *const limits[] = {"1/s burst 1", "fixed_window 1/1s"};
    uint64_t later_ns = WORLD_START + WORLD_SECOND;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        open_began_before("a slow thread from before the key", limits[i]);
        scene.world.is_clock_shared = true;
        scene_take(&scene, 'A', key, 1);
        scene_take(&scene, 'B', key, 1);
        scene_add(&scene, (struct scene_call){.program = 1, .op = SCENE_SET_CLOCK, .now_ns = later_ns});
        scene_take(&scene, 'B', other, 1);
        scene_take_at(&scene, '-', key, 1, later_ns + 10000);
        scene_play_bounded(&scene, 4);
    }
}

/* A third thread asks at the old time too: neither may start the key before the takeover. */
static void test_two_old_times_beside_a_takeover(void **state)
{
    (void)state;
    open_stale("two old times beside a takeover");
    scene_take_at(&scene, 'A', key, 1, WORLD_START + WORLD_SECOND / 2);
    scene_take_at(&scene, 'B', other, 1, WORLD_START + WORLD_SECOND);
    scene_take_at(&scene, 'C', key, 1, WORLD_START + WORLD_SECOND / 2);
    scene_take_at(&scene, '-', key, 1, WORLD_START + WORLD_SECOND * 3 / 2);
    scene_play_bounded(&scene, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_insert_against_insert_in_a_full_bucket),
        cmocka_unit_test(test_inserts_in_a_full_bucket_that_evicts_nobody),
        cmocka_unit_test(test_eviction_of_a_key_while_another_charges_it),
        cmocka_unit_test(test_takeover_of_an_idle_key_while_another_charges_it),
        cmocka_unit_test(test_old_time_beside_a_takeover),
        cmocka_unit_test(test_slow_thread_beside_a_takeover),
        cmocka_unit_test(test_old_time_from_before_the_key),
        cmocka_unit_test(test_slow_thread_from_before_the_key),
        cmocka_unit_test(test_two_old_times_beside_a_takeover),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

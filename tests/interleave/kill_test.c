/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kill test, by exhaustion: one program is stopped for good after each number
 * of steps, in every schedule with another; then a third caller asks.  It must be
 * decided (these calls run alone: if one could not go on, the test would not end),
 * nobody is admitted beyond the limit, and what a stopped call took is lost at
 * most once.
 */
#include "interleave/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct scene scene;
static char key[16];
static char other[16];

static void open_scene(const char *name, unsigned width, const char *limit)
{
    struct world_shape shape = {.buckets = 1, .width = width, .on_full = METE_FULL_DENY};
    scene_open(&scene, name, &shape, limit, NULL);
    world_key(&scene.world, 0, 0, key);
    world_key(&scene.world, 0, 0, other);
    scene.steps_more = 14;
}

static uint64_t after(unsigned tenths)
{
    return WORLD_START + tenths * WORLD_SECOND / 10;
}

static void probe(unsigned times, unsigned tenths)
{
    for (unsigned i = 0; i < times; i++) {
        scene_take_at(&scene, '-', key, 1, after(tenths));
    }
}

/* --- cells -------------------------------------------------------------------------- */

static void test_killed_while_inserting(void **state)
{
    (void)state;
    for (unsigned width = 1; width <= 2; width++) {
        open_scene(width == 1 ? "killed while inserting, one cell" : "killed while inserting, two cells", width,
                   "1/s burst 2");
        scene_take(&scene, 'A', key, 1);
        scene_take(&scene, 'B', key, 1);
        probe(3, 0);
        scene.admitted_min = scene.admitted_max = 2;
        scene_play_killing(&scene, 0);
    }
}

static void test_killed_while_charging(void **state)
{
    (void)state;
    open_scene("killed while charging", 1, "1/s burst 3");
    scene_took(&scene, key, 1, 0);
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'B', key, 1);
    probe(3, 0);
    scene.admitted_min = scene.admitted_max = 2;
    scene_play_killing(&scene, 0);
}

/* The dead claim of one key is in the way of another, in the only cell.  What was
 * confirmed is over after a second; a claim never is, and must not matter. */
static void test_killed_while_inserting_another_key(void **state)
{
    (void)state;
    open_scene("killed while inserting another key", 1, "1/s burst 1");
    scene_take(&scene, 'A', other, 1);
    scene_take(&scene, 'B', key, 1);
    scene_take_at(&scene, '-', key, 1, after(30));
    scene_must_pass(&scene);
    scene_take_at(&scene, '-', other, 1, after(60));
    scene_must_pass(&scene);
    scene.admitted_max = 2;
    scene_play_killing(&scene, 0);
}

/* The same where there is room beside the dead claim. */
static void test_killed_while_inserting_beside_another_key(void **state)
{
    (void)state;
    open_scene("killed while inserting beside another key", 2, "1/s burst 1");
    scene_take(&scene, 'B', key, 1);
    scene_must_pass(&scene);
    scene_take(&scene, 'A', other, 1);
    probe(1, 0);
    scene.admitted_min = scene.admitted_max = 1;
    scene_play_killing(&scene, 0);
}

/* An idle cell changes hands: killed between raising the mark and the swap, and after it. */
static void test_killed_while_taking_over(void **state)
{
    (void)state;
    open_scene("killed while taking over an idle cell", 1, "1/s burst 1");
    scene_took(&scene, key, 1, after(0));
    scene_take_at(&scene, 'B', key, 1, after(10));
    scene_take_at(&scene, 'A', other, 1, after(10));
    probe(1, 19);
    probe(1, 40);
    scene_must_pass(&scene);
    scene.admitted_max = 2;
    scene_play_killing(&scene, 0);
}

/* --- rings -------------------------------------------------------------------------- */

static void test_killed_while_claiming_a_ring(void **state)
{
    (void)state;
    for (unsigned width = 1; width <= 2; width++) {
        open_scene(width == 1 ? "killed while claiming a ring, one cell" : "killed while claiming a ring, two cells",
                   width, "sliding_log 2/s");
        scene_take(&scene, 'A', key, 1);
        scene_take(&scene, 'B', key, 1);
        probe(3, 0);
        scene.admitted_min = scene.admitted_max = 2;
        scene.steps_more = 8;
        scene_play_killing(&scene, 0);
    }
}

/* Every step of a charge, with the pending units of the one before, and old units over. */
static void test_killed_while_charging_a_ring(void **state)
{
    (void)state;
    open_scene("killed while charging a ring", 2, "sliding_log 3/s");
    scene_took(&scene, key, 1, after(0));
    scene_took(&scene, key, 2, after(5));
    scene_take_at(&scene, 'A', key, 1, after(12));
    scene_take_at(&scene, 'B', key, 1, after(12));
    probe(2, 14);
    probe(1, 16);
    scene.admitted_min = 1 + 1; /* one is free at 1.2 s, one of the two of 0.5 s at 1.6 s at least */
    scene.admitted_max = 2;
    scene_play_killing(&scene, 0);
}

static void test_killed_while_refunding_a_ring(void **state)
{
    (void)state;
    open_scene("killed while refunding a ring", 2, "sliding_log 2/s");
    scene_took(&scene, key, 2, after(0));
    scene_take_at(&scene, 'B', key, 1, after(1));
    scene_add(&scene, (struct scene_call){.program = 0, .op = SCENE_REFUND, .key = key, .cost = 1, .now_ns = after(1)});
    probe(2, 2);
    scene.admitted_max = 1;
    scene_play_killing(&scene, 0);
}

/* The ring of one key, all over, goes to another: killed between stepping the
 * generation and the swap of the cell, and at every other step. */
static void test_killed_while_reclaiming_a_ring(void **state)
{
    (void)state;
    open_scene("killed while reclaiming a ring", 1, "sliding_log 1/s");
    scene_took(&scene, key, 1, after(0));
    scene_take_at(&scene, 'B', key, 1, after(12));
    scene_take_at(&scene, 'A', other, 1, after(12));
    probe(1, 15);
    probe(1, 40);
    scene_must_pass(&scene);
    scene.admitted_max = 2;
    scene.steps_more = 6;
    scene_play_killing(&scene, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_while_inserting),
        cmocka_unit_test(test_killed_while_charging),
        cmocka_unit_test(test_killed_while_inserting_another_key),
        cmocka_unit_test(test_killed_while_inserting_beside_another_key),
        cmocka_unit_test(test_killed_while_taking_over),
        cmocka_unit_test(test_killed_while_claiming_a_ring),
        cmocka_unit_test(test_killed_while_charging_a_ring),
        cmocka_unit_test(test_killed_while_refunding_a_ring),
        cmocka_unit_test(test_killed_while_reclaiming_a_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

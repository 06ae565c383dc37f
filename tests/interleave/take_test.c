/* SPDX-License-Identifier: Apache-2.0 */
/* One key, called by several at once: each answer is that of some order. */
#include "interleave/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct scene scene;

/* --- an absent key ------------------------------------------------------------------ */

/* Both claims try for the last free cell, for two cells, and for cells of two buckets. */
static const struct world_shape shapes[] = {
    {.buckets = 1, .width = 1}, {.buckets = 1, .width = 2}, {.buckets = 2, .width = 1}};

static void open_absent(const struct world_shape *shape, const char *limit, unsigned takes, char key[16])
{
    static char name[128];
    uint64_t burst = world_limit(limit).burst != 0 ? world_limit(limit).burst : world_limit(limit).count;
    snprintf(name, sizeof name, "%u takes of an absent key, %s, %u x %u cells", takes, limit, shape->buckets,
             shape->width);
    scene_open(&scene, name, shape, limit, NULL);
    world_key(&scene.world, 0, shape->buckets - 1, key);
    for (unsigned i = 0; i < takes; i++) {
        scene_take(&scene, (char)('A' + i), key, 1);
    }
    scene_take(&scene, '-', key, 1);
    scene_take(&scene, '-', key, 1);
    scene.is_linear = true;
    scene.admitted_min = burst;
    scene.admitted_max = burst;
    scene.steps_more = 26;
}

static void test_two_takes_of_an_absent_key(void **state)
{
    char key[16];
    (void)state;
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        open_absent(&shapes[i], "1/s burst 1", 2, key);
        scene_play(&scene);
        open_absent(&shapes[i], "1/s burst 2", 2, key);
        scene_play(&scene);
    }
}

static void test_three_takes_of_an_absent_key(void **state)
{
    char key[16];
    (void)state;
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        open_absent(&shapes[i], "1/s burst 1", 3, key);
        scene_play_bounded(&scene, 3);
        open_absent(&shapes[i], "1/s burst 2", 3, key);
        scene_play_bounded(&scene, 3);
    }
}

static void test_windows_of_an_absent_key(void **state)
{
    static const char *const limits[] = {"fixed_window 2/1m", "fixed_window 2/1m anchored", "sliding_window 2/1m",
                                         "leaky_bucket 2/1m", "70/s burst 2"};
    char key[16];
    (void)state;
    for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        open_absent(&shapes[1], limits[i], 2, key);
        scene_play(&scene);
    }
}

/* --- a key that is there ------------------------------------------------------------ */

static void open_present(const char *name, const char *limit, char key[16])
{
    scene_open(&scene, name, &shapes[1], limit, NULL);
    world_key(&scene.world, 0, 0, key);
    scene_took(&scene, key, 1, 0);
    scene.is_linear = true;
}

static void test_takes_of_a_present_key(void **state)
{
    char key[16];
    (void)state;
    open_present("three takes of a present key", "1/s burst 3", key);
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'B', key, 1);
    scene_take(&scene, 'C', key, 1);
    scene_take(&scene, '-', key, 1);
    scene.admitted_min = scene.admitted_max = 2;
    scene_play(&scene);
    open_present("takes of 2 and of 1 and 1, of a present key", "1/s burst 3", key);
    scene_take(&scene, 'A', key, 2);
    scene_take(&scene, 'B', key, 1);
    scene_take(&scene, 'B', key, 1);
    scene_take(&scene, '-', key, 1);
    scene.admitted_min = scene.admitted_max = 2;
    scene_play(&scene);
}

/* A is older: it may be stricter, but both answers are of one order. */
static void test_takes_at_different_times(void **state)
{
    char key[16];
    (void)state;
    open_present("takes at two times", "1/s burst 2", key);
    scene_take_at(&scene, 'A', key, 1, WORLD_START + WORLD_SECOND / 2);
    scene_take_at(&scene, 'B', key, 2, WORLD_START + 3 * WORLD_SECOND);
    scene_take_at(&scene, '-', key, 1, WORLD_START + 3 * WORLD_SECOND);
    scene_play(&scene);
}

static void play_against_take(const char *name, enum scene_op op, const char *limit, bool is_present)
{
    char key[16];
    open_present(name, limit, key);
    if (!is_present) {
        world_key(&scene.world, 0, 0, key);
    }
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'A', key, 1);
    scene_add(&scene, (struct scene_call){.program = 1, .op = op, .key = key, .cost = 1});
    scene_take(&scene, '-', key, 1);
    scene_take(&scene, '-', key, 1);
    scene.steps_more = 26;
    scene_play(&scene);
}

static void test_reset_against_takes(void **state)
{
    (void)state;
    play_against_take("reset against takes, present", SCENE_RESET, "1/s burst 2", true);
    play_against_take("reset against takes, absent", SCENE_RESET, "1/s burst 2", false);
}

static void test_refund_against_takes(void **state)
{
    (void)state;
    play_against_take("refund against takes, present", SCENE_REFUND, "1/s burst 2", true);
    play_against_take("refund against takes, absent", SCENE_REFUND, "1/s burst 2", false);
    play_against_take("refund against takes of a window", SCENE_REFUND, "fixed_window 2/1m", true);
}

static void test_reserve_and_peek_against_takes(void **state)
{
    (void)state;
    play_against_take("peek against takes, absent", SCENE_PEEK, "1/s burst 2", false);
    play_against_take("reserve against takes, present", SCENE_RESERVE, "1/s burst 2", true);
    play_against_take("reserve against takes, absent", SCENE_RESERVE, "1/s burst 2", false);
}

/* Refund and reset meet: the answer of the refund tells which was first. */
static void test_take_refund_and_reset(void **state)
{
    char key[16];
    (void)state;
    open_present("take, refund and reset", "1/s burst 3", key);
    scene_take(&scene, 'A', key, 2);
    scene_add(&scene, (struct scene_call){.program = 1, .op = SCENE_REFUND, .key = key, .cost = 2});
    scene_add(&scene, (struct scene_call){.program = 2, .op = SCENE_RESET, .key = key});
    scene_take(&scene, '-', key, 1);
    scene_play(&scene);
}

/* --- a key that another key must not touch ------------------------------------------- */

static void test_two_keys_in_one_bucket(void **state)
{
    char key[16];
    char other[16];
    (void)state;
    scene_open(&scene, "two absent keys, two cells", &shapes[1], "1/s burst 1", NULL);
    world_key(&scene.world, 0, 0, key);
    world_key(&scene.world, 0, 0, other);
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'B', other, 1);
    scene_take(&scene, '-', key, 1);
    scene_take(&scene, '-', other, 1);
    scene.steps_more = 40;
    scene_play(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_takes_of_an_absent_key), cmocka_unit_test(test_three_takes_of_an_absent_key),
        cmocka_unit_test(test_windows_of_an_absent_key),   cmocka_unit_test(test_takes_of_a_present_key),
        cmocka_unit_test(test_takes_at_different_times),   cmocka_unit_test(test_reset_against_takes),
        cmocka_unit_test(test_refund_against_takes),       cmocka_unit_test(test_reserve_and_peek_against_takes),
        cmocka_unit_test(test_take_refund_and_reset),      cmocka_unit_test(test_two_keys_in_one_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

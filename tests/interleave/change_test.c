/* SPDX-License-Identifier: Apache-2.0 */
/* A limit that is changed while its keys are charged. */
#include "interleave/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct scene scene;
static char key[16];

static void open_scene(const char *name, const char *limit, bool is_present)
{
    struct world_shape shape = {.buckets = 1, .width = 2};
    scene_open(&scene, name, &shape, limit, NULL);
    world_key(&scene.world, 0, 0, key);
    if (is_present) {
        scene_took(&scene, key, 1, 0);
    }
    scene.is_linear = true;
    scene.steps_more = 50;
}

static void add_change(char program, const char *limit)
{
    world_prepare_limit(&scene.world, 0, limit);
    scene_add(&scene, (struct scene_call){.program = (unsigned)(program - 'A'), .op = SCENE_SET_LIMIT, .limit = limit});
}

static void change_now(const char *limit)
{
    struct mete_limit value = world_limit(limit);
    world_prepare_limit(&scene.world, 0, limit);
    assert_int_equal(mete_limiter_set_limit(scene.world.limiters[0], &value), METE_OK);
}

static void probe(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        scene_take(&scene, '-', key, 1);
    }
}

/* --- a change against takes ------------------------------------------------------------- */

/* From one limit to another; the key owes one unit, or is absent. */
static const struct {
    const char *from;
    const char *to;
    uint64_t smaller; /* capacity */
    uint64_t larger;
} changes[] = {
    {"1/s burst 2", "1/s burst 3", 2, 3},          {"1/s burst 3", "1/s burst 2", 2, 3},
    {"1/s burst 2", "1/1m burst 3", 2, 3},         {"fixed_window 2/1m", "fixed_window 3/1m", 2, 3},
    {"sliding_window 2/1m", "1/1m burst 2", 2, 2},
};

static void play_change(unsigned i, bool is_present, unsigned takes)
{
    static char name[128];
    snprintf(name, sizeof name, "%s -> %s against %u takes, %s", changes[i].from, changes[i].to, takes,
             is_present ? "present" : "absent");
    open_scene(name, changes[i].from, is_present);
    for (unsigned k = 0; k < takes; k++) {
        scene_take(&scene, (char)('A' + k), key, 1);
    }
    add_change((char)('A' + takes), changes[i].to);
    probe(3);
    scene.admitted_min = changes[i].smaller - is_present;
    scene.admitted_max = changes[i].larger - is_present;
    if (takes == 1) {
        scene_play(&scene);
    } else {
        scene.is_linear = false; /* see below */
        scene_play_bounded(&scene, 3);
    }
}

static void test_change_against_a_take(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        play_change(i, true, 1);
        play_change(i, false, 1);
    }
}

/* While a change is under way, either limit may be the one a call goes by: so the
 * calls have no one order, but what is admitted lies between what the two allow. */
static void test_change_against_two_takes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        play_change(i, true, 2);
        play_change(i, false, 2);
    }
}

static void test_two_changes_against_takes(void **state)
{
    (void)state;
    open_scene("two changes against takes", "1/s burst 2", true);
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'A', key, 1);
    add_change('B', "1/1m burst 3");
    add_change('B', "1/1h burst 1");
    probe(2);
    scene.is_linear = false;
    scene.admitted_max = 2;
    scene_play(&scene);
}

/*
 * The limit between cuts what is owed to its one unit.  A history that is read while the
 * second change writes it would skip that, and the answer would fit no order.
 */
static void test_two_changes_against_a_peek(void **state)
{
    (void)state;
    open_scene("two changes against a peek", "1/s burst 4", false);
    scene_took(&scene, key, 3, 0);
    scene_add(&scene, (struct scene_call){.program = 0, .op = SCENE_PEEK, .key = key, .cost = 1});
    add_change('B', "1/1m burst 1");
    add_change('B', "1/1h burst 4");
    probe(4);
    scene_play(&scene);
}

/*
 * A does not find the key and is slow; B changes to a larger limit and takes three
 * units by it.  If A now judged B's word by the limit that it knew before, it would
 * cut what is owed to the one unit of that limit.
 */
static void test_word_of_a_later_limit(void **state)
{
    (void)state;
    open_scene("word of a later limit", "1/s burst 1", false);
    scene_take(&scene, 'A', key, 1);
    add_change('B', "1/1m burst 4");
    scene_take(&scene, 'B', key, 3);
    probe(4);
    scene.admitted_max = 4;
    scene_play_bounded(&scene, 3);
}

/* --- the first calls after a change ------------------------------------------------------ */

/* The word is carried over once, whoever comes first. */
static void play_after_change(const char *from, const char *to, uint64_t left, bool is_bounded)
{
    static char name[128];
    snprintf(name, sizeof name, "first takes after %s -> %s", from, to);
    open_scene(name, from, true);
    change_now(to);
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'B', key, 1);
    if (is_bounded) {
        scene_take(&scene, 'C', key, 1);
    }
    probe(3);
    scene.admitted_min = scene.admitted_max = left;
    scene.steps_more = 80;
    if (is_bounded) {
        scene_play_bounded(&scene, 2);
    } else {
        scene_play(&scene);
    }
}

static void test_first_takes_after_a_change(void **state)
{
    (void)state;
    for (unsigned three = 0; three < 2; three++) {
        play_after_change("1/s burst 2", "1/1m burst 3", 2, three);
        play_after_change("1/1m burst 2", "fixed_window 3/1h", 2, three);
    }
}

static void test_first_takes_after_a_change_to_a_log(void **state)
{
    (void)state;
    play_after_change("1/1m burst 2", "sliding_log 3/1h", 2, true);
}

static void test_first_takes_after_a_change_from_a_log(void **state)
{
    (void)state;
    play_after_change("sliding_log 2/1h", "1/1h burst 3", 2, true);
}

static void test_first_takes_after_a_change_of_a_log(void **state)
{
    (void)state;
    play_after_change("sliding_log 2/1h", "sliding_log 1/1h", 0, true);
    play_after_change("sliding_log 2/1h", "sliding_log 3/1h", 2, true);
}

/* The key's ring is from an earlier time of the log, its cell from the time between. */
static void test_first_takes_after_a_return_to_a_log(void **state)
{
    (void)state;
    open_scene("first takes after log -> bucket -> log", "sliding_log 4/1h", true);
    change_now("1/1h burst 4");
    scene_took(&scene, key, 1, 0);
    change_now("sliding_log 4/1h");
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'B', key, 1);
    probe(3);
    scene.admitted_min = scene.admitted_max = 2;
    scene.steps_more = 100;
    scene_play_bounded(&scene, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_change_against_a_take),
        cmocka_unit_test(test_change_against_two_takes),
        cmocka_unit_test(test_two_changes_against_takes),
        cmocka_unit_test(test_two_changes_against_a_peek),
        cmocka_unit_test(test_word_of_a_later_limit),
        cmocka_unit_test(test_first_takes_after_a_change),
        cmocka_unit_test(test_first_takes_after_a_change_to_a_log),
        cmocka_unit_test(test_first_takes_after_a_change_from_a_log),
        cmocka_unit_test(test_first_takes_after_a_change_of_a_log),
        cmocka_unit_test(test_first_takes_after_a_return_to_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

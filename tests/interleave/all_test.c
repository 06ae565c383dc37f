/* SPDX-License-Identifier: Apache-2.0 */
/* mete_take_all with crossed demands: nothing is admitted twice, and at rest every
 * debt is what was admitted. */
#include "interleave/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct scene scene;
static char key[16];
static uint64_t bursts[2];

static bool is_both(enum scene_op op)
{
    return op == SCENE_TAKE_BOTH || op == SCENE_TAKE_BOTH_BACK;
}

/* Units the key was given by one limiter. */
static uint64_t given(const struct scene *at, unsigned limiter)
{
    uint64_t units = 0;
    for (unsigned i = 0; i < at->calls_n; i++) {
        const struct mete_decision *out = at->answers[i].decisions;
        bool is_here = is_both(at->calls[i].op) || at->calls[i].limiter == limiter;
        bool is_given = out[0].allowed && (!is_both(at->calls[i].op) || out[1].allowed);
        units += is_here && is_given ? at->calls[i].cost : 0;
    }
    return units;
}

static const char *check(struct scene *at, unsigned finished)
{
    for (unsigned i = 0; i < 2; i++) {
        if (finished == (1u << at->programs) - 1 && scene_remaining(at, i, key, 0) + given(at, i) != bursts[i]) {
            return "what is left and what was admitted are not the limit";
        }
        if (given(at, i) > bursts[i]) {
            return "admitted twice";
        }
    }
    return NULL;
}

static void open_scene(const char *name, const char *limit, const char *limit_too, uint64_t burst, uint64_t burst_too)
{
    struct world_shape shape = {.buckets = 1, .width = 4};
    scene_open(&scene, name, &shape, limit, limit_too);
    world_key(&scene.world, 0, 0, key);
    bursts[0] = burst;
    bursts[1] = burst_too;
    scene.check = check;
}

/* Both cells are there, and nothing is owed: what is looked at is the rollback. */
static void make_present(void)
{
    for (unsigned i = 0; i < 2; i++) {
        mete_limiter *limiter = scene.world.limiters[i];
        struct mete_request request = {.key = key, .key_len = strlen(key), .cost = 1, .now_ns = METE_NOW};
        struct mete_decision out;
        assert_int_equal(mete_take(limiter, &request, &out), METE_OK);
        assert_int_equal(mete_refund(limiter, &request, &out), METE_OK);
    }
}

static void add(char program, enum scene_op op, unsigned limiter, uint64_t cost)
{
    scene_add(&scene,
              (struct scene_call){
                  .program = (unsigned)(program - 'A'), .op = op, .key = key, .cost = cost, .limiter = limiter});
}

static void test_crossed_demands(void **state)
{
    (void)state;
    open_scene("crossed demands", "1/s burst 1", "2/1m burst 1", 1, 1);
    make_present();
    add('A', SCENE_TAKE_BOTH, 0, 1);
    add('B', SCENE_TAKE_BOTH_BACK, 0, 1);
    scene_play(&scene);
    open_scene("crossed demands, one limit wider", "1/s burst 2", "2/1m burst 1", 2, 1);
    make_present();
    add('A', SCENE_TAKE_BOTH, 0, 1);
    add('B', SCENE_TAKE_BOTH_BACK, 0, 1);
    scene_play(&scene);
}

static void test_crossed_demands_on_an_absent_key(void **state)
{
    (void)state;
    open_scene("crossed demands, absent", "1/s burst 1", "2/1m burst 1", 1, 1);
    add('A', SCENE_TAKE_BOTH, 0, 1);
    add('B', SCENE_TAKE_BOTH_BACK, 0, 1);
    scene_play_bounded(&scene, 3);
}

/* B takes alone from the limiter that A takes last from. */
static void test_demands_against_single_takes(void **state)
{
    (void)state;
    open_scene("both against single takes", "1/s burst 2", "2/1m burst 2", 2, 2);
    make_present();
    add('A', SCENE_TAKE_BOTH, 0, 1);
    add('B', SCENE_TAKE, 1, 1);
    add('B', SCENE_TAKE, 1, 1);
    add('C', SCENE_TAKE, 0, 2);
    scene_play(&scene);
}

static void test_three_crossed_demands(void **state)
{
    (void)state;
    open_scene("three crossed demands", "1/s burst 1", "2/1m burst 1", 1, 1);
    make_present();
    add('A', SCENE_TAKE_BOTH, 0, 1);
    add('B', SCENE_TAKE_BOTH_BACK, 0, 1);
    add('C', SCENE_TAKE_BOTH, 0, 1);
    scene_play_bounded(&scene, 3);
}

static void test_crossed_demands_on_windows(void **state)
{
    (void)state;
    open_scene("crossed demands on windows", "fixed_window 1/1h", "sliding_window 1/1h", 1, 1);
    make_present();
    add('A', SCENE_TAKE_BOTH, 0, 1);
    add('B', SCENE_TAKE_BOTH_BACK, 0, 1);
    scene_play(&scene);
}

/* A log is taken last: nothing of it is given back. */
static void test_crossed_demands_with_a_log(void **state)
{
    (void)state;
    open_scene("crossed demands, bucket and log", "1/s burst 1", "sliding_log 1/1m", 1, 1);
    make_present();
    add('A', SCENE_TAKE_BOTH, 0, 1);
    add('B', SCENE_TAKE_BOTH_BACK, 0, 1);
    scene_play_bounded(&scene, 3);
    open_scene("crossed demands, log and bucket", "sliding_log 2/1m", "1/s burst 1", 2, 1);
    make_present();
    add('A', SCENE_TAKE_BOTH, 0, 1);
    add('B', SCENE_TAKE, 0, 1);
    add('B', SCENE_TAKE, 1, 1);
    scene_play_bounded(&scene, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crossed_demands),
        cmocka_unit_test(test_crossed_demands_on_an_absent_key),
        cmocka_unit_test(test_demands_against_single_takes),
        cmocka_unit_test(test_three_crossed_demands),
        cmocka_unit_test(test_crossed_demands_on_windows),
        cmocka_unit_test(test_crossed_demands_with_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

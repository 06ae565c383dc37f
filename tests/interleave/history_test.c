/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of a limiter's limits, copied while it changes twice.  The second
 * change is written over the copy that a slow reader reads: what it read may then
 * be of two histories, which it must notice.
 */
#include "interleave/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct scene scene;
static char key[16];

static void add_change(const char *limit)
{
    world_prepare_limit(&scene.world, 0, limit);
    scene_add(&scene, (struct scene_call){.program = 1, .op = SCENE_SET_LIMIT, .limit = limit});
}

/*
 * The key owes 5.  The limit between cuts that to 1; whoever goes by the last one
 * must have walked through it.  By the first limit 3 more do not fit, by the second
 * they never do, by the third they do and 8 are left: any other answer is of no history.
 */
static void walk_through_both(const char *first, const char *second, const char *third)
{
    static char name[128];
    struct world_shape shape = {.buckets = 1, .width = 2};
    snprintf(name, sizeof name, "a take while %s becomes %s and %s", first, second, third);
    scene_open(&scene, name, &shape, first, NULL);
    world_key(&scene.world, 0, 0, key);
    scene_took(&scene, key, 5, 0);
    scene.is_linear = true;
    scene.steps_more = 80;
    scene_take(&scene, 'A', key, 3);
    add_change(second);
    add_change(third);
    scene_play(&scene);
}

static void test_buckets(void **state)
{
    (void)state;
    walk_through_both("6/1m burst 6", "1/1h burst 1", "12/1m burst 12");
}

static void test_windows(void **state)
{
    (void)state;
    walk_through_both("fixed_window 6/1h", "fixed_window 1/1h", "fixed_window 12/1h");
}

static void test_kinds(void **state)
{
    (void)state;
    walk_through_both("6/1m burst 6", "sliding_window 1/1h", "fixed_window 12/1h");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

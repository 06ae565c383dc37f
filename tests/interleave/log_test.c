/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding logs: rings that are charged, read, given back and reclaimed by several at once. */
#include "interleave/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct scene scene;
static char key[16];
static char other[16];

static void open_scene(const char *name, unsigned width, enum mete_full_policy on_full, const char *limit)
{
    struct world_shape shape = {.buckets = 1, .width = width, .on_full = on_full};
    scene_open(&scene, name, &shape, limit, NULL);
    world_key(&scene.world, 0, 0, key);
    world_key(&scene.world, 0, 0, other);
    scene.is_linear = true;
    scene.steps_more = 30;
}

static uint64_t after(unsigned tenths)
{
    return WORLD_START + tenths * WORLD_SECOND / 10;
}

static void probe_twice(unsigned tenths)
{
    scene_take_at(&scene, '-', key, 1, after(tenths));
    scene_take_at(&scene, '-', key, 1, after(tenths));
}

/* --- an absent key ------------------------------------------------------------------ */

static void play_absent(const char *name, const char *limit, unsigned takes, unsigned width, uint64_t count)
{
    open_scene(name, width, METE_FULL_EVICT, limit);
    for (unsigned i = 0; i < takes; i++) {
        scene_take(&scene, (char)('A' + i), key, 1);
    }
    probe_twice(0);
    scene.admitted_min = scene.admitted_max = count;
    scene.steps_more = 13;
    if (takes == 2) {
        scene_play(&scene);
    } else {
        scene_play_bounded(&scene, 3);
    }
}

static void test_two_takes_of_an_absent_key(void **state)
{
    (void)state;
    play_absent("log 1, two takes, absent, one cell", "sliding_log 1/s", 2, 1, 1);
    play_absent("log 1, two takes, absent, two cells", "sliding_log 1/s", 2, 2, 1);
    play_absent("log 2, two takes, absent, one cell", "sliding_log 2/s", 2, 1, 2);
    play_absent("log 2, two takes, absent, two cells", "sliding_log 2/s", 2, 2, 2);
}

static void test_three_takes_of_an_absent_key(void **state)
{
    (void)state;
    play_absent("log 1, three takes, absent", "sliding_log 1/s", 3, 1, 1);
    play_absent("log 2, three takes, absent", "sliding_log 2/s", 3, 2, 2);
}

/* --- a key with a ring --------------------------------------------------------------- */

static void test_takes_of_a_full_ring(void **state)
{
    (void)state;
    open_scene("log full, two takes", 2, METE_FULL_EVICT, "sliding_log 2/s");
    scene_took(&scene, key, 1, after(0));
    scene_took(&scene, key, 1, after(5));
    scene_take_at(&scene, 'A', key, 1, after(9));
    scene_take_at(&scene, 'B', key, 1, after(9));
    scene.admitted_max = 1;
    probe_twice(10);
    scene_play(&scene);
}

static void test_takes_when_old_units_are_over(void **state)
{
    (void)state;
    open_scene("log with one unit over, three takes", 2, METE_FULL_EVICT, "sliding_log 2/s");
    scene_took(&scene, key, 1, after(0));
    scene_took(&scene, key, 1, after(5));
    scene_take_at(&scene, 'A', key, 1, after(12));
    scene_take_at(&scene, 'B', key, 1, after(12));
    scene_take_at(&scene, 'C', key, 1, after(12));
    probe_twice(12);
    scene.admitted_min = scene.admitted_max = 1;
    scene_play(&scene);
    open_scene("log with all units over, three takes", 2, METE_FULL_EVICT, "sliding_log 2/s");
    scene_took(&scene, key, 2, after(0));
    scene_take_at(&scene, 'A', key, 1, after(12));
    scene_take_at(&scene, 'B', key, 2, after(12));
    scene_take_at(&scene, 'C', key, 1, after(12));
    probe_twice(12);
    scene.admitted_min = scene.admitted_max = 2;
    scene_play(&scene);
}

/*
 * The ring goes round while A reads it.  B's second take writes the time of its
 * first where A's oldest unit was; a denial that were told from that time would
 * be told from no state the ring ever had.
 */
static void test_denial_while_the_ring_goes_round(void **state)
{
    (void)state;
    open_scene("log denial while the ring goes round", 2, METE_FULL_EVICT, "sliding_log 2/s");
    scene_took(&scene, key, 1, after(0));
    scene_took(&scene, key, 1, after(5));
    scene_take_at(&scene, 'A', key, 1, after(9));
    scene_take_at(&scene, 'B', key, 1, after(10));
    scene_take_at(&scene, 'B', key, 1, after(15));
    scene_take_at(&scene, 'B', key, 1, after(20));
    probe_twice(21);
    scene_play(&scene);
}

/* A helper that slept raises times of a charge long past. */
static void test_helper_that_slept(void **state)
{
    (void)state;
    open_scene("log helper that slept", 2, METE_FULL_EVICT, "sliding_log 2/s");
    scene_took(&scene, key, 2, after(0));
    scene_take_at(&scene, 'A', key, 1, after(11));
    scene_take_at(&scene, 'B', key, 1, after(12));
    scene_take_at(&scene, 'B', key, 2, after(30));
    scene_take_at(&scene, 'B', key, 1, after(41));
    probe_twice(42);
    scene_play(&scene);
}

static void test_takes_at_different_times(void **state)
{
    (void)state;
    open_scene("log takes at three times", 2, METE_FULL_EVICT, "sliding_log 2/s");
    scene_took(&scene, key, 1, after(0));
    scene_take_at(&scene, 'A', key, 1, after(4));
    scene_take_at(&scene, 'B', key, 1, after(11));
    scene_take_at(&scene, 'C', key, 1, after(13));
    probe_twice(15);
    scene_play(&scene);
}

static void play_against_takes(const char *name, enum scene_op op, bool is_present)
{
    open_scene(name, 2, METE_FULL_EVICT, "sliding_log 2/s");
    if (is_present) {
        scene_took(&scene, key, 1, after(0));
    }
    scene_take_at(&scene, 'A', key, 1, after(4));
    scene_take_at(&scene, 'A', key, 1, after(5));
    scene_add(&scene, (struct scene_call){.program = 1, .op = op, .key = key, .cost = 1, .now_ns = after(6)});
    probe_twice(10);
    scene_play(&scene);
}

static void test_refund_reset_and_reserve_against_takes(void **state)
{
    (void)state;
    play_against_takes("log refund against takes, present", SCENE_REFUND, true);
    play_against_takes("log refund against takes, absent", SCENE_REFUND, false);
    play_against_takes("log reset against takes, present", SCENE_RESET, true);
    play_against_takes("log reset against takes, absent", SCENE_RESET, false);
    play_against_takes("log reserve against takes", SCENE_RESERVE, true);
    play_against_takes("log peek against takes", SCENE_PEEK, true);
}

/* --- rings that change hands ------------------------------------------------------------ */

/*
 * The only ring, of which all is over.  B takes it for another key while A
 * charges it for the old one: with nobody evicted, just one of the two is
 * admitted.
 */
static const char *check_one_ring(struct scene *at, unsigned finished)
{
    unsigned allowed = 0;
    for (unsigned i = 0; i < 2; i++) {
        allowed += at->answers[i].is_done && at->answers[i].decisions[0].allowed;
    }
    (void)finished;
    return allowed > 1 ? "one ring was charged for two keys" : NULL;
}

static void test_reclaim_against_a_take_of_the_old_key(void **state)
{
    (void)state;
    open_scene("log reclaim against a take of the old key", 1, METE_FULL_DENY, "sliding_log 1/s");
    scene_took(&scene, key, 1, after(0));
    scene_take_at(&scene, 'A', key, 1, after(12));
    scene_take_at(&scene, 'B', other, 1, after(12));
    scene.check = check_one_ring;
    scene_play_bounded(&scene, 4);
}

/* The old key's units are not over: it is evicted, and then begins anew. */
static void test_eviction_against_a_take_of_the_old_key(void **state)
{
    (void)state;
    open_scene("log eviction against a take of the old key", 2, METE_FULL_EVICT, "sliding_log 3/s");
    scene_took(&scene, other, 2, after(0));
    world_key(&scene.world, 0, 0, other);
    scene_took(&scene, key, 1, after(0));
    scene_take_at(&scene, 'A', key, 1, after(1));
    scene_take_at(&scene, 'B', other, 1, after(1));
    scene_take_at(&scene, 'B', other, 1, after(1));
    scene.is_linear = false;
    scene_play_bounded(&scene, 4);
}

/* As for cells (evict_test.c): A asks at a time before its ring was taken over. */
static void test_old_time_beside_a_reclaim(void **state)
{
    struct world_shape shape = {.buckets = 1, .width = 2, .on_full = METE_FULL_DENY};
    static char third[16];
    (void)state;
    scene_open(&scene, "log old time beside a reclaim", &shape, "sliding_log 1/s", NULL);
    world_key(&scene.world, 0, 0, key);
    world_key(&scene.world, 0, 0, other);
    world_key(&scene.world, 0, 0, third);
    scene_took(&scene, key, 1, after(0));
    scene_took(&scene, third, 1, after(2));
    scene.steps_more = 30;
    scene_take_at(&scene, 'A', key, 1, after(5));
    scene_take_at(&scene, 'B', other, 1, after(10));
    scene_add(&scene, (struct scene_call){.program = 1, .op = SCENE_RESET, .key = third});
    scene_take_at(&scene, '-', key, 1, after(16));
    scene.admitted_max = 1;
    scene_play_bounded(&scene, 4);
}

/* As for cells: A finds no ring, reads the clock, and is slow. */
static void test_slow_thread_from_before_the_key(void **state)
{
    struct world_shape shape = {.buckets = 1, .width = 2, .on_full = METE_FULL_DENY};
    static char third[16];
    (void)state;
    scene_open(&scene, "log slow thread from before the key", &shape, "sliding_log 1/s", NULL);
    world_key(&scene.world, 0, 0, key);
    world_key(&scene.world, 0, 0, other);
    world_key(&scene.world, 0, 0, third);
    scene_took(&scene, third, 1, after(0));
    scene.world.is_clock_shared = true;
    scene_take(&scene, 'A', key, 1);
    scene_take(&scene, 'B', key, 1);
    scene_add(&scene, (struct scene_call){.program = 1, .op = SCENE_SET_CLOCK, .now_ns = after(10)});
    scene_take(&scene, 'B', other, 1);
    scene_take(&scene, 'B', third, 1);
    scene_take_at(&scene, '-', key, 1, after(10) + 10000);
    scene.admitted_max = 2;
    scene.steps_more = 40;
    scene_play_bounded(&scene, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_takes_of_an_absent_key),
        cmocka_unit_test(test_three_takes_of_an_absent_key),
        cmocka_unit_test(test_takes_of_a_full_ring),
        cmocka_unit_test(test_takes_when_old_units_are_over),
        cmocka_unit_test(test_denial_while_the_ring_goes_round),
        cmocka_unit_test(test_helper_that_slept),
        cmocka_unit_test(test_takes_at_different_times),
        cmocka_unit_test(test_refund_reset_and_reserve_against_takes),
        cmocka_unit_test(test_reclaim_against_a_take_of_the_old_key),
        cmocka_unit_test(test_eviction_against_a_take_of_the_old_key),
        cmocka_unit_test(test_old_time_beside_a_reclaim),
        cmocka_unit_test(test_slow_thread_from_before_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

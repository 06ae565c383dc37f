/* SPDX-License-Identifier: Apache-2.0 */
/* The explorer itself: it must find the faults of programs known to be wrong, and
 * must not run more schedules than differ. */
#include "interleave/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/atomic.h"

/* Each on 16 bytes of its own. */
static struct {
    _Alignas(16) uint64_t value;
} shared[4];

static uint64_t outcomes[64]; /* distinct ends seen */
static unsigned outcomes_n;

static void begin(void *context)
{
    (void)context;
    memset(shared, 0, sizeof shared);
}

static void note(uint64_t outcome)
{
    for (unsigned i = 0; i < outcomes_n; i++) {
        if (outcomes[i] == outcome) {
            return;
        }
    }
    outcomes[outcomes_n++] = outcome;
}

static const char *note_value(void *context, unsigned finished)
{
    (void)context;
    (void)finished;
    note(shared[0].value);
    return NULL;
}

static struct schedule_count explore(const char *name, unsigned programs, void (*run)(void *, unsigned),
                                     const char *(*end)(void *, unsigned))
{
    struct schedule_plan plan = {.name = name, .programs = programs, .run = run, .begin = begin, .end = end};
    outcomes_n = 0;
    return schedule_all(&plan);
}

/* --- numbers of schedules that are known ------------------------------------------ */

static void write_own(void *context, unsigned program)
{
    (void)context;
    mete__store_u64_release(&shared[program].value, 1);
    mete__store_u64_release(&shared[program].value, 2);
}

static void test_programs_apart_need_one_schedule(void **test_state)
{
    (void)test_state;
    struct schedule_count count = explore("apart", 3, write_own, note_value);
    assert_int_equal(count.schedules, 1);
    assert_int_equal(count.blocked, 0);
    assert_int_equal(count.steps_most, 9);
}

static void read_same(void *context, unsigned program)
{
    (void)context;
    (void)program;
    mete__load_u64_acquire(&shared[0].value);
    mete__load_u64_acquire(&shared[0].value);
}

static void test_readers_need_one_schedule(void **test_state)
{
    (void)test_state;
    assert_int_equal(explore("readers", 3, read_same, note_value).schedules, 1);
}

static void write_same(void *context, unsigned program)
{
    (void)context;
    mete__store_u64_release(&shared[0].value, program + 1);
}

static void test_three_writers_need_six_schedules(void **test_state)
{
    (void)test_state;
    assert_int_equal(explore("writers", 3, write_same, note_value).schedules, 6);
    assert_int_equal(outcomes_n, 3);
}

static void write_twice(void *context, unsigned program)
{
    (void)context;
    mete__store_u64_release(&shared[0].value, 2 * program + 1);
    mete__store_u64_release(&shared[0].value, 2 * program + 2);
}

static void test_two_writers_of_two_need_six_schedules(void **test_state)
{
    (void)test_state;
    assert_int_equal(explore("two of two", 2, write_twice, note_value).schedules, 6);
    assert_int_equal(explore("three of two", 3, write_twice, note_value).schedules, 90);
}

/* --- faults that are known ---------------------------------------------------------- */

static void add_unsafely(void *context, unsigned program)
{
    (void)context;
    (void)program;
    uint64_t seen = mete__load_u64_acquire(&shared[0].value);
    mete__store_u64_release(&shared[0].value, seen + 1);
}

static void test_lost_update_is_found(void **test_state)
{
    (void)test_state;
    explore("unsafe add", 3, add_unsafely, note_value);
    assert_int_equal(outcomes_n, 3); /* 1, 2 and 3 */
}

static void add_safely(void *context, unsigned program)
{
    (void)context;
    (void)program;
    uint64_t seen = mete__load_u64_acquire(&shared[0].value);
    while (!mete__cas_u64_acq_rel(&shared[0].value, &seen, seen + 1)) {
    }
}

static void test_swaps_lose_nothing(void **test_state)
{
    (void)test_state;
    explore("safe add", 3, add_safely, note_value);
    assert_int_equal(outcomes_n, 1);
    assert_int_equal(outcomes[0], 3);
}

/* Dekker's pattern with one side's look before its flag. */
static void enter(void *context, unsigned program)
{
    bool is_wrong = *(bool *)context && program == 1;
    uint64_t other = is_wrong ? mete__load_u64_acquire(&shared[0].value) : 0;
    mete__store_u64_release(&shared[program].value, 1);
    if (!is_wrong) {
        other = mete__load_u64_acquire(&shared[1 - program].value);
    }
    if (other == 0) {
        mete__add_u64_relaxed(&shared[2].value, 1);
    }
}

static const char *note_entered(void *context, unsigned finished)
{
    (void)context;
    (void)finished;
    note(shared[2].value);
    return NULL;
}

static bool both_entered(bool is_wrong)
{
    struct schedule_plan plan = {
        .name = "Dekker", .context = &is_wrong, .programs = 2, .run = enter, .begin = begin, .end = note_entered};
    outcomes_n = 0;
    schedule_all(&plan);
    for (unsigned i = 0; i < outcomes_n; i++) {
        if (outcomes[i] == 2) {
            return true;
        }
    }
    return false;
}

static void test_dekker_is_told_from_its_fault(void **test_state)
{
    (void)test_state;
    assert_false(both_entered(false));
    assert_true(both_entered(true));
}

/* --- all against brute force ---------------------------------------------------------- */

/* A small program drawn from a seed: loads that are remembered, stores and swaps. */
static uint64_t program_seed;
static uint64_t seen_by[SCHEDULE_PROGRAMS_MAX];

static void run_drawn(void *context, unsigned program)
{
    uint64_t bits = program_seed >> (program * 20);
    uint64_t seen = 1;
    (void)context;
    for (unsigned i = 0; i < 3; i++, bits >>= 5) {
        uint64_t *at = &shared[bits & 1].value;
        uint64_t expected = bits >> 4 & 1;
        switch (bits >> 1 & 3) {
        case 0:
            mete__store_u64_release(at, program * 3 + i + 1);
            break;
        case 1:
            mete__cas_u64_acq_rel(at, &expected, program + 1);
            seen = seen * 16 + expected;
            break;
        default:
            seen = seen * 16 + mete__load_u64_acquire(at);
            break;
        }
    }
    seen_by[program] = seen;
}

static uint64_t outcome(void)
{
    uint64_t sum = shared[0].value * 31 + shared[1].value;
    for (unsigned i = 0; i < 3; i++) {
        sum = sum * UINT64_C(1000003) + seen_by[i];
    }
    return sum;
}

static uint64_t found[4096];
static unsigned found_n;
static bool is_known_only; /* every outcome must be among those found */

static const char *note_outcome(void *context, unsigned finished)
{
    (void)context;
    (void)finished;
    uint64_t now = outcome();
    for (unsigned i = 0; i < found_n; i++) {
        if (found[i] == now) {
            return NULL;
        }
    }
    if (is_known_only) {
        return "an outcome that the search did not find";
    }
    found[found_n++] = now;
    return NULL;
}

#ifdef __SANITIZE_THREAD__ /* see SCHEDULES_MAX in schedule.c */
#define PROGRAMS_DRAWN 3
#define ORDERS_DRAWN 30
#else
#define PROGRAMS_DRAWN 300
#define ORDERS_DRAWN 1000 /* of 12!/(4!)^3 = 34,650: each program has a start and three steps */
#endif

static void test_no_order_shows_what_the_search_missed(void **test_state)
{
    (void)test_state;
    struct schedule_plan plan = {.programs = 3, .run = run_drawn, .begin = begin, .end = note_outcome};
    uint64_t random = 1;
    uint64_t schedules = 0;
    for (unsigned round = 0; round < PROGRAMS_DRAWN * schedule_scale(); round++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        program_seed = random >> 4;
        found_n = 0;
        is_known_only = false;
        schedules += schedule_all(&plan).schedules;
        is_known_only = true;
        for (unsigned i = 0; i < ORDERS_DRAWN; i++) {
            char order[33] = {0};
            for (unsigned k = 0; k < 32; k++) {
                random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                order[k] = (char)('A' + (random >> 33) % 3);
            }
            schedule_one(&plan, order);
        }
    }
    printf("drawn programs: %llu schedules\n", (unsigned long long)schedules);
}

/* --- stopping --------------------------------------------------------------------------- */

static unsigned finished_seen;

static const char *note_finished(void *context, unsigned finished)
{
    (void)context;
    finished_seen = finished;
    note(shared[0].value);
    return NULL;
}

static void test_a_program_is_stopped_at_its_bound(void **test_state)
{
    (void)test_state;
    struct schedule_plan plan = {.name = "stopped",
                                 .programs = 2,
                                 .run = write_twice,
                                 .begin = begin,
                                 .end = note_finished,
                                 .steps_max = {2, 0}};
    outcomes_n = 0;
    struct schedule_count count = schedule_all(&plan);
    assert_int_equal(finished_seen, 2);
    assert_int_equal(count.schedules, count.cut);
    assert_int_equal(count.schedules, 3); /* its one write before, between or after two */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_apart_need_one_schedule),
        cmocka_unit_test(test_readers_need_one_schedule),
        cmocka_unit_test(test_three_writers_need_six_schedules),
        cmocka_unit_test(test_two_writers_of_two_need_six_schedules),
        cmocka_unit_test(test_lost_update_is_found),
        cmocka_unit_test(test_swaps_lose_nothing),
        cmocka_unit_test(test_dekker_is_told_from_its_fault),
        cmocka_unit_test(test_no_order_shows_what_the_search_missed),
        cmocka_unit_test(test_a_program_is_stopped_at_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

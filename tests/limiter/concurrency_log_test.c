/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding logs under threads: in no period are more units admitted than count.
 * One thread moves the clock; METE_TEST_SCALE multiplies the work.
 */
#include "limiter/concurrency.h"

#define MEMBERS 3u /* of which the first moves the clock */
#define STEP_NS (SEC / 10)
#define PERIOD_STEPS 10u
#define COUNT 20u
#define KEYS_MAX 3u

#ifdef __SANITIZE_THREAD__
#define STEPS 100u
#else
#define STEPS 3000u
#endif

/* How often the others call before the clock goes on. */
#define CALLS_PER_STEP 60u

struct admission {
    uint32_t key;
    uint32_t cost;
    uint64_t first; /* the step shown before the call, and after it: the unit's time lies between */
    uint64_t last;
};

struct bench {
    mete_store *store;
    mete_limiter *limiter;
    uint64_t step; /* the clock */
    uint64_t steps;
    uint64_t keys_n;
    uint64_t calls;
    struct admission *admissions[MEMBERS];
    uint64_t admissions_n[MEMBERS];
    uint64_t admissions_max;
};

static uint64_t read_clock(void *context)
{
    struct bench *bench = context;
    return 1000 * SEC + read_of(&bench->step) * STEP_NS;
}

static void move_clock(struct bench *bench)
{
    for (uint64_t step = 1; step < bench->steps; step++) {
        while (read_of(&bench->calls) < step * CALLS_PER_STEP) {
            sched_yield();
        }
        add_to(&bench->step, 1);
    }
}

static void take_some(struct bench *bench, unsigned member)
{
    static const char *const keys[KEYS_MAX] = {"one", "two", "three"};
    uint64_t random = member;
    while (bench->admissions_n[member] < bench->admissions_max) {
        struct admission admission = {.key = (uint32_t)draw(&random, bench->keys_n),
                                      .cost = 1 + (uint32_t)draw(&random, 2),
                                      .first = read_of(&bench->step)};
        if (admission.first == bench->steps - 1) {
            return;
        }
        if (take_at(bench->limiter, keys[admission.key], admission.cost, METE_NOW)) {
            admission.last = read_of(&bench->step);
            bench->admissions[member][bench->admissions_n[member]++] = admission;
        }
        add_to(&bench->calls, 1);
        if (draw(&random, 16) == 0) {
            sched_yield();
        }
    }
}

static void run(void *context, unsigned member)
{
    if (member == 0) {
        move_clock(context);
    } else {
        take_some(context, member);
    }
}

/* Units that were certainly admitted within each whole period. */
static void check_periods(const struct bench *bench, uint32_t key)
{
    uint64_t windows = bench->steps;
    uint64_t *units = calloc(windows, sizeof *units);
    uint64_t most = 0;
    assert_non_null(units);
    for (unsigned m = 1; m < MEMBERS; m++) {
        for (uint64_t i = 0; i < bench->admissions_n[m]; i++) {
            const struct admission *at = &bench->admissions[m][i];
            uint64_t from = at->last >= PERIOD_STEPS - 1 ? at->last - (PERIOD_STEPS - 1) : 0;
            for (uint64_t w = from; at->key == key && w <= at->first; w++) {
                units[w] += at->cost;
            }
        }
    }
    for (uint64_t w = 0; w < windows; w++) {
        assert_in_range(units[w], 0, COUNT);
        most = units[w] > most ? units[w] : most;
    }
    assert_in_range(most, COUNT / 2, COUNT); /* else nothing was put to the test */
    free(units);
}

static void play(uint64_t keys_n)
{
    struct bench bench = {.steps = STEPS * test_scale(), .keys_n = keys_n};
    struct mete_clock clock = {read_clock, &bench};
    struct crew crew = {.run = run, .context = &bench, .members = MEMBERS};
    bench.admissions_max = bench.steps * COUNT * KEYS_MAX;
    for (unsigned i = 1; i < MEMBERS; i++) {
        bench.admissions[i] = malloc(bench.admissions_max * sizeof *bench.admissions[i]);
        assert_non_null(bench.admissions[i]);
    }
    bench.store = open_store(100, METE_FULL_EVICT, &clock);
    bench.limiter = open_limiter(bench.store, "sliding_log 20/1s");
    crew_run(&crew);
    for (uint32_t key = 0; key < keys_n; key++) {
        check_periods(&bench, key);
    }
    for (unsigned i = 1; i < MEMBERS; i++) {
        free(bench.admissions[i]);
    }
    mete_limiter_destroy(bench.limiter);
    mete_store_destroy(bench.store);
}

static void test_no_period_has_more_than_count(void **state)
{
    (void)state;
    play(1);
    play(3);
}

/* --- rounds with the clock standing still ------------------------------------------------ */

/* Each round begins a period after the last; in it, all callers ask until they are denied. */
struct rounds {
    struct crew crew;
    mete_limiter *limiter;
    uint64_t now_ns;
    uint64_t rounds;
    uint64_t keys_n; /* 0: a new key each round, in more rounds than there are rings */
    uint64_t admitted;
    uint64_t wrong;
};

static uint64_t read_round(void *context)
{
    return read_of(&((struct rounds *)context)->now_ns);
}

static void drain_rounds(void *context, unsigned member)
{
    struct rounds *rounds = context;
    for (uint64_t round = 0; round < rounds->rounds; round++) {
        char key[16] = {0};
        uint64_t number = rounds->keys_n != 0 ? round % rounds->keys_n : round;
        memcpy(key, &number, 8);
        crew_meet(&rounds->crew);
        for (unsigned denied = 0; denied < 2;) {
            bool allowed = mete_allow(rounds->limiter, key, sizeof key);
            add_to(&rounds->admitted, allowed);
            denied += !allowed;
        }
        crew_meet(&rounds->crew);
        if (member == 0) {
            rounds->wrong += rounds->admitted != 5;
            rounds->admitted = 0;
            add_to(&rounds->now_ns, SEC);
        }
        crew_meet(&rounds->crew);
    }
}

static void play_rounds(uint64_t keys_n)
{
    struct rounds rounds = {.now_ns = 1000 * SEC, .rounds = STEPS / 2 * test_scale(), .keys_n = keys_n};
    struct mete_clock clock = {read_round, &rounds};
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    mete_store *store;
    rounds.crew = (struct crew){.run = drain_rounds, .context = &rounds, .members = MEMBERS};
    options.keys_max = 100;
    options.clock = &clock;
    options.log_units_max = 8 * 5; /* eight rings, in one bucket */
    assert_int_equal(mete_store_create(&options, &store), METE_OK);
    rounds.limiter = open_limiter(store, "sliding_log 5/1s");
    crew_run(&rounds.crew);
    assert_int_equal(rounds.wrong, 0);
    mete_limiter_destroy(rounds.limiter);
    mete_store_destroy(store);
}

static void test_each_period_has_count(void **state)
{
    (void)state;
    play_rounds(1);
    play_rounds(5);
}

static void test_new_keys_take_rings_that_are_over(void **state)
{
    (void)state;
    play_rounds(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_period_has_more_than_count),
        cmocka_unit_test(test_each_period_has_count),
        cmocka_unit_test(test_new_keys_take_rings_that_are_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

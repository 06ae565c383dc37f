/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets under threads: nothing is created and nothing is lost.  A bucket that
 * is never full after its first take has admitted, in the end, exactly
 * burst + rate * elapsed units, rounded down; a thread whose clock is ahead may
 * add what the rate gives in that time.  METE_TEST_SCALE multiplies the work.
 */
#include "limiter/concurrency.h"

#define MEMBERS 3u
#define KEYS 4u

/* The thread sanitizer makes a call 10 to 20 times slower. */
#ifdef __SANITIZE_THREAD__
#define CALLS 50000
#define ROUNDS 200
#else
#define CALLS 500000
#define ROUNDS 3000
#endif

/* One where all is admitted while the threads run, and one where most is denied.
 * Half of a burst takes 50 and 5 seconds to refill: longer than a test runs. */
struct supply {
    const char *limit;
    uint64_t burst;
    uint64_t unit_ns;
};

static const struct supply plenty = {"1000000/s burst 100000000", 100000000, 1000};
static const struct supply scarce = {"1000/s burst 10000", 10000, 1000000};

struct bench {
    const struct supply *supply;
    mete_store *store;
    mete_limiter *limiter;
    const char *keys[KEYS];
    uint64_t keys_n;
    uint64_t calls;       /* of each member */
    uint64_t taken[KEYS]; /* less what was given back */
    uint64_t started_ns[KEYS];
    bool with_refunds;
};

static void hammer(void *context, unsigned member)
{
    struct bench *bench = context;
    uint64_t random = member + 1;
    uint64_t taken[KEYS] = {0};
    for (uint64_t i = 0; i < bench->calls; i++) {
        uint64_t k = draw(&random, bench->keys_n);
        uint64_t cost = 1 + draw(&random, 3);
        if (bench->with_refunds && draw(&random, 4) == 0 && taken[k] >= cost) {
            taken[k] -= refund_at(bench->limiter, bench->keys[k], cost, METE_NOW) ? cost : 0;
        } else if (draw(&random, 8) == 0) {
            taken[k] += mete_allow(bench->limiter, bench->keys[k], strlen(bench->keys[k]));
        } else {
            taken[k] += take_at(bench->limiter, bench->keys[k], cost, METE_NOW) ? cost : 0;
        }
    }
    for (unsigned k = 0; k < KEYS; k++) {
        add_to(&bench->taken[k], taken[k]);
    }
}

/* Half the burst is taken at once, so that no bucket is full again before it is drained. */
static void start(struct bench *bench)
{
    for (unsigned k = 0; k < bench->keys_n; k++) {
        bench->started_ns[k] = mete_store_now(bench->store);
        assert_true(take_at(bench->limiter, bench->keys[k], bench->supply->burst / 2, bench->started_ns[k]));
        bench->taken[k] = bench->supply->burst / 2;
    }
}

/* Takes the rest in large steps, then in units. */
static uint64_t drain(struct bench *bench, const char *key, uint64_t now_ns)
{
    uint64_t units = 0;
    for (uint64_t cost = bench->supply->burst / 2; cost > 0; cost /= 2) {
        while (take_at(bench->limiter, key, cost, now_ns)) {
            units += cost;
        }
    }
    return units;
}

static void check_conserved(struct bench *bench)
{
    const struct supply *supply = bench->supply;
    for (unsigned k = 0; k < bench->keys_n; k++) {
        uint64_t end_ns = mete_store_now(bench->store);
        uint64_t units = bench->taken[k] + drain(bench, bench->keys[k], end_ns);
        uint64_t elapsed_ns = end_ns - bench->started_ns[k];
        if (elapsed_ns >= supply->burst / 2 * supply->unit_ns) {
            print_message("this machine was too slow: the bucket may have been full again\n");
            assert_in_range(units, supply->burst, supply->burst + (elapsed_ns + CLOCK_APART_NS) / supply->unit_ns);
            continue;
        }
        assert_in_range(units, supply->burst + elapsed_ns / supply->unit_ns,
                        supply->burst + (elapsed_ns + CLOCK_APART_NS) / supply->unit_ns);
    }
}

static void play(const struct supply *supply, uint64_t keys_n, bool with_refunds)
{
    struct bench bench = {.supply = supply,
                          .keys = {"one", "two", "three", "four"},
                          .keys_n = keys_n,
                          .calls = CALLS * test_scale(),
                          .with_refunds = with_refunds};
    struct crew crew = {.run = hammer, .context = &bench, .members = MEMBERS};
    bench.store = open_store(1000, METE_FULL_DENY, NULL);
    bench.limiter = open_limiter(bench.store, supply->limit);
    start(&bench);
    crew_run(&crew);
    check_conserved(&bench);
    mete_limiter_destroy(bench.limiter);
    mete_store_destroy(bench.store);
}

static void test_one_hot_key(void **state)
{
    (void)state;
    play(&plenty, 1, false);
    play(&scarce, 1, false);
}

static void test_few_keys(void **state)
{
    (void)state;
    play(&plenty, KEYS, false);
    play(&scarce, KEYS, false);
}

static void test_refunds_give_back_what_was_taken(void **state)
{
    (void)state;
    play(&plenty, 1, true);
    play(&plenty, KEYS, true);
    play(&scarce, KEYS, true);
}

/* --- one key, inserted by all ------------------------------------------------------- */

#define RACE_KEYS 64u

struct race {
    struct crew crew;
    mete_limiter *limiter;
    uint64_t rounds;
    uint64_t admitted[RACE_KEYS];
    uint64_t wrong; /* keys that were not admitted exactly `burst` times */
    uint64_t burst;
};

static void check_round(struct race *race)
{
    for (unsigned k = 0; k < RACE_KEYS; k++) {
        race->wrong += race->admitted[k] != race->burst;
        race->admitted[k] = 0;
    }
}

/* All run along the same new keys: the first calls of a key meet again and again. */
static void insert_all(void *context, unsigned member)
{
    struct race *race = context;
    for (uint64_t round = 0; round < race->rounds; round++) {
        crew_meet(&race->crew);
        for (uint64_t k = 0; k < RACE_KEYS; k++) {
            char key[32];
            memcpy(key, &round, 8);
            memcpy(key + 8, &k, 8);
            add_to(&race->admitted[k], mete_allow(race->limiter, key, 16));
        }
        crew_meet(&race->crew);
        if (member == 0) {
            check_round(race);
        }
    }
}

static uint64_t frozen(void *context)
{
    (void)context;
    return 1000 * SEC;
}

static void play_race(unsigned members, const char *limit, uint64_t burst)
{
    struct mete_clock clock = {frozen, NULL};
    struct race race = {.rounds = ROUNDS * test_scale(), .burst = burst};
    race.crew = (struct crew){.run = insert_all, .context = &race, .members = members};
    /* Room for all: whoever is admitted must stay known. */
    mete_store *store = open_store(2 * race.rounds * RACE_KEYS, METE_FULL_EVICT, &clock);
    race.limiter = open_limiter(store, limit);
    crew_run(&race.crew);
    assert_int_equal(race.wrong, 0);
    mete_limiter_destroy(race.limiter);
    mete_store_destroy(store);
}

static void test_two_threads_insert_one_key(void **state)
{
    (void)state;
    play_race(2, "1/s burst 1", 1);
}

static void test_three_threads_insert_one_key(void **state)
{
    (void)state;
    play_race(3, "1/s burst 1", 1);
    play_race(3, "1/s burst 2", 2);
    play_race(3, "fixed_window 1/1h", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_hot_key),
        cmocka_unit_test(test_few_keys),
        cmocka_unit_test(test_refunds_give_back_what_was_taken),
        cmocka_unit_test(test_two_threads_insert_one_key),
        cmocka_unit_test(test_three_threads_insert_one_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The sketch of top keys against exact counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "server/top.h"

#define KEYS 20000u
#define UPDATES 400000u
#define ENTRIES 512u /* of a sketch */
#define SETS 64u
#define WAYS 8u

struct exact {
    uint64_t counts[KEYS];
    uint64_t total;
};

static uint64_t random_state = 0x853c49e6748fea9bu;

static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double draw_unit(void)
{
    return (double)(draw() >> 11) / 9007199254740992.0;
}

static size_t key_of(unsigned id, char key[32])
{
    return (size_t)snprintf(key, 32, "key-%u", id);
}

static void add(struct mete__top *top, struct exact *exact, unsigned id, bool allowed, uint64_t weight)
{
    char key[32];
    size_t len = key_of(id, key);
    mete__top_add(top, id % 3, key, len, allowed, weight);
    exact->counts[id] += weight;
    exact->total += weight;
}

/* Rank r of n by the inverse of the harmonic sum, exponent 1: close enough to Zipf for a skewed stream. */
static unsigned zipf(unsigned n)
{
    double r = 1.0;
    for (double u = draw_unit() * 10.5; u > 1.0 / r && r < n; r++) {
        u -= 1.0 / r;
    }
    return (unsigned)r - 1;
}

static unsigned id_of(const struct mete__top_entry *entry)
{
    char text[METE__TOP_KEY_MAX + 1] = {0};
    assert_true(entry->key_len < METE__TOP_KEY_MAX);
    memcpy(text, entry->key, entry->key_len);
    unsigned id;
    assert_int_equal(sscanf(text, "key-%u", &id), 1);
    assert_true(id < KEYS);
    assert_int_equal(entry->policy_place, id % 3);
    return id;
}

/* Every entry: count - error <= truth <= count.  Returns how many there are. */
static size_t check_bounds(const struct mete__top_entry *entries, size_t count, const struct exact *exact)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t truth = exact->counts[id_of(&entries[i])];
        assert_true(entries[i].count >= truth);
        assert_true(entries[i].count - entries[i].error <= truth);
        assert_true(i == 0 || entries[i - 1].count >= entries[i].count);
    }
    return count;
}

static bool is_listed(const struct mete__top_entry *entries, size_t count, unsigned id)
{
    for (size_t i = 0; i < count; i++) {
        if (id_of(&entries[i]) == id) {
            return true;
        }
    }
    return false;
}

static size_t merge(struct mete__top *tops, size_t top_count, bool allowed, struct mete__top_entry *out, size_t max)
{
    struct mete__top *list[4];
    for (size_t i = 0; i < top_count; i++) {
        list[i] = &tops[i];
    }
    return mete__top_merge(list, top_count, allowed, out, max);
}

static struct exact *exact_new(void)
{
    struct exact *exact = calloc(1, sizeof *exact);
    assert_non_null(exact);
    return exact;
}

static void test_few_keys_are_exact(void **state)
{
    (void)state;
    struct mete__top top;
    struct mete__top_entry entries[16];
    struct exact *exact = exact_new();
    assert_true(mete__top_init(&top));
    assert_int_equal(merge(&top, 1, true, entries, 16), 0);
    for (unsigned i = 0; i < 1000; i++) {
        add(&top, exact, i % 7, true, 1 + i % 7);
    }
    assert_int_equal(check_bounds(entries, merge(&top, 1, true, entries, 16), exact), 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(entries[i].error, 0);
        assert_int_equal(entries[i].count, exact->counts[6 - i]);
        assert_int_equal(id_of(&entries[i]), 6 - i);
    }
    assert_int_equal(merge(&top, 1, true, entries, 3), 3);
    assert_int_equal(merge(&top, 1, false, entries, 16), 0);
    mete__top_clear(&top);
    free(exact);
}

static void test_zipf(void **state)
{
    (void)state;
    struct mete__top top;
    static struct mete__top_entry entries[2 * ENTRIES];
    struct exact *exact = exact_new();
    assert_true(mete__top_init(&top));
    for (unsigned i = 0; i < UPDATES; i++) {
        add(&top, exact, zipf(KEYS), false, 1);
    }
    size_t count = check_bounds(entries, merge(&top, 1, false, entries, 2 * ENTRIES), exact);
    assert_int_equal(count, ENTRIES);
    for (unsigned id = 0; id < 10; id++) {
        assert_true(is_listed(entries, 10 + 2, id)); /* two places for neighbours that the error swaps */
    }
    mete__top_clear(&top);
    free(exact);
}

/* error <= W / 8 with W the updates of the set; sets differ, so the bound over all is on the sum. */
static void test_uniform(void **state)
{
    (void)state;
    struct mete__top top;
    static struct mete__top_entry entries[2 * ENTRIES];
    struct exact *exact = exact_new();
    uint64_t sum = 0, error_max = 0;
    assert_true(mete__top_init(&top));
    for (unsigned i = 0; i < UPDATES; i++) {
        add(&top, exact, (unsigned)(draw() % KEYS), true, 1);
    }
    size_t count = check_bounds(entries, merge(&top, 1, true, entries, 2 * ENTRIES), exact);
    for (size_t i = 0; i < count; i++) {
        sum += entries[i].count;
        error_max = entries[i].error > error_max ? entries[i].error : error_max;
    }
    assert_int_equal(sum, UPDATES); /* a set's counts add up to its updates */
    assert_true(error_max <= UPDATES / SETS / WAYS * 3 / 2);
    mete__top_clear(&top);
    free(exact);
}

/* A flood of keys seen once cannot push out a key with more than its set's share. */
static void test_flood_does_not_hide(void **state)
{
    (void)state;
    struct mete__top top;
    static struct mete__top_entry entries[ENTRIES];
    char key[32];
    assert_true(mete__top_init(&top));
    for (unsigned i = 0; i < UPDATES; i++) {
        if (i % 100 == 0) {
            mete__top_add(&top, 0, "victim", 6, false, 1);
        } else {
            mete__top_add(&top, 0, key, key_of(i, key), false, 1);
        }
    }
    assert_true(merge(&top, 1, false, entries, 3) == 3);
    assert_memory_equal(entries[0].key, "victim", 6);
    assert_true(entries[0].count >= UPDATES / 100);
    assert_true(entries[0].count - entries[0].error <= UPDATES / 100);
    mete__top_clear(&top);
}

/* Keys that share a mark of 16 bits are told apart: some of these strangers share one with a heavy key. */
static void test_strangers_do_not_count(void **state)
{
    (void)state;
    struct mete__top top;
    static struct mete__top_entry entries[2 * ENTRIES];
    char key[32];
    assert_true(mete__top_init(&top));
    for (unsigned i = 0; i < 128; i++) {
        mete__top_add(&top, 0, key, (size_t)snprintf(key, sizeof key, "heavy-%u", i), true, 1000000);
    }
    for (unsigned i = 0; i < UPDATES; i++) {
        mete__top_add(&top, 0, key, key_of(i, key), true, 1);
    }
    size_t count = merge(&top, 1, true, entries, 2 * ENTRIES), heavy = 0;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(entries[i].key, "heavy-", 6) == 0) {
            heavy++;
            assert_true(entries[i].count - entries[i].error <= 1000000);
        }
    }
    assert_true(heavy >= 120); /* a set that got nine of them lost one */
    mete__top_clear(&top);
}

/* The order that is worst for Space-Saving: heavy keys first, then a flood, then they come back. */
static void test_adversary_orders(void **state)
{
    (void)state;
    struct mete__top top;
    static struct mete__top_entry entries[2 * ENTRIES];
    struct exact *exact = exact_new();
    assert_true(mete__top_init(&top));
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 2 * ENTRIES; i++) { /* more than there is room for, in a cycle: nobody stays */
            add(&top, exact, i, false, 1);
        }
        for (unsigned i = 0; i < 2000; i++) {
            add(&top, exact, 5000 + (round * 2000 + i) % 15000, false, 1);
        }
        add(&top, exact, round, false, 300);
    }
    check_bounds(entries, merge(&top, 1, false, entries, 2 * ENTRIES), exact);
    mete__top_clear(&top);
    free(exact);
}

static void test_merge_over_loops(void **state)
{
    (void)state;
    struct mete__top tops[3];
    static struct mete__top_entry entries[4 * ENTRIES];
    struct exact *exact = exact_new();
    for (size_t i = 0; i < 3; i++) {
        assert_true(mete__top_init(&tops[i]));
    }
    for (unsigned i = 0; i < UPDATES; i++) {
        unsigned id = zipf(KEYS);
        add(&tops[id < 5 ? 0 : draw() % 3], exact, id, true, 1); /* some are known to one loop only */
    }
    size_t count = check_bounds(entries, merge(tops, 3, true, entries, 4 * ENTRIES), exact);
    assert_true(count >= ENTRIES);
    for (unsigned id = 0; id < 5; id++) {
        assert_true(is_listed(entries, 8, id));
    }
    for (size_t i = 0; i < 3; i++) {
        mete__top_clear(&tops[i]);
    }
    free(exact);
}

static void test_windows_end(void **state)
{
    (void)state;
    struct mete__top top;
    struct mete__top_entry entries[8];
    uint64_t now = 5 * METE__TOP_WINDOW_MS;
    assert_true(mete__top_init(&top));
    mete__top_turn(&top, now);
    mete__top_add(&top, 0, "a", 1, true, 5);
    mete__top_turn(&top, now + METE__TOP_WINDOW_MS - 1);
    mete__top_turn(&top, now + METE__TOP_WINDOW_MS);
    mete__top_add(&top, 0, "a", 1, true, 2);
    mete__top_add(&top, 0, "b", 1, true, 1);
    assert_int_equal(merge(&top, 1, true, entries, 8), 2); /* both windows are told */
    assert_int_equal(entries[0].count, 7);
    assert_int_equal(entries[0].error, 0);
    mete__top_turn(&top, now + 2 * METE__TOP_WINDOW_MS);
    assert_int_equal(merge(&top, 1, true, entries, 8), 2);
    assert_int_equal(entries[0].count, 2);
    mete__top_add(&top, 0, "c", 1, true, 9);
    mete__top_turn(&top, now + 4 * METE__TOP_WINDOW_MS); /* a silence of two: nothing is recent */
    assert_int_equal(merge(&top, 1, true, entries, 8), 0);
    mete__top_clear(&top);
}

static void test_long_and_equal_keys(void **state)
{
    (void)state;
    struct mete__top top;
    struct mete__top_entry entries[8];
    char one[300], two[300];
    memset(one, 'x', sizeof one);
    memset(two, 'x', sizeof two);
    two[299] = 'y';
    assert_true(mete__top_init(&top));
    mete__top_add(&top, 1, one, 300, true, 3);
    mete__top_add(&top, 1, two, 300, true, 2); /* the same prefix: another key */
    mete__top_add(&top, 2, one, 300, true, 1); /* another policy's */
    mete__top_add(&top, METE__TOP_OWN, "", 0, true, 9);
    mete__top_add(&top, 1, one, METE__TOP_KEY_MAX, true, 7);
    mete__top_add(&top, 1, one, METE__TOP_KEY_MAX - 1, true, 6);
    mete__top_add(&top, 1, one, METE__TOP_KEY_MAX + 1, true, 5);
    assert_int_equal(merge(&top, 1, true, entries, 8), 7);
    assert_int_equal(entries[0].policy_place, METE__TOP_OWN);
    assert_int_equal(entries[0].key_len, 0);
    assert_int_equal(entries[1].key_len, METE__TOP_KEY_MAX);
    assert_memory_equal(entries[1].key, one, METE__TOP_KEY_MAX);
    assert_int_equal(entries[2].key_len, METE__TOP_KEY_MAX - 1);
    assert_int_equal(entries[3].key_len, METE__TOP_KEY_MAX + 1);
    assert_int_equal(entries[4].key_len, 300);
    assert_memory_equal(entries[4].key, one, METE__TOP_KEY_MAX);
    mete__top_clear(&top);
}

/* Counts have 32 bits: what does not fit ends the window, and never wraps. */
static void test_large_weights(void **state)
{
    (void)state;
    struct mete__top top;
    struct mete__top_entry entries[8];
    assert_true(mete__top_init(&top));
    mete__top_add(&top, 0, "a", 1, true, UINT32_MAX - 1);
    mete__top_add(&top, 0, "a", 1, true, 1);
    mete__top_add(&top, 0, "a", 1, true, 0); /* nothing */
    assert_int_equal(merge(&top, 1, true, entries, 8), 1);
    assert_int_equal(entries[0].count, UINT32_MAX);
    mete__top_add(&top, 0, "a", 1, true, 1);
    assert_int_equal(merge(&top, 1, true, entries, 8), 1);
    assert_int_equal(entries[0].count, UINT64_C(1) << 32);
    mete__top_add(&top, 0, "a", 1, true, UINT64_MAX);
    assert_int_equal(merge(&top, 1, true, entries, 8), 1);
    assert_int_equal(entries[0].count, (UINT64_C(1) << 32)); /* 1 of the window before, and as much as fits */
    mete__top_clear(&top);
}

/* Sampling by random skips: right on average, whatever pattern the traffic has. */
static void test_samples(void **state)
{
    (void)state;
    struct mete__top top;
    struct mete__top_entry entries[32];
    assert_int_equal(mete__top_weight(0), 1);
    assert_int_equal(mete__top_weight(7), 1);
    assert_int_equal(mete__top_weight(8), 2);
    assert_int_equal(mete__top_weight(64), METE__TOP_WEIGHT_MAX);
    assert_int_equal(mete__top_weight(SIZE_MAX), METE__TOP_WEIGHT_MAX);
    assert_true(mete__top_init(&top));
    for (unsigned i = 0; i < 1600000; i++) {
        char key = (char)('a' + i % 16); /* with a fixed step of 16 one key would have everything */
        mete__top_note(&top, 256, 0, &key, 1, true);
    }
    assert_int_equal(merge(&top, 1, true, entries, 32), 16);
    /* 100,000 each; the deviation is sqrt(16 * 100,000) = 1265, so this is six of them */
    assert_true(entries[0].count < 107600);
    assert_true(entries[15].count > 92400);
    mete__top_clear(&top);
}

struct crew {
    struct mete__top top;
    uint64_t added;
    uint32_t is_over;
};

static void *read_on(void *context)
{
    struct crew *crew = context;
    struct mete__top *list[] = {&crew->top};
    static _Thread_local struct mete__top_entry entries[ENTRIES];
    while (__atomic_load_n(&crew->is_over, __ATOMIC_RELAXED) == 0) {
        size_t count = mete__top_merge(list, 1, true, entries, ENTRIES);
        for (size_t i = 0; i < count; i++) {
            if (entries[i].key_len != METE__TOP_KEY_MAX ||
                memcmp(entries[i].key, entries[i].key + 4, METE__TOP_KEY_MAX - 4) != 0) {
                return "torn";
            }
        }
    }
    return NULL;
}

/* Two readers while the loop writes: no entry is seen half-written, and none is lost uncounted. */
static void test_read_while_written(void **state)
{
    (void)state;
    struct crew crew = {0};
    pthread_t readers[2];
    void *result;
    assert_true(mete__top_init(&crew.top));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &crew), 0);
    }
    for (; crew.added < 300000; crew.added++) {
        uint32_t key[METE__TOP_KEY_MAX / 4]; /* one word over and over: halves of two keys would show */
        uint32_t word = (uint32_t)(draw() % 5000);
        for (size_t i = 0; i < METE__TOP_KEY_MAX / 4; i++) {
            key[i] = word;
        }
        mete__top_add(&crew.top, 0, key, sizeof key, true, 1);
    }
    __atomic_store_n(&crew.is_over, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(readers[i], &result);
        assert_null(result);
    }
    static struct mete__top_entry entries[2 * ENTRIES];
    uint64_t sum = mete__top_dropped(&crew.top);
    size_t count = merge(&crew.top, 1, true, entries, 2 * ENTRIES);
    for (size_t i = 0; i < count; i++) {
        sum += entries[i].count;
    }
    assert_int_equal(sum, crew.added);
    mete__top_clear(&crew.top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_keys_are_exact),
        cmocka_unit_test(test_zipf),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_flood_does_not_hide),
        cmocka_unit_test(test_strangers_do_not_count),
        cmocka_unit_test(test_adversary_orders),
        cmocka_unit_test(test_merge_over_loops),
        cmocka_unit_test(test_windows_end),
        cmocka_unit_test(test_long_and_equal_keys),
        cmocka_unit_test(test_large_weights),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_read_while_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

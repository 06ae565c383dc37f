/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tiny table and many more keys than it holds: cells change hands all the time.
 * METE_TEST_SCALE multiplies the work.
 */
#include "limiter/concurrency.h"

#include "limiter/limiter.h"

#define MEMBERS 3u

#ifdef __SANITIZE_THREAD__
#define CALLS 20000
#else
#define CALLS 200000
#endif

struct flood {
    mete_store *store;
    mete_limiter *limiter;
    uint64_t calls;
    uint64_t keys_n; /* keys are drawn from so many; 0: each is new */
    uint64_t admitted;
    uint64_t denied;
    uint64_t resets;
};

static void make_key(char key[16], unsigned member, uint64_t number)
{
    uint64_t owner = member;
    memcpy(key, &owner, 8);
    memcpy(key + 8, &number, 8);
}

static void insert_fresh(void *context, unsigned member)
{
    struct flood *flood = context;
    uint64_t admitted = 0;
    for (uint64_t i = 0; i < flood->calls; i++) {
        char key[16];
        make_key(key, member, i);
        admitted += mete_allow(flood->limiter, key, sizeof key);
    }
    add_to(&flood->admitted, admitted);
    add_to(&flood->denied, flood->calls - admitted);
}

/* At rest no cell is pending, and no tag is confirmed twice among its candidates. */
static void check_table(const mete_store *store)
{
    const struct mete__table *table = &store->table;
    for (uint64_t b = 0; b < table->buckets_n; b++) {
        for (unsigned i = 0; i < table->width; i++) {
            struct mete__pair cell = mete__pair_load_acquire(&table->buckets[b].cells[i]);
            assert_false(mete__cell_is_pending(cell));
            for (unsigned j = 0; cell.lo != 0 && j < i; j++) {
                struct mete__pair other = mete__pair_load_acquire(&table->buckets[b].cells[j]);
                assert_false(mete__cell_is_of(other.lo, cell.lo & ~METE__SCALE_MASK));
            }
        }
    }
}

static void check_key_once(const mete_store *store, const mete_limiter *limiter, const char *key, size_t key_len)
{
    const struct mete__table *table = &store->table;
    struct mete__slot slot = mete__table_locate(table, mete__hash_key(&limiter->secret, key, key_len));
    unsigned cells = 0;
    for (uint64_t b = 0; b < table->buckets_n; b++) {
        for (unsigned i = 0; i < table->width; i++) {
            cells += mete__cell_is_of(mete__pair_load_acquire(&table->buckets[b].cells[i]).lo, slot.tag);
        }
    }
    assert_in_range(cells, 0, 1);
}

static void play_fresh(uint64_t keys_max, enum mete_full_policy on_full)
{
    struct flood flood = {.calls = CALLS * test_scale()};
    struct crew crew = {.run = insert_fresh, .context = &flood, .members = MEMBERS};
    struct mete_store_stats stats;
    uint64_t live;
    flood.store = open_store(keys_max, on_full, NULL);
    flood.limiter = open_limiter(flood.store, "1/1h burst 1");
    crew_run(&crew);
    assert_int_equal(mete_store_stats(flood.store, &stats), METE_OK);
    assert_int_equal(mete_store_keys_live(flood.store, &live), METE_OK);
    check_table(flood.store);
    assert_in_range(live, 1, stats.cells);
    assert_int_equal(stats.keys_inserted - stats.keys_evicted, live);
    if (on_full == METE_FULL_EVICT) {
        assert_int_equal(flood.denied, 0); /* a new key always finds a place */
        assert_int_equal(stats.keys_inserted, flood.admitted);
    } else {
        assert_int_equal(stats.keys_evicted, 0);
        assert_int_equal(stats.keys_inserted + stats.full_untracked, flood.admitted);
        assert_int_equal(stats.full_denied, flood.denied);
    }
    mete_limiter_destroy(flood.limiter);
    mete_store_destroy(flood.store);
}

static void test_fresh_keys_evict_each_other(void **state)
{
    (void)state;
    play_fresh(1, METE_FULL_EVICT);
    play_fresh(8, METE_FULL_EVICT);
    play_fresh(100, METE_FULL_EVICT);
}

static void test_fresh_keys_find_a_full_table(void **state)
{
    (void)state;
    play_fresh(8, METE_FULL_DENY);
    play_fresh(100, METE_FULL_DENY);
    play_fresh(100, METE_FULL_ALLOW);
}

/* --- keys that come again -------------------------------------------------------------- */

static void use_few(void *context, unsigned member)
{
    struct flood *flood = context;
    uint64_t random = member + 7;
    uint64_t admitted = 0;
    uint64_t resets = 0;
    for (uint64_t i = 0; i < flood->calls; i++) {
        char key[16];
        make_key(key, 0, draw(&random, flood->keys_n));
        if (draw(&random, 50) == 0) {
            resets += mete_reset(flood->limiter, key, sizeof key) == METE_OK;
        } else {
            admitted += mete_allow(flood->limiter, key, sizeof key);
        }
    }
    add_to(&flood->admitted, admitted);
    add_to(&flood->resets, resets);
}

static uint64_t frozen(void *context)
{
    (void)context;
    return 1000 * SEC;
}

/*
 * Time stands still, so a unit is earned back only by a reset or by being
 * forgotten: what is admitted is at most a unit per key, reset and eviction.
 */
static void play_few(uint64_t keys_max, uint64_t keys_n, bool with_frozen_clock)
{
    struct mete_clock clock = {frozen, NULL};
    struct flood flood = {.calls = CALLS * test_scale(), .keys_n = keys_n};
    struct crew crew = {.run = use_few, .context = &flood, .members = MEMBERS};
    struct mete_store_stats stats;
    flood.store = open_store(keys_max, METE_FULL_EVICT, with_frozen_clock ? &clock : NULL);
    flood.limiter = open_limiter(flood.store, "1/1h burst 1");
    crew_run(&crew);
    assert_int_equal(mete_store_stats(flood.store, &stats), METE_OK);
    check_table(flood.store);
    for (uint64_t k = 0; k < keys_n; k++) {
        char key[16];
        make_key(key, 0, k);
        check_key_once(flood.store, flood.limiter, key, sizeof key);
    }
    assert_in_range(flood.admitted, 1, keys_n + flood.resets + stats.keys_evicted);
    mete_limiter_destroy(flood.limiter);
    mete_store_destroy(flood.store);
}

static void test_keys_come_again(void **state)
{
    (void)state;
    play_few(8, 8, true);     /* all fit */
    play_few(8, 12, true);    /* one bucket, half as many again */
    play_few(64, 100, true);  /* two buckets each */
    play_few(1, 2, true);     /* two keys fight for one cell */
    play_few(64, 100, false); /* by the clock: no unit comes back within an hour */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh_keys_evict_each_other),
        cmocka_unit_test(test_fresh_keys_find_a_full_table),
        cmocka_unit_test(test_keys_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traps of the table's structure, one test each and by name; of one thread
 * where the moment that matters can be made to happen.  Here those of calls that
 * meet; bounds_test.c has the others.  All interleavings of small cases:
 * tests/interleave.  A machine without 16-byte swaps: test_fallback.py.
 */
#include "place.h"

#include <pthread.h>

#include "limiter/decide.h"

#define HOUR (3600 * SEC)

/* A table of n cells: any of them may hold any key. */
static void open_tiny(struct api_world *world, uint64_t n, enum mete_full_policy policy, const char *limit)
{
    struct mete_store_options options = api_options(world);
    options.keys_max = n;
    options.on_full = policy;
    options.log_units_max = 1; /* 8 rings, whatever their size */
    world->store = api_store(&options);
    world->limiter = api_limiter(world->store, "n", limit);
}

static struct mete_decision take_at(struct api_world *world, const char *key, uint64_t cost, uint64_t now_ns)
{
    struct mete_request request = api_request(key, cost);
    struct mete_decision decision;
    request.now_ns = now_ns;
    assert_int_equal(mete_take(world->limiter, &request, &decision), METE_OK);
    return decision;
}

/* --- 1: two inserts of one key ---------------------------------------------- */

#define INSERT_THREADS 4u
#define INSERT_KEYS 20000u

struct insert {
    struct api_world world;
    pthread_barrier_t barrier;
    _Atomic uint64_t admitted;
};

static void *insert_all(void *context)
{
    struct insert *insert = context;
    uint64_t admitted = 0;
    for (uint32_t key = 0; key < INSERT_KEYS; key++) {
        if (key % 50 == 0) {
            pthread_barrier_wait(&insert->barrier); /* side by side again */
        }
        admitted += mete_allow(insert->world.limiter, &key, sizeof key);
    }
    atomic_fetch_add(&insert->admitted, admitted);
    return NULL;
}

/* No tag stands in two confirmed cells. */
static uint64_t confirmed_cells(const mete_store *store)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < store->table.buckets_n * store->table.width; i++) {
        struct mete__pair cell = mete__pair_load_acquire(&store->table.buckets[0].cells[i]);
        n += cell.lo != 0 && !mete__cell_is_pending(cell);
    }
    return n;
}

static void two_inserts_of_one_key(void **state)
{
    (void)state;
    struct insert insert = {.admitted = 0};
    struct mete_store_options options = api_options(&insert.world);
    pthread_t threads[INSERT_THREADS];
    options.keys_max = INSERT_KEYS;
    api_set(&insert.world, 0);
    insert.world.store = api_store(&options);
    insert.world.limiter = api_limiter(insert.world.store, "n", "1/1h burst 1");
    pthread_barrier_init(&insert.barrier, NULL, INSERT_THREADS);
    for (unsigned i = 0; i < INSERT_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, insert_all, &insert), 0);
    }
    for (unsigned i = 0; i < INSERT_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    struct mete_store_stats stats = api_stats(insert.world.store);
    assert_true(insert.admitted >= INSERT_KEYS && insert.admitted <= INSERT_KEYS + stats.keys_evicted);
    assert_int_equal(confirmed_cells(insert.world.store), stats.keys_inserted - stats.keys_evicted);
    assert_int_equal(stats.keys_inserted, insert.admitted);
    pthread_barrier_destroy(&insert.barrier);
    api_close(&insert.world);
}

/* What a killed process leaves of a claim is in nobody's way: not of the same
 * key, not of another that needs the place. */
static void a_dead_claim(void **state)
{
    (void)state;
    struct api_world world;
    api_set(&world, HOUR);
    open_tiny(&world, 1, METE_FULL_DENY, "10/1h burst 10");
    struct mete__pair *cell = &world.store->table.buckets[0].cells[0];
    struct mete__hash hash = mete__hash_key(&world.limiter->secret, "k", 1);
    struct mete__slot slot = mete__table_locate(&world.store->table, hash);
    for (unsigned i = 0; i < 2; i++) {
        *cell = (struct mete__pair){slot.tag, 12345}; /* pending, and its owner is gone */
        assert_int_equal(api_keys_live(world.store), 0);
        assert_true(api_take_of(world.limiter, i == 0 ? "k" : "other", 10).allowed);
        assert_false(mete_allow(world.limiter, i == 0 ? "k" : "other", i == 0 ? 1 : 5));
        assert_int_equal(api_stats(world.store).claims_removed, i + 1);
    }
    api_close(&world);
}

/* --- 2: a stale clock beside eviction --------------------------------------- */

/* k is idle at 110 s, its cell is taken over and given back; a call that has
 * slept since 1 s then begins k anew.  Had it begun at 1 s, k would be full
 * once more at 110 s. */
static void check_stale_clock(const char *limit)
{
    struct api_world world;
    api_set(&world, 0);
    open_tiny(&world, 1, METE_FULL_DENY, limit);
    assert_true(take_at(&world, "k", 10, 0).allowed);
    assert_true(take_at(&world, "other", 1, 110 * SEC).allowed);
    assert_int_equal(mete_reset(world.limiter, "other", 5), METE_OK);
    uint64_t late = 0;
    while (late < 100 && take_at(&world, "k", 1, SEC).allowed) {
        late++;
    }
    assert_true(late <= 10);
    uint64_t then = 0;
    while (then < 100 && take_at(&world, "k", 1, 110 * SEC).allowed) {
        then++;
    }
    assert_true(late + then <= 10); /* since k was full at 110 s */
    api_close(&world);
}

static void stale_clock_beside_eviction(void **state)
{
    (void)state;
    check_stale_clock("10/10s burst 10");
    check_stale_clock("leaky_bucket 10/10s burst 10");
    check_stale_clock("7/3s burst 10");
}

/* A mark that a caller's own time has set far ahead is not believed by METE_NOW: it
 * would lock new keys out until then. */
static void a_mark_from_the_future(void **state)
{
    (void)state;
    struct api_world world;
    api_set(&world, 100 * SEC);
    open_tiny(&world, 1, METE_FULL_DENY, "10/10s burst 10");
    assert_true(take_at(&world, "k", 1, 0).allowed);
    assert_true(take_at(&world, "other", 1, 1000 * HOUR).allowed);
    assert_int_equal(mete_reset(world.limiter, "other", 5), METE_OK);
    struct mete_decision decision = take_at(&world, "new", 10, METE_NOW);
    assert_true(decision.allowed);
    assert_in_range(decision.reset_after_ns, 10 * SEC, 10 * SEC + 2000);
    api_close(&world);
}

/* --- 3: evicting while someone charges -------------------------------------- */

/* The cell is given to another key whose word is the same number: a charge that
 * was computed before must fail all the same.  Eight bytes would not tell. */
static void evicted_while_charging(void **state)
{
    (void)state;
    struct api_world world;
    struct mete__pair seen = {0, 0}, now;
    api_set(&world, HOUR);
    open_tiny(&world, 1, METE_FULL_EVICT, "10/10s burst 10");
    assert_true(mete_allow(world.limiter, "k", 1));
    struct mete__hash hash = mete__hash_key(&world.limiter->secret, "k", 1);
    struct mete__slot slot = mete__table_locate(&world.store->table, hash);
    struct mete__pair *cell = mete__table_find(&world.store->table, &slot, &seen);
    assert_non_null(cell);
    assert_true(mete_allow(world.limiter, "other", 5)); /* evicts k */
    now = mete__pair_load_acquire(cell);
    assert_int_equal(now.hi, seen.hi);
    assert_true(now.lo != seen.lo);
    struct mete__pair expected = seen;
    assert_false(mete__pair_cas_full(cell, &expected, (struct mete__pair){seen.lo, seen.hi + 1}));
    assert_int_equal(api_take_of(world.limiter, "other", 0).remaining, 9);
    api_close(&world);
}

/* The log's judge, with another thread's calls in the moment after all rings were judged. */
static struct {
    struct api_world *world;
    struct mete__judge *own;
    unsigned judged;
} meddler;

static uint64_t meddler_rank(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                             uint64_t *idle_at_ns)
{
    uint64_t rank = meddler.own->rank(context, address, cell, now_ns, idle_at_ns);
    if (++meddler.judged == 8) {
        for (char key[2] = "0"; key[0] < '8'; key[0]++) {
            assert_true(take_at(meddler.world, key, 5, now_ns).allowed);
        }
    }
    return rank;
}

/* Eight rings, all idle.  A claim chooses one; before it retires the ring, the ring's
 * key comes back and is charged.  That charge must not be forgotten. */
static void ring_charged_while_retired(void **state)
{
    (void)state;
    struct api_world world;
    const uint64_t then_ns = HOUR + 20 * SEC;
    api_set(&world, HOUR);
    open_tiny(&world, 8, METE_FULL_DENY, "sliding_log 5/10s");
    for (char key[2] = "0"; key[0] < '8'; key[0]++) {
        assert_true(take_at(&world, key, 1, HOUR).allowed);
    }
    struct mete__log *log = world.limiter->log;
    assert_int_equal(log->table.buckets_n, 1);
    struct mete__judge judge = log->judge;
    judge.rank = meddler_rank;
    meddler.world = &world;
    meddler.own = &log->judge;
    meddler.judged = 0;
    struct mete__claim claim = {.scale_id = world.limiter->rule->scale_id, .now_ns = then_ns, .mark_seen_ns = 0};
    struct mete__slot slot = mete__table_locate(&log->table, mete__hash_key(&world.limiter->secret, "new", 3));
    enum mete__claimed claimed = mete__claim_cell(&log->table, &slot, &judge, &claim);
    assert_true(meddler.judged >= 8);
    unsigned forgotten = 0;
    for (char key[2] = "0"; key[0] < '8'; key[0]++) {
        forgotten += take_at(&world, key, 1, then_ns).allowed;
    }
    assert_int_equal(forgotten, 0);
    assert_int_equal(claimed, METE__CLAIM_FULL);
    api_close(&world);
}

/* --- 4: rollback in take_all ------------------------------------------------- */

#define ROLLBACK_THREADS 4u

struct rollback {
    struct api_world world;
    mete_limiter *poor;
    _Atomic uint64_t admitted;
    _Atomic uint64_t all_admitted;
};

static void *take_and_roll_back(void *context)
{
    struct rollback *rollback = context;
    struct mete_decision decisions[2];
    for (unsigned i = 0; i < 20000; i++) {
        struct mete_demand demands[2] = {{rollback->world.limiter, api_request("rich", 1)},
                                         {rollback->poor, api_request("poor", 1)}};
        if (i % 2 == 0) {
            atomic_fetch_add(&rollback->admitted, mete_allow(rollback->world.limiter, "rich", 4));
        } else if (mete_take_all(demands, 2, decisions, NULL) == METE_OK && decisions[0].allowed &&
                   decisions[1].allowed) {
            atomic_fetch_add(&rollback->all_admitted, 1);
        }
    }
    return NULL;
}

/* Nothing is admitted twice and nothing stays charged. */
static void rollback_in_take_all(void **state)
{
    (void)state;
    struct rollback rollback = {.admitted = 0};
    pthread_t threads[ROLLBACK_THREADS];
    api_open(&rollback.world, "1000000/1h");
    rollback.poor = api_limiter(rollback.world.store, "poor", "100/1h");
    for (unsigned i = 0; i < ROLLBACK_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_roll_back, &rollback), 0);
    }
    for (unsigned i = 0; i < ROLLBACK_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(rollback.all_admitted, 100);
    assert_int_equal(rollback.admitted, ROLLBACK_THREADS * 10000);
    struct mete_decision rich = api_take_of(rollback.world.limiter, "rich", 0);
    assert_int_equal(rich.remaining, 1000000 - ROLLBACK_THREADS * 10000 - 100);
    assert_false(mete_allow(rollback.poor, "poor", 4));
    mete_limiter_destroy(rollback.poor);
    api_close(&rollback.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_inserts_of_one_key),      cmocka_unit_test(a_dead_claim),
        cmocka_unit_test(stale_clock_beside_eviction), cmocka_unit_test(a_mark_from_the_future),
        cmocka_unit_test(evicted_while_charging),      cmocka_unit_test(ring_charged_while_retired),
        cmocka_unit_test(rollback_in_take_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traps of the table's structure that are bounds: scale ids run out, tags are
 * short, memory is not there before it is touched.  trap_test.c has the others.
 */
#include "place.h"

#include <sys/resource.h>

#include "limiter/decide.h"

#define HOUR (3600 * SEC)

/* --- 5: scale ids run out ---------------------------------------------------- */

static mete_status set_rate(mete_limiter *limiter, uint64_t count)
{
    struct mete_limit limit = {.count = count, .period_ns = UINT64_C(1000000007) * 100, .burst = 10};
    return mete_limiter_set_limit(limiter, &limit); /* the period is a prime times 100: */
}

/* ... so fractions with odd counts not divisible by 5 are in lowest terms, all distinct. */
static uint64_t nth_count(uint64_t n)
{
    return n / 4 * 10 + (const uint64_t[]){1, 3, 7, 9}[n % 4];
}

/* 65,535 distinct rates, used by two processes' worth of opens; then a clear error
 * for a new one, and all that are known go on. */
static void scale_ids_run_out(void **state)
{
    (void)state;
    struct place place;
    struct api_world world;
    struct mete_store_options options = api_options(&world);
    mete_store *stores[2];
    mete_limiter *limiters[2], *extra = NULL;
    char why[200] = "";
    place_make(&place);
    options.path = place.path;
    api_set(&world, HOUR);
    for (size_t i = 0; i < 2; i++) {
        stores[i] = api_store(&options);
        limiters[i] = api_limiter(stores[i], "n", "10/1h");
    }
    mete_limiter *old = api_limiter(stores[0], "old", "10/1h");
    assert_true(api_take_of(old, "k", 4).allowed);
    for (uint64_t n = 0; n < METE__SCALES - 2; n++) {
        assert_int_equal(set_rate(limiters[n % 2], nth_count(n)), METE_OK);
    }
    assert_int_equal(api_stats(stores[0]).scales_used, METE__SCALES - 1);
    for (size_t i = 0; i < 2; i++) {
        struct mete_limit limit = {.count = nth_count(METE__SCALES), .period_ns = UINT64_C(100000000700), .burst = 10};
        api_mark(&extra, sizeof extra);
        assert_int_equal(mete_limiter_create_why(stores[i], "new", &limit, &extra, why, sizeof why), METE_EFULL);
        assert_true(api_is_marked(&extra, sizeof extra));
        assert_non_null(strstr(why, "65,535"));
        assert_int_equal(set_rate(limiters[i], nth_count(METE__SCALES)), METE_EFULL);
        assert_true(api_take_of(limiters[i], "k", 1).allowed); /* the limit in force is the one before */
    }
    /* Known rates can still be taken, also with another burst, also those of the other open. */
    struct mete_limit known = {.count = 20, .period_ns = 2 * HOUR, .burst = 33};
    assert_int_equal(mete_limiter_create(stores[1], "known", &known, &extra), METE_OK);
    mete_limiter_destroy(extra);
    assert_int_equal(set_rate(limiters[1], nth_count(0)), METE_OK);
    struct mete_limit log = {.algorithm = METE_SLIDING_LOG, .count = 5, .period_ns = HOUR};
    assert_int_equal(mete_limiter_create(stores[0], "log", &log, &extra), METE_EFULL); /* logs have ids too */
    assert_true(api_take_of(old, "k", 6).allowed);
    assert_false(api_take_of(old, "k", 1).allowed);
    mete_limiter_destroy(old);
    for (size_t i = 0; i < 2; i++) {
        mete_limiter_destroy(limiters[i]);
        mete_store_destroy(stores[i]);
    }
    place_remove(&place);
}

/* --- 6: fingerprints are 48 bits --------------------------------------------- */

static struct mete_decision decide_hash(mete_limiter *limiter, struct mete__hash hash)
{
    struct mete__ask ask = {.op = METE__OP_TAKE, .cost = 1, .now_ns = HOUR};
    struct mete_decision decision;
    mete__decide(limiter, &ask, hash, &decision);
    return decision;
}

/* Two keys that agree in 48 bits and meet in a bucket share one allowance; one
 * bit of the tag, or another pair of buckets, and they do not. */
static void keys_that_collide(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "5/1h");
    struct mete__hash hash = {UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876540000)};
    for (uint64_t low = 0; low < 5; low++) { /* the low 16 bits are no part of the tag */
        struct mete__hash same = {hash.lo, hash.hi | low * 13};
        assert_int_equal(decide_hash(world.limiter, same).remaining, 4 - low);
    }
    assert_false(decide_hash(world.limiter, hash).allowed);
    assert_int_equal(api_keys_live(world.store), 1);
    for (unsigned bit = 16; bit < 64; bit++) {
        struct mete__hash other = {hash.lo, hash.hi ^ UINT64_C(1) << bit};
        assert_int_equal(decide_hash(world.limiter, other).remaining, 4);
    }
    struct mete__hash elsewhere = {~hash.lo, hash.hi};
    assert_int_equal(decide_hash(world.limiter, elsewhere).remaining, 4);
    /* A tag of all zeros would be an empty cell: it is moved out of the way. */
    struct mete__hash zero = {hash.lo, 0};
    assert_int_equal(decide_hash(world.limiter, zero).remaining, 4);
    assert_int_equal(decide_hash(world.limiter, zero).remaining, 3);
    api_close(&world);
}

/* Nobody outside can aim: the same keys lie elsewhere in each store and for each name. */
static void secrets_differ(void **state)
{
    (void)state;
    struct api_world worlds[2];
    struct mete__hash hashes[3];
    for (size_t i = 0; i < 2; i++) {
        api_open(&worlds[i], "5/1h");
        hashes[i] = mete__hash_key(&worlds[i].limiter->secret, "k", 1);
    }
    mete_limiter *named = api_limiter(worlds[0].store, "other", "5/1h");
    hashes[2] = mete__hash_key(&named->secret, "k", 1);
    for (size_t i = 0; i < 3; i++) {
        assert_true(hashes[i].lo != hashes[(i + 1) % 3].lo);
        assert_true(hashes[i].hi != hashes[(i + 1) % 3].hi);
    }
    mete_limiter_destroy(named);
    api_close(&worlds[0]);
    api_close(&worlds[1]);
}

/* --- 7: first touch ------------------------------------------------------------ */

static uint64_t faults(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_minflt;
}

static uint64_t faults_while_filling(unsigned flags)
{
    struct api_world world;
    struct mete_store_options options = api_options(&world);
    options.keys_max = 200000;
    options.flags = flags | METE_STORE_NO_HUGE_PAGES;
    api_set(&world, HOUR);
    world.store = api_store(&options);
    world.limiter = api_limiter(world.store, "n", "10/1h");
    assert_true(mete_allow(world.limiter, "first", 5));
    uint64_t before = faults();
    for (uint32_t key = 0; key < options.keys_max; key++) {
        mete_allow(world.limiter, &key, sizeof key);
    }
    uint64_t during = faults() - before;
    api_close(&world);
    return during;
}

/* Deciding must not wait for the kernel to find pages: 1,042 of them here. */
static void first_touch(void **state)
{
    (void)state;
    uint64_t prefaulted = faults_while_filling(0);
    uint64_t lazily = faults_while_filling(METE_STORE_NO_PREFAULT);
    print_message("page faults while filling 200,000 keys: %llu, without prefault %llu\n",
                  (unsigned long long)prefaulted, (unsigned long long)lazily);
    assert_true(lazily >= 1000);
    assert_true(IS_SANITIZED || prefaulted < 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_ids_run_out),
        cmocka_unit_test(keys_that_collide),
        cmocka_unit_test(secrets_differ),
        cmocka_unit_test(first_touch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of memory and of keys: tables that clear themselves or grow without
 * bound, keys that collide, counters that two owners count twice.
 */
#include "case.h"

#include <unistd.h>

static uint64_t keys_live(mete_store *store)
{
    uint64_t live = UINT64_MAX;
    assert_int_equal(mete_store_keys_live(store, &live), METE_OK);
    return live;
}

static struct mete_store_stats stats_of(mete_store *store)
{
    struct mete_store_stats stats;
    assert_int_equal(mete_store_stats(store, &stats), METE_OK);
    return stats;
}

/* Above 1000 keys the whole map was cleared, which reset everybody.
 * Source: https://github.com/gonka-ai/gonka/pull/1056 */
static void case_100_eviction_clears_all(void **state)
{
    (void)state;
    struct case_world world;
    case_open_sized(&world, "1/3600s burst 5", 1000);
    assert_true(case_take(&world, 0, "a", 5).allowed);
    for (unsigned i = 0; i < 1001; i++) {
        char key[24];
        snprintf(key, sizeof(key), "distinct-%u", i);
        assert_true(case_take(&world, 0, key, 1).allowed);
    }
    assert_false(case_take(&world, 0, "a", 1).allowed);
    /* Ten times the table: the keys that owe least go first, the abuser stays. */
    for (unsigned i = 0; i < 10000; i++) {
        char key[24];
        snprintf(key, sizeof(key), "flood-%u", i);
        assert_true(case_take(&world, 0, key, 1).allowed);
    }
    assert_true(stats_of(world.store).keys_evicted > 0);
    assert_false(case_take(&world, 0, "a", 1).allowed);
    case_close(&world);
}

static struct mete_decision take_bytes(struct case_world *world, const void *key, size_t key_len)
{
    struct mete_request request = METE_REQUEST_INIT;
    struct mete_decision decision;
    request.key = key;
    request.key_len = key_len;
    assert_int_equal(mete_take(world->limiter, &request, &decision), METE_OK);
    return decision;
}

/* The empty key was chosen as victim but skipped by a truth test, so the table
 * grew past its cap.
 * Source: https://github.com/cyanheads/mcp-ts-core/issues/405 */
static void case_101_eviction_empty_key(void **state)
{
    (void)state;
    struct case_world world;
    case_open_sized(&world, "fixed_window 10/60s", 2);
    const struct mete_store_stats before = stats_of(world.store);
    assert_true(take_bytes(&world, NULL, 0).allowed);
    for (unsigned i = 0; i < 1000; i++) {
        char key[16];
        int len = snprintf(key, sizeof(key), "key-%u", i);
        assert_true(take_bytes(&world, key, (size_t)len).allowed);
        assert_true(keys_live(world.store) <= 2);
    }
    assert_int_equal(stats_of(world.store).memory_bytes, before.memory_bytes);
    case_close(&world);
    /* The empty key, NUL bytes and 64 KiB are ordinary keys, each with its own count. */
    static char zeros[65536];
    case_open(&world, "fixed_window 10/60s");
    static const size_t lengths[] = {0, 1, 2, 65535, 65536};
    for (unsigned round = 1; round <= 10; round++) {
        for (size_t i = 0; i < CASE_COUNT_OF(lengths); i++) {
            assert_int_equal(take_bytes(&world, zeros, lengths[i]).remaining, 10 - round);
        }
    }
    assert_false(take_bytes(&world, NULL, 0).allowed);
    assert_int_equal(keys_live(world.store), CASE_COUNT_OF(lengths));
    case_close(&world);
}

/* Pages of this process in memory, in bytes. */
static uint64_t resident_bytes(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%llu %llu", &size, &resident), 2);
    fclose(statm);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* State per key was never dropped unless the caller asked: memory grew without
 * limit.
 * Source: https://github.com/boinkor-net/governor/issues/171 */
static void case_103_memory_unbounded(void **state)
{
    (void)state;
    struct case_world world;
    case_open_sized(&world, "1/60s burst 1", 10000);
    const struct mete_store_stats before = stats_of(world.store);
    uint64_t resident_warm = 0;
    const uint64_t keys = 1000000 * case_scale();
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t address[2] = {UINT64_C(0x20010db800010002), i};
        assert_true(take_bytes(&world, address, sizeof(address)).allowed);
        if (i == 20000) {
            resident_warm = resident_bytes();
        }
    }
    /* 1 MiB leaves room for the C library; a million keys of 20 bytes would be 20. */
    assert_true(resident_bytes() <= resident_warm + 1048576);
    assert_int_equal(stats_of(world.store).memory_bytes, before.memory_bytes);
    assert_true(keys_live(world.store) <= before.cells);
    assert_true(keys_live(world.store) >= before.keys_max);
    case_close(&world);
}

/* Refused calls were appended too: one client could grow its array without bound.
 * Source: https://github.com/wheels-dev/wheels/pull/2048 */
static void case_105_memory_denied_logged(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "sliding_log 5/60s");
    assert_int_equal(case_admitted(&world, 0, "k", 5), 5);
    const struct mete_store_stats before = stats_of(world.store);
    uint64_t admitted = 5;
    for (uint64_t i = 5; i < 1000000; i++) {
        admitted += case_take(&world, i * 10 * US, "k", 1).allowed;
    }
    assert_int_equal(admitted, 5);
    assert_int_equal(stats_of(world.store).log_bytes, before.log_bytes);
    /* Five entries of time 0 are all there is: at 60 s the key is as if never seen. */
    assert_int_equal(case_remaining(&world, 60 * SEC - 1, "k"), 0);
    assert_int_equal(case_remaining(&world, 60 * SEC, "k"), 5);
    case_close(&world);
}

/* Joins two parts so that no other two parts give the same bytes: each behind
 * its length.  Returns the key's length. */
static size_t join(unsigned char *key, const char *first, const char *second)
{
    size_t first_len = strlen(first), second_len = strlen(second);
    key[0] = (unsigned char)first_len;
    memcpy(key + 1, first, first_len);
    key[1 + first_len] = (unsigned char)second_len;
    memcpy(key + 2 + first_len, second, second_len);
    return 2 + first_len + second_len;
}

/* Parts of a key were joined without a separator, so different callers shared
 * one counter.
 * Source: https://github.com/better-auth/better-auth/pull/7300 */
static void case_106_key_collision(void **state)
{
    (void)state;
    static const char *const parts[][2] = {
        {"user@example.co", "mtest"}, {"user@example.com", "test"}, {"10.0.0.1", "1/x"}, {"10.0.0.11", "/x"}};
    struct case_world world;
    case_open(&world, "1/60s burst 1");
    /* Keys are bytes with a length: the caller joins, the library adds nothing
     * and cuts nothing. */
    for (size_t i = 0; i < CASE_COUNT_OF(parts); i++) {
        unsigned char key[64];
        size_t len = join(key, parts[i][0], parts[i][1]);
        assert_true(take_bytes(&world, key, len).allowed);
        assert_false(take_bytes(&world, key, len).allowed);
    }
    case_close(&world);
}

/* Each IPv6 address was a client of its own: one host with a /64 had endless
 * fresh allowances.
 * Source: https://github.com/express-rate-limit/express-rate-limit/issues/502 */
static void case_108_key_ipv6_prefix(void **state)
{
    (void)state;
    /* Reading addresses is the daemon's business.  In the library keys are bytes
     * and the caller cuts the prefix: the first 8 of an address's 16 bytes. */
    static const unsigned char addresses[3][16] = {{0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1},
                                                   {0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2, 0xff, 0xff, 0, 0, 0, 0, 0, 9},
                                                   {0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1}};
    struct case_world world;
    case_open(&world, "fixed_window 1/60s");
    assert_true(take_bytes(&world, addresses[0], 8).allowed);
    assert_false(take_bytes(&world, addresses[1], 8).allowed);
    assert_true(take_bytes(&world, addresses[2], 8).allowed);
    case_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_100_eviction_clears_all), cmocka_unit_test(case_101_eviction_empty_key),
        cmocka_unit_test(case_103_memory_unbounded),    cmocka_unit_test(case_105_memory_denied_logged),
        cmocka_unit_test(case_106_key_collision),       cmocka_unit_test(case_108_key_ipv6_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

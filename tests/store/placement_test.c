/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys_max live keys have room: filling a table evicts fewer than 1 in 10,000
 * of them, whatever the keys look like, and again after all went idle.
 */
#include "place.h"

#define HOUR (3600 * SEC)
#define PER 10000u /* fewer than 1 in so many */

/* Writes the i-th key of a kind; returns its length. */
typedef size_t make_key(uint64_t i, unsigned char key[32]);

static size_t random_key(uint64_t i, unsigned char key[32])
{
    uint64_t state = i * 2;
    uint64_t words[2] = {place_random(&state), place_random(&state)};
    memcpy(key, words, sizeof words);
    return sizeof words;
}

static size_t number_key(uint64_t i, unsigned char key[32])
{
    memcpy(key, &i, sizeof i);
    return sizeof i;
}

static size_t text_key(uint64_t i, unsigned char key[32])
{
    return (size_t)snprintf((char *)key, 32, "user-%llu", (unsigned long long)i);
}

/* 10.x.y.z, one after the other. */
static size_t address_key(uint64_t i, unsigned char key[32])
{
    return (size_t)snprintf((char *)key, 32, "10.%u.%u.%u", (unsigned)(i >> 16 & 255), (unsigned)(i >> 8 & 255),
                            (unsigned)(i & 255));
}

/* Networks of IPv6: only the bytes in the middle differ, and in their upper bits. */
static size_t network_key(uint64_t i, unsigned char key[32])
{
    memset(key, 0, 16);
    memcpy(key, "\x20\x01\x0d\xb8", 4);
    for (unsigned byte = 0; byte < 4; byte++) {
        key[4 + byte] = (unsigned char)(i >> 8 * byte);
    }
    return 16;
}

static const struct {
    const char *name;
    make_key *make;
} kinds[] = {{"random", random_key},
             {"numbers", number_key},
             {"text", text_key},
             {"addresses", address_key},
             {"networks", network_key}};

struct table {
    struct api_world world;
    uint64_t keys_max;
};

static void table_open(struct table *table, uint64_t keys_max)
{
    struct mete_store_options options = api_options(&table->world);
    table->keys_max = keys_max;
    options.keys_max = keys_max;
    options.flags = METE_STORE_NO_PREFAULT;
    api_set(&table->world, HOUR);
    table->world.store = api_store(&options);
    table->world.limiter = api_limiter(table->world.store, "n", "10/1h");
}

/* One unit for each of keys_max keys, in batches; returns the evictions. */
static uint64_t fill(struct table *table, make_key *make, uint64_t from)
{
    unsigned char keys[32][32];
    struct mete_request requests[32];
    struct mete_decision decisions[32];
    uint64_t before = api_stats(table->world.store).keys_evicted;
    for (uint64_t done = 0; done < table->keys_max;) {
        size_t n = 0;
        for (; n < 32 && done < table->keys_max; n++, done++) {
            requests[n] = (struct mete_request){keys[n], make(from + done, keys[n]), 1, METE_NOW, 0};
        }
        assert_int_equal(mete_take_batch(table->world.limiter, requests, n, decisions), METE_OK);
        for (size_t i = 0; i < n; i++) {
            assert_true(decisions[i].allowed);
        }
    }
    return api_stats(table->world.store).keys_evicted - before;
}

struct sums {
    uint64_t keys;
    uint64_t first; /* evicted in a new table */
    uint64_t other; /* by other keys after all went idle */
    uint64_t again; /* by the same keys after all went idle once more */
};

static void fill_three_times(struct table *table, make_key *make, struct sums *sums)
{
    uint64_t n = table->keys_max;
    sums->keys += n;
    sums->first += fill(table, make, 0);
    api_set(&table->world, 3 * HOUR);
    assert_int_equal(api_keys_live(table->world.store), 0);
    sums->other += fill(table, make, n);
    api_set(&table->world, 6 * HOUR);
    uint64_t again = fill(table, make, n);
    sums->again += again;
    assert_int_equal(api_keys_live(table->world.store), n - again);
}

static void check_size(uint64_t keys_max, unsigned tables, size_t kind)
{
    struct sums sums = {0};
    for (unsigned i = 0; i < tables; i++) {
        struct table table;
        table_open(&table, keys_max);
        fill_three_times(&table, kinds[kind].make, &sums);
        api_close(&table.world);
    }
    print_message("%9llu keys, %-9s %8llu in all: evicted %llu, then %llu, then %llu\n", (unsigned long long)keys_max,
                  kinds[kind].name, (unsigned long long)sums.keys, (unsigned long long)sums.first,
                  (unsigned long long)sums.other, (unsigned long long)sums.again);
    assert_true(sums.first * PER < sums.keys);
    assert_true(sums.other * PER < sums.keys);
    assert_true(sums.again * PER < sums.keys);
}

/* So many tables of each size that the bound means something: 200,000 keys or more. */
static void each_size(void **state)
{
    (void)state;
    check_size(1000, 400, 0);
    check_size(4096, 60, 0);
    check_size(10000, 30, 0);
    check_size(100000, 3, 0);
    if (!IS_SANITIZED) {
        check_size(1000000, 1, 0);
    }
    if (place_scale() >= 4) {
        check_size(10000000, 1, 0);
    }
}

static void each_kind(void **state)
{
    (void)state;
    for (size_t kind = 1; kind < COUNT_OF(kinds); kind++) {
        check_size(200000, 1, kind);
    }
}

/* Keys of many limiters, the same bytes in each: they must not meet in the same buckets. */
static void many_limiters(void **state)
{
    (void)state;
    struct table table;
    table_open(&table, 200000);
    for (unsigned i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "limit-%u", i);
        mete_limiter *limiter = api_limiter(table.world.store, name, "10/1h");
        for (uint64_t key = 0; key < 2000; key++) {
            assert_true(mete_allow(limiter, &key, sizeof key));
        }
        mete_limiter_destroy(limiter);
    }
    uint64_t evicted = api_stats(table.world.store).keys_evicted;
    print_message("100 limiters of 2,000 keys: evicted %llu\n", (unsigned long long)evicted);
    assert_true(evicted * PER < table.keys_max);
    api_close(&table.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_size),
        cmocka_unit_test(each_kind),
        cmocka_unit_test(many_limiters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

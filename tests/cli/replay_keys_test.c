/* SPDX-License-Identifier: Apache-2.0 */
/* Counts per key: bounds first, then that every key has its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/replay_keys.h"

#define MANY 20000

static struct mete__key_count *get(struct mete__keys *keys, const void *key, size_t key_len)
{
    return mete__keys_get(keys, mete__keys_hash(keys, key, key_len), key, key_len);
}

static void a_key_more_than_the_most_has_no_room(void **state)
{
    (void)state;
    struct mete__keys keys;
    assert_true(mete__keys_init(&keys, 2));
    assert_non_null(get(&keys, "a", 1));
    assert_non_null(get(&keys, "b", 1));
    assert_false(keys.full);
    assert_null(get(&keys, "c", 1));
    assert_true(keys.full);
    assert_int_equal(keys.count, 2);
    assert_non_null(get(&keys, "a", 1));
    mete__keys_clear(&keys);
}

static void key_bytes_are_bounded(void **state)
{
    (void)state;
    struct mete__keys keys;
    assert_true(mete__keys_init(&keys, 1000));
    size_t size = 1024 * 1024;
    char *key = calloc(1, size);
    assert_non_null(key);
    uint64_t bound = (METE__KEYS_BYTES_BASE + 1000 * METE__KEYS_BYTES_PER_KEY) / size;
    for (uint64_t i = 0; i <= bound; i++) {
        memcpy(key, &i, sizeof(i));
        struct mete__key_count *entry = get(&keys, key, size);
        assert_int_equal(entry != NULL, i < bound);
    }
    assert_true(keys.full);
    assert_non_null(get(&keys, "short", 5)); /* there is still room for it */
    free(key);
    mete__keys_clear(&keys);
}

static void every_key_has_its_own_counts(void **state)
{
    (void)state;
    struct mete__keys keys;
    assert_true(mete__keys_init(&keys, MANY));
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            char key[16];
            int len = snprintf(key, sizeof(key), "key-%u", i);
            struct mete__key_count *entry = get(&keys, key, (size_t)len);
            assert_non_null(entry);
            assert_int_equal(entry->allowed, round == 0 ? 0 : i);
            assert_int_equal(entry->place, i);
            entry->allowed += i;
        }
    }
    assert_int_equal(keys.count, MANY);
    assert_false(keys.full);
    mete__keys_clear(&keys);
}

static void keys_are_bytes(void **state)
{
    (void)state;
    struct mete__keys keys;
    assert_true(mete__keys_init(&keys, 10));
    get(&keys, "", 0)->denied = 1;
    get(&keys, "\0", 1)->denied = 2;
    get(&keys, "\0\0", 2)->denied = 3;
    get(&keys, "a\0b", 3)->denied = 4;
    get(&keys, "a\0c", 3)->denied = 5;
    assert_int_equal(keys.count, 5);
    assert_int_equal(get(&keys, "", 0)->denied, 1);
    assert_int_equal(get(&keys, "\0", 1)->denied, 2);
    assert_int_equal(get(&keys, "a\0b", 3)->denied, 4);
    mete__keys_clear(&keys);
}

static void two_tables_hash_with_their_own_secret(void **state)
{
    (void)state;
    struct mete__keys one;
    struct mete__keys two;
    assert_true(mete__keys_init(&one, 1) && mete__keys_init(&two, 1));
    assert_int_not_equal(mete__keys_hash(&one, "key", 3), mete__keys_hash(&two, "key", 3));
    mete__keys_clear(&one);
    mete__keys_clear(&two);
}

static void the_worst_are_listed_in_order(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint64_t allowed, denied;
    } rows[] = {{"none", 9, 0}, {"b", 1, 5}, {"a", 7, 5}, {"most", 0, 8}, {"later", 1, 5}, {"few", 0, 1}};
    struct mete__keys keys;
    assert_true(mete__keys_init(&keys, 10));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mete__key_count *entry = get(&keys, rows[i].key, strlen(rows[i].key));
        entry->allowed = rows[i].allowed;
        entry->denied = rows[i].denied;
    }
    static const char *const order[] = {"most", "a", "b", "later", "few"};
    const struct mete__key_count *worst[10];
    for (size_t n = 0; n <= 10; n++) {
        size_t found = mete__keys_worst(&keys, worst, n);
        assert_int_equal(found, n < 5 ? n : 5);
        for (size_t i = 0; i < found; i++) {
            assert_int_equal(worst[i]->key_len, strlen(order[i]));
            assert_memory_equal(worst[i]->key, order[i], worst[i]->key_len);
        }
    }
    mete__keys_clear(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_more_than_the_most_has_no_room),  cmocka_unit_test(key_bytes_are_bounded),
        cmocka_unit_test(every_key_has_its_own_counts),          cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(two_tables_hash_with_their_own_secret), cmocka_unit_test(the_worst_are_listed_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

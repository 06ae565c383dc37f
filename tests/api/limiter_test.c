/* SPDX-License-Identifier: Apache-2.0 */
/* Limiters: names, whose keys are whose, how many limits a store can hold. */
#include "api.h"

#include <pthread.h>

static void name_is_checked(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_limit limit = api_limit("1/s");
    mete_limiter *limiter;
    char name[400], why[300] = "";
    api_open(&world, "1/s");
    assert_refused(mete_limiter_create(world.store, "", &limit, &limiter), METE_EINVAL, &limiter);
    memset(name, 'n', sizeof(name));
    static const size_t too_long[] = {256, 257, 399};
    for (size_t i = 0; i < COUNT_OF(too_long); i++) {
        name[too_long[i]] = '\0';
        assert_refused(mete_limiter_create_why(world.store, name, &limit, &limiter, why, sizeof(why)), METE_EINVAL,
                       &limiter);
        assert_non_null(strstr(why, "name"));
        name[too_long[i]] = 'n';
    }
    name[255] = '\0';
    assert_int_equal(mete_limiter_create(world.store, name, &limit, &limiter), METE_OK);
    mete_limiter_destroy(limiter);
    assert_int_equal(mete_limiter_create(world.store, "\xff /\n", &limit, &limiter), METE_OK);
    mete_limiter_destroy(limiter);
    api_close(&world);
}

/* The name is read when the limiter is made, not later. */
static void name_is_not_kept(void **state)
{
    (void)state;
    struct api_world world;
    char name[] = "first";
    api_open(&world, "1/s");
    mete_limiter *limiter = api_limiter(world.store, name, "1/h");
    assert_true(mete_allow(limiter, "k", 1));
    memcpy(name, "other", 5);
    assert_false(mete_allow(limiter, "k", 1));
    mete_limiter_destroy(limiter);
    limiter = api_limiter(world.store, "first", "1/h");
    assert_false(mete_allow(limiter, "k", 1));
    mete_limiter_destroy(limiter);
    api_close(&world);
}

/* Its keys are its own, also when name and key run together to the same bytes. */
static void names_isolate_keys(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "ab", "A", "a ", "a\x01"};
    static const char *const keys[] = {"", "a", "b", "ab", "bk", "k"};
    struct api_world world;
    mete_limiter *limiters[COUNT_OF(names)];
    api_open(&world, "1/s");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        limiters[i] = api_limiter(world.store, names[i], "1/h");
        for (size_t j = 0; j < COUNT_OF(keys); j++) {
            assert_true(mete_allow(limiters[i], keys[j], strlen(keys[j])));
        }
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (size_t j = 0; j < COUNT_OF(keys); j++) {
            assert_false(mete_allow(limiters[i], keys[j], strlen(keys[j])));
        }
        mete_limiter_destroy(limiters[i]);
    }
    assert_int_equal(api_keys_live(world.store), COUNT_OF(names) * COUNT_OF(keys));
    api_close(&world);
}

/* Two limiters of one name are the same limiter, of every algorithm. */
static void one_name_is_one_limiter(void **state)
{
    (void)state;
    static const char *const limits[] = {"10/1h",
                                         "fixed_window 10/1h",
                                         "fixed_window 10/1h anchored",
                                         "sliding_window 10/1h",
                                         "sliding_log 10/1h",
                                         "fixed_window 10/day calendar"};
    struct api_world world;
    api_open(&world, "1/s");
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        mete_limiter *first = api_limiter(world.store, limits[i], limits[i]);
        mete_limiter *second = api_limiter(world.store, limits[i], limits[i]);
        assert_ptr_not_equal(first, second);
        for (unsigned call = 0; call < 10; call++) {
            assert_int_equal(api_take_of(call % 2 == 0 ? first : second, "k", 1).remaining, 9 - call);
        }
        mete_limiter_destroy(first);
        assert_false(mete_allow(second, "k", 1));
        mete_limiter_destroy(second);
        /* What its keys have spent outlives the limiter, as long as the store. */
        second = api_limiter(world.store, limits[i], limits[i]);
        assert_false(mete_allow(second, "k", 1));
        mete_limiter_destroy(second);
    }
    api_close(&world);
}

/* Of two stores one name means two limiters. */
static void stores_isolate_keys(void **state)
{
    (void)state;
    struct api_world one, two;
    api_open(&one, "1/h");
    api_open(&two, "1/h");
    assert_true(mete_allow(one.limiter, "k", 1));
    assert_true(mete_allow(two.limiter, "k", 1));
    assert_false(mete_allow(one.limiter, "k", 1));
    assert_false(mete_allow(two.limiter, "k", 1));
    api_close(&one);
    api_close(&two);
}

static void limit_is_told(void **state)
{
    (void)state;
    static const char *const limits[] = {"100/1m burst 20",
                                         "leaky_bucket 10/s",
                                         "fixed_window 7/1h anchored",
                                         "fixed_window 9/month calendar zone Europe/Berlin",
                                         "sliding_window 5/1m",
                                         "sliding_log 5/1m"};
    struct api_world world;
    api_open(&world, "1/s");
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct mete_limit given = api_limit(limits[i]), told;
        mete_limiter *limiter = api_limiter(world.store, limits[i], limits[i]);
        assert_int_equal(mete_limiter_limit(limiter, &told), METE_OK);
        assert_int_equal(told.algorithm, given.algorithm);
        assert_int_equal(told.count, given.count);
        assert_int_equal(told.period_ns, given.period_ns);
        assert_int_equal(told.burst, given.burst);
        assert_int_equal(told.alignment, given.alignment);
        assert_string_equal(told.time_zone, given.time_zone);
        mete_limiter_destroy(limiter);
    }
    struct mete_limit changed = api_limit("leaky_bucket 3/7s burst 4"), told;
    assert_int_equal(mete_limiter_set_limit(world.limiter, &changed), METE_OK);
    assert_int_equal(mete_limiter_limit(world.limiter, &told), METE_OK);
    assert_int_equal(told.algorithm, METE_LEAKY_BUCKET);
    assert_int_equal(told.count, 3);
    assert_int_equal(told.burst, 4);
    api_close(&world);
}

/* 65,535 distinct limits per store; the next is METE_EFULL and changes nothing. */
static void scales_run_out(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "1/1000000007ns"); /* a prime: all these fractions are in lowest terms */
    struct mete_limit limit = api_limit("1/1000000007ns");
    mete_limiter *limiter;
    for (uint64_t count = 2; count <= 65535; count++) {
        limit.count = count;
        assert_int_equal(mete_limiter_create(world.store, "n", &limit, &limiter), METE_OK);
        mete_limiter_destroy(limiter);
    }
    assert_int_equal(api_stats(world.store).scales_used, 65535);
    limit.count = 65536;
    char why[300] = "";
    assert_refused(mete_limiter_create_why(world.store, "n", &limit, &limiter, why, sizeof(why)), METE_EFULL, &limiter);
    assert_true(strlen(why) > 0);
    assert_int_equal(mete_limiter_set_limit(world.limiter, &limit), METE_EFULL);
    assert_true(mete_allow(world.limiter, "k", 1));
    assert_false(mete_allow(world.limiter, "k", 1));
    /* Known ones can still be made, and changed to. */
    limit.count = 40000;
    assert_int_equal(mete_limiter_create(world.store, "m", &limit, &limiter), METE_OK);
    assert_int_equal(api_take_of(limiter, "k", 1).remaining, 39999);
    mete_limiter_destroy(limiter);
    assert_int_equal(mete_limiter_set_limit(world.limiter, &limit), METE_OK);
    api_close(&world);
}

/* A change of the burst alone is not another scale. */
static void bursts_share_a_scale(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "100/s burst 1");
    for (uint64_t burst = 2; burst < 500; burst++) {
        struct mete_limit limit = {.count = 100, .period_ns = SEC, .burst = burst};
        assert_int_equal(mete_limiter_set_limit(world.limiter, &limit), METE_OK);
    }
    assert_int_equal(api_stats(world.store).scales_used, 1);
    api_close(&world);
}

struct crew {
    struct api_world world;
    _Atomic unsigned admitted;
    _Atomic unsigned faults;
};

/* Makes and destroys limiters of one name while others do the same. */
static void *make_and_break(void *context)
{
    struct crew *crew = context;
    struct mete_limit limit = {.count = 50, .period_ns = 3600 * SEC};
    for (int i = 0; i < 500; i++) {
        mete_limiter *limiter = NULL;
        if (mete_limiter_create(crew->world.store, "shared", &limit, &limiter) != METE_OK) {
            atomic_fetch_add_explicit(&crew->faults, 1, memory_order_relaxed);
            continue;
        }
        atomic_fetch_add_explicit(&crew->admitted, mete_allow(limiter, "k", 1), memory_order_relaxed);
        mete_limiter_destroy(limiter);
    }
    return NULL;
}

static void create_from_any_thread(void **state)
{
    (void)state;
    struct crew crew = {.admitted = 0};
    pthread_t ids[4];
    api_open(&crew.world, "1/s");
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        assert_int_equal(pthread_create(&ids[i], NULL, make_and_break, &crew), 0);
    }
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        pthread_join(ids[i], NULL);
    }
    assert_int_equal(crew.faults, 0);
    assert_int_equal(crew.admitted, 50);
    api_close(&crew.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_is_checked),        cmocka_unit_test(name_is_not_kept),
        cmocka_unit_test(names_isolate_keys),     cmocka_unit_test(one_name_is_one_limiter),
        cmocka_unit_test(stores_isolate_keys),    cmocka_unit_test(limit_is_told),
        cmocka_unit_test(scales_run_out),         cmocka_unit_test(bursts_share_a_scale),
        cmocka_unit_test(create_from_any_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

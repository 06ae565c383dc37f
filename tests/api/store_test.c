/* SPDX-License-Identifier: Apache-2.0 */
/* Private stores: options, clocks, statistics, the count of live keys. */
#include "api.h"

#include <time.h>

static void refused(const struct mete_store_options *options, mete_status status, const char *field)
{
    mete_store *store;
    char why[300] = "";
    assert_refused(mete_store_create(options, &store), status, &store);
    assert_refused(mete_store_create_why(options, &store, why, sizeof(why)), status, &store);
    if (strstr(why, field) == NULL) {
        fail_msg("'%s' does not name the field %s", why, field);
    }
    assert_refused(mete_store_create_why(options, &store, NULL, 0), status, &store);
    char first[1];
    assert_refused(mete_store_create_why(options, &store, first, 1), status, &store);
    assert_int_equal(first[0], '\0');
}

static void size_is_checked(void **state)
{
    (void)state;
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    static const size_t sizes[] = {0, 1, sizeof(options) + 8, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        options.size = sizes[i];
        refused(&options, METE_EINVAL, "size");
    }
}

static void keys_max_is_checked(void **state)
{
    (void)state;
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    static const uint64_t bad[] = {0, (UINT64_C(1) << 36) + 1, UINT64_C(1) << 60, UINT64_MAX / 16, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        options.keys_max = bad[i];
        refused(&options, METE_ERANGE, "keys_max");
    }
}

/* 2^36 keys are in range, but this machine will not have the 1.4 TB. */
static void keys_max_beyond_memory(void **state)
{
    (void)state;
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    mete_store *store;
    options.keys_max = UINT64_C(1) << 36;
    options.flags = METE_STORE_NO_PREFAULT | METE_STORE_NO_HUGE_PAGES;
    api_mark(&store, sizeof(store));
    mete_status status = mete_store_create(&options, &store);
    if (status == METE_OK) { /* memory is promised without being there: nothing was touched */
        assert_true(api_stats(store).cells >= options.keys_max);
        mete_store_destroy(store);
    } else {
        assert_int_equal(status, METE_ENOMEM);
        assert_true(api_is_marked(&store, sizeof(store)));
    }
}

static void enumerations_are_checked(void **state)
{
    (void)state;
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    static const int bad[] = {-1, 3, 1000, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        options.on_full = (enum mete_full_policy)bad[i];
        refused(&options, METE_EINVAL, "on_full");
    }
    options.on_full = METE_FULL_EVICT;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        options.clock_source = (enum mete_clock_source)bad[i];
        refused(&options, METE_EINVAL, "clock_source");
    }
    options.clock_source = METE_CLOCK_AUTO;
    for (unsigned bit = 2; bit < 32; bit++) {
        options.flags = 1u << bit;
        refused(&options, METE_EINVAL, "flags");
    }
    options.flags = 0;
    options.log_units_max = UINT64_MAX;
    refused(&options, METE_ERANGE, "log_units_max");
    options.log_units_max = 0;
    refused(&options, METE_ERANGE, "log_units_max");
    options.log_units_max = 1;
    const struct mete_clock no_function = {NULL, NULL};
    options.clock = &no_function;
    refused(&options, METE_EINVAL, "clock");
}

static void defaults(void **state)
{
    (void)state;
    mete_store *store = api_store(NULL);
    struct mete_store_stats stats = api_stats(store);
    assert_int_equal(stats.keys_max, 1000000);
    assert_true(stats.cells >= 1333334);
    assert_true(stats.memory_bytes >= stats.cells * 16);
    assert_true(stats.memory_bytes < stats.cells * 16 + 8 * 1048576);
    mete_store_destroy(store);
}

/* cells is keys_max / 0.75, rounded up to whole buckets of 8.  Up to 8 keys share
 * one bucket, where each finds its place: there it is keys_max itself. */
static void keys_max_decides_cells(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 7, 8, 9, 11, 12, 13, 100, 1000, 12345, 100000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct mete_store_options options = METE_STORE_OPTIONS_INIT;
        options.keys_max = sizes[i];
        for (unsigned flags = 0; flags < 4; flags++) {
            options.flags = flags;
            mete_store *store = api_store(&options);
            struct mete_store_stats stats = api_stats(store);
            assert_int_equal(stats.keys_max, sizes[i]);
            assert_int_equal(stats.cells, sizes[i] <= 8 ? sizes[i] : ((sizes[i] * 4 + 2) / 3 + 7) / 8 * 8);
            mete_limiter *limiter = api_limiter(store, "n", "1/h");
            assert_true(mete_allow(limiter, "k", 1));
            assert_false(mete_allow(limiter, "k", 1));
            mete_limiter_destroy(limiter);
            mete_store_destroy(store);
        }
    }
}

/* The struct of the clock is copied; its context is not. */
static void clock_is_copied(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = api_options(&world);
    api_set(&world, 42);
    world.store = api_store(&options);
    world.clock = (struct mete_clock){NULL, NULL};
    assert_int_equal(mete_store_now(world.store), 42);
    api_set(&world, 43);
    assert_int_equal(mete_store_now(world.store), 43);
    mete_store_destroy(world.store);
}

static uint64_t unix_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

/* The default clock reads like Unix time, runs, and never goes back. */
static void default_clock(void **state)
{
    (void)state;
    for (int source = METE_CLOCK_AUTO; source <= METE_CLOCK_SYSTEM; source++) {
        struct mete_store_options options = METE_STORE_OPTIONS_INIT;
        options.keys_max = 10;
        options.clock_source = (enum mete_clock_source)source;
        mete_store *store = api_store(&options);
        uint64_t first = mete_store_now(store), before = first;
        uint64_t unix_ns = unix_now_ns();
        assert_true(first < unix_ns + 5 * SEC && unix_ns < first + 5 * SEC);
        for (int i = 0; i < 100000; i++) {
            uint64_t now_ns = mete_store_now(store);
            assert_true(now_ns >= before);
            before = now_ns;
        }
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        uint64_t slept_ns = mete_store_now(store) - before;
        assert_true(slept_ns >= 19 * MS && slept_ns < SEC);
        mete_store_destroy(store);
    }
}

static void keys_live_counts(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "1/s burst 3");
    assert_int_equal(api_keys_live(world.store), 0);
    api_take(&world, 0, "a", 1);
    api_take(&world, 0, "b", 2);
    api_take(&world, 0, "b", 2); /* denied */
    api_take(&world, 0, "c", 0);
    assert_int_equal(api_keys_live(world.store), 2);
    assert_int_equal(api_stats(world.store).keys_inserted, 2);
    api_set(&world, SEC);
    assert_int_equal(api_keys_live(world.store), 1);
    api_set(&world, 2 * SEC);
    assert_int_equal(api_keys_live(world.store), 0);
    api_close(&world);
}

static void stats_of_a_quiet_store(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "100/s");
    for (int i = 0; i < 200; i++) {
        api_take(&world, 0, "k", 1);
    }
    struct mete_store_stats stats = api_stats(world.store);
    assert_int_equal(stats.keys_inserted, 1);
    assert_int_equal(stats.keys_evicted + stats.full_denied + stats.full_untracked + stats.keys_rescaled, 0);
    assert_int_equal(stats.swap_retries + stats.claims_removed + stats.clock_steps + stats.log_bytes, 0);
    assert_int_equal(stats.scales_used, 1);
    for (size_t i = 0; i < COUNT_OF(stats.reserved); i++) {
        assert_int_equal(stats.reserved[i], 0);
    }
    mete_limiter *same = api_limiter(world.store, "same", "leaky_bucket 200/2s burst 9");
    assert_int_equal(api_stats(world.store).scales_used, 1); /* the same rate in lowest terms */
    mete_limiter *log = api_limiter(world.store, "log", "sliding_log 5/1m");
    assert_true(api_stats(world.store).log_bytes > 0);
    mete_limiter_destroy(log);
    mete_limiter_destroy(same);
    api_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_is_checked),
        cmocka_unit_test(keys_max_is_checked),
        cmocka_unit_test(keys_max_beyond_memory),
        cmocka_unit_test(enumerations_are_checked),
        cmocka_unit_test(defaults),
        cmocka_unit_test(keys_max_decides_cells),
        cmocka_unit_test(clock_is_copied),
        cmocka_unit_test(default_clock),
        cmocka_unit_test(keys_live_counts),
        cmocka_unit_test(stats_of_a_quiet_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

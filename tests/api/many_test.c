/* SPDX-License-Identifier: Apache-2.0 */
/* mete_take_batch and mete_take_all: as many single takes, and all or nothing. */
#include "api.h"

#define BATCH 300

static const char *const limits[] = {
    "token_bucket 7/3s burst 10",      "leaky_bucket 10/10s",   "fixed_window 10/10s",
    "fixed_window 10/10s anchored",    "sliding_window 10/10s", "sliding_log 10/10s",
    "fixed_window 10/minute calendar",
};

/* Random requests on few keys, so that the same key comes again within a batch.
 * Some name their time, some read the clock. */
static void fill(struct mete_request *requests, char (*keys)[8], size_t n, uint64_t now_ns, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        snprintf(keys[i], sizeof(keys[i]), "k%u", (unsigned)(*seed >> 40) % 37);
        requests[i] = api_request(keys[i], (*seed >> 33) % 12);
        requests[i].now_ns = (*seed >> 50) % 4 == 0 ? now_ns - (*seed >> 52) % 4 * SEC : METE_NOW;
    }
}

/* The same results as n takes in this order. */
static void batch_is_single_takes(void **state)
{
    (void)state;
    static struct mete_request requests[BATCH];
    static struct mete_decision batch[BATCH], single;
    static char keys[BATCH][8];
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world one, many;
        uint64_t seed = 11 + i;
        api_open(&one, limits[i]);
        api_open(&many, limits[i]);
        for (uint64_t round = 0; round < 40; round++) {
            uint64_t now_ns = (100 + round) * SEC;
            size_t n = round < 36 ? round : BATCH;
            api_set(&one, now_ns);
            api_set(&many, now_ns);
            fill(requests, keys, n, now_ns, &seed);
            assert_int_equal(mete_take_batch(many.limiter, requests, n, batch), METE_OK);
            for (size_t j = 0; j < n; j++) {
                assert_int_equal(mete_take(one.limiter, &requests[j], &single), METE_OK);
                assert_true(api_same_decision(&single, &batch[j]));
            }
        }
        api_close(&one);
        api_close(&many);
    }
}

static uint64_t counting_clock(void *context)
{
    uint64_t *reads = context;
    return ++*reads * SEC;
}

/* The clock is read once: each read of this one is a second later. */
static void batch_reads_the_clock_once(void **state)
{
    (void)state;
    uint64_t reads = 0;
    const struct mete_clock clock = {counting_clock, &reads};
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = 100;
    options.clock = &clock;
    mete_store *store = api_store(&options);
    mete_limiter *limiter = api_limiter(store, "n", "1/h burst 1000");
    struct mete_request requests[64];
    struct mete_decision decisions[64];
    for (size_t i = 0; i < 64; i++) {
        requests[i] = api_request("k", 1);
    }
    assert_true(api_take_of(limiter, "k", 1).allowed); /* inserting a key may read it again */
    assert_int_equal(mete_take_batch(limiter, requests, 64, decisions), METE_OK);
    for (size_t i = 1; i < 64; i++) {
        assert_int_equal(decisions[i].reset_after_ns - decisions[i - 1].reset_after_ns, 3600 * SEC);
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

/* All requests are checked first: one that is bad leaves all untaken. */
static void batch_checks_first(void **state)
{
    (void)state;
    for (size_t bad = 0; bad < 64; bad++) {
        struct api_world world;
        struct mete_request requests[64];
        struct mete_decision decisions[64];
        api_open(&world, "100/s");
        for (size_t i = 0; i < 64; i++) {
            requests[i] = api_request("k", 1);
        }
        requests[bad].now_ns = METE_TIME_MAX + 1;
        assert_refused(mete_take_batch(world.limiter, requests, 64, decisions), METE_ERANGE, &decisions);
        requests[bad].now_ns = METE_NOW;
        requests[bad].key = NULL;
        assert_refused(mete_take_batch(world.limiter, requests, 64, decisions), METE_EINVAL, &decisions);
        assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 100);
        api_close(&world);
    }
}

static void batch_of_none(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_request request = api_request("k", 1);
    struct mete_decision decision;
    api_open(&world, "1/s");
    assert_refused(mete_take_batch(world.limiter, &request, 0, &decision), METE_OK, &decision);
    assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 1);
    api_close(&world);
}

static void all_of_wrong_number(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_demand demands[METE_DEMANDS_MAX + 1];
    struct mete_decision decisions[METE_DEMANDS_MAX + 1];
    size_t binding;
    api_open(&world, "100/s");
    for (size_t i = 0; i < COUNT_OF(demands); i++) {
        demands[i] = (struct mete_demand){world.limiter, api_request("k", 1)};
    }
    api_mark(&binding, sizeof(binding));
    assert_refused(mete_take_all(demands, 0, decisions, &binding), METE_EINVAL, &decisions);
    assert_refused(mete_take_all(demands, METE_DEMANDS_MAX + 1, decisions, &binding), METE_EINVAL, &decisions);
    assert_refused(mete_take_all(demands, SIZE_MAX, decisions, &binding), METE_EINVAL, &decisions);
    assert_true(api_is_marked(&binding, sizeof(binding)));
    assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 100);
    assert_int_equal(mete_take_all(demands, METE_DEMANDS_MAX, decisions, NULL), METE_OK);
    assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 100 - METE_DEMANDS_MAX);
    api_close(&world);
}

static bool all_allowed(const struct mete_decision *decisions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!decisions[i].allowed) {
            return false;
        }
    }
    return true;
}

/* One denial at any place, over every algorithm: none is charged. */
static void all_or_nothing(void **state)
{
    (void)state;
    enum { N = COUNT_OF(limits) };
    struct api_world world;
    mete_limiter *limiters[N];
    struct mete_demand demands[N];
    struct mete_decision decisions[N];
    api_open(&world, "1/s");
    for (size_t denied = 0; denied <= N; denied++) {
        uint64_t remaining[N];
        size_t binding = SIZE_MAX;
        for (size_t i = 0; i < N; i++) {
            limiters[i] = api_limiter(world.store, limits[i], limits[i]);
            assert_int_equal(mete_reset(limiters[i], "k", 1), METE_OK);
            assert_true(api_take_of(limiters[i], "k", i == denied ? 8 : 5).allowed);
            demands[i] = (struct mete_demand){limiters[i], api_request("k", 3)};
            remaining[i] = api_take_of(limiters[i], "k", 0).remaining;
        }
        assert_int_equal(mete_take_all(demands, N, decisions, &binding), METE_OK);
        assert_int_equal(all_allowed(decisions, N), denied == N);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(decisions[i].allowed, i != denied);
            assert_int_equal(decisions[i].limit, 10);
            assert_int_equal(api_take_of(limiters[i], "k", 0).remaining, remaining[i] - (denied == N ? 3 : 0));
            mete_limiter_destroy(limiters[i]);
        }
        assert_true(denied == N || binding == denied);
    }
    api_close(&world);
}

/* On denial the longest wait binds, else the fewest units remaining. */
static void binding_index(void **state)
{
    (void)state;
    struct api_world world;
    size_t binding = SIZE_MAX;
    struct mete_decision decisions[3];
    api_open(&world, "10/10s");
    mete_limiter *slow = api_limiter(world.store, "slow", "5/1h");
    mete_limiter *wide = api_limiter(world.store, "wide", "1000/s");
    struct mete_demand demands[3] = {
        {wide, api_request("k", 1)}, {world.limiter, api_request("k", 1)}, {slow, api_request("k", 1)}};
    assert_int_equal(mete_take_all(demands, 3, decisions, &binding), METE_OK);
    assert_int_equal(binding, 2);
    assert_int_equal(decisions[0].remaining, 999);
    assert_int_equal(decisions[1].remaining, 9);
    assert_int_equal(decisions[2].remaining, 4);
    api_take_of(world.limiter, "k", 7);
    assert_int_equal(mete_take_all(demands, 3, decisions, &binding), METE_OK);
    assert_int_equal(binding, 1);
    api_take_of(world.limiter, "k", 1); /* now exhausted: a wait of 1 s */
    assert_int_equal(mete_take_all(demands, 3, decisions, &binding), METE_OK);
    assert_int_equal(binding, 1);
    assert_false(decisions[1].allowed);
    assert_int_equal(decisions[1].retry_after_ns, SEC);
    assert_true(decisions[2].allowed);
    api_take_of(slow, "k", 3); /* and this one: a wait of 12 min */
    assert_int_equal(mete_take_all(demands, 3, decisions, &binding), METE_OK);
    assert_int_equal(binding, 2);
    assert_int_equal(decisions[2].retry_after_ns, 720 * SEC);
    demands[0].request.cost = 1001; /* never is longer than anything */
    assert_int_equal(mete_take_all(demands, 3, decisions, &binding), METE_OK);
    assert_int_equal(binding, 0);
    assert_int_equal(decisions[0].retry_after_ns, METE_NEVER);
    mete_limiter_destroy(slow);
    mete_limiter_destroy(wide);
    api_close(&world);
}

/* The same key several times in one call: the sum must fit, or nothing is taken. */
static void all_with_duplicates(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        struct mete_demand demands[6];
        struct mete_decision decisions[6];
        api_open(&world, limits[i]);
        for (size_t j = 0; j < COUNT_OF(demands); j++) {
            demands[j] = (struct mete_demand){world.limiter, api_request("k", 2)};
        }
        assert_int_equal(mete_take_all(demands, 6, decisions, NULL), METE_OK); /* 12 of 10 */
        assert_false(all_allowed(decisions, 6));
        assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 10);
        assert_int_equal(mete_take_all(demands, 5, decisions, NULL), METE_OK);
        assert_true(all_allowed(decisions, 5));
        assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 0);
        assert_int_equal(mete_take_all(demands, 1, decisions, NULL), METE_OK);
        assert_false(decisions[0].allowed);
        api_close(&world);
    }
}

/* Of any stores; cost 0 beside others reports only. */
static void all_over_two_stores(void **state)
{
    (void)state;
    struct api_world near, far;
    struct mete_decision decisions[3];
    api_open(&near, "5/10s");
    api_open(&far, "2/10s");
    struct mete_demand demands[3] = {
        {near.limiter, api_request("k", 1)}, {far.limiter, api_request("k", 1)}, {near.limiter, api_request("z", 0)}};
    for (unsigned call = 0; call < 4; call++) {
        assert_int_equal(mete_take_all(demands, 3, decisions, NULL), METE_OK);
        assert_int_equal(all_allowed(decisions, 3), call < 2);
        assert_true(decisions[2].allowed);
        assert_int_equal(decisions[2].remaining, 5);
    }
    assert_int_equal(api_peek(&near, 0, "k", 0).remaining, 3);
    assert_int_equal(api_peek(&far, 0, "k", 0).remaining, 0);
    assert_int_equal(api_keys_live(near.store), 1);
    api_close(&near);
    api_close(&far);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_is_single_takes), cmocka_unit_test(batch_reads_the_clock_once),
        cmocka_unit_test(batch_checks_first),    cmocka_unit_test(batch_of_none),
        cmocka_unit_test(all_of_wrong_number),   cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(binding_index),         cmocka_unit_test(all_with_duplicates),
        cmocka_unit_test(all_over_two_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* mete_take, mete_peek, mete_allow: each sentence of the header, for every algorithm. */
#include "api.h"

/* Five limits of capacity 10; from 0 each is full again after 20 s at the latest. */
static const char *const limits[] = {
    "token_bucket 10/10s",          "leaky_bucket 10/10s",   "fixed_window 10/10s",
    "fixed_window 10/10s anchored", "sliding_window 10/10s", "sliding_log 10/10s",
};

static void time_is_checked(void **state)
{
    (void)state;
    static const uint64_t bad[] = {METE_TIME_MAX + 1, UINT64_C(1) << 63, UINT64_MAX - 1};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        struct mete_request request = api_request("k", 1);
        struct mete_decision decision;
        api_open(&world, limits[i]);
        for (size_t j = 0; j < COUNT_OF(bad); j++) {
            request.now_ns = bad[j];
            assert_refused(mete_take(world.limiter, &request, &decision), METE_ERANGE, &decision);
            assert_refused(mete_peek(world.limiter, &request, &decision), METE_ERANGE, &decision);
            assert_refused(mete_reserve(world.limiter, &request, &decision), METE_ERANGE, &decision);
            assert_refused(mete_refund(world.limiter, &request, &decision), METE_ERANGE, &decision);
            assert_refused(mete_take_batch(world.limiter, &request, 1, &decision), METE_ERANGE, &decision);
            struct mete_demand demand = {world.limiter, request};
            assert_refused(mete_take_all(&demand, 1, &decision, NULL), METE_ERANGE, &decision);
        }
        assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 10);
        request.now_ns = METE_TIME_MAX;
        assert_int_equal(mete_take(world.limiter, &request, &decision), METE_OK);
        assert_true(decision.allowed);
        assert_int_equal(decision.remaining, 9);
        api_close(&world);
    }
}

static void cost_above_capacity(void **state)
{
    (void)state;
    static const uint64_t costs[] = {11,
                                     12,
                                     1000,
                                     UINT32_MAX,
                                     (UINT64_C(1) << 32) + 1,
                                     UINT64_C(1) << 34,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX / 10,
                                     UINT64_MAX / 10 + 2,
                                     UINT64_MAX - 10,
                                     UINT64_MAX - 1,
                                     UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        api_open(&world, limits[i]);
        for (size_t j = 0; j < COUNT_OF(costs); j++) {
            struct mete_decision decision = api_take(&world, 0, "k", costs[j]);
            assert_false(decision.allowed);
            assert_int_equal(decision.limit, 10);
            assert_int_equal(decision.remaining, 10);
            assert_int_equal(decision.wait_ns, 0);
            assert_int_equal(decision.retry_after_ns, METE_NEVER);
            assert_int_equal(decision.reset_after_ns, 0);
            decision = api_peek(&world, 0, "k", costs[j]);
            assert_false(decision.allowed);
            assert_int_equal(decision.retry_after_ns, METE_NEVER);
            decision = api_reserve(&world, 0, "k", costs[j], METE_NEVER);
            assert_false(decision.allowed);
            assert_int_equal(decision.retry_after_ns, METE_NEVER);
        }
        assert_int_equal(api_keys_live(world.store), 0);
        assert_true(api_take(&world, 0, "k", 10).allowed);
        assert_int_equal(api_take(&world, 0, "k", UINT64_MAX).retry_after_ns, METE_NEVER);
        assert_false(api_take(&world, 0, "k", 1).allowed);
        api_close(&world);
    }
}

/* A denial writes nothing: the state is the same before and after. */
static void denial_writes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        api_open(&world, limits[i]);
        assert_true(api_take(&world, SEC, "k", 7).allowed);
        struct mete_decision before = api_peek(&world, SEC, "k", 0);
        for (uint64_t cost = 4; cost <= 11; cost++) {
            struct mete_decision denied = api_take(&world, SEC, "k", cost);
            assert_false(denied.allowed);
            assert_int_equal(denied.remaining, 3);
            assert_int_equal(denied.reset_after_ns, before.reset_after_ns);
        }
        struct mete_decision after = api_peek(&world, SEC, "k", 0);
        assert_true(api_same_decision(&before, &after));
        assert_true(api_take(&world, SEC, "k", 3).allowed);
        api_close(&world);
    }
}

/* Cost 0 takes nothing, is allowed at any level, and makes no key. */
static void cost_zero(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        api_open(&world, limits[i]);
        struct mete_decision decision = api_take(&world, 0, "k", 0);
        assert_true(decision.allowed);
        assert_int_equal(decision.remaining, 10);
        assert_int_equal(decision.reset_after_ns, 0);
        assert_int_equal(api_keys_live(world.store), 0);
        assert_int_equal(api_stats(world.store).keys_inserted, 0);
        assert_true(api_take(&world, 0, "k", 10).allowed);
        decision = api_take(&world, 0, "k", 0);
        assert_true(decision.allowed);
        assert_int_equal(decision.remaining, 0);
        assert_int_equal(decision.retry_after_ns, 0);
        assert_true(decision.reset_after_ns > 0);
        api_close(&world);
    }
}

/* peek gives take's verdict and waits, the state before it, and writes nothing. */
static void peek_foretells_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        api_open(&world, limits[i]);
        for (uint64_t step = 0; step < 60; step++) {
            uint64_t at_ns = step * 700 * MS, cost = 1 + step % 11;
            struct mete_decision state_before = api_peek(&world, at_ns, "k", 0);
            struct mete_decision peeked = api_peek(&world, at_ns, "k", cost);
            struct mete_decision taken = api_take(&world, at_ns, "k", cost);
            assert_int_equal(peeked.allowed, taken.allowed);
            assert_int_equal(peeked.retry_after_ns, taken.retry_after_ns);
            assert_int_equal(peeked.wait_ns, 0);
            assert_int_equal(peeked.remaining, state_before.remaining);
            assert_int_equal(peeked.reset_after_ns, state_before.reset_after_ns);
            assert_int_equal(taken.allowed, cost <= state_before.remaining);
            assert_int_equal(taken.remaining, state_before.remaining - (taken.allowed ? cost : 0));
        }
        api_close(&world);
    }
}

/* Whether it would pass at that time; the clock stays. */
static bool passes_at(struct api_world *world, uint64_t now_ns, uint64_t cost)
{
    struct mete_request request = api_request("k", cost);
    struct mete_decision decision;
    request.now_ns = now_ns;
    assert_int_equal(mete_peek(world->limiter, &request, &decision), METE_OK);
    return decision.allowed;
}

/* At now + retry_after the same request passes, one nanosecond earlier it does not. */
static void retry_after_is_exact(void **state)
{
    (void)state;
    static const char *const odd[] = {"token_bucket 7/3s burst 10",         "token_bucket 10/1234567891ns",
                                      "leaky_bucket 13/7s burst 10",        "fixed_window 10/3333333333ns",
                                      "fixed_window 10/7777777ns anchored", "sliding_window 10/1234567891ns",
                                      "sliding_log 10/1234567891ns",        "token_bucket 10/10s"};
    uint64_t seed = 7;
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct api_world world;
        uint64_t at_ns = 0, denials = 0;
        api_open(&world, odd[i]);
        while (denials < 200) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            uint64_t cost = 1 + (seed >> 33) % 10;
            at_ns += (seed >> 40) % 100000000;
            struct mete_decision decision = api_take(&world, at_ns, "k", cost);
            if (decision.allowed) {
                assert_int_equal(decision.retry_after_ns, 0);
                continue;
            }
            denials++;
            uint64_t wait_ns = decision.retry_after_ns;
            assert_true(wait_ns > 0 && wait_ns != METE_NEVER);
            assert_false(passes_at(&world, at_ns + wait_ns - 1, cost));
            assert_true(passes_at(&world, at_ns + wait_ns, cost));
        }
        api_close(&world);
    }
}

/* At now + reset_after the key is as if never seen, one nanosecond earlier it is not. */
static void reset_after_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        for (uint64_t cost = 1; cost <= 10; cost++) {
            struct api_world world;
            api_open(&world, limits[i]);
            struct mete_decision decision = api_take(&world, 3 * SEC, "k", cost);
            assert_true(decision.reset_after_ns > 0);
            uint64_t full_ns = 3 * SEC + decision.reset_after_ns;
            bool in_table = i + 1 < COUNT_OF(limits); /* a log's keys are not counted */
            assert_int_equal(api_peek(&world, full_ns - 1, "k", 0).reset_after_ns, 1);
            assert_int_equal(api_keys_live(world.store), in_table);
            struct mete_decision full = api_peek(&world, full_ns, "k", 0);
            assert_int_equal(full.reset_after_ns, 0);
            assert_int_equal(full.remaining, 10);
            assert_int_equal(api_keys_live(world.store), 0);
            api_close(&world);
        }
    }
}

/* An older time never earns: what it sees is not more than at the newest time. */
static void older_time_is_stricter(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        struct mete_request request = api_request("k", 1);
        struct mete_decision decision;
        api_open(&world, limits[i]);
        assert_true(api_take(&world, 105 * SEC, "k", 8).allowed);
        uint64_t admitted = 0;
        for (uint64_t s = 0; s <= 105; s++) {
            request.now_ns = s * SEC;
            assert_int_equal(mete_take(world.limiter, &request, &decision), METE_OK);
            admitted += decision.allowed;
            assert_true(decision.retry_after_ns != METE_NEVER);
        }
        assert_int_equal(admitted, 2);
        api_close(&world);
    }
}

static void allow_is_one_unit(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        api_open(&world, limits[i]);
        for (unsigned call = 0; call < 10; call++) {
            assert_true(mete_allow(world.limiter, "k", 1));
            assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 9 - call);
        }
        assert_false(mete_allow(world.limiter, "k", 1));
        assert_true(mete_allow(world.limiter, "other", 5));
        api_close(&world);
    }
}

/* METE_REQUEST_INIT: cost 1, now, and the empty key. */
static void request_init(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_request request = METE_REQUEST_INIT;
    struct mete_decision decision;
    api_open(&world, "1/10s");
    api_set(&world, 5 * SEC);
    assert_int_equal(mete_take(world.limiter, &request, &decision), METE_OK);
    assert_true(decision.allowed);
    request.now_ns = 15 * SEC - 1;
    assert_int_equal(mete_take(world.limiter, &request, &decision), METE_OK);
    assert_int_equal(decision.retry_after_ns, 1);
    assert_false(mete_allow(world.limiter, "", 0));
    assert_false(mete_allow(world.limiter, NULL, 0));
    api_close(&world);
}

/* Keys are bytes: NUL bytes count, lengths count, nothing is cut. */
static void keys_are_bytes(void **state)
{
    (void)state;
    const size_t mebibyte = 1048576;
    char *key = calloc(mebibyte, 1);
    assert_non_null(key);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        api_open(&world, limits[i]);
        for (unsigned call = 0; call < 10; call++) {
            assert_true(mete_allow(world.limiter, NULL, 0));
            for (size_t len = 1; len <= mebibyte; len *= 2) { /* all zero bytes */
                assert_true(mete_allow(world.limiter, key, len));
            }
            key[mebibyte - 1] = 1; /* differs in its last byte only */
            assert_true(mete_allow(world.limiter, key, mebibyte));
            key[mebibyte - 1] = 0;
            assert_true(mete_allow(world.limiter, "a\0b", 3));
            assert_true(mete_allow(world.limiter, "a\0c", 3));
            assert_true(mete_allow(world.limiter, "a", 1));
        }
        assert_false(mete_allow(world.limiter, NULL, 0));
        assert_false(mete_allow(world.limiter, key, mebibyte));
        assert_false(mete_allow(world.limiter, "a\0b", 3));
        api_close(&world);
    }
    free(key);
}

/* The limiter keeps nothing of the caller's key. */
static void keys_are_not_kept(void **state)
{
    (void)state;
    struct api_world world;
    char key[] = "first";
    api_open(&world, "1/10s");
    assert_true(mete_allow(world.limiter, key, 5));
    memcpy(key, "other", 5);
    assert_true(mete_allow(world.limiter, key, 5));
    assert_false(mete_allow(world.limiter, "first", 5));
    api_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_checked),       cmocka_unit_test(cost_above_capacity),
        cmocka_unit_test(denial_writes_nothing), cmocka_unit_test(cost_zero),
        cmocka_unit_test(peek_foretells_take),   cmocka_unit_test(retry_after_is_exact),
        cmocka_unit_test(reset_after_is_exact),  cmocka_unit_test(older_time_is_stricter),
        cmocka_unit_test(allow_is_one_unit),     cmocka_unit_test(request_init),
        cmocka_unit_test(keys_are_bytes),        cmocka_unit_test(keys_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

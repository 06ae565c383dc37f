/* SPDX-License-Identifier: Apache-2.0 */
/* mete_reserve, mete_wait, mete_refund, mete_reset. */
#include "api.h"

#include <pthread.h>
#include <time.h>

static const char *const limits[] = {
    "token_bucket 10/10s",          "leaky_bucket 10/10s",   "fixed_window 10/10s",
    "fixed_window 10/10s anchored", "sliding_window 10/10s", "sliding_log 10/10s",
};

static uint64_t real_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

/* With wait_ns_max 0 nothing but the leaky queue differs from take. */
static void reserve_without_waiting_is_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world one, two;
        bool leaky = strstr(limits[i], "leaky") != NULL;
        api_open(&one, limits[i]);
        api_open(&two, limits[i]);
        for (uint64_t step = 0; step < 60 && !leaky; step++) {
            struct mete_decision taken = api_take(&one, step * 700 * MS, "k", 1 + step % 11);
            struct mete_decision reserved = api_reserve(&two, step * 700 * MS, "k", 1 + step % 11, 0);
            assert_true(api_same_decision(&taken, &reserved));
        }
        api_close(&one);
        api_close(&two);
    }
}

/* The wait of a reservation beyond wait_ns_max is denied, at it is granted. */
static void reserve_bound_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        uint64_t full_cost = strstr(limits[i], "leaky") != NULL ? 9 : 10;
        api_open(&world, limits[i]);
        assert_true(api_take(&world, 3 * SEC, "k", full_cost).allowed);
        struct mete_decision before = api_peek(&world, 3 * SEC, "k", 0);
        struct mete_decision denied = api_reserve(&world, 3 * SEC, "k", 1, 0);
        assert_false(denied.allowed);
        assert_int_equal(denied.wait_ns, 0);
        assert_true(denied.retry_after_ns > 0);
        uint64_t wait_ns = denied.retry_after_ns;
        denied = api_reserve(&world, 3 * SEC, "k", 1, wait_ns - 1);
        assert_false(denied.allowed);
        assert_int_equal(denied.retry_after_ns, 1);
        struct mete_decision after = api_peek(&world, 3 * SEC, "k", 0);
        assert_true(api_same_decision(&before, &after));
        struct mete_decision granted = api_reserve(&world, 3 * SEC, "k", 1, wait_ns);
        assert_true(granted.allowed);
        assert_int_equal(granted.wait_ns, wait_ns);
        assert_int_equal(granted.retry_after_ns, 0);
        assert_int_equal(granted.remaining, 0);
        api_close(&world);
    }
}

/* What the waits are, by docs/algorithms.md. */
static void reserve_waits(void **state)
{
    (void)state;
    static const struct {
        const char *limit;
        size_t n;
        uint64_t waits_s[13]; /* of reservations of one unit at 0 s; 99 is a denial */
    } cases[] = {
        {"token_bucket 1/1s burst 5", 13, {0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}},
        {"leaky_bucket 1/1s burst 5", 13, {0, 1, 2, 3, 4, 99, 99, 99, 99, 99, 99, 99, 99}},
        {"fixed_window 5/10s", 13, {0, 0, 0, 0, 0, 10, 10, 10, 10, 10, 20, 20, 20}},
        {"fixed_window 4/8s anchored", 13, {0, 0, 0, 0, 8, 8, 8, 8, 16, 16, 16, 16, 24}},
        {"sliding_log 5/10s", 13, {0, 0, 0, 0, 0, 10, 10, 10, 10, 10, 20, 20, 20}},
        /* Each unit after the 4 of window 0 waits until another quarter of them has faded. */
        {"sliding_window 4/8s", 8, {0, 0, 0, 0, 10, 12, 14, 16}},
        {"fixed_window 5/minute calendar", 13, {0, 0, 0, 0, 0, 99, 99, 99, 99, 99, 99, 99, 99}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct api_world world;
        api_open(&world, cases[i].limit);
        for (size_t j = 0; j < cases[i].n; j++) {
            struct mete_decision decision = api_reserve(&world, 0, "k", 1, 50 * SEC);
            uint64_t wait_s = decision.allowed ? decision.wait_ns / SEC : 99;
            if (wait_s != cases[i].waits_s[j] || decision.wait_ns % SEC != 0) {
                fail_msg("%s: reservation %zu waits %llu ns", cases[i].limit, j, (unsigned long long)decision.wait_ns);
            }
        }
        api_close(&world);
    }
}

/* wait_ns_max counts as ten years at most. */
static void reserve_longest_wait(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "1/315576000s burst 1");
    assert_true(api_reserve(&world, 0, "k", 1, METE_NEVER).allowed);
    struct mete_decision decision = api_reserve(&world, 0, "k", 1, METE_NEVER);
    assert_true(decision.allowed);
    assert_int_equal(decision.wait_ns, TEN_YEARS_NS);
    decision = api_reserve(&world, 0, "k", 1, METE_NEVER);
    assert_false(decision.allowed);
    assert_int_equal(decision.retry_after_ns, TEN_YEARS_NS);
    api_close(&world);
}

/* A reservation that was granted has paid: takes do not see its units again. */
static void reserve_pays(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        uint64_t spent = 0;
        api_open(&world, limits[i]);
        for (unsigned call = 0; call < 25; call++) {
            struct mete_decision decision = api_reserve(&world, 0, "k", 1, 12 * SEC);
            spent += decision.allowed;
        }
        assert_true(spent >= 10);
        assert_false(api_take(&world, 0, "k", 1).allowed);
        uint64_t admitted = 0;
        for (uint64_t ms = 0; ms < 40000; ms += 50) {
            admitted += api_take(&world, ms * MS, "k", 1).allowed;
        }
        /* 40 s hold at most capacity + 4 periods' count. */
        assert_true(spent + admitted <= 50);
        api_close(&world);
    }
}

static void wait_takes_only_now(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_request request = api_request("k", 1);
    struct mete_decision decision;
    api_open(&world, "1/s");
    static const uint64_t times[] = {0, 1, SEC, METE_TIME_MAX};
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        request.now_ns = times[i];
        assert_refused(mete_wait(world.limiter, &request, &decision), METE_EINVAL, &decision);
    }
    assert_int_equal(api_keys_live(world.store), 0);
    api_close(&world);
}

/* A denial returns at once; the clock of this store stands still. */
static void wait_denied_does_not_sleep(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_request request = api_request("k", 1);
    struct mete_decision decision;
    api_open(&world, "1/s");
    assert_int_equal(mete_wait(world.limiter, &request, &decision), METE_OK);
    assert_true(decision.allowed);
    assert_int_equal(mete_wait(world.limiter, &request, &decision), METE_OK);
    assert_false(decision.allowed);
    assert_int_equal(decision.retry_after_ns, SEC);
    request.wait_ns_max = SEC - 1;
    assert_int_equal(mete_wait(world.limiter, &request, &decision), METE_OK);
    assert_false(decision.allowed);
    assert_int_equal(decision.retry_after_ns, 1);
    api_close(&world);
}

static void wait_sleeps_in_real_time(void **state)
{
    (void)state;
    mete_store *store = api_store(NULL);
    mete_limiter *limiter = api_limiter(store, "n", "token_bucket 1/20ms burst 1");
    struct mete_request request = api_request("k", 1);
    struct mete_decision decision;
    request.wait_ns_max = SEC;
    uint64_t start_ns = real_now_ns();
    for (int i = 0; i < 6; i++) {
        assert_int_equal(mete_wait(limiter, &request, &decision), METE_OK);
        assert_true(decision.allowed);
    }
    uint64_t total_ns = real_now_ns() - start_ns;
    assert_true(total_ns >= 99 * MS);
    assert_true(total_ns < 600 * MS);
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

static void *turn_clock_later(void *context)
{
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    api_set(context, 10 * SEC - 1);
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    api_set(context, 10 * SEC);
    return NULL;
}

/* With a clock of the caller's the sleep polls it. */
static void wait_polls_the_callers_clock(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_request request = api_request("k", 1);
    struct mete_decision decision;
    pthread_t thread;
    api_open(&world, "1/10s");
    assert_true(api_take(&world, 0, "k", 1).allowed);
    assert_int_equal(pthread_create(&thread, NULL, turn_clock_later, &world), 0);
    request.wait_ns_max = 10 * SEC;
    uint64_t start_ns = real_now_ns();
    assert_int_equal(mete_wait(world.limiter, &request, &decision), METE_OK);
    uint64_t slept_ns = real_now_ns() - start_ns;
    assert_true(decision.allowed);
    assert_int_equal(decision.wait_ns, 10 * SEC);
    assert_int_equal(api_clock_now(&world), 10 * SEC);
    assert_true(slept_ns >= 50 * MS);
    assert_true(slept_ns < 5 * SEC);
    pthread_join(thread, NULL);
    api_close(&world);
}

/* Gives back, never above full; out is the state afterwards, allowed is true. */
static void refund_gives_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        api_open(&world, limits[i]);
        assert_true(api_take(&world, 2 * SEC, "k", 10).allowed);
        struct mete_decision decision = api_refund(&world, 2 * SEC, "k", 0, METE_NOW);
        assert_true(decision.allowed);
        assert_int_equal(decision.remaining, 0);
        decision = api_refund(&world, 2 * SEC, "k", 4, METE_NOW);
        assert_true(decision.allowed);
        assert_int_equal(decision.limit, 10);
        assert_int_equal(decision.remaining, 4);
        assert_int_equal(decision.retry_after_ns, 0);
        assert_int_equal(decision.wait_ns, 0);
        struct mete_decision peeked = api_peek(&world, 2 * SEC, "k", 0);
        assert_true(api_same_decision(&decision, &peeked));
        decision = api_refund(&world, 2 * SEC, "k", UINT64_MAX, METE_NOW);
        assert_int_equal(decision.remaining, 10);
        assert_int_equal(decision.reset_after_ns, 0);
        assert_int_equal(api_keys_live(world.store), 0);
        uint64_t inserted = api_stats(world.store).keys_inserted;
        decision = api_refund(&world, 2 * SEC, "never seen", 5, METE_NOW);
        assert_true(decision.allowed);
        assert_int_equal(decision.remaining, 10);
        assert_int_equal(api_stats(world.store).keys_inserted, inserted);
        for (unsigned call = 0; call < 10; call++) {
            assert_true(mete_allow(world.limiter, "k", 1));
        }
        assert_false(mete_allow(world.limiter, "k", 1));
        api_close(&world);
    }
}

/* Windows: the time given is that of the take; over is over. */
static void refund_of_a_window_that_is_over(void **state)
{
    (void)state;
    static const char *const windows[] = {"fixed_window 10/10s", "fixed_window 10/10s anchored"};
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        struct api_world world;
        api_open(&world, windows[i]);
        assert_true(api_take(&world, 0, "k", 6).allowed);
        assert_true(api_take(&world, 10 * SEC, "k", 5).allowed);
        assert_int_equal(api_refund(&world, 11 * SEC, "k", 6, 0).remaining, 5);
        assert_int_equal(api_refund(&world, 11 * SEC, "k", 2, 10 * SEC).remaining, 7);
        assert_int_equal(api_refund(&world, 11 * SEC, "k", 2, METE_NOW).remaining, 9);
        api_close(&world);
    }
    struct api_world world;
    api_open(&world, "sliding_window 10/10s");
    assert_true(api_take(&world, 0, "k", 6).allowed);
    assert_true(api_take(&world, 15 * SEC, "k", 5).allowed); /* 3 of the 6 weigh still */
    assert_int_equal(api_peek(&world, 15 * SEC, "k", 0).remaining, 2);
    api_refund(&world, 15 * SEC, "k", 4, 5 * SEC); /* 2 of the 6 are left, they weigh 1 */
    assert_int_equal(api_peek(&world, 15 * SEC, "k", 0).remaining, 4);
    api_close(&world);
}

/* Full again is as if never seen: an anchored window forgets its place too. */
static void refund_to_full_forgets_the_window(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "fixed_window 10/10s anchored");
    assert_true(api_take(&world, 0, "k", 5).allowed);
    assert_int_equal(api_refund(&world, 1 * SEC, "k", 5, METE_NOW).reset_after_ns, 0);
    struct mete_decision decision = api_take(&world, 5 * SEC, "k", 10);
    assert_true(decision.allowed);
    assert_int_equal(decision.reset_after_ns, 10 * SEC);
    assert_false(api_take(&world, 15 * SEC - 1, "k", 1).allowed);
    assert_true(api_take(&world, 15 * SEC, "k", 1).allowed);
    api_close(&world);
}

/* Log: the newest units are removed. */
static void refund_of_a_log(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "sliding_log 10/10s");
    assert_true(api_take(&world, 0, "k", 6).allowed);
    assert_true(api_take(&world, 5 * SEC, "k", 4).allowed);
    struct mete_decision decision = api_refund(&world, 6 * SEC, "k", 5, METE_NOW);
    assert_int_equal(decision.remaining, 5);
    assert_int_equal(decision.reset_after_ns, 4 * SEC); /* only units of 0 s are left */
    assert_int_equal(api_peek(&world, 10 * SEC, "k", 0).remaining, 10);
    api_close(&world);
}

static void reset_forgets(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        api_open(&world, limits[i]);
        assert_int_equal(mete_reset(world.limiter, "never seen", 10), METE_OK);
        assert_true(api_take(&world, 0, "k", 10).allowed);
        assert_true(api_take(&world, 0, "other", 4).allowed);
        assert_true(api_take(&world, 0, "", 4).allowed);
        assert_int_equal(mete_reset(world.limiter, "k", 1), METE_OK);
        struct mete_decision decision = api_peek(&world, 0, "k", 0);
        assert_int_equal(decision.remaining, 10);
        assert_int_equal(decision.reset_after_ns, 0);
        assert_int_equal(api_peek(&world, 0, "other", 0).remaining, 6);
        assert_int_equal(mete_reset(world.limiter, NULL, 0), METE_OK);
        assert_int_equal(api_peek(&world, 0, "", 0).remaining, 10);
        assert_int_equal(api_keys_live(world.store), i + 1 < COUNT_OF(limits));
        assert_true(api_take(&world, 0, "k", 10).allowed);
        assert_false(api_take(&world, 0, "k", 1).allowed);
        api_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserve_without_waiting_is_take),
        cmocka_unit_test(reserve_bound_is_exact),
        cmocka_unit_test(reserve_waits),
        cmocka_unit_test(reserve_longest_wait),
        cmocka_unit_test(reserve_pays),
        cmocka_unit_test(wait_takes_only_now),
        cmocka_unit_test(wait_denied_does_not_sleep),
        cmocka_unit_test(wait_sleeps_in_real_time),
        cmocka_unit_test(wait_polls_the_callers_clock),
        cmocka_unit_test(refund_gives_back),
        cmocka_unit_test(refund_of_a_window_that_is_over),
        cmocka_unit_test(refund_to_full_forgets_the_window),
        cmocka_unit_test(refund_of_a_log),
        cmocka_unit_test(reset_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* mete_limiter_set_limit: what was spent stays spent (docs/algorithms.md, "Changing a limit"). */
#include "api.h"

static void change(struct api_world *world, uint64_t at_ns, const char *text)
{
    struct mete_limit limit = api_limit(text);
    api_set(world, at_ns);
    assert_int_equal(mete_limiter_set_limit(world->limiter, &limit), METE_OK);
}

/* On failure nothing changes. */
static void refused_change(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_limit bad = {.count = 0, .period_ns = SEC};
    api_open(&world, "10/10s");
    api_take(&world, 0, "k", 4);
    assert_int_equal(mete_limiter_set_limit(world.limiter, &bad), METE_EINVAL);
    bad.count = 2 * SEC;
    assert_int_equal(mete_limiter_set_limit(world.limiter, &bad), METE_ERANGE);
    assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 6);
    assert_int_equal(api_peek(&world, SEC, "k", 0).remaining, 7);
    assert_int_equal(api_peek(&world, SEC, "k", 0).limit, 10);
    api_close(&world);
}

/* What is left of 10 units after 7 were taken at 0, the change at 2 s, a look at 2 s. */
static void from_to(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        uint64_t remaining, reset_after_ns;
    } cases[] = {
        /* Same rate: what is owed (5) is owed; only the burst differs. */
        {"10/10s", "10/10s", 5, 5 * SEC},
        {"10/10s", "20/20s burst 8", 3, 5 * SEC},
        {"10/10s", "10/10s burst 100", 95, 5 * SEC},
        {"10/10s", "10/10s burst 4", 0, 5 * SEC},
        {"10/10s", "leaky_bucket 10/10s", 5, 5 * SEC},
        /* Another rate: 5 owed under it, at most its burst. */
        {"10/10s", "10/5s", 5, 2500 * MS},
        {"10/10s", "100/10s", 95, 500 * MS},
        {"10/10s", "3/30s", 0, 30 * SEC},
        {"leaky_bucket 10/10s", "10/1000s", 5, 500 * SEC},
        {"10/10s", "7/3s", 2, UINT64_C(2142857143)},
        /* Windows of the same place: the place stays, used is cut. */
        {"fixed_window 10/10s", "fixed_window 20/10s", 13, 8 * SEC},
        {"fixed_window 10/10s", "fixed_window 5/10s", 0, 8 * SEC},
        {"fixed_window 10/10s anchored", "fixed_window 5/10s anchored", 0, 8 * SEC},
        {"sliding_window 10/10s", "sliding_window 20/10s", 13, 18 * SEC},
        {"sliding_window 10/10s", "sliding_window 5/10s", 0, 18 * SEC},
        {"fixed_window 10/minute calendar", "fixed_window 8/minute calendar", 1, 58 * SEC},
        /* A log keeps its times, the newest of the new count. */
        {"sliding_log 10/10s", "sliding_log 9/10s", 2, 8 * SEC},
        {"sliding_log 10/10s", "sliding_log 5/10s", 0, 8 * SEC},
        {"sliding_log 10/10s", "sliding_log 10/1s", 10, 0},
        {"sliding_log 10/10s", "sliding_log 10/1m", 3, 58 * SEC},
        /* Anything else: the units owed at 2 s, in the new kind. */
        {"10/10s", "fixed_window 10/10s", 5, 8 * SEC},
        {"10/10s", "fixed_window 10/10s anchored", 5, 10 * SEC},
        {"10/10s", "fixed_window 4/10s", 0, 8 * SEC},
        {"10/10s", "fixed_window 10/day calendar", 5, 86398 * SEC},
        {"10/10s", "sliding_window 10/10s", 5, 18 * SEC},
        {"10/10s", "sliding_log 10/10s", 5, 10 * SEC},
        {"fixed_window 10/10s", "10/10s", 3, 7 * SEC},
        {"fixed_window 10/10s", "2/10s", 0, 10 * SEC},
        {"fixed_window 10/10s", "fixed_window 10/20s", 3, 18 * SEC},
        {"fixed_window 10/10s", "fixed_window 10/10s anchored", 3, 10 * SEC},
        {"fixed_window 10/10s anchored", "sliding_window 10/10s", 3, 18 * SEC},
        {"fixed_window 10/minute calendar", "fixed_window 10/minute calendar zone Asia/Kolkata", 3, 58 * SEC},
        {"sliding_window 10/10s", "10/10s", 3, 7 * SEC},
        {"sliding_window 10/10s", "sliding_window 10/5s", 3, 8 * SEC},
        {"sliding_log 10/10s", "10/10s", 3, 7 * SEC},
        {"sliding_log 10/10s", "sliding_window 10/10s", 3, 18 * SEC},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct api_world world;
        api_open(&world, cases[i].from);
        assert_true(api_take(&world, 0, "k", 7).allowed);
        change(&world, 2 * SEC, cases[i].to);
        struct mete_decision decision = api_peek(&world, 2 * SEC, "k", 0);
        if (decision.remaining != cases[i].remaining || decision.reset_after_ns != cases[i].reset_after_ns) {
            fail_msg("%s -> %s: remaining %llu, reset %llu", cases[i].from, cases[i].to,
                     (unsigned long long)decision.remaining, (unsigned long long)decision.reset_after_ns);
        }
        assert_int_equal(api_peek(&world, 2 * SEC, "unseen", 0).remaining, decision.limit);
        api_close(&world);
    }
}

static const char *const limits[] = {
    "10/10s",
    "10/10s burst 3",
    "10/10s burst 40",
    "7/3s",
    "1/1m",
    "1000/1s burst 5",
    "leaky_bucket 5/2s",
    "fixed_window 10/10s",
    "fixed_window 3/7s",
    "fixed_window 20/10s anchored",
    "fixed_window 5/minute calendar",
    "sliding_window 10/10s",
    "sliding_window 3/7s",
    "sliding_log 10/10s",
    "sliding_log 4/3s",
};

/* How long a key that has just used up the whole limit is denied a unit, at most. */
static uint64_t longest_lock_ns(const char *limit)
{
    struct api_world world;
    uint64_t longest_ns = 0;
    for (uint64_t at_ns = 0; at_ns < 60 * SEC; at_ns += SEC / 2) {
        api_open(&world, limit);
        struct mete_decision full = api_take(&world, at_ns, "k", 0);
        assert_true(api_take(&world, at_ns, "k", full.limit).allowed);
        uint64_t wait_ns = api_take(&world, at_ns, "k", 1).retry_after_ns;
        longest_ns = wait_ns > longest_ns ? wait_ns : longest_ns;
        api_close(&world);
    }
    return longest_ns;
}

static bool is_bucket(const char *limit)
{
    enum mete_algorithm algorithm = api_limit(limit).algorithm;
    return algorithm == METE_TOKEN_BUCKET || algorithm == METE_LEAKY_BUCKET;
}

/* Both buckets of 1 unit per second: the case in which a debt may outlast the burst. */
static bool same_rate(const char *from, const char *to)
{
    struct mete_limit a = api_limit(from), b = api_limit(to);
    return is_bucket(from) && is_bucket(to) && a.count * b.period_ns == b.count * a.period_ns;
}

/* From everything to everything, at any moment of a busy history. */
static void every_pair(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (size_t to = 0; to < COUNT_OF(limits); to++) {
        uint64_t lock_ns = longest_lock_ns(limits[to]);
        for (size_t from = 0; from < COUNT_OF(limits); from++) {
            struct api_world world;
            api_open(&world, limits[from]);
            uint64_t at_ns = 0;
            for (unsigned call = 0; call < 30; call++) {
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
                at_ns += (seed >> 34) % SEC;
                api_take(&world, at_ns, "k", 1 + (seed >> 20) % 3);
            }
            struct mete_decision before = api_take(&world, at_ns, "k", 0);
            uint64_t owed = before.limit - before.remaining;
            change(&world, at_ns, limits[to]);
            struct mete_decision after = api_take(&world, at_ns, "k", 0);
            assert_true(after.remaining <= after.limit);
            /* A log of a shorter period, and a window cut to a smaller count, may forget.
             * Never is more owed than before, but for the tick a start is rounded up by. */
            assert_true(after.limit - after.remaining <= owed + 1 || after.remaining == 0);
            struct mete_decision next = api_take(&world, at_ns, "k", 1);
            if (!same_rate(limits[from], limits[to])) {
                assert_true(next.retry_after_ns <= lock_ns + 1);
            }
            if (!next.allowed) {
                assert_false(api_take(&world, at_ns + next.retry_after_ns - 1, "k", 1).allowed);
                assert_true(api_take(&world, at_ns + next.retry_after_ns, "k", 1).allowed);
            }
            api_close(&world);
        }
    }
}

/* A key is carried over at its next use, as if it had been done at the change. */
static void late_use_is_as_if_at_once(void **state)
{
    (void)state;
    for (size_t from = 0; from < COUNT_OF(limits); from++) {
        for (size_t to = 0; to < COUNT_OF(limits); to++) {
            struct api_world at_once, late;
            api_open(&at_once, limits[from]);
            api_open(&late, limits[from]);
            uint64_t cost = api_take(&late, 0, "k", 0).limit;
            api_take(&at_once, 0, "k", cost);
            api_take(&late, 0, "k", cost);
            change(&at_once, SEC, limits[to]);
            change(&late, SEC, limits[to]);
            api_take(&at_once, SEC, "k", 1);
            struct mete_request touch = api_request("k", 1);
            struct mete_decision a, b;
            touch.now_ns = SEC; /* the late one at the same time, but after the clock went on */
            api_set(&late, 5 * SEC);
            assert_int_equal(mete_take(late.limiter, &touch, &b), METE_OK);
            a = api_take(&at_once, 6 * SEC, "k", 0);
            b = api_take(&late, 6 * SEC, "k", 0);
            assert_true(api_same_decision(&a, &b));
            api_close(&at_once);
            api_close(&late);
        }
    }
}

/* Several changes are applied in their order. */
static void several_changes(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "10/10s");
    assert_true(api_take(&world, 0, "k", 10).allowed);
    change(&world, 2 * SEC, "10/20s");            /* 8 owed, from now on half as fast */
    change(&world, 4 * SEC, "fixed_window 8/1m"); /* 7 owed */
    change(&world, 30 * SEC, "100/s");            /* 7 owed, a second is 100 */
    assert_int_equal(api_peek(&world, 30 * SEC, "k", 0).remaining, 93);
    assert_int_equal(api_peek(&world, 30 * SEC + 50 * MS, "k", 0).remaining, 98);
    assert_true(api_stats(world.store).keys_rescaled <= 1);
    assert_true(api_take(&world, 30 * SEC + 50 * MS, "k", 1).allowed);
    assert_int_equal(api_stats(world.store).keys_rescaled, 1);
    api_close(&world);
}

/* Twenty changes between two uses: more than are remembered.  The key is settled
 * at the oldest one remembered: never over its capacity, never refilled for nothing. */
static void more_changes_than_remembered(void **state)
{
    (void)state;
    struct api_world world;
    api_open(&world, "10/1000s");
    assert_true(api_take(&world, 0, "k", 10).allowed);
    for (uint64_t i = 0; i < 20; i++) {
        char text[64];
        snprintf(text, sizeof(text), "%u/1000s", 11 + (unsigned)i);
        change(&world, (i + 1) * SEC, text);
    }
    struct mete_decision decision = api_peek(&world, 20 * SEC, "k", 0);
    assert_int_equal(decision.limit, 30);
    assert_true(decision.remaining >= 20 && decision.remaining <= 21); /* 0.2 of 10 have drained in 20 s */
    api_close(&world);
}

/* The same for every kind: what is not remembered is settled at its next use, straight
 * into the limit in force.  So when that use comes at once, nothing differs from one change. */
static void forgotten_is_settled_now(void **state)
{
    (void)state;
    const uint64_t start_ns = 1700000040 * SEC; /* words with a large upper half */
    for (size_t from = 0; from < COUNT_OF(limits); from++) {
        for (size_t to = 0; to < COUNT_OF(limits); to++) {
            struct api_world once, often;
            if (from == to || strstr(limits[from], "log") != NULL || strstr(limits[to], "log") != NULL) {
                continue;
            }
            api_open(&once, limits[from]);
            api_open(&often, limits[from]);
            api_take(&once, start_ns, "k", 2);
            api_take(&often, start_ns, "k", 2);
            for (unsigned i = 0; i < 12; i++) {
                char text[64];
                snprintf(text, sizeof text, "%u/999s", 11 + i);
                change(&often, start_ns + SEC, text);
            }
            change(&once, start_ns + SEC, limits[to]);
            change(&often, start_ns + SEC, limits[to]);
            struct mete_decision a = api_take(&once, start_ns + SEC, "k", 0),
                                 b = api_take(&often, start_ns + SEC, "k", 0);
            if (!api_same_decision(&a, &b)) {
                fail_msg("%s -> %s: remaining %llu, reset %llu; forgotten: %llu, %llu", limits[from], limits[to],
                         (unsigned long long)a.remaining, (unsigned long long)a.reset_after_ns,
                         (unsigned long long)b.remaining, (unsigned long long)b.reset_after_ns);
            }
            api_close(&once);
            api_close(&often);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_change),
        cmocka_unit_test(from_to),
        cmocka_unit_test(every_pair),
        cmocka_unit_test(late_use_is_as_if_at_once),
        cmocka_unit_test(several_changes),
        cmocka_unit_test(more_changes_than_remembered),
        cmocka_unit_test(forgotten_is_settled_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

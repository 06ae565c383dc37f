/* SPDX-License-Identifier: Apache-2.0 */
/* mete/algorithm.h: the algorithms on a word of the caller's. */
#include "api.h"

#include <unistd.h>

#include <mete/algorithm.h>

static const char *const limits[] = {
    "token_bucket 10/10s",
    "token_bucket 7/3s burst 10",
    "token_bucket 10/1234567891ns",
    "leaky_bucket 10/10s",
    "leaky_bucket 13/7s burst 10",
    "fixed_window 10/10s",
    "fixed_window 10/7777777777ns anchored",
    "sliding_window 10/10s",
    "sliding_window 10/1234567891ns",
};

static struct mete_profile profile_of(const char *text)
{
    struct mete_limit limit = api_limit(text);
    struct mete_profile profile;
    assert_int_equal(mete_profile_init(&profile, &limit), METE_OK);
    return profile;
}

static void many_words_are_refused(void **state)
{
    (void)state;
    static const char *const others[] = {"sliding_log 10/1s", "fixed_window 10/day calendar",
                                         "fixed_window 10/month calendar zone Europe/Berlin"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        struct mete_limit limit = api_limit(others[i]);
        struct mete_profile profile;
        assert_refused(mete_profile_init(&profile, &limit), METE_ENOTSUP, &profile);
    }
    struct mete_limit bad = {.count = 0, .period_ns = SEC};
    struct mete_profile profile;
    assert_refused(mete_profile_init(&profile, &bad), METE_EINVAL, &profile);
    bad.count = 2 * SEC;
    assert_refused(mete_profile_init(&profile, &bad), METE_ERANGE, &profile);
    assert_int_equal(sizeof(profile), 192);
}

/* There is no clock here: METE_NOW is a time too large. */
static void time_is_checked(void **state)
{
    (void)state;
    static const uint64_t bad[] = {METE_TIME_MAX + 1, UINT64_MAX - 1, METE_NOW};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct mete_profile profile = profile_of(limits[i]);
        struct mete_decision decision;
        uint64_t word = 0;
        assert_int_equal(mete_word_take(&profile, &word, 4, SEC, &decision), METE_OK);
        const uint64_t before = word;
        for (size_t j = 0; j < COUNT_OF(bad); j++) {
            assert_refused(mete_word_take(&profile, &word, 1, bad[j], &decision), METE_ERANGE, &decision);
            assert_refused(mete_word_peek(&profile, word, 1, bad[j], &decision), METE_ERANGE, &decision);
            assert_refused(mete_word_reserve(&profile, &word, 1, bad[j], SEC, &decision), METE_ERANGE, &decision);
            assert_refused(mete_word_refund(&profile, &word, 1, bad[j], &decision), METE_ERANGE, &decision);
            assert_int_equal(mete_word_convert(&profile, &profile, &word, bad[j]), METE_ERANGE);
            assert_int_equal(word, before);
        }
        word = 0;
        assert_int_equal(mete_word_take(&profile, &word, 10, METE_TIME_MAX, &decision), METE_OK);
        assert_true(decision.allowed);
        assert_int_equal(mete_word_take(&profile, &word, 1, METE_TIME_MAX, &decision), METE_OK);
        assert_false(decision.allowed);
        assert_true(decision.retry_after_ns > 0 && decision.retry_after_ns <= 20 * SEC);
    }
}

/* A random history: a store and a word must answer the same, call for call. */
static void same_as_a_store(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        struct mete_profile profile = profile_of(limits[i]);
        uint64_t word = 0, at_ns = 0, seed = i;
        api_open(&world, limits[i]);
        for (unsigned call = 0; call < 5000; call++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            uint64_t cost = (seed >> 20) % 12;
            struct mete_decision a, b;
            at_ns += (seed >> 33) % 16 == 0 ? 9 * SEC : (seed >> 37) % (400 * MS);
            switch ((seed >> 28) % 5) {
            case 0:
                a = api_peek(&world, at_ns, "k", cost);
                assert_int_equal(mete_word_peek(&profile, word, cost, at_ns, &b), METE_OK);
                break;
            case 1:
                a = api_reserve(&world, at_ns, "k", cost, (seed >> 40) % (5 * SEC));
                assert_int_equal(mete_word_reserve(&profile, &word, cost, at_ns, (seed >> 40) % (5 * SEC), &b),
                                 METE_OK);
                break;
            case 2:
                a = api_refund(&world, at_ns, "k", cost / 2, METE_NOW);
                assert_int_equal(mete_word_refund(&profile, &word, cost / 2, at_ns, &b), METE_OK);
                break;
            default:
                a = api_take(&world, at_ns, "k", cost);
                assert_int_equal(mete_word_take(&profile, &word, cost, at_ns, &b), METE_OK);
            }
            assert_true(api_same_decision(&a, &b));
            assert_int_equal(mete_word_is_idle(&profile, word, at_ns), api_keys_live(world.store) == 0);
        }
        api_close(&world);
    }
}

/* The word changes only when units were taken or given back. */
static void word_changes_only_when_charged(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct mete_profile profile = profile_of(limits[i]);
        struct mete_decision decision;
        uint64_t word = 0;
        assert_int_equal(mete_word_take(&profile, &word, 0, SEC, &decision), METE_OK);
        assert_int_equal(word, 0);
        assert_int_equal(mete_word_refund(&profile, &word, 5, SEC, &decision), METE_OK);
        assert_int_equal(word, 0);
        assert_int_equal(mete_word_take(&profile, &word, 11, SEC, &decision), METE_OK);
        assert_int_equal(word, 0);
        assert_int_equal(mete_word_take(&profile, &word, 7, SEC, &decision), METE_OK);
        assert_int_not_equal(word, 0);
        const uint64_t before = word;
        assert_int_equal(mete_word_take(&profile, &word, 4, SEC, &decision), METE_OK);
        assert_false(decision.allowed);
        assert_int_equal(mete_word_reserve(&profile, &word, 4, SEC, 0, &decision), METE_OK);
        assert_false(decision.allowed);
        assert_int_equal(mete_word_take(&profile, &word, 0, 3 * SEC, &decision), METE_OK);
        assert_int_equal(mete_word_refund(&profile, &word, 0, SEC, &decision), METE_OK);
        assert_int_equal(word, before);
        assert_int_equal(mete_word_refund(&profile, &word, UINT64_MAX, SEC, &decision), METE_OK);
        assert_int_equal(decision.remaining, 10);
        assert_true(mete_word_is_idle(&profile, word, SEC));
    }
}

static void idle_is_as_if_never_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct mete_profile profile = profile_of(limits[i]);
        struct mete_decision decision, fresh;
        uint64_t word = 0, none = 0;
        assert_true(mete_word_is_idle(&profile, 0, 0));
        assert_true(mete_word_is_idle(&profile, 0, METE_TIME_MAX));
        assert_int_equal(mete_word_take(&profile, &word, 6, SEC, &decision), METE_OK);
        uint64_t full_ns = SEC + decision.reset_after_ns;
        assert_false(mete_word_is_idle(&profile, word, SEC));
        assert_false(mete_word_is_idle(&profile, word, full_ns - 1));
        assert_true(mete_word_is_idle(&profile, word, full_ns));
        assert_int_equal(mete_word_take(&profile, &word, 9, full_ns, &decision), METE_OK);
        assert_int_equal(mete_word_take(&profile, &none, 9, full_ns, &fresh), METE_OK);
        assert_true(api_same_decision(&decision, &fresh));
        assert_int_equal(word, none);
    }
}

/* Any 64 bits are a word: never more than the limit, never a crash. */
static void any_word_is_survived(void **state)
{
    (void)state;
    uint64_t seed = 77;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct mete_profile profile = profile_of(limits[i]), other = profile_of(limits[(i + 3) % COUNT_OF(limits)]);
        for (unsigned round = 0; round < 20000; round++) {
            struct mete_decision decision;
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            uint64_t word = round < 128 ? UINT64_MAX >> round % 64 << (round / 64) : seed ^ seed >> 31;
            uint64_t at_ns = round % 3 == 0 ? METE_TIME_MAX : (seed >> 3) % METE_TIME_MAX;
            assert_int_equal(mete_word_peek(&profile, word, 1, at_ns, &decision), METE_OK);
            assert_true(decision.remaining <= 10);
            assert_int_equal(mete_word_convert(&profile, &other, &word, at_ns), METE_OK);
            assert_int_equal(mete_word_take(&other, &word, 1 + seed % 10, at_ns, &decision), METE_OK);
            assert_true(decision.remaining <= 10);
            assert_int_equal(mete_word_reserve(&other, &word, 1, at_ns, METE_NEVER, &decision), METE_OK);
            assert_int_equal(mete_word_refund(&other, &word, 3, at_ns, &decision), METE_OK);
            assert_true(decision.remaining <= 10);
        }
    }
}

/* Settled under the old limit, owed under the new one, at most its capacity. */
static void convert_carries_what_is_owed(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        uint64_t remaining;
    } cases[] = {{"10/10s", "100/1s", 95},
                 {"10/10s", "3/30s", 0},
                 {"10/10s", "fixed_window 9/1m", 4},
                 {"fixed_window 10/10s", "10/10s", 3},
                 {"sliding_window 10/10s", "leaky_bucket 8/8s", 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mete_profile from = profile_of(cases[i].from), to = profile_of(cases[i].to);
        struct mete_decision decision;
        uint64_t word = 0;
        assert_int_equal(mete_word_convert(&from, &to, &word, SEC), METE_OK);
        assert_int_equal(word, 0);
        assert_int_equal(mete_word_take(&from, &word, 7, 0, &decision), METE_OK);
        assert_int_equal(mete_word_convert(&from, &to, &word, 2 * SEC), METE_OK);
        assert_int_equal(mete_word_peek(&to, word, 0, 2 * SEC, &decision), METE_OK);
        assert_int_equal(decision.remaining, cases[i].remaining);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_words_are_refused),
        cmocka_unit_test(time_is_checked),
        cmocka_unit_test(same_as_a_store),
        cmocka_unit_test(word_changes_only_when_charged),
        cmocka_unit_test(idle_is_as_if_never_seen),
        cmocka_unit_test(any_word_is_survived),
        cmocka_unit_test(convert_carries_what_is_owed),
    };
    alarm(100); /* a word that is no word of ours must not loop */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

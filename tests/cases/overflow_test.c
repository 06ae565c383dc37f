/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of overflow: products, counters and lifetimes that no longer fit.
 * Nothing here wraps or saturates in silence: what does not fit is refused when
 * the limit is made.
 */
#include "case.h"

#include <mete/algorithm.h>

/* After six idle days the refill product overflowed to a negative number and the
 * caller slept for ever.
 * Source: https://github.com/aws/aws-sdk-cpp/pull/3338 */
static void case_015_overflow(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "20000/s burst 20000");
    assert_true(case_take(&world, 0, "k", 20000).allowed);
    assert_true(case_take(&world, 604800 * SEC, "k", 1).allowed);
    struct mete_decision refused = case_take(&world, 604800 * SEC, "k", 20000);
    assert_false(refused.allowed);
    assert_int_equal(refused.remaining, 19999);
    assert_int_equal(refused.retry_after_ns, SEC / 20000);
    /* The report's second jump, 292 years, lies behind the last time a store
     * takes.  The longest jump there is: */
    assert_true(case_take(&world, METE_TIME_MAX, "k", 20000).allowed);
    refused = case_take(&world, METE_TIME_MAX, "k", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, SEC / 20000);
    struct mete_request late = case_request("k", 1);
    late.now_ns = METE_TIME_MAX + 1;
    assert_int_equal(mete_take(world.limiter, &late, &refused), METE_ERANGE);
    case_close(&world);
}

/* With a huge burst the lifetime no longer fitted an integer, and the stored
 * burst wrapped to 32 bits so that the second call saw another limit.
 * Source: https://github.com/symfony/symfony/pull/65193 */
static void case_016_overflow_huge_burst(void **state)
{
    (void)state;
    /* 10 per 10 s with a burst of 2^63 - 1 would take 292 billion years to
     * refill: refused, with the field named. */
    struct mete_limit limit = {.count = 10, .period_ns = 10 * SEC, .burst = INT64_MAX};
    char why[200] = "";
    assert_int_equal(mete_limit_check(&limit, why, sizeof(why)), METE_ERANGE);
    assert_non_null(strstr(why, "burst"));

    struct case_world world;
    case_open(&world, "10/10s burst 4294967296");
    struct mete_decision first = case_take(&world, 0, "k", 1);
    struct mete_decision second = case_take(&world, 0, "k", 1);
    assert_int_equal(first.remaining, UINT64_C(4294967295));
    assert_int_equal(second.remaining, UINT64_C(4294967294));
    assert_int_equal(first.limit, UINT64_C(4294967296));
    assert_int_equal(second.limit, UINT64_C(4294967296));
    case_close(&world);
}

/* The counter of a window wrapped after 2^32 refused calls and the limiter
 * opened again.
 * Source: https://github.com/systemd/systemd/pull/27342 */
static void case_018_overflow_counter_wrap(void **state)
{
    (void)state;
    struct mete_limit limit = case_limit("fixed_window 5/3600s");
    struct mete_profile profile;
    struct mete_decision decision;
    uint64_t word = 0;
    assert_int_equal(mete_profile_init(&profile, &limit), METE_OK);
    assert_int_equal(mete_word_take(&profile, &word, 5, 0, &decision), METE_OK);
    assert_true(decision.allowed);
    /* All that is known of a key is its word.  A refusal leaves it bit for bit,
     * so 2^32 refusals do what one does: nothing. */
    const uint64_t used_up = word;
    for (uint64_t i = 0; i < 100000; i++) {
        assert_int_equal(mete_word_take(&profile, &word, 1 + i % 7, i * 30 * US, &decision), METE_OK);
        assert_false(decision.allowed);
        assert_int_equal(word, used_up);
    }
    for (uint64_t bit = 0; bit < 64; bit++) {
        assert_int_equal(mete_word_take(&profile, &word, UINT64_MAX >> bit, 0, &decision), METE_OK);
        assert_false(decision.allowed);
        assert_int_equal(word, used_up);
    }
}

/* A block of 1e9 s did not fit a 32-bit timer in milliseconds and became 1 ms.
 * Source: https://github.com/animir/node-rate-limiter-flexible/issues/231 */
static void case_020_overflow_timer(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 10/5s anchored");
    static const struct case_step steps[] = {{0, 3, true}, {1 * SEC, 3, true}, {2 * SEC, 3, true}, {3 * SEC, 3, false}};
    case_run(&world, "t", steps);
    case_close(&world);
    /* There is no call that blocks a key, and no timer.  The nearest thing is an
     * exhausted window of 1e9 s: it lasts 31 years. */
    case_open(&world, "fixed_window 10/1000000000s anchored");
    assert_true(case_take(&world, 3 * SEC, "t", 10).allowed);
    struct mete_decision refused = case_take(&world, 10 * SEC, "t", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, (1000000000 - 7) * SEC);
    refused = case_take(&world, 1000000 * SEC, "t", 1);
    assert_false(refused.allowed);
    assert_int_equal(refused.retry_after_ns, (1000000003 - 1000000) * SEC);
    assert_false(case_take(&world, 1000000003 * SEC - 1, "t", 1).allowed);
    assert_true(case_take(&world, 1000000003 * SEC, "t", 1).allowed);
    case_close(&world);
}

static uint64_t keys_live(struct case_world *world, uint64_t at_ns)
{
    uint64_t live = UINT64_MAX;
    case_set(world, at_ns);
    assert_int_equal(mete_store_keys_live(world->store, &live), METE_OK);
    return live;
}

/* The lifetime of an entry was computed in nanoseconds, stored as seconds in 32
 * bits and became negative: every request failed.
 * Source: https://github.com/traefik/traefik/issues/8235 */
static void case_021_time_unit_mix(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/3600s burst 1");
    struct mete_decision first = case_take(&world, 0, "ip1", 1);
    assert_true(first.allowed);
    assert_int_equal(first.reset_after_ns, 3600 * SEC);
    assert_false(case_take(&world, 100 * MS, "ip1", 1).allowed);
    assert_int_equal(keys_live(&world, 3600 * SEC - 1), 1);
    assert_int_equal(keys_live(&world, 3600 * SEC), 0);
    case_close(&world);
    /* From the slowest rate to the fastest, a key lives exactly until it is full. */
    static const struct {
        const char *limit;
        uint64_t life_ns;
    } rates[] = {{"1/315576000s burst 1", 315576000 * SEC},
                 {"1/1d burst 1", 86400 * SEC},
                 {"1/s burst 1", SEC},
                 {"1000/s burst 1", MS},
                 {"1000000/s burst 1", US},
                 {"1000000000/s burst 1", 1}};
    for (size_t i = 0; i < CASE_COUNT_OF(rates); i++) {
        case_open(&world, rates[i].limit);
        assert_int_equal(case_take(&world, 0, "ip1", 1).reset_after_ns, rates[i].life_ns);
        assert_int_equal(keys_live(&world, rates[i].life_ns - 1), 1);
        assert_int_equal(keys_live(&world, rates[i].life_ns), 0);
        case_close(&world);
    }
}

static void insert_keys(struct case_world *world, uint64_t at_ns, unsigned first)
{
    for (unsigned i = first; i < first + 500; i++) {
        char key[16];
        snprintf(key, sizeof(key), "key-%u", i);
        assert_true(case_take(world, at_ns, key, 1).allowed);
    }
}

/* The order of expiry was kept on a 32-bit time in milliseconds; at each wrap
 * entries stopped being removed.
 * Source: https://github.com/haproxy/haproxy/issues/2034 */
static void case_023_eviction_32bit_wrap(void **state)
{
    (void)state;
    /* The report is at 2^32 ms; the sign of a signed one changes at 2^31 ms. */
    static const uint64_t wraps_s[] = {4294967, 2147483};
    for (size_t i = 0; i < CASE_COUNT_OF(wraps_s); i++) {
        struct case_world world;
        struct mete_store_stats stats;
        case_open_sized(&world, "1/60s burst 1", 1000);
        insert_keys(&world, (wraps_s[i] - 30) * SEC, 0);
        insert_keys(&world, wraps_s[i] * SEC, 500);
        assert_int_equal(mete_store_stats(world.store, &stats), METE_OK);
        /* At the rated load a key in 100,000 finds no free place, so evictions are counted in. */
        assert_int_equal(keys_live(&world, wraps_s[i] * SEC + 1) + stats.keys_evicted, 1000);
        assert_int_equal(keys_live(&world, (wraps_s[i] + 30) * SEC) <= 500, true);
        assert_int_equal(keys_live(&world, (wraps_s[i] + 133) * SEC), 0);
        case_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_015_overflow),
        cmocka_unit_test(case_016_overflow_huge_burst),
        cmocka_unit_test(case_018_overflow_counter_wrap),
        cmocka_unit_test(case_020_overflow_timer),
        cmocka_unit_test(case_021_time_unit_mix),
        cmocka_unit_test(case_023_eviction_32bit_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

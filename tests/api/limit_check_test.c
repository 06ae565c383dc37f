/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which limits there are: each bound at the bound and one beyond it, each refusal
 * with its status and the field named.  Whatever mete_limit_check says must hold
 * for every function that takes a limit.
 */
#include "api.h"

#include <mete/algorithm.h>

static mete_store *store;

static int open_store(void **state)
{
    (void)state;
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = 16;
    options.log_units_max = UINT64_C(1) << 21;
    return mete_store_create(&options, &store) == METE_OK ? 0 : -1;
}

static int close_store(void **state)
{
    (void)state;
    mete_store_destroy(store);
    return 0;
}

static bool needs_more_than_a_word(const struct mete_limit *limit)
{
    return limit->algorithm == METE_SLIDING_LOG || limit->alignment >= METE_ALIGN_MINUTE;
}

static void refused(struct mete_limit limit, mete_status status, const char *field)
{
    char why[300] = "";
    char text[200] = "";
    mete_limiter *limiter;
    struct mete_profile profile;
    assert_int_equal(mete_limit_check(&limit, why, sizeof(why)), status);
    if (strstr(why, field) == NULL) {
        fail_msg("'%s' does not name the field %s", why, field);
    }
    assert_int_equal(mete_limit_check(&limit, NULL, 0), status);
    assert_int_equal(mete_limit_format(&limit, text, sizeof(text)), 0);
    assert_refused(mete_limiter_create(store, "refused", &limit, &limiter), status, &limiter);
    why[0] = '\0';
    assert_refused(mete_limiter_create_why(store, "refused", &limit, &limiter, why, sizeof(why)), status, &limiter);
    assert_non_null(strstr(why, field));
    api_mark(&profile, sizeof(profile));
    assert_true(mete_profile_init(&profile, &limit) < 0);
    assert_true(api_is_marked(&profile, sizeof(profile)));
    /* A change to it is refused the same way, and the limit in force stays. */
    limiter = api_limiter(store, "changed", "5/s burst 7");
    assert_int_equal(mete_limiter_set_limit(limiter, &limit), status);
    struct mete_limit in_force;
    assert_int_equal(mete_limiter_limit(limiter, &in_force), METE_OK);
    assert_int_equal(in_force.count, 5);
    assert_int_equal(in_force.burst, 7);
    mete_limiter_destroy(limiter);
}

static void accepted(struct mete_limit limit)
{
    char why[300] = "";
    mete_limiter *limiter = NULL;
    struct mete_profile profile;
    if (mete_limit_check(&limit, why, sizeof(why)) != METE_OK) {
        fail_msg("%s", why);
    }
    assert_int_equal(mete_limit_check(&limit, NULL, 0), METE_OK);
    assert_int_equal(mete_limiter_create(store, "accepted", &limit, &limiter), METE_OK);
    mete_limiter_destroy(limiter);
    assert_int_equal(mete_profile_init(&profile, &limit), needs_more_than_a_word(&limit) ? METE_ENOTSUP : METE_OK);
}

static void zero_count_or_period(void **state)
{
    (void)state;
    for (int i = METE_TOKEN_BUCKET; i <= METE_SLIDING_LOG; i++) {
        enum mete_algorithm algorithm = (enum mete_algorithm)i;
        refused((struct mete_limit){.algorithm = algorithm, .count = 0, .period_ns = SEC}, METE_EINVAL, "count");
        refused((struct mete_limit){.algorithm = algorithm, .count = 1, .period_ns = 0}, METE_EINVAL, "period");
        accepted((struct mete_limit){.algorithm = algorithm, .count = 1, .period_ns = SEC});
    }
    refused((struct mete_limit){.count = 0, .period_ns = SEC, .burst = 5}, METE_EINVAL, "count");
    refused((struct mete_limit){METE_FIXED_WINDOW, 0, 0, 0, METE_ALIGN_DAY, ""}, METE_EINVAL, "count");
}

static void unknown_algorithm_or_alignment(void **state)
{
    (void)state;
    static const int bad_algorithms[] = {-1, 5, 1000, INT32_MIN};
    static const int bad_alignments[] = {-1, 8, 1000, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(bad_algorithms); i++) {
        struct mete_limit limit = {.algorithm = (enum mete_algorithm)bad_algorithms[i], .count = 1, .period_ns = SEC};
        refused(limit, METE_EINVAL, "algorithm");
    }
    for (size_t i = 0; i < COUNT_OF(bad_alignments); i++) {
        struct mete_limit limit = {METE_FIXED_WINDOW, 1, SEC, 0, (enum mete_alignment)bad_alignments[i], ""};
        refused(limit, METE_EINVAL, "alignment");
    }
}

static void burst_of_windows(void **state)
{
    (void)state;
    for (int i = METE_FIXED_WINDOW; i <= METE_SLIDING_LOG; i++) {
        struct mete_limit limit = {.algorithm = (enum mete_algorithm)i, .count = 5, .period_ns = SEC, .burst = 5};
        refused(limit, METE_EINVAL, "burst");
        limit.burst = 1;
        refused(limit, METE_EINVAL, "burst");
    }
    accepted((struct mete_limit){.algorithm = METE_TOKEN_BUCKET, .count = 5, .period_ns = SEC, .burst = 1});
    accepted((struct mete_limit){.algorithm = METE_LEAKY_BUCKET, .count = 5, .period_ns = SEC, .burst = 500});
}

static void alignment_of_others(void **state)
{
    (void)state;
    static const enum mete_algorithm others[] = {METE_TOKEN_BUCKET, METE_LEAKY_BUCKET, METE_SLIDING_WINDOW,
                                                 METE_SLIDING_LOG};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        for (int alignment = METE_ALIGN_FIRST; alignment <= METE_ALIGN_YEAR; alignment++) {
            struct mete_limit limit = {others[i], 5, SEC, 0, (enum mete_alignment)alignment, ""};
            if (alignment >= METE_ALIGN_MINUTE) {
                limit.period_ns = 0;
            }
            refused(limit, METE_EINVAL, "alignment");
        }
    }
    accepted((struct mete_limit){METE_FIXED_WINDOW, 5, SEC, 0, METE_ALIGN_FIRST, ""});
}

static void calendar_period_and_zone(void **state)
{
    (void)state;
    struct mete_limit endless = {METE_FIXED_WINDOW, 5, 0, 0, METE_ALIGN_DAY, ""};
    memset(endless.time_zone, 'A', sizeof(endless.time_zone));
    refused(endless, METE_EINVAL, "zone");
    for (int i = METE_ALIGN_MINUTE; i <= METE_ALIGN_YEAR; i++) {
        enum mete_alignment unit = (enum mete_alignment)i;
        refused((struct mete_limit){METE_FIXED_WINDOW, 5, SEC, 0, unit, ""}, METE_EINVAL, "period");
        accepted((struct mete_limit){METE_FIXED_WINDOW, 5, 0, 0, unit, ""});
        accepted((struct mete_limit){METE_FIXED_WINDOW, 5, 0, 0, unit, "UTC"});
        accepted((struct mete_limit){METE_FIXED_WINDOW, (1u << 30) - 1, 0, 0, unit, "Europe/Berlin"});
        refused((struct mete_limit){METE_FIXED_WINDOW, 1u << 30, 0, 0, unit, ""}, METE_ERANGE, "count");
    }
    static const char *const bad_zones[] = {"Nowhere/Atlantis", "../../../etc/passwd", "/etc/localtime", "Europe/",
                                            "Europe",           "Europe/Berlin ",      "europe/\xc3\xa4"};
    for (size_t i = 0; i < COUNT_OF(bad_zones); i++) {
        struct mete_limit limit = {METE_FIXED_WINDOW, 5, 0, 0, METE_ALIGN_DAY, ""};
        memcpy(limit.time_zone, bad_zones[i], strlen(bad_zones[i]) + 1);
        refused(limit, METE_EINVAL, "zone");
    }
    /* Only calendar windows have a zone. */
    refused((struct mete_limit){METE_FIXED_WINDOW, 5, SEC, 0, METE_ALIGN_EPOCH, "UTC"}, METE_EINVAL, "zone");
    refused((struct mete_limit){METE_FIXED_WINDOW, 5, SEC, 0, METE_ALIGN_FIRST, "UTC"}, METE_EINVAL, "zone");
    refused((struct mete_limit){METE_TOKEN_BUCKET, 5, SEC, 0, METE_ALIGN_EPOCH, "UTC"}, METE_EINVAL, "zone");
}

static void rate_bounds(void **state)
{
    (void)state;
    for (int i = METE_TOKEN_BUCKET; i <= METE_FIXED_WINDOW; i++) {
        struct mete_limit limit = {.algorithm = (enum mete_algorithm)i, .count = 1, .period_ns = TEN_YEARS_NS};
        accepted(limit);
        limit.period_ns++;
        refused(limit, METE_ERANGE, "period");
        limit.count = 2;
        accepted(limit);
        limit.period_ns = 2 * TEN_YEARS_NS + 1;
        refused(limit, METE_ERANGE, "period");
        limit.count = limit.period_ns = SEC;
        accepted(limit);
        limit.count++;
        refused(limit, METE_ERANGE, "count");
        limit.count = limit.period_ns = 1;
        accepted(limit);
        limit.count++;
        refused(limit, METE_ERANGE, "count");
    }
    struct mete_limit longest = {.algorithm = METE_FIXED_WINDOW, .count = 15, .period_ns = METE_PERIOD_MAX};
    accepted(longest);
    longest.count = 14; /* 14 per 146.1 years is slower than 1 per 10 years */
    refused(longest, METE_ERANGE, "period");
    longest.count = 15;
    longest.period_ns++;
    refused(longest, METE_ERANGE, "period");
    longest.period_ns = UINT64_MAX;
    longest.count = UINT64_MAX;
    refused(longest, METE_ERANGE, "period");
}

/* What is owed at the last time, by the longest reservation, must fit 64 bits. */
static void burst_bounds(void **state)
{
    (void)state;
    const uint64_t most = (UINT64_MAX - METE_TIME_MAX - TEN_YEARS_NS) / SEC;
    for (int i = METE_TOKEN_BUCKET; i <= METE_LEAKY_BUCKET; i++) {
        struct mete_limit limit = {.algorithm = (enum mete_algorithm)i, .count = 1, .period_ns = SEC, .burst = most};
        accepted(limit);
        limit.burst = most + 1;
        refused(limit, METE_ERANGE, "burst");
        for (unsigned bit = 34; bit < 64; bit++) {
            limit.burst = UINT64_C(1) << bit;
            refused(limit, METE_ERANGE, "burst");
        }
        limit.burst = UINT64_MAX;
        refused(limit, METE_ERANGE, "burst");
        /* Products that wrap to 0 and to 1. */
        limit.period_ns = limit.burst = UINT64_C(1) << 32;
        refused(limit, METE_ERANGE, "burst");
        limit.period_ns = UINT64_C(274177);
        limit.burst = UINT64_C(67280421310721);
        refused(limit, METE_ERANGE, "burst");
    }
    /* 7 per 10 s: a unit is 4e9 ticks, so a nanosecond is 2.8 of them ("Ticks"). */
    const uint64_t last_tick = (METE_TIME_MAX + TEN_YEARS_NS) / 10 * 28;
    struct mete_limit odd = {.count = 7, .period_ns = 10 * SEC, .burst = (UINT64_MAX - last_tick) / (4 * SEC)};
    accepted(odd);
    odd.burst++;
    refused(odd, METE_ERANGE, "burst");
}

static void count_bounds(void **state)
{
    (void)state;
    static const struct {
        uint64_t period_ns, most;
    } sliding[] = {{SEC, 32767}, {60 * SEC, 262143}, {3600 * SEC, 2097151}, {86400 * SEC, 8388607}};
    for (size_t i = 0; i < COUNT_OF(sliding); i++) {
        struct mete_limit limit = {METE_SLIDING_WINDOW, sliding[i].most, sliding[i].period_ns, 0, METE_ALIGN_EPOCH, ""};
        accepted(limit);
        limit.count++;
        refused(limit, METE_ERANGE, "count");
    }
    struct mete_limit log = {.algorithm = METE_SLIDING_LOG, .count = METE_LOG_COUNT_MAX, .period_ns = SEC};
    accepted(log);
    log.count++;
    refused(log, METE_ERANGE, "count");
}

/* The sentence is cut to its buffer, ends with a NUL, and never goes beyond. */
static void why_is_bounded(void **state)
{
    (void)state;
    struct mete_limit limit = {.count = 0, .period_ns = SEC};
    char whole[300], cut[300];
    assert_int_equal(mete_limit_check(&limit, whole, sizeof(whole)), METE_EINVAL);
    for (size_t size = 0; size <= strlen(whole) + 1; size++) {
        api_mark(cut, sizeof(cut));
        assert_int_equal(mete_limit_check(&limit, cut, size), METE_EINVAL);
        assert_true(api_is_marked(cut + size, sizeof(cut) - size));
        if (size > 0) {
            assert_int_equal(strlen(cut), size - 1);
            assert_memory_equal(cut, whole, size - 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_count_or_period),
        cmocka_unit_test(unknown_algorithm_or_alignment),
        cmocka_unit_test(burst_of_windows),
        cmocka_unit_test(alignment_of_others),
        cmocka_unit_test(calendar_period_and_zone),
        cmocka_unit_test(rate_bounds),
        cmocka_unit_test(burst_bounds),
        cmocka_unit_test(count_bounds),
        cmocka_unit_test(why_is_bounded),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}

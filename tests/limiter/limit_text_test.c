/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits as text: each sentence about a mistake, word by word, and random limits
 * written and read back.  What the texts mean is in tests/api/limit_text_test.c.
 */
#include <inttypes.h>
#include <mete/mete.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define DAY_NS UINT64_C(86400000000000)

struct mistake {
    const char *text;
    const char *why;
};

static void assert_mistakes(const struct mistake *mistakes, size_t count, mete_status expected)
{
    for (size_t i = 0; i < count; i++) {
        struct mete_limit limit;
        char why[400] = "";
        memset(&limit, 0x5a, sizeof limit);
        mete_status status = mete_limit_parse_why(mistakes[i].text, &limit, why, sizeof why);
        if (status != expected || strcmp(why, mistakes[i].why) != 0) {
            fail_msg("'%s': %s: %s", mistakes[i].text, mete_status_text(status), why);
        }
        for (size_t j = 0; j < sizeof limit; j++) {
            assert_int_equal(((const unsigned char *)&limit)[j], 0x5a);
        }
    }
}

/* --- mistakes ----------------------------------------------------------------- */

static void test_mistakes_in_the_rate(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"", "count: missing; write COUNT/PERIOD, such as 100/1m"},
        {" \t ", "count: missing; write COUNT/PERIOD, such as 100/1m"},
        {"/s", "count: missing; write COUNT/PERIOD, such as 100/1m"},
        {"sliding_log", "count: missing; write COUNT/PERIOD, such as 100/1m"},
        {"x/s", "count: 'x' is not a whole number; write digits only"},
        {"-1/s", "count: '-1' is not a whole number; write digits only"},
        {"1.5/s", "count: '1.5' is not a whole number; write digits only"},
        {"1_000/s", "count: '1_000' is not a whole number; write digits only"},
        {"1,000/s", "count: '1,000' is not a whole number; write digits only"},
        {"1e3/s", "count: '1e3' is not a whole number; write digits only"},
        {"99999999999999999999x/s", "count: '99999999999999999999x' is not a whole number; write digits only"},
        {"gcra gcra 1/s", "count: 'gcra' is not a whole number; write digits only"},
        {"100", "period: no '/' after the count '100'; write COUNT/PERIOD, such as 100/1m"},
        {"100 per minute", "period: no '/' after the count '100'; write COUNT/PERIOD, such as 100/1m"},
        {"100/", "period: no unit in '100/'; use ns, us, ms, s, m, h, d, w"},
        {"10/15", "period: no unit in '10/15'; use ns, us, ms, s, m, h, d, w"},
        {"10/15 m", "limit: unknown word 'm'; after COUNT/PERIOD come burst N, anchored, calendar, zone NAME"},
        {"100/1q", "period: unknown unit 'q' in '100/1q'; use ns, us, ms, s, m, h, d, w"},
        {"100 / 1q burst 5", "period: unknown unit 'q' in '100 / 1q'; use ns, us, ms, s, m, h, d, w"},
        {"100/s/2", "period: unknown unit 's/2' in '100/s/2'; use ns, us, ms, s, m, h, d, w"},
        {"100/sec", "period: unknown unit 'sec' in '100/sec'; use ns, us, ms, s, m, h, d, w"},
        {"100/mss", "period: unknown unit 'mss' in '100/mss'; use ns, us, ms, s, m, h, d, w"},
        {"100/1_000ms", "period: '1_000' is not a whole number; write digits only"},
        {"100/-1s", "period: '-1' is not a whole number; write digits only"},
        {"100/0s", "period: '100/0s' has no length"},
        {"9/month",
         "period: 'month' in '9/month' is not a fixed span; write fixed_window COUNT/month calendar, or days"},
        {"fixed_window 9/2YEARS anchored",
         "period: 'YEARS' in '9/2YEARS' is not a fixed span; write fixed_window COUNT/month calendar, or days"},
    };
    assert_mistakes(mistakes, COUNT_OF(mistakes), METE_EINVAL);
}

static void test_mistakes_in_the_words(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"funnel 10/s", "algorithm: unknown name 'funnel'; use token_bucket, leaky_bucket, fixed_window, "
                        "sliding_window, sliding_log"},
        {"10/s sugar", "limit: unknown word 'sugar'; after COUNT/PERIOD come burst N, anchored, calendar, zone NAME"},
        {"10/s gcra", "limit: unknown word 'gcra'; after COUNT/PERIOD come burst N, anchored, calendar, zone NAME"},
        {"10/s burst", "burst: a number must follow"},
        {"10/s burst 20x", "burst: '20x' is not a whole number; write digits only"},
        {"10/s burst 0", "burst: '0' lets nothing pass; use 1 or more, or leave it out"},
        {"10/s burst 1 burst 1", "burst: given twice"},
        {"fixed_window 1/s anchored anchored", "anchored: given twice"},
        {"fixed_window 1/day calendar Calendar", "calendar: given twice"},
        {"fixed_window 1/day calendar zone UTC zone UTC", "zone: given twice"},
        {"fixed_window 10/s burst 1", "burst: fixed_window has none; its capacity is the count"},
        {"sliding_log 10/s burst 1", "burst: sliding_log has none; its capacity is the count"},
        {"fixed_window 1/day anchored calendar", "anchored: contradicts calendar"},
        {"10/s anchored", "anchored: only fixed_window can be, not token_bucket"},
        {"sliding_window 1/day calendar", "calendar: only fixed_window can be, not sliding_window"},
        {"10/s zone UTC", "zone: only with calendar"},
        {"fixed_window 1/s anchored zone UTC", "zone: only with calendar"},
        {"fixed_window 1/day calendar zone", "zone: a name must follow, such as Europe/Berlin"},
        {"fixed_window 1/day calendar zone ../UTC", "zone: '../UTC' is not the name of a time zone"},
        {"fixed_window 1/day calendar zone E\x01", "zone: 'E\\x01' is not the name of a time zone"},
        {"fixed_window 1/day calendar zone 1234567890123456789012345678901234567890",
         "zone: '1234567890123456789012345678901234567890' is longer than 39 bytes"},
        {"fixed_window 1/1day calendar",
         "period: with calendar it is one of minute, hour, day, week, month, year, not '1day'"},
        {"fixed_window 1/d calendar",
         "period: with calendar it is one of minute, hour, day, week, month, year, not 'd'"},
        {"fixed_window 1/days calendar",
         "period: with calendar it is one of minute, hour, day, week, month, year, not 'days'"},
    };
    assert_mistakes(mistakes, COUNT_OF(mistakes), METE_EINVAL);
}

static void test_numbers_too_large(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"18446744073709551616/s",
         "count: '18446744073709551616' is too large; no number may be above 18446744073709551615"},
        {"1/s burst 18446744073709551616",
         "burst: '18446744073709551616' is too large; no number may be above 18446744073709551615"},
        {"9/18446744073709551616ns",
         "period: '18446744073709551616' is too large; no number may be above 18446744073709551615"},
        {"999999/4611686018427387904ns", "period: '999999/4611686018427387904ns' is longer than 4611686018427387903ns"},
        {"999999/18446744073709551615w", "period: '999999/18446744073709551615w' is longer than 4611686018427387903ns"},
        {"999999/7626w", "period: '999999/7626w' is longer than 4611686018427387903ns"},
    };
    assert_mistakes(mistakes, COUNT_OF(mistakes), METE_ERANGE);
    struct mete_limit limit;
    assert_int_equal(mete_limit_parse("fixed_window 999/7625w", &limit), METE_OK);
    assert_int_equal(limit.period_ns, 7625 * 7 * DAY_NS);
}

static void test_what_was_found_is_shown_safely(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"1/s\n", "period: unknown unit 's\\x0a' in '1/s\\x0a'; use ns, us, ms, s, m, h, d, w"},
        {"1/s \x1b[31m", "limit: unknown word '\\x1b[31m'; after COUNT/PERIOD come burst N, anchored, calendar, "
                         "zone NAME"},
        {"\xff\x7f\\/s", "count: '\\xff\\x7f\\x5c' is not a whole number; write digits only"},
        {"%s%n/s", "count: '%s%n' is not a whole number; write digits only"},
        {"123456789012345678901234567890123456789012345678x/s",
         "count: '123456789012345678901234567890123456789012345678...' is not a whole number; write digits only"},
        {"12345678901234567890123456789012345678901234567x/s",
         "count: '12345678901234567890123456789012345678901234567x' is not a whole number; write digits only"},
    };
    assert_mistakes(mistakes, COUNT_OF(mistakes), METE_EINVAL);
}

static void test_length_and_null(void **state)
{
    (void)state;
    struct mete_limit limit;
    char why[100];
    char text[520];
    memset(text, ' ', sizeof text);
    memcpy(text, "5/s", 3);
    text[512] = '\0';
    assert_int_equal(mete_limit_parse(text, &limit), METE_OK);
    text[512] = ' ';
    text[513] = '\0';
    assert_int_equal(mete_limit_parse_why(text, &limit, why, sizeof why), METE_EINVAL);
    assert_string_equal(why, "limit: the text is longer than 512 bytes");
    assert_int_equal(mete_limit_parse_why(NULL, &limit, why, sizeof why), METE_EINVAL);
    assert_string_equal(why, "limit: the text is NULL");
    assert_int_equal(mete_limit_parse_why("1/s", NULL, why, sizeof why), METE_EINVAL);
    assert_string_equal(why, "limit: the result is NULL");
    assert_int_equal(mete_limit_parse(NULL, NULL), METE_EINVAL);

    strcpy(text, "untouched");
    assert_int_equal(mete_limit_format(NULL, text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(mete_limit_format(NULL, NULL, 0), 0);
    memset(&limit, 0, sizeof limit);
    assert_int_equal(mete_limit_format(&limit, text, sizeof text), 0);
}

/* The library's own rules are asked at the end of reading. */
static void test_a_limit_read_is_checked(void **state)
{
    (void)state;
    struct mete_limit limit;
    char why[300];
    assert_int_equal(mete_limit_parse_why("1/3653d", &limit, why, sizeof why), METE_ERANGE);
    char checked[300];
    limit = (struct mete_limit){.count = 1, .period_ns = 3653 * DAY_NS};
    assert_int_equal(mete_limit_check(&limit, checked, sizeof checked), METE_ERANGE);
    assert_string_equal(why, checked);
}

/* --- reading and writing --------------------------------------------------------- */

static void test_case_blanks_and_order(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *same;
    } pairs[] = {
        {"  100/s\t", "100/s"},
        {"100 / 1m", "100/1m"},
        {"100\t/\t1m\tburst\t3", "100/1m burst 3"},
        {"TOKEN_bucket 7/2Minutes BURST 3", "7/2m burst 3"},
        {"GCRA 7/MS", "7/ms"},
        {"007/0010s", "7/10s"},
        {"fixed_window 5/DAY Calendar Zone Europe/Berlin", "fixed_window 5/day calendar zone Europe/Berlin"},
        {"fixed_window 5/day zone Europe/Berlin calendar", "fixed_window 5/day calendar zone Europe/Berlin"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct mete_limit limit;
        struct mete_limit same;
        assert_int_equal(mete_limit_parse(pairs[i].text, &limit), METE_OK);
        assert_int_equal(mete_limit_parse(pairs[i].same, &same), METE_OK);
        assert_memory_equal(&limit, &same, sizeof limit);
    }
    struct mete_limit limit;
    assert_int_equal(mete_limit_parse("fixed_window 5/day calendar zone europe/berlin", &limit), METE_EINVAL);
}

static void test_written_form(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *written;
    } pairs[] = {
        {"100/s", "token_bucket 100/1s"},
        {"gcra 100/60s burst 20", "token_bucket 100/1m burst 20"},
        {"5/24h", "token_bucket 5/1d"},
        {"5/14d", "token_bucket 5/2w"},
        {"5/8d", "token_bucket 5/8d"},
        {"5/90m", "token_bucket 5/90m"},
        {"5/3600001ms", "token_bucket 5/3600001ms"},
        {"5/1000us", "token_bucket 5/1ms"},
        {"5/1001ns", "token_bucket 5/1001ns"},
        {"leaky_bucket 10/s burst 5", "leaky_bucket 10/1s burst 5"},
        {"sliding_window 1/m", "sliding_window 1/1m"},
        {"sliding_log 1/m", "sliding_log 1/1m"},
        {"fixed_window 1/h", "fixed_window 1/1h"},
        {"fixed_window 1/h anchored", "fixed_window 1/1h anchored"},
        {"fixed_window 1/year calendar", "fixed_window 1/year calendar"},
        {"fixed_window 1/minute calendar zone Asia/Kathmandu", "fixed_window 1/minute calendar zone Asia/Kathmandu"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct mete_limit limit;
        char text[200];
        assert_int_equal(mete_limit_parse(pairs[i].text, &limit), METE_OK);
        assert_int_equal(mete_limit_format(&limit, text, sizeof text), strlen(pairs[i].written));
        assert_string_equal(text, pairs[i].written);
    }
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A number of any size: as many small ones as large ones. */
static uint64_t draw_sized(uint64_t *state, unsigned bits_max)
{
    return draw(state) >> (64 - 1 - draw(state) % bits_max);
}

static struct mete_limit draw_limit(uint64_t *state)
{
    static const char *const zones[] = {"", "UTC", "Europe/Berlin", "America/Argentina/ComodRivadavia"};
    static const uint64_t units_ns[] = {1, 1000, 1000000, 1000000000, UINT64_C(60000000000), DAY_NS};
    struct mete_limit limit = {.algorithm = (enum mete_algorithm)(draw(state) % 5)};
    limit.count = draw_sized(state, 30);
    limit.period_ns = draw_sized(state, 20) * units_ns[draw(state) % COUNT_OF(units_ns)];
    if (limit.algorithm == METE_TOKEN_BUCKET || limit.algorithm == METE_LEAKY_BUCKET) {
        limit.burst = draw(state) % 2 == 0 ? 0 : draw_sized(state, 63);
    }
    if (limit.algorithm == METE_FIXED_WINDOW) {
        limit.alignment = (enum mete_alignment)(draw(state) % 8);
    }
    if (limit.alignment >= METE_ALIGN_MINUTE) {
        limit.period_ns = 0;
        strcpy(limit.time_zone, zones[draw(state) % COUNT_OF(zones)]);
    }
    return limit;
}

/* Every limit that can be made reads back as it was written. */
static void test_random_limits_read_back(void **state)
{
    (void)state;
    const char *scale = getenv("METE_TEST_SCALE");
    uint64_t rounds = 20000 * (scale != NULL ? strtoull(scale, NULL, 10) : 1);
    uint64_t seed = 1;
    uint64_t valid = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        struct mete_limit limit = draw_limit(&seed);
        struct mete_limit back;
        char text[128];
        char why[300] = "";
        size_t len = mete_limit_format(&limit, text, sizeof text);
        if (mete_limit_check(&limit, NULL, 0) != METE_OK) {
            assert_int_equal(len, 0);
            continue;
        }
        valid++;
        assert_in_range(len, 1, sizeof text - 1);
        if (mete_limit_parse_why(text, &back, why, sizeof why) != METE_OK || memcmp(&back, &limit, sizeof back) != 0) {
            fail_msg("round %" PRIu64 ": '%s' %s", i, text, why);
        }
    }
    assert_in_range(valid, rounds / 4, rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes_in_the_rate),    cmocka_unit_test(test_mistakes_in_the_words),
        cmocka_unit_test(test_numbers_too_large),       cmocka_unit_test(test_what_was_found_is_shown_safely),
        cmocka_unit_test(test_length_and_null),         cmocka_unit_test(test_a_limit_read_is_checked),
        cmocka_unit_test(test_case_blanks_and_order),   cmocka_unit_test(test_written_form),
        cmocka_unit_test(test_random_limits_read_back),
    };
    unsetenv("TZDIR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

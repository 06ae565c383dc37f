/* SPDX-License-Identifier: Apache-2.0 */
/* Limits, spans and times in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/replay_words.h"

static void spans(void **state)
{
    (void)state;
    static const struct {
        uint64_t span_ns;
        const char *words;
    } rows[] = {
        {0, "0 seconds"},
        {1, "1 nanosecond"},
        {UINT64_C(1000000000), "1 second"},
        {UINT64_C(90000000000), "1 minute 30 seconds"},
        {UINT64_C(86399999999999), "23 hours 59 minutes 59 seconds 999 milliseconds 999 microseconds 999 nanoseconds"},
        {UINT64_C(86400000000000), "1 day"},
        {METE_PERIOD_MAX,
         "53375 days 23 hours 53 minutes 38 seconds 427 milliseconds 387 microseconds 903 nanoseconds"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[160];
        mete__span_words(rows[i].span_ns, text, sizeof(text));
        assert_string_equal(text, rows[i].words);
    }
}

static void times(void **state)
{
    (void)state;
    static const struct {
        uint64_t time_ns;
        const char *words;
    } rows[] = {
        {0, "1970-01-01T00:00:00Z"},
        {1, "1970-01-01T00:00:00.000000001Z"},
        {10, "1970-01-01T00:00:00.00000001Z"},
        {UINT64_C(1000000100), "1970-01-01T00:00:01.0000001Z"},
        {999999999, "1970-01-01T00:00:00.999999999Z"},
        {UINT64_C(1709164800500000000), "2024-02-29T00:00:00.5Z"},
        {UINT64_C(1709164800120300000), "2024-02-29T00:00:00.1203Z"},
        {METE_TIME_MAX, "2100-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[40];
        mete__time_words(rows[i].time_ns, text, sizeof(text));
        assert_string_equal(text, rows[i].words);
    }
}

static void limits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } rows[] = {
        {"1/s", "1 request per 1 second, at most 1 at one instant (token bucket)"},
        {"100/1m burst 20", "100 requests per 1 minute, at most 20 at one instant (token bucket)"},
        {"leaky_bucket 10/s burst 5", "10 requests per 1 second, at most 5 at one instant (leaky bucket)"},
        {"fixed_window 100/90m", "100 requests per 1 hour 30 minutes (fixed window)"},
        {"fixed_window 5/1h anchored", "5 requests per 1 hour from a key's first request (fixed window)"},
        {"fixed_window 5/day calendar", "5 requests per calendar day of UTC (fixed window)"},
        {"fixed_window 5/month calendar zone Europe/Berlin",
         "5 requests per calendar month of Europe/Berlin (fixed window)"},
        {"sliding_window 100/1m", "100 requests per 1 minute (sliding window)"},
        {"sliding_log 5/1m", "5 requests per 1 minute (sliding log)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mete_limit limit;
        char text[256];
        assert_int_equal(mete_limit_parse(rows[i].text, &limit), METE_OK);
        mete__limit_words(&limit, "request", text, sizeof(text));
        assert_string_equal(text, rows[i].words);
    }
}

static void words_that_do_not_fit_are_cut(void **state)
{
    (void)state;
    char text[160];
    for (size_t size = 1; size < sizeof(text); size++) {
        text[size] = 'x';
        mete__span_words(METE_PERIOD_MAX, text, size);
        assert_non_null(memchr(text, '\0', size));
        assert_int_equal(text[size], 'x');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans),
        cmocka_unit_test(times),
        cmocka_unit_test(limits),
        cmocka_unit_test(words_that_do_not_fit_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

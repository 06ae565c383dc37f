/* SPDX-License-Identifier: Apache-2.0 */
/* Times of logs: what is refused, then what is read, to the nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <mete/mete.h>

#include "cli/log_time.h"

#define NS UINT64_C(1000000000)
#define LEAP_DAY UINT64_C(1709164800)    /* 2024-02-29T00:00:00Z */
#define LAST_SECOND UINT64_C(4102444800) /* METE_TIME_MAX in seconds */

struct good {
    const char *text;
    uint64_t time_ns;
};

static enum mete__reason read_text(const char *text, uint64_t *time_ns)
{
    return mete__time_read(mete__text_of(text, strlen(text)), time_ns);
}

static void refuse(const char *const *texts, size_t count, enum mete__reason reason)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t time_ns = 7;
        enum mete__reason got = read_text(texts[i], &time_ns);
        if (got != reason) {
            fail_msg("'%s': %s, not %s", texts[i], mete__reason_name(got), mete__reason_name(reason));
        }
    }
}

static void accept(const struct good *goods, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t time_ns = 7;
        enum mete__reason got = read_text(goods[i].text, &time_ns);
        if (got != METE__REASON_NONE || time_ns != goods[i].time_ns) {
            fail_msg("'%s': %s, %llu, not %llu", goods[i].text, mete__reason_name(got), (unsigned long long)time_ns,
                     (unsigned long long)goods[i].time_ns);
        }
    }
}

#define REFUSE(texts, reason) refuse(texts, sizeof(texts) / sizeof((texts)[0]), reason)
#define ACCEPT(goods) accept(goods, sizeof(goods) / sizeof((goods)[0]))

static void common_log_times_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "29/Feb/2024:00:00:00",        "29/Feb/2024:00:00:00 ",       "29/Feb/2024:00:00:00 +",
        "29/Feb/2024:00:00:00 +000",   "29/Feb/2024:00:00:00 +00000", "29/Feb/2024:00:00:00 0000",
        "29/Feb/2024:00:00:00 +2400",  "29/Feb/2024:00:00:00 +0060",  "29/Feb/2023:00:00:00 +0000",
        "29/Feb/2100:00:00:00 +0000",  "30/Feb/2024:00:00:00 +0000",  "31/Apr/2024:00:00:00 +0000",
        "00/Feb/2024:00:00:00 +0000",  "29/feb/2024:00:00:00 +0000",  "29/Fib/2024:00:00:00 +0000",
        "29/Feb/2024:24:00:00 +0000",  "29/Feb/2024:00:60:00 +0000",  "29/Feb/2024:00:00:60 +0000",
        "29/Feb/2024:23:59:61 +0000",  "9/Feb/2024:00:00:00 +0000",   "29/Feb/2024:00:00:00. +0000",
        "29/02/2024:00:00:00 +0000",   "29/Feb/24:00:00:00 +0000",    "29/Feb/2024 00:00:00 +0000",
        "29/Feb/2024:00:00:00  +0000", "29/Feb/2024:00:00:00+0000",   "29/Feb/0000:00:00:00 +0000",
        "29/Feb/2024:-1:00:00 +0000",  "29/Feb/2024:0 :00:00 +0000",
    };
    REFUSE(texts, METE__REASON_BAD_TIME);
    static const char *const outside[] = {
        "31/Dec/1969:23:59:59 +0000", "01/Jan/1970:00:59:59 +0100",     "01/Jan/2100:00:00:01 +0000",
        "31/Dec/2099:23:00:01 -0100", "01/Jan/2100:00:00:00.001 +0000", "01/Jan/9999:00:00:00 +0000",
        "01/Jan/0001:00:00:00 +0000",
    };
    REFUSE(outside, METE__REASON_TIME_RANGE);
}

static void common_log_times_are_read(void **state)
{
    (void)state;
    static const struct good goods[] = {
        {"29/Feb/2024:00:00:00 +0000", LEAP_DAY * NS},
        {"28/Feb/2024:16:30:02 -0730", (LEAP_DAY + 2) * NS},
        {"29/Feb/2024:05:45:02 +0545", (LEAP_DAY + 2) * NS},
        {"29/Feb/2024:00:00:00.123 +0000", LEAP_DAY * NS + 123000000},
        {"17/May/2015:10:05:03 +0000", UINT64_C(1431857103) * NS},
        {"01/Jan/1970:00:00:00 +0000", 0},
        {"01/Jan/1970:01:00:00 +0100", 0},
        {"31/Dec/1969:23:00:00 -0100", 0},
        {"31/Dec/2099:23:59:59 +0000", (LAST_SECOND - 1) * NS},
        {"01/Jan/2100:00:00:00 +0000", METE_TIME_MAX},
        {"31/Dec/2016:23:59:60 +0000", UINT64_C(1483228800) * NS},
        {"01/Jan/2017:00:59:60 +0100", UINT64_C(1483228800) * NS},
    };
    ACCEPT(goods);
}

static void iso_times_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "2024-02-29",
        "2024-02-29T",
        "2024-02-29T00:00",
        "2024-02-29T00:00:0",
        "2024-02-30T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-00-01T00:00:00Z",
        "2024-2-29T00:00:00Z",
        "2024-02-29_00:00:00Z",
        "2024-02-29T25:00:00Z",
        "2024-02-29T00:00:00.Z",
        "2024-02-29T00:00:00X",
        "2024-02-29T00:00:00ZZ",
        "2024-02-29T00:00:00+5",
        "2024-02-29T00:00:00+05:4",
        "2024-02-29T00:00:60Z",
        "2024-02-29T00:00:00+05:60",
        "2024-02-29T00:00:00+24:00",
        "2024-",
        "2024-02-29T00:00:00+05:",
        "2024-02-29T00:00:00 CET",
    };
    REFUSE(texts, METE__REASON_BAD_TIME);
    static const char *const outside[] = {"1969-12-31T23:59:59.999999999Z", "2100-01-01T00:00:00.000000001Z",
                                          "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"};
    REFUSE(outside, METE__REASON_TIME_RANGE);
}

static void iso_times_are_read(void **state)
{
    (void)state;
    static const struct good goods[] = {
        {"2024-02-29T00:00:00Z", LEAP_DAY * NS},
        {"2024-02-29t00:00:00z", LEAP_DAY * NS},
        {"2024-02-29 00:00:00", LEAP_DAY * NS},
        {"2024-02-29 00:00:00 UTC", LEAP_DAY * NS},
        {"2024-02-29 00:00:00 +0000", LEAP_DAY * NS},
        {"2024-02-29T05:45:00+05:45", LEAP_DAY * NS},
        {"2024-02-28T19:00:00-05", LEAP_DAY * NS},
        {"2024-02-28T19:00:00-0500", LEAP_DAY * NS},
        {"2024-02-29T00:00:00.5Z", LEAP_DAY * NS + 500000000},
        {"2024-02-29T00:00:00,000000001Z", LEAP_DAY * NS + 1},
        {"2024-02-29T00:00:00.1234567899999Z", LEAP_DAY * NS + 123456789},
        {"2023-11-16 18:15:46.6805900", UINT64_C(1700158546) * NS + 680590000},
        {"1970-01-01T00:00:00.000000001Z", 1},
        {"2100-01-01T00:00:00Z", METE_TIME_MAX},
        {"2016-12-31T23:59:60Z", UINT64_C(1483228800) * NS},
    };
    ACCEPT(goods);
}

static void numbers_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",   "-",  ".",   "1.", ".5",  "1.5.", "1e",   "1e+", "0x10",
                                        "1 ", " 1", "1,5", "+1", "nan", "1e99", "soon", "12a", "1..2"};
    REFUSE(texts, METE__REASON_BAD_TIME);
    static const char *const outside[] = {
        "-1", "-0.5", "4102444800000000001", "18446744073709551616", "99999999999999999999999999", "1e30"};
    REFUSE(outside, METE__REASON_TIME_RANGE);
}

/* A number is read in the largest unit that puts it before 2100. */
static void numbers_are_read(void **state)
{
    (void)state;
    static const struct good goods[] = {
        {"0", 0},
        {"1", NS},
        {"0000000000000000000000000000000000000001", NS},
        {"0.000000001", 1},
        {"0.0000000019", 1},
        {"1709164800", LEAP_DAY * NS},
        {"1709164800.123456789", LEAP_DAY * NS + 123456789},
        {"1709164800.1234567899", LEAP_DAY * NS + 123456789},
        {"1.7091648001e9", LEAP_DAY * NS + 100000000},
        {"1.709164800123456789E+09", LEAP_DAY * NS + 123456789},
        {"17091648000e-1", LEAP_DAY * NS},
        {"1709164800123", LEAP_DAY * NS + 123000000},
        {"1709164800123.456789", LEAP_DAY * NS + 123456789},
        {"1709164800123456", LEAP_DAY * NS + 123456000},
        {"1709164800123456.789", LEAP_DAY * NS + 123456789},
        {"1709164800123456789", LEAP_DAY * NS + 123456789},
        {"1709164800123456789.9", LEAP_DAY * NS + 123456789},
        {"4102444800", METE_TIME_MAX},
        {"4102444800.0", METE_TIME_MAX},
        {"4102444801", UINT64_C(4102444801) * 1000000},
        {"4102444800000", METE_TIME_MAX},
        {"4102444800001", UINT64_C(4102444800001) * 1000},
        {"4102444800000000", METE_TIME_MAX},
        {"4102444800000001", UINT64_C(4102444800000001)},
        {"4102444800000000000", METE_TIME_MAX},
    };
    ACCEPT(goods);
}

/* The reader of common logs takes no other form. */
static void clf_alone_takes_no_other_form(void **state)
{
    (void)state;
    uint64_t time_ns;
    const char *iso = "2024-02-29T00:00:00Z";
    assert_int_equal(mete__time_read_clf(mete__text_of(iso, strlen(iso)), &time_ns), METE__REASON_BAD_TIME);
    assert_int_equal(mete__time_read_clf(mete__text_of("1709164800", 10), &time_ns), METE__REASON_BAD_TIME);
    assert_int_equal(mete__time_read_clf(mete__text_of("", 0), &time_ns), METE__REASON_BAD_TIME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_log_times_are_refused),  cmocka_unit_test(common_log_times_are_read),
        cmocka_unit_test(iso_times_are_refused),         cmocka_unit_test(iso_times_are_read),
        cmocka_unit_test(numbers_are_refused),           cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(clf_alone_takes_no_other_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

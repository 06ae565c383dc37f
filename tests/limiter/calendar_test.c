/* SPDX-License-Identifier: Apache-2.0 */
/* Calendar windows by hand: each rule of calendar.h in a zone that needs it. */
#include "limiter/calendar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "limiter/civil.h"

#define HOUR 3600
#define DAY 86400

static struct mete__zone *zone_of(const char *name)
{
    struct mete__zone *zone = NULL;
    assert_int_equal(mete__zone_open(name, &zone), METE_OK);
    return zone;
}

/* The window of `unit` is [start_s, end_s) for its first and its last second,
 * and the windows beside it end and begin there. */
static void assert_window(const char *name, enum mete_alignment unit, int64_t start_s, int64_t end_s)
{
    struct mete__zone *zone = zone_of(name);
    struct mete__calendar_span span;
    const int64_t moments[] = {start_s, start_s + (end_s - start_s) / 2, end_s - 1};
    for (size_t i = 0; i < 3; i++) {
        assert_true(mete__calendar_window(zone, unit, moments[i], &span));
        assert_int_equal(span.start_s, start_s);
        assert_int_equal(span.end_s, end_s);
    }
    assert_true(mete__calendar_window(zone, unit, end_s, &span));
    assert_int_equal(span.start_s, end_s);
    assert_true(mete__calendar_window(zone, unit, start_s - 1, &span));
    assert_int_equal(span.end_s, start_s);
    mete__zone_destroy(zone);
}

/* --- plain ---------------------------------------------------------------- */

static void test_utc(void **state)
{
    (void)state;
    /* 2026-11-30T12:34:56Z, a Monday. */
    const int64_t day = 1795996800;
    assert_window("", METE_ALIGN_MINUTE, day + 12 * HOUR + 34 * 60, day + 12 * HOUR + 35 * 60);
    assert_window("", METE_ALIGN_HOUR, day + 12 * HOUR, day + 13 * HOUR);
    assert_window("", METE_ALIGN_DAY, day, day + DAY);
    assert_window("", METE_ALIGN_WEEK, day, day + 7 * DAY);
    assert_window("", METE_ALIGN_MONTH, day - 29 * DAY, day + DAY);
    assert_window("", METE_ALIGN_YEAR, 1767225600, 1767225600 + 365 * DAY);
}

static void test_leap_years(void **state)
{
    (void)state;
    assert_window("", METE_ALIGN_MONTH, 951868800 - 29 * DAY, 951868800); /* February 2000 */
    assert_window("", METE_ALIGN_YEAR, 1704067200, 1704067200 + 366 * DAY);
    assert_window("", METE_ALIGN_MONTH, INT64_C(4107542400) - 28 * DAY, INT64_C(4107542400)); /* February 2100 */
}

static void test_range(void **state)
{
    (void)state;
    struct mete__zone *utc = zone_of("");
    struct mete__calendar_span span = {-7, -7};
    assert_false(mete__calendar_window(utc, METE_ALIGN_DAY, -1, &span));
    assert_false(mete__calendar_window(utc, METE_ALIGN_DAY, METE__CALENDAR_END_S, &span));
    assert_false(mete__calendar_window(utc, METE_ALIGN_EPOCH, 0, &span));
    assert_false(mete__calendar_window(utc, METE_ALIGN_FIRST, 0, &span));
    assert_false(mete__calendar_window(utc, (enum mete_alignment)(METE_ALIGN_YEAR + 1), 0, &span));
    assert_int_equal(span.start_s, -7);
    assert_true(mete__calendar_window(utc, METE_ALIGN_WEEK, 0, &span));
    assert_int_equal(span.start_s, -3 * DAY);
    assert_int_equal(span.end_s, 4 * DAY);
    assert_true(mete__calendar_window(utc, METE_ALIGN_YEAR, METE__CALENDAR_END_S - 1, &span));
    assert_int_equal(span.start_s, METE_TIME_MAX / 1000000000);
    assert_int_equal(span.end_s, METE__CALENDAR_END_S);
    mete__zone_destroy(utc);

    struct mete__zone *zone = zone_of("America/New_York");
    assert_true(mete__calendar_window(zone, METE_ALIGN_YEAR, 0, &span));
    assert_int_equal(span.start_s, 5 * HOUR - 365 * DAY);
    assert_int_equal(span.end_s, 5 * HOUR);
    mete__zone_destroy(zone);
}

/* --- days and longer -------------------------------------------------------- */

static void test_days_of_23_and_25_hours(void **state)
{
    (void)state;
    /* Berlin, 29 March and 25 October 2026. */
    const int64_t spring = 1774738800;
    const int64_t autumn = 1792879200;
    assert_window("Europe/Berlin", METE_ALIGN_DAY, spring, spring + 23 * HOUR);
    assert_window("Europe/Berlin", METE_ALIGN_DAY, autumn, autumn + 25 * HOUR);
    assert_window("Europe/Berlin", METE_ALIGN_WEEK, spring - 6 * DAY, spring + 23 * HOUR);
    assert_window("Europe/Berlin", METE_ALIGN_MONTH, 1772319600, 1772319600 + 31 * DAY - HOUR);
    assert_window("Australia/Lord_Howe", METE_ALIGN_DAY, 1775307600, 1775307600 + 24 * HOUR + 1800);
}

static void test_day_begins_at_the_end_of_a_gap(void **state)
{
    (void)state;
    /* Sao Paulo, 4 November 2018: 0:00 is skipped, the day begins at 1:00. */
    assert_window("America/Sao_Paulo", METE_ALIGN_DAY, 1541300400, 1541300400 + 23 * HOUR);
    /* Beirut, 31 March 2024, as well. */
    assert_window("Asia/Beirut", METE_ALIGN_DAY, 1711836000, 1711836000 + 23 * HOUR);
    assert_window("Asia/Beirut", METE_ALIGN_WEEK, 1711836000 - 6 * DAY, 1711836000 + 23 * HOUR);
}

static void test_day_begins_at_the_first_of_two_midnights(void **state)
{
    (void)state;
    /* Havana, 1 November 2026: back from 1:00 to 0:00. */
    assert_window("America/Havana", METE_ALIGN_DAY, 1793505600, 1793505600 + 25 * HOUR);
    assert_window("America/Havana", METE_ALIGN_MONTH, 1793505600, 1793505600 + 30 * DAY + HOUR);
    /* Sao Paulo, 18 February 2018: back from 0:00 to 23:00; the 17th has 25 hours. */
    assert_window("America/Sao_Paulo", METE_ALIGN_DAY, 1518832800, 1518832800 + 25 * HOUR);
    /* St John's, 7 November 2010: back from 0:01 to 23:01.  The 7th begins at
     * the first midnight and keeps the repeated 59 minutes of the 6th. */
    assert_window("America/St_Johns", METE_ALIGN_DAY, 1289097000, 1289097000 + 25 * HOUR);
    assert_window("America/St_Johns", METE_ALIGN_DAY, 1289097000 - DAY, 1289097000);
    struct mete__zone *zone = zone_of("America/St_Johns");
    struct mete__calendar_span span;
    for (int64_t at_s = 1289097000; at_s < 1289097000 + 2 * HOUR; at_s++) {
        assert_true(mete__calendar_window(zone, METE_ALIGN_DAY, at_s, &span));
        assert_int_equal(span.start_s, 1289097000);
    }
    mete__zone_destroy(zone);
}

static void test_skipped_day(void **state)
{
    (void)state;
    /* Apia went from the end of 29 December 2011 to the start of the 31st. */
    const int64_t change = 1325239200;
    assert_window("Pacific/Apia", METE_ALIGN_DAY, change - DAY, change);
    assert_window("Pacific/Apia", METE_ALIGN_DAY, change, change + DAY);
    assert_window("Pacific/Apia", METE_ALIGN_WEEK, change - 4 * DAY, change + 2 * DAY);
    assert_window("Pacific/Apia", METE_ALIGN_MONTH, change - 29 * DAY, change + DAY);
}

/* --- minutes and hours ------------------------------------------------------ */

static void test_hours_of_odd_offsets(void **state)
{
    (void)state;
    /* 2026-11-30T12:00Z is 17:45 in Kathmandu and 17:30 in Kolkata. */
    const int64_t noon = 1796040000;
    assert_window("Asia/Kathmandu", METE_ALIGN_HOUR, noon - 45 * 60, noon + 15 * 60);
    assert_window("Asia/Kolkata", METE_ALIGN_HOUR, noon - 30 * 60, noon + 30 * 60);
    /* Monrovia was 44:30 behind UTC until 1972. */
    assert_window("Africa/Monrovia", METE_ALIGN_MINUTE, 30, 90);
    assert_window("Africa/Monrovia", METE_ALIGN_HOUR, 44 * 60 + 30, 104 * 60 + 30);
}

static void test_hours_in_a_fold_are_two(void **state)
{
    (void)state;
    const int64_t change = 1792890000; /* Berlin, 25 October 2026, 3:00 becomes 2:00 */
    assert_window("Europe/Berlin", METE_ALIGN_HOUR, change - HOUR, change);
    assert_window("Europe/Berlin", METE_ALIGN_HOUR, change, change + HOUR);
    assert_window("Europe/Berlin", METE_ALIGN_MINUTE, change - 60, change);
    assert_window("Europe/Berlin", METE_ALIGN_MINUTE, change, change + 60);
    /* Lord Howe, 5 April 2026: 2:00 becomes 1:30. */
    assert_window("Australia/Lord_Howe", METE_ALIGN_HOUR, 1775314800 - HOUR, 1775314800);
    assert_window("Australia/Lord_Howe", METE_ALIGN_HOUR, 1775314800, 1775314800 + 1800);
}

static void test_hours_beside_a_gap(void **state)
{
    (void)state;
    const int64_t change = 1774746000; /* Berlin, 29 March 2026, 2:00 becomes 3:00 */
    assert_window("Europe/Berlin", METE_ALIGN_HOUR, change - HOUR, change);
    assert_window("Europe/Berlin", METE_ALIGN_HOUR, change, change + HOUR);
    /* Lord Howe, 4 October 2026: 2:00 becomes 2:30. */
    assert_window("Australia/Lord_Howe", METE_ALIGN_HOUR, 1791041400, 1791041400 + 1800);
    /* Kathmandu, 1 January 1986: 0:00 becomes 0:15. */
    assert_window("Asia/Kathmandu", METE_ALIGN_HOUR, 504901800, 504901800 + 45 * 60);
    /* Monrovia, 7 January 1972: 0:00 becomes 0:44:30. */
    assert_window("Africa/Monrovia", METE_ALIGN_MINUTE, 63593070, 63593070 + 30);
    assert_window("Africa/Monrovia", METE_ALIGN_HOUR, 63593070, 63593070 + 930);
}

/* A step forward within an hour makes that hour shorter, one window; a step back
 * divides it in two. */
static void test_change_inside_an_hour(void **state)
{
    (void)state;
    struct mete__zone *zone = calloc(1, sizeof *zone + 4 * sizeof zone->steps[0]);
    assert_non_null(zone);
    const struct mete__zone_step steps[] = {{INT64_MIN, 0}, {7200 + 600, 600}, {7200 + 1200, 1200}, {7200 + 1800, 60}};
    zone->steps_count = 4;
    for (size_t i = 0; i < 4; i++) {
        zone->steps[i] = steps[i];
    }
    assert_true(mete__zone_is_valid(zone));
    const struct mete__calendar_span expected[] = {{3600, 7200}, {7200, 9000}, {9000, 10740}, {10740, 14340}};
    for (size_t i = 0; i < 4; i++) {
        for (int64_t at_s = expected[i].start_s; at_s < expected[i].end_s; at_s++) {
            struct mete__calendar_span span;
            assert_true(mete__calendar_window(zone, METE_ALIGN_HOUR, at_s, &span));
            assert_int_equal(span.start_s, expected[i].start_s);
            assert_int_equal(span.end_s, expected[i].end_s);
        }
    }
    mete__zone_destroy(zone);
}

/* --- packing, and the calendar itself ---------------------------------------- */

static void test_pack(void **state)
{
    (void)state;
    assert_false(mete__calendar_span_holds(mete__calendar_span_unpack(0), METE__ZONE_FROM_S));
    struct mete__zone *zone = zone_of("America/New_York");
    const int64_t moments[] = {0, 1795996800, METE__CALENDAR_END_S - 1};
    for (size_t i = 0; i < 3; i++) {
        for (int unit = METE_ALIGN_MINUTE; unit <= METE_ALIGN_YEAR; unit++) {
            struct mete__calendar_span span;
            assert_true(mete__calendar_window(zone, (enum mete_alignment)unit, moments[i], &span));
            struct mete__calendar_span back = mete__calendar_span_unpack(mete__calendar_span_pack(span));
            assert_int_equal(back.start_s, span.start_s);
            assert_int_equal(back.end_s, span.end_s);
            assert_true(mete__calendar_span_holds(back, moments[i]));
            assert_false(mete__calendar_span_holds(back, span.end_s));
            assert_false(mete__calendar_span_holds(back, span.start_s - 1));
        }
    }
    mete__zone_destroy(zone);
}

/* Every day from 1601 to 2400, counted by the rules a child learns. */
static void test_civil(void **state)
{
    (void)state;
    const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t days = -134774; /* 1601-01-01, a Monday */
    int weekday = 1;
    for (int year = 1601; year <= 2400; year++) {
        for (int month = 1; month <= 12; month++) {
            int length = lengths[month - 1] + (month == 2 && mete__civil_is_leap(year));
            for (int day = 1; day <= length; day++, days++, weekday = (weekday + 1) % 7) {
                assert_int_equal(mete__civil_days(year, month, day), days);
                assert_int_equal(mete__civil_of(days).year, year);
                assert_int_equal(mete__civil_of(days).month, month);
                assert_int_equal(mete__civil_weekday(days), weekday);
            }
        }
    }
    assert_int_equal(days, 157420); /* 2401-01-01 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utc),
        cmocka_unit_test(test_leap_years),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_days_of_23_and_25_hours),
        cmocka_unit_test(test_day_begins_at_the_end_of_a_gap),
        cmocka_unit_test(test_day_begins_at_the_first_of_two_midnights),
        cmocka_unit_test(test_skipped_day),
        cmocka_unit_test(test_hours_of_odd_offsets),
        cmocka_unit_test(test_hours_in_a_fold_are_two),
        cmocka_unit_test(test_hours_beside_a_gap),
        cmocka_unit_test(test_change_inside_an_hour),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_civil),
    };
    unsetenv("TZDIR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days and dates of the Gregorian calendar, counted from 1970-01-01, for years
 * from 1 up.  The year is taken to begin in March, so that the leap day is its
 * last day and the months before it have fixed lengths: days before month m
 * (March is 0) are floor((153m + 2) / 5).
 *
 * Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"
 * (days_from_civil, civil_from_days).
 */
#ifndef METE_LIMITER_CIVIL_H
#define METE_LIMITER_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define METE__DAY_S 86400

/* From 0000-03-01 to 1970-01-01. */
#define METE__CIVIL_SHIFT_DAYS 719468

struct mete__civil {
    int year;
    int month; /* 1..12 */
};

/* a / b rounded towards minus infinity; b > 0. */
static inline int64_t mete__div_floor_i64(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static inline bool mete__civil_is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The day of a date; day 1..31 of month 1..12. */
static inline int64_t mete__civil_days(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = (month + 9) % 12;
    return y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - METE__CIVIL_SHIFT_DAYS;
}

/* The year and the month that hold a day. */
static inline struct mete__civil mete__civil_of(int64_t days)
{
    const int64_t days_400y = 146097;
    const int64_t days_100y = 36524;
    const int64_t days_4y = 1461;
    int64_t from_march = days + METE__CIVIL_SHIFT_DAYS;
    int64_t rest = from_march % days_400y;
    /* Without the leap days so far, every year has 365 days. */
    int64_t y = (rest - rest / (days_4y - 1) + rest / days_100y - rest / (days_400y - 1)) / 365;
    int64_t day_of_year = rest - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * day_of_year + 2) / 153;
    int month = (int)(m < 10 ? m + 3 : m - 9);
    return (struct mete__civil){(int)(from_march / days_400y * 400 + y + (month <= 2)), month};
}

/* 0 for Sunday .. 6 for Saturday; 1970-01-01 was a Thursday. */
static inline int mete__civil_weekday(int64_t days)
{
    return (int)(days + 4 - 7 * mete__div_floor_i64(days + 4, 7));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Calendar windows: the rules of calendar.h, followed word by word. */
#include "limiter/calendar.h"

#include "limiter/civil.h"

/* 1970-01-01 was the fourth day of its week. */
#define WEEKDAYS_BEFORE_1970 3

/* --- days and longer: numbered units of the local calendar --------------- */

static int64_t unit_of_day(enum mete_alignment unit, int64_t days)
{
    struct mete__civil civil;
    switch (unit) {
    case METE_ALIGN_WEEK:
        return mete__div_floor_i64(days + WEEKDAYS_BEFORE_1970, 7);
    case METE_ALIGN_MONTH:
        civil = mete__civil_of(days);
        return civil.year * 12 + civil.month - 1;
    case METE_ALIGN_YEAR:
        return mete__civil_of(days).year;
    default:
        return days;
    }
}

static int64_t unit_first_day(enum mete_alignment unit, int64_t number)
{
    switch (unit) {
    case METE_ALIGN_WEEK:
        return number * 7 - WEEKDAYS_BEFORE_1970;
    case METE_ALIGN_MONTH:
        return mete__civil_days((int)(number / 12), (int)(number % 12) + 1, 1);
    case METE_ALIGN_YEAR:
        return mete__civil_days((int)number, 1, 1);
    default:
        return number;
    }
}

/*
 * The latest unit that clocks have shown by now is the one: all later units
 * begin after now, and all earlier ones have ended.
 */
static struct mete__calendar_span date_window(const struct mete__zone *zone, enum mete_alignment unit, int64_t unix_s)
{
    int64_t days = mete__div_floor_i64(mete__zone_most_s(zone, unix_s), METE__DAY_S);
    int64_t number = unit_of_day(unit, days);
    return (struct mete__calendar_span){
        mete__zone_first_s(zone, unit_first_day(unit, number) * METE__DAY_S),
        mete__zone_first_s(zone, unit_first_day(unit, number + 1) * METE__DAY_S),
    };
}

/* --- minutes and hours: what the clock shows ------------------------------ */

/* True when the change of clocks at step i, which is not the first, lies inside
 * the unit `number`: it is shown before and after, and clocks went forward. */
static bool is_inside(const struct mete__zone *zone, size_t i, int64_t unit_s, int64_t number)
{
    const struct mete__zone_step *before = &zone->steps[i - 1];
    const struct mete__zone_step *after = &zone->steps[i];
    return before->offset_s < after->offset_s &&
           mete__div_floor_i64(after->at_s - 1 + before->offset_s, unit_s) == number &&
           mete__div_floor_i64(after->at_s + after->offset_s, unit_s) == number;
}

static int64_t clock_start_s(const struct mete__zone *zone, size_t i, int64_t unit_s, int64_t number)
{
    for (;; i--) {
        int64_t start_s = number * unit_s - zone->steps[i].offset_s;
        if (start_s >= zone->steps[i].at_s) {
            return start_s;
        }
        if (!is_inside(zone, i, unit_s, number)) {
            return zone->steps[i].at_s;
        }
    }
}

static int64_t clock_end_s(const struct mete__zone *zone, size_t i, int64_t unit_s, int64_t number)
{
    for (;; i++) {
        int64_t end_s = (number + 1) * unit_s - zone->steps[i].offset_s;
        if (i + 1 == zone->steps_count || end_s <= zone->steps[i + 1].at_s) {
            return end_s;
        }
        if (!is_inside(zone, i + 1, unit_s, number)) {
            return zone->steps[i + 1].at_s;
        }
    }
}

static struct mete__calendar_span clock_window(const struct mete__zone *zone, int64_t unit_s, int64_t unix_s)
{
    size_t i = mete__zone_step_at(zone, unix_s);
    int64_t number = mete__div_floor_i64(unix_s + zone->steps[i].offset_s, unit_s);
    return (struct mete__calendar_span){
        clock_start_s(zone, i, unit_s, number),
        clock_end_s(zone, i, unit_s, number),
    };
}

bool mete__calendar_window(const struct mete__zone *zone, enum mete_alignment unit, int64_t unix_s,
                           struct mete__calendar_span *out)
{
    if (unix_s < 0 || unix_s >= METE__CALENDAR_END_S) {
        return false;
    }
    switch (unit) {
    case METE_ALIGN_MINUTE:
        *out = clock_window(zone, 60, unix_s);
        return true;
    case METE_ALIGN_HOUR:
        *out = clock_window(zone, 3600, unix_s);
        return true;
    case METE_ALIGN_DAY:
    case METE_ALIGN_WEEK:
    case METE_ALIGN_MONTH:
    case METE_ALIGN_YEAR:
        *out = date_window(zone, unit, unix_s);
        return true;
    default:
        return false;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The footer rule: read, and written out year by year. */
#include "limiter/zone_rule.h"

#include "limiter/civil.h"

#define HOUR_S 3600
#define RULE_TIME_DEFAULT_S (2 * HOUR_S)

/* --- writing out -------------------------------------------------------- */

static int64_t weekday_date_days(const struct mete__zone_date *date, int year)
{
    int64_t first = mete__civil_days(year, date->month, 1);
    int64_t next = date->month == 12 ? mete__civil_days(year + 1, 1, 1) : mete__civil_days(year, date->month + 1, 1);
    int64_t days = first + (date->day - mete__civil_weekday(first) + 7) % 7 + 7 * (date->week - 1);
    /* Week 5 is the last one, which may be the fourth. */
    return days < next ? days : days - 7;
}

static int64_t date_days(const struct mete__zone_date *date, int year)
{
    int64_t new_year = mete__civil_days(year, 1, 1);
    switch (date->kind) {
    case METE__ZONE_DATE_JULIAN:
        return new_year + date->day - 1 + (mete__civil_is_leap(year) && date->day >= 60);
    case METE__ZONE_DATE_ZERO:
        return new_year + date->day;
    case METE__ZONE_DATE_WEEKDAY:
        break;
    }
    return weekday_date_days(date, year);
}

void mete__zone_rule_year(const struct mete__zone_rule *rule, int year, struct mete__zone_step out[2])
{
    const struct mete__zone_date *start = &rule->summer_start;
    const struct mete__zone_date *end = &rule->summer_end;
    struct mete__zone_step begins = {date_days(start, year) * METE__DAY_S + start->time_s - rule->offset_s,
                                     rule->summer_offset_s};
    struct mete__zone_step ends = {date_days(end, year) * METE__DAY_S + end->time_s - rule->summer_offset_s,
                                   rule->offset_s};
    bool begins_first = begins.at_s <= ends.at_s;
    out[0] = begins_first ? begins : ends;
    out[1] = begins_first ? ends : begins;
}

/* --- reading ------------------------------------------------------------ */

static bool take_number(struct mete__text *text, uint64_t min, uint64_t max, int *out)
{
    uint64_t value;
    if (mete__text_u64(text, &value) != METE__NUMBER_OK || value < min || value > max) {
        return false;
    }
    *out = (int)value;
    return true;
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct mete__text *text, uint64_t hours_max, int32_t *out)
{
    bool is_negative = mete__text_eat(text, '-');
    if (!is_negative) {
        mete__text_eat(text, '+');
    }
    int hours;
    int minutes = 0;
    int seconds = 0;
    if (!take_number(text, 0, hours_max, &hours)) {
        return false;
    }
    if (mete__text_eat(text, ':')) {
        if (!take_number(text, 0, 59, &minutes)) {
            return false;
        }
        if (mete__text_eat(text, ':') && !take_number(text, 0, 59, &seconds)) {
            return false;
        }
    }
    int32_t total = hours * HOUR_S + minutes * 60 + seconds;
    *out = is_negative ? -total : total;
    return true;
}

/* POSIX counts offsets from local time to UTC; here they are the other way. */
static bool take_offset(struct mete__text *text, int32_t *out)
{
    int32_t west_s;
    if (!take_time(text, 24, &west_s)) {
        return false;
    }
    *out = -west_s;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* An abbreviation, of which only the length matters: three letters or more, or
 * anything but '>' between < and >. */
static bool take_abbreviation(struct mete__text *text)
{
    if (mete__text_eat(text, '<')) {
        struct mete__text name = mete__text_until(text, '>');
        return mete__text_len(&name) >= 3 && mete__text_eat(text, '>');
    }
    const char *start = text->at;
    while (text->at < text->end && is_letter(*text->at)) {
        text->at++;
    }
    return text->at - start >= 3;
}

static bool take_day(struct mete__text *text, struct mete__zone_date *out)
{
    if (mete__text_eat(text, 'J')) {
        out->kind = METE__ZONE_DATE_JULIAN;
        return take_number(text, 1, 365, &out->day);
    }
    if (mete__text_eat(text, 'M')) {
        out->kind = METE__ZONE_DATE_WEEKDAY;
        return take_number(text, 1, 12, &out->month) && mete__text_eat(text, '.') &&
               take_number(text, 1, 5, &out->week) && mete__text_eat(text, '.') && take_number(text, 0, 6, &out->day);
    }
    out->kind = METE__ZONE_DATE_ZERO;
    return take_number(text, 0, 365, &out->day);
}

/* ,date[/time] */
static bool take_date(struct mete__text *text, struct mete__zone_date *out)
{
    *out = (struct mete__zone_date){.time_s = RULE_TIME_DEFAULT_S};
    if (!mete__text_eat(text, ',') || !take_day(text, out)) {
        return false;
    }
    return !mete__text_eat(text, '/') || take_time(text, 167, &out->time_s);
}

bool mete__zone_rule_parse(struct mete__text text, struct mete__zone_rule *out)
{
    *out = (struct mete__zone_rule){0};
    if (!take_abbreviation(&text) || !take_offset(&text, &out->offset_s)) {
        return false;
    }
    if (mete__text_is_empty(&text)) {
        return true;
    }
    out->has_summer = true;
    if (!take_abbreviation(&text)) {
        return false;
    }
    out->summer_offset_s = out->offset_s + HOUR_S;
    if (!mete__text_is_empty(&text) && *text.at != ',' && !take_offset(&text, &out->summer_offset_s)) {
        return false;
    }
    return take_date(&text, &out->summer_start) && take_date(&text, &out->summer_end) && mete__text_is_empty(&text);
}

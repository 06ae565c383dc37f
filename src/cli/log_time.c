/* SPDX-License-Identifier: Apache-2.0 */
/* Times of logs; log_time.h has the forms. */
#include "cli/log_time.h"

#include <mete/mete.h>

#include "limiter/civil.h"

#define SECOND_NS 1000000000
#define FRACTION_DIGITS 9
/* Significant digits of a number with an exponent: 19 for 2100 in ns, and as many again. */
#define NUMBER_DIGITS_MAX 40

struct clock_time {
    int year, month, day;
    int hour, minute, second;
    uint64_t fraction_ns;
    int64_t zone_s; /* east of UTC */
};

static enum mete__reason read_iso(struct mete__text text, uint64_t *time_ns);
static enum mete__reason read_number(struct mete__text text, uint64_t *time_ns);
static enum mete__reason to_unix(const struct clock_time *time, uint64_t *time_ns);

enum mete__reason mete__time_read(struct mete__text text, uint64_t *time_ns)
{
    size_t len = mete__text_len(&text);
    if (len > 4 && text.at[4] == '-') {
        return read_iso(text, time_ns);
    }
    if (len > 2 && text.at[2] == '/') {
        return mete__time_read_clf(text, time_ns);
    }
    return read_number(text, time_ns);
}

/* Takes exactly `digits` digits. */
static bool take_digits(struct mete__text *text, int digits, int *out)
{
    if (mete__text_len(text) < (size_t)digits) {
        return false;
    }
    int value = 0;
    for (int i = 0; i < digits; i++) {
        char c = text->at[i];
        if (!mete__is_digit(c)) {
            return false;
        }
        value = value * 10 + (c - '0');
    }
    text->at += digits;
    *out = value;
    return true;
}

static bool take_clock(struct mete__text *text, struct clock_time *time)
{
    return take_digits(text, 2, &time->hour) && mete__text_eat(text, ':') && take_digits(text, 2, &time->minute) &&
           mete__text_eat(text, ':') && take_digits(text, 2, &time->second);
}

/* Takes "." or "," and at least one digit, when a separator comes next. */
static bool take_fraction(struct mete__text *text, uint64_t *fraction_ns)
{
    *fraction_ns = 0;
    if (!mete__text_eat(text, '.') && !mete__text_eat(text, ',')) {
        return true;
    }
    int digits = 0;
    for (; !mete__text_is_empty(text) && mete__is_digit(*text->at); text->at++, digits++) {
        if (digits < FRACTION_DIGITS) {
            *fraction_ns = *fraction_ns * 10 + (uint64_t)(*text->at - '0');
        }
    }
    for (int i = digits; i < FRACTION_DIGITS; i++) {
        *fraction_ns *= 10;
    }
    return digits > 0;
}

/* Takes "+0545", "+05:45" or "+05". */
static bool take_offset(struct mete__text *text, int64_t *zone_s)
{
    bool west = mete__text_eat(text, '-');
    int hours = 0;
    int minutes = 0;
    if ((!west && !mete__text_eat(text, '+')) || !take_digits(text, 2, &hours)) {
        return false;
    }
    bool colon = mete__text_eat(text, ':');
    if ((colon || !mete__text_is_empty(text)) && !take_digits(text, 2, &minutes)) {
        return false;
    }
    if (hours > 23 || minutes > 59) {
        return false;
    }
    *zone_s = (west ? -1 : 1) * (int64_t)(hours * 60 + minutes) * 60;
    return true;
}

static int month_of(const char name[3])
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++) {
        if (memcmp(months + (size_t)i * 3, name, 3) == 0) {
            return i + 1;
        }
    }
    return 0;
}

static bool take_month_name(struct mete__text *text, int *month)
{
    if (mete__text_len(text) < 3) {
        return false;
    }
    *month = month_of(text->at);
    text->at += 3;
    return *month != 0;
}

enum mete__reason mete__time_read_clf(struct mete__text text, uint64_t *time_ns)
{
    struct clock_time time = {0};
    bool ok = take_digits(&text, 2, &time.day) && mete__text_eat(&text, '/') && take_month_name(&text, &time.month) &&
              mete__text_eat(&text, '/') && take_digits(&text, 4, &time.year) && mete__text_eat(&text, ':') &&
              take_clock(&text, &time) && take_fraction(&text, &time.fraction_ns) && mete__text_eat(&text, ' ') &&
              take_offset(&text, &time.zone_s) && mete__text_is_empty(&text);
    return ok ? to_unix(&time, time_ns) : METE__REASON_BAD_TIME;
}

/* Takes the zone after an ISO time, if there is one. */
static bool take_iso_zone(struct mete__text *text, int64_t *zone_s)
{
    *zone_s = 0;
    (void)mete__text_eat(text, ' ');
    if (mete__text_is_empty(text)) {
        return true;
    }
    if (mete__text_is(text, "Z") || mete__text_is(text, "z") || mete__text_is(text, "UTC")) {
        text->at = text->end;
        return true;
    }
    return take_offset(text, zone_s);
}

static enum mete__reason read_iso(struct mete__text text, uint64_t *time_ns)
{
    struct clock_time time = {0};
    bool ok = take_digits(&text, 4, &time.year) && mete__text_eat(&text, '-') && take_digits(&text, 2, &time.month) &&
              mete__text_eat(&text, '-') && take_digits(&text, 2, &time.day) &&
              (mete__text_eat(&text, 'T') || mete__text_eat(&text, 't') || mete__text_eat(&text, ' ')) &&
              take_clock(&text, &time) && take_fraction(&text, &time.fraction_ns) &&
              take_iso_zone(&text, &time.zone_s) && mete__text_is_empty(&text);
    return ok ? to_unix(&time, time_ns) : METE__REASON_BAD_TIME;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && mete__civil_is_leap(year));
}

/* True for a date and time of day that exist; a second 60 is judged later. */
static bool is_real(const struct clock_time *time)
{
    return time->year >= 1 && time->month >= 1 && time->month <= 12 && time->day >= 1 &&
           time->day <= days_in_month(time->year, time->month) && time->hour <= 23 && time->minute <= 59 &&
           time->second <= 60;
}

static enum mete__reason to_unix(const struct clock_time *time, uint64_t *time_ns)
{
    if (!is_real(time)) {
        return METE__REASON_BAD_TIME;
    }
    int64_t days = mete__civil_days(time->year, time->month, time->day);
    int64_t seconds = days * METE__DAY_S + time->hour * 3600 + time->minute * 60 + time->second - time->zone_s;
    if (time->second == 60 && seconds % METE__DAY_S != 0) {
        return METE__REASON_BAD_TIME;
    }
    if (seconds < 0 || (uint64_t)seconds > METE_TIME_MAX / SECOND_NS) {
        return METE__REASON_TIME_RANGE;
    }
    uint64_t ns = (uint64_t)seconds * SECOND_NS + time->fraction_ns;
    if (ns > METE_TIME_MAX) {
        return METE__REASON_TIME_RANGE;
    }
    *time_ns = ns;
    return METE__REASON_NONE;
}

/* --- numbers ------------------------------------------------------------ */

/* A decimal number as its digits and the place of its point: value =
 * 0.d1d2d3... * 10^point. */
struct decimal {
    char digits[NUMBER_DIGITS_MAX];
    int count;
    int point;
};

/* Takes digits.  Leading zeros have no place of their own; digits past the last
 * place are dropped, which only a fraction can reach. */
static int take_decimal_digits(struct mete__text *text, struct decimal *number)
{
    int taken = 0;
    for (; !mete__text_is_empty(text) && mete__is_digit(*text->at) && taken < NUMBER_DIGITS_MAX; text->at++, taken++) {
        if (number->count < NUMBER_DIGITS_MAX) {
            number->digits[number->count++] = *text->at;
        }
    }
    return taken;
}

/* Takes "e+9" and the like, when it comes next. */
static bool take_exponent(struct mete__text *text, struct decimal *number)
{
    if (!mete__text_eat(text, 'e') && !mete__text_eat(text, 'E')) {
        return true;
    }
    bool negative = mete__text_eat(text, '-');
    if (!negative) {
        (void)mete__text_eat(text, '+');
    }
    uint64_t exponent = 0;
    if (mete__text_u64(text, &exponent) != METE__NUMBER_OK || exponent > NUMBER_DIGITS_MAX) {
        return false;
    }
    number->point += negative ? -(int)exponent : (int)exponent;
    return true;
}

static bool take_decimal(struct mete__text *text, struct decimal *number)
{
    number->count = 0;
    number->point = take_decimal_digits(text, number);
    if (number->point == 0) {
        return false;
    }
    if (mete__text_eat(text, '.') && take_decimal_digits(text, number) == 0) {
        return false;
    }
    return take_exponent(text, number);
}

/* The whole part of number * 10^shift; false when it is above METE_TIME_MAX. */
static bool scaled(const struct decimal *number, int shift, uint64_t *out)
{
    uint64_t value = 0;
    for (int i = 0; i < number->point + shift; i++) {
        uint64_t digit = i < number->count ? (uint64_t)(number->digits[i] - '0') : 0;
        if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    *out = value;
    return value <= METE_TIME_MAX;
}

static enum mete__reason read_number(struct mete__text text, uint64_t *time_ns)
{
    bool negative = mete__text_eat(&text, '-');
    struct decimal number;
    if (!take_decimal(&text, &number) || !mete__text_is_empty(&text)) {
        return METE__REASON_BAD_TIME;
    }
    for (int shift = FRACTION_DIGITS; !negative && shift >= 0; shift -= 3) {
        if (scaled(&number, shift, time_ns)) {
            return METE__REASON_NONE;
        }
    }
    return METE__REASON_TIME_RANGE;
}

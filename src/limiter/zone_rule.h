/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule in the footer of a TZif file, in the form of the environment variable
 * TZ (POSIX, Base Definitions 8.3), with the hours -167..167 of RFC 8536, 3.3.1:
 *
 *   CET-1CEST,M3.5.0,M10.5.0/3
 *
 * A zone with summer time must say when it is.
 */
#ifndef METE_LIMITER_ZONE_RULE_H
#define METE_LIMITER_ZONE_RULE_H

#include "base/text.h"
#include "limiter/zone.h"

enum mete__zone_date_kind {
    METE__ZONE_DATE_JULIAN,  /* Jn: day 1..365, 29 February is not counted */
    METE__ZONE_DATE_ZERO,    /* n: day 0..365, 29 February is counted */
    METE__ZONE_DATE_WEEKDAY, /* Mm.w.d: weekday d (Sunday is 0) of week 1..4, or the last one (5), of a month */
};

struct mete__zone_date {
    enum mete__zone_date_kind kind;
    int month;
    int week;
    int day;
    int32_t time_s; /* local time in force before, from the midnight that begins the day */
};

struct mete__zone_rule {
    int32_t offset_s;
    bool has_summer;
    int32_t summer_offset_s;
    struct mete__zone_date summer_start;
    struct mete__zone_date summer_end;
};

/* False when text is not such a rule. */
bool mete__zone_rule_parse(struct mete__text text, struct mete__zone_rule *out);

/* The two steps of a year, in the order of time.  rule->has_summer. */
void mete__zone_rule_year(const struct mete__zone_rule *rule, int year, struct mete__zone_step out[2]);

#endif

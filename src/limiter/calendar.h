/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calendar windows: the minute, hour, day, week (from Monday), month or year of
 * local time that holds a moment.
 *
 * The windows of a zone and a unit tile time: each begins where the one before
 * it ends.  Where clocks are changed, two rules decide.
 *
 * Days and longer units begin at the first moment at which local clocks show
 * their first midnight or later:
 *   - a midnight that is skipped begins its day at the end of the gap;
 *   - a midnight that comes twice begins its day the first time, and the time
 *     that is repeated before the second one stays in the new day;
 *   - a day that is skipped whole (Pacific/Apia, 2011-12-30) has no window.
 * A day with a change of one hour has 23 or 25 hours.
 *
 * Minutes and hours are what local clocks show, and a new one begins each time
 * clocks are put back: an hour that comes twice is two windows, and none is
 * longer than 60 or 3600 seconds.  One that is partly skipped is shorter.
 *
 * Pure; any thread.
 */
#ifndef METE_LIMITER_CALENDAR_H
#define METE_LIMITER_CALENDAR_H

#include <mete/mete.h>

#include "limiter/zone.h"

/* Windows are found for the moments 1970-01-01 up to 2101-01-01, UTC. */
#define METE__CALENDAR_END_S INT64_C(4133980800)

/* start_s <= moment < end_s.  The first ones may start before 1970. */
struct mete__calendar_span {
    int64_t start_s;
    int64_t end_s;
};

/* False, and nothing written, when unit is not a calendar unit or unix_s lies
 * outside 0..METE__CALENDAR_END_S - 1.  Cost: one binary search in the
 * zone for minutes and hours, three otherwise; callers on the decision path
 * keep the last span. */
bool mete__calendar_window(const struct mete__zone *zone, enum mete_alignment unit, int64_t unix_s,
                           struct mete__calendar_span *out);

static inline bool mete__calendar_span_holds(struct mete__calendar_span span, int64_t unix_s)
{
    return span.start_s <= unix_s && unix_s < span.end_s;
}

/*
 * A span as one word, so that threads can share the last one through a relaxed
 * atomic: the start, counted from METE__ZONE_FROM_S, in the upper 32 bits, the
 * length in the lower 32.  The word 0 is an empty span, which holds nothing.
 */
static inline uint64_t mete__calendar_span_pack(struct mete__calendar_span span)
{
    return (uint64_t)(span.start_s - METE__ZONE_FROM_S) << 32 | (uint32_t)(span.end_s - span.start_s);
}

static inline struct mete__calendar_span mete__calendar_span_unpack(uint64_t word)
{
    int64_t start_s = (int64_t)(word >> 32) + METE__ZONE_FROM_S;
    return (struct mete__calendar_span){start_s, start_s + (int64_t)(word & UINT32_MAX)};
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a TZif file.  What is accepted is a valid zone, and its windows of
 * every unit tile time around each change of clocks, however odd that is.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/assert.h"
#include "limiter/calendar.h"

/* Changes looked at per input, spread over the zone: keeps one input fast. */
#define CHANGES_MAX 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t longest_s(enum mete_alignment unit)
{
    /* A day with the longest change, 52 hours, on either side of it. */
    const int64_t changes_s = 2 * 2 * (int64_t)METE__ZONE_OFFSET_END_S;
    const int64_t day_s = 86400;
    switch (unit) {
    case METE_ALIGN_MINUTE:
        return 60;
    case METE_ALIGN_HOUR:
        return 3600;
    case METE_ALIGN_DAY:
        return day_s + changes_s;
    case METE_ALIGN_WEEK:
        return 7 * day_s + changes_s;
    case METE_ALIGN_MONTH:
        return 31 * day_s + changes_s;
    default:
        return 366 * day_s + changes_s;
    }
}

static void check_window(const struct mete__zone *zone, enum mete_alignment unit, int64_t unix_s)
{
    struct mete__calendar_span span;
    struct mete__calendar_span beside;
    if (!mete__calendar_window(zone, unit, unix_s, &span)) {
        METE_ASSERT(unix_s < 0 || unix_s >= METE__CALENDAR_END_S);
        return;
    }
    METE_ASSERT(mete__calendar_span_holds(span, unix_s));
    METE_ASSERT(span.end_s - span.start_s <= longest_s(unit));
    if (mete__calendar_window(zone, unit, span.end_s, &beside)) {
        METE_ASSERT(beside.start_s == span.end_s);
    }
    if (mete__calendar_window(zone, unit, span.start_s - 1, &beside)) {
        METE_ASSERT(beside.end_s == span.start_s);
    }
    if (mete__calendar_window(zone, unit, span.start_s, &beside)) {
        METE_ASSERT(beside.start_s == span.start_s && beside.end_s == span.end_s);
    }
    struct mete__calendar_span back = mete__calendar_span_unpack(mete__calendar_span_pack(span));
    METE_ASSERT(back.start_s == span.start_s && back.end_s == span.end_s);
}

static void check_zone(const struct mete__zone *zone)
{
    METE_ASSERT(mete__zone_is_valid(zone));
    size_t stride = 1 + zone->steps_count / CHANGES_MAX;
    for (size_t i = 1; i < zone->steps_count; i += stride) {
        const struct mete__zone_step *step = &zone->steps[i];
        METE_ASSERT(mete__zone_offset_s(zone, step->at_s) == step->offset_s);
        METE_ASSERT(mete__zone_offset_s(zone, step->at_s - 1) == step[-1].offset_s);
        for (int unit = METE_ALIGN_MINUTE; unit <= METE_ALIGN_YEAR; unit++) {
            check_window(zone, (enum mete_alignment)unit, step->at_s - 1);
            check_window(zone, (enum mete_alignment)unit, step->at_s);
        }
    }
    for (int unit = METE_ALIGN_MINUTE; unit <= METE_ALIGN_YEAR; unit++) {
        check_window(zone, (enum mete_alignment)unit, 0);
        check_window(zone, (enum mete_alignment)unit, METE__CALENDAR_END_S - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mete__zone *zone = NULL;
    mete_status status = mete__zone_parse(data, size, &zone);
    if (status != METE_OK) {
        METE_ASSERT(zone == NULL);
        METE_ASSERT(status == METE_ECORRUPT || status == METE_ENOTSUP);
        return 0;
    }
    check_zone(zone);
    mete__zone_destroy(zone);
    return 0;
}

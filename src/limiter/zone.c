/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time zones: look-ups, and the TZif file format.
 * Source: RFC 8536 and RFC 9636 ("The Time Zone Information Format").
 */
#include "limiter/zone.h"

#include <stdlib.h>

#include "base/text.h"
#include "limiter/zone_rule.h"

/* Rule years reach beyond both ends of what is covered. */
#define RULE_YEAR_FIRST 1967
#define RULE_YEAR_LAST 2102
#define RULE_STEPS_MAX (2 * (RULE_YEAR_LAST - RULE_YEAR_FIRST + 1))

/* --- look-ups ----------------------------------------------------------- */

size_t mete__zone_step_at(const struct mete__zone *zone, int64_t unix_s)
{
    size_t low = 0;
    size_t high = zone->steps_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (zone->steps[middle].at_s <= unix_s) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int32_t mete__zone_offset_s(const struct mete__zone *zone, int64_t unix_s)
{
    return zone->steps[mete__zone_step_at(zone, unix_s)].offset_s;
}

int64_t mete__zone_first_s(const struct mete__zone *zone, int64_t local_s)
{
    /* No offset is large enough for local_s to be shown before this moment. */
    size_t i = mete__zone_step_at(zone, local_s - METE__ZONE_OFFSET_END_S);
    for (;; i++) {
        const struct mete__zone_step *step = &zone->steps[i];
        int64_t at_s = local_s - step->offset_s;
        if (at_s < step->at_s) {
            at_s = step->at_s;
        }
        if (i + 1 == zone->steps_count || at_s < step[1].at_s) {
            return at_s;
        }
    }
}

int64_t mete__zone_most_s(const struct mete__zone *zone, int64_t unix_s)
{
    size_t i = mete__zone_step_at(zone, unix_s);
    int64_t most_s = unix_s + zone->steps[i].offset_s;
    /* Clocks are never put back by more than the distance of two offsets, so
     * what they showed longer ago than that has been passed again. */
    for (; i > 0 && unix_s - zone->steps[i].at_s < 2 * METE__ZONE_OFFSET_END_S; i--) {
        int64_t shown_s = zone->steps[i].at_s - 1 + zone->steps[i - 1].offset_s;
        if (shown_s > most_s) {
            most_s = shown_s;
        }
    }
    return most_s;
}

bool mete__zone_is_valid(const struct mete__zone *zone)
{
    if (zone->steps_count == 0 || zone->steps[0].at_s != INT64_MIN) {
        return false;
    }
    for (size_t i = 0; i < zone->steps_count; i++) {
        const struct mete__zone_step *step = &zone->steps[i];
        if (step->offset_s <= -METE__ZONE_OFFSET_END_S || step->offset_s >= METE__ZONE_OFFSET_END_S) {
            return false;
        }
        if (i > 0 && (step->at_s <= step[-1].at_s || step->at_s >= METE__ZONE_TO_S)) {
            return false;
        }
    }
    return true;
}

/* --- making ------------------------------------------------------------- */

static struct mete__zone *new_zone(size_t steps_max, int32_t offset_s)
{
    struct mete__zone *zone = malloc(sizeof *zone + steps_max * sizeof zone->steps[0]);
    if (zone != NULL) {
        zone->steps_count = 1;
        zone->steps[0] = (struct mete__zone_step){INT64_MIN, offset_s};
    }
    return zone;
}

mete_status mete__zone_create_utc(struct mete__zone **out)
{
    struct mete__zone *zone = new_zone(1, 0);
    if (zone == NULL) {
        return METE_ENOMEM;
    }
    *out = zone;
    return METE_OK;
}

void mete__zone_destroy(struct mete__zone *zone)
{
    free(zone);
}

/* Steps come in the order of time.  Of those before the first covered moment
 * only the last offset counts; those that change nothing are left out. */
static void add_step(struct mete__zone *zone, struct mete__zone_step step)
{
    struct mete__zone_step *last = &zone->steps[zone->steps_count - 1];
    if (step.at_s <= METE__ZONE_FROM_S || step.at_s <= last->at_s) {
        last->offset_s = step.offset_s;
    } else if (step.at_s < METE__ZONE_TO_S && step.offset_s != last->offset_s) {
        zone->steps[zone->steps_count++] = step;
    }
}

/*
 * Adds what the rule says after after_s.  A state that ends no later than it
 * begins is left out: summer time all through the year is written as a rule
 * whose end falls on, or after, the start in the next year.
 */
static void add_rule(struct mete__zone *zone, const struct mete__zone_rule *rule, int64_t after_s)
{
    struct mete__zone_step steps[RULE_STEPS_MAX];
    for (int year = RULE_YEAR_FIRST; year <= RULE_YEAR_LAST; year++) {
        mete__zone_rule_year(rule, year, &steps[2 * (year - RULE_YEAR_FIRST)]);
    }
    for (size_t i = 0; i < RULE_STEPS_MAX; i++) {
        bool is_empty = i + 1 < RULE_STEPS_MAX && steps[i + 1].at_s <= steps[i].at_s;
        if (!is_empty && steps[i].at_s > after_s) {
            add_step(zone, steps[i]);
        }
    }
}

/* --- TZif --------------------------------------------------------------- */

#define HEADER_SIZE 44
#define TYPE_SIZE 6

/* A header's counts and where the parts that matter lie. */
struct block {
    size_t time_size; /* 4 in the first block, 8 in the second */
    uint64_t times_count;
    uint64_t types_count;
    uint64_t leaps_count;
    const char *times;
    const char *indexes;
    const char *types;
};

static uint64_t big_endian(const char *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value = value << 8 | (unsigned char)at[i];
    }
    return value;
}

/* RFC 8536, 3.1 and 3.2. */
static bool take_block(struct mete__text *text, size_t time_size, struct block *out)
{
    const char *header = text->at;
    if (mete__text_len(text) < HEADER_SIZE || memcmp(header, "TZif", 4) != 0) {
        return false;
    }
    uint64_t counts[6]; /* isut, isstd, leap, time, type, char */
    for (size_t i = 0; i < 6; i++) {
        counts[i] = big_endian(header + 20 + 4 * i, 4);
    }
    uint64_t size = counts[3] * (time_size + 1) + counts[4] * TYPE_SIZE + counts[5] + counts[2] * (time_size + 4) +
                    counts[1] + counts[0];
    if (size > mete__text_len(text) - HEADER_SIZE) {
        return false;
    }
    const char *times = header + HEADER_SIZE;
    const char *indexes = times + counts[3] * time_size;
    *out = (struct block){time_size, counts[3], counts[4], counts[2], times, indexes, indexes + counts[3]};
    text->at = times + size;
    return true;
}

static int64_t block_time(const struct block *block, size_t i)
{
    uint64_t bits = big_endian(block->times + i * block->time_size, block->time_size);
    return block->time_size == 4 ? (int32_t)bits : (int64_t)bits;
}

static bool block_offset(const struct block *block, size_t type, int32_t *out)
{
    if (type >= block->types_count) {
        return false;
    }
    *out = (int32_t)big_endian(block->types + type * TYPE_SIZE, 4);
    return *out > -METE__ZONE_OFFSET_END_S && *out < METE__ZONE_OFFSET_END_S;
}

static bool add_times(struct mete__zone *zone, const struct block *block)
{
    for (size_t i = 0; i < block->times_count; i++) {
        struct mete__zone_step step = {.at_s = block_time(block, i)};
        if (i > 0 && step.at_s <= block_time(block, i - 1)) {
            return false;
        }
        if (!block_offset(block, (unsigned char)block->indexes[i], &step.offset_s)) {
            return false;
        }
        add_step(zone, step);
    }
    return true;
}

/* The footer, RFC 8536, 3.3: a rule between two newlines, or nothing. */
static bool take_footer(struct mete__text *text, struct mete__zone_rule *rule)
{
    *rule = (struct mete__zone_rule){0};
    if (!mete__text_eat(text, '\n')) {
        return false;
    }
    struct mete__text footer = mete__text_until(text, '\n');
    if (!mete__text_eat(text, '\n')) {
        return false;
    }
    return mete__text_is_empty(&footer) || mete__zone_rule_parse(footer, rule);
}

/* From version 2 on the first block is for older readers, and a second one with
 * 8-byte times and a footer follow. */
static bool take_file(struct mete__text text, struct block *block, struct mete__zone_rule *rule)
{
    *rule = (struct mete__zone_rule){0};
    const char *start = text.at;
    if (!take_block(&text, 4, block)) {
        return false;
    }
    char version = start[4];
    if (version == '\0') {
        return true;
    }
    return version >= '2' && take_block(&text, 8, block) && take_footer(&text, rule);
}

mete_status mete__zone_parse(const void *bytes, size_t len, struct mete__zone **out)
{
    struct block block;
    struct mete__zone_rule rule;
    int32_t offset_s;
    if (bytes == NULL || len > METE__ZONE_FILE_SIZE_MAX || !take_file(mete__text_of(bytes, len), &block, &rule)) {
        return METE_ECORRUPT;
    }
    if (block.leaps_count > 0) {
        return METE_ENOTSUP;
    }
    if (!block_offset(&block, 0, &offset_s)) {
        return METE_ECORRUPT;
    }
    struct mete__zone *zone = new_zone(1 + block.times_count + RULE_STEPS_MAX, offset_s);
    if (zone == NULL) {
        return METE_ENOMEM;
    }
    if (!add_times(zone, &block)) {
        mete__zone_destroy(zone);
        return METE_ECORRUPT;
    }
    if (rule.has_summer) {
        add_rule(zone, &rule, block.times_count > 0 ? block_time(&block, block.times_count - 1) : INT64_MIN);
    }
    *out = zone;
    return METE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit -> profile: what a limit means in machine numbers, derived once and
 * shared by all keys.  The state of one key is a 64-bit word; how its bits are
 * read is decided by the scale (kind, count, period), not by the burst.
 *
 *   scale    (kind, count, period)         what a word means
 *   profile  scale + capacity + constants  what a decision needs
 *
 * docs/algorithms.md is the rule book; each function here quotes its section.
 */
#ifndef METE_ALGORITHM_PROFILE_H
#define METE_ALGORITHM_PROFILE_H

#include <mete/mete.h>

#include "base/arith.h"

#define METE__WAIT_MAX_NS UINT64_C(315576000000000000) /* 10 years of 365.25 days */
#define METE__CALENDAR_COUNT_MAX ((UINT64_C(1) << 30) - 1)

enum mete__kind {
    METE__KIND_NONE = 0,
    METE__KIND_GCRA = 1, /* both buckets */
    METE__KIND_FIXED_EPOCH = 2,
    METE__KIND_FIXED_FIRST = 3,
    METE__KIND_FIXED_CALENDAR = 4, /* + alignment - METE_ALIGN_MINUTE, up to 9 */
    METE__KIND_SLIDING = 10,
    METE__KIND_LOG = 11,
    METE__KINDS = 12
};

/* Buckets: the reduced fraction count/period.  Others: as given. */
struct mete__scale {
    uint64_t period;
    uint64_t count;
    unsigned kind;
};

/* Buckets: time in ticks.  tick_mul > 0: a tick is 1/tick_mul ns.  Otherwise
 * a tick is den/num ns with num/den in (2, 3]; only num's low 64 bits are kept. */
struct mete__ticks {
    uint64_t tick_mul;
    uint64_t cost;        /* E: ticks of one unit */
    uint64_t burst_ticks; /* capacity * E */
    uint64_t cost_recip;
    uint64_t num;
    uint64_t den;
    uint64_t ratio;     /* floor(num * 2^62 / den) */
    uint64_t inv_ratio; /* floor(den * 2^64 / num) */
    uint64_t grid_ns;   /* times that are multiples of this are whole ticks; 0: of none known */
};

/* Windows: a word is [place | booked 1 | count_bits ...]. */
struct mete__frames {
    uint64_t period_recip;
    uint64_t count_mask;
    unsigned count_bits;
    unsigned grain_shift; /* first: the start is stored in units of 2^grain_shift ns */
};

struct mete__profile {
    struct mete__ticks ticks;
    struct mete__frames frames;
    uint64_t capacity;
    struct mete__scale scale;
    unsigned algorithm;
};

/* The bounds of the calendar window that holds `now`, for calendar kinds. */
struct mete__span {
    uint64_t start_ns;
    uint64_t end_ns;
};

/*
 * Fills the profile.  METE_EINVAL, METE_ERANGE; *why is then a constant
 * sentence naming the field.  The time zone's name is not looked at.
 */
mete_status mete__profile_init(struct mete__profile *profile, const struct mete_limit *limit, const char **why);

/* A profile that can settle words of this scale; its capacity means nothing for
 * buckets (what is owed does not depend on it).  The scale must be valid. */
void mete__profile_of_scale(struct mete__profile *profile, const struct mete__scale *scale);

/* True for a scale that mete__profile_init can produce: for scales read from a file. */
bool mete__scale_is_valid(const struct mete__scale *scale);

static inline bool mete__kind_is_calendar(unsigned kind)
{
    return kind >= METE__KIND_FIXED_CALENDAR && kind < METE__KIND_SLIDING;
}

static inline bool mete__scale_is_same(const struct mete__scale *a, const struct mete__scale *b)
{
    return a->kind == b->kind && a->count == b->count && a->period == b->period;
}

#endif

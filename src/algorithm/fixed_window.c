/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed window: word = [place | booked 1 | used].  docs/algorithms.md, "Fixed
 * window".  place is the window's index (epoch), its start in grains (first) or
 * its end in seconds (calendar).
 */
#include "algorithm/window.h"

#define NS_PER_S UINT64_C(1000000000)

/* A word seen from a moment. */
struct fixed {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t used;
    uint64_t base_ns; /* what waits count from */
    bool booked;
    bool is_ahead; /* booked and not begun */
};

static uint64_t grain_ceil(uint64_t now_ns, unsigned shift)
{
    uint64_t grain = UINT64_C(1) << shift;
    return (now_ns + (grain - 1)) & ~(grain - 1);
}

static struct fixed fixed_fresh(const struct mete__profile *profile, const struct mete__moment *moment)
{
    struct fixed fixed = {.base_ns = moment->now_ns};
    uint64_t period = profile->scale.period;
    if (profile->scale.kind == METE__KIND_FIXED_EPOCH) {
        fixed.start_ns = mete__div_floor_recip_u64(moment->now_ns, period, profile->frames.period_recip) * period;
        fixed.end_ns = fixed.start_ns + period;
    } else if (profile->scale.kind == METE__KIND_FIXED_FIRST) {
        fixed.start_ns = grain_ceil(moment->now_ns, profile->frames.grain_shift);
        fixed.end_ns = fixed.start_ns + period;
    } else {
        fixed.start_ns = moment->span.start_ns;
        fixed.end_ns = moment->span.end_ns;
    }
    return fixed;
}

static struct fixed fixed_decode(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment)
{
    const struct mete__frames *frames = &profile->frames;
    uint64_t now_ns = moment->now_ns;
    uint64_t place = word >> (frames->count_bits + 1);
    /* Only a damaged word holds more than the capacity. */
    struct fixed fixed = {.used = mete__min_u64(word & frames->count_mask, profile->capacity),
                          .booked = (word >> frames->count_bits) & 1};
    uint64_t grain = 0;
    if (word == 0) {
        return fixed_fresh(profile, moment);
    }
    if (profile->scale.kind == METE__KIND_FIXED_EPOCH) {
        fixed.start_ns = place * profile->scale.period;
        fixed.end_ns = fixed.start_ns + profile->scale.period;
    } else if (profile->scale.kind == METE__KIND_FIXED_FIRST) {
        grain = UINT64_C(1) << frames->grain_shift;
        fixed.start_ns = place << frames->grain_shift;
        fixed.end_ns = fixed.start_ns + profile->scale.period;
        if (fixed.used == 0 && now_ns >= fixed.start_ns) {
            return fixed_fresh(profile, moment);
        }
    } else { /* the caller gives the span that holds the later of now and the stored window */
        fixed.start_ns = moment->span.start_ns;
        fixed.end_ns = place * NS_PER_S;
    }
    if (now_ns >= fixed.end_ns) {
        return fixed_fresh(profile, moment);
    }
    fixed.is_ahead = fixed.booked && now_ns < fixed.start_ns;
    bool is_inside = now_ns >= fixed.start_ns || fixed.start_ns - now_ns < grain;
    fixed.base_ns = is_inside || fixed.is_ahead ? now_ns : fixed.start_ns;
    return fixed;
}

static uint64_t fixed_encode(const struct mete__profile *profile, uint64_t start_ns, uint64_t end_ns, bool booked,
                             uint64_t used)
{
    const struct mete__frames *frames = &profile->frames;
    uint64_t place;
    if (profile->scale.kind == METE__KIND_FIXED_EPOCH) {
        place = mete__div_floor_recip_u64(start_ns, profile->scale.period, frames->period_recip);
    } else if (profile->scale.kind == METE__KIND_FIXED_FIRST) {
        place = start_ns >> frames->grain_shift;
    } else {
        place = end_ns / NS_PER_S;
    }
    return (((place << 1) | booked) << frames->count_bits) | used;
}

struct mete__verdict mete__fixed_take(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                      const struct mete__moment *moment)
{
    struct fixed fixed = fixed_decode(profile, word, moment);
    if (cost > profile->capacity) {
        return mete__verdict_deny(word, METE_NEVER);
    }
    bool fits = cost <= profile->capacity - fixed.used;
    if (fixed.is_ahead) {
        return mete__verdict_deny(word, (fits ? fixed.start_ns : fixed.end_ns) - fixed.base_ns);
    }
    if (!fits) {
        return mete__verdict_deny(word, fixed.end_ns - fixed.base_ns);
    }
    bool booked = fixed.booked && moment->now_ns < fixed.start_ns;
    return mete__verdict_allow(fixed_encode(profile, fixed.start_ns, fixed.end_ns, booked, fixed.used + cost), 0);
}

struct mete__verdict mete__fixed_reserve(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                         const struct mete__moment *moment, uint64_t wait_ns_max)
{
    struct fixed fixed = fixed_decode(profile, word, moment);
    bool fits = cost <= profile->capacity - fixed.used;
    if (cost > profile->capacity || (fits && !fixed.is_ahead) || mete__kind_is_calendar(profile->scale.kind)) {
        return mete__fixed_take(profile, word, cost, moment);
    }
    uint64_t end_ns = fixed.end_ns;
    if (!fits) { /* the window after */
        fixed.start_ns = fixed.end_ns;
        if (profile->scale.kind == METE__KIND_FIXED_FIRST) {
            fixed.start_ns = grain_ceil(fixed.end_ns, profile->frames.grain_shift);
        }
        fixed.used = 0;
    }
    uint64_t wait_ns = fixed.start_ns - fixed.base_ns;
    if (wait_ns > wait_ns_max) {
        /* A start rounded up to its grain may lie after a moment at which a take passes. */
        uint64_t retry_ns = wait_ns - wait_ns_max;
        return mete__verdict_deny(word, fits ? retry_ns : mete__min_u64(retry_ns, end_ns - fixed.base_ns));
    }
    return mete__verdict_allow(fixed_encode(profile, fixed.start_ns, 0, true, fixed.used + cost), wait_ns);
}

uint64_t mete__fixed_refund(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                            const struct mete__moment *moment)
{
    struct fixed fixed = fixed_decode(profile, word, moment);
    bool is_inside = !fixed.is_ahead && fixed.base_ns == moment->now_ns;
    if (!is_inside || fixed.used == 0) {
        return word;
    }
    return word - mete__min_u64(cost, fixed.used);
}

/* A booked window that a refund emptied still has to begin. */
static uint64_t idle_at(const struct fixed *fixed)
{
    if (fixed->used > 0) {
        return fixed->end_ns;
    }
    return fixed->is_ahead ? fixed->start_ns : 0;
}

void mete__fixed_describe(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment,
                          struct mete_decision *out)
{
    struct fixed fixed = fixed_decode(profile, word, moment);
    out->remaining = fixed.is_ahead ? 0 : profile->capacity - fixed.used;
    out->reset_after_ns = idle_at(&fixed) - (idle_at(&fixed) > 0 ? fixed.base_ns : 0);
}

uint64_t mete__fixed_idle_at_ns(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment)
{
    struct fixed fixed = fixed_decode(profile, word, moment);
    return idle_at(&fixed);
}

uint64_t mete__fixed_owed(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment)
{
    return fixed_decode(profile, word, moment).used;
}

uint64_t mete__fixed_of_owed(const struct mete__profile *profile, uint64_t owed, const struct mete__moment *moment)
{
    struct fixed fixed = fixed_fresh(profile, moment);
    return fixed_encode(profile, fixed.start_ns, fixed.end_ns, false, owed);
}

uint64_t mete__fixed_recount(const struct mete__profile *from, const struct mete__profile *to, uint64_t word)
{
    uint64_t used = mete__min_u64(word & from->frames.count_mask, to->capacity);
    uint64_t place = word >> (from->frames.count_bits + 1);
    uint64_t booked = (word >> from->frames.count_bits) & 1;
    if (from->scale.kind == METE__KIND_FIXED_FIRST) {
        place = grain_ceil(place << from->frames.grain_shift, to->frames.grain_shift) >> to->frames.grain_shift;
    }
    return (((place << 1) | booked) << to->frames.count_bits) | used;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "algorithm/convert.h"

#include "algorithm/window.h"

/* Bucket to bucket: d' = min(ceil(d * E_new / E_old), B_new * E_new). */
static uint64_t convert_ticks(const struct mete__profile *from, const struct mete__profile *to, uint64_t word,
                              uint64_t now_ns)
{
    uint64_t settled_tick = mete__ticks_floor(&from->ticks, now_ns);
    if (word <= settled_tick) {
        return mete__ticks_floor(&to->ticks, now_ns);
    }
    mete__u128 owed = (mete__u128)(word - settled_tick) * to->ticks.cost;
    owed = (owed + (from->ticks.cost - 1)) / from->ticks.cost;
    uint64_t debt = owed > to->ticks.burst_ticks ? to->ticks.burst_ticks : (uint64_t)owed;
    return mete__ticks_ceil(&to->ticks, now_ns) + debt;
}

static bool is_same_window(const struct mete__profile *from, const struct mete__profile *to,
                           const struct mete__moment *from_at, const struct mete__moment *to_at)
{
    return from->scale.kind == to->scale.kind && from->scale.period == to->scale.period &&
           (!mete__kind_is_calendar(to->scale.kind) || from_at->span.end_ns == to_at->span.end_ns);
}

uint64_t mete__convert(const struct mete__profile *from, const struct mete__profile *to, uint64_t word,
                       const struct mete__moment *from_at, const struct mete__moment *to_at)
{
    if (word == 0) {
        return 0;
    }
    if (from->scale.kind == METE__KIND_GCRA && to->scale.kind == METE__KIND_GCRA) {
        return mete__scale_is_same(&from->scale, &to->scale) ? word : convert_ticks(from, to, word, to_at->now_ns);
    }
    if (is_same_window(from, to, from_at, to_at)) {
        return to->scale.kind == METE__KIND_SLIDING ? mete__sliding_recount(from, to, word)
                                                    : mete__fixed_recount(from, to, word);
    }
    return mete__word_of_owed(to, mete__owed_units(from, word, from_at), to_at);
}

uint64_t mete__owed_units(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment)
{
    if (word == 0) {
        return 0;
    }
    if (profile->scale.kind == METE__KIND_GCRA) {
        uint64_t now_tick = mete__ticks_floor(&profile->ticks, moment->now_ns);
        return mete__div_ceil_u64(mete__sub_floor0_u64(word, now_tick), profile->ticks.cost);
    }
    return profile->scale.kind == METE__KIND_SLIDING ? mete__sliding_owed(profile, word, moment)
                                                     : mete__fixed_owed(profile, word, moment);
}

uint64_t mete__word_of_owed(const struct mete__profile *profile, uint64_t units, const struct mete__moment *moment)
{
    uint64_t owed = mete__min_u64(units, profile->capacity);
    if (profile->scale.kind == METE__KIND_GCRA) {
        if (owed == 0) {
            return mete__ticks_floor(&profile->ticks, moment->now_ns);
        }
        return mete__ticks_ceil(&profile->ticks, moment->now_ns) + owed * profile->ticks.cost;
    }
    return profile->scale.kind == METE__KIND_SLIDING ? mete__sliding_of_owed(profile, owed, moment)
                                                     : mete__fixed_of_owed(profile, owed, moment);
}

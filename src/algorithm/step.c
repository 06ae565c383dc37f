/* SPDX-License-Identifier: Apache-2.0 */
/* One decision on one word: the algorithm is chosen here, by the word's kind. */
#include "algorithm/step.h"

#include "algorithm/window.h"
#include "base/assert.h"

static struct mete__verdict gcra_take(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                      uint64_t now_ns)
{
    uint64_t now_tick = mete__ticks_floor(&profile->ticks, now_ns);
    uint64_t next = word;
    if (mete__gcra_admits(profile, word, cost, now_ns, now_tick, &next)) {
        return mete__verdict_allow(next, 0);
    }
    if (cost > profile->capacity) {
        return mete__verdict_deny(word, METE_NEVER);
    }
    return mete__verdict_deny(word, mete__gcra_wait_for_room(profile, word, cost, now_ns, now_tick));
}

struct mete__verdict mete__step_take(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                     const struct mete__moment *moment)
{
    if (cost == 0) {
        return mete__verdict_allow(word, 0);
    }
    if (profile->scale.kind == METE__KIND_GCRA) {
        return gcra_take(profile, word, cost, moment->now_ns);
    }
    if (profile->scale.kind == METE__KIND_SLIDING) {
        return mete__sliding_take(profile, word, cost, moment);
    }
    return mete__fixed_take(profile, word, cost, moment);
}

/* Token bucket: units are borrowed from the future.  Leaky bucket: the queue
 * before us must drain, and there must be room in it. */
static struct mete__verdict gcra_reserve(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                         uint64_t now_ns, uint64_t wait_ns_max)
{
    const struct mete__ticks *ticks = &profile->ticks;
    if (cost > profile->capacity) {
        return mete__verdict_deny(word, METE_NEVER);
    }
    uint64_t now_tick = mete__ticks_floor(ticks, now_ns);
    uint64_t for_room_ns = mete__gcra_wait_for_room(profile, word, cost, now_ns, now_tick);
    uint64_t wait_ns = for_room_ns;
    uint64_t retry_ns = 0;
    if (profile->algorithm == METE_LEAKY_BUCKET) {
        wait_ns = mete__gcra_reset_after(profile, word, now_ns, now_tick);
        retry_ns = for_room_ns;
    }
    retry_ns = mete__max_u64(retry_ns, mete__sub_floor0_u64(wait_ns, wait_ns_max));
    if (retry_ns > 0) {
        return mete__verdict_deny(word, retry_ns);
    }
    uint64_t start = word > now_tick ? word : mete__ticks_ceil(ticks, now_ns);
    return mete__verdict_allow(start + cost * ticks->cost, wait_ns);
}

struct mete__verdict mete__step_reserve(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                        const struct mete__moment *moment, uint64_t wait_ns_max)
{
    uint64_t longest_ns = mete__min_u64(wait_ns_max, METE__WAIT_MAX_NS);
    if (cost == 0) {
        return mete__verdict_allow(word, 0);
    }
    if (profile->scale.kind == METE__KIND_GCRA) {
        return gcra_reserve(profile, word, cost, moment->now_ns, longest_ns);
    }
    if (profile->scale.kind == METE__KIND_SLIDING) {
        return mete__sliding_reserve(profile, word, cost, moment, longest_ns);
    }
    return mete__fixed_reserve(profile, word, cost, moment, longest_ns);
}

static uint64_t gcra_refund(const struct mete__profile *profile, uint64_t word, uint64_t cost, uint64_t now_ns)
{
    const struct mete__ticks *ticks = &profile->ticks;
    if (word <= mete__ticks_floor(ticks, now_ns)) {
        return word;
    }
    return cost > word / ticks->cost ? 0 : word - cost * ticks->cost;
}

uint64_t mete__step_refund(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                           const struct mete__moment *moment)
{
    if (profile->scale.kind == METE__KIND_GCRA) {
        return gcra_refund(profile, word, cost, moment->now_ns);
    }
    if (profile->scale.kind == METE__KIND_SLIDING) {
        return mete__sliding_refund(profile, word, cost, moment);
    }
    return mete__fixed_refund(profile, word, cost, moment);
}

uint64_t mete__step_undo(const struct mete__profile *profile, uint64_t word, uint64_t cost, uint64_t base,
                         uint64_t now_ns)
{
    uint64_t now_tick = mete__ticks_floor(&profile->ticks, now_ns);
    uint64_t charge = mete__min_u64(cost, profile->capacity) * profile->ticks.cost;
    uint64_t held = mete__sub_floor0_u64(now_tick, base);
    return word <= now_tick || held >= charge ? word : mete__sub_floor0_u64(word, charge - held);
}

void mete__step_describe(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment,
                         struct mete_decision *out)
{
    out->limit = profile->capacity;
    if (profile->scale.kind == METE__KIND_GCRA) {
        uint64_t now_tick = mete__ticks_floor(&profile->ticks, moment->now_ns);
        out->remaining = mete__gcra_remaining(profile, word, now_tick);
        out->reset_after_ns = mete__gcra_reset_after(profile, word, moment->now_ns, now_tick);
    } else if (profile->scale.kind == METE__KIND_SLIDING) {
        mete__sliding_describe(profile, word, moment, out);
    } else {
        mete__fixed_describe(profile, word, moment, out);
    }
}

bool mete__step_is_idle(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment)
{
    return word == 0 || mete__step_idle_at_ns(profile, word, moment) <= moment->now_ns;
}

uint64_t mete__step_idle_at_ns(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment)
{
    if (word == 0) {
        return 0;
    }
    if (profile->scale.kind == METE__KIND_GCRA) {
        return mete__ticks_first_ns(&profile->ticks, word);
    }
    if (profile->scale.kind == METE__KIND_SLIDING) {
        return mete__sliding_idle_at_ns(profile, word, moment);
    }
    return mete__fixed_idle_at_ns(profile, word, moment);
}

uint64_t mete__step_rank_of_units(const struct mete__profile *profile, uint64_t units)
{
    uint64_t period = profile->scale.period;
    if (mete__kind_is_calendar(profile->scale.kind)) {
        /* nominal lengths of minute, hour, day, week, month, year in seconds */
        static const uint32_t lengths_s[] = {60, 3600, 86400, 604800, 2629746, 31556952};
        period = lengths_s[profile->scale.kind - METE__KIND_FIXED_CALENDAR] * UINT64_C(1000000000);
    }
    mete__u128 rank = ((mete__u128)units * period + (profile->scale.count - 1)) / profile->scale.count;
    return rank > UINT64_MAX ? UINT64_MAX : (uint64_t)rank;
}

uint64_t mete__step_rank(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment)
{
    uint64_t idle_at_ns = mete__step_idle_at_ns(profile, word, moment);
    if (idle_at_ns <= moment->now_ns) {
        return 0;
    }
    if (profile->scale.kind == METE__KIND_GCRA) {
        return idle_at_ns - moment->now_ns;
    }
    bool sliding = profile->scale.kind == METE__KIND_SLIDING;
    uint64_t owed = sliding ? mete__sliding_owed(profile, word, moment) : mete__fixed_owed(profile, word, moment);
    return mete__max_u64(1, mete__step_rank_of_units(profile, owed));
}

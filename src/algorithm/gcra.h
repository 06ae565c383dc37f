/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token bucket and leaky bucket, as the generic cell rate algorithm (ITU-T
 * I.371, virtual scheduling): the word is F, the tick at which the bucket will
 * be full again.  docs/algorithms.md, "Token bucket (GCRA)" and "Ticks".
 *
 * Nothing here can overflow: mete__profile_init made sure that the ticks of
 * METE_TIME_MAX + 10 years plus a whole burst fit 64 bits, and no word is ever
 * above that (takes go up to now + burst, reservations to now + wait + burst).
 */
#ifndef METE_ALGORITHM_GCRA_H
#define METE_ALGORITHM_GCRA_H

#include "algorithm/profile.h"

/*
 * floor(now * num / den) and what is left over.  The estimate is short by less
 * than now / 2^62 + 1 <= 3, so the true remainder is below 3 den < 2^64 and 64
 * wrapping bits hold it.  now is below 2^63.
 */
static inline uint64_t mete__ticks_divide(const struct mete__ticks *ticks, uint64_t now_ns, uint64_t *rest)
{
    uint64_t quotient = (uint64_t)(((mete__u128)now_ns * ticks->ratio) >> 62);
    uint64_t remainder = now_ns * ticks->num - quotient * ticks->den;
    while (remainder >= ticks->den) {
        remainder -= ticks->den;
        quotient++;
    }
    *rest = remainder;
    return quotient;
}

METE_INLINE uint64_t mete__ticks_floor(const struct mete__ticks *ticks, uint64_t now_ns)
{
    uint64_t rest;
    if (__builtin_expect(ticks->tick_mul != 0, 1)) {
        return now_ns * ticks->tick_mul;
    }
    return mete__ticks_divide(ticks, now_ns, &rest);
}

static inline uint64_t mete__ticks_ceil(const struct mete__ticks *ticks, uint64_t now_ns)
{
    if (__builtin_expect(ticks->tick_mul != 0, 1)) {
        return now_ns * ticks->tick_mul;
    }
    uint64_t rest;
    uint64_t quotient = mete__ticks_divide(ticks, now_ns, &rest);
    return quotient + (rest != 0);
}

/* The first nanosecond whose tick is at least `tick`.  The estimate is below
 * or at it, and off by at most two.  A tick that no time reaches (a damaged
 * word) gives some time far away. */
METE_INLINE uint64_t mete__ticks_first_ns(const struct mete__ticks *ticks, uint64_t tick)
{
    if (__builtin_expect(ticks->tick_mul == 1, 1)) {
        return tick;
    }
    if (ticks->tick_mul != 0) {
        return mete__div_ceil_u64(tick, ticks->tick_mul);
    }
    uint64_t now_ns = mete__mulhi_u64(tick, ticks->inv_ratio);
    for (int i = 0; i < 3 && mete__ticks_floor(ticks, now_ns) < tick; i++) {
        now_ns++;
    }
    return now_ns;
}

/* "allowed iff d + n <= B": the decision itself, with now already in ticks
 * (floor).  cost is at least 1.  On true *next is the new word. */
METE_INLINE bool mete__gcra_admits(const struct mete__profile *profile, uint64_t word, uint64_t cost, uint64_t now_ns,
                                   uint64_t now_tick, uint64_t *next)
{
    const struct mete__ticks *ticks = &profile->ticks;
    if (__builtin_expect(cost > profile->capacity, 0)) {
        return false;
    }
    uint64_t charge = cost * ticks->cost; /* <= burst_ticks */
    if (word <= now_tick) {
        *next = (ticks->tick_mul != 0 ? now_tick : mete__ticks_ceil(ticks, now_ns)) + charge;
        return true;
    }
    /* word - now <= burst - charge, written so that nothing wraps */
    if (word - now_tick > ticks->burst_ticks - charge) {
        return false;
    }
    *next = word + charge;
    return true;
}

METE_INLINE uint64_t mete__gcra_remaining(const struct mete__profile *profile, uint64_t word, uint64_t now_tick)
{
    const struct mete__ticks *ticks = &profile->ticks;
    uint64_t debt = mete__sub_floor0_u64(word, now_tick);
    uint64_t room = mete__sub_floor0_u64(ticks->burst_ticks, debt);
    return mete__div_floor_recip_u64(room, ticks->cost, ticks->cost_recip);
}

METE_INLINE uint64_t mete__gcra_reset_after(const struct mete__profile *profile, uint64_t word, uint64_t now_ns,
                                            uint64_t now_tick)
{
    return word <= now_tick ? 0 : mete__ticks_first_ns(&profile->ticks, word) - now_ns;
}

/* How long until d + n <= B; 0 when it holds now; cost <= capacity. */
METE_INLINE uint64_t mete__gcra_wait_for_room(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                              uint64_t now_ns, uint64_t now_tick)
{
    const struct mete__ticks *ticks = &profile->ticks;
    uint64_t lead = ticks->burst_ticks - cost * ticks->cost;
    if (word <= now_tick || word - now_tick <= lead) {
        return 0;
    }
    return mete__ticks_first_ns(ticks, word - lead) - now_ns;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding window counter: word = [index | booked 1 | prev | cur].
 * docs/algorithms.md, "Sliding window counter".  The estimate
 * cur + prev * (P - e) / P is compared as whole numbers times P, in 128 bits.
 */
#include "algorithm/window.h"

struct sliding {
    uint64_t index;
    uint64_t prev;
    uint64_t cur;
    uint64_t elapsed_ns; /* e: how far into window `index` it is judged */
    uint64_t ahead_ns;   /* booked: how long until window `index` begins; else 0 */
    uint64_t base_ns;    /* the moment it is judged at */
    bool booked;
};

static struct sliding sliding_decode(const struct mete__profile *profile, uint64_t word, uint64_t now_ns)
{
    const struct mete__frames *frames = &profile->frames;
    uint64_t period = profile->scale.period;
    uint64_t now_index = mete__div_floor_recip_u64(now_ns, period, frames->period_recip);
    struct sliding sliding = {.index = word >> (2 * frames->count_bits + 1),
                              .booked = (word >> (2 * frames->count_bits)) & 1,
                              .prev = (word >> frames->count_bits) & frames->count_mask,
                              .cur = word & frames->count_mask,
                              .base_ns = now_ns};
    if (word == 0 || now_index > sliding.index) {
        sliding.prev = word != 0 && now_index == sliding.index + 1 ? sliding.cur : 0;
        sliding.cur = 0;
        sliding.booked = false;
        sliding.index = now_index;
    } else if (now_index < sliding.index) {
        sliding.base_ns = sliding.index * period;
        sliding.ahead_ns = sliding.booked ? sliding.base_ns - now_ns : 0;
    }
    sliding.elapsed_ns = sliding.base_ns - sliding.index * period;
    return sliding;
}

static uint64_t sliding_encode(const struct mete__profile *profile, const struct sliding *sliding)
{
    unsigned bits = profile->frames.count_bits;
    uint64_t place = (sliding->index << 1) | sliding->booked;
    return (((place << bits) | sliding->prev) << bits) | sliding->cur;
}

/* The first elapsed time in a window at which prev * (P - e) <= room * P. */
static uint64_t first_elapsed(uint64_t prev, uint64_t room, uint64_t period)
{
    return prev <= room ? 0 : period - mete__muldiv_floor_u64(room, period, prev);
}

/* How long from the judged moment until cost passes; cost <= capacity.  Leaves
 * in *at the state then, before the charge. */
static uint64_t sliding_wait(const struct mete__profile *profile, const struct sliding *now, uint64_t cost,
                             struct sliding *at)
{
    uint64_t period = profile->scale.period;
    uint64_t room = profile->capacity - cost;
    *at = *now;
    uint64_t elapsed = now->elapsed_ns;
    uint64_t waited = 0;
    for (;;) { /* at most three windows: two on, both counts are 0 */
        uint64_t first = at->cur <= room ? first_elapsed(at->prev, room - at->cur, period) : period;
        if (first < period) {
            return waited + mete__sub_floor0_u64(first, elapsed);
        }
        waited += period - elapsed;
        elapsed = 0;
        at->index++;
        at->prev = at->cur;
        at->cur = 0;
        at->booked = true;
    }
}

struct mete__verdict mete__sliding_take(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                        const struct mete__moment *moment)
{
    if (cost > profile->capacity) {
        return mete__verdict_deny(word, METE_NEVER);
    }
    struct sliding now = sliding_decode(profile, word, moment->now_ns);
    struct sliding at;
    uint64_t wait_ns = now.ahead_ns + sliding_wait(profile, &now, cost, &at);
    if (wait_ns > 0) {
        return mete__verdict_deny(word, wait_ns);
    }
    now.cur += cost;
    now.booked = now.booked && now.base_ns > moment->now_ns;
    return mete__verdict_allow(sliding_encode(profile, &now), 0);
}

struct mete__verdict mete__sliding_reserve(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                           const struct mete__moment *moment, uint64_t wait_ns_max)
{
    if (cost > profile->capacity) {
        return mete__verdict_deny(word, METE_NEVER);
    }
    struct sliding now = sliding_decode(profile, word, moment->now_ns);
    struct sliding at;
    uint64_t wait_ns = now.ahead_ns + sliding_wait(profile, &now, cost, &at);
    if (wait_ns > wait_ns_max) {
        return mete__verdict_deny(word, wait_ns - wait_ns_max);
    }
    if (at.index == now.index) {
        at.booked = now.booked && now.base_ns > moment->now_ns;
    }
    at.cur += cost;
    return mete__verdict_allow(sliding_encode(profile, &at), wait_ns);
}

uint64_t mete__sliding_refund(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                              const struct mete__moment *moment)
{
    const struct mete__frames *frames = &profile->frames;
    if (word == 0) {
        return word;
    }
    uint64_t index = word >> (2 * frames->count_bits + 1);
    uint64_t taken_index = mete__div_floor_recip_u64(moment->now_ns, profile->scale.period, frames->period_recip);
    if (taken_index == index) {
        return word - mete__min_u64(cost, word & frames->count_mask);
    }
    if (taken_index + 1 == index) {
        uint64_t prev = (word >> frames->count_bits) & frames->count_mask;
        return word - (mete__min_u64(cost, prev) << frames->count_bits);
    }
    return word;
}

static uint64_t overlap_ceil(const struct mete__profile *profile, const struct sliding *sliding)
{
    uint64_t period = profile->scale.period;
    return mete__muldiv_ceil_u64(sliding->prev, period - sliding->elapsed_ns, period);
}

/* Until neither count weighs anything, from the judged moment. */
static uint64_t sliding_idle_after(const struct mete__profile *profile, const struct sliding *sliding)
{
    uint64_t left = profile->scale.period - sliding->elapsed_ns;
    if (sliding->cur > 0) {
        return left + profile->scale.period;
    }
    return sliding->prev > 0 ? left : 0;
}

void mete__sliding_describe(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment,
                            struct mete_decision *out)
{
    struct sliding sliding = sliding_decode(profile, word, moment->now_ns);
    uint64_t used = sliding.cur + overlap_ceil(profile, &sliding);
    uint64_t idle_after = sliding_idle_after(profile, &sliding);
    out->remaining = sliding.ahead_ns > 0 ? 0 : mete__sub_floor0_u64(profile->capacity, used);
    out->reset_after_ns = idle_after + sliding.ahead_ns;
}

uint64_t mete__sliding_idle_at_ns(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment)
{
    struct sliding sliding = sliding_decode(profile, word, moment->now_ns);
    uint64_t idle_after = sliding_idle_after(profile, &sliding);
    return idle_after + sliding.ahead_ns > 0 ? sliding.base_ns + idle_after : 0;
}

uint64_t mete__sliding_owed(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment)
{
    struct sliding sliding = sliding_decode(profile, word, moment->now_ns);
    return sliding.cur + overlap_ceil(profile, &sliding);
}

uint64_t mete__sliding_of_owed(const struct mete__profile *profile, uint64_t owed, const struct mete__moment *moment)
{
    struct sliding sliding = sliding_decode(profile, 0, moment->now_ns);
    sliding.cur = owed;
    return sliding_encode(profile, &sliding);
}

uint64_t mete__sliding_recount(const struct mete__profile *from, const struct mete__profile *to, uint64_t word)
{
    const struct mete__frames *frames = &from->frames;
    struct sliding sliding = {.index = word >> (2 * frames->count_bits + 1),
                              .booked = (word >> (2 * frames->count_bits)) & 1,
                              .prev = mete__min_u64((word >> frames->count_bits) & frames->count_mask, to->capacity),
                              .cur = mete__min_u64(word & frames->count_mask, to->capacity)};
    return sliding_encode(to, &sliding);
}

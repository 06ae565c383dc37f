/* SPDX-License-Identifier: Apache-2.0 */
/* limit -> profile.  Every range is checked here, once; nothing later can overflow. */
#include "algorithm/profile.h"

#include "base/assert.h"

#define RATE_MIN_PERIOD_NS METE__WAIT_MAX_NS /* slowest rate: 1 per 10 years */

static mete_status refuse(const char **why, mete_status status, const char *sentence)
{
    *why = sentence;
    return status;
}

/* Where a word's kind comes from; METE__KIND_NONE when the fields contradict. */
static unsigned kind_of(const struct mete_limit *limit)
{
    switch (limit->algorithm) {
    case METE_TOKEN_BUCKET:
    case METE_LEAKY_BUCKET:
        return METE__KIND_GCRA;
    case METE_SLIDING_WINDOW:
        return METE__KIND_SLIDING;
    case METE_SLIDING_LOG:
        return METE__KIND_LOG;
    case METE_FIXED_WINDOW:
        if (limit->alignment == METE_ALIGN_EPOCH) {
            return METE__KIND_FIXED_EPOCH;
        }
        if (limit->alignment == METE_ALIGN_FIRST) {
            return METE__KIND_FIXED_FIRST;
        }
        return METE__KIND_FIXED_CALENDAR + (unsigned)limit->alignment - METE_ALIGN_MINUTE;
    }
    return METE__KIND_NONE;
}

static bool is_terminated(const char *text, size_t size)
{
    size_t len = 0;
    while (len < size && text[len] != 0) {
        len++;
    }
    return len < size;
}

static mete_status check_fields(const struct mete_limit *limit, const char **why)
{
    if ((unsigned)limit->algorithm > METE_SLIDING_LOG) {
        return refuse(why, METE_EINVAL, "algorithm: unknown");
    }
    if ((unsigned)limit->alignment > METE_ALIGN_YEAR) {
        return refuse(why, METE_EINVAL, "alignment: unknown");
    }
    if (limit->alignment != METE_ALIGN_EPOCH && limit->algorithm != METE_FIXED_WINDOW) {
        return refuse(why, METE_EINVAL, "alignment: only fixed_window has one");
    }
    if (!is_terminated(limit->time_zone, sizeof limit->time_zone)) {
        return refuse(why, METE_EINVAL, "time_zone: does not end with a NUL");
    }
    bool calendar = limit->alignment >= METE_ALIGN_MINUTE;
    if (limit->time_zone[0] != 0 && !calendar) {
        return refuse(why, METE_EINVAL, "time_zone: only calendar windows have one");
    }
    if (limit->count == 0) {
        return refuse(why, METE_EINVAL, "count: must be at least 1; a limit of nothing is not a rate");
    }
    if (calendar && limit->period_ns != 0) {
        return refuse(why, METE_EINVAL, "period: must be 0 with a calendar alignment, which is the period");
    }
    if (!calendar && limit->period_ns == 0) {
        return refuse(why, METE_EINVAL, "period: must be at least 1 ns");
    }
    if (limit->burst != 0 && limit->algorithm > METE_LEAKY_BUCKET) {
        return refuse(why, METE_EINVAL, "burst: windows and logs have none; their capacity is the count");
    }
    return METE_OK;
}

static mete_status check_rate(const struct mete_limit *limit, const char **why)
{
    if (limit->alignment >= METE_ALIGN_MINUTE) {
        if (limit->count > METE__CALENDAR_COUNT_MAX) {
            return refuse(why, METE_ERANGE, "count: a calendar window counts up to 1,073,741,823");
        }
        return METE_OK;
    }
    if (limit->period_ns > METE_PERIOD_MAX) {
        return refuse(why, METE_ERANGE, "period: longer than 146 years (2^62 - 1 ns)");
    }
    if (limit->count > limit->period_ns) {
        return refuse(why, METE_ERANGE, "count: a rate above 1e9 per second");
    }
    if ((mete__u128)limit->count * RATE_MIN_PERIOD_NS < limit->period_ns) {
        return refuse(why, METE_ERANGE, "period: a rate below 1 per 10 years (3652.5 days)");
    }
    return METE_OK;
}

static uint64_t time_in_ticks(const struct mete__ticks *ticks, uint64_t count, uint64_t now_ns)
{
    if (ticks->tick_mul != 0) {
        return now_ns * ticks->tick_mul;
    }
    /* cost <= 3 den / count, so cost * count <= 3 den < 2^64 */
    return mete__muldiv_ceil_u64(now_ns, ticks->cost * count, ticks->den);
}

/*
 * E as a multiple of period / gcd(period, grid), so that every multiple of grid
 * ns is a whole number of ticks: times read from a log or a coarse clock are
 * then exact.  The finest grid of 10 ns .. 1 s that leaves more than 2 ticks a ns.
 */
static uint64_t cost_on_grid(struct mete__ticks *ticks, uint64_t cost_max, uint64_t period)
{
    for (uint64_t grid_ns = 10; grid_ns <= 1000000000; grid_ns *= 10) {
        uint64_t step = period / mete__gcd_u64(period, grid_ns);
        if (step <= cost_max / 3) {
            ticks->grid_ns = grid_ns;
            return cost_max - cost_max % step;
        }
    }
    return cost_max;
}

/* Section "Ticks": count and period are in lowest terms. */
static void ticks_init(struct mete__ticks *ticks, uint64_t count, uint64_t period)
{
    if (count <= 3) {
        ticks->tick_mul = count;
        ticks->cost = period;
    } else {
        ticks->cost = cost_on_grid(ticks, mete__muldiv_floor_u64(3, period, count), period);
        ticks->num = count * ticks->cost;
        ticks->den = period;
        ticks->ratio = (uint64_t)(((mete__u128)ticks->num << 62) / ticks->den);
        ticks->inv_ratio = (uint64_t)(((mete__u128)ticks->den << 64) / ticks->num);
    }
    ticks->cost_recip = mete__recip_u64(ticks->cost);
}

/* False when a full debt at the end of time would not fit 64 bits. */
static bool ticks_fit_burst(struct mete__ticks *ticks, uint64_t count, uint64_t burst)
{
    uint64_t last = time_in_ticks(ticks, count, METE_TIME_MAX + METE__WAIT_MAX_NS);
    mete__u128 debt = (mete__u128)burst * ticks->cost;
    if (debt > UINT64_MAX - last) {
        return false;
    }
    ticks->burst_ticks = (uint64_t)debt;
    return true;
}

/* Sections "Fixed window" and "Sliding window counter": how a word is split. */
static void frames_init(struct mete__frames *frames, const struct mete__scale *scale)
{
    if (mete__kind_is_calendar(scale->kind)) {
        frames->count_bits = 30;
    } else {
        frames->count_bits = mete__bits_u64(scale->count);
        frames->period_recip = mete__recip_u64(scale->period);
    }
    frames->count_mask = (UINT64_C(1) << frames->count_bits) - 1;
    if (scale->kind == METE__KIND_FIXED_FIRST && frames->count_bits > 1) {
        frames->grain_shift = frames->count_bits - 1; /* 62 - (63 - bits) */
    }
}

static bool sliding_fits(const struct mete__scale *scale)
{
    /* A reservation may write two windows past the last time. */
    uint64_t index_max = (METE_TIME_MAX + METE__WAIT_MAX_NS) / scale->period + 2;
    return mete__bits_u64(index_max) + 1 + 2 * mete__bits_u64(scale->count) <= 64;
}

static bool fixed_fits(const struct mete__scale *scale)
{
    if (mete__kind_is_calendar(scale->kind)) {
        return true;
    }
    if (scale->kind == METE__KIND_FIXED_FIRST) {
        return mete__bits_u64(scale->count) <= 57; /* the last start, rounded up to a grain, stays below 2^62 */
    }
    uint64_t index_max = (METE_TIME_MAX + METE__WAIT_MAX_NS) / scale->period + 2;
    return mete__bits_u64(index_max) + 1 + mete__bits_u64(scale->count) <= 64;
}

static void derive(struct mete__profile *profile)
{
    if (profile->scale.kind == METE__KIND_GCRA) {
        ticks_init(&profile->ticks, profile->scale.count, profile->scale.period);
    } else {
        frames_init(&profile->frames, &profile->scale);
    }
}

mete_status mete__profile_init(struct mete__profile *profile, const struct mete_limit *limit, const char **why)
{
    mete_status status = check_fields(limit, why);
    if (status == METE_OK) {
        status = check_rate(limit, why);
    }
    if (status != METE_OK) {
        return status;
    }
    struct mete__profile made = {.algorithm = limit->algorithm,
                                 .scale = {limit->period_ns, limit->count, kind_of(limit)},
                                 .capacity = limit->burst != 0 ? limit->burst : limit->count};
    if (made.scale.kind == METE__KIND_GCRA) {
        uint64_t common = mete__gcd_u64(limit->count, limit->period_ns);
        made.scale.count /= common;
        made.scale.period /= common;
    } else if (made.scale.kind == METE__KIND_SLIDING && !sliding_fits(&made.scale)) {
        return refuse(why, METE_ERANGE,
                      "count: too large for a sliding_window of this period (32,767 per second, 262,143 per minute, "
                      "2,097,151 per hour); use token_bucket");
    } else if (limit->algorithm == METE_FIXED_WINDOW && !fixed_fits(&made.scale)) {
        return refuse(why, METE_ERANGE, "count: too large for a fixed_window of this period (above 1e17)");
    } else if (made.scale.kind == METE__KIND_LOG && limit->count > METE_LOG_COUNT_MAX) {
        return refuse(why, METE_ERANGE, "count: a sliding_log holds up to 1,048,575 units per key; use sliding_window");
    }
    derive(&made);
    if (made.scale.kind == METE__KIND_GCRA && !ticks_fit_burst(&made.ticks, made.scale.count, made.capacity)) {
        return refuse(why, METE_ERANGE,
                      "burst: refilling it would take too long to represent (over 55 years, or 450 for simple rates)");
    }
    *profile = made;
    return METE_OK;
}

void mete__profile_of_scale(struct mete__profile *profile, const struct mete__scale *scale)
{
    METE_ASSERT(mete__scale_is_valid(scale));
    *profile = (struct mete__profile){.scale = *scale, .capacity = scale->count};
    derive(profile);
}

bool mete__scale_is_valid(const struct mete__scale *scale)
{
    if (scale->kind == METE__KIND_NONE || scale->kind >= METE__KINDS || scale->count == 0) {
        return false;
    }
    if (mete__kind_is_calendar(scale->kind)) {
        return scale->period == 0 && scale->count <= METE__CALENDAR_COUNT_MAX;
    }
    if (scale->period == 0 || scale->period > METE_PERIOD_MAX || scale->count > scale->period ||
        (mete__u128)scale->count * RATE_MIN_PERIOD_NS < scale->period) {
        return false;
    }
    switch (scale->kind) {
    case METE__KIND_GCRA:
        return mete__gcd_u64(scale->count, scale->period) == 1;
    case METE__KIND_SLIDING:
        return sliding_fits(scale);
    case METE__KIND_LOG:
        return scale->count <= METE_LOG_COUNT_MAX;
    default:
        return fixed_fits(scale);
    }
}

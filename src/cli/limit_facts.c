/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/limit_facts.h"

#include <time.h>

#include "algorithm/profile.h"
#include "policy/window.h"

#define NS_PER_S UINT64_C(1000000000)

/* Mean lengths over the Gregorian calendar's cycle of 400 years. */
static uint64_t calendar_period_s(enum mete_alignment alignment)
{
    switch (alignment) {
    case METE_ALIGN_MINUTE:
        return 60;
    case METE_ALIGN_HOUR:
        return 3600;
    case METE_ALIGN_DAY:
        return 86400;
    case METE_ALIGN_WEEK:
        return 604800;
    case METE_ALIGN_MONTH:
        return 2629746;
    case METE_ALIGN_YEAR:
        return 31556952;
    case METE_ALIGN_EPOCH:
    case METE_ALIGN_FIRST:
        break;
    }
    return 0;
}

static mete__u128 div_ceil_u128(mete__u128 a, mete__u128 b)
{
    return a / b + (a % b != 0);
}

static uint64_t seconds_ceil(mete__u128 ns)
{
    mete__u128 seconds = div_ceil_u128(ns, NS_PER_S);
    return seconds < UINT64_MAX ? (uint64_t)seconds : UINT64_MAX;
}

/* What of one period can pass, and how long until all is as if never seen. */
static void find_bounds(struct mete__limit_facts *facts)
{
    const struct mete_limit *limit = &facts->limit;
    mete__u128 twice = (mete__u128)2 * limit->count;
    facts->refill_ns =
        facts->is_calendar ? (mete__u128)mete__calendar_longest_s(limit->alignment) * NS_PER_S : facts->period_ns;
    switch (limit->algorithm) {
    case METE_TOKEN_BUCKET:
    case METE_LEAKY_BUCKET:
        facts->most_in_period = (mete__u128)facts->capacity + limit->count;
        facts->refill_ns = div_ceil_u128((mete__u128)facts->capacity * facts->unit_ns, facts->unit_parts);
        break;
    case METE_FIXED_WINDOW:
        facts->most_in_period = twice;
        break;
    case METE_SLIDING_WINDOW:
        /* The whole count at the end of a window, then as fast as its weight
         * goes down: less than the count again before a period is over. */
        facts->most_in_period = twice - 1;
        facts->refill_ns *= 2;
        break;
    case METE_SLIDING_LOG:
        facts->most_in_period = limit->count;
        break;
    }
}

/* The library's own constants say how it will round. */
static void find_precision(struct mete__limit_facts *facts)
{
    struct mete__profile profile;
    const char *why = NULL;
    facts->precision = METE__LIMIT_EXACT;
    if (mete__profile_init(&profile, &facts->limit, &why) != METE_OK) {
        return;
    }
    if (facts->is_bucket) {
        facts->precision = profile.ticks.tick_mul > 0 ? METE__LIMIT_EXACT : METE__LIMIT_STRICT_1NS;
    } else if (facts->limit.alignment == METE_ALIGN_FIRST && profile.frames.grain_shift > 0) {
        facts->precision = METE__LIMIT_STRICT_GRAIN;
        facts->grain_ns = UINT64_C(1) << profile.frames.grain_shift;
    }
}

/* The largest value of *field (part of *limit) that the library takes, by
 * halving: what it takes at one value it takes at every smaller one. */
static uint64_t largest_taken(struct mete_limit *limit, uint64_t *field)
{
    uint64_t taken = *field;
    uint64_t refused = UINT64_MAX;
    while (refused - taken > 1) {
        *field = taken + (refused - taken) / 2;
        if (mete_limit_check(limit, NULL, 0) == METE_OK) {
            taken = *field;
        } else {
            refused = *field;
        }
    }
    return taken;
}

static void find_ranges(struct mete__limit_facts *facts)
{
    struct mete_limit limit = facts->limit;
    facts->burst_max = 0;
    facts->count_max = 0;
    if (facts->is_bucket) {
        limit.burst = facts->capacity;
        facts->burst_max = largest_taken(&limit, &limit.burst);
    } else {
        facts->count_max = largest_taken(&limit, &limit.count);
    }
}

static uint64_t fixed_clock(void *context)
{
    return *(const uint64_t *)context;
}

/* A moment for the example: the start of a window that is aligned to the epoch. */
static uint64_t example_time_ns(const struct mete_limit *limit)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    return limit->period_ns != 0 ? now_ns - now_ns % limit->period_ns : now_ns;
}

static mete_status decide_example(mete_limiter *limiter, struct mete__limit_headers *headers)
{
    struct mete_request request = METE_REQUEST_INIT;
    struct mete_decision decision;
    mete_status status = mete_take(limiter, &request, &decision);
    if (status != METE_OK) {
        return status;
    }
    headers->first_remaining = decision.remaining;
    request.cost = decision.remaining + 1;
    status = mete_peek(limiter, &request, &decision);
    if (status != METE_OK) {
        return status;
    }
    headers->first_more_s = seconds_ceil(decision.retry_after_ns);
    request.cost = headers->first_remaining;
    status = mete_take(limiter, &request, &decision);
    if (status != METE_OK) {
        return status;
    }
    request.cost = 1;
    status = mete_take(limiter, &request, &decision);
    /* "Retry-After: 0" would invite another denial. */
    headers->retry_after_s = mete__max_u64(1, seconds_ceil(decision.retry_after_ns));
    return status;
}

static mete_status find_headers(struct mete__limit_facts *facts)
{
    uint64_t now_ns = example_time_ns(&facts->limit);
    struct mete_clock clock = {fixed_clock, &now_ns};
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    mete_store *store = NULL;
    mete_limiter *limiter = NULL;
    options.keys_max = 1;
    options.clock = &clock;
    options.flags = METE_STORE_NO_HUGE_PAGES | METE_STORE_NO_PREFAULT;
    mete_status status = mete_store_create(&options, &store);
    if (status == METE_OK) {
        status = mete_limiter_create(store, "example", &facts->limit, &limiter);
    }
    if (status == METE_OK) {
        status = decide_example(limiter, &facts->headers);
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    facts->headers.quota = facts->capacity;
    facts->headers.window_s = mete__limit_window_s(&facts->limit, facts->capacity);
    return status;
}

mete_status mete__limit_facts_of(const struct mete_limit *limit, struct mete__limit_facts *facts)
{
    *facts = (struct mete__limit_facts){.limit = *limit};
    mete_limit_format(limit, facts->text, sizeof(facts->text));
    facts->is_bucket = limit->algorithm == METE_TOKEN_BUCKET || limit->algorithm == METE_LEAKY_BUCKET;
    facts->is_calendar = limit->period_ns == 0;
    facts->period_ns = facts->is_calendar ? calendar_period_s(limit->alignment) * NS_PER_S : limit->period_ns;
    facts->capacity = facts->is_bucket && limit->burst != 0 ? limit->burst : limit->count;
    uint64_t common = mete__gcd_u64(facts->period_ns, limit->count);
    facts->unit_ns = facts->period_ns / common;
    facts->unit_parts = limit->count / common;
    find_bounds(facts);
    find_precision(facts);
    find_ranges(facts);
    return find_headers(facts);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A public request, checked and made ready for decide.h. */
#ifndef METE_LIMITER_REQUEST_H
#define METE_LIMITER_REQUEST_H

#include "limiter/decide.h"

METE_INLINE mete_status mete__request_check(const mete_limiter *limiter, const struct mete_request *request,
                                            const struct mete_decision *out)
{
    if (limiter == NULL || request == NULL || out == NULL || (request->key == NULL && request->key_len != 0)) {
        return METE_EINVAL;
    }
    return request->now_ns > METE_TIME_MAX && request->now_ns != METE_NOW ? METE_ERANGE : METE_OK;
}

/* own_now_ns: the store's time, for METE_NOW. */
METE_INLINE struct mete__ask mete__request_ask_at(const mete_limiter *limiter, const struct mete__rule *rule,
                                                  const struct mete_request *request, enum mete__op op,
                                                  uint64_t own_now_ns)
{
    bool is_own_now = request->now_ns == METE_NOW;
    uint64_t grid_ns = is_own_now ? mete__own_grid_ns(limiter, rule) : 0;
    return (struct mete__ask){.op = op,
                              .cost = request->cost,
                              .now_ns = is_own_now ? mete__on_grid_floor(own_now_ns, grid_ns) : request->now_ns,
                              .wait_ns_max = request->wait_ns_max,
                              .is_own_now = is_own_now,
                              .grid_ns = grid_ns};
}

METE_INLINE struct mete__ask mete__request_ask(mete_limiter *limiter, const struct mete__rule *rule,
                                               const struct mete_request *request, enum mete__op op)
{
    uint64_t own_now_ns = request->now_ns == METE_NOW ? mete__store_now(limiter->store) : 0;
    return mete__request_ask_at(limiter, rule, request, op, own_now_ns);
}

/* mete__take_bucket with its whole decision; false: not such a case. */
METE_INLINE bool mete__take_bucket_whole(mete_limiter *limiter, const struct mete__rule *rule,
                                         const struct mete__slot *slot, const struct mete__ask *ask,
                                         struct mete_decision *out)
{
    const struct mete__profile *profile = &rule->profile;
    uint64_t cost = ask->cost;
    uint64_t now_ns = ask->now_ns;
    uint64_t word;
    uint64_t tick;
    int taken = mete__take_bucket(limiter, rule, slot, cost, now_ns, &word, &tick);
    if (__builtin_expect(taken < 0, 0)) {
        return false;
    }
    out->allowed = taken != 0;
    out->limit = profile->capacity;
    out->remaining = mete__gcra_remaining(profile, word, tick);
    out->wait_ns = 0;
    out->retry_after_ns = 0;
    out->reset_after_ns = mete__gcra_reset_after(profile, word, now_ns, tick);
    if (taken == 0) {
        out->retry_after_ns =
            cost > profile->capacity ? METE_NEVER : mete__gcra_wait_for_room(profile, word, cost, now_ns, tick);
    }
    mete__round_waits(out, ask->grid_ns);
    return true;
}

#endif

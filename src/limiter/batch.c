/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many takes in one call.  The keys of a group are hashed and their buckets
 * asked for before the first is decided, so that the memory answers them
 * together; then they are decided in order.
 */
#include "limiter/request.h"

/* Enough prefetches in flight to hide a miss; more than the processor's line
 * fill buffers (10 to 16) does not help, and the slots stay in the first cache. */
#define GROUP 32u

struct member {
    struct mete__hash hash;
    struct mete__slot slot;
};

static mete_status check_all(const mete_limiter *limiter, const struct mete_request *requests, size_t n,
                             const struct mete_decision *out)
{
    if (limiter == NULL || (n > 0 && (requests == NULL || out == NULL))) {
        return METE_EINVAL;
    }
    for (size_t i = 0; i < n; i++) {
        mete_status status = mete__request_check(limiter, &requests[i], out);
        if (status != METE_OK) {
            return status;
        }
    }
    return METE_OK;
}

static void decide_one(mete_limiter *limiter, const struct mete_request *request, const struct member *member,
                       uint64_t *own_now_ns, struct mete_decision *out)
{
    const struct mete__rule *rule = mete__limiter_rule(limiter);
    struct mete__ask ask = mete__request_ask_at(limiter, rule, request, METE__OP_TAKE, *own_now_ns);
    if (rule->profile.scale.kind == METE__KIND_GCRA && ask.cost > 0 &&
        mete__take_bucket_whole(limiter, rule, &member->slot, &ask, out)) {
        return;
    }
    mete__decide(limiter, &ask, member->hash, out);
    if (ask.is_own_now) {
        *own_now_ns = mete__max_u64(*own_now_ns, ask.now_ns);
    }
}

mete_status mete_take_batch(mete_limiter *limiter, const struct mete_request *requests, size_t n,
                            struct mete_decision *out)
{
    struct member members[GROUP];
    mete_status status = check_all(limiter, requests, n, out);
    if (status != METE_OK || n == 0) {
        return status;
    }
    uint64_t own_now_ns = mete__store_now(limiter->store);
    for (size_t done = 0; done < n; done += GROUP) {
        size_t group = n - done < GROUP ? n - done : GROUP;
        for (size_t i = 0; i < group; i++) {
            const struct mete_request *request = &requests[done + i];
            members[i].hash = mete__hash_key(&limiter->secret, request->key, request->key_len);
            members[i].slot = mete__table_locate(&limiter->table, members[i].hash);
        }
        for (size_t i = 0; i < group; i++) {
            decide_one(limiter, &requests[done + i], &members[i], &own_now_ns, &out[done + i]);
        }
    }
    return METE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls for one request.  mete_allow and mete_take are the hot path: hash,
 * locate, clock, find, step, swap (decide.h), and for take the description.
 */
#include <mete/mete.h>

#include "limiter/decide.h"
#include "limiter/request.h"

static inline bool is_bucket(const struct mete__rule *rule)
{
    return rule->profile.scale.kind == METE__KIND_GCRA;
}

/*
 * Most decisions on a busy key do not need to know the time to the nanosecond.
 * The time lies between the kernel's last tick and a bound after it.  When the
 * key is still in debt at that bound, its next word does not depend on the time;
 * when it has room at the tick it is admitted, and when it has none at the bound
 * it is denied, whatever the time in between.  Returns as mete__take_bucket, -1
 * when the time matters.
 *
 * Why: rdtsc waits until all work before it is done, so reading it costs a hot
 * decision more than the rest of it (docs/performance.md).
 */
METE_INLINE int allow_by_tick(mete_limiter *limiter, const struct mete__rule *rule, const struct mete__slot *slot)
{
    const struct mete__ticks *ticks = &rule->profile.ticks;
    const mete_store *store = limiter->store;
    if (!store->clock.has_tick) {
        return -1;
    }
    uint64_t earliest_ns = mete__tick_ns() + store->clock.offset_ns;
    uint64_t latest_ns = earliest_ns + METE__TICK_LATE_MAX_NS;
    if (__builtin_expect(latest_ns >= mete__load_u64_relaxed(&store->anchor_due_ns), 0)) {
        return -1;
    }
    uint64_t earliest = mete__ticks_floor(ticks, earliest_ns);
    uint64_t latest = mete__ticks_floor(ticks, latest_ns);
    uint64_t lead = ticks->burst_ticks - ticks->cost;
    struct mete__pair seen;
    struct mete__pair *cell = mete__table_find(&limiter->table, slot, &seen);
    uint64_t lo = seen.lo;
    if (cell == NULL || (lo & METE__SCALE_MASK) != rule->scale_id) {
        return -1;
    }
    for (;;) {
        if (seen.hi <= latest || seen.lo != lo) {
            return -1;
        }
        if (seen.hi - latest > lead) {
            return 0;
        }
        if (seen.hi - earliest > lead) {
            return -1;
        }
        if (__builtin_expect(mete__pair_cas_full(cell, &seen, (struct mete__pair){lo, seen.hi + ticks->cost}), 1)) {
            return 1;
        }
        seen = mete__table_yield(&limiter->table, cell);
    }
}

bool mete_allow(mete_limiter *limiter, const void *key, size_t key_len)
{
    if (__builtin_expect(limiter == NULL || (key == NULL && key_len != 0), 0)) {
        return false;
    }
    struct mete__hash hash = mete__hash_key(&limiter->secret, key, key_len);
    struct mete__slot slot = mete__table_locate(&limiter->table, hash);
    const struct mete__rule *rule = mete__limiter_rule(limiter);
    if (is_bucket(rule)) {
        int taken = allow_by_tick(limiter, rule, &slot);
        if (__builtin_expect(taken >= 0, 1)) {
            return taken != 0;
        }
    }
    uint64_t grid_ns = mete__own_grid_ns(limiter, rule);
    uint64_t now_ns = mete__on_grid_floor(mete__store_now(limiter->store), grid_ns);
    if (is_bucket(rule)) {
        uint64_t word;
        uint64_t tick;
        int taken = mete__take_bucket(limiter, rule, &slot, 1, now_ns, &word, &tick);
        if (__builtin_expect(taken >= 0, 1)) {
            return taken != 0;
        }
    }
    struct mete__ask ask = {.op = METE__OP_TAKE, .cost = 1, .now_ns = now_ns, .is_own_now = true, .grid_ns = grid_ns};
    struct mete_decision decision;
    mete__decide(limiter, &ask, hash, &decision);
    return decision.allowed;
}

mete_status mete_take(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out)
{
    mete_status status = mete__request_check(limiter, request, out);
    if (__builtin_expect(status != METE_OK, 0)) {
        return status;
    }
    struct mete__hash hash = mete__hash_key(&limiter->secret, request->key, request->key_len);
    struct mete__slot slot = mete__table_locate(&limiter->table, hash);
    const struct mete__rule *rule = mete__limiter_rule(limiter);
    struct mete__ask ask = mete__request_ask(limiter, rule, request, METE__OP_TAKE);
    if (is_bucket(rule) && ask.cost > 0 && mete__take_bucket_whole(limiter, rule, &slot, &ask, out)) {
        return METE_OK;
    }
    mete__decide(limiter, &ask, hash, out);
    return METE_OK;
}

static mete_status decide(mete_limiter *limiter, const struct mete_request *request, enum mete__op op,
                          struct mete_decision *out)
{
    mete_status status = mete__request_check(limiter, request, out);
    if (status == METE_OK) {
        struct mete__hash hash = mete__hash_key(&limiter->secret, request->key, request->key_len);
        struct mete__ask ask = mete__request_ask(limiter, mete__limiter_rule(limiter), request, op);
        mete__decide(limiter, &ask, hash, out);
    }
    return status;
}

mete_status mete_peek(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out)
{
    return decide(limiter, request, METE__OP_PEEK, out);
}

mete_status mete_reserve(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out)
{
    return decide(limiter, request, METE__OP_RESERVE, out);
}

mete_status mete_refund(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out)
{
    return decide(limiter, request, METE__OP_REFUND, out);
}

/* --- reset ------------------------------------------------------------------------ */

static void reset_cell(const struct mete__table *table, const struct mete__slot *slot)
{
    struct mete__pair seen;
    struct mete__pair *cell;
    do {
        cell = mete__table_find(table, slot, &seen);
    } while (cell != NULL && seen.hi != 0 && !mete__pair_cas_full(cell, &seen, (struct mete__pair){seen.lo, 0}));
}

/* The ring keeps last: time does not go back for it. */
static void reset_ring(struct mete__log *log, struct mete__hash hash)
{
    struct mete__slot slot = mete__table_locate(&log->table, hash);
    struct mete__log_view view;
    struct mete__ring_state empty;
    do {
        if (!mete__log_look(log, &slot, &view)) {
            return;
        }
        empty = (struct mete__ring_state){.gen = view.state.gen, .last_ns = view.state.last_ns};
    } while (!mete__pair_cas_full(view.ring.control, &view.control, mete__ring_pack(&empty)));
}

mete_status mete_reset(mete_limiter *limiter, const void *key, size_t key_len)
{
    if (limiter == NULL || (key == NULL && key_len != 0)) {
        return METE_EINVAL;
    }
    struct mete__hash hash = mete__hash_key(&limiter->secret, key, key_len);
    struct mete__slot slot = mete__table_locate(&limiter->table, hash);
    reset_cell(&limiter->table, &slot);
    for (struct mete__log *log = mete__load_pointer_acquire(&limiter->store->logs); log != NULL; log = log->next) {
        if (log->name_hash == limiter->name_hash) {
            reset_ring(log, hash);
        }
    }
    return METE_OK;
}

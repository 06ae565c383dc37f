/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decision: where algorithm and table meet.
 *
 * The cell is loaded, the pure step is run on its word, and tag and word are
 * published by one swap: the linearization point of a charge.  A denial is
 * linearized at its load.  A swap that fails starts again from the table.
 */
#ifndef METE_LIMITER_DECIDE_H
#define METE_LIMITER_DECIDE_H

#include "limiter/limiter.h"

enum mete__op { METE__OP_TAKE, METE__OP_PEEK, METE__OP_RESERVE, METE__OP_REFUND, METE__OP_UNDO };

/* What a take wrote, so that it can be undone exactly. */
struct mete__receipt {
    uint64_t scale_id;
    uint64_t word;        /* after the take */
    uint64_t undo_now_ns; /* when it is undone */
};

struct mete__ask {
    enum mete__op op;
    uint64_t cost;
    uint64_t now_ns; /* never METE_NOW */
    uint64_t wait_ns_max;
    bool is_own_now; /* now_ns was read from the store's clock by us */
    /* TAKE: where to tell what was charged, or NULL.  UNDO: what is to be taken back. */
    struct mete__receipt *receipt;
    uint64_t grid_ns; /* waits are told in whole multiples of this; 0: to the nanosecond */
};

/*
 * Rates whose tick is not a fraction of a nanosecond (70/s) are exact at times on
 * the profile's grid.  So our own clock is read on that grid, if it is not
 * coarser than the clock is good for; waits are then rounded up to it.
 */
#define METE__GRID_MAX_NS 1000u

METE_INLINE uint64_t mete__own_grid_ns(const mete_limiter *limiter, const struct mete__rule *rule)
{
    uint64_t grid_ns = rule->profile.ticks.grid_ns;
    bool is_ours = limiter->store->clock.callers.now_ns == NULL;
    return is_ours && grid_ns <= METE__GRID_MAX_NS ? grid_ns : 0;
}

METE_INLINE uint64_t mete__on_grid_floor(uint64_t now_ns, uint64_t grid_ns)
{
    return __builtin_expect(grid_ns != 0, 0) ? now_ns - now_ns % grid_ns : now_ns;
}

static inline uint64_t mete__on_grid_ceil(uint64_t wait_ns, uint64_t grid_ns)
{
    if (__builtin_expect(grid_ns == 0, 1) || wait_ns == METE_NEVER || wait_ns % grid_ns == 0) {
        return wait_ns;
    }
    return wait_ns - wait_ns % grid_ns + grid_ns;
}

static inline void mete__round_waits(struct mete_decision *out, uint64_t grid_ns)
{
    if (__builtin_expect(grid_ns != 0, 0)) {
        out->wait_ns = mete__on_grid_ceil(out->wait_ns, grid_ns);
        out->retry_after_ns = mete__on_grid_ceil(out->retry_after_ns, grid_ns);
        out->reset_after_ns = mete__on_grid_ceil(out->reset_after_ns, grid_ns);
    }
}

/*
 * The time an absent key begins at: never before the last takeover nearby, or a
 * thread that slept could start a key full at an old time (table/claim.c).  First the
 * mark is read, then our clock: a mark of our clock is then not ahead of it, and one
 * that is was made by a caller's time and is not believed.  *mark_seen_ns is for the
 * claim; when that finds a later mark, all of this is done again.
 */
uint64_t mete__begin_ns(mete_limiter *limiter, const struct mete__ask *ask, const struct mete__table *table,
                        const struct mete__slot *slot, uint64_t *mark_seen_ns);

/* Any algorithm, any op; fills *out.  ask->now_ns is raised when the key was new
 * and had to begin later (mete__begin_ns): decisions of one moment go on from there. */
void mete__decide(mete_limiter *limiter, struct mete__ask *ask, struct mete__hash hash, struct mete_decision *out);

/* The same for sliding logs (decide_log.c). */
void mete__decide_log(mete_limiter *limiter, const struct mete__history *history, struct mete__ask *ask,
                      struct mete__hash hash, struct mete_decision *out);

/*
 * The hot path: take on a bucket's key that is in the table under the rule in
 * force.  Returns 1 allowed, 0 denied, -1 not such a case (nothing was done).
 * *word and *tick are for mete__describe_bucket.
 */
METE_INLINE int mete__take_bucket(mete_limiter *limiter, const struct mete__rule *rule, const struct mete__slot *slot,
                                  uint64_t cost, uint64_t now_ns, uint64_t *word, uint64_t *tick)
{
    struct mete__pair seen;
    uint64_t now_tick = mete__ticks_floor(&rule->profile.ticks, now_ns);
    *tick = now_tick;
    struct mete__pair *cell = mete__table_find(&limiter->table, slot, &seen);
    uint64_t lo = seen.lo;
    if (__builtin_expect(cell == NULL || (lo & METE__SCALE_MASK) != rule->scale_id, 0)) {
        return -1;
    }
    for (;;) {
        *word = seen.hi;
        if (!mete__gcra_admits(&rule->profile, seen.hi, cost, now_ns, now_tick, word)) {
            return 0;
        }
        if (__builtin_expect(mete__pair_cas_full(cell, &seen, (struct mete__pair){lo, *word}), 1)) {
            return 1;
        }
        seen = mete__table_yield(&limiter->table, cell);
        if (seen.lo != lo) { /* given to another key, or rescaled */
            return -1;
        }
    }
}

#endif

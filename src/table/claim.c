/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving an absent key a cell, so that it never has two.
 *
 *   choose    a victim among the 16 candidates: in the less loaded bucket an
 *             empty cell, else an idle one; if all are live the smallest debt
 *   publish   swap the victim for a pending cell: [tag | 0][nonce]
 *   re-scan   all other candidates: a confirmed rival wins (ours is withdrawn); a
 *             pending rival is removed
 *   check     that no candidate was taken over at a time later than ours
 *   confirm   swap pending for [tag | scale][word]
 *
 * Why no key has two confirmed cells: let A and C both confirm, and say A
 * published first (publishing swaps are totally ordered).  C's re-scan comes
 * after C's publishing, so it meets A's cell pending or confirmed, or A had
 * left it.  Pending: C removes it, and then A's confirming swap fails, or C's
 * removal fails because A confirmed meanwhile, and C meets it confirmed.
 * Confirmed: C withdraws.  Every claim of a cell carries a fresh nonce, so a
 * swap that succeeds does so on the very claim that was seen.
 *
 * Why no credit is earned twice ("stale clock"): a key's cell may be taken over
 * as idle by a thread whose time is later than ours.  The taker raises the mark
 * of the bucket before its swap; we read the marks after our re-scan, so if the
 * re-scan missed the key because it was taken over, we see the mark, and begin
 * again at that time.
 *
 * A pending cell whose owner was killed is in nobody's way: it counts as
 * taken until someone needs the place or claims the same key.
 */
#include "base/assert.h"
#include "table/table.h"

/* How long a claim of another is left alone before it is taken for dead. */
#ifdef METE_INTERLEAVE
#define PATIENCE 1u
#else
#define PATIENCE 64u
#endif

static uint64_t process_seed;
static _Thread_local uint64_t thread_seed;
static _Thread_local uint64_t thread_nonce;

void mete__claim_seed(uint64_t random)
{
    mete__store_u64_relaxed(&process_seed, random);
}

/* Unique among all claims that may meet: 64 random bits per process, spread
 * over threads in steps of 2^40, counted up within a thread. */
static uint64_t next_nonce(void)
{
    static uint64_t threads;
    uint64_t seed = mete__load_u64_relaxed(&process_seed);
    if (thread_seed != seed || thread_nonce == 0) { /* first use, or we are a forked child */
        thread_seed = seed;
        thread_nonce = seed + (mete__add_u64_relaxed(&threads, 1) << 40);
    }
    return ++thread_nonce;
}

static unsigned candidates(const struct mete__table *table, const struct mete__slot *slot)
{
    return slot->first == slot->second ? table->width : 2 * table->width;
}

static struct mete__pair *candidate(const struct mete__table *table, const struct mete__slot *slot, unsigned i)
{
    return i < table->width ? &slot->first->cells[i] : &slot->second->cells[i - table->width];
}

static uint64_t *mark_of(const struct mete__table *table, const struct mete__bucket *bucket)
{
    return &table->marks[(uint64_t)(bucket - table->buckets) / METE__BUCKETS_PER_MARK];
}

uint64_t mete__table_not_before_ns(const struct mete__table *table, const struct mete__slot *slot)
{
    uint64_t first = mete__load_u64_acquire(mark_of(table, slot->first));
    uint64_t second = mete__load_u64_acquire(mark_of(table, slot->second));
    return mete__max_u64(first, second);
}

/* The best candidate of one bucket, best being: empty, idle, least owed. */
struct choice {
    struct mete__pair *cell;
    struct mete__pair seen;
    uint64_t rank;
    unsigned live;
};

/* Ranks below any live key's debt, so that the order above comes out. */
enum { RANK_EMPTY = 0, RANK_IDLE = 1, RANK_PENDING = 2, RANK_LIVE = 3 };

static uint64_t rank_of(const struct mete__judge *judge, struct mete__claim *claim, const struct mete__pair *address,
                        struct mete__pair cell)
{
    uint64_t idle_at_ns = 0;
    if (cell.lo == 0) {
        return RANK_EMPTY;
    }
    if (mete__cell_is_pending(cell)) {
        return RANK_PENDING;
    }
    uint64_t debt = judge->rank(judge->context, address, cell, claim->now_ns, &idle_at_ns);
    if (debt == 0) {
        return RANK_IDLE;
    }
    claim->idle_at_ns = mete__min_u64(claim->idle_at_ns, idle_at_ns);
    return debt > UINT64_MAX - RANK_LIVE ? UINT64_MAX : debt + RANK_LIVE;
}

/* False when the key itself was met, confirmed: claim->cell and seen are set. */
static bool survey(const struct mete__table *table, struct mete__bucket *bucket, uint64_t tag,
                   const struct mete__judge *judge, struct mete__claim *claim, struct choice *out)
{
    *out = (struct choice){.rank = UINT64_MAX};
    METE_DCHECK(table->width > 0);
    for (unsigned i = 0; i < table->width; i++) {
        struct mete__pair *cell = &bucket->cells[i];
        struct mete__pair seen = mete__pair_load_acquire(cell);
        if (mete__cell_is_of(seen.lo, tag)) {
            claim->cell = cell;
            claim->seen = seen;
            return false;
        }
        uint64_t rank = rank_of(judge, claim, cell, seen);
        out->live += rank > RANK_IDLE;
        if (out->cell == NULL || rank < out->rank) {
            out->cell = cell;
            out->seen = seen;
            out->rank = rank;
        }
    }
    return true;
}

static bool choose(const struct mete__table *table, const struct mete__slot *slot, const struct mete__judge *judge,
                   struct mete__claim *claim, struct choice *out)
{
    struct choice second;
    claim->idle_at_ns = UINT64_MAX;
    if (!survey(table, slot->first, slot->tag, judge, claim, out)) {
        return false;
    }
    if (slot->second == slot->first) {
        return true;
    }
    if (!survey(table, slot->second, slot->tag, judge, claim, &second)) {
        return false;
    }
    bool is_full = out->rank > RANK_IDLE && second.rank > RANK_IDLE;
    if (is_full ? second.rank < out->rank : second.live < out->live) {
        *out = second;
    }
    return true;
}

/* Waits a little for a claim to be finished by its owner; true when it was left as it is. */
static bool is_left_pending(struct mete__pair *cell, struct mete__pair seen)
{
    for (unsigned i = 0; i < PATIENCE; i++) {
        mete__pause();
        if (!mete__pair_is_same(mete__pair_load_acquire(cell), seen)) {
            return false;
        }
    }
    return true;
}

/* Swaps the chosen victim for our pending cell. */
static bool publish(const struct mete__table *table, const struct mete__judge *judge, const struct mete__claim *claim,
                    const struct choice *choice, struct mete__pair pending)
{
    struct mete__pair expected = choice->seen;
    if (choice->rank == RANK_PENDING) {
        if (!is_left_pending(choice->cell, choice->seen)) {
            return false;
        }
    } else if (choice->rank != RANK_EMPTY) {
        struct mete__bucket *bucket = &table->buckets[mete__table_index(table, choice->cell) / METE__CELLS_PER_BUCKET];
        mete__max_u64_acq_rel(mark_of(table, bucket), claim->now_ns);
        if (judge->retire != NULL && !judge->retire(judge->context, choice->cell, choice->seen, claim->now_ns,
                                                    choice->rank > RANK_LIVE ? choice->rank - RANK_LIVE : 0)) {
            return false;
        }
    }
    if (!mete__pair_cas_full(choice->cell, &expected, pending)) {
        return false;
    }
    if (choice->rank == RANK_PENDING) {
        mete__table_count(table, METE__COUNT_CLAIMS_REMOVED);
    } else if (choice->rank >= RANK_LIVE) {
        mete__table_count(table, METE__COUNT_EVICTED);
    }
    return true;
}

/* Settles with a rival at one candidate; false when it is confirmed there. */
static bool settle_with(const struct mete__table *table, struct mete__pair *cell, uint64_t tag, bool is_before_ours,
                        struct mete__claim *claim)
{
    struct mete__pair seen = mete__pair_load_acquire(cell);
    for (;;) {
        if (mete__cell_is_of(seen.lo, tag)) {
            claim->cell = cell;
            claim->seen = seen;
            return false;
        }
        if (seen.lo != tag) { /* not a claim of our key */
            return true;
        }
        /* Of two live claims the one that lies before the other may go on. */
        if (is_before_ours && !is_left_pending(cell, seen)) {
            seen = mete__pair_load_acquire(cell);
            continue;
        }
        if (mete__pair_cas_full(cell, &seen, (struct mete__pair){0, 0})) {
            mete__table_count(table, METE__COUNT_CLAIMS_REMOVED);
            return true;
        }
    }
}

static bool rescan(const struct mete__table *table, const struct mete__slot *slot, struct mete__pair *ours,
                   struct mete__claim *claim)
{
    bool is_before_ours = true;
    for (unsigned i = 0; i < candidates(table, slot); i++) {
        struct mete__pair *cell = candidate(table, slot, i);
        if (cell == ours) {
            is_before_ours = false;
        } else if (!settle_with(table, cell, slot->tag, is_before_ours, claim)) {
            return false;
        }
    }
    return true;
}

static enum mete__claimed withdraw(struct mete__pair *ours, struct mete__pair pending, enum mete__claimed result)
{
    /* When this fails, someone has removed our claim already. */
    mete__pair_cas_full(ours, &pending, (struct mete__pair){0, 0});
    return result;
}

enum mete__claimed mete__claim_cell(const struct mete__table *table, const struct mete__slot *slot,
                                    const struct mete__judge *judge, struct mete__claim *claim)
{
    for (;;) {
        struct choice choice;
        if (!choose(table, slot, judge, claim, &choice)) {
            return METE__CLAIM_FOUND;
        }
        if (choice.rank >= RANK_LIVE && !claim->may_evict) {
            return METE__CLAIM_FULL;
        }
        struct mete__pair pending = {slot->tag, next_nonce()};
        if (!publish(table, judge, claim, &choice, pending)) {
            continue;
        }
        if (!rescan(table, slot, choice.cell, claim)) {
            return withdraw(choice.cell, pending, METE__CLAIM_FOUND);
        }
        if (mete__table_not_before_ns(table, slot) > mete__max_u64(claim->now_ns, claim->mark_seen_ns)) {
            return withdraw(choice.cell, pending, METE__CLAIM_STALE);
        }
        claim->seen.lo = slot->tag | claim->scale_id;
        claim->seen.hi = judge->word != NULL ? judge->word(judge->context, choice.cell, pending) : claim->word;
        if (mete__pair_cas_full(choice.cell, &pending, claim->seen)) {
            mete__table_count(table, METE__COUNT_INSERTED);
            claim->cell = choice.cell;
            return METE__CLAIM_MADE;
        }
    }
}

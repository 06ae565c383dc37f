/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded, lock-free map from a key's hash to a cell.  It knows no algorithm:
 * whether a cell may be taken is asked of a judge.
 *
 * A key has two candidate buckets and a 48-bit tag.  Key bytes are not stored:
 * two keys share a cell when their tags agree and they meet in a bucket.  For a
 * full table of n cells that is, per new key, 16 cells * 2^-48 = 6e-14; among 10
 * million keys the odds that any two share are below 1e-6.
 *
 *   mete__table_locate   hash -> candidates (prefetched)
 *   mete__table_find     candidates -> the confirmed cell, or NULL     [reads only]
 *   mete__claim          absent key -> a confirmed cell of its own     [claim.c]
 *
 * Linearization: the swap that confirms a cell makes the key present; a
 * decision on a present key is one swap of its cell, tag and word together.
 */
#ifndef METE_TABLE_TABLE_H
#define METE_TABLE_TABLE_H

#include "base/arith.h"
#include "base/hash.h"
#include "table/layout.h"

struct mete__table {
    struct mete__bucket *buckets;
    uint64_t buckets_n;
    unsigned width; /* usable cells per bucket: 8, or keys_max for a table of one bucket */
    uint64_t *marks;
    struct mete__pair *scales;
    struct mete__stripe *stripes;
    struct mete__header *header;
    unsigned char *rings; /* logs */
    uint64_t bytes;
};

struct mete__slot {
    struct mete__bucket *first;
    struct mete__bucket *second; /* the same when the table has one bucket */
    uint64_t tag;                /* in the upper 48 bits */
};

METE_INLINE struct mete__slot mete__table_locate(const struct mete__table *table, struct mete__hash hash)
{
    struct mete__slot slot;
    uint64_t first = mete__mulhi_u64(hash.lo, table->buckets_n);
    /* An odd multiplier spreads the low bits upwards: an independent choice. */
    uint64_t second = mete__mulhi_u64(hash.lo * UINT64_C(0x9e3779b97f4a7c15), table->buckets_n);
    slot.second = &table->buckets[second];
    slot.first = &table->buckets[first];
    __builtin_prefetch(slot.second->cells, 1);
    __builtin_prefetch(slot.second->cells + 4, 1);
    __builtin_prefetch(slot.first->cells, 1);
    __builtin_prefetch(slot.first->cells + 4, 1);
    slot.tag = hash.hi & ~METE__SCALE_MASK;
    slot.tag += (uint64_t)(slot.tag == 0) << 16;
    return slot;
}

/* Confirmed and with this tag. */
METE_INLINE bool mete__cell_is_of(uint64_t lo, uint64_t tag)
{
    return (lo ^ tag) - 1 < METE__SCALE_MASK;
}

static inline bool mete__cell_is_pending(struct mete__pair cell)
{
    return cell.lo != 0 && (cell.lo & METE__SCALE_MASK) == 0;
}

METE_INLINE struct mete__pair *mete__bucket_find(struct mete__bucket *bucket, unsigned width, uint64_t tag,
                                                 struct mete__pair *seen)
{
    for (unsigned i = 0; i < width; i++) {
        /* A hint: the pair is read whole and looked at again. */
        if (mete__cell_is_of(mete__load_u64_relaxed(&bucket->cells[i].lo), tag)) {
            *seen = mete__pair_load_acquire(&bucket->cells[i]);
            if (mete__cell_is_of(seen->lo, tag)) {
                return &bucket->cells[i];
            }
        }
    }
    return NULL;
}

/*
 * The key's confirmed cell and what it held, or NULL.  Absence is a hint: only
 * mete__claim can tell for sure.  Pairs with the confirming swap in claim.c.
 */
METE_INLINE struct mete__pair *mete__table_find(const struct mete__table *table, const struct mete__slot *slot,
                                                struct mete__pair *seen)
{
    struct mete__pair *cell = mete__bucket_find(slot->first, table->width, slot->tag, seen);
    if (__builtin_expect(cell != NULL, 1)) {
        return cell;
    }
    return mete__bucket_find(slot->second, table->width, slot->tag, seen);
}

static inline uint64_t mete__table_index(const struct mete__table *table, const struct mete__pair *cell)
{
    return (uint64_t)(cell - table->buckets[0].cells);
}

/* Counts an event; relaxed, on a stripe chosen by the thread. */
void mete__table_count(const struct mete__table *table, enum mete__count which);
uint64_t mete__table_counted(const struct mete__table *table, enum mete__count which);

/*
 * To be called when a swap of a cell failed: counts it, and stays away from the
 * cell's cache line for some hundred nanoseconds.  Two threads that snatch one line
 * from each other at every decision spend most of the time moving it; so
 * each gets it for a dozen decisions.  Returns what the cell holds afterwards.
 */
struct mete__pair mete__table_yield(const struct mete__table *table, const struct mete__pair *cell)
    __attribute__((noinline, cold));

/* --- claiming (claim.c) --------------------------------------------------- */

/*
 * Whoever knows what words mean.  rank: how much would be forgotten with this
 * cell; 0 when it is as if never seen; *idle_at_ns when that will be.  retire
 * (may be NULL) is called before a confirmed cell is taken over and may refuse.
 * word (may be NULL) gives the word to confirm the pending cell with, instead of
 * the claim's.
 */
struct mete__judge {
    void *context;
    uint64_t (*rank)(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                     uint64_t *idle_at_ns);
    bool (*retire)(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                   uint64_t rank);
    uint64_t (*word)(void *context, const struct mete__pair *address, struct mete__pair pending);
};

enum mete__claimed {
    METE__CLAIM_MADE,  /* the cell is confirmed and ours */
    METE__CLAIM_FOUND, /* another thread was first: use its cell */
    METE__CLAIM_STALE, /* a cell nearby was taken over since, at a later time: begin again */
    METE__CLAIM_FULL   /* all candidates are live and may_evict is false */
};

struct mete__claim {
    uint64_t scale_id;
    uint64_t word;
    uint64_t now_ns;       /* the time the word was computed with */
    uint64_t mark_seen_ns; /* the latest takeover nearby that now_ns takes into account */
    bool may_evict;
    /* results */
    uint64_t idle_at_ns;     /* FULL: when the first candidate is free */
    struct mete__pair *cell; /* MADE, FOUND */
    struct mete__pair seen;
};

enum mete__claimed mete__claim_cell(const struct mete__table *table, const struct mete__slot *slot,
                                    const struct mete__judge *judge, struct mete__claim *claim);

/* The latest time at which a cell near the slot was taken over: a key that is
 * absent must not begin before it.  Read after the search that found nothing. */
uint64_t mete__table_not_before_ns(const struct mete__table *table, const struct mete__slot *slot);

/* To be called once in the process before the first claim, and in a forked child. */
void mete__claim_seed(uint64_t random);

#endif

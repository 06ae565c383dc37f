/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store: the table, its clock, and what this process knows about it.
 *
 *   store
 *     table          the mapping (table/layout.h)
 *     clock          what METE_NOW reads
 *     rules          every limit this process has used here, immutable (rule.h)
 *     logs           the sliding logs' own mappings, by limiter name (log.h)
 */
#ifndef METE_LIMITER_STORE_H
#define METE_LIMITER_STORE_H

#include <mete/mete.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/why.h"
#include "limiter/rule.h"
#include "table/table.h"

#define METE__RULES_MAX 65535u /* distinct limits one process may use in one store */
#define METE__LOGS_MAX 1024u   /* mappings of sliding logs per store and process */

struct mete__log;

struct mete__store_clock {
    struct mete_clock callers; /* now_ns NULL: our own */
    uint64_t offset_ns;        /* store time - CLOCK_MONOTONIC; wraps */
    enum mete_clock_source source;
    bool has_tick; /* our own clock, and the caller did not ask for a system call each time */
};

struct mete_store {
    struct mete__table table;
    struct mete__store_clock clock;
    uint64_t anchor_due_ns; /* files: when the anchor cell is to be renewed; else UINT64_MAX */
    enum mete_full_policy on_full;
    struct mete__judge judge;
    unsigned flags;
    uint64_t log_units_max;
    char *path;            /* NULL: private */
    pthread_mutex_t mutex; /* rules and logs; never taken while deciding */
    struct mete__rules rules;
    struct mete__log *logs;
    unsigned logs_n;
};

uint64_t mete__store_renew_anchor(mete_store *store, uint64_t now_ns) __attribute__((noinline, cold));

static inline bool mete__store_has_logs(const mete_store *store)
{
    return mete__load_pointer_acquire(&store->logs) != NULL;
}

/* The time METE_NOW stands for. */
METE_INLINE uint64_t mete__store_now(mete_store *store)
{
    if (__builtin_expect(store->clock.callers.now_ns != NULL, 0)) {
        return mete__min_u64(store->clock.callers.now_ns(store->clock.callers.context), METE_TIME_MAX);
    }
    uint64_t now_ns = mete__clock_read(store->clock.source) + store->clock.offset_ns;
    if (__builtin_expect(now_ns >= mete__load_u64_relaxed(&store->anchor_due_ns), 0)) {
        return mete__store_renew_anchor(store, now_ns);
    }
    return now_ns;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sliding logs' own bounded memory: per limiter name and ring size one
 * mapping with a table of identity cells and a ring for each cell.  With a store
 * file it is a file beside it, `PATH.NAMEHASH-UNITS.log`.
 *
 * Bytes per key: 16 for its cell and 16 + 8 * count for its ring, to whole cache
 * lines; a third more than log_units_max / count keys have places.
 */
#ifndef METE_LIMITER_LOG_H
#define METE_LIMITER_LOG_H

#include <mete/mete.h>

#include "base/why.h"
#include "limiter/log_ring.h"
#include "table/table.h"

struct mete__log {
    struct mete__table table;
    struct mete__judge judge;
    mete_store *store;
    uint64_t ring_units;
    uint64_t ring_bytes;
    uint64_t name_hash;
    uint64_t period_max_ns;  /* the longest period any rule here has had: rings are kept that long */
    struct mete__log *next;  /* of the store */
    struct mete__log *newer; /* a larger one of this name, which is in use instead; acquire */
};

/* The limiter's log with room for `units` per key: known, or opened, or made.
 * The store's mutex is held.  METE_EFULL, METE_ENOMEM, METE_EIO, METE_ECORRUPT. */
mete_status mete__log_acquire(mete_limiter *limiter, uint64_t units, uint64_t period_ns, struct mete__log **out,
                              const struct mete__why *why);

/* Opens what earlier runs left in files under the limiter's name.  The store's
 * mutex is held. */
mete_status mete__logs_reopen(mete_limiter *limiter, const struct mete__why *why);

void mete__logs_destroy(mete_store *store);
uint64_t mete__logs_bytes(mete_store *store);

/* The sum over the store's logs. */
uint64_t mete__logs_counted(mete_store *store, enum mete__count which);

static inline struct mete__ring mete__log_ring(const struct mete__log *log, const struct mete__pair *cell)
{
    unsigned char *at = log->table.rings + mete__table_index(&log->table, cell) * log->ring_bytes;
    return (struct mete__ring){
        .control = (void *)at, .times = (void *)(at + sizeof(struct mete__pair)), .units = log->ring_units};
}

/* A key's ring as it is now; false when the key has none. */
struct mete__log_view {
    struct mete__ring ring;
    struct mete__pair *cell;
    struct mete__pair cell_seen;
    struct mete__pair control;
    struct mete__ring_state state;
};

bool mete__log_look(struct mete__log *log, const struct mete__slot *slot, struct mete__log_view *out);

#endif

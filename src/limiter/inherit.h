/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a key owes when its limit changed between an algorithm that lives in a
 * cell and the sliding log that lives in a ring, or to a log with larger rings.
 * docs/algorithms.md, "Changing a limit".  Off the hot path.
 *
 * A call that is still under way by the old limit while another carries its key
 * over may charge the old place: that unit is then not seen by the new one.
 */
#ifndef METE_LIMITER_INHERIT_H
#define METE_LIMITER_INHERIT_H

#include "limiter/limiter.h"

/* The word a key has under history->current: from its cell, NULL when it has
 * none, and from its ring when a log was in force since. */
uint64_t mete__inherited_word(const mete_limiter *limiter, const struct mete__history *history,
                              const struct mete__pair *cell, struct mete__hash hash, uint64_t now_ns);

/* What a new ring begins with. */
struct mete__inheritance {
    const mete_limiter *limiter;
    struct mete__log *log; /* where the new ring is */
    const struct mete__history *history;
    struct mete__hash hash;
    /* found: either units at one time, or the ring of a smaller log */
    uint64_t units;
    uint64_t at_ns;
    struct mete__log *older;
};

/* True when there is something to begin with. */
bool mete__inheritance_find(struct mete__inheritance *heir, uint64_t now_ns);

/* The judge of a claim whose context is an inheritance: as the log's own, but
 * the ring is filled before its cell is confirmed. */
struct mete__judge mete__inheritance_judge(struct mete__inheritance *heir);

#endif

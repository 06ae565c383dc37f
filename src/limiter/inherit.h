/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a key owes under the limit in force when it was last used under an
 * earlier one: in a cell, or in a ring when that was a sliding log.
 * docs/algorithms.md, "Changing a limit".  Off the hot path.
 *
 * A key's cell and ring each name the rule they were last used under, by its
 * scale id; of the two the later one counts.  From there its debt is walked
 * through the changes in their order.  The first charge writes it where the
 * limit in force keeps it.
 *
 * A call that is still under way by the old limit while another carries its key
 * over may charge the old place: that unit is then not seen by the new one.
 */
#ifndef METE_LIMITER_INHERIT_H
#define METE_LIMITER_INHERIT_H

#include "limiter/limiter.h"

/* The key's word under history->current, which is not a log.  cell is what was
 * found in the table, NULL when nothing was. */
uint64_t mete__inherited_word(const mete_limiter *limiter, const struct mete__history *history,
                              const struct mete__pair *cell, struct mete__hash hash, uint64_t now_ns);

/* Whether a cell's word was settled just now because its scale is not remembered,
 * so that it must be written for its waits to hold.  Not when the windows are the
 * same ones and only the count differs: they end when they end. */
bool mete__is_settled_now(const mete_limiter *limiter, const struct mete__history *history, struct mete__pair cell);

/* What a key brings to history->current, which is a log. */
enum mete__heirloom {
    METE__HEIR_NOTHING, /* it begins empty */
    METE__HEIR_RING,    /* its times, in a ring that only logs have used since */
    METE__HEIR_UNITS    /* some units, all at one time */
};

struct mete__inheritance {
    const mete_limiter *limiter;
    struct mete__log *log; /* where its ring is, or will be */
    const struct mete__history *history;
    struct mete__hash hash;
    /* found */
    enum mete__heirloom what;
    uint64_t units;
    uint64_t at_ns;
    uint64_t now_ns; /* of the request */
};

/* own is the key's ring in heir->log, NULL when it has none. */
void mete__inheritance_find(struct mete__inheritance *heir, const struct mete__log_view *own, uint64_t now_ns);

/* The ring's first state after `control`, for a new key or in place of a stale one. */
struct mete__ring_state mete__inheritance_begin(const struct mete__inheritance *heir, const struct mete__ring *ring,
                                                struct mete__pair control, uint64_t gen);

/* The judge of a claim whose context is an inheritance: as the log's own, but
 * the ring is filled before its cell is confirmed. */
struct mete__judge mete__inheritance_judge(struct mete__inheritance *heir);

/* The first change that a place of this scale has still to go through: count
 * when it is up to date, METE__BEFORE_OUR_TIME when the scale is not remembered. */
#define METE__BEFORE_OUR_TIME UINT64_MAX
uint64_t mete__history_index(const struct mete__history *history, uint64_t scale_id);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many keys are live in each store.  Counting walks the whole table, so it is
 * done by a thread of its own, when somebody asks and the last count is older
 * than METE__LIVE_AGE_MS; who asks gets the last count at once.  Any thread.
 */
#ifndef METE_SERVER_LIVE_H
#define METE_SERVER_LIVE_H

#include <stdbool.h>

#include "server/engine.h"

#define METE__LIVE_AGE_MS 10000u
#define METE__LIVE_STORES 3u /* as mete__engine_stores */

struct mete__live {
    bool is_known;                    /* a first count is done */
    uint64_t age_ms;                  /* since it was done */
    uint64_t took_ms;                 /* how long the walk was */
    uint64_t keys[METE__LIVE_STORES]; /* as mete__engine_stores */
};

/* The last count; starts another one when that is due. */
void mete__live_ask(struct mete__engine *engine, struct mete__live *out);

/* Waits for a count that is being made.  To be called before the engine is destroyed. */
void mete__live_stop(void);

#endif

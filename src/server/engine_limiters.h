/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limiters of policies, by (store, policy, plan, limit).  They outlive
 * reloads, so that live keys keep what they spent; a changed limit is set on the
 * limiter there is.  The plans of one limit share its keys: a key that is moved to
 * another plan keeps what it owes.
 *
 * A reload is begin, get for each limit wanted, then commit; until commit no limit
 * in force changes.
 */
#ifndef METE_SERVER_ENGINE_LIMITERS_H
#define METE_SERVER_ENGINE_LIMITERS_H

#include "server/engine.h"

struct mete__engine_limiter;

#define METE__LIMITER_CHAINS 4096u

struct mete__engine_limiters {
    struct mete__engine_limiter *chains[METE__LIMITER_CHAINS]; /* by name and plan */
    struct mete__engine_limiter **of;
    size_t count;
    size_t size;
};

void mete__engine_limiters_clear(struct mete__engine_limiters *limiters);

/* Forgets what an earlier reload wanted and did not commit. */
void mete__engine_limiters_begin(struct mete__engine_limiters *limiters);

mete_status mete__engine_limiters_get(struct mete__engine_limiters *limiters, mete_store *store,
                                      const struct mete__policy *policy, size_t plan, size_t limit, mete_limiter **out,
                                      char *why, size_t why_size);

/* Puts every limit asked for in force; on failure all are as they were. */
mete_status mete__engine_limiters_commit(struct mete__engine_limiters *limiters, char *why, size_t why_size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that requests bring themselves (CL.THROTTLE and its cousins): a limiter
 * per distinct (capacity, count, period), all of one name, so that a key keeps
 * what it owes when the figures of its requests change.
 */
#ifndef METE_SERVER_ENGINE_OWN_H
#define METE_SERVER_ENGINE_OWN_H

#include <pthread.h>

#include "server/engine.h"

#define METE__OWN_CHAINS 4096u
#define METE__OWN_MAX 60000u /* distinct limits; the store takes 65,535 and policies need some */

struct mete__own_limiter;

struct mete__engine_own {
    mete_store *store;
    pthread_mutex_t mutex;
    struct mete__own_limiter *chains[METE__OWN_CHAINS];
    mete_limiter *any; /* atomic: the first one made */
    size_t count;
    bool is_ready;
    bool is_full_told; /* in the log */
};

void mete__engine_own_init(struct mete__engine_own *own, mete_store *store);
void mete__engine_own_clear(struct mete__engine_own *own);
mete_status mete__engine_own_get(struct mete__engine_own *own, uint64_t capacity, uint64_t count, uint64_t period_ns,
                                 mete_limiter **out, char *why, size_t why_size);
mete_limiter *mete__engine_own_any(struct mete__engine_own *own);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots and their life: a snapshot is current from the reload that made it to
 * the next, and lives until every loop that joined it has left.
 */
#include "server/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/engine_limiters.h"
#include "server/engine_own.h"
#include "server/engine_stores.h"
#include "server/places.h"

struct holder {
    struct mete__snapshot snapshot;
    unsigned users; /* loops that have joined, and one for being current */
    struct holder *next;
};

struct mete__engine {
    struct mete__engine_stores stores;
    struct mete__engine_limiters limiters;
    struct mete__engine_own own;
    pthread_mutex_t mutex; /* guards current and the users of holders */
    struct holder *current;
};

static void holder_destroy(struct holder *holder)
{
    if (holder == NULL) {
        return;
    }
    if (holder->snapshot.policies != NULL) {
        for (size_t i = 0; i < holder->snapshot.config->policy_count; i++) {
            free(holder->snapshot.policies[i].plans);
        }
    }
    free(holder->snapshot.policies);
    mete__config_destroy((struct mete__config *)(uintptr_t)holder->snapshot.config);
    free(holder);
}

static mete_status no_memory(char *why, size_t why_size)
{
    snprintf(why, why_size, "no memory");
    return METE_ENOMEM;
}

static mete_status bind_policy(struct mete__engine *engine, const struct mete__policy *policy,
                               struct mete__bound_policy *bound, char *why, size_t why_size)
{
    mete_store *store = mete__engine_stores_get(&engine->stores, policy->on_full);
    bound->policy = policy;
    bound->place = mete__places_of(policy->name);
    bound->plans = calloc(policy->plan_count, sizeof *bound->plans);
    if (bound->plans == NULL) {
        return no_memory(why, why_size);
    }
    for (size_t plan = 0; plan < policy->plan_count; plan++) {
        for (size_t i = 0; i < policy->limit_count; i++) {
            mete_status status = mete__engine_limiters_get(&engine->limiters, store, policy, plan, i,
                                                           &bound->plans[plan].limiters[i], why, why_size);
            if (status != METE_OK) {
                return status;
            }
        }
    }
    return METE_OK;
}

/* Takes config over.  Limits of limiters that exist are not changed yet: see mete__engine_limiters_commit. */
static mete_status bind(struct mete__engine *engine, struct mete__config *config, struct holder **out, char *why,
                        size_t why_size)
{
    struct holder *holder = calloc(1, sizeof *holder);
    if (holder == NULL) {
        mete__config_destroy(config);
        return no_memory(why, why_size);
    }
    holder->snapshot.config = config;
    holder->snapshot.policies = calloc(config->policy_count + 1, sizeof *holder->snapshot.policies);
    mete_status status = holder->snapshot.policies != NULL ? METE_OK : no_memory(why, why_size);
    for (size_t i = 0; status == METE_OK && i < config->policy_count; i++) {
        status = mete__engine_stores_open(&engine->stores, config->policies[i].on_full, why, why_size);
        if (status == METE_OK) {
            status = bind_policy(engine, &config->policies[i], &holder->snapshot.policies[i], why, why_size);
        }
    }
    if (status != METE_OK) {
        holder_destroy(holder);
        return status;
    }
    *out = holder;
    return METE_OK;
}

static void let_go(struct mete__engine *engine, struct holder *holder)
{
    pthread_mutex_lock(&engine->mutex);
    bool is_last = --holder->users == 0;
    pthread_mutex_unlock(&engine->mutex);
    if (is_last) {
        holder_destroy(holder);
    }
}

mete_status mete__engine_create(struct mete__config *config, const struct mete__engine_options *options,
                                struct mete__engine **out, char *why, size_t why_size)
{
    struct mete__engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) {
        mete__config_destroy(config);
        return no_memory(why, why_size);
    }
    pthread_mutex_init(&engine->mutex, NULL);
    mete__engine_stores_init(&engine->stores, config, options);
    mete_status status = mete__engine_stores_open(&engine->stores, config->on_full, why, why_size);
    if (status == METE_OK) {
        mete__engine_own_init(&engine->own, mete__engine_stores_get(&engine->stores, config->on_full));
        status = mete__engine_reload(engine, config, why, why_size);
    } else {
        mete__config_destroy(config);
    }
    if (status != METE_OK) {
        mete__engine_destroy(engine);
        return status;
    }
    *out = engine;
    return METE_OK;
}

void mete__engine_destroy(struct mete__engine *engine)
{
    if (engine == NULL) {
        return;
    }
    holder_destroy(engine->current);
    mete__engine_own_clear(&engine->own);
    mete__engine_limiters_clear(&engine->limiters);
    mete__engine_stores_clear(&engine->stores);
    pthread_mutex_destroy(&engine->mutex);
    free(engine);
}

mete_status mete__engine_reload(struct mete__engine *engine, struct mete__config *config, char *why, size_t why_size)
{
    struct holder *fresh;
    if (!mete__engine_stores_is_same(&engine->stores, config, why, why_size)) {
        mete__config_destroy(config);
        return METE_EINVAL;
    }
    mete__engine_limiters_begin(&engine->limiters);
    mete_status status = bind(engine, config, &fresh, why, why_size);
    if (status == METE_OK) {
        status = mete__engine_limiters_commit(&engine->limiters, why, why_size);
        if (status != METE_OK) {
            holder_destroy(fresh);
        }
    }
    if (status != METE_OK) {
        return status;
    }
    pthread_mutex_lock(&engine->mutex);
    struct holder *old = engine->current;
    fresh->users = 1;
    fresh->snapshot.version = old != NULL ? old->snapshot.version + 1 : 1;
    engine->current = fresh;
    pthread_mutex_unlock(&engine->mutex);
    if (old != NULL) {
        let_go(engine, old);
    }
    return METE_OK;
}

const struct mete__snapshot *mete__engine_join(struct mete__engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    struct holder *holder = engine->current;
    holder->users++;
    pthread_mutex_unlock(&engine->mutex);
    return &holder->snapshot;
}

void mete__engine_leave(struct mete__engine *engine, const struct mete__snapshot *snapshot)
{
    /* snapshot is the first member of its holder */
    let_go(engine, (struct holder *)(uintptr_t)snapshot);
}

const struct mete__bound_policy *mete__snapshot_find(const struct mete__snapshot *snapshot, const char *name,
                                                     size_t name_len)
{
    const struct mete__policy *policy = mete__config_policy(snapshot->config, name, name_len);
    return policy != NULL ? &snapshot->policies[policy->index] : NULL;
}

mete_status mete__engine_own_limit(struct mete__engine *engine, uint64_t capacity, uint64_t count, uint64_t period_ns,
                                   mete_limiter **out, char *why, size_t why_size)
{
    return mete__engine_own_get(&engine->own, capacity, count, period_ns, out, why, why_size);
}

mete_limiter *mete__engine_any_own(struct mete__engine *engine)
{
    return mete__engine_own_any(&engine->own);
}

size_t mete__engine_stores(const struct mete__engine *engine, const mete_store *out[3])
{
    return mete__engine_stores_list(&engine->stores, out);
}

uint64_t mete__engine_now(const struct mete__engine *engine)
{
    return mete_store_now(mete__engine_stores_first(&engine->stores));
}

void mete__engine_set_clock(struct mete__engine *engine, uint64_t now_ns)
{
    mete__engine_stores_set_clock(&engine->stores, now_ns);
}

bool mete__engine_has_test_clock(const struct mete__engine *engine)
{
    return engine->stores.has_test_clock;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine_limiters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two names and a separator; the library takes 255. */
#define FULL_NAME_MAX (2 * METE__NAME_MAX + 2)

struct mete__engine_limiter {
    mete_store *store;
    char name[FULL_NAME_MAX]; /* policy/limit: what the keys belong to */
    char plan[METE__NAME_MAX + 1];
    mete_limiter *limiter;
    struct mete_limit in_force;
    struct mete_limit wanted;
    bool is_wanted;
    struct mete__engine_limiter *next; /* of its chain */
};

void mete__engine_limiters_clear(struct mete__engine_limiters *limiters)
{
    for (size_t i = 0; i < limiters->count; i++) {
        mete_limiter_destroy(limiters->of[i]->limiter);
        free(limiters->of[i]);
    }
    free(limiters->of);
    memset(limiters, 0, sizeof *limiters);
}

void mete__engine_limiters_begin(struct mete__engine_limiters *limiters)
{
    for (size_t i = 0; i < limiters->count; i++) {
        limiters->of[i]->is_wanted = false;
    }
}

/* FNV-1a, a zero between the two. */
static struct mete__engine_limiter **chain_of(struct mete__engine_limiters *limiters, const char *name,
                                              const char *plan)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    const char *const words[] = {name, plan};
    for (size_t i = 0; i < 2; i++) {
        const char *at = words[i];
        do {
            hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001B3);
        } while (*at++ != '\0');
    }
    return &limiters->chains[(hash ^ hash >> 32) % METE__LIMITER_CHAINS];
}

static struct mete__engine_limiter *find(struct mete__engine_limiter *chain, const mete_store *store, const char *name,
                                         const char *plan)
{
    for (struct mete__engine_limiter *each = chain; each != NULL; each = each->next) {
        if (each->store == store && strcmp(each->name, name) == 0 && strcmp(each->plan, plan) == 0) {
            return each;
        }
    }
    return NULL;
}

static bool is_same_limit(const struct mete_limit *a, const struct mete_limit *b)
{
    return a->algorithm == b->algorithm && a->count == b->count && a->period_ns == b->period_ns &&
           a->burst == b->burst && a->alignment == b->alignment && strcmp(a->time_zone, b->time_zone) == 0;
}

static struct mete__engine_limiter *append(struct mete__engine_limiters *limiters)
{
    if (limiters->count == limiters->size) {
        size_t size = limiters->size > 0 ? limiters->size * 2 : 16;
        struct mete__engine_limiter **of = realloc(limiters->of, size * sizeof(struct mete__engine_limiter *));
        if (of == NULL) {
            return NULL;
        }
        limiters->of = of;
        limiters->size = size;
    }
    struct mete__engine_limiter *fresh = calloc(1, sizeof *fresh);
    if (fresh != NULL) {
        limiters->of[limiters->count] = fresh;
    }
    return fresh;
}

/* A limiter of this name and limit can be made: then setting the limit on another one of the name is likely to work. */
static mete_status try_limit(mete_store *store, const char *name, const struct mete_limit *limit, mete_limiter **out,
                             char *why, size_t why_size)
{
    char sentence[256];
    mete_status status = mete_limiter_create_why(store, name, limit, out, sentence, sizeof sentence);
    if (status != METE_OK) {
        snprintf(why, why_size, "policies.%s: %s", name, sentence);
    }
    return status;
}

static mete_status want(struct mete__engine_limiter *known, const struct mete_limit *limit, char *why, size_t why_size)
{
    mete_limiter *trial = NULL;
    if (!is_same_limit(&known->in_force, limit)) {
        mete_status status = try_limit(known->store, known->name, limit, &trial, why, why_size);
        if (status != METE_OK) {
            return status;
        }
        mete_limiter_destroy(trial);
    }
    known->wanted = *limit;
    known->is_wanted = true;
    return METE_OK;
}

mete_status mete__engine_limiters_get(struct mete__engine_limiters *limiters, mete_store *store,
                                      const struct mete__policy *policy, size_t plan, size_t limit, mete_limiter **out,
                                      char *why, size_t why_size)
{
    const struct mete__policy_limit *described = &policy->plans[plan].limits[limit];
    char name[FULL_NAME_MAX];
    snprintf(name, sizeof name, "%s/%s", policy->name, described->name);
    struct mete__engine_limiter **chain = chain_of(limiters, name, policy->plans[plan].name);
    struct mete__engine_limiter *known = find(*chain, store, name, policy->plans[plan].name);
    if (known != NULL) {
        *out = known->limiter;
        return want(known, &described->limit, why, why_size);
    }
    struct mete__engine_limiter *fresh = append(limiters);
    if (fresh == NULL) {
        snprintf(why, why_size, "no memory");
        return METE_ENOMEM;
    }
    mete_status status = try_limit(store, name, &described->limit, &fresh->limiter, why, why_size);
    if (status != METE_OK) {
        free(fresh);
        return status;
    }
    fresh->store = store;
    snprintf(fresh->name, sizeof fresh->name, "%s", name);
    snprintf(fresh->plan, sizeof fresh->plan, "%s", policy->plans[plan].name);
    fresh->in_force = fresh->wanted = described->limit;
    limiters->count++;
    fresh->next = *chain;
    *chain = fresh;
    *out = fresh->limiter;
    return METE_OK;
}

mete_status mete__engine_limiters_commit(struct mete__engine_limiters *limiters, char *why, size_t why_size)
{
    size_t done = 0;
    mete_status status = METE_OK;
    for (; done < limiters->count; done++) {
        struct mete__engine_limiter *each = limiters->of[done];
        if (each->is_wanted && !is_same_limit(&each->in_force, &each->wanted)) {
            status = mete_limiter_set_limit(each->limiter, &each->wanted);
            if (status != METE_OK) {
                snprintf(why, why_size, "policies.%s: %s", each->name, mete_status_text(status));
                break;
            }
        }
    }
    for (size_t i = 0; i < done; i++) {
        struct mete__engine_limiter *each = limiters->of[i];
        if (!each->is_wanted || is_same_limit(&each->in_force, &each->wanted)) {
            continue;
        }
        if (status == METE_OK) {
            each->in_force = each->wanted;
        } else {
            mete_limiter_set_limit(each->limiter, &each->in_force); /* known to the store: cannot fail for room */
        }
    }
    return status;
}

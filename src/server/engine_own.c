/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/log.h"

/* Not a policy's name: those have no space. */
#define NAME "own limits"

struct mete__own_limiter {
    uint64_t capacity;
    uint64_t count;
    uint64_t period_ns;
    mete_limiter *limiter;
    struct mete__own_limiter *next;
};

void mete__engine_own_init(struct mete__engine_own *own, mete_store *store)
{
    own->store = store;
    pthread_mutex_init(&own->mutex, NULL);
    own->is_ready = true;
}

void mete__engine_own_clear(struct mete__engine_own *own)
{
    if (!own->is_ready) {
        return;
    }
    for (size_t i = 0; i < METE__OWN_CHAINS; i++) {
        while (own->chains[i] != NULL) {
            struct mete__own_limiter *each = own->chains[i];
            own->chains[i] = each->next;
            mete_limiter_destroy(each->limiter);
            free(each);
        }
    }
    pthread_mutex_destroy(&own->mutex);
    own->is_ready = false;
}

static struct mete__own_limiter **chain_of(struct mete__engine_own *own, uint64_t capacity, uint64_t count,
                                           uint64_t period_ns)
{
    uint64_t mixed = (capacity * UINT64_C(0x9E3779B97F4A7C15) ^ count) * UINT64_C(0xC2B2AE3D27D4EB4F) ^ period_ns;
    mixed *= UINT64_C(0x9E3779B97F4A7C15);
    return &own->chains[mixed >> 52];
}

static mete_status make(struct mete__engine_own *own, struct mete__own_limiter *fresh, char *why, size_t why_size)
{
    struct mete_limit limit = {
        .count = fresh->count, .period_ns = fresh->period_ns, .burst = fresh->capacity, .algorithm = METE_TOKEN_BUCKET};
    if (own->count == METE__OWN_MAX) {
        if (!own->is_full_told) {
            own->is_full_told = true;
            METE__LOG(METE__LOG_WARN, "clients have brought as many distinct limits as are kept; new ones are refused",
                      METE__LOG_U64("limits", METE__OWN_MAX));
        }
        snprintf(why, why_size, "limit: %u distinct ones have been used, which is the most this server keeps",
                 METE__OWN_MAX);
        return METE_EFULL;
    }
    return mete_limiter_create_why(own->store, NAME, &limit, &fresh->limiter, why, why_size);
}

static mete_status get(struct mete__engine_own *own, struct mete__own_limiter wanted, mete_limiter **out, char *why,
                       size_t why_size)
{
    struct mete__own_limiter **chain = chain_of(own, wanted.capacity, wanted.count, wanted.period_ns);
    for (struct mete__own_limiter *each = *chain; each != NULL; each = each->next) {
        if (each->capacity == wanted.capacity && each->count == wanted.count && each->period_ns == wanted.period_ns) {
            *out = each->limiter;
            return METE_OK;
        }
    }
    struct mete__own_limiter *fresh = malloc(sizeof *fresh);
    if (fresh == NULL) {
        snprintf(why, why_size, "no memory");
        return METE_ENOMEM;
    }
    *fresh = wanted;
    mete_status status = make(own, fresh, why, why_size);
    if (status != METE_OK) {
        free(fresh);
        return status;
    }
    fresh->next = *chain;
    *chain = fresh;
    own->count++;
    if (own->any == NULL) {
        __atomic_store_n(&own->any, fresh->limiter, __ATOMIC_RELEASE); /* pairs with mete__engine_own_any */
    }
    *out = fresh->limiter;
    return METE_OK;
}

mete_status mete__engine_own_get(struct mete__engine_own *own, uint64_t capacity, uint64_t count, uint64_t period_ns,
                                 mete_limiter **out, char *why, size_t why_size)
{
    struct mete__own_limiter wanted = {.capacity = capacity, .count = count, .period_ns = period_ns};
    pthread_mutex_lock(&own->mutex);
    mete_status status = get(own, wanted, out, why, why_size);
    pthread_mutex_unlock(&own->mutex);
    return status;
}

mete_limiter *mete__engine_own_any(struct mete__engine_own *own)
{
    return __atomic_load_n(&own->any, __ATOMIC_ACQUIRE);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A list that only grows: written under a lock, read without one. */
#include "server/places.h"

#include <pthread.h>
#include <string.h>

#include "base/atomic.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char names[METE__PLACES][METE__NAME_MAX + 1];
static uint64_t used; /* names[0..used) are whole; released after the name is written */

/* Reloads ask, not requests: a walk is quick enough. */
static uint32_t find_or_add(const char *name)
{
    uint64_t count = mete__load_u64_relaxed(&used);
    for (uint32_t place = 0; place < count; place++) {
        if (strcmp(names[place], name) == 0) {
            return place;
        }
    }
    if (count == METE__PLACES) {
        return METE__PLACES - 1;
    }
    /* The first name that finds only the last place makes it the shared one. */
    strncpy(names[count], count < METE__PLACES - 1 ? name : METE__PLACE_OTHER, METE__NAME_MAX);
    mete__store_u64_release(&used, count + 1);
    return (uint32_t)count;
}

uint32_t mete__places_of(const char *name)
{
    pthread_mutex_lock(&lock);
    uint32_t place = find_or_add(name);
    pthread_mutex_unlock(&lock);
    return place;
}

const char *mete__place_name(uint32_t place)
{
    return place < mete__load_u64_acquire(&used) ? names[place] : NULL;
}

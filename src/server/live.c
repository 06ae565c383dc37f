/* SPDX-License-Identifier: Apache-2.0 */
/* One count at a time, by one thread that ends with it; live.h says when. */
#include "server/live.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"

#define NS_PER_MS UINT64_C(1000000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static bool is_thread; /* to be joined */
static bool is_counting;
static const mete_store *stores[METE__LIVE_STORES];
static size_t store_count;
static struct mete__live last;
static uint64_t done_ns;

static void *count(void *unused)
{
    struct mete__live counted = {.is_known = true};
    uint64_t begin_ns = mete__monotonic_ns();
    for (size_t i = 0; i < store_count; i++) {
        mete_store_keys_live(stores[i], &counted.keys[i]);
    }
    uint64_t end_ns = mete__monotonic_ns();
    counted.took_ms = (end_ns - begin_ns) / NS_PER_MS;
    pthread_mutex_lock(&lock);
    last = counted;
    done_ns = end_ns;
    is_counting = false;
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Under the lock. */
static void start(struct mete__engine *engine)
{
    if (is_thread) {
        pthread_join(thread, NULL); /* it has let go of the lock for the last time */
    }
    store_count = mete__engine_stores(engine, stores);
    is_counting = is_thread = pthread_create(&thread, NULL, count, NULL) == 0;
}

void mete__live_ask(struct mete__engine *engine, struct mete__live *out)
{
    pthread_mutex_lock(&lock);
    uint64_t age_ms = (mete__monotonic_ns() - done_ns) / NS_PER_MS;
    if (!is_counting && (!last.is_known || age_ms >= METE__LIVE_AGE_MS)) {
        start(engine);
    }
    *out = last;
    out->age_ms = last.is_known ? age_ms : 0;
    pthread_mutex_unlock(&lock);
}

void mete__live_stop(void)
{
    pthread_mutex_lock(&lock);
    bool join = is_thread;
    is_thread = false;
    pthread_mutex_unlock(&lock);
    if (join) {
        pthread_join(thread, NULL);
    }
    pthread_mutex_lock(&lock);
    last = (struct mete__live){0};
    pthread_mutex_unlock(&lock);
}

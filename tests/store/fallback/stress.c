/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For test_fallback.py, compiled with the whole library and METE_PAIR_LOCKED, as
 * on a machine without a 16-byte compare-and-swap: private stores are exact
 * under threads, a path is refused.  Says what failed and ends with status 1.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mete/mete.h>

#include "base/atomic.h"

#define THREADS 4
#define HOT_TAKES 60000
#define HOT_BURST 50000
#define KEYS 5000

#define CHECK(condition)                                                 \
    do {                                                                 \
        if (!(condition)) {                                              \
            printf("line %d: %s does not hold\n", __LINE__, #condition); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

_Static_assert(!METE__PAIR_IS_SHARED, "this is for the build without a 16-byte swap");

static uint64_t stand_still(void *context)
{
    (void)context;
    return UINT64_C(1000000000000);
}

static mete_store *store;
static mete_limiter *hot;
static mete_limiter *fresh;
static mete_limiter *windows;
static mete_limiter *logs;
static uint64_t admitted[4];

static void add(unsigned which, uint64_t n)
{
    __atomic_fetch_add(&admitted[which], n, __ATOMIC_RELAXED);
}

static mete_limiter *limiter(const char *name, const char *text)
{
    struct mete_limit limit;
    mete_limiter *made = NULL;
    CHECK(mete_limit_parse(text, &limit) == METE_OK);
    CHECK(mete_limiter_create(store, name, &limit, &made) == METE_OK);
    return made;
}

static void *thread_main(void *context)
{
    uint64_t passed = 0;
    (void)context;
    for (unsigned i = 0; i < HOT_TAKES; i++) {
        passed += mete_allow(hot, "k", 1);
    }
    add(0, passed);
    for (uint32_t key = 0; key < KEYS; key++) {
        add(1, mete_allow(fresh, &key, sizeof key));
        add(2, mete_allow(windows, &key, sizeof key));
        key % 50 == 0 ? add(3, mete_allow(logs, &key, sizeof key)) : (void)0;
    }
    return NULL;
}

static void check_threads(void)
{
    struct mete_clock clock = {stand_still, NULL};
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    pthread_t threads[THREADS];
    uint64_t live = 0;
    options.keys_max = 20000;
    options.clock = &clock;
    CHECK(mete_store_create(&options, &store) == METE_OK);
    hot = limiter("hot", "50000/1h");
    fresh = limiter("fresh", "1/1h");
    windows = limiter("windows", "fixed_window 2/1h");
    logs = limiter("logs", "sliding_log 3/1h");
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, thread_main, NULL) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(admitted[0] == HOT_BURST);
    CHECK(admitted[1] == KEYS);
    CHECK(admitted[2] == 2 * KEYS);
    CHECK(admitted[3] == 3 * KEYS / 50);
    CHECK(mete_store_keys_live(store, &live) == METE_OK && live == 1 + 2 * KEYS);
    mete_limiter_destroy(hot);
    mete_limiter_destroy(fresh);
    mete_limiter_destroy(windows);
    mete_limiter_destroy(logs);
    mete_store_destroy(store);
}

static void check_path_is_refused(const char *path)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    char why[300] = "";
    FILE *file;
    store = NULL;
    options.keys_max = 100;
    options.path = path;
    CHECK(mete_store_create_why(&options, &store, why, sizeof why) == METE_ENOTSUP);
    CHECK(store == NULL);
    CHECK(strstr(why, "path") != NULL && strstr(why, "16-byte") != NULL);
    file = fopen(path, "r");
    CHECK(file == NULL);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    check_threads();
    check_path_is_refused(argv[1]);
    printf("exact under %d threads; a path is refused\n", THREADS);
    return 0;
}

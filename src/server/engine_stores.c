/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine_stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mete__engine_stores_init(struct mete__engine_stores *stores, const struct mete__config *config,
                              const struct mete__engine_options *options)
{
    const char *path = options->store_path != NULL ? options->store_path : config->store_path;
    if (path != NULL && strcmp(path, "memory") == 0) {
        path = NULL;
    }
    *stores = (struct mete__engine_stores){.path = path != NULL ? strdup(path) : NULL,
                                           .keys_max = config->keys_max,
                                           .log_units_max = config->log_units_max,
                                           .on_full = config->on_full,
                                           .is_path_given = options->store_path != NULL,
                                           .has_test_clock = options->has_test_clock};
    stores->is_failed = path != NULL && stores->path == NULL;
}

void mete__engine_stores_clear(struct mete__engine_stores *stores)
{
    for (size_t i = 0; i < METE__STORES_MAX; i++) {
        mete_store_destroy(stores->of[i]);
        stores->of[i] = NULL;
    }
    free(stores->path);
    stores->path = NULL;
}

static uint64_t test_now(void *context)
{
    return __atomic_load_n((const uint64_t *)context, __ATOMIC_RELAXED);
}

/* PATH, or PATH.deny; NULL when there is no memory. */
static char *path_of(const struct mete__engine_stores *stores, enum mete_full_policy on_full)
{
    static const char *const suffixes[] = {".evict", ".deny", ".allow"};
    const char *suffix = on_full == stores->on_full ? "" : suffixes[on_full];
    size_t size = strlen(stores->path) + strlen(suffix) + 1;
    char *path = malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s%s", stores->path, suffix);
    }
    return path;
}

mete_status mete__engine_stores_open(struct mete__engine_stores *stores, enum mete_full_policy on_full, char *why,
                                     size_t why_size)
{
    if (stores->of[on_full] != NULL) {
        return METE_OK;
    }
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    struct mete_clock clock = {test_now, &stores->test_now_ns};
    bool is_file = stores->path != NULL;
    char *path = is_file ? path_of(stores, on_full) : NULL;
    if ((is_file && path == NULL) || (!is_file && stores->is_failed)) {
        snprintf(why, why_size, "store: no memory");
        return METE_ENOMEM;
    }
    options.keys_max = stores->keys_max;
    options.log_units_max = stores->log_units_max;
    options.on_full = on_full;
    options.path = path;
    options.clock = stores->has_test_clock ? &clock : NULL;
    char sentence[512];
    mete_store *store = NULL;
    mete_status status = mete_store_create_why(&options, &store, sentence, sizeof sentence);
    if (status == METE_OK) {
        __atomic_store_n(&stores->of[on_full], store, __ATOMIC_RELEASE); /* whole before it is seen */
    } else {
        const char *field = strncmp(sentence, "path: ", 6) == 0 ? sentence + 6 : sentence;
        snprintf(why, why_size, "store: %s%s%s", path != NULL ? path : "", path != NULL ? ": " : "", field);
    }
    free(path);
    return status;
}

mete_store *mete__engine_stores_get(const struct mete__engine_stores *stores, enum mete_full_policy on_full)
{
    return stores->of[on_full];
}

mete_store *mete__engine_stores_first(const struct mete__engine_stores *stores)
{
    return stores->of[stores->on_full];
}

size_t mete__engine_stores_list(const struct mete__engine_stores *stores, const mete_store *out[METE__STORES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < METE__STORES_MAX; i++) {
        /* Pairs with mete__engine_stores_open: one opened by a reload is seen by the next who asks. */
        const mete_store *store = __atomic_load_n(&stores->of[i], __ATOMIC_ACQUIRE);
        if (store != NULL) {
            out[count++] = store;
        }
    }
    return count;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool mete__engine_stores_is_same(const struct mete__engine_stores *stores, const struct mete__config *config, char *why,
                                 size_t why_size)
{
    const char *path = config->store_path;
    if (path != NULL && strcmp(path, "memory") == 0) {
        path = NULL;
    }
    if (stores->keys_max != config->keys_max || stores->log_units_max != config->log_units_max ||
        stores->on_full != config->on_full || (!stores->is_path_given && !is_same_text(stores->path, path))) {
        snprintf(why, why_size, "store: cannot be changed while running; restart for another path, size or on_full");
        return false;
    }
    return true;
}

void mete__engine_stores_set_clock(struct mete__engine_stores *stores, uint64_t now_ns)
{
    __atomic_store_n(&stores->test_now_ns, now_ns, __ATOMIC_RELAXED);
}

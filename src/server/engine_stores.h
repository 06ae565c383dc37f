/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stores of an engine: one per full-table policy that some policy asks for,
 * since that is a property of a store.  In a file each has its own: PATH,
 * PATH.deny, PATH.allow, after what differs from the configuration's own on_full.
 */
#ifndef METE_SERVER_ENGINE_STORES_H
#define METE_SERVER_ENGINE_STORES_H

#include "server/engine.h"

#define METE__STORES_MAX 3u

struct mete__engine_stores {
    mete_store *of[METE__STORES_MAX]; /* by enum mete_full_policy; NULL: not opened */
    char *path;                       /* NULL: private memory */
    uint64_t keys_max;
    uint64_t log_units_max;
    enum mete_full_policy on_full; /* whose file is PATH itself */
    bool is_path_given;            /* on the command line: the configuration's does not count */
    bool has_test_clock;
    uint64_t test_now_ns; /* atomic */
    bool is_failed;       /* no memory for the path */
};

void mete__engine_stores_init(struct mete__engine_stores *stores, const struct mete__config *config,
                              const struct mete__engine_options *options);
void mete__engine_stores_clear(struct mete__engine_stores *stores);

/* Opens the store of this policy unless it is open. */
mete_status mete__engine_stores_open(struct mete__engine_stores *stores, enum mete_full_policy on_full, char *why,
                                     size_t why_size);
mete_store *mete__engine_stores_get(const struct mete__engine_stores *stores, enum mete_full_policy on_full);
mete_store *mete__engine_stores_first(const struct mete__engine_stores *stores);
size_t mete__engine_stores_list(const struct mete__engine_stores *stores, const mete_store *out[METE__STORES_MAX]);

/* False, with a sentence, when the configuration asks for another store: that needs a restart. */
bool mete__engine_stores_is_same(const struct mete__engine_stores *stores, const struct mete__config *config, char *why,
                                 size_t why_size);
void mete__engine_stores_set_clock(struct mete__engine_stores *stores, uint64_t now_ns);

#endif

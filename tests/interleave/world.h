/* SPDX-License-Identifier: Apache-2.0 */
/* A small store whose memory can be put back as it was: the start of each schedule. */
#ifndef WORLD_H
#define WORLD_H

#include <mete/mete.h>

#include "limiter/limiter.h"

#define WORLD_LIMITERS_MAX 2u
#define WORLD_KEPT_MAX 16u
#define WORLD_SECOND UINT64_C(1000000000)

/* The clock's first reading. */
#define WORLD_START (1000 * WORLD_SECOND)

struct world_kept {
    void *at;
    size_t bytes;
    void *copy;
};

struct world {
    mete_store *store;
    mete_limiter *limiters[WORLD_LIMITERS_MAX];
    unsigned limiters_n;
    unsigned width;       /* usable cells per bucket, of logs too */
    uint64_t now_ns;      /* what the store's clock shows */
    bool is_clock_shared; /* some program moves it: reading it is a step */
    struct world_kept kept[WORLD_KEPT_MAX];
    unsigned kept_n;
};

struct world_shape {
    unsigned buckets; /* 1 or 2 */
    unsigned width;   /* 1 to 8 */
    enum mete_full_policy on_full;
};

void world_open(struct world *world, const struct world_shape *shape);

/* A limiter named as its limit's text. */
mete_limiter *world_limiter(struct world *world, const char *limit);

/* Makes all that a change to this limit needs, as if it had been in force in another world. */
void world_prepare_limit(struct world *world, unsigned limiter, const char *limit);

/* From now on, this is the start. */
void world_keep(struct world *world);
void world_restore(struct world *world);
void world_close(struct world *world);

/* NULL, or what is wrong in memory: a key with two confirmed cells; a cell still
 * pending although all calls are over; a log's control that cannot be. */
const char *world_check(const struct world *world, bool is_over);

/* A new key, of up to 15 bytes, with these candidates by bucket number. */
void world_key(const struct world *world, unsigned first, unsigned second, char *key);

struct mete_limit world_limit(const char *text);

#endif

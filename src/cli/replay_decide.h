/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides records, each at its own time, and counts.  Records are collected and
 * decided in batches, so that the memory latency of their keys overlaps.
 */
#ifndef METE_CLI_REPLAY_DECIDE_H
#define METE_CLI_REPLAY_DECIDE_H

#include "base/why.h"
#include "cli/args.h"
#include "cli/log_record.h"
#include "cli/replay_keys.h"

#define METE__BATCH 64

struct mete__replay_counts {
    uint64_t requests;
    uint64_t allowed;
    uint64_t denied;
    uint64_t units_allowed; /* costs; UINT64_MAX when they do not fit */
    uint64_t units_denied;
    uint64_t never;    /* denied, and a cost that could never pass */
    uint64_t first_ns; /* the earliest and the latest time */
    uint64_t last_ns;
    uint64_t steps_back; /* requests that are earlier than the one before */
    uint64_t step_back_max_ns;
    uint64_t unnamed; /* requests whose key had no room among the counted keys */
};

struct mete__decider {
    mete_store *store;
    mete_limiter *limiters[METE__ARG_TEXTS_MAX];
    struct mete_limit limits[METE__ARG_TEXTS_MAX];
    size_t limit_count;
    struct mete__keys keys;
    struct mete__replay_counts counts;
    uint64_t last_time_ns; /* of the request before */

    size_t batch_count;
    struct mete_request requests[METE__BATCH];
    uint64_t hashes[METE__BATCH];
    char *key_bytes; /* copies of the batch's keys: lines do not stay */
    size_t key_bytes_used;
};

/*
 * limits: all must let a request pass (mete_take_all).  False: why says what,
 * and nothing is left to destroy.
 */
bool mete__decider_init(struct mete__decider *decider, const struct mete_limit *limits, size_t limit_count,
                        uint64_t keys_max, const struct mete__why *why);

/* May be called again, and on zeroed memory. */
void mete__decider_clear(struct mete__decider *decider);

/* Adds a record; its key is copied.  False: the library refused, which says why. */
bool mete__decider_add(struct mete__decider *decider, const struct mete__record *record, const struct mete__why *why);

/* Decides what was added and is not decided yet.  As mete__decider_add. */
bool mete__decider_flush(struct mete__decider *decider, const struct mete__why *why);

#endif

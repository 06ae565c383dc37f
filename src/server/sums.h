/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look at everything that is counted: the sums over all loops, the stores,
 * the process.  Counters are read one by one while others write them, so sums that
 * belong together may differ by what happened in between.  Any thread.
 */
#ifndef METE_SERVER_SUMS_H
#define METE_SERVER_SUMS_H

#include "server/live.h"
#include "server/process.h"
#include "server/server.h"

struct mete__sums {
    const struct mete__server *server;
    uint64_t of[METE__SERVER_COUNTS];
    uint64_t latency[METE__LATENCY_BUCKETS];
    uint64_t latency_sum_ns;
    uint64_t own[METE__OUTCOMES];
    uint64_t open;        /* connections */
    uint64_t top_dropped; /* updates of top.h */
    struct mete_store_stats stores[METE__LIVE_STORES];
    size_t store_count;
    struct mete__live live;
    struct mete__process process;
    uint64_t now_ms; /* wall clock */
};

void mete__sums_take(struct mete__server *server, struct mete__sums *out);

/* Of the policy with this place. */
void mete__sums_policy(const struct mete__sums *sums, uint32_t place, uint64_t out[METE__OUTCOMES]);

/* "allowed", "denied", "would_deny", "failed_open", "failed_closed" */
const char *mete__outcome_name(enum mete__count_outcome outcome);

#endif

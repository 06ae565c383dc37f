/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of one loop: written by its thread alone with relaxed stores, read by
 * any.  Sums are made when somebody asks (metrics_text.h).
 */
#ifndef METE_SERVER_METRICS_H
#define METE_SERVER_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "policy/config.h"

enum mete__count_outcome {
    METE__OUTCOME_ALLOWED,
    METE__OUTCOME_DENIED,
    METE__OUTCOME_WOULD_DENY, /* dry run: allowed, and would have been denied */
    METE__OUTCOME_FAILED_OPEN,
    METE__OUTCOME_FAILED_CLOSED,
    METE__OUTCOMES
};

enum mete__count {
    METE__COUNT_CONNECTIONS_OPENED,
    METE__COUNT_CONNECTIONS_CLOSED,
    METE__COUNT_CONNECTIONS_REFUSED, /* over connections_max, or no file descriptor */
    METE__COUNT_REQUESTS_RESP,
    METE__COUNT_REQUESTS_HTTP,
    METE__COUNT_PROTOCOL_ERRORS,
    METE__COUNT_TIMEOUTS,
    METE__COUNT_LOGINS_FAILED,
    METE__COUNT_BYTES_IN,
    METE__COUNT_BYTES_OUT,
    METE__COUNT_CHOKED, /* times a connection was not read because its replies waited */
    METE__COUNT_BATCHES,
    METE__SERVER_COUNTS
};

/* Time from a turn's first read to its replies, in powers of two of 1 us: <1, <2, <4 ... us, the last: longer. */
#define METE__LATENCY_BUCKETS 24u

struct mete__counts {
    uint64_t of[METE__SERVER_COUNTS];
    uint64_t latency[METE__LATENCY_BUCKETS];
    uint64_t latency_sum_ns;
    uint64_t own[METE__OUTCOMES]; /* limits that requests bring */
    /* By the name's place in the daemon's list of policy names ever seen (policies keep
     * their place over reloads; names above METE__POLICIES_MAX share the last one). */
    uint64_t (*policies)[METE__OUTCOMES];
};

/* One writer: no read-modify-write is needed. */
static inline void mete__counts_add(uint64_t *count, uint64_t more)
{
    __atomic_store_n(count, *count + more, __ATOMIC_RELAXED);
}

#endif

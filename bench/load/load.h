/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that measures a server: one thread, one epoll, many connections.
 *
 * Closed loop: each connection sends `pipeline` requests at once, and the next
 * ones when all replies have come.  The rate is what the server can do.
 *
 * Open loop: requests are due at times that do not depend on the server, in groups
 * of `pipeline`, on the connections by turns.  A latency counts from the
 * time a request was due, not from when it could be sent, so a server that stalls
 * is charged for all who would have come meanwhile.
 */
#ifndef METE_BENCH_LOAD_LOAD_H
#define METE_BENCH_LOAD_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/load/histogram.h"
#include "bench/load/scan.h"

#define LOAD_CONNECTIONS_MAX 20000u
#define LOAD_PIPELINE_MAX 4096u
#define LOAD_FLIGHTS_MAX 1024u /* groups under way on one connection; in open loop others wait, and are late */

struct load_options {
    const char *address;
    enum load_protocol protocol;
    const char *template; /* see ring.h */
    unsigned connections;
    unsigned pipeline;
    uint64_t keys;
    uint64_t warmup_ns;
    uint64_t duration_ns; /* after the warm-up */
    uint64_t requests;    /* closed loop: ends after these many, without a warm-up; 0: by time */
    double rate;          /* requests/s of the open loop; 0: closed loop */
    bool is_fixed;        /* open loop: even spacing; else Poisson */
    uint64_t seed;
    bool is_json;
};

/* What was measured, between the warm-up and the end. */
struct load_result {
    struct load_counts counts; /* closed loop: replies that came; open loop: replies to what was due */
    uint64_t elapsed_ns;
    uint64_t lost;   /* open loop: due, and still without a reply when the client gave up waiting */
    uint64_t cpu_ns; /* of this client */
    struct load_histogram latency_ns;
};

/* False with a sentence when there is no server, it closes a connection, or what it
 * sends is no reply. */
bool load_run(const struct load_options *options, struct load_result *result, char *why, size_t why_size);

#endif

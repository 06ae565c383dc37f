/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event loop: a thread, its listeners, its connections and its batch.
 * Nothing in it is shared with other loops but what the engine shares.
 *
 * A turn of the loop: connections that can be read are read and parsed; takes
 * on policies of one limit are collected in the batch; at the end of the turn (or
 * when the batch is full, or an answer is needed first) the batch is decided with
 * one clock reading, the replies are written, and each connection's replies are
 * sent by one system call.
 */
#ifndef METE_SERVER_LOOP_H
#define METE_SERVER_LOOP_H

#include <uv.h>

#include "server/access.h"
#include "server/engine.h"
#include "server/metrics.h"
#include "server/top.h"
#include "wire/out.h"

struct mete__server;
struct mete__conn;

#define METE__BATCH_MAX 256u

/*
 * A take in the batch.  key must stay where it is until the batch is decided: keys in
 * a connection's input do.  reply appends the answer to conn->out; it may not
 * close the connection.
 */
struct mete__pending {
    struct mete__conn *conn;
    const struct mete__bound_policy *policy; /* NULL: a limit of the request's own */
    void (*reply)(struct mete__conn *conn, const struct mete__pending *pending, const struct mete_decision *decision);
    uint32_t tag; /* the protocol's */
};

struct mete__loop {
    uv_loop_t uv;
    struct mete__server *server;
    const struct mete__snapshot *snapshot; /* switched between turns */
    unsigned index;

    struct mete__pending pending[METE__BATCH_MAX];
    mete_limiter *limiters[METE__BATCH_MAX];
    struct mete_request requests[METE__BATCH_MAX];
    struct mete_decision decisions[METE__BATCH_MAX];
    size_t batch_len;

    struct mete__conn *dirty; /* have replies to send; a list */
    struct mete__conn *conns; /* all */
    uint64_t conn_count;

    struct mete__counts counts; /* of metrics.h: written by this thread, read by any */
    struct mete__top top;       /* of top.h */
};

/* A take of a policy of one limit, or of a limit of the request's own, at the
 * store's time.  Decided later in this turn. */
void mete__batch_push(struct mete__loop *loop, const struct mete__pending *pending, mete_limiter *limiter,
                      const void *key, size_t key_len, uint64_t cost);

/* Decides what is in the batch and writes the replies. */
void mete__batch_flush(struct mete__loop *loop);

#endif

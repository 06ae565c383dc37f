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
#include "server/denials.h"
#include "server/engine.h"
#include "server/metrics.h"
#include "server/top.h"
#include "wire/out.h"

struct mete__server;
struct mete__conn;

#define METE__BATCH_MAX 256u
#define METE__SPARE_BUFFERS 64u
#define METE__BUFFER_SIZE 16384u
#define METE__SCRATCH_SIZE 65536u
#define METE__OWN_CACHE_SIZE 256u /* a power of two */

/* The connections of a loop, and buffers they leave for the next. */
struct mete__conns {
    struct mete__conn *first; /* all */
    struct mete__conn *ready; /* can be read */
    struct mete__conn *dirty; /* have replies to send, or input to let go of */
    struct mete__conn *dead;  /* closed in this turn; lists of the turn may still hold them */
    uint64_t count;
    char *spare[METE__SPARE_BUFFERS];
    size_t spare_count;
    char *scratch; /* METE__SCRATCH_SIZE: cipher bytes on their way in */
};

/* The limits that requests brought last: most come again. */
struct mete__own_cached {
    uint64_t capacity;
    uint64_t count;
    uint64_t period_ns;
    mete_limiter *limiter;
};
struct mete__own_cache {
    struct mete__own_cached of[METE__OWN_CACHE_SIZE];
};

/*
 * The bytes of the last CL.THROTTLE behind its key, and what they meant: most clients
 * send the same ones again and again.  Its arguments were plain numbers, so no other
 * arguments of the same count have the same bytes.
 */
#define METE__OWN_TEXT_MAX 64u
struct mete__own_last {
    mete_limiter *limiter; /* NULL: none yet */
    uint64_t cost;
    size_t count;
    size_t text_len;
    char text[METE__OWN_TEXT_MAX];
};

/*
 * A take in the batch.  key must stay where it is until the batch is decided: keys in
 * a connection's input do.  reply appends the answer to conn->out; it may not
 * close the connection.
 */
struct mete__pending {
    struct mete__conn *conn;
    const struct mete__bound_policy *policy; /* NULL: a limit of the request's own */
    /* decision is NULL when none could be made; status says why */
    void (*reply)(struct mete__conn *conn, const struct mete__pending *pending, const struct mete_decision *decision,
                  mete_status status);
    uint32_t tag; /* the protocol's */
};

struct mete__loop {
    uv_loop_t uv;
    int epoll; /* connections, and libuv's own descriptor: see loop.c */
    struct mete__server *server;
    const struct mete__snapshot *snapshot; /* switched between turns */
    unsigned index;

    struct mete__pending pending[METE__BATCH_MAX];
    mete_limiter *limiters[METE__BATCH_MAX];
    struct mete_request requests[METE__BATCH_MAX];
    struct mete_decision decisions[METE__BATCH_MAX];
    size_t batch_len;
    uint64_t turn_began_ns; /* when the first of the batch was read */

    struct mete__conns conns;
    struct mete__own_cache own_cache;
    struct mete__own_last own_last;
    bool is_draining;
    uint64_t drain_began_ms;
    uint64_t drain_until_ms;
    struct mete__loop_io *io; /* of loop.c */

    struct mete__counts counts; /* of metrics.h: written by this thread, read by any */
    struct mete__top top;       /* of top.h */
    struct mete__denials denials;
};

/* A take of a policy of one limit, or of a limit of the request's own, at the
 * store's time.  Decided later in this turn. */
void mete__batch_push(struct mete__loop *loop, const struct mete__pending *pending, mete_limiter *limiter,
                      const void *key, size_t key_len, uint64_t cost);

/* Decides what is in the batch and writes the replies. */
void mete__batch_flush(struct mete__loop *loop);

/* Counts a decision that was not the batch's, for metrics and the top keys. */
void mete__loop_count(struct mete__loop *loop, const struct mete__bound_policy *policy,
                      const struct mete__outcome *outcome, const void *key, size_t key_len);

/* A loop with the given listening sockets, on the caller's thread until it is told to stop. */
struct mete__listening {
    int fd; /* taken over */
    bool is_unix;
    const struct mete__listener *listener; /* copied */
    char address[128];                     /* as it is reported: with the port that was chosen */
};

/* NULL and a sentence when it cannot be made. */
mete_status mete__loop_init(struct mete__loop *loop, struct mete__server *server, unsigned index,
                            const struct mete__listening *listening, size_t listening_count, char *why,
                            size_t why_size);
void mete__loop_run(struct mete__loop *loop);
void mete__loop_clear(struct mete__loop *loop);

/* From any thread: look at the server's state again (a reload, a drain).  Not
 * after a drain: the loop may have ended. */
void mete__loop_wake(struct mete__loop *loop);

#endif

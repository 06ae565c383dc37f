/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection, whatever its protocol and transport: bytes in, replies out, in
 * order, with bounds.  A connection belongs to one loop and is touched by its
 * thread alone.
 *
 * Back-pressure: while more than output_bytes_max of replies are unsent, nothing
 * more is read or parsed.
 */
#ifndef METE_SERVER_CONN_H
#define METE_SERVER_CONN_H

#include "server/accept.h"
#include "server/loop.h"

struct mete__conn;

#define METE__CONN_NAME_MAX 63u

/* A protocol: what is done with bytes. */
struct mete__protocol {
    const char *name; /* for logs and metrics */
    size_t session_size;
    void (*opened)(struct mete__conn *conn);
    /*
     * Takes whole requests from the front of bytes[0..len) and returns how many bytes
     * they were; the rest is shown again, with more behind it.  Replies go to conn->out
     * in order: at once (after mete__conn_settle), or by the batch.  Stops early when
     * mete__conn_is_choked(conn) (it is called again when there is room), or after
     * mete__conn_finish.  Bytes taken stay where they are until the batch is decided.
     */
    size_t (*input)(struct mete__conn *conn, const char *bytes, size_t len);
    /* The request has taken too long, or is larger than request_bytes_max; append a reply or none. NULL: none. */
    void (*refuse)(struct mete__conn *conn, bool is_too_large);
    void (*closed)(struct mete__conn *conn); /* frees what the session owns; may be NULL */
};

extern const struct mete__protocol mete__protocol_resp;
extern const struct mete__protocol mete__protocol_http;

struct mete__conn {
    struct mete__loop *loop;
    const struct mete__protocol *protocol;
    void *session;                 /* protocol->session_size zeroed bytes */
    const struct mete__user *user; /* who speaks; never NULL; looked up again by name after a reload */
    struct mete__out out;
    uint64_t id;
    uint64_t opened_ms;
    bool is_tls;
    bool is_unix;
    bool is_pending;                    /* has takes in the batch */
    char peer[64];                      /* "192.0.2.1:4711", "[2001:db8::1]:4711", "unix" */
    const char *local;                  /* the listener's address */
    unsigned char peer_address[16];     /* IPv4 as ::ffff:a.b.c.d; zero for Unix sockets */
    uint64_t active_ms;                 /* when bytes last came, or were seen to go */
    char name[METE__CONN_NAME_MAX + 1]; /* CLIENT SETNAME */
    struct mete__conn_io *io;           /* of conn.c */
    struct mete__conn *next;
    struct mete__conn **link; /* what points here */
    struct mete__conn *next_dirty;
    bool is_dirty;
};

/* Serves a connection that was taken, or turns it away; takes its socket over. */
void mete__conn_open(struct mete__loop *loop, const struct mete__accepted *accepted);

/* The daemon ends, and nothing more of this client is waiting (or it has been waited for long enough): the answer
 * to be written may be the last.  is_last: no request is behind it in the bytes shown. */
bool mete__conn_may_end(const struct mete__conn *conn, bool is_last);

/* mete__conn_finish was called. */
bool mete__conn_is_finishing(const struct mete__conn *conn);

/* Will be looked at when the turn ends: has replies to send, or input to let go of. */
void mete__conn_touch(struct mete__conn *conn);

/* What the kernel told about a connection: EPOLLIN and its like. */
void mete__conn_event(struct mete__conn *conn, uint32_t events);

/* Reads once from each connection that can be read; those with more stay in the list. */
void mete__conns_receive(struct mete__loop *loop);

/* Sends what is due on all touched connections. */
void mete__conns_send(struct mete__loop *loop);

/* Frees what was closed in this turn. */
void mete__conns_bury(struct mete__loop *loop);

/* The bounds of a new configuration are those of the connections that are there, too. */
void mete__conns_rebound(struct mete__loop *loop);

/* Once a second: idle and slow connections are closed. */
void mete__conns_sweep(struct mete__loop *loop);

/* The daemon ends: connections are finished between two requests; at the end of the time, all are closed. */
void mete__conns_drain(struct mete__loop *loop, bool is_over);
void mete__conns_clear(struct mete__loop *loop);

/* Closes now; replies that are not sent are lost. */
void mete__conn_abort(struct mete__conn *conn);

/* Before a reply that is not the batch's: what is in the batch is answered first. */
static inline void mete__conn_settle(struct mete__conn *conn)
{
    if (conn->loop->batch_len > 0) {
        mete__batch_flush(conn->loop);
    }
}

/* More than enough replies wait to be sent: take no more requests now. */
bool mete__conn_is_choked(const struct mete__conn *conn);

/* No more requests are taken; the connection is closed when the replies are sent. */
void mete__conn_finish(struct mete__conn *conn);

#endif

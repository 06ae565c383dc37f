/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a connection share, and nobody else sees: conn.c opens one,
 * conn_input.c keeps what was read, conn_receive.c reads and hands to the protocol,
 * conn_send.c sends, conn_end.c closes.
 */
#ifndef METE_SERVER_CONN_IO_H
#define METE_SERVER_CONN_IO_H

#include "server/conn.h"
#include "server/server.h"

#define METE__LINGER_MS 1000u
#define METE__READ_MIN 1024u    /* room that is offered to a read, at least */
#define METE__OUT_KEPT 16384u   /* bytes of an output buffer that is kept between turns */
#define METE__INPUT_SLACK 4096u /* above request_bytes_max: framing, and the start of the next request */

enum mete__conn_state { METE__CONN_READING, METE__CONN_LINGERING, METE__CONN_CLOSING };

struct mete__conn_io {
    int fd;
    struct mete__out in; /* plain bytes; the first `start` are done with */
    size_t start;
    struct mete__out cipher; /* TLS: to be sent */
    struct mete__tls *tls;
    uint64_t request_ms; /* when the first byte of the request that is not whole came; 0: none */
    uint64_t linger_ms;
    size_t left; /* bytes that had not arrived at the last sweep, while some waited for room */
    struct mete__conn *next_ready;
    enum mete__conn_state state;
    /* Readiness is told once, when it begins (EPOLLET); it is kept here until a call finds its end. */
    bool can_read;
    bool can_write;
    bool is_hung_up; /* the peer sends no more: a short read is not the end */
    bool is_ready;   /* in the loop's list of those to be read */
    bool is_held;    /* choked: to go on when there is room */
    bool is_finishing;
    bool is_tls_closed; /* close_notify is written */
    bool is_shut;       /* our side is shut down */
    bool is_eof;        /* the peer's end has been read */
    bool is_named;      /* TLS: the certificate has been looked at */
};

static inline const struct mete__bounds *mete__conn_bounds(const struct mete__conn *conn)
{
    return &conn->loop->snapshot->config->bounds;
}

/* Bytes of replies that the kernel has not taken. */
static inline size_t mete__conn_unsent(const struct mete__conn *conn)
{
    return conn->out.len + conn->io->cipher.len;
}

/* --- conn_input.c --- */

/* Room behind the unread input; NULL at its bound, or without memory.  Nothing in the
 * batch may point into the buffer: it may move. */
char *mete__input_room(struct mete__conn *conn, size_t more);

/* Gives the buffer back. */
void mete__input_give(struct mete__conn *conn);

/* A request that does not go on gives its large buffer back and waits in one of its own size. */
void mete__input_shrink(struct mete__conn *conn);

/* --- conn_receive.c --- */

/* Will be read in this turn. */
void mete__conn_ready(struct mete__conn *conn);

/* A connection that was held takes the requests it has read, and is read again. */
void mete__conn_go_on(struct mete__conn *conn);

/* The protocol's refusal, then the end. */
void mete__conn_refuse(struct mete__conn *conn, bool is_too_large);

/* --- conn_end.c --- */

/* All replies have been sent: says so, and waits for the peer. */
void mete__conn_shut(struct mete__conn *conn);

#endif

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
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct mete__out in; /* plain bytes; the first `start` are done with */
    size_t start;
    struct mete__out cipher;  /* TLS: to be sent */
    struct mete__out sending; /* being written by libuv */
    struct mete__tls *tls;
    uint64_t request_ms; /* when the first byte of the request that is not whole came; 0: none */
    uint64_t linger_ms;
    enum mete__conn_state state;
    bool is_writing;
    bool is_reading;
    bool is_finishing;
    bool is_shut;  /* shutdown has been asked for */
    bool is_eof;   /* the peer sends no more */
    bool is_named; /* TLS: the certificate has been looked at */
};

static inline const struct mete__bounds *mete__conn_bounds(const struct mete__conn *conn)
{
    return &conn->loop->snapshot->config->bounds;
}

/* Bytes of replies that the kernel has not taken. */
static inline size_t mete__conn_unsent(const struct mete__conn *conn)
{
    return conn->out.len + conn->io->cipher.len + conn->io->sending.len;
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

/* Takes what has been read, and reads more unless the replies are in the way. */
void mete__conn_read_on(struct mete__conn *conn);

/* The protocol's refusal, then the end. */
void mete__conn_refuse(struct mete__conn *conn, bool is_too_large);

/* --- conn_end.c --- */

/* All replies have been sent: say so, and wait for the peer. */
void mete__conn_shut(struct mete__conn *conn);

#endif

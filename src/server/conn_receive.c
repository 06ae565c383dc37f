/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes come in, and whole requests are taken from their front.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "server/conn_io.h"
#include "server/log.h"

void mete__conn_refuse(struct mete__conn *conn, bool is_too_large)
{
    mete__conn_settle(conn);
    if (conn->protocol->refuse != NULL) {
        conn->protocol->refuse(conn, is_too_large);
    }
    mete__conn_finish(conn);
}

static void take_requests(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    while (io->start < io->in.len && !io->is_finishing && !mete__conn_is_choked(conn)) {
        size_t len = io->in.len - io->start;
        size_t taken = conn->protocol->input(conn, io->in.bytes + io->start, len);
        io->start += taken;
        if (taken == 0) {
            if (len > mete__conn_bounds(conn)->request_bytes_max + METE__INPUT_SLACK && !io->is_finishing) {
                mete__conn_refuse(conn, true);
            }
            break;
        }
        io->request_ms = 0;
    }
    if (io->is_finishing) {
        io->start = io->in.len; /* what follows is not taken */
    }
    io->is_held = !io->is_finishing && mete__conn_is_choked(conn);
    if (io->is_eof && !io->is_held) {
        mete__conn_finish(conn);
    }
    if (io->start == io->in.len && (io->tls == NULL || !mete__tls_is_amid(io->tls))) {
        io->request_ms = 0;
    } else if (io->request_ms == 0) {
        io->request_ms = uv_now(&conn->loop->uv);
    }
    mete__conn_touch(conn);
}

static void receive_cipher(struct mete__conn *conn, const char *bytes, size_t len)
{
    struct mete__conn_io *io = conn->io;
    if (mete__input_room(conn, METE__READ_MIN) == NULL) {
        mete__conn_abort(conn);
        return;
    }
    bool is_open = mete__tls_receive(io->tls, bytes, len, &io->in, &io->cipher);
    mete__conn_touch(conn);
    if (!io->is_named && mete__tls_is_established(io->tls)) {
        const char *name = mete__tls_peer_name(io->tls);
        const struct mete__user *user =
            name != NULL ? mete__access_certificate(conn->loop->snapshot->config, name) : NULL;
        conn->user = user != NULL ? user : conn->user;
        io->is_named = true;
    }
    if (io->in.is_failed) {
        mete__conn_refuse(conn, true);
        return;
    }
    if (!is_open) {
        const char *error = mete__tls_error(io->tls);
        if (error != NULL && *error != '\0') {
            METE__LOG(METE__LOG_DEBUG, "TLS failed", METE__LOG_TEXT("peer", conn->peer),
                      METE__LOG_TEXT("reason", error));
        }
        io->is_eof = true; /* what it sent before is answered first */
    }
}

/* --- reading ------------------------------------------------------------------------ */

void mete__conn_ready(struct mete__conn *conn)
{
    if (!conn->io->is_ready) {
        conn->io->is_ready = true;
        conn->io->next_ready = conn->loop->conns.ready;
        conn->loop->conns.ready = conn;
    }
}

void mete__conn_event(struct mete__conn *conn, uint32_t events)
{
    struct mete__conn_io *io = conn->io;
    bool is_end = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (io->state == METE__CONN_CLOSING) {
        return;
    }
    if ((events & EPOLLIN) != 0 || is_end) {
        io->can_read = true;
        io->is_hung_up = io->is_hung_up || is_end;
        mete__conn_ready(conn);
    }
    if (!io->can_write && (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
        io->can_write = true;
        mete__conn_touch(conn);
    }
}

/* What is still sent to a connection that is finished is dropped. */
static void drop(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    ssize_t got = recv(io->fd, conn->loop->conns.scratch, METE__SCRATCH_SIZE, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        mete__conn_abort(conn);
        return;
    }
    io->can_read = got > 0 || errno == EINTR;
}

/* What one read gave. */
static void take_bytes(struct mete__conn *conn, const char *bytes, size_t len)
{
    struct mete__conn_io *io = conn->io;
    conn->active_ms = uv_now(&conn->loop->uv);
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_BYTES_IN], len);
    if (io->tls != NULL) {
        receive_cipher(conn, bytes, len);
    } else {
        io->in.len += len;
    }
    if (io->state == METE__CONN_READING) {
        take_requests(conn);
    }
}

static void end_of_input(struct mete__conn *conn, ssize_t got)
{
    if (got == 0) {
        conn->io->is_eof = true;
        conn->io->can_read = false;
        mete__conn_finish(conn);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        conn->io->can_read = false;
        mete__conn_touch(conn); /* lets go of the buffer */
    } else if (errno != EINTR) {
        mete__conn_abort(conn);
    }
}

static void read_once(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    char *to = conn->loop->conns.scratch;
    size_t room = METE__SCRATCH_SIZE;
    if (conn->is_pending) {
        mete__batch_flush(conn->loop); /* the batch's keys lie in the buffer that may move now */
    }
    if (io->tls == NULL) {
        to = mete__input_room(conn, METE__READ_MIN);
        room = io->in.size - io->in.len;
    }
    if (to == NULL) { /* the bound, or no memory */
        mete__conn_refuse(conn, true);
        return;
    }
    ssize_t got = recv(io->fd, to, room, 0);
    if (got <= 0) {
        end_of_input(conn, got);
        return;
    }
    /* A short read of a stream has found its end for now; but not the peer's end, which is told but once. */
    io->can_read = (size_t)got == room || io->is_hung_up;
    take_bytes(conn, to, (size_t)got);
}

static void receive(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    if (io->state == METE__CONN_CLOSING || !io->can_read) {
        return;
    }
    if (io->state == METE__CONN_LINGERING) {
        drop(conn);
    } else if (io->is_finishing || io->is_eof) {
        return; /* read again when it lingers */
    } else if (mete__conn_is_choked(conn)) {
        io->is_held = true;
        mete__counts_add(&conn->loop->counts.of[METE__COUNT_CHOKED], 1);
        mete__conn_touch(conn);
        return;
    } else {
        read_once(conn);
    }
    if (io->state != METE__CONN_CLOSING && io->can_read) {
        mete__conn_ready(conn);
    }
}

void mete__conns_receive(struct mete__loop *loop)
{
    struct mete__conn *conn = loop->conns.ready;
    loop->conns.ready = NULL;
    while (conn != NULL) {
        struct mete__conn *next = conn->io->next_ready;
        conn->io->is_ready = false;
        receive(conn);
        conn = next;
    }
}

void mete__conn_go_on(struct mete__conn *conn)
{
    if (conn->io->request_ms != 0) {
        conn->io->request_ms = uv_now(&conn->loop->uv); /* it could not go on before */
    }
    take_requests(conn);
    if (conn->io->can_read) {
        mete__conn_ready(conn);
    }
}

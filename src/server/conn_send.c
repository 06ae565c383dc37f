/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies on their way: one send per connection and turn; what the kernel does not
 * take at once waits, with new replies behind it, until there is room.
 */
#include <errno.h>
#include <sys/socket.h>

#include "server/conn_io.h"
#include "server/log.h"

void mete__conn_touch(struct mete__conn *conn)
{
    if (!conn->is_dirty) {
        conn->is_dirty = true;
        conn->next_dirty = conn->loop->conns.dirty;
        conn->loop->conns.dirty = conn;
    }
}

bool mete__conn_is_choked(const struct mete__conn *conn)
{
    return mete__conn_unsent(conn) >= mete__conn_bounds(conn)->output_bytes_max;
}

static void send_bytes(struct mete__conn *conn, struct mete__out *from)
{
    ssize_t sent = send(conn->io->fd, from->bytes, from->len, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        mete__conn_abort(conn);
        return;
    }
    size_t done = sent > 0 ? (size_t)sent : 0;
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_BYTES_OUT], done);
    if (done == from->len) {
        from->len = 0;
        return;
    }
    mete__out_drop(from, done);
    conn->io->can_write = false; /* EPOLLOUT tells when there is room again */
}

/* Cipher bytes of the replies, and of the end. */
static bool encrypt(struct mete__conn *conn, bool is_ending)
{
    struct mete__conn_io *io = conn->io;
    if (conn->out.len > 0 && !mete__tls_send(io->tls, conn->out.bytes, conn->out.len, &io->cipher)) {
        return false;
    }
    conn->out.len = 0;
    if (is_ending && !io->is_tls_closed) {
        mete__tls_close(io->tls, &io->cipher);
        io->is_tls_closed = true;
    }
    return true;
}

static void send_more(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    if (io->state == METE__CONN_CLOSING || !io->can_write) {
        return;
    }
    if (conn->out.is_failed || io->cipher.is_failed) {
        METE__LOG(METE__LOG_WARN, "connection closed: no memory for its replies", METE__LOG_TEXT("peer", conn->peer));
        mete__conn_abort(conn);
        return;
    }
    bool is_ending = io->is_finishing && !io->is_shut;
    if (io->tls != NULL && !encrypt(conn, is_ending)) {
        mete__conn_abort(conn);
        return;
    }
    struct mete__out *from = io->tls != NULL ? &io->cipher : &conn->out;
    if (from->len > 0) {
        send_bytes(conn, from);
    }
    if (is_ending && mete__conn_unsent(conn) == 0) {
        mete__conn_shut(conn);
    }
}

static void settle_buffers(struct mete__conn *conn)
{
    if (conn->io->start == conn->io->in.len && !conn->is_pending) {
        mete__input_give(conn);
    }
    if (conn->out.len == 0 && conn->out.size > METE__OUT_KEPT) {
        mete__out_clear(&conn->out);
    }
}

static void send_one(struct mete__conn *conn)
{
    if (conn->io->state == METE__CONN_CLOSING) {
        return;
    }
    send_more(conn);
    if (conn->io->state == METE__CONN_CLOSING) {
        return;
    }
    settle_buffers(conn);
    if (conn->io->is_held && !mete__conn_is_choked(conn)) {
        mete__conn_go_on(conn);
    }
}

void mete__conns_send(struct mete__loop *loop)
{
    struct mete__conn *conn = loop->conns.dirty;
    loop->conns.dirty = NULL;
    while (conn != NULL) {
        struct mete__conn *next = conn->next_dirty;
        conn->is_dirty = false;
        send_one(conn);
        conn = next;
    }
}

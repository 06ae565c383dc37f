/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies on their way: one write per connection and turn; what the kernel does not
 * take at once is written by libuv while new replies gather behind it.
 */
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

static void send_more(struct mete__conn *conn);

static void on_written(uv_write_t *request, int status)
{
    struct mete__conn *conn = request->data;
    conn->io->is_writing = false;
    conn->io->sending.len = 0;
    if (conn->io->sending.size > METE__OUT_KEPT) {
        mete__out_clear(&conn->io->sending);
    }
    if (status < 0) {
        mete__conn_abort(conn);
        return;
    }
    send_more(conn);
    if (conn->io->state == METE__CONN_READING) {
        mete__conn_read_on(conn);
    }
}

/* The rest of what could not be sent at once is handed to libuv; new replies gather behind it. */
static void write_rest(struct mete__conn *conn, struct mete__out *from)
{
    struct mete__conn_io *io = conn->io;
    struct mete__out swapped = io->sending;
    io->sending = *from;
    *from = swapped;
    uv_buf_t buf = uv_buf_init(io->sending.bytes, (unsigned)io->sending.len);
    io->write.data = conn;
    io->is_writing = true;
    if (uv_write(&io->write, &io->uv.stream, &buf, 1, on_written) != 0) {
        mete__conn_abort(conn);
    }
}

static void send_bytes(struct mete__conn *conn, struct mete__out *from)
{
    uv_buf_t buf = uv_buf_init(from->bytes, (unsigned)from->len);
    int sent = uv_try_write(&conn->io->uv.stream, &buf, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        mete__conn_abort(conn);
        return;
    }
    size_t done = sent > 0 ? (size_t)sent : 0;
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_BYTES_OUT], done);
    if (done == from->len) {
        from->len = 0;
        return;
    }
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_BYTES_OUT], from->len - done);
    mete__out_drop(from, done);
    write_rest(conn, from);
}

static void send_more(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    if (io->state == METE__CONN_CLOSING || io->is_writing) {
        return;
    }
    if (conn->out.is_failed || io->cipher.is_failed) {
        METE__LOG(METE__LOG_WARN, "connection closed: no memory for its replies", METE__LOG_TEXT("peer", conn->peer));
        mete__conn_abort(conn);
        return;
    }
    bool is_ending = io->is_finishing && !io->is_shut;
    if (io->tls != NULL) {
        if (conn->out.len > 0 && !mete__tls_send(io->tls, conn->out.bytes, conn->out.len, &io->cipher)) {
            mete__conn_abort(conn);
            return;
        }
        conn->out.len = 0;
        if (is_ending) {
            mete__tls_close(io->tls, &io->cipher);
        }
    }
    struct mete__out *from = io->tls != NULL ? &io->cipher : &conn->out;
    if (from->len > 0) {
        send_bytes(conn, from);
    }
    /* While something is queued: libuv shuts down after it, and close_notify must not be written twice. */
    if (is_ending && (!io->is_writing || io->tls != NULL)) {
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

/* A connection that was choked, and no longer is, takes the requests that it has read: it is touched again. */
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
    if (conn->io->state == METE__CONN_READING && !conn->io->is_reading && !conn->io->is_writing &&
        !conn->io->is_finishing) {
        mete__conn_read_on(conn);
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

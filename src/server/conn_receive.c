/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes come in, and whole requests are taken from their front.
 */
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
    if (io->start == io->in.len) {
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
        take_requests(conn);
        io->is_eof = true;
        mete__conn_finish(conn);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct mete__conn *conn = handle->data;
    struct mete__conn_io *io = conn->io;
    (void)suggested;
    if (conn->is_pending) {
        mete__batch_flush(conn->loop); /* the batch's keys lie in the buffer that may move now */
    }
    if (io->tls != NULL || io->state == METE__CONN_LINGERING) {
        *buf = uv_buf_init(conn->loop->conns.scratch, METE__SCRATCH_SIZE);
        return;
    }
    char *room = mete__input_room(conn, METE__READ_MIN);
    *buf = room != NULL ? uv_buf_init(room, (unsigned)(io->in.size - io->in.len)) : uv_buf_init(NULL, 0);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct mete__conn *conn = stream->data;
    struct mete__conn_io *io = conn->io;
    if (got == UV_ENOBUFS) { /* the bound, or no memory */
        mete__conn_refuse(conn, true);
        return;
    }
    if (got == 0) {
        mete__conn_touch(conn);
        return;
    }
    if (got < 0) {
        io->is_eof = true;
        if (got != UV_EOF || io->state == METE__CONN_LINGERING) {
            mete__conn_abort(conn);
            return;
        }
        uv_read_stop(stream);
        io->is_reading = false;
        mete__conn_finish(conn);
        return;
    }
    if (io->state == METE__CONN_LINGERING) {
        return; /* dropped */
    }
    conn->active_ms = uv_now(&conn->loop->uv);
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_BYTES_IN], (uint64_t)got);
    if (io->tls != NULL) {
        receive_cipher(conn, buf->base, (size_t)got);
        if (io->state == METE__CONN_CLOSING) {
            return;
        }
    } else {
        io->in.len += (size_t)got;
    }
    mete__conn_read_on(conn);
}

void mete__conn_read_on(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    if (io->state != METE__CONN_READING) {
        return;
    }
    take_requests(conn);
    bool may_read = !io->is_eof && !mete__conn_is_choked(conn);
    if (may_read && !io->is_reading) {
        io->is_reading = uv_read_start(&io->uv.stream, on_alloc, on_read) == 0;
    } else if (!may_read && io->is_reading) {
        uv_read_stop(&io->uv.stream);
        io->is_reading = false;
        mete__counts_add(&conn->loop->counts.of[METE__COUNT_CHOKED], 1);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a connection:
 *
 *   reading  bytes come in, whole requests are taken, replies are sent at the end of
 *            the turn; not read while choked
 *   lingering  finished: the replies are sent, our side is shut down, and what
 *            still comes is dropped until the peer closes or LINGER_MS pass.  Closing
 *            at once would make the kernel answer unread bytes with a reset, which
 *            can take sent replies away from the peer.
 *   closing  the handle is being closed
 *
 * Memory: an idle connection holds no buffer.  Input lives in a spare buffer of the
 * loop while there is some; a larger request grows it up to its bound.
 */
#include "server/conn.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/log.h"
#include "server/server.h"

#define LINGER_MS 1000u
#define READ_MIN 1024u       /* room that is offered to a read, at least */
#define OUT_SLACK (4u << 20) /* one reply, and a batch of them, above output_bytes_max */
#define OUT_KEPT 16384u      /* bytes of an output buffer that is kept between turns */
#define INPUT_SLACK 4096u    /* above request_bytes_max: framing, and the start of the next request */

enum state { READING, LINGERING, CLOSING };

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
    enum state state;
    bool is_writing;
    bool is_reading;
    bool is_finishing;
    bool is_shut;  /* shutdown has been asked for */
    bool is_eof;   /* the peer sends no more */
    bool is_named; /* TLS: the certificate has been looked at */
};

static const struct mete__bounds *bounds_of(const struct mete__conn *conn)
{
    return &conn->loop->snapshot->config->bounds;
}

/* --- buffers ---------------------------------------------------------------------- */

static bool input_take(struct mete__conn *conn)
{
    struct mete__conns *conns = &conn->loop->conns;
    struct mete__out *in = &conn->io->in;
    if (in->bytes != NULL) {
        return true;
    }
    if (conns->spare_count > 0) {
        in->bytes = conns->spare[--conns->spare_count];
        in->size = METE__BUFFER_SIZE;
        return true;
    }
    in->bytes = malloc(METE__BUFFER_SIZE);
    in->size = in->bytes != NULL ? METE__BUFFER_SIZE : 0;
    return in->bytes != NULL;
}

static void input_give(struct mete__conn *conn)
{
    struct mete__conns *conns = &conn->loop->conns;
    struct mete__out *in = &conn->io->in;
    if (in->bytes != NULL && in->size == METE__BUFFER_SIZE && conns->spare_count < METE__SPARE_BUFFERS) {
        conns->spare[conns->spare_count++] = in->bytes;
        in->bytes = NULL;
    }
    free(in->bytes);
    in->bytes = NULL;
    in->len = in->size = conn->io->start = 0;
}

/* A request that does not go on gives its large buffer back and waits in one of its own size. */
static void input_shrink(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    size_t len = io->in.len - io->start;
    if (io->in.size != METE__BUFFER_SIZE || len == 0 || len > METE__BUFFER_SIZE / 4) {
        return;
    }
    char *small = malloc(len);
    if (small == NULL) {
        return;
    }
    memcpy(small, io->in.bytes + io->start, len);
    input_give(conn);
    io->in.bytes = small;
    io->in.len = io->in.size = len;
}

static void input_unshrink(struct mete__conn *conn)
{
    struct mete__out *in = &conn->io->in;
    if (in->bytes != NULL && in->size < METE__BUFFER_SIZE) {
        (void)mete__out_room(in, METE__BUFFER_SIZE - in->len);
    }
}

/* Room behind the unread input.  Nothing in the batch may point into the buffer. */
static char *input_room(struct mete__conn *conn, size_t more)
{
    struct mete__conn_io *io = conn->io;
    input_unshrink(conn);
    if (!input_take(conn)) {
        return NULL;
    }
    if (io->start > 0 && io->in.size - io->in.len < more) {
        mete__out_drop(&io->in, io->start);
        io->start = 0;
    }
    return mete__out_room(&io->in, more);
}

/* --- closing ------------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    struct mete__conn *conn = handle->data;
    if (conn->io->tls != NULL) {
        mete__tls_destroy(conn->io->tls);
    }
    if (conn->protocol->closed != NULL) {
        conn->protocol->closed(conn);
    }
    input_give(conn);
    mete__out_clear(&conn->out);
    mete__out_clear(&conn->io->cipher);
    mete__out_clear(&conn->io->sending);
    __atomic_fetch_sub(&conn->loop->server->conn_count, 1, __ATOMIC_RELAXED);
    conn->loop->conns.count--;
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_CONNECTIONS_CLOSED], 1);
    free(conn->session);
    free(conn->io);
    free(conn);
}

static void close_now(struct mete__conn *conn)
{
    if (conn->io->state == CLOSING) {
        return;
    }
    if (conn->is_pending) {
        mete__batch_flush(conn->loop);
    }
    conn->io->state = CLOSING;
    *conn->link = conn->next;
    if (conn->next != NULL) {
        conn->next->link = conn->link;
    }
    uv_close(&conn->io->uv.handle, on_closed);
}

void mete__conn_abort(struct mete__conn *conn)
{
    close_now(conn);
}

static void on_shut(uv_shutdown_t *request, int status)
{
    struct mete__conn *conn = request->data;
    if (status < 0 || conn->io->is_eof) {
        close_now(conn);
    }
}

/* All replies have been sent: say so, and wait for the peer. */
static void shut(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    if (io->is_shut || io->state == CLOSING) {
        return;
    }
    io->is_shut = true;
    io->state = LINGERING;
    io->linger_ms = uv_now(&conn->loop->uv);
    io->shutdown.data = conn;
    if (uv_shutdown(&io->shutdown, &io->uv.stream, on_shut) != 0) {
        close_now(conn);
    }
}

void mete__conn_finish(struct mete__conn *conn)
{
    conn->io->is_finishing = true;
    mete__conn_touch(conn);
}

bool mete__conn_is_finishing(const struct mete__conn *conn)
{
    return conn->io->is_finishing;
}

/* --- sending ------------------------------------------------------------------------ */

void mete__conn_touch(struct mete__conn *conn)
{
    if (!conn->is_dirty) {
        conn->is_dirty = true;
        conn->next_dirty = conn->loop->conns.dirty;
        conn->loop->conns.dirty = conn;
    }
}

static size_t unsent(const struct mete__conn *conn)
{
    return conn->out.len + conn->io->cipher.len + conn->io->sending.len;
}

bool mete__conn_is_choked(const struct mete__conn *conn)
{
    return unsent(conn) >= bounds_of(conn)->output_bytes_max;
}

static void read_on(struct mete__conn *conn);
static void send_more(struct mete__conn *conn);

static void on_written(uv_write_t *request, int status)
{
    struct mete__conn *conn = request->data;
    conn->io->is_writing = false;
    conn->io->sending.len = 0;
    if (conn->io->sending.size > OUT_KEPT) {
        mete__out_clear(&conn->io->sending);
    }
    if (status < 0) {
        close_now(conn);
        return;
    }
    send_more(conn);
    if (conn->io->state == READING) {
        read_on(conn);
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
        close_now(conn);
    }
}

static void send_bytes(struct mete__conn *conn, struct mete__out *from)
{
    uv_buf_t buf = uv_buf_init(from->bytes, (unsigned)from->len);
    int sent = uv_try_write(&conn->io->uv.stream, &buf, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        close_now(conn);
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
    if (io->state == CLOSING || io->is_writing) {
        return;
    }
    if (conn->out.is_failed || io->cipher.is_failed) {
        METE__LOG(METE__LOG_WARN, "connection closed: no memory for its replies", METE__LOG_TEXT("peer", conn->peer));
        close_now(conn);
        return;
    }
    bool is_ending = io->is_finishing && !io->is_shut;
    if (io->tls != NULL) {
        if (conn->out.len > 0 && !mete__tls_send(io->tls, conn->out.bytes, conn->out.len, &io->cipher)) {
            close_now(conn);
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
        shut(conn);
    }
}

static void settle_buffers(struct mete__conn *conn)
{
    if (conn->io->start == conn->io->in.len && !conn->is_pending) {
        input_give(conn);
    }
    if (conn->out.len == 0 && conn->out.size > OUT_KEPT) {
        mete__out_clear(&conn->out);
    }
}

/* A connection that was choked, and no longer is, takes the requests that it has read: it is touched again. */
static void send_one(struct mete__conn *conn)
{
    if (conn->io->state == CLOSING) {
        return;
    }
    send_more(conn);
    if (conn->io->state == CLOSING) {
        return;
    }
    settle_buffers(conn);
    if (conn->io->state == READING && !conn->io->is_reading && !conn->io->is_writing && !conn->io->is_finishing) {
        read_on(conn);
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

/* --- receiving ---------------------------------------------------------------------- */

static void refuse(struct mete__conn *conn, bool is_too_large)
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
            if (len > bounds_of(conn)->request_bytes_max + INPUT_SLACK && !io->is_finishing) {
                refuse(conn, true);
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
    if (input_room(conn, READ_MIN) == NULL) {
        close_now(conn);
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
        refuse(conn, true);
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
    if (io->tls != NULL || io->state == LINGERING) {
        *buf = uv_buf_init(conn->loop->conns.scratch, METE__SCRATCH_SIZE);
        return;
    }
    char *room = input_room(conn, READ_MIN);
    *buf = room != NULL ? uv_buf_init(room, (unsigned)(io->in.size - io->in.len)) : uv_buf_init(NULL, 0);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct mete__conn *conn = stream->data;
    struct mete__conn_io *io = conn->io;
    if (got == UV_ENOBUFS) { /* the bound, or no memory */
        refuse(conn, true);
        return;
    }
    if (got == 0) {
        mete__conn_touch(conn);
        return;
    }
    if (got < 0) {
        io->is_eof = true;
        if (got != UV_EOF || io->state == LINGERING) {
            close_now(conn);
            return;
        }
        uv_read_stop(stream);
        io->is_reading = false;
        mete__conn_finish(conn);
        return;
    }
    if (io->state == LINGERING) {
        return; /* dropped */
    }
    conn->active_ms = uv_now(&conn->loop->uv);
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_BYTES_IN], (uint64_t)got);
    if (io->tls != NULL) {
        receive_cipher(conn, buf->base, (size_t)got);
        if (io->state == CLOSING) {
            return;
        }
    } else {
        io->in.len += (size_t)got;
    }
    read_on(conn);
}

/* Takes what has been read, and reads more unless the replies are in the way. */
static void read_on(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    if (io->state != READING) {
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

/* --- opening ------------------------------------------------------------------------ */

static void set_peer(struct mete__conn *conn)
{
    struct sockaddr_storage address;
    int len = sizeof address;
    char text[INET6_ADDRSTRLEN] = "";
    if (conn->is_unix || uv_tcp_getpeername(&conn->io->uv.tcp, (struct sockaddr *)&address, &len) != 0) {
        snprintf(conn->peer, sizeof conn->peer, "unix");
        return;
    }
    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address;
        memcpy(conn->peer_address, &in6->sin6_addr, 16);
        inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
        snprintf(conn->peer, sizeof conn->peer, "[%s]:%u", text, ntohs(in6->sin6_port));
        return;
    }
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)&address;
    conn->peer_address[10] = conn->peer_address[11] = 0xFF;
    memcpy(conn->peer_address + 12, &in4->sin_addr, 4);
    inet_ntop(AF_INET, &in4->sin_addr, text, sizeof text);
    snprintf(conn->peer, sizeof conn->peer, "%s:%u", text, ntohs(in4->sin_port));
}

static struct mete__conn *conn_alloc(struct mete__loop *loop, const struct mete__protocol *protocol, bool is_tls)
{
    struct mete__conn *conn = calloc(1, sizeof *conn);
    struct mete__conn_io *io = calloc(1, sizeof *io);
    void *session = calloc(1, protocol->session_size > 0 ? protocol->session_size : 1);
    struct mete__tls_context *context = is_tls ? mete__server_hold_tls(loop->server) : NULL;
    struct mete__tls *tls = context != NULL ? mete__tls_create(context) : NULL;
    mete__tls_context_release(context); /* the connection holds what it needs */
    if (conn == NULL || io == NULL || session == NULL || (is_tls && tls == NULL)) {
        free(conn);
        free(io);
        free(session);
        if (tls != NULL) {
            mete__tls_destroy(tls);
        }
        return NULL;
    }
    conn->io = io;
    conn->session = session;
    io->tls = tls;
    return conn;
}

static void conn_set(struct mete__conn *conn, struct mete__loop *loop, const struct mete__protocol *protocol)
{
    const struct mete__config *config = loop->snapshot->config;
    size_t out_max = config->bounds.output_bytes_max + OUT_SLACK;
    conn->loop = loop;
    conn->protocol = protocol;
    conn->user = &config->users[0];
    conn->id = __atomic_add_fetch(&loop->server->conn_ids, 1, __ATOMIC_RELAXED);
    conn->opened_ms = conn->active_ms = uv_now(&loop->uv);
    mete__out_init(&conn->out, out_max);
    mete__out_init(&conn->io->cipher, 2 * out_max);
    mete__out_init(&conn->io->sending, 2 * out_max);
    mete__out_init(&conn->io->in, config->bounds.request_bytes_max + INPUT_SLACK + METE__SCRATCH_SIZE);
    conn->link = &loop->conns.first;
    conn->next = loop->conns.first;
    if (conn->next != NULL) {
        conn->next->link = &conn->next;
    }
    loop->conns.first = conn;
    loop->conns.count++;
    __atomic_fetch_add(&loop->server->conn_count, 1, __ATOMIC_RELAXED);
    mete__counts_add(&loop->counts.of[METE__COUNT_CONNECTIONS_OPENED], 1);
}

static void on_turned_away(uv_handle_t *handle)
{
    free(handle);
}

static void turn_away(struct mete__loop *loop, uv_stream_t *from, const char *reason)
{
    static struct mete__log_quiet quiet; /* shared by the loops: only the number of lines depends on it */
    uint64_t suppressed;
    mete__counts_add(&loop->counts.of[METE__COUNT_CONNECTIONS_REFUSED], 1);
    if (mete__log_may(&quiet, uv_now(&loop->uv), &suppressed)) {
        METE__LOG(METE__LOG_WARN, "connection refused", METE__LOG_TEXT("reason", reason),
                  METE__LOG_U64("connections", __atomic_load_n(&loop->server->conn_count, __ATOMIC_RELAXED)),
                  METE__LOG_U64("suppressed", suppressed));
    }
    /* libuv has accepted it already; it must be taken to be closed. */
    uv_tcp_t *handle = malloc(sizeof *handle);
    if (handle != NULL && uv_tcp_init(&loop->uv, handle) == 0) {
        (void)uv_accept(from, (uv_stream_t *)handle);
        uv_close((uv_handle_t *)handle, on_turned_away);
    } else {
        free(handle);
    }
}

void mete__conn_open(struct mete__loop *loop, uv_stream_t *from, const struct mete__protocol *protocol, bool is_unix,
                     bool is_tls, const char *local)
{
    uint64_t open = __atomic_load_n(&loop->server->conn_count, __ATOMIC_RELAXED);
    if (open >= loop->snapshot->config->bounds.connections_max) {
        turn_away(loop, from, "connections_max is reached");
        return;
    }
    struct mete__conn *conn = conn_alloc(loop, protocol, is_tls);
    if (conn == NULL) {
        turn_away(loop, from, "no memory");
        return;
    }
    conn->is_tls = is_tls;
    conn->is_unix = is_unix;
    conn->local = local;
    conn_set(conn, loop, protocol);
    if (is_unix) {
        uv_pipe_init(&loop->uv, &conn->io->uv.pipe, 0);
    } else {
        uv_tcp_init(&loop->uv, &conn->io->uv.tcp);
    }
    conn->io->uv.handle.data = conn;
    if (uv_accept(from, &conn->io->uv.stream) != 0) {
        close_now(conn);
        return;
    }
    set_peer(conn);
    if (protocol->opened != NULL) {
        protocol->opened(conn);
    }
    read_on(conn);
}

/* --- time --------------------------------------------------------------------------- */

static void sweep_one(struct mete__conn *conn)
{
    const struct mete__bounds *bounds = bounds_of(conn);
    struct mete__conn_io *io = conn->io;
    uint64_t now_ms = uv_now(&conn->loop->uv);
    if (io->state == LINGERING) {
        uint64_t longest_ms = io->is_writing ? bounds->request_timeout_ms + LINGER_MS : LINGER_MS;
        if (now_ms - io->linger_ms >= longest_ms) {
            close_now(conn);
        }
        return;
    }
    bool is_slow = io->request_ms != 0 && !mete__conn_is_choked(conn) && bounds->request_timeout_ms != 0 &&
                   now_ms - io->request_ms >= bounds->request_timeout_ms;
    bool is_idle = bounds->idle_timeout_ms != 0 && now_ms - conn->active_ms >= bounds->idle_timeout_ms;
    if (is_slow && !io->is_finishing) {
        mete__counts_add(&conn->loop->counts.of[METE__COUNT_TIMEOUTS], 1);
        refuse(conn, false);
    } else if (is_idle) {
        mete__counts_add(&conn->loop->counts.of[METE__COUNT_TIMEOUTS], 1);
        if (io->is_finishing || unsent(conn) > 0) {
            close_now(conn); /* it does not read its replies */
        } else {
            mete__conn_finish(conn);
        }
    }
    if (io->state == READING && !conn->is_pending && now_ms - conn->active_ms >= LINGER_MS) {
        input_shrink(conn);
    }
    if (io->state != CLOSING && !io->is_writing && conn->out.len == 0 && conn->out.bytes != NULL &&
        now_ms - conn->active_ms >= LINGER_MS) {
        mete__out_clear(&conn->out);
        mete__out_clear(&io->cipher);
        mete__out_clear(&io->sending);
    }
}

void mete__conns_sweep(struct mete__loop *loop)
{
    for (struct mete__conn *conn = loop->conns.first; conn != NULL;) {
        struct mete__conn *next = conn->next;
        sweep_one(conn);
        conn = next;
    }
}

void mete__conns_drain(struct mete__loop *loop, bool is_over)
{
    for (struct mete__conn *conn = loop->conns.first; conn != NULL;) {
        struct mete__conn *next = conn->next;
        if (is_over) {
            close_now(conn);
        } else if (conn->io->state == READING && conn->io->start == conn->io->in.len && !conn->io->is_finishing) {
            mete__conn_finish(conn);
        }
        conn = next;
    }
}

void mete__conns_clear(struct mete__loop *loop)
{
    while (loop->conns.spare_count > 0) {
        free(loop->conns.spare[--loop->conns.spare_count]);
    }
    free(loop->conns.scratch);
    loop->conns.scratch = NULL;
}

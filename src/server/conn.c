/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a connection:
 *
 *   reading  bytes come in, whole requests are taken, replies are sent at the end of
 *            the turn; not read while choked
 *   lingering  finished: the replies are sent, our side is shut down, and what
 *            still comes is dropped until the peer closes or METE__LINGER_MS pass.  Closing
 *            at once would make the kernel answer unread bytes with a reset, which
 *            can take sent replies away from the peer.
 *   closing  the handle is being closed
 *
 * Memory: an idle connection holds no buffer.  Input lives in a spare buffer of the
 * loop while there is some; a larger request grows it up to its bound.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "server/conn_io.h"
#include "server/log.h"

#define OUT_SLACK (4u << 20) /* one reply, and a batch of them, above output_bytes_max */

static void set_peer(struct mete__conn *conn, const struct sockaddr_storage *peer)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (peer->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
        memcpy(conn->peer_address, &in6->sin6_addr, 16);
        inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
        snprintf(conn->peer, sizeof conn->peer, "[%s]:%u", text, ntohs(in6->sin6_port));
    } else if (peer->ss_family == AF_INET) {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)peer;
        conn->peer_address[10] = conn->peer_address[11] = 0xFF;
        memcpy(conn->peer_address + 12, &in4->sin_addr, 4);
        inet_ntop(AF_INET, &in4->sin_addr, text, sizeof text);
        snprintf(conn->peer, sizeof conn->peer, "%s:%u", text, ntohs(in4->sin_port));
    } else {
        snprintf(conn->peer, sizeof conn->peer, "unix");
    }
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

/* What is held already may stay. */
static void set_size_max(struct mete__out *out, size_t size_max)
{
    out->size_max = size_max > out->size ? size_max : out->size;
}

static void set_bounds(struct mete__conn *conn)
{
    const struct mete__bounds *bounds = mete__conn_bounds(conn);
    size_t out_max = bounds->output_bytes_max + OUT_SLACK;
    set_size_max(&conn->out, out_max);
    set_size_max(&conn->io->cipher, 2 * out_max);
    set_size_max(&conn->io->in, bounds->request_bytes_max + METE__INPUT_SLACK + METE__SCRATCH_SIZE);
}

void mete__conns_rebound(struct mete__loop *loop)
{
    for (struct mete__conn *conn = loop->conns.first; conn != NULL; conn = conn->next) {
        set_bounds(conn);
    }
}

static void conn_set(struct mete__conn *conn, struct mete__loop *loop, const struct mete__protocol *protocol)
{
    conn->loop = loop;
    conn->protocol = protocol;
    conn->user = &loop->snapshot->config->users[0];
    conn->id = __atomic_add_fetch(&loop->server->conn_ids, 1, __ATOMIC_RELAXED);
    conn->opened_ms = conn->active_ms = uv_now(&loop->uv);
    set_bounds(conn);
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

static void turn_away(struct mete__loop *loop, int fd, const char *reason)
{
    static struct mete__log_quiet quiet; /* shared by the loops: only the number of lines depends on it */
    uint64_t suppressed;
    mete__counts_add(&loop->counts.of[METE__COUNT_CONNECTIONS_REFUSED], 1);
    if (mete__log_may(&quiet, uv_now(&loop->uv), &suppressed)) {
        METE__LOG(METE__LOG_WARN, "connection refused", METE__LOG_TEXT("reason", reason),
                  METE__LOG_U64("connections", __atomic_load_n(&loop->server->conn_count, __ATOMIC_RELAXED)),
                  METE__LOG_U64("suppressed", suppressed));
    }
    close(fd);
}

/* False: it cannot be watched. */
static bool watch(struct mete__conn *conn)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = conn};
    return epoll_ctl(conn->loop->epoll, EPOLL_CTL_ADD, conn->io->fd, &event) == 0;
}

void mete__conn_open(struct mete__loop *loop, const struct mete__accepted *accepted)
{
    const struct mete__acceptor *by = accepted->by;
    uint64_t open = __atomic_load_n(&loop->server->conn_count, __ATOMIC_RELAXED);
    if (open >= loop->snapshot->config->bounds.connections_max) {
        turn_away(loop, accepted->fd, "connections_max is reached");
        return;
    }
    struct mete__conn *conn = conn_alloc(loop, by->protocol, by->is_tls);
    if (conn == NULL) {
        turn_away(loop, accepted->fd, "no memory");
        return;
    }
    conn->is_tls = by->is_tls;
    conn->is_unix = by->is_unix;
    conn->local = by->address;
    conn_set(conn, loop, by->protocol);
    set_peer(conn, &accepted->peer);
    conn->io->fd = accepted->fd;
    conn->io->can_write = conn->io->can_read = true;
    if (by->protocol->opened != NULL) {
        by->protocol->opened(conn);
    }
    if (!watch(conn)) {
        mete__conn_abort(conn);
        return;
    }
    mete__conn_ready(conn); /* most clients have sent something by now */
}

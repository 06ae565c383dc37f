/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a connection ends: after its replies, for being idle or slow, or with the
 * daemon.
 */
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/conn_io.h"

#define DRAIN_QUIET_MS 100u /* without a byte: nothing is on its way */

static void bury(struct mete__conn *conn)
{
    if (conn->io->tls != NULL) {
        mete__tls_destroy(conn->io->tls);
    }
    if (conn->protocol->closed != NULL) {
        conn->protocol->closed(conn);
    }
    mete__input_give(conn);
    mete__out_clear(&conn->out);
    mete__out_clear(&conn->io->cipher);
    free(conn->session);
    free(conn->io);
    free(conn);
}

/* A connection that was to be read in the next turn may have been closed in this one. */
static void forget_ready(struct mete__loop *loop)
{
    struct mete__conn **link = &loop->conns.ready;
    while (*link != NULL) {
        struct mete__conn_io *io = (*link)->io;
        if (io->state == METE__CONN_CLOSING) {
            *link = io->next_ready;
        } else {
            link = &io->next_ready;
        }
    }
}

void mete__conns_bury(struct mete__loop *loop)
{
    if (loop->conns.dead != NULL) {
        forget_ready(loop);
    }
    while (loop->conns.dead != NULL) {
        struct mete__conn *conn = loop->conns.dead;
        loop->conns.dead = conn->next;
        bury(conn);
    }
}

void mete__conn_abort(struct mete__conn *conn)
{
    struct mete__loop *loop = conn->loop;
    if (conn->io->state == METE__CONN_CLOSING) {
        return;
    }
    if (conn->is_pending) {
        mete__batch_flush(loop);
    }
    conn->io->state = METE__CONN_CLOSING;
    *conn->link = conn->next;
    if (conn->next != NULL) {
        conn->next->link = conn->link;
    }
    conn->next = loop->conns.dead;
    loop->conns.dead = conn;
    close(conn->io->fd); /* epoll lets go of it, too */
    __atomic_fetch_sub(&loop->server->conn_count, 1, __ATOMIC_RELAXED);
    loop->conns.count--;
    mete__counts_add(&loop->counts.of[METE__COUNT_CONNECTIONS_CLOSED], 1);
}

void mete__conn_shut(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    if (io->is_shut || io->state == METE__CONN_CLOSING) {
        return;
    }
    io->is_shut = true;
    io->state = METE__CONN_LINGERING;
    io->linger_ms = uv_now(&conn->loop->uv);
    if (shutdown(io->fd, SHUT_WR) != 0 || io->is_eof) {
        mete__conn_abort(conn);
    } else if (io->can_read) {
        mete__conn_ready(conn);
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

/* --- time --------------------------------------------------------------------------- */

/* Bytes of replies that have not arrived, while some wait for room: the kernel makes it in large steps. */
static size_t count_left(const struct mete__conn *conn)
{
    int queued = 0;
    if (conn->io->can_write) {
        return 0;
    }
    if (ioctl(conn->io->fd, SIOCOUTQ, &queued) != 0) {
        queued = 0;
    }
    return mete__conn_unsent(conn) + (size_t)queued;
}

/* A peer that reads its replies is not idle, however slowly it does. */
static void note_progress(struct mete__conn *conn)
{
    size_t left = count_left(conn);
    if (left < conn->io->left) {
        conn->active_ms = uv_now(&conn->loop->uv);
    }
    conn->io->left = left;
}

static void sweep_one(struct mete__conn *conn)
{
    const struct mete__bounds *bounds = mete__conn_bounds(conn);
    struct mete__conn_io *io = conn->io;
    uint64_t now_ms = uv_now(&conn->loop->uv);
    if (io->state == METE__CONN_LINGERING) {
        if (now_ms - io->linger_ms >= METE__LINGER_MS) {
            mete__conn_abort(conn);
        }
        return;
    }
    note_progress(conn);
    bool is_slow = io->request_ms != 0 && !mete__conn_is_choked(conn) && bounds->request_timeout_ms != 0 &&
                   now_ms - io->request_ms >= bounds->request_timeout_ms;
    bool is_idle = bounds->idle_timeout_ms != 0 && now_ms - conn->active_ms >= bounds->idle_timeout_ms;
    if (is_slow && !io->is_finishing) {
        mete__counts_add(&conn->loop->counts.of[METE__COUNT_TIMEOUTS], 1);
        mete__conn_refuse(conn, false);
    } else if (is_idle) {
        mete__counts_add(&conn->loop->counts.of[METE__COUNT_TIMEOUTS], 1);
        if (io->is_finishing || mete__conn_unsent(conn) > 0) {
            mete__conn_abort(conn); /* it does not read its replies */
        } else {
            mete__conn_finish(conn);
        }
    }
    if (io->state == METE__CONN_READING && !conn->is_pending && now_ms - conn->active_ms >= METE__LINGER_MS) {
        mete__input_shrink(conn);
    }
    if (io->state != METE__CONN_CLOSING && mete__conn_unsent(conn) == 0 && conn->out.bytes != NULL &&
        now_ms - conn->active_ms >= METE__LINGER_MS) {
        mete__out_clear(&conn->out);
        mete__out_clear(&io->cipher);
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

/* Half of the time of a drain is for those who go on and on asking. */
static bool is_late(const struct mete__loop *loop)
{
    return uv_now(&loop->uv) - loop->drain_began_ms >= (loop->drain_until_ms - loop->drain_began_ms) / 2;
}

/*
 * A connection is finished between two requests, when all that came has been answered.
 * At first only a quiet one, so that what is on its way still is; later also a busy one:
 * its peer sees the end after the last reply, and what was not answered was not decided.
 */
static bool may_finish(const struct mete__conn *conn, bool is_late_now)
{
    const struct mete__conn_io *io = conn->io;
    bool is_between = io->state == METE__CONN_READING && io->start == io->in.len && !io->is_finishing;
    return is_between && (is_late_now || uv_now(&conn->loop->uv) - conn->active_ms >= DRAIN_QUIET_MS);
}

bool mete__conn_may_end(const struct mete__conn *conn, bool is_last)
{
    const struct mete__loop *loop = conn->loop;
    return loop->is_draining && (is_late(loop) || (is_last && !conn->io->can_read));
}

void mete__conns_drain(struct mete__loop *loop, bool is_over)
{
    bool is_late_now = is_late(loop);
    for (struct mete__conn *conn = loop->conns.first; conn != NULL;) {
        struct mete__conn *next = conn->next;
        if (is_over) {
            mete__conn_abort(conn);
        } else if (may_finish(conn, is_late_now)) {
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

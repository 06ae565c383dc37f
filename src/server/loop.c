/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a loop.  Other threads reach it through one async handle alone,
 * which makes it look at the server's state.
 *
 * Connections are watched by an epoll instance of the loop's own, edge-triggered: that
 * is two system calls for a request, recv and send, and one epoll_wait for a turn.
 * Everything else (timers, signals, listeners, wake-ups) is libuv's, whose descriptor is one
 * of those watched.  Connections through libuv's streams cost 4 % to 11 % more processor
 * time per request: docs/internals/serve-performance.md.
 */
#include "server/loop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "server/conn.h"
#include "server/log.h"
#include "server/server.h"

#define SWEEP_MS 1000u
#define DRAIN_MS 20u
#define EVENTS_MAX 256

struct mete__loop_io {
    uv_async_t wake;
    uv_timer_t timer;
    struct mete__acceptor acceptors[METE__LISTENERS_MAX];
    size_t acceptor_count;
    uint64_t swept_ms; /* when the timer was last due */
    bool was_late;     /* it had been stopped before */
    bool has_work;     /* woken: look at the server */
    bool is_ending;
};

/* --- a turn ------------------------------------------------------------------------- */

static void switch_snapshot(struct mete__loop *loop)
{
    struct mete__engine *engine = loop->server->engine;
    const struct mete__snapshot *old = loop->snapshot;
    loop->snapshot = mete__engine_join(engine);
    for (struct mete__conn *conn = loop->conns.first; conn != NULL; conn = conn->next) {
        conn->user = mete__access_find(loop->snapshot->config, conn->user->name);
    }
    mete__conns_rebound(loop);
    mete__engine_leave(engine, old);
}

static void close_listeners(struct mete__loop *loop)
{
    for (size_t i = 0; i < loop->io->acceptor_count; i++) {
        mete__accept_stop(&loop->io->acceptors[i]);
    }
}

static void begin_drain(struct mete__loop *loop)
{
    loop->is_draining = true;
    loop->drain_began_ms = uv_now(&loop->uv);
    loop->drain_until_ms = loop->drain_began_ms + loop->snapshot->config->bounds.drain_timeout_ms;
    close_listeners(loop);
    uv_timer_set_repeat(&loop->io->timer, DRAIN_MS);
    uv_timer_again(&loop->io->timer);
}

static void end(struct mete__loop *loop)
{
    if (loop->io->is_ending) {
        return;
    }
    loop->io->is_ending = true;
    uv_close((uv_handle_t *)&loop->io->wake, NULL);
    uv_close((uv_handle_t *)&loop->io->timer, NULL);
    if (loop->index == 0) {
        mete__watch_stop(loop->server);
    }
}

/* Read, decide, reply, send; what was choked may go on. */
static void turn(struct mete__loop *loop)
{
    mete__conns_receive(loop);
    while (loop->batch_len > 0 || loop->conns.dirty != NULL) {
        mete__batch_flush(loop);
        mete__conns_send(loop);
    }
    mete__conns_bury(loop);
    if (!loop->io->has_work) {
        return;
    }
    loop->io->has_work = false;
    switch_snapshot(loop);
    if (!loop->is_draining && __atomic_load_n(&loop->server->is_draining, __ATOMIC_ACQUIRE)) {
        begin_drain(loop);
    }
}

static void on_wake(uv_async_t *wake)
{
    struct mete__loop *loop = wake->data;
    loop->io->has_work = true;
}

/*
 * After the process was stopped (SIGSTOP, a paused machine) nobody was slow or idle but itself: what came
 * meanwhile is read first.  Once: a loop that is always late sweeps too.
 */
static bool was_stopped(struct mete__loop *loop)
{
    uint64_t now_ms = uv_now(&loop->uv);
    bool is_late = now_ms - loop->io->swept_ms >= 2 * SWEEP_MS;
    loop->io->swept_ms = now_ms;
    loop->io->was_late = is_late && !loop->io->was_late;
    return loop->io->was_late;
}

static void on_timer(uv_timer_t *timer)
{
    struct mete__loop *loop = timer->data;
    mete__top_turn(&loop->top, uv_now(&loop->uv));
    if (!was_stopped(loop)) {
        mete__conns_sweep(loop);
    }
    for (size_t i = 0; i < loop->io->acceptor_count; i++) {
        mete__accept_again(&loop->io->acceptors[i]);
    }
    if (!loop->is_draining) {
        return;
    }
    mete__conns_drain(loop, uv_now(&loop->uv) >= loop->drain_until_ms);
    if (loop->conns.count == 0) {
        end(loop);
    }
}

/* --- the life of a loop --------------------------------------------------------------- */

static bool allocate(struct mete__loop *loop)
{
    loop->io = calloc(1, sizeof *loop->io);
    loop->conns.scratch = malloc(METE__SCRATCH_SIZE);
    loop->counts.policies = calloc(METE__POLICIES_MAX, sizeof *loop->counts.policies);
    return loop->io != NULL && loop->conns.scratch != NULL && loop->counts.policies != NULL &&
           mete__top_init(&loop->top);
}

static bool watch_libuv(struct mete__loop *loop)
{
    struct epoll_event event = {.events = EPOLLIN};
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    return loop->epoll >= 0 && epoll_ctl(loop->epoll, EPOLL_CTL_ADD, uv_backend_fd(&loop->uv), &event) == 0;
}

mete_status mete__loop_init(struct mete__loop *loop, struct mete__server *server, unsigned index,
                            const struct mete__listening *listening, size_t listening_count, char *why, size_t why_size)
{
    loop->server = server;
    loop->index = index;
    if (!allocate(loop) || uv_loop_init(&loop->uv) != 0 || !watch_libuv(loop)) {
        snprintf(why, why_size, "no memory or file descriptors for an event loop");
        return METE_ENOMEM;
    }
    uv_async_init(&loop->uv, &loop->io->wake, on_wake);
    uv_timer_init(&loop->uv, &loop->io->timer);
    loop->io->wake.data = loop->io->timer.data = loop;
    uv_timer_start(&loop->io->timer, on_timer, SWEEP_MS, SWEEP_MS);
    loop->io->swept_ms = uv_now(&loop->uv);
    loop->snapshot = mete__engine_join(server->engine);
    for (size_t i = 0; i < listening_count; i++) {
        struct mete__acceptor *acceptor = &loop->io->acceptors[loop->io->acceptor_count++];
        int failure = mete__accept_start(acceptor, loop, &listening[i]);
        if (failure != 0) {
            snprintf(why, why_size, "listen: %s: %s", listening[i].address, uv_strerror(failure));
            return METE_EIO;
        }
    }
    return METE_OK;
}

/* True when libuv has something to do. */
static bool wait_for_events(struct mete__loop *loop, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(loop->epoll, events, EVENTS_MAX, timeout_ms);
    bool is_due = count <= 0;
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == NULL) {
            is_due = true;
        } else {
            mete__conn_event(events[i].data.ptr, events[i].events);
        }
    }
    return is_due;
}

void mete__loop_run(struct mete__loop *loop)
{
    uv_run(&loop->uv, UV_RUN_NOWAIT); /* libuv registers its descriptors when it runs */
    while (uv_loop_alive(&loop->uv)) {
        bool is_busy = loop->conns.ready != NULL || loop->conns.dirty != NULL;
        bool is_due = wait_for_events(loop, is_busy ? 0 : uv_backend_timeout(&loop->uv));
        uv_update_time(&loop->uv);
        if (is_due || uv_backend_timeout(&loop->uv) == 0) {
            uv_run(&loop->uv, UV_RUN_NOWAIT);
        }
        turn(loop);
    }
}

void mete__loop_wake(struct mete__loop *loop)
{
    uv_async_send(&loop->io->wake);
}

void mete__loop_clear(struct mete__loop *loop)
{
    if (loop->io != NULL && loop->snapshot != NULL) {
        if (!loop->io->is_ending) { /* never ran */
            close_listeners(loop);
            end(loop);
            uv_run(&loop->uv, UV_RUN_DEFAULT);
        }
        uv_loop_close(&loop->uv);
        close(loop->epoll);
        mete__engine_leave(loop->server->engine, loop->snapshot);
    }
    mete__conns_clear(loop);
    mete__top_clear(&loop->top);
    free(loop->counts.policies);
    free(loop->io);
    *loop = (struct mete__loop){0};
}

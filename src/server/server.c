/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/listen.h"
#include "server/live.h"
#include "server/log.h"
#include "server/notify.h"
#include "server/reload.h"

/* --- the end ----------------------------------------------------------------------------- */

void mete__server_drain(struct mete__server *server, const char *cause)
{
    if (__atomic_exchange_n(&server->is_draining, true, __ATOMIC_ACQ_REL)) {
        return;
    }
    METE__LOG(METE__LOG_INFO, "draining", METE__LOG_TEXT("cause", cause),
              METE__LOG_U64("connections", __atomic_load_n(&server->conn_count, __ATOMIC_RELAXED)));
    mete__notify("STOPPING=1");
    for (unsigned i = 0; i < server->loop_count; i++) {
        mete__loop_wake(&server->loops[i]);
    }
}

/* --- start ------------------------------------------------------------------------------ */

static unsigned threads_of(const struct mete__server *server, const struct mete__config *config)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = server->options.threads;
    if (threads == METE__THREADS_CONFIGURED) {
        threads = config->threads;
    }
    if (threads == 0) {
        threads = processors > 0 ? (uint64_t)processors : 1;
    }
    return threads < METE__THREADS_MAX ? (unsigned)threads : METE__THREADS_MAX;
}

static void log_listening(const struct mete__listening *listening)
{
    METE__LOG(METE__LOG_INFO, "listening",
              METE__LOG_TEXT("protocol", listening->listener->protocol == METE__PROTOCOL_RESP ? "resp" : "http"),
              METE__LOG_TEXT("address", listening->address),
              METE__LOG_TEXT("tls", listening->listener->is_tls ? "yes" : "no"));
}

static void tell_ready(const struct mete__server *server, const struct mete__config *config,
                       const struct mete__listening *sockets)
{
    const char *first[2] = {NULL, NULL}; /* by enum mete__protocol_kind */
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct mete__listening *each = &sockets[i * server->loop_count];
        if (first[each->listener->protocol] == NULL) {
            first[each->listener->protocol] = each->address;
        }
    }
    if (server->options.ready != NULL) {
        server->options.ready(config, first[METE__PROTOCOL_RESP], first[METE__PROTOCOL_HTTP]);
    }
}

/* sockets[listener * loops + loop] */
static mete_status open_sockets(struct mete__server *server, const struct mete__config *config,
                                struct mete__listening *sockets, char *why, size_t why_size)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct mete__listener *listener = &config->listeners[i];
        if (listener->is_tls && server->tls == NULL) {
            snprintf(why, why_size, "listen: %s: tls is asked for, but there is no certificate", listener->address);
            return METE_EINVAL;
        }
        server->needs_tls = server->needs_tls || listener->is_tls;
        mete_status status =
            mete__listen(listener, server->loop_count, &sockets[i * server->loop_count], why, why_size);
        if (status != METE_OK) {
            return status;
        }
    }
    return METE_OK;
}

static mete_status start_loops(struct mete__server *server, const struct mete__config *config,
                               const struct mete__listening *sockets, char *why, size_t why_size)
{
    for (unsigned loop = 0; loop < server->loop_count; loop++) {
        struct mete__listening own[METE__LISTENERS_MAX];
        for (size_t i = 0; i < config->listener_count; i++) {
            own[i] = sockets[i * server->loop_count + loop];
        }
        mete_status status =
            mete__loop_init(&server->loops[loop], server, loop, own, config->listener_count, why, why_size);
        if (status != METE_OK) {
            return status;
        }
    }
    return METE_OK;
}

static mete_status open_server(struct mete__server *server, const struct mete__config *config, char *why,
                               size_t why_size)
{
    server->loops = calloc(server->loop_count, sizeof *server->loops);
    struct mete__listening *sockets = calloc(server->loop_count * (config->listener_count + 1), sizeof *sockets);
    mete_status status = METE_ENOMEM;
    snprintf(why, why_size, "no memory");
    if (server->loops != NULL && sockets != NULL) {
        status = open_sockets(server, config, sockets, why, why_size);
    }
    if (status == METE_OK) {
        status = start_loops(server, config, sockets, why, why_size);
    }
    if (status == METE_OK) {
        mete__watch_start(server); /* who reads that we listen may send signals */
    }
    for (size_t i = 0; status == METE_OK && i < config->listener_count; i++) {
        log_listening(&sockets[i * server->loop_count]);
    }
    if (status == METE_OK) {
        tell_ready(server, config, sockets);
    }
    free(sockets);
    return status;
}

/* --- run -------------------------------------------------------------------------------- */

static void *run_loop(void *loop)
{
    mete__loop_run(loop);
    return NULL;
}

static mete_status run(struct mete__server *server, char *why, size_t why_size)
{
    pthread_t threads[METE__THREADS_MAX];
    unsigned started = 1;
    mete_status status = METE_OK;
    for (; status == METE_OK && started < server->loop_count; started++) {
        if (pthread_create(&threads[started], NULL, run_loop, &server->loops[started]) != 0) {
            status = METE_ENOMEM;
            break;
        }
    }
    if (status != METE_OK) {
        snprintf(why, why_size, "no memory for a thread");
        server->loop_count = started; /* those that run are told to end */
        mete__server_drain(server, "a thread could not be started");
    } else {
        mete__notify("READY=1");
    }
    mete__loop_run(&server->loops[0]);
    for (unsigned i = 1; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    return status;
}

static mete_status prepare(struct mete__server *server, struct mete__config **out, char *why, size_t why_size)
{
    struct mete__config *config;
    mete_status status = mete__load_config(server, &config, why, why_size);
    if (status != METE_OK) {
        return status;
    }
    mete__log_configure(config->log_format == METE__LOG_JSON, (enum mete__log_level)config->log_level);
    mete__override_listeners(server, config);
    mete__fit_descriptors(config);
    mete__log_warnings(config);
    server->loop_count = threads_of(server, config);
    status = mete__make_tls(server, config, &server->tls, why, why_size);
    if (status == METE_OK && config->listener_count == 0) {
        snprintf(why, why_size, "listen: there is no listener");
        status = METE_EINVAL;
    }
    if (status != METE_OK) {
        mete__config_destroy(config);
        return status;
    }
    *out = config;
    return mete__engine_create(config, &server->options.engine, &server->engine, why, why_size);
}

static void close_server(struct mete__server *server)
{
    for (unsigned i = 0; server->loops != NULL && i < server->loop_count; i++) {
        mete__loop_clear(&server->loops[i]);
    }
    free(server->loops);
    mete__watch_clear(&server->watch);
    mete__tls_context_release(server->tls);
    mete__live_stop(); /* it walks the stores */
    mete__engine_destroy(server->engine);
    pthread_mutex_destroy(&server->tls_mutex);
}

static uint64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* When one of the standard streams is closed, a client's connection could get its number, and the log with it. */
static void keep_standard_streams(void)
{
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

int mete__server_run(const struct mete__server_options *options, char *why, size_t why_size)
{
    struct mete__server server = {.options = *options, .started_ms = wall_ms()};
    struct mete__config *config;
    pthread_mutex_init(&server.tls_mutex, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, not the end */
    signal(SIGHUP, SIG_IGN);  /* until the watch handles it */
    keep_standard_streams();
    mete_status status = prepare(&server, &config, why, why_size);
    if (status == METE_OK) {
        const struct mete__snapshot *first = mete__engine_join(server.engine); /* keeps config while sockets need it */
        status = open_server(&server, config, why, why_size);
        if (status == METE_OK) {
            status = run(&server, why, why_size);
            METE__LOG(METE__LOG_INFO, "ended");
        }
        mete__unlisten();
        mete__engine_leave(server.engine, first);
    }
    close_server(&server);
    return status == METE_OK ? 0 : -1;
}

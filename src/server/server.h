/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon: loops with their listeners, signals, reloads, and the end.
 *
 * Threads: the caller's runs loop 0 and handles signals; the others run one loop
 * each.  SIGTERM, SIGINT: drain; SIGHUP: reload.
 */
#ifndef METE_SERVER_SERVER_H
#define METE_SERVER_SERVER_H

#include <pthread.h>

#include "server/engine.h"
#include "server/loop.h"
#include "server/tls.h"
#include "server/watch.h"

#define METE__THREADS_MAX 256u
#define METE__THREADS_CONFIGURED UINT64_MAX

struct mete__server_options {
    const char *config_path;  /* NULL: the built-in configuration */
    const char *resp_address; /* above the file's listeners of this protocol; NULL: as configured */
    const char *http_address;
    uint64_t threads; /* 0: one per processor; METE__THREADS_CONFIGURED: as configured */
    struct mete__engine_options engine;
    /* Called once, when all listeners listen, with the first address of each protocol, NULL
     * when there is none.  May be NULL. */
    void (*ready)(const struct mete__config *config, const char *resp, const char *http);
};

struct mete__server {
    struct mete__engine *engine;
    struct mete__server_options options;
    struct mete__loop *loops;
    unsigned loop_count;
    struct mete__tls_context *tls; /* guarded by tls_mutex while loops run */
    pthread_mutex_t tls_mutex;
    bool needs_tls;      /* a listener has it */
    uint64_t started_ms; /* wall clock */
    uint64_t conn_count; /* of all loops; atomic */
    uint64_t conn_ids;   /* atomic */
    bool is_draining;    /* atomic */
    uint64_t reloads;
    uint64_t reloads_failed;
    struct mete__watch watch;
};

/* Reads the configuration file again and puts it in force, or logs why not.  The thread of loop 0. */
void mete__server_reload(struct mete__server *server, const char *cause);

/* Tells all loops to drain and end. */
void mete__server_drain(struct mete__server *server, const char *cause);

/* The context for a new connection, held; NULL when there is none.  Any thread. */
struct mete__tls_context *mete__server_hold_tls(struct mete__server *server);
void mete__server_set_tls(struct mete__server *server, struct mete__tls_context *tls); /* takes it over */

/* Runs until it is told to stop.  Returns 0, or -1 after a sentence in why (nothing was served). */
int mete__server_run(const struct mete__server_options *options, char *why, size_t why_size);

#endif

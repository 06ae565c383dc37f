/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes the daemon read its configuration again, or end: signals, and a
 * change of the files.  Files are polled by name, so that one that is replaced by a
 * rename, or by switching a symbolic link, is noticed too.
 */
#include <signal.h>
#include <stdlib.h>

#include "server/log.h"
#include "server/server.h"

#define POLL_MS 1000u
#define FILES_MAX 4u /* configuration, certificate, key, client CA */

struct mete__watch {
    uv_signal_t term;
    uv_signal_t interrupt;
    uv_signal_t hangup;
    uv_fs_poll_t files[FILES_MAX];
    size_t file_count;
};

static void on_end(uv_signal_t *handle, int number)
{
    mete__server_drain(handle->data, number == SIGINT ? "SIGINT" : "SIGTERM");
}

static void on_hangup(uv_signal_t *handle, int number)
{
    (void)number;
    mete__server_reload(handle->data, "SIGHUP");
}

static void on_file(uv_fs_poll_t *handle, int status, const uv_stat_t *before, const uv_stat_t *after)
{
    (void)before;
    (void)after;
    if (status == 0) { /* a file that is gone for the moment changes nothing */
        mete__server_reload(handle->data, "the file changed");
    }
}

static void watch_signal(struct mete__server *server, uv_signal_t *handle, uv_signal_cb act, int number)
{
    uv_signal_init(&server->loops[0].uv, handle);
    handle->data = server;
    uv_signal_start(handle, act, number);
}

static void watch_file(struct mete__server *server, const char *path)
{
    struct mete__watch *watch = server->watch;
    if (path == NULL) {
        return;
    }
    uv_fs_poll_t *handle = &watch->files[watch->file_count++];
    uv_fs_poll_init(&server->loops[0].uv, handle);
    handle->data = server;
    uv_fs_poll_start(handle, on_file, path, POLL_MS);
}

mete_status mete__server_watch(struct mete__server *server)
{
    const struct mete__config *config = server->loops[0].snapshot->config;
    server->watch = calloc(1, sizeof *server->watch);
    if (server->watch == NULL) {
        return METE_ENOMEM;
    }
    watch_signal(server, &server->watch->term, on_end, SIGTERM);
    watch_signal(server, &server->watch->interrupt, on_end, SIGINT);
    watch_signal(server, &server->watch->hangup, on_hangup, SIGHUP);
    watch_file(server, server->options.config_path);
    watch_file(server, config->tls.certificate);
    watch_file(server, config->tls.key);
    watch_file(server, config->tls.client_ca);
    return METE_OK;
}

void mete__server_unwatch(struct mete__server *server)
{
    struct mete__watch *watch = server->watch;
    if (watch == NULL) {
        return;
    }
    uv_close((uv_handle_t *)&watch->term, NULL);
    uv_close((uv_handle_t *)&watch->interrupt, NULL);
    uv_close((uv_handle_t *)&watch->hangup, NULL);
    for (size_t i = 0; i < watch->file_count; i++) {
        uv_close((uv_handle_t *)&watch->files[i], NULL);
    }
}

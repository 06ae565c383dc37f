/* SPDX-License-Identifier: Apache-2.0 */
#include "server/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "server/log.h"
#include "server/server.h"

#define LOOK_MS 1000u
#define MISSES_TOLD 2u /* a file that is replaced may be away at one look */

/* --- files ------------------------------------------------------------------------------ */

void mete__watch_begin(struct mete__watch *watch)
{
    for (size_t i = 0; i < watch->file_count; i++) {
        free(watch->files[i].path);
    }
    watch->file_count = 0;
}

static struct stat look(const char *path)
{
    struct stat seen;
    if (stat(path, &seen) != 0) {
        memset(&seen, 0, sizeof seen);
    }
    return seen;
}

static bool is_there(const struct stat *seen)
{
    return seen->st_ino != 0;
}

void mete__watch_add(struct mete__watch *watch, const char *path)
{
    char *copy = path != NULL && watch->file_count < METE__WATCH_FILES_MAX ? strdup(path) : NULL;
    if (copy != NULL) {
        struct stat seen = look(path);
        /* Without it the reading that follows fails, and says so. */
        watch->files[watch->file_count++] = (struct mete__watched){copy, seen, is_there(&seen) ? 0 : MISSES_TOLD};
    }
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void note_miss(struct mete__watched *file)
{
    if (file->misses < MISSES_TOLD && ++file->misses == MISSES_TOLD) {
        METE__LOG(METE__LOG_WARN, "a file is gone: what was read from it stays", METE__LOG_TEXT("file", file->path));
    }
}

static bool has_changed(struct mete__watch *watch)
{
    bool has_any = false;
    for (size_t i = 0; i < watch->file_count; i++) {
        struct mete__watched *file = &watch->files[i];
        struct stat now = look(file->path);
        if (!is_there(&now)) {
            note_miss(file);
            continue;
        }
        file->misses = 0;
        has_any = has_any || !is_same(&now, &file->seen);
    }
    return has_any;
}

/* --- handles ---------------------------------------------------------------------------- */

static void on_end(uv_signal_t *handle, int number)
{
    mete__server_drain(handle->data, number == SIGINT ? "SIGINT" : "SIGTERM");
}

static void on_hangup(uv_signal_t *handle, int number)
{
    (void)number;
    mete__server_reload(handle->data, "SIGHUP");
}

static void on_look(uv_timer_t *timer)
{
    struct mete__server *server = timer->data;
    if (has_changed(&server->watch)) {
        mete__server_reload(server, "a file changed");
    }
}

static void start_signal(struct mete__server *server, uv_signal_t *handle, uv_signal_cb act, int number)
{
    uv_signal_init(&server->loops[0].uv, handle);
    handle->data = server;
    uv_signal_start(handle, act, number);
}

void mete__watch_start(struct mete__server *server)
{
    struct mete__watch *watch = &server->watch;
    start_signal(server, &watch->term, on_end, SIGTERM);
    start_signal(server, &watch->interrupt, on_end, SIGINT);
    start_signal(server, &watch->hangup, on_hangup, SIGHUP);
    uv_timer_init(&server->loops[0].uv, &watch->timer);
    watch->timer.data = server;
    uv_timer_start(&watch->timer, on_look, LOOK_MS, LOOK_MS);
    watch->is_started = true;
}

void mete__watch_stop(struct mete__server *server)
{
    struct mete__watch *watch = &server->watch;
    if (!watch->is_started) {
        return;
    }
    uv_close((uv_handle_t *)&watch->term, NULL);
    uv_close((uv_handle_t *)&watch->interrupt, NULL);
    uv_close((uv_handle_t *)&watch->hangup, NULL);
    uv_close((uv_handle_t *)&watch->timer, NULL);
    /* libuv has put back what ends the process; other loops may still have replies to send. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    watch->is_started = false;
}

void mete__watch_clear(struct mete__watch *watch)
{
    mete__watch_begin(watch);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes the daemon read its configuration again, or end: signals, and a
 * change of the files it was read from.
 *
 * Files are looked at by name once a second, so that one that is replaced by a
 * rename, or by switching a symbolic link, is noticed too.  How a file looks is
 * noted before it is read: a change in between is seen at the next look.  One that
 * is gone changes nothing, and is told once until it is back.
 */
#ifndef METE_SERVER_WATCH_H
#define METE_SERVER_WATCH_H

#include <uv.h>

#include <stdbool.h>
#include <sys/stat.h>

#define METE__WATCH_FILES_MAX 4u /* configuration, certificate, key, client CA */

struct mete__server;

struct mete__watched {
    char *path;
    struct stat seen; /* zero: not there */
    unsigned misses;  /* looks in a row that did not find it, up to the one that told so */
};

struct mete__watch {
    struct mete__watched files[METE__WATCH_FILES_MAX];
    size_t file_count;
    uv_signal_t term;
    uv_signal_t interrupt;
    uv_signal_t hangup;
    uv_timer_t timer;
    bool is_started;
};

/* Before a configuration is read: forgets the files of the one before. */
void mete__watch_begin(struct mete__watch *watch);

/* Notes how a file looks; call it before the file is read.  NULL is fine. */
void mete__watch_add(struct mete__watch *watch, const char *path);

/* Signals and looks, on the server's loop 0. */
void mete__watch_start(struct mete__server *server);
void mete__watch_stop(struct mete__server *server); /* closes the handles; the loop must run once more */
void mete__watch_clear(struct mete__watch *watch);

#endif

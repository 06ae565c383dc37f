/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking connections from a listening socket.  Done by our own calls of accept4(2)
 * rather than through libuv, which turns connections away in silence when there are no
 * file descriptors left.
 */
#ifndef METE_SERVER_ACCEPT_H
#define METE_SERVER_ACCEPT_H

#include <sys/socket.h>
#include <uv.h>

#include <stdbool.h>

struct mete__loop;
struct mete__listening;
struct mete__protocol;

struct mete__acceptor {
    uv_poll_t poll;
    struct mete__loop *loop;
    const struct mete__protocol *protocol;
    int fd;
    int spare_fd; /* given up for a moment to take a connection that is then closed */
    char address[128];
    bool is_unix;
    bool is_tls;
    bool is_open;
    bool is_paused; /* nothing can be taken now; tried again by mete__accept_again */
};

/* A connection that was taken. */
struct mete__accepted {
    int fd; /* taken over */
    struct sockaddr_storage peer;
    const struct mete__acceptor *by;
};

/* Takes connections from now on; takes listening's socket over.  0 or a libuv error. */
int mete__accept_start(struct mete__acceptor *acceptor, struct mete__loop *loop,
                       const struct mete__listening *listening);

/* Once a second. */
void mete__accept_again(struct mete__acceptor *acceptor);
void mete__accept_stop(struct mete__acceptor *acceptor);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* accept4 */
#include "server/accept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/conn.h"
#include "server/log.h"

#define TURN_MAX 64u /* connections taken in one turn: others want to be served too */

static void on_readable(uv_poll_t *poll, int status, int events);

int mete__accept_start(struct mete__acceptor *acceptor, struct mete__loop *loop,
                       const struct mete__listening *listening)
{
    const struct mete__listener *listener = listening->listener;
    *acceptor = (struct mete__acceptor){.loop = loop,
                                        .fd = listening->fd,
                                        .spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                                        .is_unix = listening->is_unix,
                                        .is_tls = listener->is_tls};
    acceptor->protocol = listener->protocol == METE__PROTOCOL_RESP ? &mete__protocol_resp : &mete__protocol_http;
    snprintf(acceptor->address, sizeof acceptor->address, "%s", listening->address);
    int failure = uv_poll_init(&loop->uv, &acceptor->poll, acceptor->fd);
    if (failure == 0) {
        acceptor->poll.data = acceptor;
        acceptor->is_open = true;
        failure = uv_poll_start(&acceptor->poll, UV_READABLE, on_readable);
    }
    return failure;
}

void mete__accept_again(struct mete__acceptor *acceptor)
{
    if (acceptor->is_open && acceptor->spare_fd < 0) { /* another thread was faster to take its number */
        acceptor->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    if (acceptor->is_open && acceptor->is_paused) {
        acceptor->is_paused = uv_poll_start(&acceptor->poll, UV_READABLE, on_readable) != 0;
    }
}

void mete__accept_stop(struct mete__acceptor *acceptor)
{
    if (!acceptor->is_open) {
        return;
    }
    acceptor->is_open = false;
    uv_close((uv_handle_t *)&acceptor->poll, NULL);
    close(acceptor->fd); /* uv_poll_t lets go of it in uv_close */
    if (acceptor->spare_fd >= 0) {
        close(acceptor->spare_fd);
    }
}

/* --- when nothing can be taken ------------------------------------------------------------ */

static void tell(struct mete__acceptor *acceptor, int number)
{
    static struct mete__log_quiet quiet; /* shared by the loops: only the number of lines depends on it */
    uint64_t suppressed;
    mete__counts_add(&acceptor->loop->counts.of[METE__COUNT_CONNECTIONS_REFUSED], 1);
    if (mete__log_may(&quiet, uv_now(&acceptor->loop->uv), &suppressed)) {
        METE__LOG(METE__LOG_ERROR, "connection refused", METE__LOG_TEXT("reason", strerror(number)),
                  METE__LOG_TEXT("address", acceptor->address), METE__LOG_U64("suppressed", suppressed));
    }
}

/* Takes the first in the queue and closes it: its client is told, and does not wait in vain. */
static bool turn_away(struct mete__acceptor *acceptor)
{
    if (acceptor->spare_fd < 0) {
        return false;
    }
    close(acceptor->spare_fd);
    int fd = accept4(acceptor->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
    acceptor->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

/* False: no more in this turn. */
static bool fail(struct mete__acceptor *acceptor, int number)
{
    if (number == EAGAIN || number == EWOULDBLOCK) {
        return false;
    }
    if (number == EINTR || number == ECONNABORTED) {
        return true;
    }
    tell(acceptor, number);
    if ((number == EMFILE || number == ENFILE) && turn_away(acceptor)) {
        return true;
    }
    uv_poll_stop(&acceptor->poll); /* it would be called again at once */
    acceptor->is_paused = true;
    return false;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct mete__acceptor *acceptor = poll->data;
    (void)status; /* an error of the socket is told by accept4 */
    (void)events;
    for (unsigned i = 0; i < TURN_MAX; i++) {
        struct mete__accepted accepted = {.by = acceptor};
        socklen_t len = sizeof accepted.peer;
        accepted.fd = accept4(acceptor->fd, (struct sockaddr *)&accepted.peer, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (accepted.fd >= 0) {
            mete__conn_open(acceptor->loop, &accepted);
        } else if (!fail(acceptor, errno)) {
            return;
        }
    }
}

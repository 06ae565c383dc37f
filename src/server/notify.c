/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sd_notify(3) and sd_listen_fds(3) say a daemon and its manager exchange:
 *
 * NOTIFY_SOCKET: a datagram socket of AF_UNIX, by path, or in the abstract
 * namespace when it begins with '@', which stands for the leading NUL byte (unix(7)).
 * One datagram is one message: lines VARIABLE=VALUE.
 *
 * LISTEN_FDS=n, LISTEN_PID: file descriptors 3 .. 3+n-1 are for the process with that
 * id, and for no child that happens to inherit the variables.  LISTEN_FDNAMES:
 * their names in order, between colons.
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "server/notify.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

#define METE__LISTEN_FDS_START 3
#define METE__LISTEN_FDS_MAX 64u

/* How long a manager that does not read its messages may hold up the daemon. */
#define METE__NOTIFY_WAIT_S 2

static bool address_of(const char *path, struct sockaddr_un *address, socklen_t *address_len)
{
    size_t len = strlen(path);
    /* '@' alone would be no name; a path needs its NUL. */
    if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof(address->sun_path)) {
        return false;
    }
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, path, len);
    if (path[0] == '@') {
        address->sun_path[0] = '\0';
        *address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    } else {
        *address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
    }
    return true;
}

void mete__notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t address_len;
    if (path == NULL || !address_of(path, &address, &address_len)) {
        return;
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    const struct timeval wait = {.tv_sec = METE__NOTIFY_WAIT_S};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    /* Nothing can be done about a manager that has gone away. */
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, address_len);
    close(fd);
}

/* A variable that is a plain decimal number; false when it is not there or is anything else. */
static bool number_of(const char *variable, uint64_t *out)
{
    const char *value = getenv(variable);
    if (value == NULL) {
        return false;
    }
    struct mete__text text = mete__text_of(value, strlen(value));
    return mete__text_u64(&text, out) == METE__NUMBER_OK && mete__text_is_empty(&text);
}

static unsigned inherited_count(void)
{
    uint64_t pid;
    uint64_t count;
    if (!number_of("LISTEN_PID", &pid) || pid != (uint64_t)getpid() || !number_of("LISTEN_FDS", &count)) {
        return 0;
    }
    return count < METE__LISTEN_FDS_MAX ? (unsigned)count : METE__LISTEN_FDS_MAX;
}

/* The place of a name in LISTEN_FDNAMES, else of the name as a number; count when there is none. */
static unsigned place_of(const char *name, unsigned count)
{
    const char *names = getenv("LISTEN_FDNAMES");
    struct mete__text rest = mete__text_of(names != NULL ? names : "", names != NULL ? strlen(names) : 0);
    for (unsigned i = 0; i < count && !mete__text_is_empty(&rest); i++) {
        struct mete__text one = mete__text_until(&rest, ':');
        if (mete__text_is(&one, name)) {
            return i;
        }
        mete__text_eat(&rest, ':');
    }
    uint64_t place;
    struct mete__text digits = mete__text_of(name, strlen(name));
    bool is_number = mete__text_u64(&digits, &place) == METE__NUMBER_OK && mete__text_is_empty(&digits);
    return is_number && place < count ? (unsigned)place : count;
}

static bool is_listening(int fd)
{
    int type = 0;
    int listens = 0;
    socklen_t len = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0) {
        return false;
    }
    len = sizeof(listens);
    return type == SOCK_STREAM && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens != 0;
}

int mete__notify_socket(const char *name)
{
    unsigned count = inherited_count();
    /* None of them is for our children, asked for or not. */
    for (unsigned i = 0; i < count; i++) {
        int flags = fcntl(METE__LISTEN_FDS_START + (int)i, F_GETFD);
        if (flags >= 0) {
            fcntl(METE__LISTEN_FDS_START + (int)i, F_SETFD, flags | FD_CLOEXEC);
        }
    }
    unsigned place = name[0] != '\0' ? place_of(name, count) : count;
    int fd = METE__LISTEN_FDS_START + (int)place;
    return place < count && is_listening(fd) ? fd : -1;
}

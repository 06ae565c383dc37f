/* SPDX-License-Identifier: Apache-2.0 */
#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/notify.h"

#define UNIX_PREFIX "unix:"
#define FD_PREFIX "fd:"
#define BACKLOG 1024

static mete_status refuse(const char *address, const char *reason, char *why, size_t why_size)
{
    snprintf(why, why_size, "listen: %s: %s", address, reason);
    return METE_EIO;
}

/* What the system says; of an address that is in use also what to do. */
static mete_status refuse_by_system(const struct mete__listener *listener, int failure, char *why, size_t why_size)
{
    if (failure != EADDRINUSE) {
        return refuse(listener->address, strerror(failure), why, why_size);
    }
    snprintf(why, why_size, "listen: %s: %s; choose another with %s", listener->address, strerror(failure),
             listener->protocol == METE__PROTOCOL_RESP ? "--resp" : "--http");
    return METE_EIO;
}

static bool set_flag(int fd, int level, int option)
{
    int on = 1;
    return setsockopt(fd, level, option, &on, sizeof on) == 0;
}

static void name_of(int fd, char *text, size_t size)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    char host[INET6_ADDRSTRLEN] = "";
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        return;
    }
    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(text, size, "[%s]:%u", host, ntohs(in6->sin6_port));
    } else if (address.ss_family == AF_INET) {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)&address;
        inet_ntop(AF_INET, &in4->sin_addr, host, sizeof host);
        snprintf(text, size, "%s:%u", host, ntohs(in4->sin_port));
    } else if (address.ss_family == AF_UNIX) {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&address;
        snprintf(text, size, UNIX_PREFIX "%.100s", un->sun_path);
    }
}

/* --- TCP -------------------------------------------------------------------------- */

static int open_tcp(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    /* Accepted sockets inherit TCP_NODELAY: replies are written whole, so nothing is gained by waiting for more. */
    bool is_set = set_flag(fd, SOL_SOCKET, SO_REUSEADDR) && set_flag(fd, SOL_SOCKET, SO_REUSEPORT) &&
                  set_flag(fd, IPPROTO_TCP, TCP_NODELAY) &&
                  (at->ai_family != AF_INET6 || set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY));
    /* From now on: until it listens, another one could be bound to the same port. */
    if (!is_set || bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        int failure = errno;
        close(fd);
        errno = failure;
        return -1;
    }
    return fd;
}

/* SO_REUSEPORT would let a second daemon share a port that is in use by a first:
 * asked without it, the kernel refuses. */
static bool is_taken(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    bool is_set = set_flag(fd, SOL_SOCKET, SO_REUSEADDR) &&
                  (at->ai_family != AF_INET6 || set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY));
    bool is_refused = is_set && bind(fd, at->ai_addr, at->ai_addrlen) != 0 && errno == EADDRINUSE;
    close(fd);
    return is_refused;
}

static mete_status open_all(const struct mete__listener *listener, struct addrinfo *at, unsigned loops,
                            struct mete__listening *out, char *why, size_t why_size)
{
    if (is_taken(at)) {
        return refuse_by_system(listener, EADDRINUSE, why, why_size);
    }
    struct sockaddr_storage chosen;
    socklen_t len = sizeof chosen;
    for (unsigned i = 0; i < loops; i++) {
        out[i] = (struct mete__listening){.fd = open_tcp(at), .listener = listener};
        if (out[i].fd < 0) {
            int failure = errno;
            while (i-- > 0) {
                close(out[i].fd);
            }
            return refuse_by_system(listener, failure, why, why_size);
        }
        if (i == 0 && getsockname(out[0].fd, (struct sockaddr *)&chosen, &len) == 0) {
            memcpy(at->ai_addr, &chosen, len); /* the port that was chosen, for the others */
        }
        name_of(out[i].fd, out[i].address, sizeof out[i].address);
    }
    return METE_OK;
}

static bool is_port(const char *text)
{
    unsigned long port = 0;
    size_t len = strlen(text);
    for (size_t i = 0; i < len && len <= 5; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    return len >= 1 && len <= 5 && port <= 65535;
}

/* "HOST:PORT" and "[V6]:PORT" to a host without brackets and a port. */
static bool split(const char *address, char *host, size_t host_size, const char **port)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || (size_t)(colon - address) >= host_size) {
        return false;
    }
    size_t len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    } else if (memchr(address, ':', len) != NULL) {
        return false;
    }
    memcpy(host, address, len);
    host[len] = '\0';
    *port = colon + 1;
    return is_port(*port);
}

static mete_status listen_tcp(const struct mete__listener *listener, unsigned loops, struct mete__listening *out,
                              char *why, size_t why_size)
{
    char host[256];
    const char *port;
    struct addrinfo *at = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    if (!split(listener->address, host, sizeof host, &port)) {
        return refuse(listener->address, "not HOST:PORT, [IPv6]:PORT, unix:PATH or fd:NAME", why, why_size);
    }
    int failure = getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &at);
    if (failure != 0) {
        return refuse(listener->address, gai_strerror(failure), why, why_size);
    }
    mete_status status = open_all(listener, at, loops, out, why, why_size);
    freeaddrinfo(at);
    return status;
}

/* --- Unix and inherited sockets ----------------------------------------------------- */

static mete_status share(int fd, const struct mete__listener *listener, bool is_unix, unsigned loops,
                         struct mete__listening *out, char *why, size_t why_size)
{
    for (unsigned i = 0; i < loops; i++) {
        out[i] = (struct mete__listening){.listener = listener, .is_unix = is_unix};
        out[i].fd = i == 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (out[i].fd < 0) {
            int failure = errno;
            while (i-- > 0) {
                close(out[i].fd);
            }
            return refuse_by_system(listener, failure, why, why_size);
        }
        name_of(fd, out[i].address, sizeof out[i].address);
    }
    return METE_OK;
}

/* The files of this daemon's sockets.  A path alone does not say whose file is there at the end: a daemon that was
 * started meanwhile replaces it. */
static struct {
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    struct stat made;
} files[METE__LISTENERS_MAX];
static size_t file_count;

static void remember(const struct sockaddr_un *address)
{
    if (file_count < METE__LISTENERS_MAX && lstat(address->sun_path, &files[file_count].made) == 0) {
        memcpy(files[file_count++].path, address->sun_path, sizeof files[0].path);
    }
}

void mete__unlisten(void)
{
    while (file_count > 0) {
        const struct stat *made = &files[--file_count].made;
        struct stat now;
        /* A number of a file is soon used again: its time tells. */
        if (lstat(files[file_count].path, &now) == 0 && now.st_dev == made->st_dev && now.st_ino == made->st_ino &&
            now.st_mtim.tv_sec == made->st_mtim.tv_sec && now.st_mtim.tv_nsec == made->st_mtim.tv_nsec) {
            unlink(files[file_count].path);
        }
    }
}

/* A socket file that is left of a daemon that was killed; not one that somebody listens on. */
static bool is_stale(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_refused =
        fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
    if (fd >= 0) {
        close(fd);
    }
    return is_refused;
}

static mete_status listen_unix(const struct mete__listener *listener, unsigned loops, struct mete__listening *out,
                               char *why, size_t why_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = listener->address + strlen(UNIX_PREFIX);
    if (strlen(path) >= sizeof address.sun_path || *path == '\0') {
        return refuse(listener->address, "a socket's path has 1 to 107 bytes", why, why_size);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_stale(&address)) {
        unlink(path);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode is set before anybody can connect: nobody can before listen. */
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        chmod(path, listener->unix_mode != 0 ? listener->unix_mode : 0600) != 0 || listen(fd, BACKLOG) != 0) {
        int failure = errno;
        if (fd >= 0) {
            close(fd);
        }
        return refuse_by_system(listener, failure, why, why_size);
    }
    remember(&address);
    return share(fd, listener, true, loops, out, why, why_size);
}

static mete_status listen_inherited(const struct mete__listener *listener, unsigned loops, struct mete__listening *out,
                                    char *why, size_t why_size)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    int fd = mete__notify_socket(listener->address + strlen(FD_PREFIX));
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        return refuse(listener->address, "the service manager gave no socket of this name", why, why_size);
    }
    if (address.ss_family != AF_UNIX) {
        (void)set_flag(fd, IPPROTO_TCP, TCP_NODELAY);
    }
    if (listen(fd, BACKLOG) != 0) {
        return refuse(listener->address, strerror(errno), why, why_size);
    }
    return share(fd, listener, address.ss_family == AF_UNIX, loops, out, why, why_size);
}

mete_status mete__listen(const struct mete__listener *listener, unsigned loops, struct mete__listening *out, char *why,
                         size_t why_size)
{
    if (strncmp(listener->address, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0) {
        return listen_unix(listener, loops, out, why, why_size);
    }
    if (strncmp(listener->address, FD_PREFIX, strlen(FD_PREFIX)) == 0) {
        return listen_inherited(listener, loops, out, why, why_size);
    }
    return listen_tcp(listener, loops, out, why, why_size);
}

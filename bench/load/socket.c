/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* SOCK_NONBLOCK */
#include "bench/load/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HOST_MAX 256u
#define BACKLOG 1024

/* An address as bind and connect take it. */
struct place {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in6 in6;
        struct sockaddr_storage storage;
    } address;
    socklen_t len;
};

static bool place_unix(struct place *place, const char *path, char *why, size_t why_size)
{
    size_t len = strlen(path);
    if (len >= sizeof(place->address.local.sun_path)) {
        snprintf(why, why_size, "%s: the path is longer than a Unix socket's may be", path);
        return false;
    }
    place->address.local.sun_family = AF_UNIX;
    memcpy(place->address.local.sun_path, path, len + 1);
    place->len = sizeof(place->address.local);
    return true;
}

static bool place_tcp(struct place *place, const char *text, char *why, size_t why_size)
{
    char host[HOST_MAX];
    const char *colon = strrchr(text, ':');
    size_t len = colon != NULL ? (size_t)(colon - text) : 0;
    if (colon == NULL || len >= sizeof(host)) {
        snprintf(why, why_size, "%s: neither HOST:PORT nor a path", text);
        return false;
    }
    bool has_brackets = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    snprintf(host, sizeof(host), "%.*s", (int)(has_brackets ? len - 2 : len), text + (has_brackets ? 1 : 0));

    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int failure = getaddrinfo(len > 0 ? host : "127.0.0.1", colon + 1, &hints, &found);
    if (failure != 0) {
        snprintf(why, why_size, "%s: %s", text, gai_strerror(failure));
        return false;
    }
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* A socket of the right family for the address. */
static int open_place(const char *text, struct place *place, char *why, size_t why_size)
{
    memset(place, 0, sizeof(*place));
    if (!(strchr(text, '/') != NULL ? place_unix : place_tcp)(place, text, why, why_size)) {
        return -1;
    }
    int fd = socket(place->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        snprintf(why, why_size, "%s: %s", text, strerror(errno));
    }
    return fd;
}

static int close_with(int fd, const char *text, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s: %s", text, strerror(errno));
    close(fd);
    return -1;
}

void load_no_delay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* fails on a Unix socket, which has no delay */
}

int load_connect(const char *address, char *why, size_t why_size)
{
    struct place place;
    int fd = open_place(address, &place, why, why_size);
    if (fd < 0) {
        return -1;
    }
    if (connect(fd, &place.address.any, place.len) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        return close_with(fd, address, why, why_size);
    }
    load_no_delay(fd);
    return fd;
}

int load_listen(const char *address, char *why, size_t why_size)
{
    struct place place;
    int on = 1;
    int fd = open_place(address, &place, why, why_size);
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, &place.address.any, place.len) != 0 || listen(fd, BACKLOG) != 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        return close_with(fd, address, why, why_size);
    }
    return fd;
}

unsigned load_port(int fd)
{
    struct place place = {.len = sizeof(place.address)};
    if (getsockname(fd, &place.address.any, &place.len) != 0 || place.address.any.sa_family == AF_UNIX) {
        return 0;
    }
    return ntohs(place.address.in6.sin6_port); /* where IPv4 has its port, too */
}

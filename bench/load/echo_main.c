/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mete_echo: the floor that a server is measured against.  It reads what there
 * is, counts requests by their known length, and sends a constant reply for each:
 * the system calls of a server, and nothing else.
 */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/load/socket.h"

#define EVENTS_MAX 256
#define INPUT_SIZE ((size_t)64 * 1024)
#define REPLY_MAX 4096u
#define REQUEST_MAX 65536ul
#define WHY_SIZE 256u
#define CONNECTIONS_MAX 20000 /* as many as the client opens at most; descriptors are small numbers */
#define FDS_MAX (CONNECTIONS_MAX + 64)

struct echo {
    size_t request_len;
    char *replies; /* as many as fit the requests of a full input */
    size_t reply_len;
    int epoll;
    int listener;
};

struct conn {
    size_t input_len;  /* of a request that has not come whole */
    size_t output_len; /* of replies not yet sent; the next to send begins within a reply when this is no multiple */
};

static struct conn conns[FDS_MAX]; /* by descriptor */

/* False when the connection is broken. */
static bool conn_send(const struct echo *echo, int fd, size_t size)
{
    struct conn *conn = &conns[fd];
    while (conn->output_len > 0) {
        size_t within = (echo->reply_len - conn->output_len % echo->reply_len) % echo->reply_len;
        size_t len = conn->output_len < size - within ? conn->output_len : size - within;
        ssize_t n = send(fd, echo->replies + within, len, MSG_NOSIGNAL);
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        conn->output_len -= (size_t)n;
    }
    return true;
}

static bool conn_serve(const struct echo *echo, int fd)
{
    struct conn *conn = &conns[fd];
    static char input[INPUT_SIZE];
    const size_t size = (INPUT_SIZE / echo->request_len + 1) * echo->reply_len;
    for (;;) {
        if (!conn_send(echo, fd, size)) {
            return false;
        }
        if (conn->output_len > 0) {
            return true; /* the client must read first */
        }
        ssize_t n = recv(fd, input, sizeof(input), 0);
        if (n <= 0) {
            return n < 0 && (errno == EAGAIN || errno == EINTR);
        }
        conn->input_len += (size_t)n;
        conn->output_len = conn->input_len / echo->request_len * echo->reply_len;
        conn->input_len %= echo->request_len;
        if ((size_t)n < sizeof(input)) {
            return conn_send(echo, fd, size);
        }
    }
}

static void accept_all(const struct echo *echo)
{
    int fd;
    while ((fd = accept4(echo->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd};
        if (fd >= FDS_MAX || epoll_ctl(echo->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
            close(fd);
            continue;
        }
        conns[fd] = (struct conn){0};
        load_no_delay(fd);
    }
}

static void serve(const struct echo *echo)
{
    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        int n = epoll_wait(echo->epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == echo->listener) {
                accept_all(echo);
            } else if (!conn_serve(echo, fd)) {
                close(fd);
            }
        }
    }
}

/* \r and \n as in C; returns the length. */
static size_t unescape(char *text)
{
    size_t len = 0;
    for (const char *at = text; *at != '\0'; at++) {
        bool is_escape = at[0] == '\\' && (at[1] == 'r' || at[1] == 'n');
        text[len++] = !is_escape ? *at : at[1] == 'r' ? '\r' : '\n';
        at += is_escape;
    }
    return len;
}

static bool prepare(struct echo *echo, const char *reply)
{
    size_t count = INPUT_SIZE / echo->request_len + 1;
    echo->replies = malloc(count * echo->reply_len);
    for (size_t i = 0; echo->replies != NULL && i < count; i++) {
        memcpy(echo->replies + i * echo->reply_len, reply, echo->reply_len);
    }
    echo->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = echo->listener};
    return echo->replies != NULL && echo->epoll >= 0 &&
           epoll_ctl(echo->epoll, EPOLL_CTL_ADD, echo->listener, &event) == 0;
}

static int usage(FILE *out, int status)
{
    fprintf(out, "Usage: mete_echo --listen ADDRESS --request-bytes N --reply TEXT\n\n"
                 "Answers each N bytes with TEXT, in which \\r and \\n are written so.  Port 0 picks one.\n");
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"listen", required_argument, NULL, 'l'},
        {"request-bytes", required_argument, NULL, 'n'},
        {"reply", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *address = NULL;
    char *reply = NULL;
    char why[WHY_SIZE];
    static struct echo echo; /* lives as long as the process */
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'l') {
            address = optarg;
        } else if (option == 'n') {
            echo.request_len = strtoul(optarg, NULL, 10);
        } else if (option == 'r') {
            reply = optarg;
        } else {
            return usage(option == 'h' ? stdout : stderr, option == 'h' ? EXIT_SUCCESS : 2);
        }
    }
    if (address == NULL || reply == NULL || *reply == '\0' || strlen(reply) > REPLY_MAX || echo.request_len == 0 ||
        echo.request_len > REQUEST_MAX) {
        return usage(stderr, 2);
    }
    echo.reply_len = unescape(reply);
    echo.listener = load_listen(address, why, sizeof(why));
    if (echo.listener < 0) {
        fprintf(stderr, "mete_echo: %s\n", why);
        return EXIT_FAILURE;
    }
    if (!prepare(&echo, reply)) {
        fprintf(stderr, "mete_echo: no memory, or no epoll\n");
        return EXIT_FAILURE;
    }
    printf("listening on port %u\n", load_port(echo.listener));
    fflush(stdout);
    serve(&echo);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets by address: "127.0.0.1:6379", "[::1]:6379", ":6379" (loopback), or the
 * path of a Unix socket, which has a slash in it.
 */
#ifndef METE_BENCH_LOAD_SOCKET_H
#define METE_BENCH_LOAD_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

/* Connected, non-blocking, without Nagle's delay; -1 with a sentence. */
int load_connect(const char *address, char *why, size_t why_size);

/* Listening and non-blocking; -1 with a sentence. */
int load_listen(const char *address, char *why, size_t why_size);

/* For a TCP connection: what is written leaves at once. */
void load_no_delay(int fd);

/* The port that a TCP socket was given; 0 for a Unix socket. */
unsigned load_port(int fd);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service manager: sd_notify(3) messages and socket activation
 * (sd_listen_fds(3)), by their documented protocols, without a library.
 */
#ifndef METE_SERVER_NOTIFY_H
#define METE_SERVER_NOTIFY_H

#include <stdbool.h>

/* "READY=1", "RELOADING=1\nMONOTONIC_USEC=...", "STOPPING=1", "STATUS=..."; nothing happens without NOTIFY_SOCKET. */
void mete__notify(const char *state);

/* The inherited listening socket named in LISTEN_FDNAMES (or by its number, "0" the first); -1 when there is none.
 * LISTEN_PID must be this process.  Only stream sockets that listen count; all inherited ones are closed on exec. */
int mete__notify_socket(const char *name);

#endif

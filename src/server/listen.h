/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening sockets, made before the loops start.  TCP: one per loop with
 * SO_REUSEPORT, so that the kernel spreads connections.  Unix and inherited
 * sockets: one, shared by the loops.
 */
#ifndef METE_SERVER_LISTEN_H
#define METE_SERVER_LISTEN_H

#include "server/loop.h"

/*
 * Opens `loops` sockets for one listener into out[0..loops): they listen.  Port 0 takes a free
 * port, the same for all.  A Unix socket's path that nobody listens on is
 * replaced.  METE_EIO or METE_EINVAL with a sentence that names the address.
 */
mete_status mete__listen(const struct mete__listener *listener, unsigned loops, struct mete__listening *out, char *why,
                         size_t why_size);

/* Removes the socket files of Unix listeners, as far as they are still this daemon's. */
void mete__unlisten(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With log.keys: each denial is a line with its policy and key, at most
 * METE__DENIALS_PER_S a second and loop; the next line after that says how many were
 * left out.  For tools that ban by log lines, and for finding out who it is.
 */
#ifndef METE_SERVER_DENIALS_H
#define METE_SERVER_DENIALS_H

#include <stddef.h>
#include <stdint.h>

#define METE__DENIALS_PER_S 100u

struct mete__denials {
    uint64_t second; /* of the monotonic clock */
    uint32_t lines;  /* in this second */
    uint64_t suppressed;
};

/* policy: a name, or NULL for a limit of the request's own.  now_ms: monotonic. */
void mete__denials_log(struct mete__denials *denials, uint64_t now_ms, const char *policy, const void *key,
                       size_t key_len, uint64_t retry_after_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the system says about this process, from /proc/self (proc(5)). */
#ifndef METE_SERVER_PROCESS_H
#define METE_SERVER_PROCESS_H

#include <stdint.h>

struct mete__process {
    uint64_t rss_bytes;
    uint64_t virtual_bytes;
    uint64_t cpu_us; /* user and system */
    uint64_t fds;
    uint64_t fds_max;
};

/* What cannot be read is 0. */
void mete__process_read(struct mete__process *out);

#endif

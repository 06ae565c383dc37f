/* SPDX-License-Identifier: Apache-2.0 */
/* A bar on standard error, drawn only when that is a terminal. */
#ifndef METE_CLI_REPLAY_PROGRESS_H
#define METE_CLI_REPLAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct mete__progress {
    bool shown;
    uint64_t total;   /* bytes of all files; 0 when one of them has no known size */
    uint64_t next_at; /* bytes at which it is drawn again */
};

void mete__progress_start(struct mete__progress *progress, bool wanted, uint64_t total);

/* Draws it when it is due; cheap when it is not. */
void mete__progress_draw(struct mete__progress *progress, uint64_t done);

/* Wipes it away. */
void mete__progress_end(struct mete__progress *progress);

#endif

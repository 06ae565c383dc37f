/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* About every 20 ms at the speed of a plain log. */
#define STEP_BYTES ((uint64_t)8 * 1024 * 1024)
#define BAR_WIDTH 40
#define MIB ((uint64_t)1024 * 1024)

void mete__progress_draw(struct mete__progress *progress, uint64_t done)
{
    if (!progress->shown || done < progress->next_at) {
        return;
    }
    progress->next_at = done + STEP_BYTES;
    if (progress->total == 0) {
        fprintf(stderr, "\r%" PRIu64 " MiB", done / MIB);
        return;
    }
    /* A file may grow while it is read. */
    uint64_t part = done < progress->total ? done : progress->total;
    int filled = (int)(part * BAR_WIDTH / progress->total);
    static const char bar[] = "########################################";
    fprintf(stderr, "\r[%.*s%*s] %3u %%  %" PRIu64 " of %" PRIu64 " MiB", filled, bar, BAR_WIDTH - filled, "",
            (unsigned)(part * 100 / progress->total), done / MIB, progress->total / MIB);
}

void mete__progress_start(struct mete__progress *progress, bool wanted, uint64_t total)
{
    *progress = (struct mete__progress){.shown = wanted && isatty(STDERR_FILENO) == 1, .total = total};
}

void mete__progress_end(struct mete__progress *progress)
{
    if (progress->shown) {
        fprintf(stderr, "\r\x1b[K");
        progress->shown = false;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The callers of `mete stress`: threads of this process, processes of their
 * own, or processes with several threads each. */
#ifndef METE_CLI_STRESS_CREW_H
#define METE_CLI_STRESS_CREW_H

#include <pthread.h>
#include <sys/types.h>

#include "cli/stress_gate.h"

enum mete__stress_mode { METE__STRESS_THREADS, METE__STRESS_PROCESSES, METE__STRESS_MIXED };

/* How a worker process opens the store and the limiter that all share. */
struct mete__stress_target {
    struct mete_store_options options;
    const char *limiter_name;
    struct mete_limit limit;
};

struct mete__stress_opened {
    mete_store *store;
    mete_limiter *limiter;
};

struct mete__stress_caller {
    struct mete__stress_gate *gate;
    mete_limiter *limiter;
    size_t number;
    pthread_t thread;
};

struct mete__stress_crew {
    struct mete__stress_gate *gate;
    size_t thread_count; /* callers that are threads of this process */
    size_t process_count;
    pid_t processes[METE__STRESS_CALLERS_MAX]; /* 0 once reaped */
    struct mete__stress_caller callers[METE__STRESS_CALLERS_MAX];
};

/* On failure false, and a sentence in why. */
bool mete__stress_open(const struct mete__stress_target *target, struct mete__stress_opened *opened, char *why,
                       size_t why_size);
void mete__stress_close(struct mete__stress_opened *opened);

/*
 * Starts callers 0..callers-1.  Threads use `limiter`; processes open the
 * target's file themselves.  False when the system refuses one; end the crew
 * then as well.
 */
bool mete__stress_crew_start(struct mete__stress_crew *crew, struct mete__stress_gate *gate,
                             enum mete__stress_mode mode, size_t callers, const struct mete__stress_target *target,
                             mete_limiter *limiter);

/* False once a caller said that it cannot work, or its process ended. */
bool mete__stress_crew_is_well(struct mete__stress_crew *crew);

/* Opens the gate for the last time and waits for everybody to go home. */
void mete__stress_crew_end(struct mete__stress_crew *crew);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the library's clock with CLOCK_MONOTONIC.  A reading is made between
 * two of the system's, so however long the thread was interrupted, a right
 * reading lies between them; what is outside of that is an error.
 */
#ifndef METE_TESTS_BASE_CLOCK_PROBE_H
#define METE_TESTS_BASE_CLOCK_PROBE_H

#include "base/clock.h"

#include <sched.h>
#include <time.h>

#define BOUND_NS 1000

struct probe {
    uint64_t readings;
    uint64_t last_ns;
    uint64_t backward; /* readings before the one before: must be none */
    uint64_t early_ns; /* worst distance below the system's time */
    uint64_t late_ns;  /* worst distance above it */
};

/* Its own call, so that a mistake in mete__monotonic_ns does not hide itself. */
static inline uint64_t system_ns(clockid_t id)
{
    struct timespec now = {0, 0};
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline void probe_add(struct probe *probe, uint64_t before_ns, uint64_t reading_ns, uint64_t after_ns)
{
    probe->readings++;
    probe->backward += reading_ns < probe->last_ns;
    probe->last_ns = reading_ns;
    if (reading_ns < before_ns && before_ns - reading_ns > probe->early_ns) {
        probe->early_ns = before_ns - reading_ns;
    }
    if (reading_ns > after_ns && reading_ns - after_ns > probe->late_ns) {
        probe->late_ns = reading_ns - after_ns;
    }
}

static inline uint64_t probe_once(struct probe *probe)
{
    uint64_t before_ns = system_ns(CLOCK_MONOTONIC);
    uint64_t reading_ns = mete__tsc_monotonic_ns();
    uint64_t after_ns = system_ns(CLOCK_MONOTONIC);
    probe_add(probe, before_ns, reading_ns, after_ns);
    return after_ns;
}

static inline void probe_for(struct probe *probe, uint64_t span_ns)
{
    uint64_t end_ns = system_ns(CLOCK_MONOTONIC) + span_ns;
    while (probe_once(probe) < end_ns) {
    }
}

static inline void sleep_ns(uint64_t ns)
{
    struct timespec span = {(time_t)(ns / UINT64_C(1000000000)), (long)(ns % UINT64_C(1000000000))};
    nanosleep(&span, NULL);
}

/* Moves this thread to another processor each time; returns how many there are. */
static inline unsigned hop(unsigned turn)
{
    static _Thread_local cpu_set_t allowed;
    static _Thread_local bool known;
    if (!known) {
        known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    }
    unsigned count = known ? (unsigned)CPU_COUNT(&allowed) : 0;
    unsigned left = count != 0 ? turn % count : 0;
    for (size_t cpu = 0; count != 0 && cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && left-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            break;
        }
    }
    return count;
}

/* Hops about twice in the life of an anchor, and now and then sleeps past it. */
static inline void probe_hopping(struct probe *probe, uint64_t span_ns)
{
    uint64_t end_ns = system_ns(CLOCK_MONOTONIC) + span_ns;
    for (unsigned turn = 0; system_ns(CLOCK_MONOTONIC) < end_ns; turn++) {
        hop(turn);
        probe_for(probe, UINT64_C(50000) + turn % 8 * UINT64_C(50000));
        if (turn % 16 == 0) {
            sleep_ns(turn % 7 * UINT64_C(400000));
        }
    }
}

#endif

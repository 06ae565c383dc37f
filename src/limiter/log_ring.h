/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One key's sliding log: a ring of times behind a 16-byte control.
 *
 *   control.lo  [gen 4 | first 20 | count 20 | pending 20]
 *   control.hi  [last 62 | booked 1 | 0]
 *   times[ring_units]
 *
 * The units that count lie in times[first ..], count of them, oldest first; the
 * newest `pending` of them may not be written yet: their time is `last`.
 *
 * A charge is one swap of the control: it drops what is over, adds its units as
 * pending and sets last.  Before that it helps the charge before it: it raises
 * that one's times to its last.  So a thread that is killed after its swap
 * leaves a log that says all.
 *
 * Why helping late is harmless: last never goes down, over all tenants of a
 * ring, and times are only ever raised, to a last.  A helper that slept raises
 * a time to an old last, which whatever stands there now has reached already.
 *
 * gen ties the ring to its identity cell: [tag | scale][gen].  Whoever takes a
 * ring from its key steps gen first; from then on no charge of the old key can
 * succeed, and its cell is dead: anyone may clear it.
 */
#ifndef METE_LIMITER_LOG_RING_H
#define METE_LIMITER_LOG_RING_H

#include "base/arith.h"
#include "base/atomic.h"

struct mete__ring {
    struct mete__pair *control;
    uint64_t *times;
    uint64_t units;
};

/* The control, taken apart. */
struct mete__ring_state {
    uint64_t gen;
    uint64_t first;
    uint64_t count;
    uint64_t pending;
    uint64_t last_ns;
    bool booked;
};

#define METE__GEN_MASK 15u

struct mete__ring_state mete__ring_unpack(struct mete__pair control);
struct mete__pair mete__ring_pack(const struct mete__ring_state *state);

/* The time of the i-th oldest unit, counted from `first`. */
uint64_t mete__ring_time(const struct mete__ring *ring, const struct mete__ring_state *state, uint64_t i);

/* How many of the oldest units lie before drop_before_ns. */
uint64_t mete__ring_over(const struct mete__ring *ring, const struct mete__ring_state *state, uint64_t drop_before_ns);

/* Writes what is pending. */
void mete__ring_help(const struct mete__ring *ring, const struct mete__ring_state *state);

/* Raises times[at] to now_ns if it is lower. */
void mete__ring_raise(const struct mete__ring *ring, uint64_t at, uint64_t now_ns);

bool mete__ring_state_is_valid(const struct mete__ring *ring, const struct mete__ring_state *state);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the items of a queue leave.  Pure: time is an argument.
 *
 * Slots are one interval, period / count, apart.  A slot is kept as a whole
 * number of nanoseconds and a rest in units of 1 / count ns, so the k-th slot
 * after a start is at start + k * period / count exactly, however large k is;
 * an item may leave from that moment rounded up to a nanosecond.
 *
 * Slots depend on time, not on who comes when to fetch: a consumer that is
 * late by less than an interval does not move the next slot.  One that is a
 * whole interval late or more has missed slots; they are not made up for, and
 * the next slot is one interval after it came.  So with departures at p_1, p_2, ...
 *
 *   p_j - p_i > (j - i - 1) * interval     and, for a consumer always on time,
 *   p_j - p_i >= (j - i) * interval - 1 ns
 *
 * Proof: slot j is at least j - i intervals after slot i, and no item leaves
 * before its slot.  Either p_i was less than an interval after its slot, which
 * gives the first line, or slot i + 1 was put one interval after p_i, which
 * gives more.  The nanosecond is p_i's rounding up.
 */
#ifndef METE_LIMITER_QUEUE_SCHEDULE_H
#define METE_LIMITER_QUEUE_SCHEDULE_H

#include "base/arith.h"
#include "base/assert.h"

#include <mete/mete.h>

struct mete__queue_schedule {
    uint64_t count;     /* the interval's denominator */
    uint64_t step_ns;   /* the interval: step_ns + step_rest / count */
    uint64_t step_rest; /* < count */
    uint64_t next_ns;   /* the next slot: next_ns + next_rest / count */
    uint64_t next_rest; /* < count */
};

static inline void mete__queue_schedule_init(struct mete__queue_schedule *schedule, uint64_t count, uint64_t period_ns)
{
    *schedule = (struct mete__queue_schedule){count, period_ns / count, period_ns % count, 0, 0};
}

/* The first nanosecond at which the next item may leave. */
static inline uint64_t mete__queue_schedule_due_ns(const struct mete__queue_schedule *schedule)
{
    return schedule->next_ns + (schedule->next_rest != 0);
}

/* The same for the one that has `ahead` others before it; METE_NEVER when that
 * is more than 584 years away from the clock's zero. */
static inline uint64_t mete__queue_schedule_due_after_ns(const struct mete__queue_schedule *schedule, uint64_t ahead)
{
    mete__u128 rest = (mete__u128)ahead * schedule->step_rest + schedule->next_rest;
    mete__u128 due = (mete__u128)ahead * schedule->step_ns + schedule->next_ns;
    due += (rest + (schedule->count - 1)) / schedule->count;
    return due < METE_NEVER ? (uint64_t)due : METE_NEVER;
}

/* The queue was empty and gets an item: it may leave now, or at the next slot if
 * that is later. */
static inline void mete__queue_schedule_start(struct mete__queue_schedule *schedule, uint64_t now_ns)
{
    if (now_ns >= mete__queue_schedule_due_ns(schedule)) {
        schedule->next_ns = now_ns;
        schedule->next_rest = 0;
    }
}

static inline void mete__queue_schedule_step(struct mete__queue_schedule *schedule)
{
    schedule->next_ns += schedule->step_ns;
    schedule->next_rest += schedule->step_rest; /* both below count <= 2^62 */
    if (schedule->next_rest >= schedule->count) {
        schedule->next_rest -= schedule->count;
        schedule->next_ns++;
    }
}

/* Drops the slots that nobody fetched: when a whole interval is over since the
 * next one, it is now. */
static inline void mete__queue_schedule_catch_up(struct mete__queue_schedule *schedule, uint64_t now_ns)
{
    if (now_ns >= mete__queue_schedule_due_after_ns(schedule, 1)) {
        schedule->next_ns = now_ns;
        schedule->next_rest = 0;
    }
}

/* An item leaves now, which must be at the next slot or later. */
static inline void mete__queue_schedule_depart(struct mete__queue_schedule *schedule, uint64_t now_ns)
{
    METE_ASSERT(now_ns >= mete__queue_schedule_due_ns(schedule));
    mete__queue_schedule_catch_up(schedule, now_ns);
    mete__queue_schedule_step(schedule);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decision on one word, whatever the algorithm:
 *
 *   (profile, word, request) -> verdict            allowed, the next word, waits
 *   (profile, word, now)     -> remaining, reset   for the caller of the call
 *
 * Pure functions.  A verdict whose next equals word writes nothing.
 */
#ifndef METE_ALGORITHM_STEP_H
#define METE_ALGORITHM_STEP_H

#include "algorithm/gcra.h"
#include "algorithm/profile.h"

/* When a request is judged: now, and for calendar kinds the window around it. */
struct mete__moment {
    uint64_t now_ns;
    struct mete__span span;
};

struct mete__verdict {
    uint64_t next; /* the word to publish; the old one when nothing changes */
    uint64_t wait_ns;
    uint64_t retry_after_ns;
    bool allowed;
};

/* cost may be 0: allowed, nothing changes. */
struct mete__verdict mete__step_take(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                     const struct mete__moment *moment);

/* wait_ns_max is cut to METE__WAIT_MAX_NS. */
struct mete__verdict mete__step_reserve(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                        const struct mete__moment *moment, uint64_t wait_ns_max);

/* The word after giving cost units back. */
uint64_t mete__step_refund(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                           const struct mete__moment *moment);

/*
 * Buckets: takes a charge back that began at tick `base` (the word after it, less
 * the charge) and was held until now.  While it was held, others may have been
 * charged, and without it the bucket may have been full for part of that time,
 * which must not be earned twice: so what was held for is not given back.
 */
uint64_t mete__step_undo(const struct mete__profile *profile, uint64_t word, uint64_t cost, uint64_t base,
                         uint64_t now_ns);

/* Fills limit, remaining and reset_after_ns from the word. */
void mete__step_describe(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment,
                         struct mete_decision *out);

/* True when the word is as if never seen. */
bool mete__step_is_idle(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment);

/* The first moment at which the word is idle. */
uint64_t mete__step_idle_at_ns(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment);

/*
 * How much is owed, in a unit that compares over all limits: the nanoseconds
 * in which it is earned back at the limit's rate, at least 1 unless idle.  The
 * smallest is the cheapest to forget.
 */
uint64_t mete__step_rank(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment);

/* The same for units counted elsewhere (a sliding log). */
uint64_t mete__step_rank_of_units(const struct mete__profile *profile, uint64_t units);

#endif

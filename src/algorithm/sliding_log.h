/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding window log, the arithmetic: docs/algorithms.md, "Sliding window log".
 * Where the times are kept is not known here.
 */
#ifndef METE_ALGORITHM_SLIDING_LOG_H
#define METE_ALGORITHM_SLIDING_LOG_H

#include "algorithm/profile.h"

/* Units taken before this time are over at now: a unit taken at e counts while
 * now - e < period. */
static inline uint64_t mete__log_drop_before_ns(uint64_t period_ns, uint64_t now_ns)
{
    return now_ns >= period_ns ? now_ns - period_ns + 1 : 0;
}

/* How many of the oldest units must be over before cost fits; cost <= capacity. */
static inline uint64_t mete__log_excess(const struct mete__profile *profile, uint64_t used, uint64_t cost)
{
    return mete__sub_floor0_u64(used, profile->capacity - cost);
}

#endif

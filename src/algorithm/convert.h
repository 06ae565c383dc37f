/* SPDX-License-Identifier: Apache-2.0 */
/* Carrying what a key owes from one limit to another.  docs/algorithms.md,
 * "Changing a limit".  Pure functions. */
#ifndef METE_ALGORITHM_CONVERT_H
#define METE_ALGORITHM_CONVERT_H

#include "algorithm/step.h"

/* The word under `to`, settled at from_at->now_ns (== to_at->now_ns; the spans
 * differ when the time zones do). */
uint64_t mete__convert(const struct mete__profile *from, const struct mete__profile *to, uint64_t word,
                       const struct mete__moment *from_at, const struct mete__moment *to_at);

/* Whole units owed at the moment, rounded up. */
uint64_t mete__owed_units(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment);

/* The word that owes `units` (cut to the capacity) at the moment. */
uint64_t mete__word_of_owed(const struct mete__profile *profile, uint64_t units, const struct mete__moment *moment);

#endif

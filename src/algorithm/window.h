/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two window algorithms on one word.  docs/algorithms.md, "Fixed window"
 * and "Sliding window counter".  step.h is the way in; only it includes this.
 */
#ifndef METE_ALGORITHM_WINDOW_H
#define METE_ALGORITHM_WINDOW_H

#include "algorithm/step.h"

struct mete__verdict mete__fixed_take(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                      const struct mete__moment *moment);
struct mete__verdict mete__fixed_reserve(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                         const struct mete__moment *moment, uint64_t wait_ns_max);
uint64_t mete__fixed_refund(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                            const struct mete__moment *moment);
void mete__fixed_describe(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment,
                          struct mete_decision *out);
uint64_t mete__fixed_idle_at_ns(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment);
uint64_t mete__fixed_owed(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment);
uint64_t mete__fixed_of_owed(const struct mete__profile *profile, uint64_t owed, const struct mete__moment *moment);
/* The same window under another count: place kept, used cut. */
uint64_t mete__fixed_recount(const struct mete__profile *from, const struct mete__profile *to, uint64_t word);

struct mete__verdict mete__sliding_take(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                        const struct mete__moment *moment);
struct mete__verdict mete__sliding_reserve(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                                           const struct mete__moment *moment, uint64_t wait_ns_max);
uint64_t mete__sliding_refund(const struct mete__profile *profile, uint64_t word, uint64_t cost,
                              const struct mete__moment *moment);
void mete__sliding_describe(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment,
                            struct mete_decision *out);
uint64_t mete__sliding_idle_at_ns(const struct mete__profile *profile, uint64_t word,
                                  const struct mete__moment *moment);
uint64_t mete__sliding_owed(const struct mete__profile *profile, uint64_t word, const struct mete__moment *moment);
uint64_t mete__sliding_of_owed(const struct mete__profile *profile, uint64_t owed, const struct mete__moment *moment);
uint64_t mete__sliding_recount(const struct mete__profile *from, const struct mete__profile *to, uint64_t word);

static inline struct mete__verdict mete__verdict_allow(uint64_t next, uint64_t wait_ns)
{
    return (struct mete__verdict){.next = next, .wait_ns = wait_ns, .allowed = true};
}

static inline struct mete__verdict mete__verdict_deny(uint64_t word, uint64_t retry_after_ns)
{
    return (struct mete__verdict){.next = word, .retry_after_ns = retry_after_ns};
}

#endif

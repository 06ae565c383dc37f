/* SPDX-License-Identifier: Apache-2.0 */
/* What the rounds of `mete stress` came to, and how it is told. */
#ifndef METE_CLI_STRESS_REPORT_H
#define METE_CLI_STRESS_REPORT_H

#include <mete/mete.h>

struct mete__stress_result {
    uint64_t callers;
    uint64_t burst;
    uint64_t rounds;
    uint64_t conclusive;
    uint64_t exact; /* conclusive rounds in which exactly the burst passed */
    uint64_t decisions;
    uint64_t elapsed_ns;
    uint64_t longest_ns;      /* of the conclusive rounds */
    uint64_t deviation_round; /* the first one, counted from 1; 0: none */
    uint64_t deviation_admitted;
    uint64_t deviation_ns;
};

void mete__stress_print_text(const struct mete__stress_result *result, const struct mete_limit *limit,
                             const char *mode);
void mete__stress_print_json(const struct mete__stress_result *result, const struct mete_limit *limit, const char *mode,
                             bool passed);

#endif

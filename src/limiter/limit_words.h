/* SPDX-License-Identifier: Apache-2.0 */
/* The words of limits as text, for reading and for writing them. */
#ifndef METE_LIMITER_LIMIT_WORDS_H
#define METE_LIMITER_LIMIT_WORDS_H

#include <mete/mete.h>

#define METE__ALGORITHMS_COUNT 5
#define METE__ALIGNMENTS_COUNT 8
#define METE__UNITS_COUNT 8

/* By enum mete_algorithm. */
extern const char *const mete__algorithm_names[METE__ALGORITHMS_COUNT];

/* By enum mete_alignment; NULL for those that are not calendar units. */
extern const char *const mete__calendar_names[METE__ALIGNMENTS_COUNT];

/* Longest first: the first one that divides a period makes the shortest text. */
struct mete__unit {
    const char *name;
    const char *word; /* also understood, as is its plural; may be NULL */
    uint64_t ns;
};

extern const struct mete__unit mete__units[METE__UNITS_COUNT];

#endif

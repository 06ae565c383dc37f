/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a file: sentences with their place, the first ones found,
 * told in the order of the file. */
#ifndef METE_POLICY_FAULT_H
#define METE_POLICY_FAULT_H

#include <stddef.h>

#define METE__FAULTS_MAX 20u
#define METE__SENTENCE_SIZE 400u

/* From 1; the column counts characters.  Line 0: the file as a whole. */
struct mete__place {
    unsigned line;
    unsigned column;
};

struct mete__fault {
    struct mete__place place;
    char sentence[METE__SENTENCE_SIZE];
};

struct mete__faults {
    struct mete__fault items[METE__FAULTS_MAX];
    size_t count; /* found; those above METE__FAULTS_MAX are not kept */
};

/* printf's arguments; a sentence that is too long is cut. */
void mete__faults_add(struct mete__faults *faults, struct mete__place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "FILE:LINE:COLUMN: SENTENCE" lines, the last without a newline; what does not
 * fit is cut.  why may be NULL. */
void mete__faults_write(struct mete__faults *faults, const char *file, char *why, size_t why_size);

/* Bytes of a file fit to be shown: in quotes, cut when long, and anything but
 * printable ASCII as \xNN. */
struct mete__quote {
    char text[2 + 4 * 48 + 3 + 1];
};
struct mete__quote mete__quote(const char *bytes, size_t len);

#endif

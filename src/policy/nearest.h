/* SPDX-License-Identifier: Apache-2.0 */
/* Of some names, the one that was probably meant by a word that is none of them. */
#ifndef METE_POLICY_NEAREST_H
#define METE_POLICY_NEAREST_H

#include <stddef.h>

struct mete__nearest {
    const char *word;
    size_t word_len;
    const char *found; /* NULL: none is near */
    size_t away;
};

/* Try the names one by one; found is then the first of the nearest ones. */
struct mete__nearest mete__nearest_to(const char *word, size_t word_len);
void mete__nearest_try(struct mete__nearest *nearest, const char *name);

#endif

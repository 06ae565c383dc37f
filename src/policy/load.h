/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader offers beyond config.h: for tests, and for `mete config`. */
#ifndef METE_POLICY_LOAD_H
#define METE_POLICY_LOAD_H

#include <stdio.h>

#include "policy/config.h"

/* Room for every sentence that one reading can lead to, with a name of usual length. */
#define METE__CONFIG_WHY_SIZE 16384u

/* The override that decides the plan of a key; NULL when none does. */
const struct mete__override *mete__policy_override(const struct mete__policy *policy, const void *key, size_t key_len);

/* As mete__config_parse with at most budget bytes of memory: METE_ENOMEM when they are not enough. */
mete_status mete__config_parse_within(size_t budget, const char *name, const char *text, size_t text_len,
                                      struct mete__config **out, char *why, size_t why_size);

/*
 * What is allowed but probably not meant, one sentence per line, without a newline
 * at the end.  Returns how many there are; what does not fit is cut.
 */
size_t mete__config_warnings(const struct mete__config *config, char *text, size_t text_size);

/* The reference of the file as Markdown tables, from the tables that read it. */
void mete__schema_print(FILE *out);

#endif

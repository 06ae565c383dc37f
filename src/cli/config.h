/* SPDX-License-Identifier: Apache-2.0 */
/* What `mete config` shows, each as text for people or as one JSON object. */
#ifndef METE_CLI_CONFIG_H
#define METE_CLI_CONFIG_H

#include <stdbool.h>

#include "policy/config.h"

/* What a configuration serves, and the warnings about it (one per line, "" for none). */
void mete__config_show(const struct mete__config *config, const char *warnings);
void mete__config_show_json(const struct mete__config *config, const char *warnings);

/* What a key meets in a policy.  Any status but METE_OK: no memory for it. */
mete_status mete__config_explain(const struct mete__policy *policy, const char *key, size_t key_len, bool json);

#endif

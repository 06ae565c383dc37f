/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a configuration in the words of its file, for `mete config`. */
#ifndef METE_CLI_CONFIG_WORDS_H
#define METE_CLI_CONFIG_WORDS_H

#include <stddef.h>

#include "policy/config.h"

const char *mete__on_full_word(enum mete_full_policy on_full);

/* One header style of a policy, in the order of enum mete__header_style. */
struct mete__style_words {
    unsigned style;     /* enum mete__header_style */
    const char *word;   /* as in the file */
    const char *fields; /* the response fields it leads to */
};
#define METE__STYLE_COUNT 6u
extern const struct mete__style_words mete__styles[METE__STYLE_COUNT];

/* "draft-10, x-ratelimit-delta", "off"; cut at size. */
void mete__headers_words(unsigned headers, char *text, size_t size);

/* "client_address, header:X-Api-Key"; cut at size. */
void mete__key_words(const struct mete__policy *policy, char *text, size_t size);

/* Bytes of a key fit for a terminal: anything but printable ASCII as \xNN; cut at size. */
void mete__key_shown(const char *key, size_t key_len, char *text, size_t size);

#endif

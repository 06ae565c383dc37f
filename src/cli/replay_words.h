/* SPDX-License-Identifier: Apache-2.0 */
/* Limits, spans and times in words.  All return the length; size is what
 * snprintf takes. */
#ifndef METE_CLI_REPLAY_WORDS_H
#define METE_CLI_REPLAY_WORDS_H

#include <mete/mete.h>

/* "100 requests per 1 minute, at most 20 at one instant (token bucket)" */
size_t mete__limit_words(const struct mete_limit *limit, const char *unit, char *text, size_t size);

/* "1 minute 30 seconds", exact; "0 seconds". */
size_t mete__span_words(uint64_t span_ns, char *text, size_t size);

/* "2024-05-12T00:00:17Z", with as many digits of a fraction as it has. */
size_t mete__time_words(uint64_t time_ns, char *text, size_t size);

#endif

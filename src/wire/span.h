/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of somebody else's: what the codecs hand out instead of copies. */
#ifndef METE_WIRE_SPAN_H
#define METE_WIRE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct mete__span {
    const char *at;
    size_t len;
};

static inline struct mete__span mete__span_of(const char *at, size_t len)
{
    return (struct mete__span){at, len};
}

static inline bool mete__span_is(struct mete__span span, const char *text)
{
    return span.len == strlen(text) && memcmp(span.at, text, span.len) == 0;
}

static inline char mete__lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* The same in any letter case of ASCII; text is in lower case. */
static inline bool mete__span_is_nocase(struct mete__span span, const char *text)
{
    if (span.len != strlen(text)) {
        return false;
    }
    for (size_t i = 0; i < span.len; i++) {
        if (mete__lower(span.at[i]) != text[i]) {
            return false;
        }
    }
    return true;
}

/* Without the spaces and tabs at both ends: OWS of RFC 9110, section 5.6.3. */
static inline struct mete__span mete__span_trim(struct mete__span span)
{
    while (span.len > 0 && (span.at[0] == ' ' || span.at[0] == '\t')) {
        span.at++;
        span.len--;
    }
    while (span.len > 0 && (span.at[span.len - 1] == ' ' || span.at[span.len - 1] == '\t')) {
        span.len--;
    }
    return span;
}

#endif

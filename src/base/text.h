/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor over text: the one way all parsers here walk over their input.
 * Bytes need no NUL at the end; nothing is copied; no locale is asked.
 */
#ifndef METE_BASE_TEXT_H
#define METE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mete__text {
    const char *at;
    const char *end;
};

static inline struct mete__text mete__text_of(const char *bytes, size_t len)
{
    return (struct mete__text){bytes, bytes + len};
}

static inline size_t mete__text_len(const struct mete__text *text)
{
    return (size_t)(text->end - text->at);
}

static inline bool mete__text_is_empty(const struct mete__text *text)
{
    return text->at == text->end;
}

static inline bool mete__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Spaces and tabs. */
static inline void mete__text_skip_blanks(struct mete__text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t')) {
        text->at++;
    }
}

/* Takes c if it comes next. */
static inline bool mete__text_eat(struct mete__text *text, char c)
{
    if (text->at < text->end && *text->at == c) {
        text->at++;
        return true;
    }
    return false;
}

/* Takes everything up to `stop` (not taken itself) or the end. */
static inline struct mete__text mete__text_until(struct mete__text *text, char stop)
{
    const char *start = text->at;
    const char *found = memchr(text->at, stop, mete__text_len(text));
    text->at = found != NULL ? found : text->end;
    return (struct mete__text){start, text->at};
}

/* Takes the word up to the next blank or the end; may be empty. */
static inline struct mete__text mete__text_word(struct mete__text *text)
{
    const char *start = text->at;
    while (text->at < text->end && *text->at != ' ' && *text->at != '\t') {
        text->at++;
    }
    return (struct mete__text){start, text->at};
}

static inline bool mete__text_is(const struct mete__text *text, const char *word)
{
    return mete__text_len(text) == strlen(word) && memcmp(text->at, word, strlen(word)) == 0;
}

enum mete__number { METE__NUMBER_OK, METE__NUMBER_NONE, METE__NUMBER_TOO_LARGE };

/* Takes the decimal digits that come next; NONE when there is none (nothing is
 * taken), TOO_LARGE when they do not fit 64 bits (all are taken). */
static inline enum mete__number mete__text_u64(struct mete__text *text, uint64_t *out)
{
    if (mete__text_is_empty(text) || !mete__is_digit(*text->at)) {
        return METE__NUMBER_NONE;
    }
    uint64_t value = 0;
    bool fits = true;
    for (; text->at < text->end && mete__is_digit(*text->at); text->at++) {
        fits = fits && !__builtin_mul_overflow(value, 10u, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*text->at - '0'), &value);
    }
    *out = value;
    return fits ? METE__NUMBER_OK : METE__NUMBER_TOO_LARGE;
}

#endif

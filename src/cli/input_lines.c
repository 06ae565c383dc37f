/* SPDX-License-Identifier: Apache-2.0 */
/* The line splitter; input_lines.h says how it behaves. */
#include "cli/input_lines.h"

#include <stdlib.h>
#include <string.h>

/* The longest line with "\r\n", and room to read a whole block after it. */
#define LINE_WITH_END_MAX (METE__LINE_MAX + 2)
#define BUFFER_SIZE (LINE_WITH_END_MAX + METE__INPUT_BLOCK)

static bool find_end(struct mete__lines *lines, size_t from, size_t *end_at);
static enum mete__line drop_line(struct mete__lines *lines);

/* The bytes up to end_at, which is at "\n" or at the end of the input. */
static struct mete__text without_end(const struct mete__lines *lines, size_t end_at)
{
    const char *start = lines->buffer + lines->line_at;
    const char *end = lines->buffer + end_at;
    if (end > start && end[-1] == '\r') {
        end--;
    }
    return (struct mete__text){start, end};
}

enum mete__line mete__lines_next(struct mete__lines *lines, struct mete__text *line)
{
    lines->line_at = lines->next_at;
    size_t end_at = 0;
    bool ended = find_end(lines, lines->line_at, &end_at);
    if (!ended && lines->end == lines->line_at) {
        return METE__LINE_END;
    }
    lines->number += 1 + lines->lines_joined;
    lines->lines_joined = 0;
    if (!ended && lines->end - lines->line_at > METE__LINE_MAX + 1) {
        return drop_line(lines);
    }
    lines->next_at = end_at + (ended ? 1 : 0);
    lines->first_len = lines->next_at - lines->line_at;
    *line = without_end(lines, end_at);
    return mete__text_len(line) > METE__LINE_MAX ? METE__LINE_TOO_LONG : METE__LINE_READ;
}

/* Reads more behind what is kept, the current line; false at the end. */
static bool fill(struct mete__lines *lines)
{
    if (lines->line_at > 0) {
        memmove(lines->buffer, lines->buffer + lines->line_at, lines->end - lines->line_at);
        lines->next_at -= lines->line_at;
        lines->end -= lines->line_at;
        lines->line_at = 0;
    }
    size_t space = BUFFER_SIZE - lines->end;
    size_t got = mete__input_read(lines->input, lines->buffer + lines->end,
                                  space < METE__INPUT_BLOCK ? space : METE__INPUT_BLOCK);
    lines->end += got;
    return got > 0;
}

/* Finds the "\n" at or after `from`, reading on until the current line would be
 * too long.  False: *end_at is the end of what was read. */
static bool find_end(struct mete__lines *lines, size_t from, size_t *end_at)
{
    for (;;) {
        const char *found = memchr(lines->buffer + from, '\n', lines->end - from);
        if (found != NULL) {
            *end_at = (size_t)(found - lines->buffer);
            return true;
        }
        size_t searched = lines->end - lines->line_at;
        if (searched > METE__LINE_MAX + 1 || !fill(lines)) {
            *end_at = lines->end;
            return false;
        }
        from = lines->line_at + searched;
    }
}

/* Drops bytes up to and including the next "\n". */
static enum mete__line drop_line(struct mete__lines *lines)
{
    for (;;) {
        lines->line_at = lines->end;
        lines->next_at = lines->end;
        if (!fill(lines)) {
            return METE__LINE_TOO_LONG;
        }
        const char *found = memchr(lines->buffer, '\n', lines->end);
        if (found != NULL) {
            lines->next_at = (size_t)(found - lines->buffer) + 1;
            return METE__LINE_TOO_LONG;
        }
    }
}

bool mete__lines_extend(struct mete__lines *lines, struct mete__text *line)
{
    size_t done = lines->next_at - lines->line_at;
    size_t end_at = 0;
    bool ended = find_end(lines, lines->next_at, &end_at);
    /* The bytes may have moved: where the line ended is told by its length. */
    lines->next_at = lines->line_at + done;
    if (end_at == lines->next_at && !ended) {
        return false;
    }
    struct mete__text longer = without_end(lines, end_at);
    if (mete__text_len(&longer) > METE__LINE_MAX) {
        return false;
    }
    *line = longer;
    lines->next_at = end_at + (ended ? 1 : 0);
    lines->lines_joined++;
    return true;
}

void mete__lines_unextend(struct mete__lines *lines)
{
    lines->next_at = lines->line_at + lines->first_len;
    lines->lines_joined = 0;
}

/* Takes the line that comes next when it is empty and its end is in the buffer. */
static bool take_empty(struct mete__lines *lines)
{
    const char *next = lines->buffer + lines->next_at;
    size_t left = lines->end - lines->next_at;
    size_t len = left > 1 && next[0] == '\r' && next[1] == '\n' ? 2 : left > 0 && next[0] == '\n' ? 1 : 0;
    lines->next_at += len;
    lines->line_at = lines->next_at;
    lines->number += len > 0;
    return len > 0;
}

struct mete__text mete__lines_peek(struct mete__lines *lines)
{
    static const char mark[] = "\xef\xbb\xbf";
    while (lines->end < METE__INPUT_BLOCK && fill(lines)) {
    }
    if (lines->end >= 3 && memcmp(lines->buffer, mark, 3) == 0) {
        lines->line_at = 3;
        lines->next_at = 3;
    }
    do {
        while (take_empty(lines)) {
        }
    } while (lines->end - lines->next_at < METE__INPUT_BLOCK && fill(lines));
    return mete__text_of(lines->buffer + lines->next_at, lines->end - lines->next_at);
}

bool mete__lines_init(struct mete__lines *lines)
{
    *lines = (struct mete__lines){.buffer = malloc(BUFFER_SIZE)};
    return lines->buffer != NULL;
}

void mete__lines_clear(struct mete__lines *lines)
{
    free(lines->buffer);
    lines->buffer = NULL;
}

void mete__lines_start(struct mete__lines *lines, struct mete__input *input)
{
    *lines = (struct mete__lines){.input = input, .buffer = lines->buffer};
}

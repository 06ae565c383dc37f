/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of an input, in a buffer of fixed size.  A line that does not fit is
 * dropped and told; it costs time, not memory.
 */
#ifndef METE_CLI_INPUT_LINES_H
#define METE_CLI_INPUT_LINES_H

#include "base/text.h"
#include "cli/input.h"

/* The longest line that is read, without its line end. */
#define METE__LINE_MAX ((size_t)1024 * 1024)

enum mete__line {
    METE__LINE_READ,
    METE__LINE_TOO_LONG, /* longer than METE__LINE_MAX: skipped, its number is counted */
    METE__LINE_END       /* no more; the input's error says whether it is whole */
};

/*
 * The buffer holds, in this order: the line read last (or the record, when it
 * was extended), bytes not read yet, free space.
 */
struct mete__lines {
    struct mete__input *input;
    char *buffer;
    size_t line_at;        /* the line read last */
    size_t next_at;        /* the line after it */
    size_t end;            /* of the bytes in the buffer */
    uint64_t number;       /* of the first line of the record read last; from 1 */
    uint64_t lines_joined; /* how many more lines it spans */
    size_t first_len;      /* length of its first line, with its line end */
};

/* False: no memory. */
bool mete__lines_init(struct mete__lines *lines);
void mete__lines_clear(struct mete__lines *lines);

/* Begins with a new input.  The buffer is used again. */
void mete__lines_start(struct mete__lines *lines, struct mete__input *input);

/* The first bytes of the input that hold anything, before any line was read: at
 * least a block, unless the input is shorter.  A byte order mark of UTF-8 and
 * the empty lines before them are dropped; number is how many those were. */
struct mete__text mete__lines_peek(struct mete__lines *lines);

/* The next line, without "\n" or "\r\n".  It stays valid until the next call. */
enum mete__line mete__lines_next(struct mete__lines *lines, struct mete__text *line);

/* Makes the line read last longer by the line after it, line end included.
 * False when there is none, or the result would be too long: nothing changes. */
bool mete__lines_extend(struct mete__lines *lines, struct mete__text *line);

/* Undoes all extensions: the lines after the first will be read again. */
void mete__lines_unextend(struct mete__lines *lines);

#endif

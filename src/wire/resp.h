/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Redis serialization protocol, RESP2 and RESP3: requests read, replies
 * written.  https://redis.io/docs/latest/develop/reference/protocol-spec/
 *
 * A request is an array of bulk strings, or an inline command: words on one line.
 * Nothing is copied: arguments point into the bytes given.  Pure.
 */
#ifndef METE_WIRE_RESP_H
#define METE_WIRE_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/out.h"
#include "wire/span.h"

#define METE__RESP_ARGS_MAX 32u /* arguments that are kept; a longer command is read whole, and to be refused */

struct mete__resp_request {
    size_t count; /* of arguments, the command's name included; 0: an empty line or array, to be ignored */
    struct mete__span args[METE__RESP_ARGS_MAX]; /* the first of them */
};

enum mete__resp_result {
    METE__RESP_DONE,      /* one request was read */
    METE__RESP_MORE,      /* the request is not whole yet */
    METE__RESP_MALFORMED, /* reply the error and close: what follows cannot be trusted */
    METE__RESP_TOO_LARGE  /* a length above the bound */
};

struct mete__resp_bounds {
    size_t bulk_max; /* bytes of one argument, and of an inline line */
    size_t args_max; /* arguments of one command, kept or not */
};

/*
 * Reads one request from bytes[0..len).  *consumed is written on DONE.  *error is a
 * sentence on MALFORMED and TOO_LARGE ("Protocol error: invalid multibulk length").
 * Called again from the same start when there is more.
 */
enum mete__resp_result mete__resp_read(const char *bytes, size_t len, const struct mete__resp_bounds *bounds,
                                       struct mete__resp_request *request, size_t *consumed, const char **error);

/* A whole decimal integer as Redis reads one: an optional '-', digits without needless
 * zeros, nothing else; false when it is anything else or does not fit. */
bool mete__resp_integer(struct mete__span text, int64_t *out);

/* True when the argument is the word, in any letter case.  The word is in upper case. */
bool mete__resp_is(struct mete__span arg, const char *word);

/* The start of a client's word for an error: printable ASCII, cut to size - 1 bytes, with its NUL. */
void mete__resp_show(struct mete__span word, char *text, size_t size);

/* --- replies; version is 2 or 3 where they differ --- */

void mete__resp_simple(struct mete__out *out, const char *text); /* +text */
void mete__resp_error(struct mete__out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* -text: begin with a code word such as ERR; line breaks in it become spaces */
void mete__resp_i64(struct mete__out *out, int64_t value);                  /* :value */
void mete__resp_bulk(struct mete__out *out, const void *bytes, size_t len); /* $len bytes */
void mete__resp_text(struct mete__out *out, const char *text);              /* the same */
void mete__resp_null(struct mete__out *out, int version);                   /* $-1 or _ */
void mete__resp_array(struct mete__out *out, size_t count);                 /* *count, elements follow */
void mete__resp_map(struct mete__out *out, size_t pairs, int version);      /* *2n or %n, key and value by turns */
void mete__resp_bool(struct mete__out *out, bool value, int version);       /* :0 :1 or #f #t */

#endif

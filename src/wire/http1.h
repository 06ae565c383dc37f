/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 requests (RFC 9112), and those of HTTP/1.0: bytes in, a request or a
 * refusal out.  Nothing is copied: spans point into the bytes given.  Pure.
 *
 * It reads less than the RFC lets a server read.  Wherever two programs in a row could
 * disagree about where a request ends (RFC 9112, section 11.2), the request is
 * refused and the connection has to be closed: both framings at once, a length that
 * is repeated, a coding that is not understood, folded lines, bare CR or LF, blanks
 * around names, control bytes.
 */
#ifndef METE_WIRE_HTTP1_H
#define METE_WIRE_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/span.h"

#define METE__HTTP_FIELDS_MAX 64u      /* field lines of a head, and again of a trailer section */
#define METE__HTTP_CHUNK_LINE_MAX 256u /* bytes of a line with a chunk's size, its extensions included */
#define METE__HTTP_CHUNK_DIGITS_MAX 8u /* hexadecimal digits of a chunk's size: below 4 GiB, leading zeros counted */

struct mete__http_field {
    struct mete__span name;
    struct mete__span value; /* without blanks around it */
};

struct mete__http_request {
    struct mete__span method;
    struct mete__span target; /* begins with '/', or is an http(s) URI, or is "*" of OPTIONS */
    unsigned minor;           /* 0 or 1: HTTP/1.0 or 1.1 and later */
    bool keeps_alive;         /* the connection may go on after the answer (RFC 9112, section 9.3) */
    bool is_chunked;
    size_t head_len;
    struct mete__span body; /* as sent; with is_chunked its framing is still in it: see mete__http_body */
    size_t body_len;        /* of the content */
    size_t field_count;
    struct mete__http_field fields[METE__HTTP_FIELDS_MAX];
    unsigned status; /* REFUSED: the answer's status, 400, 413, 414, 417, 431, 501 or 505 */
    const char *why; /* REFUSED: a sentence */
};

/* What is known of a request that is not whole yet, so that bytes which arrive one at a time are not read over and
 * over.  All zero before each request; mete__http_read leaves it so on DONE. */
struct mete__http_progress {
    size_t seen;         /* bytes in which the head did not end */
    size_t head_len;     /* 0: the head has not ended */
    size_t need;         /* without this many bytes it cannot be whole */
    size_t chunk_at;     /* where the next chunk or trailer line begins; 0: not chunked */
    size_t decoded;      /* bytes of content before chunk_at */
    size_t trailers;     /* lines of the trailer section so far */
    bool is_trailer;     /* the last chunk has been seen */
    bool wants_continue; /* the client waits for "100 Continue" (RFC 9110, section 10.1.1): once sent, clear it */
};

enum mete__http_result { METE__HTTP_MORE, METE__HTTP_DONE, METE__HTTP_REFUSED };

/*
 * Reads one request from bytes[0..len).  bytes_max bounds head and body together.
 * DONE: *consumed and the request are written.  MORE: call again with the same
 * start, more bytes, and the same progress (the bytes may have moved).  REFUSED:
 * status and why are written; answer and close.  Whatever the pieces the bytes
 * come in, the result is the same.
 */
enum mete__http_result mete__http_read(const char *bytes, size_t len, size_t bytes_max,
                                       struct mete__http_progress *progress, struct mete__http_request *request,
                                       size_t *consumed);

/*
 * The content.  A body that is not chunked, or is one chunk, is handed out where it
 * lies; else its chunks are put together in scratch, which has room for body_len.
 */
struct mete__span mete__http_body(const struct mete__http_request *request, char *scratch);

/* The first field of this name, given in lower case; NULL when there is none. */
const struct mete__http_field *mete__http_find(const struct mete__http_request *request, const char *name,
                                               size_t name_len);
#define METE__HTTP_FIND(request, literal) mete__http_find((request), (literal), sizeof(literal) - 1)

/* The values of all fields of this name (any letter case), in order; returns how many (at most max). */
size_t mete__http_find_all(const struct mete__http_request *request, const char *name, size_t name_len,
                           struct mete__span *values, size_t max);

/* --- between the files of this codec --- */

/* What the fields of a head say about the message's length and the connection. */
struct mete__http_framing {
    unsigned hosts;
    bool has_length;
    bool is_chunked;
    bool wants_close;
    bool wants_keep_alive;
    bool expects_continue;
    uint64_t length;
};

/* 0, or the status of the refusal with its sentence. */
unsigned mete__http_field_read(struct mete__span line, struct mete__http_field *field, const char **why);
unsigned mete__http_framing_add(struct mete__http_framing *framing, const struct mete__http_field *field,
                                unsigned minor, const char **why);
enum mete__http_result mete__http_chunks_walk(const char *bytes, size_t len, size_t bytes_max,
                                              struct mete__http_progress *progress, unsigned *status, const char **why);
bool mete__http_is_token(struct mete__span text);
/* No control bytes but tabs (RFC 9110, section 5.5: field-value). */
bool mete__http_is_value(struct mete__span text);

#endif

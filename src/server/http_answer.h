/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of HTTP/1.1: status line, fields, body (RFC 9112, RFC 9110). */
#ifndef METE_SERVER_HTTP_ANSWER_H
#define METE_SERVER_HTTP_ANSWER_H

#include "server/conn.h"

/* How a request is to be answered, in 32 bits, so that a batch can carry it. */
#define METE__HOW_HEAD 1u          /* no body is sent */
#define METE__HOW_CLOSE 2u         /* the last answer of the connection, and says so */
#define METE__HOW_OLD 4u           /* HTTP/1.0 that goes on: it must be said */
#define METE__HOW_CHECK 8u         /* for a gateway: no body when allowed, a short one when denied */
#define METE__HOW_CACHED 16u       /* the answer has a Cache-Control of its own */
#define METE__HOW_STATUS_SHIFT 16u /* from here: the status of a denial; 0: the policy's */

#define METE__TYPE_JSON "application/json"
#define METE__TYPE_PROBLEM "application/problem+json"
#define METE__TYPE_TEXT "text/plain; charset=utf-8"

/* The status line, Date and Connection.  The caller appends more fields as whole lines, then: */
void mete__answer_begin(struct mete__out *out, uint32_t how, unsigned status);

/* Content-Type (unless NULL), Cache-Control, Content-Length, the body.  All of it in one go, so
 * nothing can come between. */
void mete__answer_end(struct mete__out *out, uint32_t how, const char *type, const char *body, size_t len);

/* A whole answer without fields of its own. */
void mete__answer(struct mete__out *out, uint32_t how, unsigned status, const char *type, const char *body, size_t len);

/* Problem details with a sentence; fields: further lines, or "". */
void mete__answer_problem(struct mete__out *out, uint32_t how, unsigned status, const char *fields, const char *format,
                          ...) __attribute__((format(printf, 5, 6)));

/* A buffer on the stack as an out: it fails instead of growing. */
static inline struct mete__out mete__out_on(char *bytes, size_t size)
{
    return (struct mete__out){.bytes = bytes, .size = size, .size_max = size};
}

#endif

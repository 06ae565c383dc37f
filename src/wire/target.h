/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request's target: path and query (RFC 3986), and the parameters of a query as
 * HTML forms write them (WHATWG URL, application/x-www-form-urlencoded).  Pure.
 */
#ifndef METE_WIRE_TARGET_H
#define METE_WIRE_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/span.h"

struct mete__target {
    struct mete__span path;  /* still encoded; begins with '/', or is "*" */
    struct mete__span query; /* without '?'; empty when there is none */
};

/* Splits what mete__http_read hands out; scheme and authority of an absolute URI are left
 * away (RFC 9112, section 3.2.2).  False when no path can be found. */
bool mete__target_split(struct mete__span target, struct mete__target *out);

/* Takes the next parameter off the front of rest: "NAME=VALUE" or "NAME", still encoded.
 * Empty ones ("a=1&&b=2") are passed over.  False at the end. */
bool mete__query_next(struct mete__span *rest, struct mete__span *name, struct mete__span *value);

/* True when the text has nothing to decode. */
bool mete__is_decoded(struct mete__span text, bool is_query);

/*
 * Decodes %XX (RFC 3986, section 2.1) and, in a query, '+' for a space, into `to`, which
 * has room for text.len bytes and may be text.at itself; every byte value may come
 * out.  False when a '%' is not followed by two hexadecimal digits.
 */
bool mete__percent_decode(struct mete__span text, bool is_query, char *to, struct mete__span *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structured field values, serialised to the letter (RFC 9651, section 4.1): what
 * rate limit fields need of them.  Pure.
 */
#ifndef METE_WIRE_STRUCTURED_H
#define METE_WIRE_STRUCTURED_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/out.h"
#include "wire/span.h"

#define METE__SF_INTEGER_MAX UINT64_C(999999999999999) /* section 3.3.1: fifteen digits */

/* An Integer; a larger value is cut down to the largest one there is. */
void mete__sf_integer(struct mete__out *out, uint64_t value);

/* True when the bytes can be a String (section 3.3.3): printable ASCII alone. */
bool mete__sf_is_string(struct mete__span text);

/* A String; the text has passed mete__sf_is_string. */
void mete__sf_string(struct mete__out *out, struct mete__span text);

/* A Byte Sequence (section 3.3.5): ":" base64 ":". */
void mete__sf_bytes(struct mete__out *out, struct mete__span bytes);

/* ";key=" of a parameter; its value follows. */
void mete__sf_key(struct mete__out *out, const char *key);

#endif

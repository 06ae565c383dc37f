/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, section 4), with padding.  Pure. */
#ifndef METE_WIRE_BASE64_H
#define METE_WIRE_BASE64_H

#include <stdbool.h>

#include "wire/out.h"
#include "wire/span.h"

void mete__base64_write(struct mete__out *out, struct mete__span bytes);

/* Reads into `to`, which has room for 3/4 of text.len; false when the text is not base64: a byte outside the
 * alphabet, a length that is no multiple of four, pad bits that are not zero (section 3.5). */
bool mete__base64_read(struct mete__span text, char *to, struct mete__span *bytes);

#endif

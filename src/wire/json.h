/* SPDX-License-Identifier: Apache-2.0 */
/* JSON on its way out (RFC 8259): the few pieces that answers are made of.  Pure. */
#ifndef METE_WIRE_JSON_H
#define METE_WIRE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/out.h"
#include "wire/span.h"

/* A string with its quotes.  The bytes are UTF-8; a byte that is not becomes U+FFFD. */
void mete__json_string(struct mete__out *out, struct mete__span text);

/* True when the bytes are UTF-8 (RFC 3629). */
bool mete__is_utf8(struct mete__span text);

/* A wait in whole milliseconds, rounded up; null for one that never ends (UINT64_MAX). */
void mete__json_ms(struct mete__out *out, uint64_t wait_ns);

#endif

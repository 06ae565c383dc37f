/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields that tell a client about its limits, in the styles of the stages of
 * draft-ietf-httpapi-ratelimit-headers and of X-RateLimit-*, and Retry-After (RFC 9110,
 * section 10.2.3).  Pure.
 *
 * Rounding is always the side on which a client that obeys is not denied: units
 * down, waits up.
 *
 *   q, Limit      capacity: what `remaining` can reach, so that r <= q
 *   w of a policy whole seconds, at least 1
 *   r, Remaining  remaining, never above the capacity
 *   t             until one more unit is there; left out when nothing is spent, or unknown
 *   Reset         until nothing is spent; always sent, 0 when nothing is
 *   Retry-After   denied: at least 1, at least t; left out when waiting does not help
 */
#ifndef METE_WIRE_FIELDS_H
#define METE_WIRE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/out.h"
#include "wire/span.h"

/* Styles, a set of them.  Two that use one field name differently: list forms of draft-10 and
 * draft-12 share their items; else the newer draft has the name, and seconds go before epoch. */
#define METE__FIELDS_DRAFT_06 1u
#define METE__FIELDS_DRAFT_07 2u
#define METE__FIELDS_DRAFT_10 4u
#define METE__FIELDS_DRAFT_12 8u /* provisional: r is "a" and t is "w" */
#define METE__FIELDS_X_DELTA 16u
#define METE__FIELDS_X_EPOCH 32u

#define METE__FIELDS_UNKNOWN UINT64_MAX /* as next_unit_ns */

/* One limit, as decided for this request. */
struct mete__fields_limit {
    struct mete__span name; /* one that is not printable ASCII is left out */
    uint64_t capacity;
    uint64_t window_s; /* ceil(capacity / rate); 0 counts as 1 */
    uint64_t remaining;
    uint64_t retry_after_ns; /* for this request's cost: 0 when the limit lets it pass; UINT64_MAX: never */
    uint64_t reset_after_ns;
    /*
     * Until one more unit than `remaining` is there.  No decision says it, except a denial of
     * a cost of remaining + 1: that is its retry_after_ns.  In all other cases ask:
     * a peek of cost remaining + 1 says it as its retry_after_ns, and when that peek is
     * allowed the unit has come in between: 1.  Nothing is needed when remaining is the capacity.
     */
    uint64_t next_unit_ns;
    struct mete__span partition; /* pk of draft-10; len 0: not sent */
};

/* Appends "Name: value\r\n" lines.  wall_ns: the time of day, for the epoch style. */
void mete__fields_write(struct mete__out *out, unsigned styles, const struct mete__fields_limit *limits, size_t count,
                        uint64_t wall_ns);

/* Whole seconds for Retry-After of a denial, over all limits; 0: none, as waiting does not help. */
uint64_t mete__fields_retry_after(const struct mete__fields_limit *limits, size_t count);

/* ceil(wait_ns / 1e9), without overflow. */
uint64_t mete__fields_seconds(uint64_t wait_ns);

/* The limit that is closest to exhaustion: fewest remaining, of equal ones the longest reset. */
size_t mete__fields_tightest(const struct mete__fields_limit *limits, size_t count);

#endif

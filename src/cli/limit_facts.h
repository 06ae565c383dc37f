/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a limit: the numbers that `mete limit` tells. */
#ifndef METE_CLI_LIMIT_FACTS_H
#define METE_CLI_LIMIT_FACTS_H

#include <mete/mete.h>

#include "base/arith.h"

#define METE__LIMIT_TEXT_SIZE 160

/* How near the decisions are to the exact fraction. */
enum mete__limit_precision {
    METE__LIMIT_EXACT,
    METE__LIMIT_STRICT_1NS,  /* buckets: strict by less than a nanosecond, not adding up */
    METE__LIMIT_STRICT_GRAIN /* anchored windows: the start is rounded up to grain_ns */
};

/* Response fields as a gateway would send them, whole seconds rounded up. */
struct mete__limit_headers {
    uint64_t quota;
    uint64_t window_s;
    uint64_t first_remaining; /* after the first request of a key */
    uint64_t first_more_s;    /* until one unit more is there */
    uint64_t retry_after_s;   /* when everything was spent at once and one more is asked for */
};

struct mete__limit_facts {
    struct mete_limit limit;
    char text[METE__LIMIT_TEXT_SIZE];
    bool is_bucket;
    bool is_calendar;
    uint64_t period_ns; /* of a calendar unit: its mean length in the Gregorian calendar */
    uint64_t capacity;
    uint64_t unit_ns; /* one unit every unit_ns / unit_parts ns, in lowest terms */
    uint64_t unit_parts;
    mete__u128 refill_ns;      /* longest time from all spent to as if never seen */
    mete__u128 most_in_period; /* most units that can pass within one period */
    enum mete__limit_precision precision;
    uint64_t grain_ns;
    uint64_t burst_max; /* buckets: the largest burst at this rate; else 0 */
    uint64_t count_max; /* windows and log: the largest count in this period; else 0 */
    struct mete__limit_headers headers;
};

/* limit must have passed mete_limit_check.  The headers come from the library
 * itself, which decides a first request, the rest of the quota, and one more.
 * Any other status than METE_OK: no memory for that. */
mete_status mete__limit_facts_of(const struct mete_limit *limit, struct mete__limit_facts *facts);

#endif

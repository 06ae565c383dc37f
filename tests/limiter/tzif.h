/* SPDX-License-Identifier: Apache-2.0 */
/* TZif files made by hand, for the tests of time zones. */
#ifndef METE_TESTS_LIMITER_TZIF_H
#define METE_TESTS_LIMITER_TZIF_H

#include "limiter/zone.h"

struct tzif {
    unsigned char bytes[4096];
    size_t len;
};

struct tzif_change {
    int64_t at_s;
    unsigned char type;
};

/* size bytes of value, the highest first. */
void tzif_put(struct tzif *file, uint64_t value, size_t size);
void tzif_put_header(struct tzif *file, char version, uint32_t leaps, uint32_t times, uint32_t types);
void tzif_put_body(struct tzif *file, size_t time_size, const struct tzif_change *changes, size_t changes_count,
                   const int32_t *offsets, size_t offsets_count);

/* From -1234 to 3600 at -1000, to 7200 at 1000, back to 3600 at 2000. */
extern const int32_t tzif_offsets[3];
extern const struct tzif_change tzif_changes[3];

/* Version 2: an empty first block, then changes between tzif_offsets, then the footer. */
struct tzif tzif_v2(const struct tzif_change *changes, size_t count, const char *footer);

/* mete__zone_parse on a copy of just the file's size, so that a sanitizer sees a
 * read beyond its end. */
mete_status tzif_parse(const struct tzif *file, struct mete__zone **out);

#endif

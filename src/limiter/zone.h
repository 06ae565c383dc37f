/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time zone as a list of steps: from each moment on, local time is UTC plus a
 * fixed number of seconds.  Made once from a TZif file (RFC 8536, RFC 9636,
 * versions 1 to 4); the rule in the file's footer is written out as steps, so
 * that a look-up is one binary search.
 *
 * The C library has no call that takes a zone as an argument and is safe with
 * threads, so the files are read here.
 *
 * Covers 1968 to 2101, a year more on either side than any window needs.
 * Outside of that the first and the last offset go on.
 *
 * Threads: a zone never changes after it was made; any thread may read it.
 */
#ifndef METE_LIMITER_ZONE_H
#define METE_LIMITER_ZONE_H

#include <mete/mete.h>

/* The moments that are covered: 1968-01-01 up to 2102-01-01, UTC. */
#define METE__ZONE_FROM_S INT64_C(-63158400)
#define METE__ZONE_TO_S INT64_C(4165516800)

/* Every offset is nearer to UTC than this: 26 hours, the bound of RFC 8536, 3.2,
 * and also more than the footer's grammar can say (24:59:59 plus one hour). */
#define METE__ZONE_OFFSET_END_S 93600

/* The largest file of the 2025 data has 3,872 bytes. */
#define METE__ZONE_FILE_SIZE_MAX ((size_t)64 * 1024)

struct mete__zone_step {
    int64_t at_s;     /* the first second of this offset */
    int32_t offset_s; /* local time minus UTC */
};

/*
 * Invariants: at least one step; the first is at INT64_MIN; moments ascend
 * strictly; offsets lie between -+METE__ZONE_OFFSET_END_S, ends excluded.
 */
struct mete__zone {
    size_t steps_count;
    struct mete__zone_step steps[];
};

/*
 * Opens the zone of an IANA name, such as "Europe/Berlin", in the folder that
 * the environment variable TZDIR names, else in /usr/share/zoneinfo.  "" and
 * "UTC" need no file.  Reads a file: not for the decision path.
 *
 * METE_EINVAL    not a zone name (mete__zone_is_name), or no such zone
 * METE_ENOTSUP   a zone that counts leap seconds ("right/...")
 * METE_ECORRUPT  the file is not a time zone, is damaged or above 64 KiB
 * METE_EIO       the file is there but cannot be read
 * METE_ENOMEM    no memory
 */
mete_status mete__zone_open(const char *name, struct mete__zone **out);

/* True when name could be that of a file of the folder: parts of letters, digits
 * and "_+-." between slashes, up to 39 bytes in all. */
bool mete__zone_is_name(const char *name);

/* Makes a zone from the bytes of a TZif file.  Takes at most 16 bytes of memory
 * per 5 bytes of the file, and 5 KiB.  METE_ECORRUPT, METE_ENOTSUP, METE_ENOMEM. */
mete_status mete__zone_parse(const void *bytes, size_t len, struct mete__zone **out);

/* The zone whose local time is UTC. */
mete_status mete__zone_create_utc(struct mete__zone **out);

/* NULL is fine. */
void mete__zone_destroy(struct mete__zone *zone);

/* The index of the step in force at unix_s. */
size_t mete__zone_step_at(const struct mete__zone *zone, int64_t unix_s);

/* Local time minus UTC at unix_s. */
int32_t mete__zone_offset_s(const struct mete__zone *zone, int64_t unix_s);

/*
 * The next two are what maps local time to UTC.  Their argument lies within
 * +-2^62.
 *
 * The first moment at which local clocks show local_s or more, local_s being
 * seconds from 1970-01-01T00:00 local time.  In a fold that is the earlier of
 * two; in a gap it is the end of the gap.
 */
int64_t mete__zone_first_s(const struct mete__zone *zone, int64_t local_s);

/*
 * The most that local clocks have shown up to and at unix_s.  It is what they
 * show now, except while they repeat a time after they were put back.
 */
int64_t mete__zone_most_s(const struct mete__zone *zone, int64_t unix_s);

bool mete__zone_is_valid(const struct mete__zone *zone);

#endif

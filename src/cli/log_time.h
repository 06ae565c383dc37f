/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as logs write them, to Unix nanoseconds, with whole numbers only.
 *
 *   17/May/2015:10:05:03 +0000           the common log format
 *   2023-11-16 18:15:46.68059            ISO 8601 and RFC 3339: T or a space, a
 *   2024-02-29T00:00:00,5+05:45          fraction, a zone or none (then UTC)
 *   1709164800.123456789                 Unix time in s, ms, us or ns
 *
 * Digits of a fraction below a nanosecond are dropped.  A number is read in the
 * largest unit that puts it before 2100.  A second 60 is accepted where a leap
 * second can be, at 23:59:60 UTC, and is the second after it.
 */
#ifndef METE_CLI_LOG_TIME_H
#define METE_CLI_LOG_TIME_H

#include "base/text.h"
#include "cli/log_record.h"

/* The length of a time in the common log format without a fraction. */
#define METE__CLF_TIME_LEN 26

/* The common log format only; all of text.  BAD_TIME or TIME_RANGE. */
enum mete__reason mete__time_read_clf(struct mete__text text, uint64_t *time_ns);

/* Any of the forms above; all of text.  BAD_TIME or TIME_RANGE. */
enum mete__reason mete__time_read(struct mete__text text, uint64_t *time_ns);

#endif

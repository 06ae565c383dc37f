/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV and TSV with a header line.
 *
 * CSV is that of RFC 4180: a field in quotes may hold commas, line ends and
 * doubled quotes.  In TSV a quote means something only when it encloses a whole
 * field: logs hold quotes that are nobody's.  A row may be shorter or longer
 * than the header, as long as the wanted fields are there.
 */
#ifndef METE_CLI_LOG_CSV_H
#define METE_CLI_LOG_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "cli/log_record.h"

/* As a column: there is none. */
#define METE__CSV_NO_COLUMN SIZE_MAX

/* RFC 4180 says nothing about how many lines one record may span.  More than
 * this is a stray quote, and not worth searching further for its partner. */
#define METE__CSV_RECORD_LINES_MAX 100

struct mete__csv {
    char separator;
    size_t key; /* columns, from 0; NO_COLUMN: one key for all */
    size_t time;
    size_t cost;    /* NO_COLUMN: 1 */
    char *unquoted; /* where a key with doubled quotes is put together */
    size_t unquoted_size;
};

/* unquoted is the caller's memory, as large as the longest line. */
void mete__csv_init(struct mete__csv *csv, char separator, char *unquoted, size_t unquoted_size);

/* Reads one record, without its last line end.  OPEN_QUOTE: it may go on in the
 * next line.  out is written when it returns NONE. */
enum mete__reason mete__csv_read(struct mete__csv *csv, struct mete__text record, struct mete__record *out);

/* A field without its quotes; doubled quotes stay as they are. */
struct mete__csv_field {
    struct mete__text text; /* at is NULL when there is no such field */
    bool quoted;
};

/* Takes the next field of a header or a row; *more says whether another follows. */
enum mete__reason mete__csv_take_field(struct mete__text *row, char separator, struct mete__csv_field *out, bool *more);

#endif

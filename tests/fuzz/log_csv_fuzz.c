/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as CSV and as TSV, with a header and without.  What is a request has a
 * time in range and a key no longer than its row; and a key written as a quoted
 * field reads back as the same bytes.
 */
#include <stdint.h>
#include <string.h>

#include <mete/mete.h>

#include "base/assert.h"
#include "cli/log_reader.h"

#define SIZE_MAX_QUOTED 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char scratch[65536];

static void check_rows(struct mete__text rest, char separator)
{
    struct mete__csv csv;
    struct mete__text row;
    mete__csv_init(&csv, separator, scratch, sizeof(scratch));
    csv.key = 0;
    csv.time = 1;
    csv.cost = 2;
    /* The whole input once as one record: quotes may reach over lines. */
    struct mete__record record;
    (void)mete__csv_read(&csv, rest, &record);
    while (mete__text_take_line(&rest, &row)) {
        if (mete__csv_read(&csv, row, &record) == METE__REASON_NONE) {
            METE_ASSERT(record.time_ns <= METE_TIME_MAX);
            METE_ASSERT(record.key_len > 0 && record.key_len <= mete__text_len(&row));
        }
    }
}

static void check_header(struct mete__text bytes, enum mete__format format)
{
    const struct mete__log_wish wish = {format, NULL, NULL, "units"};
    char why_text[256];
    const struct mete__why why = {why_text, sizeof(why_text)};
    struct mete__reader reader;
    enum mete__reader_result result = mete__reader_open(&reader, &wish, bytes, scratch, sizeof(scratch), &why);
    if (result != METE__READER_OK || reader.format == METE__FORMAT_AUTO) {
        return;
    }
    struct mete__text row;
    while (mete__text_take_line(&bytes, &row)) {
        struct mete__record record;
        (void)mete__reader_read(&reader, row, &record);
    }
    mete__reader_close(&reader);
}

/* Writes the bytes as a quoted field of a row and reads them back. */
static void check_quoting(const char *bytes, size_t len, char separator)
{
    static char row[2 * SIZE_MAX_QUOTED + 16];
    bool plain = len > 0 && memchr(bytes, '\0', len) == NULL;
    if (!plain || len > SIZE_MAX_QUOTED || (separator == '\t' && memchr(bytes, '\t', len) != NULL)) {
        return;
    }
    size_t n = 0;
    row[n++] = '"';
    for (size_t i = 0; i < len; i++) {
        row[n++] = bytes[i];
        if (bytes[i] == '"') {
            row[n++] = '"';
        }
    }
    row[n++] = '"';
    row[n++] = separator;
    row[n++] = '7';
    struct mete__csv csv;
    struct mete__record record;
    mete__csv_init(&csv, separator, scratch, sizeof(scratch));
    csv.key = 0;
    csv.time = 1;
    METE_ASSERT(mete__csv_read(&csv, mete__text_of(row, n), &record) == METE__REASON_NONE);
    METE_ASSERT(record.key_len == len && memcmp(record.key, bytes, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mete__text bytes = mete__text_of((const char *)data, size);
    check_rows(bytes, ',');
    check_rows(bytes, '\t');
    check_header(bytes, METE__FORMAT_CSV);
    check_header(bytes, METE__FORMAT_TSV);
    check_quoting(bytes.at, size, ',');
    check_quoting(bytes.at, size, '\t');
    return 0;
}

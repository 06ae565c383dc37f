/* SPDX-License-Identifier: Apache-2.0 */
/* CSV and TSV; log_csv.h says what is read. */
#include "cli/log_csv.h"

#include "base/assert.h"
#include "cli/log_time.h"

struct wanted {
    struct mete__csv_field key, time, cost;
};

static enum mete__reason find_wanted(const struct mete__csv *csv, struct mete__text row, struct wanted *out);
static struct mete__text undouble(const struct mete__csv *csv, const struct mete__csv_field *field);

enum mete__reason mete__csv_read(struct mete__csv *csv, struct mete__text record, struct mete__record *out)
{
    if (memchr(record.at, '\0', mete__text_len(&record)) != NULL) {
        return METE__REASON_NUL;
    }
    struct wanted wanted;
    enum mete__reason reason = find_wanted(csv, record, &wanted);
    if (reason != METE__REASON_NONE) {
        return reason;
    }
    if (csv->key != METE__CSV_NO_COLUMN && mete__text_is_empty(&wanted.key.text)) {
        return METE__REASON_NO_KEY;
    }
    if (wanted.time.text.at == NULL) {
        return METE__REASON_NO_TIME;
    }
    uint64_t time_ns = 0;
    reason = mete__time_read(wanted.time.text, &time_ns);
    if (reason != METE__REASON_NONE) {
        return reason;
    }
    uint64_t cost = 1;
    if (csv->cost != METE__CSV_NO_COLUMN) {
        if (wanted.cost.text.at == NULL) {
            return METE__REASON_NO_COST;
        }
        reason = mete__cost_read(wanted.cost.text.at, mete__text_len(&wanted.cost.text), &cost);
        if (reason != METE__REASON_NONE) {
            return reason;
        }
    }
    struct mete__text key = undouble(csv, &wanted.key);
    *out = (struct mete__record){key.at, mete__text_len(&key), time_ns, cost};
    return METE__REASON_NONE;
}

/* Walks over the whole row: a broken quote anywhere makes it unreadable. */
static enum mete__reason find_wanted(const struct mete__csv *csv, struct mete__text row, struct wanted *out)
{
    *out = (struct wanted){.key.text = {"", ""}}; /* a missing key is as good as an empty one */
    bool more = true;
    for (size_t column = 0; more; column++) {
        struct mete__csv_field field;
        enum mete__reason reason = mete__csv_take_field(&row, csv->separator, &field, &more);
        if (reason != METE__REASON_NONE) {
            return reason;
        }
        if (column == csv->key) {
            out->key = field;
        }
        if (column == csv->time) {
            out->time = field;
        }
        if (column == csv->cost) {
            out->cost = field;
        }
    }
    return METE__REASON_NONE;
}

/* Takes a field after its opening quote, and its closing quote. */
static bool take_quoted(struct mete__text *row, struct mete__text *out)
{
    const char *start = row->at;
    for (;;) {
        (void)mete__text_until(row, '"');
        *out = (struct mete__text){start, row->at};
        if (!mete__text_eat(row, '"')) {
            return false;
        }
        if (!mete__text_eat(row, '"')) {
            return true;
        }
    }
}

static enum mete__reason take_csv_field(struct mete__text *row, char separator, struct mete__csv_field *out)
{
    out->quoted = mete__text_eat(row, '"');
    if (!out->quoted) {
        out->text = mete__text_until(row, separator);
        return METE__REASON_NONE;
    }
    if (!take_quoted(row, &out->text)) {
        return METE__REASON_OPEN_QUOTE;
    }
    bool at_end = mete__text_is_empty(row) || *row->at == separator;
    return at_end ? METE__REASON_NONE : METE__REASON_QUOTES;
}

static void take_tsv_field(struct mete__text *row, struct mete__csv_field *out)
{
    out->text = mete__text_until(row, '\t');
    struct mete__text inner = out->text;
    struct mete__text quoted;
    out->quoted = mete__text_eat(&inner, '"') && take_quoted(&inner, &quoted) && mete__text_is_empty(&inner);
    if (out->quoted) {
        out->text = quoted;
    }
}

enum mete__reason mete__csv_take_field(struct mete__text *row, char separator, struct mete__csv_field *out, bool *more)
{
    if (separator == '\t') {
        take_tsv_field(row, out);
    } else {
        enum mete__reason reason = take_csv_field(row, separator, out);
        if (reason != METE__REASON_NONE) {
            return reason;
        }
    }
    *more = mete__text_eat(row, separator);
    return METE__REASON_NONE;
}

/* The field with each doubled quote made one.  In a quoted field quotes come in
 * pairs only; a field that was not quoted keeps what it has. */
static struct mete__text undouble(const struct mete__csv *csv, const struct mete__csv_field *field)
{
    size_t len = mete__text_len(&field->text);
    if (!field->quoted || memchr(field->text.at, '"', len) == NULL) {
        return field->text;
    }
    METE_ASSERT(len <= csv->unquoted_size);
    size_t n = 0;
    for (const char *at = field->text.at; at < field->text.end; at++) {
        csv->unquoted[n++] = *at;
        at += *at == '"';
    }
    return mete__text_of(csv->unquoted, n);
}

void mete__csv_init(struct mete__csv *csv, char separator, char *unquoted, size_t unquoted_size)
{
    *csv = (struct mete__csv){separator, METE__CSV_NO_COLUMN, METE__CSV_NO_COLUMN, METE__CSV_NO_COLUMN,
                              unquoted,  unquoted_size};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Guessing from the first bytes of a log; log_sniff.h says what. */
#include "cli/log_sniff.h"

#include <stdio.h>
#include <strings.h>

#include "cli/log_names.h"

static enum mete__format sniff_lines(struct mete__text sample);
static enum mete__format sniff_header(struct mete__text line);

bool mete__text_take_line(struct mete__text *text, struct mete__text *line)
{
    if (mete__text_is_empty(text)) {
        return false;
    }
    *line = mete__text_until(text, '\n');
    (void)mete__text_eat(text, '\n');
    if (line->end > line->at && line->end[-1] == '\r') {
        line->end--;
    }
    return true;
}

bool mete__sniff_first_line(struct mete__text sample, struct mete__text *line)
{
    while (mete__text_take_line(&sample, line)) {
        if (!mete__line_is_empty(*line)) {
            return true;
        }
    }
    return false;
}

/* Lines that can only be of one format decide.  Only when there are none may
 * the first be a header, as nearly any text can be one. */
bool mete__sniff(struct mete__text sample, enum mete__format *format)
{
    struct mete__text first;
    if (!mete__sniff_first_line(sample, &first)) {
        return false;
    }
    *format = sniff_lines(sample);
    if (*format == METE__FORMAT_AUTO) {
        *format = sniff_header(first);
    }
    return *format != METE__FORMAT_AUTO;
}

static enum mete__format sniff_lines(struct mete__text sample)
{
    struct mete__clf clf;
    mete__clf_init(&clf, METE__CLF_ADDRESS, METE__CLF_NONE);
    struct mete__text line;
    enum mete__format format = METE__FORMAT_AUTO;
    for (int i = 0; i < METE__SNIFF_LINES && mete__text_take_line(&sample, &line); i++) {
        struct mete__record record;
        if (mete__clf_read(&clf, line, &record) == METE__REASON_NONE) {
            if (mete__clf_is_combined(line)) {
                return METE__FORMAT_COMBINED;
            }
            format = METE__FORMAT_COMMON;
        } else if (format == METE__FORMAT_AUTO && !mete__text_is_empty(&line) && *line.at == '{') {
            json_t *row = mete__json_parse(line);
            if (row != NULL) {
                json_decref(row);
                return METE__FORMAT_JSON;
            }
        }
    }
    return format;
}

static enum mete__format sniff_header(struct mete__text line)
{
    size_t len = mete__text_len(&line);
    size_t column = 0;
    char name[METE__FIELD_NAME_SIZE];
    if (memchr(line.at, '\t', len) != NULL) {
        return METE__FORMAT_TSV;
    }
    if (memchr(line.at, ',', len) != NULL || mete__sniff_column_of(line, ',', mete__time_names, name, &column)) {
        return METE__FORMAT_CSV;
    }
    return METE__FORMAT_AUTO;
}

/* --- names of fields ---------------------------------------------------- */

static bool is_name(struct mete__text text, const char *name)
{
    return mete__text_len(&text) == strlen(name) && strncasecmp(text.at, name, strlen(name)) == 0;
}

static bool member_name(json_t *row, const char *wanted, char found[METE__FIELD_NAME_SIZE])
{
    const char *name;
    json_t *value;
    json_object_foreach(row, name, value)
    {
        if (strcasecmp(name, wanted) == 0 && (json_is_string(value) || json_is_number(value))) {
            snprintf(found, METE__FIELD_NAME_SIZE, "%s", name);
            return true;
        }
    }
    return false;
}

/* The row's best name among names[0..*bound-1]; *bound becomes its place. */
static bool best_name(json_t *row, const char *const *names, size_t *bound, char found[METE__FIELD_NAME_SIZE])
{
    for (size_t i = 0; i < *bound && names[i] != NULL; i++) {
        if (member_name(row, names[i], found)) {
            *bound = i;
            return true;
        }
    }
    return false;
}

bool mete__sniff_json_name(struct mete__text sample, const char *const *names, char found[METE__FIELD_NAME_SIZE])
{
    size_t bound = SIZE_MAX;
    struct mete__text line;
    for (int i = 0; i < METE__SNIFF_LINES && mete__text_take_line(&sample, &line); i++) {
        json_t *row = mete__json_parse(line);
        if (row != NULL) {
            (void)best_name(row, names, &bound, found);
            json_decref(row);
        }
    }
    return bound != SIZE_MAX;
}

/* Finds a column by its name; exact, or without regard to case. */
static bool find_column(struct mete__text header, char separator, const char *name, bool exact, size_t *column,
                        struct mete__text *written)
{
    bool more = true;
    for (size_t at = 0; more; at++) {
        struct mete__csv_field field;
        if (mete__csv_take_field(&header, separator, &field, &more) != METE__REASON_NONE) {
            return false;
        }
        if (exact ? mete__text_is(&field.text, name) : is_name(field.text, name)) {
            *column = at;
            *written = field.text;
            return true;
        }
    }
    return false;
}

bool mete__sniff_column(struct mete__text header, char separator, const char *name, size_t *column)
{
    struct mete__text written;
    return find_column(header, separator, name, true, column, &written);
}

bool mete__sniff_column_of(struct mete__text header, char separator, const char *const *names,
                           char found[METE__FIELD_NAME_SIZE], size_t *column)
{
    for (; *names != NULL; names++) {
        struct mete__text written;
        if (find_column(header, separator, *names, false, column, &written)) {
            snprintf(found, METE__FIELD_NAME_SIZE, "%.*s", (int)mete__text_len(&written), written.at);
            return true;
        }
    }
    return false;
}

size_t mete__escape(struct mete__text bytes, char *text, size_t size)
{
    size_t len = 0;
    for (const char *at = bytes.at; at < bytes.end; at++) {
        /* Room for the longest escape, and for "..." after it. */
        if (len + 4 + 3 >= size) {
            return len + (size_t)snprintf(text + len, size - len, "...");
        }
        bool plain = *at >= ' ' && *at <= '~' && *at != '\\';
        const char *format = plain ? "%c" : *at == '\\' ? "\\%c" : "\\x%02x";
        len += (size_t)snprintf(text + len, size - len, format, plain || *at == '\\' ? *at : (unsigned char)*at);
    }
    text[len] = '\0';
    return len;
}

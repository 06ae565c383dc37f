/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a reader with its fields, and reading through it; log_reader.h says what. */
#include "cli/log_reader.h"

#include <stdio.h>

#include "base/assert.h"
#include "cli/log_names.h"
#include "cli/log_sniff.h"

static enum mete__reader_result open_clf(struct mete__reader *reader, const struct mete__log_wish *wish,
                                         const struct mete__why *why);
static enum mete__reader_result open_json(struct mete__reader *reader, const struct mete__log_wish *wish,
                                          struct mete__text sample, const struct mete__why *why);
static enum mete__reader_result open_csv(struct mete__reader *reader, const struct mete__log_wish *wish,
                                         struct mete__text sample, const struct mete__why *why);

enum mete__reason mete__reader_read(struct mete__reader *reader, struct mete__text line, struct mete__record *out)
{
    switch (reader->format) {
    case METE__FORMAT_COMMON:
    case METE__FORMAT_COMBINED:
        return mete__clf_read(&reader->as.clf, line, out);
    case METE__FORMAT_JSON:
        return mete__json_read(&reader->as.json, line, out);
    case METE__FORMAT_CSV:
    case METE__FORMAT_TSV:
        return mete__csv_read(&reader->as.csv, line, out);
    case METE__FORMAT_AUTO:
    case METE__FORMATS:
        break;
    }
    METE_ASSERT(reader->format != METE__FORMAT_AUTO);
    return METE__REASON_NO_TIME;
}

enum mete__reader_result mete__reader_open(struct mete__reader *reader, const struct mete__log_wish *wish,
                                           struct mete__text sample, char *scratch, size_t scratch_size,
                                           const struct mete__why *why)
{
    *reader = (struct mete__reader){.format = wish->format};
    reader->shared_key = wish->key != NULL && strcmp(wish->key, METE__KEY_SHARED) == 0;
    struct mete__text first;
    if (!mete__sniff_first_line(sample, &first)) {
        reader->format = METE__FORMAT_AUTO;
        return METE__READER_OK;
    }
    if (wish->format == METE__FORMAT_AUTO && !mete__sniff(sample, &reader->format)) {
        (void)mete__fail(why, METE_EINVAL, "the format cannot be told from the first lines; name it with --format");
        return METE__READER_BAD_INPUT;
    }
    switch (reader->format) {
    case METE__FORMAT_JSON:
        return open_json(reader, wish, sample, why);
    case METE__FORMAT_CSV:
    case METE__FORMAT_TSV:
        reader->header = true;
        mete__csv_init(&reader->as.csv, reader->format == METE__FORMAT_TSV ? '\t' : ',', scratch, scratch_size);
        return open_csv(reader, wish, first, why);
    default:
        return open_clf(reader, wish, why);
    }
}

void mete__reader_close(struct mete__reader *reader)
{
    if (reader->format == METE__FORMAT_JSON) {
        mete__json_clear(&reader->as.json);
    }
}

const char *mete__reader_absent_option(const struct mete__reader *reader, const struct mete__log_wish *wish,
                                       const char **name)
{
    if (reader->format != METE__FORMAT_JSON) {
        return NULL;
    }
    const struct mete__json *json = &reader->as.json;
    const struct {
        const char *option;
        const char *wish;
        const struct mete__json_field *field;
    } rows[] = {
        {"--key", wish->key, &json->key}, {"--time", wish->time, &json->time}, {"--cost", wish->cost, &json->cost}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].wish != NULL && rows[i].field->missed && !rows[i].field->found) {
            *name = rows[i].field->name;
            return rows[i].option;
        }
    }
    return NULL;
}

/* --- fields of a format ------------------------------------------------- */

/* Finds the option's field, which must be one that this format has. */
static bool clf_field(const struct mete__reader *reader, const char *option, const char *name,
                      enum mete__clf_field *field, const struct mete__why *why)
{
    enum mete__clf_field last = reader->format == METE__FORMAT_COMMON ? METE__CLF_COMMON_LAST : METE__CLF_AGENT;
    if (mete__clf_field_find(name, field) && *field <= last) {
        return true;
    }
    char list[160];
    size_t len = 0;
    for (enum mete__clf_field at = METE__CLF_ADDRESS; at <= last; at++) {
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", len > 0 ? ", " : "", mete__clf_field_name(at));
    }
    (void)mete__fail(why, METE_EINVAL, "%s: the %s log format has no field '%s', but %s", option,
                     mete__format_name(reader->format), name, list);
    return false;
}

static enum mete__reader_result open_clf(struct mete__reader *reader, const struct mete__log_wish *wish,
                                         const struct mete__why *why)
{
    enum mete__clf_field key = METE__CLF_ADDRESS;
    enum mete__clf_field cost = METE__CLF_NONE;
    enum mete__clf_field time = METE__CLF_TIME;
    if (reader->shared_key) {
        key = METE__CLF_NONE;
    } else if (wish->key != NULL && !clf_field(reader, "--key", wish->key, &key, why)) {
        return METE__READER_BAD_WISH;
    }
    if ((wish->cost != NULL && !clf_field(reader, "--cost", wish->cost, &cost, why)) ||
        (wish->time != NULL && !clf_field(reader, "--time", wish->time, &time, why))) {
        return METE__READER_BAD_WISH;
    }
    if (time != METE__CLF_TIME) {
        (void)mete__fail(why, METE_EINVAL, "--time: the time of this format is the field time, not '%s'", wish->time);
        return METE__READER_BAD_WISH;
    }
    mete__clf_init(&reader->as.clf, key, cost);
    snprintf(reader->key_name, sizeof(reader->key_name), "%s", reader->shared_key ? "" : mete__clf_field_name(key));
    snprintf(reader->time_name, sizeof(reader->time_name), "time");
    return METE__READER_OK;
}

static enum mete__reader_result open_json(struct mete__reader *reader, const struct mete__log_wish *wish,
                                          struct mete__text sample, const struct mete__why *why)
{
    const char *key = reader->shared_key ? NULL : wish->key;
    const char *time = wish->time;
    if (key == NULL && !reader->shared_key) {
        reader->key_missing = !mete__sniff_json_name(sample, mete__key_names, reader->key_name);
        reader->shared_key = reader->key_missing;
        key = reader->key_missing ? NULL : reader->key_name;
    } else if (key != NULL) {
        snprintf(reader->key_name, sizeof(reader->key_name), "%s", key);
    }
    if (time == NULL) {
        if (!mete__sniff_json_name(sample, mete__time_names, reader->time_name)) {
            (void)mete__fail(why, METE_EINVAL,
                             "no member of the first objects has the name of a time; "
                             "name it with --time");
            return METE__READER_BAD_INPUT;
        }
        time = reader->time_name;
    } else {
        snprintf(reader->time_name, sizeof(reader->time_name), "%s", time);
    }
    mete__json_init(&reader->as.json, key, time, wish->cost);
    return METE__READER_OK;
}

/* The header's names, for a message: as many as fit. */
static void list_header(struct mete__text header, char separator, char *list, size_t size)
{
    bool more = true;
    size_t len = 0;
    struct mete__csv_field field;
    list[0] = '\0';
    while (more && len + METE__FIELD_NAME_SIZE + 8 < size &&
           mete__csv_take_field(&header, separator, &field, &more) == METE__REASON_NONE) {
        char name[METE__FIELD_NAME_SIZE];
        (void)mete__escape(field.text, name, sizeof(name));
        len += (size_t)snprintf(list + len, size - len, "%s'%s'", len > 0 ? ", " : "", name);
    }
    if (more && len > 0) {
        snprintf(list + len, size - len, " ...");
    }
}

static bool csv_column(struct mete__text header, char separator, const char *option, const char *name, size_t *column,
                       const struct mete__why *why)
{
    if (mete__sniff_column(header, separator, name, column)) {
        return true;
    }
    char list[256];
    list_header(header, separator, list, sizeof(list));
    (void)mete__fail(why, METE_EINVAL, "%s: there is no field '%s' in the header: %s", option, name, list);
    return false;
}

static enum mete__reader_result open_csv(struct mete__reader *reader, const struct mete__log_wish *wish,
                                         struct mete__text header, const struct mete__why *why)
{
    struct mete__csv *csv = &reader->as.csv;
    char separator = csv->separator;
    if (!reader->shared_key && wish->key != NULL) {
        if (!csv_column(header, separator, "--key", wish->key, &csv->key, why)) {
            return METE__READER_BAD_WISH;
        }
        snprintf(reader->key_name, sizeof(reader->key_name), "%s", wish->key);
    } else if (!reader->shared_key) {
        reader->key_missing = !mete__sniff_column_of(header, separator, mete__key_names, reader->key_name, &csv->key);
        reader->shared_key = reader->key_missing;
    }
    if (wish->cost != NULL && !csv_column(header, separator, "--cost", wish->cost, &csv->cost, why)) {
        return METE__READER_BAD_WISH;
    }
    if (wish->time != NULL) {
        snprintf(reader->time_name, sizeof(reader->time_name), "%s", wish->time);
        return csv_column(header, separator, "--time", wish->time, &csv->time, why) ? METE__READER_OK
                                                                                    : METE__READER_BAD_WISH;
    }
    if (!mete__sniff_column_of(header, separator, mete__time_names, reader->time_name, &csv->time)) {
        char list[256];
        list_header(header, separator, list, sizeof(list));
        (void)mete__fail(why, METE_EINVAL,
                         "read as %s, but no field of its header has the name of a time (%s); "
                         "name it with --time, or the format with --format",
                         mete__format_name(reader->format), list);
        return METE__READER_BAD_INPUT;
    }
    return METE__READER_OK;
}

static const char *const format_names[METE__FORMATS] = {"auto", "common", "combined", "json", "csv", "tsv"};

const char *mete__format_name(enum mete__format format)
{
    return format_names[format];
}

bool mete__format_find(const char *name, enum mete__format *out)
{
    for (enum mete__format format = METE__FORMAT_AUTO; format < METE__FORMATS; format++) {
        if (strcmp(format_names[format], name) == 0) {
            *out = format;
            return true;
        }
    }
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as JSON lines.  What is a request has a time in range; a key that is a
 * number has the bytes of just the number that jansson read; and whatever the
 * first bytes are taken for, opening and reading them does no harm.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mete/mete.h>

#include "base/assert.h"
#include "cli/log_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char scratch[65536];

static void check_key(const struct mete__json *json, const struct mete__record *record)
{
    const json_t *value = json->key.name != NULL ? json_object_get(json->row, json->key.name) : NULL;
    if (json_is_string(value)) {
        METE_ASSERT(record->key == json_string_value(value) && record->key_len == json_string_length(value));
    } else if (json_is_number(value)) {
        char text[512];
        METE_ASSERT(record->key_len > 0);
        if (record->key_len < sizeof(text)) {
            char *end = NULL;
            memcpy(text, record->key, record->key_len);
            text[record->key_len] = '\0';
            double number = strtod(text, &end);
            METE_ASSERT(end == text + record->key_len);
            METE_ASSERT(memcmp(&number, &(double){json_number_value(value)}, sizeof(number)) == 0);
        }
    }
}

static void check_rows(struct mete__text rest, const char *key, const char *cost)
{
    struct mete__json json;
    struct mete__text line;
    mete__json_init(&json, key, "when", cost);
    while (mete__text_take_line(&rest, &line)) {
        struct mete__record record;
        if (mete__json_read(&json, line, &record) == METE__REASON_NONE) {
            METE_ASSERT(record.time_ns <= METE_TIME_MAX);
            METE_ASSERT((record.key_len == 0) == (key == NULL));
            check_key(&json, &record);
        }
    }
    mete__json_clear(&json);
}

/* The way of a file through the program: the format is found from the bytes. */
static void check_reader(struct mete__text bytes)
{
    const struct mete__log_wish wish = {METE__FORMAT_AUTO, NULL, NULL, NULL};
    char why_text[256];
    const struct mete__why why = {why_text, sizeof(why_text)};
    struct mete__reader reader;
    if (mete__reader_open(&reader, &wish, bytes, scratch, sizeof(scratch), &why) != METE__READER_OK ||
        reader.format == METE__FORMAT_AUTO) {
        return;
    }
    struct mete__text line;
    while (mete__text_take_line(&bytes, &line)) {
        struct mete__record record;
        if (mete__reader_read(&reader, line, &record) == METE__REASON_NONE) {
            METE_ASSERT(record.time_ns <= METE_TIME_MAX);
            METE_ASSERT((record.key_len == 0) == reader.shared_key);
        }
    }
    mete__reader_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mete__text bytes = mete__text_of((const char *)data, size);
    check_rows(bytes, "key", NULL);
    check_rows(bytes, "request.ip", "units");
    check_rows(bytes, NULL, "units");
    check_reader(bytes);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines of any bytes: one line each, of bounded length, in valid UTF-8.  In logfmt
 * each value that was not cut reads back as it was; in JSON it is what jansson
 * reads, with \xNN for bytes that are no UTF-8.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "server/log.h"

#define LINE_MAX_BYTES 4096u
#define WHOLE_MAX 240u /* as \xNN still below the bound of a value */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char line[LINE_MAX_BYTES + 1];

/* Writes one line with these two values and reads it back. */
static size_t write_line(bool is_json, const char *bytes, size_t first_len, size_t second_len)
{
    static int ends[2] = {-1, -1};
    if (ends[0] < 0) {
        METE_ASSERT(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
        mete__log_to(ends[1]);
    }
    mete__log_configure(is_json, METE__LOG_DEBUG);
    METE__LOG(METE__LOG_INFO, "e", METE__LOG_BYTES("a", bytes, first_len),
              METE__LOG_BYTES("b", bytes + first_len, second_len), METE__LOG_U64("n", first_len));
    ssize_t len = recv(ends[0], line, sizeof(line), MSG_DONTWAIT);
    METE_ASSERT(len > 1 && len <= (ssize_t)LINE_MAX_BYTES);
    METE_ASSERT(memchr(line, '\n', (size_t)len) == line + len - 1);
    line[len] = '\0';
    METE_ASSERT(strlen(line) == (size_t)len);
    for (ssize_t i = 0; i < len - 1; i++) {
        METE_ASSERT((unsigned char)line[i] >= 0x20 && line[i] != 0x7F);
    }
    return (size_t)len;
}

static unsigned hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* The value at *at, undone; returns its length. */
static size_t read_value(const char **at, char *to)
{
    size_t len = 0;
    const char *from = *at;
    if (*from != '"') {
        len = strcspn(from, " \n");
        memcpy(to, from, len);
        *at = from + len;
        return len;
    }
    for (from++; *from != '"'; from++) {
        METE_ASSERT(*from != '\0');
        if (*from != '\\') {
            to[len++] = *from;
        } else if (*++from == 'x') {
            to[len++] = (char)(hex_digit(from[1]) << 4 | hex_digit(from[2]));
            from += 2;
        } else {
            to[len++] = *from == 'n' ? '\n' : *from == 'r' ? '\r' : *from == 't' ? '\t' : *from;
        }
    }
    *at = from + 1;
    return len;
}

static void expect_value(const char **at, const char *name, const char *wanted, size_t wanted_len)
{
    char value[LINE_MAX_BYTES];
    METE_ASSERT(strncmp(*at, name, strlen(name)) == 0);
    *at += strlen(name);
    size_t len = read_value(at, value);
    METE_ASSERT(len == wanted_len && memcmp(value, wanted, len) == 0);
}

static void check_logfmt(const char *bytes, size_t first_len, size_t second_len)
{
    char number[32];
    write_line(false, bytes, first_len, second_len);
    json_t *text = json_string(line); /* valid UTF-8, or NULL */
    METE_ASSERT(text != NULL);
    json_decref(text);
    if (first_len <= WHOLE_MAX && second_len <= WHOLE_MAX) {
        const char *at = strstr(line, " a=");
        expect_value(&at, " a=", bytes, first_len);
        expect_value(&at, " b=", bytes + first_len, second_len);
        snprintf(number, sizeof(number), " n=%zu\n", first_len);
        METE_ASSERT(strcmp(at, number) == 0);
    }
}

static void check_json(const char *bytes, size_t first_len, size_t second_len)
{
    size_t len = write_line(true, bytes, first_len, second_len);
    json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    METE_ASSERT(object != NULL && json_object_size(object) == 6);
    METE_ASSERT((size_t)json_integer_value(json_object_get(object, "n")) == first_len);
    json_t *was = json_stringn(bytes, first_len);
    if (was != NULL && first_len <= 160) { /* as \u00NN below the bound */
        METE_ASSERT(json_equal(json_object_get(object, "a"), was));
    }
    json_decref(was);
    json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    /* The first byte says where the second value begins. */
    char *bytes = malloc(size);
    METE_ASSERT(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    size_t first_len = data[0] * (size - 1) / 255;
    check_logfmt(bytes, first_len, size - 1 - first_len);
    check_json(bytes, first_len, size - 1 - first_len);
    free(bytes);
    return 0;
}

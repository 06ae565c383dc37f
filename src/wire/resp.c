/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/resp.h"

#include <string.h>
#include <strings.h>

/* A length line is short: sign and digits of a 64-bit number, and slack. */
#define LENGTH_LINE_MAX 32u

struct reader {
    const char *at;
    const char *end;
};

/*
 * A decimal number and CRLF.  MORE when the line has not ended yet.  Lengths are
 * not negative here but for the one null array, -1, which Redis ignores.
 */
static enum mete__resp_result read_length(struct reader *reader, int64_t *out)
{
    const char *at = reader->at;
    int64_t value = 0;
    bool is_negative = at < reader->end && *at == '-';
    at += is_negative;
    const char *digits = at;
    while (at < reader->end && *at >= '0' && *at <= '9' && at - digits < 18) {
        value = value * 10 + (*at - '0');
        at++;
    }
    if (at == reader->end || at + 1 == reader->end) {
        bool is_open = (size_t)(at - reader->at) < LENGTH_LINE_MAX && (at == reader->end || *at == '\r');
        return is_open ? METE__RESP_MORE : METE__RESP_MALFORMED;
    }
    if (at == digits || at[0] != '\r' || at[1] != '\n') {
        return METE__RESP_MALFORMED;
    }
    reader->at = at + 2;
    *out = is_negative ? -value : value;
    return METE__RESP_DONE;
}

/* Most lengths have one or two digits, and their whole line is there: then this is all. */
static inline bool read_short_length(struct reader *reader, int64_t *out)
{
    const char *at = reader->at;
    if (reader->end - at < 4) {
        return false;
    }
    unsigned first = (unsigned)(at[0] - '0'), second = (unsigned)(at[1] - '0');
    bool has_two = second <= 9;
    if (first > 9 || at[1 + has_two] != '\r' || at[2 + has_two] != '\n') {
        return false;
    }
    *out = has_two ? first * 10 + second : first;
    reader->at = at + 3 + has_two;
    return true;
}

static enum mete__resp_result read_bulk(struct reader *reader, const struct mete__resp_bounds *bounds,
                                        struct mete__span *out, const char **error)
{
    int64_t len;
    if (reader->at == reader->end) {
        return METE__RESP_MORE;
    }
    if (*reader->at != '$') {
        *error = "Protocol error: expected '$'";
        return METE__RESP_MALFORMED;
    }
    reader->at++;
    enum mete__resp_result result = read_short_length(reader, &len) ? METE__RESP_DONE : read_length(reader, &len);
    if (result == METE__RESP_MORE) {
        return result;
    }
    if (result != METE__RESP_DONE || len < 0) {
        *error = "Protocol error: invalid bulk length";
        return METE__RESP_MALFORMED;
    }
    if ((uint64_t)len > bounds->bulk_max) {
        *error = "Protocol error: invalid bulk length: longer than this server takes";
        return METE__RESP_TOO_LARGE;
    }
    if (reader->end - reader->at < len + 2) {
        return METE__RESP_MORE;
    }
    *out = (struct mete__span){reader->at, (size_t)len};
    if (reader->at[len] != '\r' || reader->at[len + 1] != '\n') {
        *error = "Protocol error: an argument does not end where its length says";
        return METE__RESP_MALFORMED;
    }
    reader->at += len + 2;
    return METE__RESP_DONE;
}

static enum mete__resp_result read_array(struct reader *reader, const struct mete__resp_bounds *bounds,
                                         struct mete__resp_request *request, const char **error)
{
    int64_t count;
    enum mete__resp_result result = read_short_length(reader, &count) ? METE__RESP_DONE : read_length(reader, &count);
    if (result == METE__RESP_MORE) {
        return result;
    }
    if (result != METE__RESP_DONE) {
        *error = "Protocol error: invalid multibulk length";
        return METE__RESP_MALFORMED;
    }
    if (count > 0 && (uint64_t)count > bounds->args_max) {
        *error = "Protocol error: invalid multibulk length: more arguments than this server takes";
        return METE__RESP_TOO_LARGE;
    }
    request->count = count > 0 ? (size_t)count : 0;
    for (size_t i = 0; i < request->count; i++) {
        struct mete__span unkept;
        struct mete__span *arg = i < METE__RESP_ARGS_MAX ? &request->args[i] : &unkept;
        result = read_bulk(reader, bounds, arg, error);
        if (result != METE__RESP_DONE) {
            return result;
        }
    }
    return METE__RESP_DONE;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Words on one line.  A quote is refused rather than read in one of its many meanings. */
static enum mete__resp_result read_inline(struct reader *reader, const struct mete__resp_bounds *bounds,
                                          struct mete__resp_request *request, const char **error)
{
    size_t len = (size_t)(reader->end - reader->at);
    const char *newline = memchr(reader->at, '\n', len < bounds->bulk_max + 2 ? len : bounds->bulk_max + 2);
    if (newline == NULL) {
        *error = "Protocol error: too big inline request";
        return len < bounds->bulk_max + 2 ? METE__RESP_MORE : METE__RESP_TOO_LARGE;
    }
    const char *end = newline > reader->at && newline[-1] == '\r' ? newline - 1 : newline;
    const char *at = reader->at;
    request->count = 0;
    while (at < end) {
        if (is_blank(*at)) {
            at++;
            continue;
        }
        const char *word = at;
        while (at < end && !is_blank(*at)) {
            if (*at == '"' || *at == '\'' || *at == '\0' || *at == '\r') {
                *error = "Protocol error: quotes and control bytes are not taken in an inline request";
                return METE__RESP_MALFORMED;
            }
            at++;
        }
        if (request->count < METE__RESP_ARGS_MAX) {
            request->args[request->count] = (struct mete__span){word, (size_t)(at - word)};
        }
        request->count++;
    }
    reader->at = newline + 1;
    return METE__RESP_DONE;
}

enum mete__resp_result mete__resp_read(const char *bytes, size_t len, const struct mete__resp_bounds *bounds,
                                       struct mete__resp_request *request, size_t *consumed, const char **error)
{
    struct reader reader = {bytes, bytes + len};
    enum mete__resp_result result;
    if (len == 0) {
        return METE__RESP_MORE;
    }
    if (*bytes == '*') {
        reader.at++;
        result = read_array(&reader, bounds, request, error);
    } else {
        result = read_inline(&reader, bounds, request, error);
    }
    if (result == METE__RESP_DONE) {
        *consumed = (size_t)(reader.at - bytes);
    }
    return result;
}

bool mete__resp_integer(struct mete__span text, int64_t *out)
{
    const char *at = text.at;
    const char *end = text.at + text.len;
    bool is_negative = at < end && *at == '-';
    at += is_negative;
    if (at == end || end - at > 19 || (*at == '0' && (end - at > 1 || is_negative))) {
        return false;
    }
    uint64_t value = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(*at - '0'); /* 19 digits fit 64 bits */
    }
    if (value > (uint64_t)INT64_MAX + is_negative) {
        return false;
    }
    *out = is_negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool mete__resp_is(struct mete__span arg, const char *word)
{
    return arg.len == strlen(word) && strncasecmp(arg.at, word, arg.len) == 0;
}

void mete__resp_show(struct mete__span word, char *text, size_t size)
{
    size_t len = word.len < size - 1 ? word.len : size - 1;
    for (size_t i = 0; i < len; i++) {
        text[i] = word.at[i] >= ' ' && word.at[i] <= '~' ? word.at[i] : '?';
    }
    text[len] = '\0';
}

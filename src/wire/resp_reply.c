/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "wire/resp.h"

#define ERROR_MAX 512u
/* A type byte, the digits of a 64-bit number with its sign, CRLF. */
#define HEAD_MAX 24u

static void head(struct mete__out *out, char type, uint64_t number)
{
    char *room = mete__out_room(out, HEAD_MAX);
    if (room == NULL) {
        return;
    }
    room[0] = type;
    size_t len = 1 + mete__write_u64(room + 1, number);
    room[len] = '\r';
    room[len + 1] = '\n';
    out->len += len + 2;
}

void mete__resp_simple(struct mete__out *out, const char *text)
{
    mete__out_bytes(out, "+", 1);
    mete__out_text(out, text);
    mete__out_bytes(out, "\r\n", 2);
}

void mete__resp_error(struct mete__out *out, const char *format, ...)
{
    char text[ERROR_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ') {
            *at = ' ';
        }
    }
    mete__out_bytes(out, "-", 1);
    mete__out_text(out, text);
    mete__out_bytes(out, "\r\n", 2);
}

void mete__resp_i64(struct mete__out *out, int64_t value)
{
    if (value >= 0) {
        head(out, ':', (uint64_t)value);
        return;
    }
    mete__out_bytes(out, ":", 1);
    mete__out_i64(out, value);
    mete__out_bytes(out, "\r\n", 2);
}

void mete__resp_bulk(struct mete__out *out, const void *bytes, size_t len)
{
    head(out, '$', len);
    mete__out_bytes(out, bytes, len);
    mete__out_bytes(out, "\r\n", 2);
}

void mete__resp_text(struct mete__out *out, const char *text)
{
    mete__resp_bulk(out, text, strlen(text));
}

void mete__resp_null(struct mete__out *out, int version)
{
    mete__out_text(out, version >= 3 ? "_\r\n" : "$-1\r\n");
}

void mete__resp_array(struct mete__out *out, size_t count)
{
    head(out, '*', count);
}

void mete__resp_map(struct mete__out *out, size_t pairs, int version)
{
    head(out, version >= 3 ? '%' : '*', version >= 3 ? pairs : pairs * 2);
}

void mete__resp_bool(struct mete__out *out, bool value, int version)
{
    if (version >= 3) {
        mete__out_text(out, value ? "#t\r\n" : "#f\r\n");
    } else {
        head(out, ':', value);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE_FIRST 512u
#define DIGITS_MAX 20u

void mete__out_init(struct mete__out *out, size_t size_max)
{
    *out = (struct mete__out){.size_max = size_max};
}

void mete__out_clear(struct mete__out *out)
{
    free(out->bytes);
    *out = (struct mete__out){.size_max = out->size_max};
}

bool mete__out_grow(struct mete__out *out, size_t more)
{
    if (out->is_failed || more > out->size_max - out->len) {
        out->is_failed = true;
        return false;
    }
    size_t size = out->size > 0 ? out->size : SIZE_FIRST;
    while (size - out->len < more) {
        size = size <= out->size_max / 2 ? size * 2 : out->size_max;
    }
    char *bytes = realloc(out->bytes, size);
    if (bytes == NULL) {
        out->is_failed = true;
        return false;
    }
    out->bytes = bytes;
    out->size = size;
    return true;
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                            "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

size_t mete__write_u64(char *to, uint64_t value)
{
    char digits[DIGITS_MAX];
    char *at = digits + DIGITS_MAX;
    if (value < 10) { /* most numbers in replies are short */
        to[0] = (char)('0' + value);
        return 1;
    }
    if (value < 100) {
        memcpy(to, pairs + value * 2, 2);
        return 2;
    }
    while (value >= 100) {
        at -= 2;
        memcpy(at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, pairs + value * 2, 2);
    } else {
        *--at = (char)('0' + value);
    }
    size_t len = (size_t)(digits + DIGITS_MAX - at);
    memcpy(to, at, len);
    return len;
}

void mete__out_u64(struct mete__out *out, uint64_t value)
{
    char *room = mete__out_room(out, DIGITS_MAX);
    if (room != NULL) {
        out->len += mete__write_u64(room, value);
    }
}

void mete__out_i64(struct mete__out *out, int64_t value)
{
    if (value < 0) {
        mete__out_bytes(out, "-", 1);
        mete__out_u64(out, 0 - (uint64_t)value);
        return;
    }
    mete__out_u64(out, (uint64_t)value);
}

void mete__out_format(struct mete__out *out, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *room = len >= 0 ? mete__out_room(out, (size_t)len + 1) : NULL;
    if (room != NULL) {
        vsnprintf(room, (size_t)len + 1, format, again);
        out->len += (size_t)len;
    }
    va_end(again);
}

void mete__out_drop(struct mete__out *out, size_t len)
{
    memmove(out->bytes, out->bytes + len, out->len - len);
    out->len -= len;
}

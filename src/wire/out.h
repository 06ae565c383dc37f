/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes on their way out: one growing buffer with a bound, and the few ways to
 * append to it that codecs need.
 *
 * Appending never fails at the place where it is done: when there is no memory,
 * or the bound is reached, the buffer is marked, what follows is dropped, and
 * its owner looks at is_failed once, before it sends.  One thread at a time.
 */
#ifndef METE_WIRE_OUT_H
#define METE_WIRE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mete__out {
    char *bytes;
    size_t len;
    size_t size;     /* of the allocation */
    size_t size_max; /* it never grows beyond this */
    bool is_failed;
};

void mete__out_init(struct mete__out *out, size_t size_max);
void mete__out_clear(struct mete__out *out);

/* Makes room for `more` bytes; false when that cannot be. */
bool mete__out_grow(struct mete__out *out, size_t more);

/* Room for `more` bytes behind bytes + len; NULL when that cannot be.  The
 * caller writes there and then adds what it wrote to len. */
static inline char *mete__out_room(struct mete__out *out, size_t more)
{
    if (__builtin_expect(out->size - out->len < more, 0) && !mete__out_grow(out, more)) {
        return NULL;
    }
    return out->bytes + out->len;
}

static inline void mete__out_bytes(struct mete__out *out, const void *bytes, size_t len)
{
    char *room = mete__out_room(out, len);
    if (room != NULL && len > 0) {
        memcpy(room, bytes, len);
        out->len += len;
    }
}

static inline void mete__out_text(struct mete__out *out, const char *text)
{
    mete__out_bytes(out, text, strlen(text));
}

/* The decimal digits of value are written to `to`, which has room for 20;
 * returns how many. */
size_t mete__write_u64(char *to, uint64_t value);

void mete__out_u64(struct mete__out *out, uint64_t value);
void mete__out_i64(struct mete__out *out, int64_t value);
void mete__out_format(struct mete__out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first `len` bytes have been sent. */
void mete__out_drop(struct mete__out *out, size_t len);

#endif

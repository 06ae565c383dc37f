/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key bytes -> 128 bits, by XXH3 with a secret.  The secret of a limiter is
 * drawn from the store's (which comes from the operating system) and the
 * limiter's name, so that its keys are its own and nobody outside can aim.
 */
#ifndef METE_BASE_HASH_H
#define METE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wshadow"
#include <xxhash.h>
#pragma GCC diagnostic pop

#include "base/inline.h"

#define METE__SECRET_SIZE 192 /* XXH3's own default; at least 136 */

struct mete__secret {
    _Alignas(64) unsigned char bytes[METE__SECRET_SIZE];
};

struct mete__hash {
    uint64_t lo;
    uint64_t hi;
};

/* Out of line: it needs a frame that short keys should not pay for. */
struct mete__hash mete__hash_long_key(const struct mete__secret *secret, const void *key, size_t key_len);

/* XXH3_128bits_withSecret; its own first case, keys of up to 16 bytes, inline. */
METE_INLINE struct mete__hash mete__hash_key(const struct mete__secret *secret, const void *key, size_t key_len)
{
    if (key_len > 16) {
        return mete__hash_long_key(secret, key, key_len);
    }
    XXH128_hash_t hash = XXH3_len_0to16_128b(key, key_len, secret->bytes, 0);
    return (struct mete__hash){hash.low64, hash.high64};
}

/* 64 bits of check over bytes that are not secret. */
static inline uint64_t mete__hash_check(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

/* A limiter's secret: the store's 32 bytes and the name, stretched. */
static inline void mete__secret_derive(struct mete__secret *out, const unsigned char store_secret[32], const char *name,
                                       size_t name_len)
{
    uint64_t seed[2];
    XXH64_canonical_t block;
    __builtin_memcpy(seed, store_secret, sizeof seed);
    uint64_t named = XXH3_64bits_withSeed(name, name_len, seed[0]);
    uint64_t named_too = XXH3_64bits_withSeed(name, name_len, seed[1]);
    for (size_t i = 0; i < METE__SECRET_SIZE / 8; i++) {
        struct {
            unsigned char store[32];
            uint64_t named, named_too, position;
        } input = {.named = named, .named_too = named_too, .position = i};
        __builtin_memcpy(input.store, store_secret, 32);
        XXH64_canonicalFromHash(&block, XXH3_64bits(&input, sizeof input));
        __builtin_memcpy(out->bytes + 8 * i, &block, 8);
    }
}

#endif

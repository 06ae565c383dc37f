/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact counts per key, for the report: an open-addressed table of places over
 * a dense array of keys, which is what is listed in the end.  Bounded by a
 * number of keys and of key bytes; what comes after is counted, not named.
 */
#ifndef METE_CLI_REPLAY_KEYS_H
#define METE_CLI_REPLAY_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Room for key bytes: this much, and per key so many bytes.  Addresses take 15,
 * names of hosts some 30. */
#define METE__KEYS_BYTES_BASE ((uint64_t)64 * 1024 * 1024)
#define METE__KEYS_BYTES_PER_KEY ((uint64_t)64)

struct mete__key_count {
    const char *key;
    uint32_t key_len;
    uint32_t place; /* in the order of first requests */
    uint64_t hash;
    uint64_t allowed;
    uint64_t denied;
};

struct mete__key_slot {
    uint32_t hash_bits; /* of the key's hash: most wrong places are seen here */
    uint32_t entry;     /* its place in entries plus 1; 0 for a free slot */
};

struct mete__key_chunk {
    struct mete__key_chunk *next;
    char bytes[];
};

struct mete__keys {
    struct mete__secret secret; /* keys come from the network: nobody may aim at one slot */
    struct mete__key_count *entries;
    size_t count;
    size_t capacity;
    struct mete__key_slot *slots;
    size_t slot_mask;
    struct mete__key_chunk *chunks;
    size_t chunk_left;
    char *chunk_at;
    uint64_t bytes;
    uint64_t keys_max;
    uint64_t bytes_max;
    bool full; /* a key was refused, or memory was */
};

/* False: no memory, or no random bytes. */
bool mete__keys_init(struct mete__keys *keys, uint64_t keys_max);
void mete__keys_clear(struct mete__keys *keys);

static inline uint64_t mete__keys_hash(const struct mete__keys *keys, const char *key, size_t key_len)
{
    return mete__hash_key(&keys->secret, key, key_len).lo;
}

/* Brings the key's slot on its way into the cache. */
static inline void mete__keys_prefetch(const struct mete__keys *keys, uint64_t hash)
{
    __builtin_prefetch(&keys->slots[hash & keys->slot_mask]);
}

/* The key's counts, made when it is new; NULL when there is no room for it.
 * Valid until the next call. */
struct mete__key_count *mete__keys_get(struct mete__keys *keys, uint64_t hash, const char *key, size_t key_len);

/* Writes the n keys that were denied most to worst, most first (then: asked
 * most, then: seen first), and returns how many there are. */
size_t mete__keys_worst(const struct mete__keys *keys, const struct mete__key_count **worst, size_t n);

#endif

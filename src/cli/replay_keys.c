/* SPDX-License-Identifier: Apache-2.0 */
/* Counts per key; replay_keys.h says how they are kept. */
#include "cli/replay_keys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/arith.h"

#define ENTRIES_AT_FIRST ((size_t)1024)
/* Twice as many slots as entries: about two looks per key. */
#define SLOTS_PER_ENTRY 2
#define CHUNK_BYTES ((size_t)1024 * 1024)

static bool grow(struct mete__keys *keys);
static struct mete__key_count *add(struct mete__keys *keys, uint64_t hash, const char *key, size_t key_len);

struct mete__key_count *mete__keys_get(struct mete__keys *keys, uint64_t hash, const char *key, size_t key_len)
{
    size_t at = hash & keys->slot_mask;
    for (; keys->slots[at].entry != 0; at = (at + 1) & keys->slot_mask) {
        if (keys->slots[at].hash_bits != (uint32_t)(hash >> 32)) {
            continue;
        }
        struct mete__key_count *entry = &keys->entries[keys->slots[at].entry - 1];
        if (entry->hash == hash && entry->key_len == key_len && memcmp(entry->key, key, key_len) == 0) {
            return entry;
        }
    }
    return add(keys, hash, key, key_len);
}

/* Room for a key's bytes; NULL when there is none. */
static char *take_bytes(struct mete__keys *keys, size_t size)
{
    if (keys->bytes + size > keys->bytes_max) {
        return NULL;
    }
    if (keys->chunks == NULL || size > keys->chunk_left) {
        size_t chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        struct mete__key_chunk *chunk = malloc(sizeof(*chunk) + chunk_size);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->next = keys->chunks;
        keys->chunks = chunk;
        keys->chunk_at = chunk->bytes;
        keys->chunk_left = chunk_size;
    }
    char *bytes = keys->chunk_at;
    keys->chunk_at += size;
    keys->chunk_left -= size;
    keys->bytes += size;
    return bytes;
}

static size_t free_slot(const struct mete__keys *keys, uint64_t hash)
{
    size_t at = hash & keys->slot_mask;
    while (keys->slots[at].entry != 0) {
        at = (at + 1) & keys->slot_mask;
    }
    return at;
}

static struct mete__key_count *add(struct mete__keys *keys, uint64_t hash, const char *key, size_t key_len)
{
    if (keys->count >= keys->keys_max || (keys->count == keys->capacity && !grow(keys))) {
        keys->full = true;
        return NULL;
    }
    char *bytes = take_bytes(keys, key_len);
    if (bytes == NULL) {
        keys->full = true;
        return NULL;
    }
    memcpy(bytes, key, key_len);
    struct mete__key_count *entry = &keys->entries[keys->count];
    *entry = (struct mete__key_count){bytes, (uint32_t)key_len, (uint32_t)keys->count, hash, 0, 0};
    keys->count++;
    keys->slots[free_slot(keys, hash)] = (struct mete__key_slot){(uint32_t)(hash >> 32), (uint32_t)keys->count};
    return entry;
}

/* Doubles the entries and the slots.  False: no memory; nothing has changed. */
static bool grow(struct mete__keys *keys)
{
    size_t capacity = keys->capacity == 0 ? ENTRIES_AT_FIRST : 2 * keys->capacity;
    size_t slot_count = capacity * SLOTS_PER_ENTRY;
    struct mete__key_slot *slots = calloc(slot_count, sizeof(*slots));
    struct mete__key_count *entries = realloc(keys->entries, capacity * sizeof(*entries));
    if (entries != NULL) {
        keys->entries = entries;
    }
    if (entries == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    free(keys->slots);
    keys->slots = slots;
    keys->slot_mask = slot_count - 1;
    keys->capacity = capacity;
    for (size_t i = 0; i < keys->count; i++) {
        uint64_t hash = keys->entries[i].hash;
        keys->slots[free_slot(keys, hash)] = (struct mete__key_slot){(uint32_t)(hash >> 32), (uint32_t)i + 1};
    }
    return true;
}

bool mete__keys_init(struct mete__keys *keys, uint64_t keys_max)
{
    memset(keys, 0, sizeof(*keys));
    keys->keys_max = mete__min_u64(keys_max, UINT32_MAX - 1);
    keys->bytes_max = METE__KEYS_BYTES_BASE + METE__KEYS_BYTES_PER_KEY * keys->keys_max;
    ssize_t got = getrandom(keys->secret.bytes, sizeof(keys->secret.bytes), 0);
    return got == (ssize_t)sizeof(keys->secret.bytes) && grow(keys);
}

void mete__keys_clear(struct mete__keys *keys)
{
    while (keys->chunks != NULL) {
        struct mete__key_chunk *next = keys->chunks->next;
        free(keys->chunks);
        keys->chunks = next;
    }
    free(keys->entries);
    free(keys->slots);
    keys->entries = NULL;
    keys->slots = NULL;
}

static bool is_worse(const struct mete__key_count *a, const struct mete__key_count *b)
{
    if (a->denied != b->denied) {
        return a->denied > b->denied;
    }
    return a->allowed != b->allowed ? a->allowed > b->allowed : a->place < b->place;
}

size_t mete__keys_worst(const struct mete__keys *keys, const struct mete__key_count **worst, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < keys->count; i++) {
        const struct mete__key_count *entry = &keys->entries[i];
        if (entry->denied == 0 || n == 0 || (found == n && !is_worse(entry, worst[n - 1]))) {
            continue;
        }
        size_t at = found < n ? found++ : n - 1;
        for (; at > 0 && is_worse(entry, worst[at - 1]); at--) {
            worst[at] = worst[at - 1];
        }
        worst[at] = entry;
    }
    return found;
}

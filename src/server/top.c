/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space-Saving (Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent
 * and Top-k Elements in Data Streams", 2005), in sets of 8: a key belongs to the set
 * its hash names, and takes the place of the smallest count there when the
 * set is full, together with that count, which is remembered as its error.
 *
 *   Within a set the smallest count never falls, and a key that is not in the set was never
 *   counted more often than that.  So for every key   count - error <= truth <= count,
 *   and as the counts of a set add up to its updates W,   error <= W / 8.
 *
 * The hash is keyed, so nobody can aim at a set: W is about 1/64 of all updates, and what
 * one heavy key in it has does not count towards the error of the others.  Keys
 * with more than 1/512 of the updates are found, but for the luck of their set.
 *
 * An added key touches two lines: the set's words, and the entry where its hash is
 * compared (or, when it is new, its name written; names above 40 bytes take a
 * second one).  Keys are told apart by 64 bits of hash.
 *
 * Merging: a key that a sketch does not hold had at most the smallest count of its
 * set there; that is added to count and error, and the bound above still holds.
 */
#include "server/top.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/os.h"

#define WAYS 8u
#define SETS 64u
#define ENTRIES (WAYS * SETS)

/* A word is a count (48 bits; at 10^9 updates a second that is three days, and a
 * window is a minute) over a mark of 16 bits of the hash.  0: the way is empty. */
#define MARK_BITS 16
#define MARK_MASK ((UINT64_C(1) << MARK_BITS) - 1)
#define COUNT_MAX (UINT64_MAX >> MARK_BITS)

struct entry {
    uint64_t hash;
    uint64_t error;
    uint32_t policy_place;
    uint32_t key_len;
    unsigned char key[METE__TOP_KEY_MAX];
    unsigned char unused[128 - 24 - METE__TOP_KEY_MAX];
};

_Static_assert(sizeof(struct entry) == 128, "two lines, the first with 40 bytes of the key");

struct table {
    _Alignas(64) uint64_t words[SETS][WAYS];
    struct entry entries[SETS][WAYS];
};

struct mete__top_sketch {
    _Alignas(64) uint32_t lock;
    uint32_t current;       /* the window that is written: 0 or 1 */
    uint64_t dropped;       /* written by the loop, read by any */
    struct table tables[4]; /* 2 * window + (allowed ? 1 : 0) */
};

/* One for the process: loops agree on hashes, so that sketches can be merged. */
static struct mete__secret secret;
static bool secret_is_good;

static void make_secret(void)
{
    secret_is_good = mete__os_random(secret.bytes, sizeof secret.bytes) == METE_OK;
}

bool mete__top_init(struct mete__top *top)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_secret);
    *top = (struct mete__top){.weight = 1};
    if (!secret_is_good || mete__os_random(&top->random, sizeof top->random) != METE_OK) {
        return false;
    }
    top->random |= 1;
    top->sketch = aligned_alloc(64, sizeof *top->sketch);
    if (top->sketch == NULL) {
        return false;
    }
    memset(top->sketch, 0, sizeof *top->sketch);
    return true;
}

void mete__top_clear(struct mete__top *top)
{
    free(top->sketch);
    *top = (struct mete__top){0};
}

static bool try_lock(struct mete__top_sketch *sketch)
{
    return __atomic_exchange_n(&sketch->lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static void unlock(struct mete__top_sketch *sketch)
{
    __atomic_store_n(&sketch->lock, 0, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) uint64_t hash_long(const void *key, size_t key_len)
{
    return XXH3_64bits_withSecret(key, key_len, secret.bytes, sizeof secret.bytes);
}

static uint64_t hash_of(uint32_t policy_place, const void *key, size_t key_len)
{
    uint64_t hash = key_len <= 16 ? XXH3_len_0to16_64b(key, key_len, secret.bytes, 0) : hash_long(key, key_len);
    return hash ^ policy_place * UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio: any odd number would do */
}

static size_t set_of(uint64_t hash)
{
    return hash >> 58; /* 64 sets */
}

_Static_assert(SETS == 64, "set_of takes six bits");

static uint64_t add_up(uint64_t count, uint64_t more)
{
    return more > COUNT_MAX - count ? COUNT_MAX : count + more;
}

/* The way of the key, or WAYS. */
static unsigned find(const struct table *table, size_t set, uint64_t hash)
{
    const uint64_t *words = table->words[set];
    unsigned hits = 0;
#pragma GCC unroll 8
    for (unsigned way = 0; way < WAYS; way++) {
        hits |= (unsigned)((words[way] & MARK_MASK) == (hash & MARK_MASK)) << way;
    }
    for (; hits != 0; hits &= hits - 1) {
        unsigned way = (unsigned)__builtin_ctz(hits);
        if (words[way] > MARK_MASK && table->entries[set][way].hash == hash) {
            return way;
        }
    }
    return WAYS;
}

/* Words compare as their counts do. */
static unsigned smallest(const uint64_t *words)
{
    unsigned least = 0;
    uint64_t word = words[0];
#pragma GCC unroll 8
    for (unsigned way = 1; way < WAYS; way++) {
        least = words[way] < word ? way : least;
        word = words[way] < word ? words[way] : word;
    }
    return least;
}

/* Most keys are short; a call of memcpy costs more than they do. */
static void copy_key(unsigned char *to, const unsigned char *key, size_t len)
{
    if (len > 16) {
        memcpy(to, key, len);
    } else if (len >= 8) {
        uint64_t first, last;
        memcpy(&first, key, 8);
        memcpy(&last, key + len - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + len - 8, &last, 8);
    } else {
        for (size_t i = 0; i < len; i++) {
            to[i] = key[i];
        }
    }
}

static void name_entry(struct entry *entry, uint64_t hash, uint32_t policy_place, const void *key, size_t key_len)
{
    entry->hash = hash;
    entry->policy_place = policy_place;
    entry->key_len = key_len < UINT32_MAX ? (uint32_t)key_len : UINT32_MAX;
    copy_key(entry->key, key, key_len < METE__TOP_KEY_MAX ? key_len : METE__TOP_KEY_MAX);
}

static void add(struct table *table, uint64_t hash, uint32_t policy_place, const void *key, size_t key_len,
                uint64_t weight)
{
    size_t set = set_of(hash);
    uint64_t *words = table->words[set];
    unsigned way = find(table, set, hash);
    if (way == WAYS) {
        way = smallest(words);
        struct entry *entry = &table->entries[set][way];
        entry->error = words[way] >> MARK_BITS;
        name_entry(entry, hash, policy_place, key, key_len);
    }
    words[way] = add_up(words[way] >> MARK_BITS, weight) << MARK_BITS | (hash & MARK_MASK);
}

void mete__top_add(struct mete__top *top, uint32_t policy_place, const void *key, size_t key_len, bool allowed,
                   uint64_t weight)
{
    struct mete__top_sketch *sketch = top->sketch;
    uint64_t hash = hash_of(policy_place, key, key_len);
    if (weight == 0) {
        return;
    }
    if (!try_lock(sketch)) {
        __atomic_store_n(&sketch->dropped, sketch->dropped + 1, __ATOMIC_RELAXED);
        return;
    }
    add(&sketch->tables[2 * sketch->current + (allowed ? 1 : 0)], hash, policy_place, key, key_len, weight);
    unlock(sketch);
}

/* The older window ends and becomes the current one.  When it is being read: next turn. */
void mete__top_rotate(struct mete__top *top, uint64_t now_ms)
{
    struct mete__top_sketch *sketch = top->sketch;
    if (!try_lock(sketch)) {
        return;
    }
    if (top->rotated_ms != 0) {
        /* After a silence of two windows the current one is as old as the other. */
        bool both = now_ms - top->rotated_ms >= 2 * UINT64_C(1) * METE__TOP_WINDOW_MS;
        sketch->current ^= 1;
        for (size_t i = 0; i < 4; i++) {
            if (both || i / 2 == sketch->current) {
                memset(sketch->tables[i].words, 0, sizeof sketch->tables[i].words);
            }
        }
    }
    top->rotated_ms = now_ms;
    unlock(sketch);
}

uint64_t mete__top_dropped(const struct mete__top *top)
{
    return mete__load_u64_relaxed(&top->sketch->dropped);
}

/* --- reading ---------------------------------------------------------------- */

struct candidate {
    uint64_t hash;
    struct mete__top_entry entry;
    uint32_t source; /* the first table it was found in */
};

struct merge {
    struct candidate *candidates;
    size_t count;
    uint64_t (*smallest)[SETS]; /* per table read */
    size_t sources;
};

/* What a key that is not there may have had. */
static uint64_t smallest_count(const uint64_t *words)
{
    return words[smallest(words)] >> MARK_BITS;
}

static void collect(struct merge *merge, const struct table *table)
{
    for (size_t set = 0; set < SETS; set++) {
        merge->smallest[merge->sources][set] = smallest_count(table->words[set]);
        for (size_t way = 0; way < WAYS; way++) {
            const struct entry *entry = &table->entries[set][way];
            if (table->words[set][way] == 0) {
                continue;
            }
            struct candidate *candidate = &merge->candidates[merge->count++];
            candidate->hash = entry->hash;
            candidate->source = (uint32_t)merge->sources;
            candidate->entry.policy_place = entry->policy_place;
            candidate->entry.key_len = entry->key_len;
            candidate->entry.count = table->words[set][way] >> MARK_BITS;
            candidate->entry.error = entry->error;
            memcpy(candidate->entry.key, entry->key, METE__TOP_KEY_MAX);
        }
    }
    merge->sources++;
}

/* A loop holds its own lock for some ns; longer only when its thread was stopped in between. */
static void lock_for_reading(struct mete__top_sketch *sketch)
{
    while (!try_lock(sketch)) {
        sched_yield();
    }
}

/* Both windows, copied together: the lock is held for some microseconds. */
static void read_sketch(struct merge *merge, struct mete__top_sketch *sketch, bool allowed, struct table *copies)
{
    lock_for_reading(sketch);
    memcpy(&copies[0], &sketch->tables[allowed ? 1 : 0], sizeof copies[0]);
    memcpy(&copies[1], &sketch->tables[allowed ? 3 : 2], sizeof copies[1]);
    unlock(sketch);
    collect(merge, &copies[0]);
    collect(merge, &copies[1]);
}

static int by_hash(const void *a, const void *b)
{
    uint64_t left = ((const struct candidate *)a)->hash;
    uint64_t right = ((const struct candidate *)b)->hash;
    return (left > right) - (left < right);
}

static int by_count(const void *a, const void *b)
{
    const struct mete__top_entry *left = &((const struct candidate *)a)->entry;
    const struct mete__top_entry *right = &((const struct candidate *)b)->entry;
    if (left->count != right->count) {
        return left->count < right->count ? 1 : -1;
    }
    return (left->error > right->error) - (left->error < right->error);
}

/* One candidate per key: what the sketches have of it, and at most may have missed. */
static void join(struct merge *merge)
{
    size_t kept = 0;
    for (size_t i = 0; i < merge->count;) {
        struct candidate joined = merge->candidates[i];
        uint64_t missed = 0;
        for (size_t source = 0; source < merge->sources; source++) {
            missed += merge->smallest[source][set_of(joined.hash)];
        }
        missed -= merge->smallest[joined.source][set_of(joined.hash)];
        for (i++; i < merge->count && merge->candidates[i].hash == joined.hash; i++) {
            joined.entry.count += merge->candidates[i].entry.count;
            joined.entry.error += merge->candidates[i].entry.error;
            missed -= merge->smallest[merge->candidates[i].source][set_of(joined.hash)];
        }
        joined.entry.count += missed;
        joined.entry.error += missed;
        merge->candidates[kept++] = joined;
    }
    merge->count = kept;
}

size_t mete__top_merge(struct mete__top *const *tops, size_t top_count, bool allowed, struct mete__top_entry *out,
                       size_t max)
{
    size_t found = 0;
    struct merge merge = {0};
    merge.candidates = calloc(2 * top_count * ENTRIES + 1, sizeof *merge.candidates);
    merge.smallest = calloc(2 * top_count + 1, sizeof *merge.smallest);
    struct table *copies = aligned_alloc(64, 2 * sizeof *copies);
    if (merge.candidates == NULL || merge.smallest == NULL || copies == NULL) {
        goto out;
    }
    for (size_t i = 0; i < top_count; i++) {
        read_sketch(&merge, tops[i]->sketch, allowed, copies);
    }
    qsort(merge.candidates, merge.count, sizeof *merge.candidates, by_hash);
    join(&merge);
    qsort(merge.candidates, merge.count, sizeof *merge.candidates, by_count);
    for (; found < max && found < merge.count; found++) {
        out[found] = merge.candidates[found].entry;
    }
out:
    free(copies);
    free(merge.smallest);
    free(merge.candidates);
    return found;
}

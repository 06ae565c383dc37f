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
 * An added key touches two lines: the set, and the entry where its hash is
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
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/os.h"

#define WAYS 8u
#define SETS 64u
#define ENTRIES (WAYS * SETS)

struct entry {
    uint64_t hash;
    uint64_t error;
    uint32_t policy_place;
    uint32_t key_len;
    unsigned char key[METE__TOP_KEY_MAX];
    unsigned char unused[128 - 24 - METE__TOP_KEY_MAX];
};

_Static_assert(sizeof(struct entry) == 128, "two lines, the first with 40 bytes of the key");

struct set {
    _Alignas(64) uint32_t counts[WAYS]; /* 0: the way is empty */
    uint16_t marks[WAYS];               /* of the hashes */
};

_Static_assert(sizeof(struct set) == 64, "one line");

struct table {
    struct set sets[SETS];
    struct entry entries[SETS][WAYS];
};

struct mete__top_sketch {
    _Alignas(64) uint32_t is_busy; /* by the loop */
    uint32_t is_read;
    uint32_t current;       /* the window that is written: 0 or 1 */
    uint64_t dropped;       /* written by the loop, read by any */
    struct table tables[4]; /* 2 * window + (allowed ? 1 : 0) */
};

/* One for the process: loops agree on hashes, so that sketches can be merged. */
static struct mete__secret secret;
static bool secret_is_good;
static bool has_membarrier;

static void prepare(void)
{
    has_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0;
    secret_is_good = mete__os_random(secret.bytes, sizeof secret.bytes) == METE_OK;
}

bool mete__top_init(struct mete__top *top)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
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

/*
 * The lock, after Dekker: each side says what it does, then looks what the other does.
 * Between the two stands a full barrier.  The loop's would cost it 5 to 10 ns per
 * sample, so where the system can, the reader has it run on all processors
 * (membarrier(2)): then either the loop sees is_read, or the reader sees is_busy.
 */
METE_INLINE bool loop_enter(struct mete__top_sketch *sketch)
{
    if (has_membarrier) {
        __atomic_store_n(&sketch->is_busy, 1, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } else {
        __atomic_exchange_n(&sketch->is_busy, 1, __ATOMIC_SEQ_CST);
    }
    if (__builtin_expect(__atomic_load_n(&sketch->is_read, __ATOMIC_SEQ_CST) == 0, 1)) {
        return true;
    }
    __atomic_store_n(&sketch->is_busy, 0, __ATOMIC_RELEASE);
    return false;
}

static void loop_leave(struct mete__top_sketch *sketch)
{
    __atomic_store_n(&sketch->is_busy, 0, __ATOMIC_RELEASE);
}

/* Readers take turns.  A loop is busy for some ns; longer only when its thread was stopped in between. */
static pthread_mutex_t readers = PTHREAD_MUTEX_INITIALIZER;

static void reader_enter(struct mete__top_sketch *sketch)
{
    pthread_mutex_lock(&readers);
    __atomic_exchange_n(&sketch->is_read, 1, __ATOMIC_SEQ_CST);
    if (has_membarrier) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
    }
    while (__atomic_load_n(&sketch->is_busy, __ATOMIC_SEQ_CST) != 0) {
        sched_yield();
    }
}

static void reader_leave(struct mete__top_sketch *sketch)
{
    __atomic_store_n(&sketch->is_read, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&readers);
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

static uint16_t mark_of(uint64_t hash)
{
    return (uint16_t)hash;
}

/* The lanes of 16 bits of four that are zero have their top bit set (and perhaps lanes above one
 * that is: looked at once more by find). */
static uint64_t zero_lanes(uint64_t lanes)
{
    return (lanes - UINT64_C(0x0001000100010001)) & ~lanes & UINT64_C(0x8000800080008000);
}

/* The way of the key, or WAYS. */
METE_INLINE unsigned find(const struct table *table, size_t at, uint64_t hash)
{
    const struct set *set = &table->sets[at];
    uint64_t wanted = mark_of(hash) * UINT64_C(0x0001000100010001);
    for (unsigned half = 0; half < 2; half++) {
        uint64_t marks;
        memcpy(&marks, &set->marks[4 * half], sizeof marks);
        for (uint64_t hits = zero_lanes(marks ^ wanted); hits != 0; hits &= hits - 1) {
            unsigned way = 4 * half + (unsigned)__builtin_ctzll(hits) / 16;
            if (set->counts[way] != 0 && table->entries[at][way].hash == hash) {
                return way;
            }
        }
    }
    return WAYS;
}

/* A way and, above it, its count. */
static uint64_t ranked(const uint32_t counts[WAYS], unsigned way)
{
    return (uint64_t)counts[way] << 3 | way;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* By pairs, so that the comparisons do not wait for each other. */
METE_INLINE unsigned smallest(const uint32_t counts[WAYS])
{
    uint64_t a = lesser(lesser(ranked(counts, 0), ranked(counts, 1)), lesser(ranked(counts, 2), ranked(counts, 3)));
    uint64_t b = lesser(lesser(ranked(counts, 4), ranked(counts, 5)), lesser(ranked(counts, 6), ranked(counts, 7)));
    return lesser(a, b) & (WAYS - 1);
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

/* False when the count does not fit: then nothing was changed. */
METE_INLINE bool add(struct table *table, uint64_t hash, uint32_t policy_place, const void *key, size_t key_len,
                     uint32_t weight)
{
    size_t at = set_of(hash);
    struct set *set = &table->sets[at];
    unsigned way = find(table, at, hash);
    bool is_new = way == WAYS;
    way = is_new ? smallest(set->counts) : way;
    if (__builtin_expect(set->counts[way] > UINT32_MAX - weight, 0)) {
        return false;
    }
    if (is_new) {
        struct entry *entry = &table->entries[at][way];
        entry->error = set->counts[way];
        set->marks[way] = mark_of(hash);
        name_entry(entry, hash, policy_place, key, key_len);
    }
    set->counts[way] += weight;
    return true;
}

static struct table *table_of(struct mete__top_sketch *sketch, bool allowed)
{
    return &sketch->tables[2 * sketch->current + (allowed ? 1 : 0)];
}

/* The older window is emptied and becomes the current one. */
static void next_window(struct mete__top_sketch *sketch)
{
    sketch->current ^= 1;
    memset(table_of(sketch, false)->sets, 0, sizeof sketch->tables[0].sets);
    memset(table_of(sketch, true)->sets, 0, sizeof sketch->tables[0].sets);
}

void mete__top_add(struct mete__top *top, uint32_t policy_place, const void *key, size_t key_len, bool allowed,
                   uint64_t weight)
{
    struct mete__top_sketch *sketch = top->sketch;
    uint64_t hash = hash_of(policy_place, key, key_len);
    uint32_t more = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
    if (more == 0) {
        return;
    }
    if (!loop_enter(sketch)) {
        __atomic_store_n(&sketch->dropped, sketch->dropped + 1, __ATOMIC_RELAXED);
        return;
    }
    while (!add(table_of(sketch, allowed), hash, policy_place, key, key_len, more)) {
        next_window(sketch); /* 4 * 10^9 of one key in one window: it ends early */
    }
    loop_leave(sketch);
}

/* When it is being read: next turn. */
void mete__top_rotate(struct mete__top *top, uint64_t now_ms)
{
    struct mete__top_sketch *sketch = top->sketch;
    if (!loop_enter(sketch)) {
        return;
    }
    bool is_first = top->rotated_ms == 0;
    if (!is_first) {
        next_window(sketch);
    }
    if (!is_first && now_ms - top->rotated_ms >= 2 * (uint64_t)METE__TOP_WINDOW_MS) {
        next_window(sketch); /* after a silence what was current is as old as the other */
    }
    top->rotated_ms = now_ms;
    loop_leave(sketch);
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

static void collect(struct merge *merge, const struct table *table)
{
    for (size_t set = 0; set < SETS; set++) {
        const uint32_t *counts = table->sets[set].counts;
        merge->smallest[merge->sources][set] = counts[smallest(counts)]; /* what a key that is absent may have had */
        for (size_t way = 0; way < WAYS; way++) {
            const struct entry *entry = &table->entries[set][way];
            if (counts[way] == 0) {
                continue;
            }
            struct candidate *candidate = &merge->candidates[merge->count++];
            candidate->hash = entry->hash;
            candidate->source = (uint32_t)merge->sources;
            candidate->entry.policy_place = entry->policy_place;
            candidate->entry.key_len = entry->key_len;
            candidate->entry.count = counts[way];
            candidate->entry.error = entry->error;
            memcpy(candidate->entry.key, entry->key, METE__TOP_KEY_MAX);
        }
    }
    merge->sources++;
}

/* Both windows, copied together: the loop is locked out for some microseconds. */
static void read_sketch(struct merge *merge, struct mete__top_sketch *sketch, bool allowed, struct table *copies)
{
    reader_enter(sketch);
    memcpy(&copies[0], &sketch->tables[allowed ? 1 : 0], sizeof copies[0]);
    memcpy(&copies[1], &sketch->tables[allowed ? 3 : 2], sizeof copies[1]);
    reader_leave(sketch);
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

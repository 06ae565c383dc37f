/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a decision cannot do without, measured alone in the same run: the clock,
 * the hash, one 16-byte compare-and-swap, and reads of memory out of cache.
 */
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#include "cli/bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/hash.h"

#define LINE_SIZE 64u
#define BYTES_PER_KEY 22u /* what a table holds per key at most, so the region is as large as the largest table */
#define DEPENDENT_READS 2000000u
#define OVERLAPPED_READS 8000000u
#define OVERLAP 32u /* reads under way at once, as in a batch of 32 */

struct line {
    uint64_t next; /* index of the line to read after this one: one circle through all lines */
    uint64_t padding[LINE_SIZE / sizeof(uint64_t) - 1];
};

struct floors {
    mete_store *store;
    struct line *lines;
    size_t line_count;
    uint64_t at; /* where the circle was left: a line read in one run is not read again in the next */
};

static double measure_store_clock(const struct floors *floors, uint64_t rounds)
{
    uint64_t sum = 0;
    uint64_t start_ns = mete__bench_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        sum += mete_store_now(floors->store);
    }
    uint64_t end_ns = mete__bench_cpu_ns();
    mete__bench_consume(sum);
    return (double)(end_ns - start_ns) / (double)rounds;
}

static double measure_system_clock(uint64_t rounds)
{
    uint64_t sum = 0;
    uint64_t start_ns = mete__bench_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        sum += mete__bench_now_ns();
    }
    uint64_t end_ns = mete__bench_cpu_ns();
    mete__bench_consume(sum);
    return (double)(end_ns - start_ns) / (double)rounds;
}

static double measure_hash(uint64_t rounds)
{
    unsigned char bytes[METE__BENCH_KEY_SIZE];
    mete__bench_key(0, bytes);
    struct mete__secret secret;
    mete__secret_derive(&secret, (const unsigned char[32]){0}, "floor", 5);
    uint64_t sum = 0;
    uint64_t start_ns = mete__bench_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        struct mete__hash hash = mete__hash_key(&secret, mete__bench_opaque(bytes), sizeof(bytes));
        sum += hash.lo ^ hash.hi;
    }
    uint64_t end_ns = mete__bench_cpu_ns();
    mete__bench_consume(sum);
    return (double)(end_ns - start_ns) / (double)rounds;
}

#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
/* Each swap expects what the one before wrote, as decisions on one key do. */
static double measure_swap(uint64_t rounds)
{
    static unsigned __int128 cell;
    unsigned __int128 expected = cell;
    uint64_t swapped = 0;
    uint64_t start_ns = mete__bench_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        swapped += __sync_bool_compare_and_swap(&cell, expected, expected + 1) ? 1 : 0;
        expected++;
    }
    uint64_t end_ns = mete__bench_cpu_ns();
    mete__bench_consume(swapped);
    return (double)(end_ns - start_ns) / (double)rounds;
}
#endif

static double measure_dependent_reads(struct floors *floors)
{
    uint64_t at = floors->at;
    uint64_t start_ns = mete__bench_cpu_ns();
    for (uint64_t i = 0; i < DEPENDENT_READS; i++) {
        at = floors->lines[at].next;
    }
    uint64_t end_ns = mete__bench_cpu_ns();
    mete__bench_consume(at);
    floors->at = at;
    return (double)(end_ns - start_ns) / DEPENDENT_READS;
}

/* A place in the region from a running number, the same for every run of the
 * compiler and cheap beside a read: the high bits of a product. */
static size_t place_of(uint64_t i, size_t line_count)
{
    uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(((unsigned __int128)x * line_count) >> 64);
}

static double measure_overlapped_reads(struct floors *floors)
{
    uint64_t sum = 0;
    uint64_t first = floors->at;
    uint64_t start_ns = mete__bench_cpu_ns();
    for (uint64_t i = 0; i < OVERLAPPED_READS; i += OVERLAP) {
        size_t places[OVERLAP];
        for (size_t k = 0; k < OVERLAP; k++) {
            places[k] = place_of(first + i + k, floors->line_count);
            __builtin_prefetch(&floors->lines[places[k]]);
        }
        for (size_t k = 0; k < OVERLAP; k++) {
            sum += floors->lines[places[k]].next;
        }
    }
    uint64_t end_ns = mete__bench_cpu_ns();
    mete__bench_consume(sum);
    return (double)(end_ns - start_ns) / OVERLAPPED_READS;
}

static void run_floors(struct mete__bench *bench, void *state)
{
    struct floors *floors = state;
    struct mete__bench_report *report = bench->report;
    uint64_t rounds = bench->hot_decisions;
    double clock_ns = measure_store_clock(floors, rounds);
    double hash_ns = measure_hash(rounds);
    mete__bench_add(report, METE__BENCH_CLOCK, "ns", clock_ns);
    mete__bench_add(report, "clock_gettime(CLOCK_MONOTONIC)", "ns", measure_system_clock(rounds));
    mete__bench_add(report, "hash of a 16-byte key (XXH3, 128 bits)", "ns", hash_ns);
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
    double swap_ns = measure_swap(rounds);
    mete__bench_add(report, "16-byte compare-and-swap, uncontended", "ns", swap_ns);
    mete__bench_add(report, METE__BENCH_FLOOR, "ns", clock_ns + hash_ns + swap_ns);
#endif
    mete__bench_add(report, "random memory read, each waits for the last", "ns", measure_dependent_reads(floors));
    mete__bench_add(report, "random memory read, 32 at once", "ns", measure_overlapped_reads(floors));
}

/* One circle through all lines in random order (Sattolo's shuffle). */
static void link_lines(struct line *lines, size_t line_count)
{
    uint64_t random = 1;
    for (size_t i = 0; i < line_count; i++) {
        lines[i].next = i;
    }
    for (size_t i = line_count - 1; i > 0; i--) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t j = (size_t)(((unsigned __int128)random * i) >> 64);
        uint64_t next = lines[i].next;
        lines[i].next = lines[j].next;
        lines[j].next = next;
    }
}

static void free_floors(void *state)
{
    struct floors *floors = state;
    if (floors == NULL) {
        return;
    }
    if (floors->lines != NULL) {
        munmap(floors->lines, floors->line_count * sizeof(*floors->lines));
    }
    mete_store_destroy(floors->store);
    free(floors);
}

static void *make_floors(struct mete__bench *bench)
{
    uint64_t keys_most = 1;
    for (size_t i = 0; i < bench->size_count; i++) {
        keys_most = bench->key_counts[i] > keys_most ? bench->key_counts[i] : keys_most;
    }
    struct floors *floors = calloc(1, sizeof(*floors));
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = 1000;
    if (floors == NULL || mete_store_create(&options, &floors->store) != METE_OK) {
        goto no_memory;
    }
    floors->line_count = (size_t)(keys_most * BYTES_PER_KEY / LINE_SIZE + 1);
    size_t bytes = floors->line_count * sizeof(*floors->lines);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        goto no_memory;
    }
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    floors->lines = memory;
    link_lines(floors->lines, floors->line_count);
    return floors;

no_memory:
    mete__bench_fail(bench, "no memory for the floors");
    free_floors(floors);
    return NULL;
}

static void require_nothing(struct mete__bench *bench)
{
    (void)bench;
}

const struct mete__bench_group mete__bench_floors = {"floors", make_floors, run_floors, require_nothing, free_floors};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mete bench`, shared by its files: what to measure, and the groups of rows.
 *
 * How it is made fair.  mete and the opponent run the same loop, one right
 * after the other, within every run.  Results are counted, and a row whose
 * decisions were not what it claims (all admitted, all denied) is an error.
 * Threads are pinned, and rows of one thread count the time that it ran, not the
 * time that passed.  Keys are made before the clock starts, 16 bytes each, in
 * the order in which they are asked for.  Everything runs in a second thread of
 * the process: glibc's mutexes leave out their atomic instructions while a
 * process has one thread only, and a program with one thread needs no mutexes.
 */
#ifndef METE_CLI_BENCH_H
#define METE_CLI_BENCH_H

#include <mete/mete.h>

#include "cli/bench_report.h"

#define METE__BENCH_SIZES_MAX 4u
#define METE__BENCH_KEY_SIZE 16u

#define METE__BENCH_CLOCK "clock (mete_store_now)"
#define METE__BENCH_FLOOR "clock + hash + swap"

struct mete__bench {
    struct mete__bench_report *report;
    uint64_t key_counts[METE__BENCH_SIZES_MAX];
    size_t size_count;
    uint64_t hot_decisions; /* in one sample of a row on one key */
    uint64_t key_decisions; /* in one sample of a row on many keys */
    const char *replay_sample;
    uint64_t replay_bytes;
    int cpus[2];
    size_t cpu_count; /* 1 or 2 */
};

/*
 * A group of rows.  make() takes its memory once (NULL: it could not, and
 * report->failure says why), run() adds one sample to each of its series,
 * require() adds its checks, free() takes NULL too.
 */
struct mete__bench_group {
    const char *name;
    void *(*make)(struct mete__bench *bench);
    void (*run)(struct mete__bench *bench, void *state);
    void (*require)(struct mete__bench *bench);
    void (*free)(void *state);
};

extern const struct mete__bench_group mete__bench_floors;
extern const struct mete__bench_group mete__bench_hot;
extern const struct mete__bench_group mete__bench_keys;
extern const struct mete__bench_group mete__bench_replay;

/* --- bench_machine.c --- */

/* Monotonic, by the system and not by mete. */
uint64_t mete__bench_now_ns(void);

/* The time that the calling thread has run: what one thread takes is measured
 * with this, so that time given to other programs does not count. */
uint64_t mete__bench_cpu_ns(void);

/* The calling thread to this CPU.  Where that is not allowed it stays unpinned. */
void mete__bench_pin(int cpu);

/* Fills bench->cpus, report->machine and report->clock. */
void mete__bench_describe(struct mete__bench *bench);

/* The i-th key: 16 bytes, different for every i, without order. */
void mete__bench_key(uint64_t i, unsigned char key[METE__BENCH_KEY_SIZE]);

/* Says once why a row is not what it claims to be. */
void mete__bench_fail(struct mete__bench *bench, const char *why);

/* Keeps the compiler from seeing that a loop asks for the same key each time. */
static inline const unsigned char *mete__bench_opaque(const unsigned char *key)
{
    __asm__ volatile("" : "+r"(key) : : "memory");
    return key;
}

/* Keeps a result that nobody reads. */
static inline void mete__bench_consume(uint64_t value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

#endif

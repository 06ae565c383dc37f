/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many keys, each asked for once per round in random order, so that hardly a
 * key is in the cache: single calls and batches.  All keys are live all the
 * time (their limit refills too slowly for them to get full again), and all are
 * admitted.  Both sides were filled in another order than they are asked in.
 */
#include "cli/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/opponent.h"

#define BATCH_MAX 64u
/* A thousand an hour, at most a million at once: a key that was asked for 100
 * times is full again after six minutes, and none is ever spent. */
#define COUNT 1000u
#define BURST 1000000u
#define NS_PER_H UINT64_C(3600000000000)

static const size_t batch_sizes[] = {16, 32, 64};
#define BATCH_SIZES (sizeof(batch_sizes) / sizeof(batch_sizes[0]))

/* A walk over all keys that goes on where its last sample ended. */
struct walk {
    uint64_t at;
};

struct key_table {
    uint64_t key_count;
    unsigned char (*keys)[METE__BENCH_KEY_SIZE]; /* in the order of the requests */
    mete_store *store;
    mete_limiter *limiter;
    struct opponent *opponent;
    struct walk single;
    struct walk batch;
    struct walk other;
};

struct keys {
    struct key_table tables[METE__BENCH_SIZES_MAX];
    size_t table_count;
};

typedef bool allow_fn(void *subject, const unsigned char *key);

static inline bool mete_one(void *subject, const unsigned char *key)
{
    return mete_allow(subject, key, METE__BENCH_KEY_SIZE);
}

static inline bool opponent_one(void *subject, const unsigned char *key)
{
    return opponent_allow(subject, key, METE__BENCH_KEY_SIZE);
}

/* The next `decisions` keys of the walk, from its start again when they run out. */
static const unsigned char *next_keys(const struct key_table *table, struct walk *walk, uint64_t decisions)
{
    if (table->key_count - walk->at < decisions) {
        walk->at = 0;
    }
    const unsigned char *keys = table->keys[walk->at];
    walk->at += decisions;
    return keys;
}

static inline __attribute__((always_inline)) uint64_t ask_each(allow_fn *allow, void *subject,
                                                               const unsigned char *keys, uint64_t decisions)
{
    uint64_t allowed = 0;
    for (uint64_t i = 0; i < decisions; i++) {
        allowed += allow(subject, keys + i * METE__BENCH_KEY_SIZE) ? 1 : 0;
    }
    return allowed;
}

static uint64_t ask_mete(struct key_table *table, uint64_t decisions, size_t batch)
{
    (void)batch;
    return ask_each(mete_one, table->limiter, next_keys(table, &table->single, decisions), decisions);
}

static uint64_t ask_opponent(struct key_table *table, uint64_t decisions, size_t batch)
{
    (void)batch;
    return ask_each(opponent_one, table->opponent, next_keys(table, &table->other, decisions), decisions);
}

/* Naming the keys of a batch belongs to a batch's cost: it is inside the loop. */
static uint64_t ask_batches(struct key_table *table, uint64_t decisions, size_t batch)
{
    const unsigned char *keys = next_keys(table, &table->batch, decisions);
    struct mete_request requests[BATCH_MAX];
    struct mete_decision answers[BATCH_MAX];
    for (size_t k = 0; k < batch; k++) {
        requests[k] = (struct mete_request)METE_REQUEST_INIT;
        requests[k].key_len = METE__BENCH_KEY_SIZE;
    }
    uint64_t allowed = 0;
    for (uint64_t i = 0; i < decisions; i += batch) {
        for (size_t k = 0; k < batch; k++) {
            requests[k].key = keys + (i + k) * METE__BENCH_KEY_SIZE;
        }
        if (mete_take_batch(table->limiter, requests, batch, answers) != METE_OK) {
            break;
        }
        for (size_t k = 0; k < batch; k++) {
            allowed += answers[k].allowed ? 1 : 0;
        }
    }
    return allowed;
}

typedef uint64_t ask_fn(struct key_table *table, uint64_t decisions, size_t batch);

static double time_asking(struct mete__bench *bench, ask_fn *ask, struct key_table *table, size_t batch)
{
    uint64_t decisions = bench->key_decisions < table->key_count ? bench->key_decisions : table->key_count;
    decisions -= decisions % BATCH_MAX;
    uint64_t start_ns = mete__bench_cpu_ns();
    uint64_t allowed = ask(table, decisions, batch);
    uint64_t end_ns = mete__bench_cpu_ns();
    if (allowed != decisions) {
        mete__bench_fail(bench, "a key that had units left was denied");
    }
    return (double)(end_ns - start_ns) / (double)decisions;
}

static void series_name(char name[METE__BENCH_NAME_SIZE], uint64_t key_count, const char *what, size_t batch)
{
    if (batch == 0) {
        snprintf(name, METE__BENCH_NAME_SIZE, "%llu keys, %s", (unsigned long long)key_count, what);
    } else {
        snprintf(name, METE__BENCH_NAME_SIZE, "%llu keys, batches of %zu, %s", (unsigned long long)key_count, batch,
                 what);
    }
}

static void run_keys(struct mete__bench *bench, void *state)
{
    struct keys *keys = state;
    char name[METE__BENCH_NAME_SIZE];
    for (size_t i = 0; i < keys->table_count; i++) {
        struct key_table *table = &keys->tables[i];
        series_name(name, table->key_count, "mete", 0);
        mete__bench_add(bench->report, name, "ns", time_asking(bench, ask_mete, table, 0));
        series_name(name, table->key_count, "opponent", 0);
        mete__bench_add(bench->report, name, "ns", time_asking(bench, ask_opponent, table, 0));
        for (size_t b = 0; b < BATCH_SIZES; b++) {
            series_name(name, table->key_count, "mete", batch_sizes[b]);
            mete__bench_add(bench->report, name, "ns", time_asking(bench, ask_batches, table, batch_sizes[b]));
        }
    }
}

static void require_keys(struct mete__bench *bench)
{
    char name[METE__BENCH_NAME_SIZE];
    struct mete__bench_report *report = bench->report;
    for (size_t i = 0; i < bench->size_count; i++) {
        uint64_t key_count = bench->key_counts[i];
        series_name(name, key_count, "opponent", 0);
        const char *opponent = mete__bench_name(report, "%s", name);
        for (size_t b = 0; b <= BATCH_SIZES; b++) {
            size_t batch = b == 0 ? 0 : batch_sizes[b - 1];
            series_name(name, key_count, "mete", batch);
            const char *measured = mete__bench_name(report, "%s", name);
            series_name(name, key_count, "single / opponent", batch);
            if (batch != 0) {
                series_name(name, key_count, "/ opponent", batch);
            }
            struct mete__bench_check check = {mete__bench_name(report, "%s", name),
                                              measured,
                                              opponent,
                                              METE__BENCH_RATIO,
                                              METE__BENCH_AT_MOST,
                                              batch == 0 ? 0.33 : 0.07};
            mete__bench_require(report, &check);
        }
    }
}

/* Every order is as likely as any other (Fisher and Yates). */
static void shuffle(unsigned char (*keys)[METE__BENCH_KEY_SIZE], uint64_t count)
{
    uint64_t random = count;
    for (uint64_t i = count - 1; i > 0; i--) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t j = (uint64_t)(((unsigned __int128)random * (i + 1)) >> 64);
        unsigned char key[METE__BENCH_KEY_SIZE];
        memcpy(key, keys[i], sizeof(key));
        memcpy(keys[i], keys[j], sizeof(key));
        memcpy(keys[j], key, sizeof(key));
    }
}

/* Makes every key known to both sides, then puts the keys in another order. */
static bool fill(struct key_table *table)
{
    bool filled = true;
    for (uint64_t i = 0; i < table->key_count; i++) {
        mete__bench_key(i, table->keys[i]);
        filled = filled && mete_one(table->limiter, table->keys[i]) && opponent_one(table->opponent, table->keys[i]);
    }
    shuffle(table->keys, table->key_count);
    return filled;
}

static bool make_table(struct key_table *table, uint64_t key_count)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = key_count;
    struct mete_limit limit = {0};
    limit.count = COUNT;
    limit.period_ns = NS_PER_H;
    limit.burst = BURST;
    table->key_count = key_count;
    table->keys = malloc(key_count * sizeof(*table->keys));
    if (table->keys == NULL || mete_store_create(&options, &table->store) != METE_OK ||
        mete_limiter_create(table->store, "bench", &limit, &table->limiter) != METE_OK) {
        return false;
    }
    table->opponent = opponent_create((size_t)key_count, COUNT / 3600.0, BURST, table->store);
    return table->opponent != NULL && fill(table);
}

static void free_keys(void *state)
{
    struct keys *keys = state;
    for (size_t i = 0; keys != NULL && i < keys->table_count; i++) {
        struct key_table *table = &keys->tables[i];
        opponent_destroy(table->opponent);
        mete_limiter_destroy(table->limiter);
        mete_store_destroy(table->store);
        free(table->keys);
    }
    free(keys);
}

static void *make_keys(struct mete__bench *bench)
{
    struct keys *keys = calloc(1, sizeof(*keys));
    bool made = keys != NULL;
    for (size_t i = 0; made && i < bench->size_count; i++) {
        keys->table_count = i + 1;
        made = make_table(&keys->tables[i], bench->key_counts[i]);
    }
    if (!made) {
        mete__bench_fail(bench, "no memory for the keys, or one was denied while filling");
        free_keys(keys);
        return NULL;
    }
    return keys;
}

const struct mete__bench_group mete__bench_keys = {"keys", make_keys, run_keys, require_keys, free_keys};

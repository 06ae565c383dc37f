/* SPDX-License-Identifier: Apache-2.0 */
/* Deciding in batches; replay_decide.h says what is counted. */
#include "cli/replay_decide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "cli/input_lines.h"

/* A key is part of one line, so one always fits after a flush. */
#define KEY_BYTES_SIZE (METE__LINE_MAX + 1)

/* What a sliding log may hold over all keys, sixteen times the library's
 * default: only what is used takes memory. */
#define LOG_UNITS_MAX ((uint64_t)16 * 1024 * 1024)

/* The store is made for so many times the keys that are counted. */
#define STORE_ROOM 4u

static bool decide_batch(struct mete__decider *decider, struct mete_decision *decisions, const struct mete__why *why);
static void count_decision(struct mete__decider *decider, size_t i, const struct mete_decision *decision);
static void count_time(struct mete__decider *decider, uint64_t time_ns);

bool mete__decider_add(struct mete__decider *decider, const struct mete__record *record, const struct mete__why *why)
{
    bool full = decider->batch_count == METE__BATCH || decider->key_bytes_used + record->key_len > KEY_BYTES_SIZE;
    if (full && !mete__decider_flush(decider, why)) {
        return false;
    }
    char *key = decider->key_bytes + decider->key_bytes_used;
    memcpy(key, record->key, record->key_len);
    decider->key_bytes_used += record->key_len;

    size_t i = decider->batch_count++;
    decider->requests[i] = (struct mete_request){key, record->key_len, record->cost, record->time_ns, 0};
    decider->hashes[i] = mete__keys_hash(&decider->keys, key, record->key_len);
    mete__keys_prefetch(&decider->keys, decider->hashes[i]);
    count_time(decider, record->time_ns);
    return true;
}

bool mete__decider_flush(struct mete__decider *decider, const struct mete__why *why)
{
    struct mete_decision decisions[METE__BATCH];
    if (decider->batch_count > 0 && !decide_batch(decider, decisions, why)) {
        return false;
    }
    for (size_t i = 0; i < decider->batch_count; i++) {
        count_decision(decider, i, &decisions[i]);
    }
    decider->batch_count = 0;
    decider->key_bytes_used = 0;
    return true;
}

/* One request under all limits: allowed when all allow it, never when one never will. */
static mete_status decide_all(struct mete__decider *decider, const struct mete_request *request,
                              struct mete_decision *decision)
{
    struct mete_demand demands[METE__ARG_TEXTS_MAX];
    struct mete_decision verdicts[METE__ARG_TEXTS_MAX];
    for (size_t i = 0; i < decider->limit_count; i++) {
        demands[i] = (struct mete_demand){decider->limiters[i], *request};
    }
    size_t binding = 0;
    mete_status status = mete_take_all(demands, decider->limit_count, verdicts, &binding);
    if (status == METE_OK) {
        *decision = verdicts[binding];
        for (size_t i = 0; i < decider->limit_count; i++) {
            decision->allowed = decision->allowed && verdicts[i].allowed;
        }
    }
    return status;
}

static bool decide_batch(struct mete__decider *decider, struct mete_decision *decisions, const struct mete__why *why)
{
    mete_status status = METE_OK;
    if (decider->limit_count == 1) {
        status = mete_take_batch(decider->limiters[0], decider->requests, decider->batch_count, decisions);
    }
    for (size_t i = 0; status == METE_OK && decider->limit_count > 1 && i < decider->batch_count; i++) {
        status = decide_all(decider, &decider->requests[i], &decisions[i]);
    }
    if (status != METE_OK) {
        (void)mete__fail(why, status, "a decision failed: %s", mete_status_text(status));
        return false;
    }
    return true;
}

/* --- counting ----------------------------------------------------------- */

static void add_saturating(uint64_t *sum, uint64_t n)
{
    *sum = *sum > UINT64_MAX - n ? UINT64_MAX : *sum + n;
}

static void count_decision(struct mete__decider *decider, size_t i, const struct mete_decision *decision)
{
    struct mete__replay_counts *counts = &decider->counts;
    const struct mete_request *request = &decider->requests[i];
    counts->requests++;
    counts->allowed += decision->allowed;
    counts->denied += !decision->allowed;
    counts->never += !decision->allowed && decision->retry_after_ns == METE_NEVER;
    add_saturating(decision->allowed ? &counts->units_allowed : &counts->units_denied, request->cost);

    struct mete__key_count *key = mete__keys_get(&decider->keys, decider->hashes[i], request->key, request->key_len);
    if (key == NULL) {
        counts->unnamed++;
        return;
    }
    key->allowed += decision->allowed;
    key->denied += !decision->allowed;
}

static void count_time(struct mete__decider *decider, uint64_t time_ns)
{
    struct mete__replay_counts *counts = &decider->counts;
    uint64_t step_back_ns = mete__sub_floor0_u64(decider->last_time_ns, time_ns);
    counts->steps_back += step_back_ns > 0;
    counts->step_back_max_ns = mete__max_u64(counts->step_back_max_ns, step_back_ns);
    counts->first_ns = mete__min_u64(counts->first_ns, time_ns);
    counts->last_ns = mete__max_u64(counts->last_ns, time_ns);
    decider->last_time_ns = time_ns;
}

/* --- making ------------------------------------------------------------- */

/* Every request brings its own time, so the store's clock stands still.  If it
 * moved with the log, a key first seen at an earlier time than its neighbour
 * would be judged at the neighbour's. */
static uint64_t still_clock(void *context)
{
    (void)context;
    return 0;
}

static bool make_limiters(struct mete__decider *decider, const struct mete__why *why)
{
    for (size_t i = 0; i < decider->limit_count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "replay-%zu", i);
        if (mete_limiter_create_why(decider->store, name, &decider->limits[i], &decider->limiters[i], why->text,
                                    why->size) != METE_OK) {
            return false;
        }
    }
    return true;
}

bool mete__decider_init(struct mete__decider *decider, const struct mete_limit *limits, size_t limit_count,
                        uint64_t keys_max, const struct mete__why *why)
{
    memset(decider, 0, sizeof(*decider));
    memcpy(decider->limits, limits, limit_count * sizeof(*limits));
    decider->limit_count = limit_count;
    decider->counts.first_ns = UINT64_MAX;
    /* The pages behind key_bytes that no key reaches are never touched. */
    decider->key_bytes = malloc(KEY_BYTES_SIZE);
    if (decider->key_bytes == NULL || !mete__keys_init(&decider->keys, keys_max)) {
        (void)mete__fail(why, METE_ENOMEM, "%s", mete_status_text(METE_ENOMEM));
        goto fail;
    }
    const struct mete_clock clock = {still_clock, NULL};
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    /* Room to spare: a log may go back in time, and a key whose idle cell was taken
     * by another starts anew at that one's time, not at its own. */
    options.keys_max = keys_max < UINT64_MAX / STORE_ROOM ? keys_max * STORE_ROOM : keys_max;
    options.flags = METE_STORE_NO_PREFAULT;
    options.clock = &clock;
    options.log_units_max = LOG_UNITS_MAX;
    if (mete_store_create_why(&options, &decider->store, why->text, why->size) != METE_OK ||
        !make_limiters(decider, why)) {
        goto fail;
    }
    return true;
fail:
    mete__decider_clear(decider);
    return false;
}

void mete__decider_clear(struct mete__decider *decider)
{
    for (size_t i = 0; i < decider->limit_count; i++) {
        mete_limiter_destroy(decider->limiters[i]);
    }
    decider->limit_count = 0;
    mete_store_destroy(decider->store);
    decider->store = NULL;
    mete__keys_clear(&decider->keys);
    free(decider->key_bytes);
    decider->key_bytes = NULL;
}

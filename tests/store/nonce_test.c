/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each claim of a cell carries a number that no other claim has, whichever thread
 * made it: a swap that expects a claim must not succeed on another one.
 */
#include "place.h"

#include <pthread.h>

#include "limiter/decide.h"

#define THREADS 6u
#define CLAIMS 500u

struct claimer {
    mete_store *store;
    unsigned which;
    unsigned n;
    uint64_t nonces[CLAIMS];
};

static uint64_t note_nonce(void *context, const struct mete__pair *address, struct mete__pair pending)
{
    struct claimer *claimer = context;
    (void)address;
    claimer->nonces[claimer->n] = pending.hi;
    return 1;
}

static uint64_t rank_none(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                          uint64_t *idle_at_ns)
{
    (void)context;
    (void)address;
    (void)cell;
    (void)now_ns;
    *idle_at_ns = 0;
    return 0; /* any cell may be taken */
}

static void *claim_many(void *context)
{
    struct claimer *claimer = context;
    struct mete__judge judge = {.context = claimer, .rank = rank_none, .word = note_nonce};
    for (claimer->n = 0; claimer->n < CLAIMS; claimer->n++) {
        uint64_t number = claimer->which * CLAIMS + claimer->n + 1;
        struct mete__hash hash = {number * UINT64_C(0x9e3779b97f4a7c15), number << 16};
        struct mete__slot slot = mete__table_locate(&claimer->store->table, hash);
        struct mete__claim claim = {.scale_id = 1, .mark_seen_ns = UINT64_MAX};
        if (mete__claim_cell(&claimer->store->table, &slot, &judge, &claim) != METE__CLAIM_MADE) {
            break;
        }
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void no_two_claims_are_alike(void **state)
{
    (void)state;
    static struct claimer claimers[THREADS];
    static uint64_t all[THREADS * CLAIMS];
    struct api_world world;
    struct mete_store_options options = api_options(&world);
    pthread_t threads[THREADS];
    options.keys_max = 10 * THREADS * CLAIMS;
    api_set(&world, 0);
    mete_store *store = api_store(&options);
    for (unsigned i = 0; i < THREADS; i++) {
        claimers[i] = (struct claimer){.store = store, .which = i};
        assert_int_equal(pthread_create(&threads[i], NULL, claim_many, &claimers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(claimers[i].n, CLAIMS);
        memcpy(all + i * CLAIMS, claimers[i].nonces, sizeof claimers[i].nonces);
    }
    qsort(all, COUNT_OF(all), sizeof all[0], compare);
    for (size_t i = 1; i < COUNT_OF(all); i++) {
        assert_true(all[i] != all[i - 1]);
    }
    mete_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_claims_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

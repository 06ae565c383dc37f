/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes and several opens that share one file.  tests/api/file_test.c has
 * the plain cases; here they race, fork without exec, and disagree.
 */
#include "place.h"

#include <pthread.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "limiter/limiter.h"

#define HOUR (3600 * SEC)
#define CHILDREN 4u

struct shared {
    _Atomic uint64_t ready;
    _Atomic uint64_t go;
    _Atomic uint64_t admitted;
    _Atomic uint64_t per_key[4096];
    uint64_t nonces[CHILDREN + 1];
};

static struct place place;
static struct shared *shared;

static int start(void **state)
{
    (void)state;
    place_make(&place);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared != MAP_FAILED ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    munmap(shared, sizeof *shared);
    place_remove(&place);
    return 0;
}

static struct mete_store_options file_options(void)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = 8192;
    options.path = place.path;
    return options;
}

/* Children begin at one moment, when all are there. */
static void meet(unsigned expected)
{
    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->ready) < expected) {
        usleep(50);
    }
}

typedef void child_main(unsigned which, void *context);

static void run_children(child_main *run, void *context)
{
    pid_t pids[CHILDREN];
    atomic_store(&shared->ready, 0);
    fflush(stdout);
    for (unsigned i = 0; i < CHILDREN; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            run(i, context);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
}

/* --- one key, real time ---------------------------------------------------- */

#define RACE_BURST 5000u
#define RACE_GAP_NS MS

static void race_child(unsigned which, void *context)
{
    struct mete_store_options options = file_options();
    struct mete_limit limit = {.count = 1000, .period_ns = SEC, .burst = RACE_BURST};
    mete_store *store = NULL;
    mete_limiter *limiter = NULL;
    uint64_t admitted = 0, *end_ns = context;
    (void)which;
    meet(CHILDREN); /* they create and open the file at once as well */
    if (mete_store_create(&options, &store) != METE_OK ||
        mete_limiter_create(store, "n", &limit, &limiter) != METE_OK) {
        _exit(1);
    }
    while (mete_store_now(store) < *end_ns) {
        admitted += mete_allow(limiter, "k", 1);
    }
    atomic_fetch_add(&shared->admitted, admitted);
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

/* Exhausted at the start, and for 5 s not full again: what was charged since can
 * be read from when it will be full.  No unit was given twice, and none lost. */
static void one_key_is_exact(void **state)
{
    (void)state;
    if (!processes_share()) {
        skip();
    }
    struct mete_store_options options = file_options();
    mete_store *store = api_store(&options);
    mete_limiter *limiter = api_limiter(store, "n", "1000/s burst 5000");
    struct mete_request all = api_request("k", RACE_BURST);
    struct mete_decision decision;
    for (unsigned round = 0; round < 3 * place_scale(); round++) {
        assert_int_equal(mete_reset(limiter, "k", 1), METE_OK);
        atomic_store(&shared->admitted, 0);
        uint64_t first_ns = mete_store_now(store);
        all.now_ns = first_ns;
        assert_int_equal(mete_take(limiter, &all, &decision), METE_OK);
        uint64_t end_ns = first_ns + 500 * MS;
        run_children(race_child, &end_ns);
        all.now_ns = mete_store_now(store);
        assert_int_equal(mete_peek(limiter, &all, &decision), METE_OK);
        uint64_t full_ns = all.now_ns + decision.reset_after_ns;
        assert_int_equal((full_ns - first_ns) % RACE_GAP_NS, 0);
        assert_int_equal((full_ns - first_ns) / RACE_GAP_NS, RACE_BURST + shared->admitted);
        assert_true(shared->admitted <= (all.now_ns - first_ns) / RACE_GAP_NS);
        assert_true(shared->admitted > 10);
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

/* --- fork without exec ----------------------------------------------------- */

struct pair_of {
    mete_store *store;
    mete_limiter *limiter;
};

static void fork_child(unsigned which, void *context)
{
    struct pair_of *own = context;
    meet(CHILDREN);
    for (uint32_t key = 0; key < COUNT_OF(shared->per_key); key++) {
        bool is_allowed = mete_allow(own->limiter, &key, sizeof key);
        atomic_fetch_add(&shared->per_key[key], is_allowed);
    }
    (void)which;
}

/* Children use the mapping they were born with; every key is claimed by all at once. */
static void fork_without_exec(void **state)
{
    (void)state;
    if (!processes_share()) {
        skip();
    }
    struct mete_store_options options = file_options();
    struct pair_of own = {api_store(&options), NULL};
    own.limiter = api_limiter(own.store, "n", "1/1h burst 1");
    assert_true(mete_allow(own.limiter, "mine", 4)); /* so that this thread has drawn a nonce */
    run_children(fork_child, &own);
    for (size_t key = 0; key < COUNT_OF(shared->per_key); key++) {
        assert_int_equal(shared->per_key[key], 1);
    }
    assert_int_equal(api_keys_live(own.store), COUNT_OF(shared->per_key) + 1);
    assert_false(mete_allow(own.limiter, "mine", 4));
    /* What the children counted is in the file. */
    struct mete_store_stats stats = api_stats(own.store);
    assert_int_equal(stats.keys_inserted, COUNT_OF(shared->per_key) + 1);
    assert_int_equal(stats.keys_evicted, 0);
    assert_int_equal(stats.scales_used, 1);
    mete_limiter_destroy(own.limiter);
    mete_store_destroy(own.store);
    /* And stays there, also for who opens it now. */
    own.store = api_store(&options);
    assert_int_equal(api_stats(own.store).keys_inserted, COUNT_OF(shared->per_key) + 1);
    assert_int_equal(api_keys_live(own.store), COUNT_OF(shared->per_key) + 1);
    mete_store_destroy(own.store);
}

static uint64_t rank_nothing(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                             uint64_t *idle_at_ns)
{
    (void)context;
    (void)address;
    (void)cell;
    (void)now_ns;
    *idle_at_ns = 0;
    return 0;
}

/* Writes down the nonce of the claim that is being made. */
static uint64_t note_nonce(void *context, const struct mete__pair *address, struct mete__pair pending)
{
    (void)address;
    *(uint64_t *)context = pending.hi;
    return 1;
}

static void nonce_of(mete_store *store, uint64_t which, uint64_t *nonce)
{
    struct mete__judge judge = {.context = nonce, .rank = rank_nothing, .word = note_nonce};
    struct mete__claim claim = {.scale_id = 1, .mark_seen_ns = 0};
    uint64_t random = which + 1;
    struct mete__hash hash = {place_random(&random), place_random(&random)};
    struct mete__slot slot = mete__table_locate(&store->table, hash);
    assert_int_equal(mete__claim_cell(&store->table, &slot, &judge, &claim), METE__CLAIM_MADE);
}

static void nonce_child(unsigned which, void *context)
{
    nonce_of(((struct pair_of *)context)->store, which, &shared->nonces[which]);
}

/* Children of one parent draw nonces far from each other's and from its own. */
static void nonces_differ_after_a_fork(void **state)
{
    (void)state;
    struct mete_store_options options = file_options();
    struct pair_of own = {api_store(&options), NULL};
    nonce_of(own.store, CHILDREN, &shared->nonces[CHILDREN]);
    run_children(nonce_child, &own);
    for (unsigned i = 0; i <= CHILDREN; i++) {
        assert_true(shared->nonces[i] != 0);
        for (unsigned j = 0; j < i; j++) {
            uint64_t apart = shared->nonces[i] - shared->nonces[j];
            assert_true(apart > 1000000 && apart < UINT64_MAX - 1000000);
        }
    }
    mete_store_destroy(own.store);
}

/* --- two opens in one process ---------------------------------------------- */

#define RACE_KEYS 3000u

static void *claim_all(void *context)
{
    mete_limiter *limiter = context;
    uint64_t admitted = 0;
    for (uint32_t key = 0; key < RACE_KEYS; key++) {
        admitted += mete_allow(limiter, &key, sizeof key);
    }
    atomic_fetch_add(&shared->admitted, admitted);
    return NULL;
}

static void two_opens_race(void **state)
{
    (void)state;
    struct mete_store_options options = file_options();
    mete_store *stores[2];
    mete_limiter *limiters[2];
    pthread_t threads[4];
    for (size_t i = 0; i < 2; i++) {
        stores[i] = api_store(&options);
        limiters[i] = api_limiter(stores[i], "n", "1/1h burst 1");
    }
    assert_ptr_not_equal(stores[0]->table.buckets, stores[1]->table.buckets);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, claim_all, limiters[i % 2]), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(shared->admitted, RACE_KEYS);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(api_keys_live(stores[i]), RACE_KEYS);
        mete_limiter_destroy(limiters[i]);
        mete_store_destroy(stores[i]);
    }
}

/* --- one name, different limits -------------------------------------------- */

/* Two that disagree on the limit of one name, as during a rolling change of a
 * configuration.  Whoever asks is judged by its own limit, and between them no
 * more is admitted than the more generous of the two admits alone. */
static void disagree(const char *one, const char *other, uint64_t burst, uint64_t per_hour)
{
    struct api_world world;
    struct mete_store_options options = file_options();
    struct mete_decision decision;
    mete_store *stores[2];
    mete_limiter *limiters[2];
    options.clock = &world.clock;
    world.clock = (struct mete_clock){api_clock_now, &world};
    api_set(&world, 1000 * HOUR);
    for (size_t i = 0; i < 2; i++) {
        stores[i] = api_store(&options);
        limiters[i] = api_limiter(stores[i], "n", i == 0 ? one : other);
    }
    uint64_t start_ns = 1010 * HOUR; /* both have run for a while */
    uint64_t admitted = 0;
    for (unsigned step = 0; step < 200; step++) {
        api_set(&world, start_ns + step * 60 * SEC);
        for (unsigned i = 0; i < 40; i++) {
            decision = api_take_of(limiters[(step + i / 20) % 2], "k", 1);
            assert_true(decision.remaining <= decision.limit);
            admitted += decision.allowed;
        }
        uint64_t bound = burst + per_hour * step / 60;
        if (admitted > bound) {
            fail_msg("%s beside %s: %llu admitted after %u min, %llu is the most", one, other,
                     (unsigned long long)admitted, step, (unsigned long long)bound);
        }
    }
    assert_true(admitted >= burst);
    for (size_t i = 0; i < 2; i++) {
        mete_limiter_destroy(limiters[i]);
        mete_store_destroy(stores[i]);
    }
    unlink(place.path);
}

static void different_bursts(void **state)
{
    (void)state;
    disagree("10/1h burst 10", "10/1h burst 5", 10, 10);
}

static void different_rates(void **state)
{
    (void)state;
    disagree("10/1h burst 10", "20/1h burst 10", 10, 20);
    disagree("7/3h burst 10", "20/1h burst 10", 10, 20);
}

static void different_windows(void **state)
{
    (void)state;
    disagree("fixed_window 10/4h", "fixed_window 8/4h", 10, 10);
}

#define processes_unit(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        processes_unit(one_key_is_exact),           processes_unit(fork_without_exec), processes_unit(two_opens_race),
        processes_unit(nonces_differ_after_a_fork), processes_unit(different_bursts),  processes_unit(different_rates),
        processes_unit(different_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

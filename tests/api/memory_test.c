/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations: each one that can fail is made to fail, and deciding makes none.
 *
 * This program brings its own malloc, which counts and fails on demand and else
 * asks glibc's.  A sanitizer's allocator cannot be wrapped this way: then only
 * the calls themselves are run.
 */
#include "api.h"

#include <errno.h>
#include <unistd.h>

#include <mete/queue.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define WRAPPED 0
#else
#define WRAPPED 1
#endif

static uint64_t fail_at;     /* the n-th allocation from now fails; 0: none */
static uint64_t allocations; /* since the last reset */
static int64_t live;         /* allocated and not yet freed */

#if WRAPPED
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *memory);

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);
void *aligned_alloc(size_t align, size_t size);
void *memalign(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);
void free(void *memory);

static bool may_pass(void)
{
    allocations++;
    if (allocations == fail_at) {
        errno = ENOMEM;
        return false;
    }
    return true;
}

static void *counted(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *malloc(size_t size)
{
    return may_pass() ? counted(__libc_malloc(size)) : NULL;
}

void *calloc(size_t n, size_t size)
{
    return may_pass() ? counted(__libc_calloc(n, size)) : NULL;
}

void *realloc(void *old, size_t size)
{
    if (!may_pass()) {
        return NULL;
    }
    void *memory = __libc_realloc(old, size);
    live += (memory != NULL) - (old != NULL && (memory != NULL || size == 0));
    return memory;
}

void *memalign(size_t align, size_t size)
{
    return may_pass() ? counted(__libc_memalign(align, size)) : NULL;
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *memory = memalign(align, size);
    if (memory == NULL) {
        return ENOMEM;
    }
    *out = memory;
    return 0;
}

void free(void *memory)
{
    live -= memory != NULL;
    __libc_free(memory);
}
#endif

/* Something that allocates.  Cleans up after itself, whatever the outcome, and
 * returns true when `out` was treated as it must be. */
typedef bool attempt(const void *argument, mete_status *status);

/* Runs it with the 1st, 2nd, 3rd ... allocation failing, until none fails. */
static void fail_each(attempt *run, const void *argument)
{
    mete_status status = METE_ENOMEM;
    for (uint64_t n = 1; status != METE_OK && n < 1000; n++) {
        int64_t before = live;
        allocations = 0;
        fail_at = n;
        bool clean = run(argument, &status);
        bool has_failed = WRAPPED && allocations >= n;
        fail_at = 0;
        assert_true(clean);
        assert_int_equal(live, before);
        assert_int_equal(status, has_failed ? METE_ENOMEM : METE_OK);
    }
    assert_int_equal(status, METE_OK);
}

static bool make_store(const void *argument, mete_status *status)
{
    mete_store *store;
    api_mark(&store, sizeof(store));
    *status = mete_store_create(argument, &store);
    if (*status != METE_OK) {
        return api_is_marked(&store, sizeof(store));
    }
    mete_store_destroy(store);
    return true;
}

static void store_without_memory(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = api_options(&world);
    api_set(&world, 0);
    fail_each(make_store, NULL);
    fail_each(make_store, &options);
    char path[] = "/tmp/mete-memory-XXXXXX";
    int fd = mkstemp(path);
    close(fd);
    unlink(path);
    options.path = path;
    fail_each(make_store, &options); /* makes the file in the end */
    fail_each(make_store, &options); /* and opens it */
    options.clock = NULL;
    unlink(path);
    fail_each(make_store, &options);
    unlink(path);
}

/* A store of its own for each attempt: what a store keeps for later is freed with it. */
static bool make_limiter(const void *argument, mete_status *status)
{
    struct api_world world;
    const uint64_t n = fail_at;
    struct mete_limit limit;
    mete_limiter *limiter;
    bool clean = true;
    fail_at = 0;
    limit = api_limit(argument);
    struct mete_store_options options = api_options(&world);
    api_set(&world, 0);
    world.store = api_store(&options);
    allocations = 0;
    fail_at = n;
    api_mark(&limiter, sizeof(limiter));
    *status = mete_limiter_create(world.store, "n", &limit, &limiter);
    const uint64_t made = allocations;
    fail_at = 0;
    if (*status != METE_OK) {
        clean = api_is_marked(&limiter, sizeof(limiter));
        /* The store is as good as before. */
        limiter = api_limiter(world.store, "n", argument);
    }
    clean = clean && mete_allow(limiter, "k", 1);
    mete_limiter_destroy(limiter);
    mete_store_destroy(world.store);
    allocations = made;
    return clean;
}

static const char *const limits[] = {
    "10/10s",
    "leaky_bucket 7/3s",
    "fixed_window 10/10s",
    "fixed_window 10/10s anchored",
    "sliding_window 10/10s",
    "sliding_log 10/10s",
    "fixed_window 10/day calendar",
    "fixed_window 10/day calendar zone Europe/Berlin",
};

static void limiter_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        fail_each(make_limiter, limits[i]);
    }
}

/* A change that fails leaves the old limit in force. */
static bool change_limit(const void *argument, mete_status *status)
{
    struct api_world world;
    const uint64_t n = fail_at;
    struct mete_limit limit, told;
    fail_at = 0;
    limit = api_limit(argument);
    api_open(&world, "5/10s");
    api_take(&world, 0, "k", 2);
    allocations = 0;
    fail_at = n;
    *status = mete_limiter_set_limit(world.limiter, &limit);
    const uint64_t made = allocations;
    fail_at = 0;
    assert_int_equal(mete_limiter_limit(world.limiter, &told), METE_OK);
    uint64_t capacity = *status == METE_OK ? limit.count : 5;
    bool clean = told.count == capacity && api_peek(&world, 0, "k", 0).remaining == capacity - 2;
    api_close(&world);
    allocations = made;
    return clean;
}

static void change_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        fail_each(change_limit, limits[i]);
    }
}

static bool make_queue(const void *argument, mete_status *status)
{
    mete_queue *queue;
    api_mark(&queue, sizeof(queue));
    *status = mete_queue_create(argument, &queue);
    if (*status != METE_OK) {
        return api_is_marked(&queue, sizeof(queue));
    }
    mete_queue_destroy(queue);
    return true;
}

static void queue_without_memory(void **state)
{
    (void)state;
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    fail_each(make_queue, &options);
}

/* Every call that decides, many times over new keys and old. */
static void decide(struct api_world *world, mete_limiter *limiter)
{
    struct mete_request requests[32];
    struct mete_decision decisions[32];
    struct mete_demand demands[2];
    uint64_t keys[32];
    for (uint64_t round = 0; round < 50; round++) {
        for (uint64_t i = 0; i < 32; i++) {
            keys[i] = (round * 32 + i) % 700;
            requests[i] = (struct mete_request){&keys[i], sizeof(keys[i]), 1 + i % 3, METE_NOW, SEC};
        }
        api_set(world, round * 100 * MS);
        demands[0] = (struct mete_demand){limiter, requests[0]};
        demands[1] = (struct mete_demand){world->limiter, requests[1]};
        (void)mete_take_batch(limiter, requests, 32, decisions);
        (void)mete_take_all(demands, 2, decisions, NULL);
        for (uint64_t i = 0; i < 32; i++) {
            (void)mete_allow(limiter, &keys[i], sizeof(keys[i]));
            (void)mete_take(limiter, &requests[i], decisions);
            (void)mete_peek(limiter, &requests[i], decisions);
            (void)mete_reserve(limiter, &requests[i], decisions);
            (void)mete_refund(limiter, &requests[i], decisions);
        }
        (void)mete_reset(limiter, &keys[7], sizeof(keys[7]));
    }
}

static void deciding_allocates_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct api_world world;
        api_open(&world, "1000/s");
        mete_limiter *limiter = api_limiter(world.store, limits[i], limits[i]);
        allocations = 0;
        decide(&world, limiter);
        assert_int_equal(allocations, 0);
        assert_true(api_keys_live(world.store) > 0);
        mete_limiter_destroy(limiter);
        api_close(&world);
    }
}

/* What a store, a limiter and a queue took is given back. */
static void destroying_frees_all(void **state)
{
    (void)state;
    int64_t before = live;
    struct api_world world;
    api_open(&world, "1000/s");
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        mete_limiter *limiter = api_limiter(world.store, limits[i], limits[i]);
        struct mete_limit limit = api_limit(limits[(i + 1) % COUNT_OF(limits)]);
        assert_int_equal(mete_limiter_set_limit(limiter, &limit), METE_OK);
        mete_limiter_destroy(limiter);
    }
    api_close(&world);
    assert_int_equal(live, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_without_memory),       cmocka_unit_test(limiter_without_memory),
        cmocka_unit_test(change_without_memory),      cmocka_unit_test(queue_without_memory),
        cmocka_unit_test(deciding_allocates_nothing), cmocka_unit_test(destroying_frees_all),
    };
    if (!WRAPPED) {
        print_message("built with a sanitizer: no allocation is made to fail here\n");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of this folder share: a store whose clock the test sets, and
 * the check that a refused call wrote nothing.
 */
#ifndef METE_TESTS_API_API_H
#define METE_TESTS_API_API_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <mete/mete.h>

#define MS UINT64_C(1000000)
#define SEC UINT64_C(1000000000)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define TEN_YEARS_NS (UINT64_C(315576000) * SEC)

struct api_world {
    _Atomic uint64_t now_ns;
    struct mete_clock clock;
    mete_store *store;
    mete_limiter *limiter;
};

static inline uint64_t api_clock_now(void *context)
{
    return atomic_load_explicit(&((struct api_world *)context)->now_ns, memory_order_acquire);
}

static inline void api_set(struct api_world *world, uint64_t now_ns)
{
    atomic_store_explicit(&world->now_ns, now_ns, memory_order_release);
}

static inline struct mete_limit api_limit(const char *text)
{
    struct mete_limit limit;
    char why[200] = "";
    if (mete_limit_parse_why(text, &limit, why, sizeof(why)) != METE_OK) {
        fail_msg("limit '%s': %s", text, why);
    }
    return limit;
}

static inline mete_limiter *api_limiter(mete_store *store, const char *name, const char *text)
{
    struct mete_limit limit = api_limit(text);
    mete_limiter *limiter = NULL;
    char why[200] = "";
    if (mete_limiter_create_why(store, name, &limit, &limiter, why, sizeof(why)) != METE_OK) {
        fail_msg("limiter '%s': %s", text, why);
    }
    return limiter;
}

/* Options of a small store on the world's clock. */
static inline struct mete_store_options api_options(struct api_world *world)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    world->clock = (struct mete_clock){api_clock_now, world};
    options.keys_max = 1000;
    options.clock = &world->clock;
    options.log_units_max = 65536;
    return options;
}

static inline mete_store *api_store(const struct mete_store_options *options)
{
    mete_store *store = NULL;
    char why[300] = "";
    if (mete_store_create_why(options, &store, why, sizeof(why)) != METE_OK) {
        fail_msg("store: %s", why);
    }
    return store;
}

static inline void api_open(struct api_world *world, const char *limit)
{
    struct mete_store_options options = api_options(world);
    api_set(world, 0);
    world->store = api_store(&options);
    world->limiter = api_limiter(world->store, "api", limit);
}

static inline void api_close(struct api_world *world)
{
    mete_limiter_destroy(world->limiter);
    mete_store_destroy(world->store);
}

static inline struct mete_request api_request(const char *key, uint64_t cost)
{
    struct mete_request request = METE_REQUEST_INIT;
    request.key = key;
    request.key_len = strlen(key);
    request.cost = cost;
    return request;
}

static inline struct mete_decision api_take_of(mete_limiter *limiter, const char *key, uint64_t cost)
{
    struct mete_request request = api_request(key, cost);
    struct mete_decision decision;
    assert_int_equal(mete_take(limiter, &request, &decision), METE_OK);
    return decision;
}

static inline struct mete_decision api_take(struct api_world *world, uint64_t at_ns, const char *key, uint64_t cost)
{
    api_set(world, at_ns);
    return api_take_of(world->limiter, key, cost);
}

static inline struct mete_decision api_peek(struct api_world *world, uint64_t at_ns, const char *key, uint64_t cost)
{
    struct mete_request request = api_request(key, cost);
    struct mete_decision decision;
    api_set(world, at_ns);
    assert_int_equal(mete_peek(world->limiter, &request, &decision), METE_OK);
    return decision;
}

static inline struct mete_decision api_reserve(struct api_world *world, uint64_t at_ns, const char *key, uint64_t cost,
                                               uint64_t wait_ns_max)
{
    struct mete_request request = api_request(key, cost);
    struct mete_decision decision;
    request.wait_ns_max = wait_ns_max;
    api_set(world, at_ns);
    assert_int_equal(mete_reserve(world->limiter, &request, &decision), METE_OK);
    return decision;
}

static inline struct mete_decision api_refund(struct api_world *world, uint64_t at_ns, const char *key, uint64_t cost,
                                              uint64_t taken_ns)
{
    struct mete_request request = api_request(key, cost);
    struct mete_decision decision;
    request.now_ns = taken_ns;
    api_set(world, at_ns);
    assert_int_equal(mete_refund(world->limiter, &request, &decision), METE_OK);
    return decision;
}

static inline struct mete_store_stats api_stats(const mete_store *store)
{
    struct mete_store_stats stats;
    assert_int_equal(mete_store_stats(store, &stats), METE_OK);
    return stats;
}

static inline uint64_t api_keys_live(const mete_store *store)
{
    uint64_t live = UINT64_MAX;
    assert_int_equal(mete_store_keys_live(store, &live), METE_OK);
    return live;
}

/* Compares by field: padding bytes may differ. */
static inline bool api_same_decision(const struct mete_decision *a, const struct mete_decision *b)
{
    return a->allowed == b->allowed && a->limit == b->limit && a->remaining == b->remaining &&
           a->wait_ns == b->wait_ns && a->retry_after_ns == b->retry_after_ns && a->reset_after_ns == b->reset_after_ns;
}

/* Marks memory, and tells later whether anything was written to it. */
static inline void api_mark(void *memory, size_t size)
{
    memset(memory, 0xa5, size);
}

static inline bool api_is_marked(const void *memory, size_t size)
{
    const unsigned char *bytes = memory;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0xa5) {
            return false;
        }
    }
    return true;
}

/* Calls a function that must be refused, and checks that `out` was not written. */
#define assert_refused(call, status, out)                  \
    do {                                                   \
        api_mark((out), sizeof(*(out)));                   \
        assert_int_equal((call), (status));                \
        assert_true(api_is_marked((out), sizeof(*(out)))); \
    } while (0)

#endif

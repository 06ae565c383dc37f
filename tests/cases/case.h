/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of this folder share: a store whose clock the test sets, and
 * the few calls that make a scenario read like its report.
 *
 * Each test replays one public fault report of another limiter.  Its name holds
 * the kind and the number of the report; README.md has the table.
 *
 * Times run on the world's clock, forward.  A step back is made by giving the
 * older time in the request: that is how it reaches a limiter in real life.
 */
#ifndef METE_TESTS_CASES_CASE_H
#define METE_TESTS_CASES_CASE_H

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

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SEC UINT64_C(1000000000)
#define CASE_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct case_world {
    _Atomic uint64_t now_ns;
    struct mete_clock clock;
    mete_store *store;
    mete_limiter *limiter;
};

/* One call: at this time, with this cost, and what is right. */
struct case_step {
    uint64_t at_ns;
    uint64_t cost;
    bool allowed;
};

static inline uint64_t case_clock_now(void *context)
{
    return atomic_load_explicit(&((struct case_world *)context)->now_ns, memory_order_acquire);
}

static inline void case_set(struct case_world *world, uint64_t now_ns)
{
    atomic_store_explicit(&world->now_ns, now_ns, memory_order_release);
}

/* METE_TEST_SCALE multiplies the work of the long tests. */
static inline uint64_t case_scale(void)
{
    const char *text = getenv("METE_TEST_SCALE");
    uint64_t scale = text != NULL ? strtoull(text, NULL, 10) : 1;
    return scale > 0 ? scale : 1;
}

static inline struct mete_limit case_limit(const char *text)
{
    struct mete_limit limit;
    char why[200] = "";
    if (mete_limit_parse_why(text, &limit, why, sizeof(why)) != METE_OK) {
        fail_msg("limit '%s': %s", text, why);
    }
    return limit;
}

static inline mete_limiter *case_limiter(mete_store *store, const char *name, const char *text)
{
    struct mete_limit limit = case_limit(text);
    mete_limiter *limiter = NULL;
    char why[200] = "";
    if (mete_limiter_create_why(store, name, &limit, &limiter, why, sizeof(why)) != METE_OK) {
        fail_msg("limiter '%s': %s", text, why);
    }
    return limiter;
}

/* A store with the world's clock.  path may be NULL. */
static inline mete_store *case_store(struct case_world *world, uint64_t keys_max, const char *path)
{
    world->clock.now_ns = case_clock_now;
    world->clock.context = world;
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = keys_max;
    options.path = path;
    options.clock = &world->clock;
    options.log_units_max = 65536;
    mete_store *store = NULL;
    char why[200] = "";
    if (mete_store_create_why(&options, &store, why, sizeof(why)) != METE_OK) {
        fail_msg("store: %s", why);
    }
    return store;
}

static inline void case_open_sized(struct case_world *world, const char *limit, uint64_t keys_max)
{
    case_set(world, 0);
    world->store = case_store(world, keys_max, NULL);
    world->limiter = case_limiter(world->store, "case", limit);
}

static inline void case_open(struct case_world *world, const char *limit)
{
    case_open_sized(world, limit, 1000);
}

static inline void case_close(struct case_world *world)
{
    mete_limiter_destroy(world->limiter);
    mete_store_destroy(world->store);
}

static inline struct mete_request case_request(const char *key, uint64_t cost)
{
    struct mete_request request = METE_REQUEST_INIT;
    request.key = key;
    request.key_len = strlen(key);
    request.cost = cost;
    return request;
}

/* Sets the clock and takes. */
static inline struct mete_decision case_take(struct case_world *world, uint64_t at_ns, const char *key, uint64_t cost)
{
    struct mete_request request = case_request(key, cost);
    struct mete_decision decision;
    case_set(world, at_ns);
    assert_int_equal(mete_take(world->limiter, &request, &decision), METE_OK);
    return decision;
}

/* Takes with a time of its own; the clock stays. */
static inline struct mete_decision case_take_stale(struct case_world *world, uint64_t now_ns, const char *key,
                                                   uint64_t cost)
{
    struct mete_request request = case_request(key, cost);
    struct mete_decision decision;
    request.now_ns = now_ns;
    assert_int_equal(mete_take(world->limiter, &request, &decision), METE_OK);
    return decision;
}

static inline struct mete_decision case_reserve(struct case_world *world, uint64_t at_ns, const char *key,
                                                uint64_t cost, uint64_t wait_ns_max)
{
    struct mete_request request = case_request(key, cost);
    struct mete_decision decision;
    request.wait_ns_max = wait_ns_max;
    case_set(world, at_ns);
    assert_int_equal(mete_reserve(world->limiter, &request, &decision), METE_OK);
    return decision;
}

/* Gives back; taken_ns as mete_refund: METE_NOW, or for windows the time of the take. */
static inline struct mete_decision case_refund(struct case_world *world, uint64_t at_ns, const char *key, uint64_t cost,
                                               uint64_t taken_ns)
{
    struct mete_request request = case_request(key, cost);
    struct mete_decision decision;
    request.now_ns = taken_ns;
    case_set(world, at_ns);
    assert_int_equal(mete_refund(world->limiter, &request, &decision), METE_OK);
    return decision;
}

static inline uint64_t case_remaining(struct case_world *world, uint64_t at_ns, const char *key)
{
    struct mete_request request = case_request(key, 0);
    struct mete_decision decision;
    case_set(world, at_ns);
    assert_int_equal(mete_peek(world->limiter, &request, &decision), METE_OK);
    return decision.remaining;
}

/* How many of `calls` calls of one unit at one instant pass. */
static inline uint64_t case_admitted(struct case_world *world, uint64_t at_ns, const char *key, uint64_t calls)
{
    uint64_t admitted = 0;
    for (uint64_t i = 0; i < calls; i++) {
        admitted += case_take(world, at_ns, key, 1).allowed;
    }
    return admitted;
}

static inline void case_run_steps(struct case_world *world, const char *key, const struct case_step *steps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool allowed = case_take(world, steps[i].at_ns, key, steps[i].cost).allowed;
        if (allowed != steps[i].allowed) {
            fail_msg("step %zu: %s", i, allowed ? "allowed, must be denied" : "denied, must be allowed");
        }
    }
}
#define case_run(world, key, steps) case_run_steps(world, key, steps, CASE_COUNT_OF(steps))

#endif

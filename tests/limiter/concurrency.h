/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests with real threads share: a crew that starts together, and a store. */
#ifndef CONCURRENCY_H
#define CONCURRENCY_H

#define _GNU_SOURCE 1 /* pthread_setaffinity_np */

#include <mete/mete.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CREW_MAX 4u
#define SEC UINT64_C(1000000000)

/* Two threads may read the store's clock so far apart (base/clock.h: 1 us each). */
#define CLOCK_APART_NS UINT64_C(2000)

static inline uint64_t test_scale(void)
{
    const char *text = getenv("METE_TEST_SCALE");
    uint64_t value = text != NULL ? strtoull(text, NULL, 10) : 0;
    return value != 0 ? value : 1;
}

/* Counters that the threads share; relaxed: they are read after joining. */
static inline void add_to(uint64_t *counter, uint64_t units)
{
    __atomic_fetch_add(counter, units, __ATOMIC_RELAXED);
}

static inline uint64_t read_of(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

/* --- crew ----------------------------------------------------------------------- */

struct crew {
    void (*run)(void *context, unsigned member);
    void *context;
    unsigned members;
    uint64_t waiting; /* counts arrivals; all of a turn have come at each multiple of members */
};

struct crew_member {
    struct crew *crew;
    unsigned number;
};

/* How long to look for the others before the processor is given away: so two
 * that run at once go on within a few nanoseconds of each other. */
#define CREW_LOOKS 20000u

/* Lets all members go on together. */
static inline void crew_meet(struct crew *crew)
{
    uint64_t mine = __atomic_fetch_add(&crew->waiting, 1, __ATOMIC_ACQ_REL);
    uint64_t all = (mine / crew->members + 1) * crew->members;
    for (unsigned looks = 0; read_of(&crew->waiting) < all; looks++) {
        if (looks >= CREW_LOOKS) {
            sched_yield(); /* there may be fewer processors than members */
        }
    }
}

/* The members take the processors in turn; else a busy machine may run them one
 * after the other.  Best effort. */
static inline void crew_spread(unsigned number)
{
    cpu_set_t all;
    cpu_set_t one;
    if (pthread_getaffinity_np(pthread_self(), sizeof all, &all) != 0) {
        return;
    }
    unsigned place = number % (unsigned)CPU_COUNT(&all);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && place-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
    }
}

static inline void *crew_main(void *argument)
{
    struct crew_member *member = argument;
    crew_spread(member->number);
    crew_meet(member->crew);
    member->crew->run(member->crew->context, member->number);
    return NULL;
}

static inline void crew_run(struct crew *crew)
{
    pthread_t threads[CREW_MAX];
    struct crew_member members[CREW_MAX];
    crew->waiting = 0;
    for (unsigned i = 0; i < crew->members; i++) {
        members[i] = (struct crew_member){crew, i};
        assert_int_equal(pthread_create(&threads[i], NULL, crew_main, &members[i]), 0);
    }
    for (unsigned i = 0; i < crew->members; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

/* --- store ---------------------------------------------------------------------- */

static inline mete_store *open_store(uint64_t keys_max, enum mete_full_policy on_full, const struct mete_clock *clock)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    mete_store *store;
    options.keys_max = keys_max;
    options.on_full = on_full;
    options.clock = clock;
    assert_int_equal(mete_store_create(&options, &store), METE_OK);
    return store;
}

static inline struct mete_limit limit_of(const char *text)
{
    struct mete_limit limit;
    assert_int_equal(mete_limit_parse(text, &limit), METE_OK);
    return limit;
}

static inline mete_limiter *open_limiter(mete_store *store, const char *text)
{
    struct mete_limit limit = limit_of(text);
    mete_limiter *limiter;
    assert_int_equal(mete_limiter_create(store, text, &limit, &limiter), METE_OK);
    return limiter;
}

static inline struct mete_request request_of(const char *key, uint64_t cost, uint64_t now_ns)
{
    return (struct mete_request){.key = key, .key_len = strlen(key), .cost = cost, .now_ns = now_ns};
}

static inline bool take_at(mete_limiter *limiter, const char *key, uint64_t cost, uint64_t now_ns)
{
    struct mete_request request = request_of(key, cost, now_ns);
    struct mete_decision out;
    return mete_take(limiter, &request, &out) == METE_OK && out.allowed;
}

static inline bool refund_at(mete_limiter *limiter, const char *key, uint64_t cost, uint64_t now_ns)
{
    struct mete_request request = request_of(key, cost, now_ns);
    struct mete_decision out;
    return mete_refund(limiter, &request, &out) == METE_OK;
}

/* Takes what is left at this time, one by one. */
static inline uint64_t drain_at(mete_limiter *limiter, const char *key, uint64_t now_ns)
{
    uint64_t units = 0;
    while (take_at(limiter, key, 1, now_ns)) {
        units++;
    }
    return units;
}

/* A small generator, one per thread. */
static inline uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

#endif

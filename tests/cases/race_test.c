/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of threads: check and take in two steps, tokens and time in two words.
 * Real threads; what each saw is judged after they are joined.
 */
#include "case.h"

#include <pthread.h>
#include <sched.h>

#define ROUNDS_MAX 200000

struct crew {
    struct case_world world;
    pthread_barrier_t barrier;
    uint64_t rounds;
    _Atomic bool done;
    _Atomic uint64_t admitted;
    _Atomic uint64_t faults; /* answers that no order of the calls explains */
};

static void crew_run(struct crew *crew, unsigned threads, void *(*member)(void *))
{
    pthread_t ids[8];
    for (unsigned i = 0; i < threads; i++) {
        assert_int_equal(pthread_create(&ids[i], NULL, member, crew), 0);
    }
    for (unsigned i = 0; i < threads; i++) {
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    }
}

/* One call of one unit; counts it, and counts an answer that cannot be. */
static void call_once(struct crew *crew, const char *key)
{
    struct mete_request request = case_request(key, 1);
    struct mete_decision decision;
    if (mete_take(crew->world.limiter, &request, &decision) != METE_OK || decision.remaining >= 1) {
        atomic_fetch_add_explicit(&crew->faults, 1, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&crew->admitted, decision.allowed, memory_order_relaxed);
}

/* Both threads meet at a key never seen: the call that makes its cell races too. */
static void *two_at_once(void *context)
{
    struct crew *crew = context;
    for (uint64_t round = 0; round < crew->rounds; round++) {
        char key[32];
        snprintf(key, sizeof(key), "round-%llu", (unsigned long long)round);
        pthread_barrier_wait(&crew->barrier);
        call_once(crew, key);
        pthread_barrier_wait(&crew->barrier);
        if (atomic_load_explicit(&crew->admitted, memory_order_relaxed) != round + 1) {
            atomic_fetch_add_explicit(&crew->faults, 1, memory_order_relaxed);
        }
    }
    return NULL;
}

/* Load, store and subtract without a compare-and-swap: both passed, or the
 * counter wrapped below zero and switched limiting off.
 * Source: https://github.com/robot-head/crabka/pull/531 */
static void case_075_race_over_admission(void **state)
{
    (void)state;
    struct crew crew = {.rounds = 20000 * case_scale()};
    if (crew.rounds > ROUNDS_MAX) {
        crew.rounds = ROUNDS_MAX;
    }
    case_open_sized(&crew.world, "1/s burst 1", 2 * ROUNDS_MAX);
    assert_int_equal(pthread_barrier_init(&crew.barrier, NULL, 2), 0);
    crew_run(&crew, 2, two_at_once);
    assert_int_equal(crew.faults, 0);
    assert_int_equal(crew.admitted, crew.rounds);
    pthread_barrier_destroy(&crew.barrier);
    case_close(&crew.world);
}

/* All eight call in each millisecond; the one that comes last turns the clock. */
static void *each_millisecond(void *context)
{
    struct crew *crew = context;
    for (uint64_t ms = 0; ms <= crew->rounds; ms++) {
        call_once(crew, "k");
        if (pthread_barrier_wait(&crew->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            case_set(&crew->world, (ms + 1) * MS);
        }
        pthread_barrier_wait(&crew->barrier);
    }
    return NULL;
}

/* Tokens and time were two atomics: two callers could spend the same token.
 * Source: https://github.com/praxis-proxy/praxis/pull/1173 */
static void case_076_race_split_state(void **state)
{
    (void)state;
    struct crew crew = {.rounds = 10000};
    case_open(&crew.world, "1000/s burst 1");
    assert_int_equal(pthread_barrier_init(&crew.barrier, NULL, 8), 0);
    crew_run(&crew, 8, each_millisecond);
    assert_int_equal(crew.faults, 0);
    assert_int_equal(crew.admitted, 10001);
    pthread_barrier_destroy(&crew.barrier);
    case_close(&crew.world);
}

static void *until_done(void *context)
{
    struct crew *crew = context;
    while (!atomic_load_explicit(&crew->done, memory_order_relaxed)) {
        call_once(crew, "k");
    }
    return NULL;
}

static void *turn_clock(void *context)
{
    struct crew *crew = context;
    for (uint64_t step = 1; step <= crew->rounds; step++) {
        case_set(&crew->world, step * 10 * US);
        if (step % 20000 == 0) { /* a yield lets all the others run a time slice first */
            sched_yield();
        }
    }
    atomic_store_explicit(&crew->done, true, memory_order_relaxed);
    return NULL;
}

/* The same without any meeting point: a closed loop under a clock that runs. */
static void case_076_race_closed_loop(void **state)
{
    (void)state;
    struct crew crew = {.rounds = 1000000};
    pthread_t clock_thread;
    case_open(&crew.world, "1000/s burst 1");
    assert_int_equal(pthread_create(&clock_thread, NULL, turn_clock, &crew), 0);
    crew_run(&crew, 7, until_done);
    assert_int_equal(pthread_join(clock_thread, NULL), 0);
    assert_int_equal(crew.faults, 0);
    assert_true(crew.admitted >= 1);
    assert_true(crew.admitted <= 10001);
    case_close(&crew.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_075_race_over_admission),
        cmocka_unit_test(case_076_race_split_state),
        cmocka_unit_test(case_076_race_closed_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

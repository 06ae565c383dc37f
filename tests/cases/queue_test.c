/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of waiting: waiters let through unpaid, timers that lose time, cancelled
 * waiters that keep their slot, big requests that starve.
 */
#include "case.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <mete/queue.h>

struct waiters {
    struct case_world world;
    _Atomic unsigned granted;
    _Atomic unsigned faults;
};

static void *wait_for_one(void *context)
{
    struct waiters *waiters = context;
    struct mete_request request = case_request("k", 1);
    struct mete_decision decision;
    request.wait_ns_max = 60 * SEC;
    if (mete_wait(waiters->world.limiter, &request, &decision) != METE_OK || !decision.allowed) {
        atomic_fetch_add_explicit(&waiters->faults, 1, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&waiters->granted, 1, memory_order_release);
    return NULL;
}

static uint64_t real_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

/* Waits in real time until `count` were granted; false after 10 s. */
static bool granted_reaches(struct waiters *waiters, unsigned count)
{
    const struct timespec pause = {0, 100000};
    for (uint64_t start_ns = real_now_ns(); real_now_ns() - start_ns < 10 * SEC;) {
        if (atomic_load_explicit(&waiters->granted, memory_order_acquire) >= count) {
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

/* A waiter that lost again after its first sleep was let through without a
 * permit.
 * Source: https://github.com/joshrotenberg/tower-resilience/issues/363 */
static void case_078_race_wait_then_admit(void **state)
{
    (void)state;
    struct waiters waiters = {.granted = 0};
    pthread_t ids[10];
    case_open(&waiters.world, "leaky_bucket 1/s burst 10");
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(pthread_create(&ids[i], NULL, wait_for_one, &waiters), 0);
    }
    while (case_remaining(&waiters.world, 0, "k") > 0) { /* until all have joined at 0 s */
        sched_yield();
    }
    for (unsigned s = 0; s < 10; s++) {
        case_set(&waiters.world, s * SEC);
        assert_true(granted_reaches(&waiters, s + 1));
        case_set(&waiters.world, (s + 1) * SEC - 1);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        assert_int_equal(waiters.granted, s + 1);
    }
    for (unsigned i = 0; i < 10; i++) {
        pthread_join(ids[i], NULL);
    }
    assert_int_equal(waiters.faults, 0);
    case_close(&waiters.world);
}

/* Permits replenished by a timer came every 1.5 s instead of every second.
 * Source: https://github.com/dotnet/runtime/issues/74056 */
static void case_080_timer_driven_rate_loss(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "fixed_window 1/1s anchored");
    for (uint64_t i = 0; i < 25; i++) {
        struct mete_decision decision = case_reserve(&world, 0, "k", 1, 24 * SEC);
        assert_true(decision.allowed);
        assert_int_equal(decision.wait_ns, i * SEC);
    }
    assert_false(case_reserve(&world, 0, "k", 1, 24 * SEC).allowed);
    case_close(&world);
}

/* The same in real time, at 1 per 20 ms: 24 intervals are 480 ms. */
static void case_080_real_time(void **state)
{
    (void)state;
    struct waiters waiters = {.granted = 0};
    pthread_t ids[25];
    assert_int_equal(mete_store_create(NULL, &waiters.world.store), METE_OK);
    waiters.world.limiter = case_limiter(waiters.world.store, "case", "fixed_window 1/20ms anchored");
    uint64_t start_ns = real_now_ns();
    for (unsigned i = 0; i < 25; i++) {
        assert_int_equal(pthread_create(&ids[i], NULL, wait_for_one, &waiters), 0);
    }
    for (unsigned i = 0; i < 25; i++) {
        pthread_join(ids[i], NULL);
    }
    uint64_t total_ns = real_now_ns() - start_ns;
    assert_int_equal(waiters.faults, 0);
    assert_true(total_ns >= 479 * MS); /* 1 ms for the difference of the two clocks */
    assert_true(total_ns < 720 * MS);  /* the fault's factor of 1.5 */
    case_close(&waiters.world);
}

/* Six requests queued and cancelled kept their slots: the next one left after
 * 60 s.
 * Source: https://github.com/twilight-rs/twilight/issues/1309 */
static void case_090_cancelled_consumes_slot(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "leaky_bucket 1/10s burst 7");
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(case_reserve(&world, 0, "k", 1, 60 * SEC).wait_ns, i * 10 * SEC);
    }
    for (unsigned i = 0; i < 6; i++) {
        case_refund(&world, 0, "k", 1, METE_NOW);
    }
    struct mete_decision decision = case_reserve(&world, 0, "k", 1, 0);
    assert_true(decision.allowed);
    assert_int_equal(decision.wait_ns, 0);
    case_close(&world);
}

/* The same with the queue that hands over real items. */
static void case_090_cancelled_in_queue(void **state)
{
    (void)state;
    struct case_world world;
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    mete_queue *queue = NULL;
    uint64_t tickets[6], wait_ns = METE_NEVER;
    int items[7] = {0};
    void *item = NULL;
    case_set(&world, 0);
    world.clock = (struct mete_clock){case_clock_now, &world};
    options.period_ns = 10 * SEC;
    options.clock = &world.clock;
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(mete_queue_push(queue, &items[i], &tickets[i], &wait_ns), METE_OK);
        assert_int_equal(wait_ns, i * 10 * SEC);
    }
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(mete_queue_cancel(queue, tickets[i], &item), METE_OK);
        assert_ptr_equal(item, &items[i]);
    }
    assert_int_equal(mete_queue_push(queue, &items[6], NULL, &wait_ns), METE_OK);
    assert_int_equal(wait_ns, 0);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    assert_ptr_equal(item, &items[6]);
    mete_queue_destroy(queue);
}

/* Small requests always took the tokens first; one of cost 10 was put off for
 * ever.
 * Source: https://github.com/jhurliman/node-rate-limiter/pull/56 */
static void case_091_starvation_big_cost(void **state)
{
    (void)state;
    struct case_world world;
    case_open(&world, "1/s burst 10");
    assert_true(case_take(&world, 0, "k", 10).allowed);
    assert_int_equal(case_reserve(&world, 0, "k", 10, 60 * SEC).wait_ns, 10 * SEC);
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t at_ns = 500 * MS * (i + 1);
        struct mete_decision small = case_reserve(&world, at_ns, "k", 1, 60 * SEC);
        assert_true(small.allowed);
        assert_int_equal(at_ns + small.wait_ns, (11 + i) * SEC);
    }
    case_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_078_race_wait_then_admit),
        cmocka_unit_test(case_080_timer_driven_rate_loss),
        cmocka_unit_test(case_080_real_time),
        cmocka_unit_test(case_090_cancelled_consumes_slot),
        cmocka_unit_test(case_090_cancelled_in_queue),
        cmocka_unit_test(case_091_starvation_big_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

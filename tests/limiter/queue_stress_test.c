/* SPDX-License-Identifier: Apache-2.0 */
/* The queue under threads.  METE_TEST_SCALE multiplies the items. */
#include <mete/queue.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define SEC UINT64_C(1000000000)

static uint64_t scale(void)
{
    const char *text = getenv("METE_TEST_SCALE");
    uint64_t value = text != NULL ? strtoull(text, NULL, 10) : 0;
    return value != 0 ? value : 1;
}

static uint64_t real_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

static void *item_of(uint64_t number)
{
    return (void *)(uintptr_t)number;
}

#define PRODUCERS 3
#define CONSUMERS 3
#define INTERVAL_NS UINT64_C(20000)

/* An item is producer * SPAN + its number there, from 1. */
#define SPAN UINT64_C(1000000000)

struct crew {
    mete_queue *queue;
    uint64_t per_producer;
    uint64_t cancelled; /* atomic, as the faults */
    uint64_t faults;
    unsigned char *seen; /* one per item; written by whoever got it */
};

struct worker {
    struct crew *crew;
    uint64_t number;
    uint64_t got;
};

static void fault(struct crew *crew)
{
    __atomic_fetch_add(&crew->faults, 1, __ATOMIC_RELAXED);
}

/* Counts an item that was handed out; a second time is a fault. */
static void see(struct crew *crew, void *item)
{
    uint64_t number = (uint64_t)(uintptr_t)item;
    uint64_t index = number / SPAN * crew->per_producer + number % SPAN - 1;
    if (number % SPAN - 1 >= crew->per_producer || number / SPAN >= PRODUCERS ||
        __atomic_exchange_n(&crew->seen[index], 1, __ATOMIC_RELAXED) != 0) {
        fault(crew);
    }
}

/* Cancels every 16th of its items, if it has not left yet. */
static void *produce(void *context)
{
    struct worker *worker = context;
    struct crew *crew = worker->crew;
    for (uint64_t i = 1; i <= crew->per_producer; i++) {
        uint64_t ticket = 0;
        void *item = item_of(worker->number * SPAN + i);
        mete_status status;
        while ((status = mete_queue_push(crew->queue, item, &ticket, NULL)) == METE_EFULL) {
            sched_yield();
        }
        if (status != METE_OK) {
            fault(crew);
        }
        void *back = NULL;
        if (i % 16 == 0 && mete_queue_cancel(crew->queue, ticket, &back) == METE_OK) {
            if (back != item) {
                fault(crew);
            }
            see(crew, back);
            __atomic_fetch_add(&crew->cancelled, 1, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

/* Two wait for ever, one with short patience.  Each must see every producer's
 * items in their order. */
static void *consume(void *context)
{
    struct worker *worker = context;
    uint64_t last[PRODUCERS] = {0};
    uint64_t timeout_ns = worker->number == 0 ? INTERVAL_NS / 2 : METE_NEVER;
    for (;;) {
        void *item = NULL;
        mete_status status = mete_queue_pop(worker->crew->queue, timeout_ns, &item);
        if (status == METE_ETIMEDOUT && timeout_ns != METE_NEVER) {
            continue;
        }
        if (status != METE_OK) {
            if (status != METE_EUNAVAILABLE) {
                fault(worker->crew);
            }
            return NULL;
        }
        uint64_t number = (uint64_t)(uintptr_t)item;
        see(worker->crew, item);
        if (number / SPAN < PRODUCERS && number % SPAN <= last[number / SPAN]) {
            fault(worker->crew);
        } else if (number / SPAN < PRODUCERS) {
            last[number / SPAN] = number % SPAN;
        }
        worker->got++;
    }
}

static void crew_open(struct crew *crew, size_t capacity, uint64_t per_producer)
{
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    options.period_ns = INTERVAL_NS;
    options.capacity = capacity;
    *crew = (struct crew){.per_producer = per_producer, .seen = calloc(PRODUCERS, per_producer)};
    assert_non_null(crew->seen);
    assert_int_equal(mete_queue_create(&options, &crew->queue), METE_OK);
}

static void crew_close(struct crew *crew)
{
    mete_queue_destroy(crew->queue);
    free(crew->seen);
}

static void every_item_leaves_once_and_in_order(void **state)
{
    (void)state;
    struct crew crew;
    pthread_t threads[PRODUCERS + CONSUMERS];
    struct worker workers[PRODUCERS + CONSUMERS];
    uint64_t got = 0;
    crew_open(&crew, 8, 5000 * scale());
    uint64_t start_ns = real_ns();
    for (size_t i = 0; i < PRODUCERS + CONSUMERS; i++) {
        bool produces = i < PRODUCERS;
        workers[i] = (struct worker){.crew = &crew, .number = produces ? i : i - PRODUCERS};
        assert_int_equal(pthread_create(&threads[i], NULL, produces ? produce : consume, &workers[i]), 0);
    }
    for (size_t i = 0; i < PRODUCERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(mete_queue_close(crew.queue), METE_OK);
    for (size_t i = PRODUCERS; i < PRODUCERS + CONSUMERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        got += workers[i].got;
    }
    uint64_t elapsed_ns = real_ns() - start_ns;
    print_message("%llu items left and %llu were cancelled in %llu ms\n", (unsigned long long)got,
                  (unsigned long long)crew.cancelled, (unsigned long long)elapsed_ns / 1000000);
    assert_int_equal(crew.faults, 0);
    assert_int_equal(got + crew.cancelled, PRODUCERS * crew.per_producer);
    for (uint64_t i = 0; i < PRODUCERS * crew.per_producer; i++) {
        assert_int_equal(crew.seen[i], 1);
    }
    /* The rule of two departures, see the next test, for the first and the last. */
    assert_true(elapsed_ns > (got - 2) * INTERVAL_NS);
    crew_close(&crew);
}

/*
 * One consumer that asks again and again.  Departures p_i and p_j are more than
 * (j - i - 1) intervals apart, whatever the machine does; so in any span T at
 * most 2 + T / interval items leave.  p_i lies between the clock readings around
 * its pop.
 */
static void no_span_of_time_has_a_burst(void **state)
{
    (void)state;
    struct crew crew;
    pthread_t threads[PRODUCERS];
    struct worker workers[PRODUCERS];
    crew_open(&crew, 64, 5000 * scale());
    for (size_t i = 0; i < PRODUCERS; i++) {
        workers[i] = (struct worker){.crew = &crew, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &workers[i]), 0);
    }
    uint64_t got = 0, violations = 0;
    int64_t most = INT64_MIN; /* of p_i - i * interval */
    while (got + __atomic_load_n(&crew.cancelled, __ATOMIC_RELAXED) < PRODUCERS * crew.per_producer) {
        void *item = NULL;
        uint64_t before_ns = real_ns();
        if (mete_queue_pop(crew.queue, 0, &item) != METE_OK) {
            continue;
        }
        int64_t ahead = (int64_t)real_ns() - (int64_t)(got * INTERVAL_NS);
        violations += got > 0 && ahead <= most - (int64_t)INTERVAL_NS;
        int64_t earliest = (int64_t)before_ns - (int64_t)(got * INTERVAL_NS);
        most = earliest > most ? earliest : most;
        see(&crew, item);
        got++;
    }
    for (size_t i = 0; i < PRODUCERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    print_message("%llu items left\n", (unsigned long long)got);
    assert_int_equal(violations, 0);
    assert_int_equal(crew.faults, 0);
    crew_close(&crew);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_leaves_once_and_in_order),
        cmocka_unit_test(no_span_of_time_has_a_burst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

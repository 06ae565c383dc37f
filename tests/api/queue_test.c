/* SPDX-License-Identifier: Apache-2.0 */
/* mete/queue.h: the leaky bucket as a real queue. */
#include "api.h"

#include <pthread.h>
#include <time.h>

#include <mete/queue.h>

static int items[4096];

static struct mete_queue_options queue_options(struct api_world *world, uint64_t count, uint64_t period_ns)
{
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    world->clock = (struct mete_clock){api_clock_now, world};
    options.count = count;
    options.period_ns = period_ns;
    options.clock = &world->clock;
    return options;
}

static mete_queue *queue_open(struct api_world *world, uint64_t count, uint64_t period_ns)
{
    struct mete_queue_options options = queue_options(world, count, period_ns);
    mete_queue *queue = NULL;
    api_set(world, 0);
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    return queue;
}

static void options_are_checked(void **state)
{
    (void)state;
    struct api_world world;
    const struct mete_queue_options good = queue_options(&world, 1, SEC);
    struct mete_queue_options options = good;
    mete_queue *queue;
    assert_int_equal(mete_queue_create(&options, NULL), METE_EINVAL);
    options.size--;
    assert_refused(mete_queue_create(&options, &queue), METE_EINVAL, &queue);
    options = good;
    options.count = 0;
    assert_refused(mete_queue_create(&options, &queue), METE_EINVAL, &queue);
    options = good;
    options.period_ns = 0;
    assert_refused(mete_queue_create(&options, &queue), METE_EINVAL, &queue);
    options = good;
    options.period_ns = TEN_YEARS_NS + 1;
    assert_refused(mete_queue_create(&options, &queue), METE_ERANGE, &queue);
    options = good;
    options.count = SEC + 1;
    assert_refused(mete_queue_create(&options, &queue), METE_ERANGE, &queue);
    options = good;
    options.capacity = 0;
    assert_refused(mete_queue_create(&options, &queue), METE_ERANGE, &queue);
    options.capacity = (1u << 24) + 1;
    assert_refused(mete_queue_create(&options, &queue), METE_ERANGE, &queue);
    options = good;
    const struct mete_clock no_function = {NULL, NULL};
    options.clock = &no_function;
    assert_refused(mete_queue_create(&options, &queue), METE_EINVAL, &queue);
}

static void options_at_their_bounds(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_queue_options options = queue_options(&world, 1, TEN_YEARS_NS);
    mete_queue *queue = NULL;
    api_set(&world, 0);
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    mete_queue_destroy(queue);
    options.count = options.period_ns = SEC;
    options.capacity = 1u << 24;
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    mete_queue_destroy(queue);
}

static void null_arguments(void **state)
{
    (void)state;
    struct api_world world;
    mete_queue *queue = queue_open(&world, 1, SEC);
    uint64_t ticket, wait_ns;
    void *item;
    assert_refused(mete_queue_push(NULL, items, &ticket, &wait_ns), METE_EINVAL, &ticket);
    assert_refused(mete_queue_pop(NULL, 0, &item), METE_EINVAL, &item);
    assert_int_equal(mete_queue_pop(queue, 0, NULL), METE_EINVAL);
    assert_refused(mete_queue_cancel(NULL, 0, &item), METE_EINVAL, &item);
    assert_int_equal(mete_queue_close(NULL), METE_EINVAL);
    assert_int_equal(mete_queue_len(NULL), 0);
    assert_int_equal(mete_queue_push(queue, NULL, NULL, NULL), METE_OK); /* NULL is an item */
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    assert_null(item);
    mete_queue_destroy(queue);
}

static void empty_queue_times_out(void **state)
{
    (void)state;
    struct api_world world;
    mete_queue *queue = queue_open(&world, 1, SEC);
    void *item;
    assert_refused(mete_queue_pop(queue, 0, &item), METE_ETIMEDOUT, &item);
    mete_queue_destroy(queue);
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT; /* real time */
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    assert_refused(mete_queue_pop(queue, 20 * MS, &item), METE_ETIMEDOUT, &item);
    mete_queue_destroy(queue);
}

/* The k-th departure of a busy queue is at start + ceil(k * period / count). */
static void departures_do_not_drift(void **state)
{
    (void)state;
    static const struct {
        uint64_t count, period_ns;
    } rates[] = {{1, SEC}, {7, 3 * SEC}, {3, 10}, {1000, 1234567891}, {999999937, SEC}};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        struct api_world world;
        mete_queue *queue = queue_open(&world, rates[i].count, rates[i].period_ns);
        const uint64_t start_ns = 5 * SEC + 3;
        api_set(&world, start_ns);
        for (unsigned k = 0; k < 1000; k++) {
            uint64_t wait_ns;
            assert_int_equal(mete_queue_push(queue, &items[k], NULL, &wait_ns), METE_OK);
            assert_int_equal(wait_ns, (k * rates[i].period_ns + rates[i].count - 1) / rates[i].count);
        }
        for (unsigned k = 0; k < 1000; k++) {
            uint64_t due_ns = start_ns + (k * rates[i].period_ns + rates[i].count - 1) / rates[i].count;
            void *item;
            if (due_ns > api_clock_now(&world)) {
                api_set(&world, due_ns - 1);
                assert_refused(mete_queue_pop(queue, 0, &item), METE_ETIMEDOUT, &item);
            }
            api_set(&world, due_ns);
            assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
            assert_ptr_equal(item, &items[k]);
        }
        mete_queue_destroy(queue);
    }
}

/* A full queue refuses and is unchanged; a departure makes room. */
static void full_queue(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_queue_options options = queue_options(&world, 1, SEC);
    mete_queue *queue = NULL;
    uint64_t ticket, wait_ns;
    void *item;
    options.capacity = 3;
    api_set(&world, 0);
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(mete_queue_push(queue, &items[i], NULL, NULL), METE_OK);
        assert_int_equal(mete_queue_len(queue), i + 1);
    }
    api_mark(&wait_ns, sizeof(wait_ns));
    assert_refused(mete_queue_push(queue, &items[3], &ticket, &wait_ns), METE_EFULL, &ticket);
    assert_true(api_is_marked(&wait_ns, sizeof(wait_ns)));
    assert_int_equal(mete_queue_len(queue), 3);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    assert_int_equal(mete_queue_push(queue, &items[3], NULL, &wait_ns), METE_OK);
    assert_int_equal(wait_ns, 3 * SEC);
    mete_queue_destroy(queue);
}

/* After the queue was empty the next leaves at once, but never sooner than one
 * interval after the one before. */
static void interval_after_empty(void **state)
{
    (void)state;
    struct api_world world;
    mete_queue *queue = queue_open(&world, 1, 10 * SEC);
    uint64_t wait_ns;
    void *item;
    assert_int_equal(mete_queue_push(queue, &items[0], NULL, &wait_ns), METE_OK);
    assert_int_equal(wait_ns, 0);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    api_set(&world, 4 * SEC);
    assert_int_equal(mete_queue_push(queue, &items[1], NULL, &wait_ns), METE_OK);
    assert_int_equal(wait_ns, 6 * SEC);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_ETIMEDOUT);
    api_set(&world, 10 * SEC);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    api_set(&world, 100 * SEC);
    assert_int_equal(mete_queue_push(queue, &items[2], NULL, &wait_ns), METE_OK);
    assert_int_equal(wait_ns, 0);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    assert_ptr_equal(item, &items[2]);
    mete_queue_destroy(queue);
}

/* A late consumer does not cause a burst. */
static void late_consumer(void **state)
{
    (void)state;
    struct api_world world;
    mete_queue *queue = queue_open(&world, 1, SEC);
    void *item;
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(mete_queue_push(queue, &items[i], NULL, NULL), METE_OK);
    }
    api_set(&world, 100 * SEC);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
        assert_ptr_equal(item, &items[i]);
        assert_int_equal(mete_queue_pop(queue, 0, &item), METE_ETIMEDOUT);
        api_set(&world, (100 + i) * SEC + SEC - 1);
        assert_int_equal(mete_queue_pop(queue, 0, &item), METE_ETIMEDOUT);
        api_set(&world, (101 + i) * SEC);
    }
    mete_queue_destroy(queue);
}

static void cancelled_slots_go_to_the_next(void **state)
{
    (void)state;
    struct api_world world;
    mete_queue *queue = queue_open(&world, 1, SEC);
    uint64_t tickets[5];
    void *item;
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(mete_queue_push(queue, &items[i], &tickets[i], NULL), METE_OK);
    }
    assert_int_equal(mete_queue_cancel(queue, tickets[1], &item), METE_OK);
    assert_ptr_equal(item, &items[1]);
    assert_int_equal(mete_queue_cancel(queue, tickets[3], &item), METE_OK);
    assert_ptr_equal(item, &items[3]);
    assert_refused(mete_queue_cancel(queue, tickets[1], &item), METE_EINVAL, &item);
    assert_int_equal(mete_queue_len(queue), 3);
    static const unsigned order[] = {0, 2, 4};
    for (unsigned i = 0; i < 3; i++) {
        api_set(&world, i * SEC);
        assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
        assert_ptr_equal(item, &items[order[i]]);
        assert_refused(mete_queue_cancel(queue, tickets[order[i]], &item), METE_EINVAL, &item);
    }
    assert_refused(mete_queue_cancel(queue, UINT64_MAX, &item), METE_EINVAL, &item);
    assert_refused(mete_queue_cancel(queue, tickets[4] + 1, &item), METE_EINVAL, &item);
    mete_queue_destroy(queue);
}

static void closed_queue_drains(void **state)
{
    (void)state;
    struct api_world world;
    mete_queue *queue = queue_open(&world, 1, SEC);
    uint64_t ticket;
    void *item;
    assert_int_equal(mete_queue_push(queue, &items[0], NULL, NULL), METE_OK);
    assert_int_equal(mete_queue_push(queue, &items[1], NULL, NULL), METE_OK);
    assert_int_equal(mete_queue_close(queue), METE_OK);
    assert_int_equal(mete_queue_close(queue), METE_OK);
    assert_refused(mete_queue_push(queue, &items[2], &ticket, NULL), METE_EUNAVAILABLE, &ticket);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_ETIMEDOUT);
    api_set(&world, SEC);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    assert_refused(mete_queue_pop(queue, METE_NEVER, &item), METE_EUNAVAILABLE, &item);
    mete_queue_destroy(queue);
}

struct feed {
    mete_queue *queue;
    _Atomic uint64_t popped; /* sum of what was popped */
    _Atomic uint64_t faults;
};

static void *consume(void *context)
{
    struct feed *feed = context;
    for (;;) {
        void *item = NULL;
        mete_status status = mete_queue_pop(feed->queue, METE_NEVER, &item);
        if (status == METE_EUNAVAILABLE) {
            return NULL;
        }
        if (status != METE_OK) {
            atomic_fetch_add_explicit(&feed->faults, 1, memory_order_relaxed);
            return NULL;
        }
        atomic_fetch_add_explicit(&feed->popped, (uint64_t)((int *)item - items), memory_order_relaxed);
    }
}

/* Any number of threads: each item once, none lost, and waiters wake at a close. */
static void many_consumers_in_real_time(void **state)
{
    (void)state;
    struct feed feed = {.popped = 0};
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    pthread_t ids[4];
    uint64_t expected = 0;
    options.count = 20000;
    assert_int_equal(mete_queue_create(&options, &feed.queue), METE_OK);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        assert_int_equal(pthread_create(&ids[i], NULL, consume, &feed), 0);
    }
    for (unsigned i = 0; i < 4000; i++) {
        while (mete_queue_push(feed.queue, &items[i], NULL, NULL) == METE_EFULL) {
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
        expected += i;
    }
    assert_int_equal(mete_queue_close(feed.queue), METE_OK);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        pthread_join(ids[i], NULL);
    }
    assert_int_equal(feed.faults, 0);
    assert_int_equal(feed.popped, expected);
    mete_queue_destroy(feed.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(options_at_their_bounds),
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(empty_queue_times_out),
        cmocka_unit_test(departures_do_not_drift),
        cmocka_unit_test(full_queue),
        cmocka_unit_test(interval_after_empty),
        cmocka_unit_test(late_consumer),
        cmocka_unit_test(cancelled_slots_go_to_the_next),
        cmocka_unit_test(closed_queue_drains),
        cmocka_unit_test(many_consumers_in_real_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

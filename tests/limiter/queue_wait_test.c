/* SPDX-License-Identifier: Apache-2.0 */
/* Pops that wait: in real time, and by a clock of the caller's. */
#include <mete/queue.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define SEC UINT64_C(1000000000)

/* On the system's monotonic clock. */
static mete_queue *open_real(uint64_t count, uint64_t period_ns)
{
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    mete_queue *queue = NULL;
    options.count = count;
    options.period_ns = period_ns;
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    return queue;
}

/* Items are numbers here. */
static void *item_of(uint64_t number)
{
    return (void *)(uintptr_t)number;
}

static uint64_t real_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns(void)
{
    struct timespec used = {0, 0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * SEC + (uint64_t)used.tv_nsec;
}

/* The wait lasts its time, and is slept, not spun. */
static void assert_pop_times_out(mete_queue *queue)
{
    void *item = queue;
    uint64_t start_ns = real_ns();
    uint64_t start_cpu_ns = cpu_ns();
    assert_int_equal(mete_queue_pop(queue, 100 * MS, &item), METE_ETIMEDOUT);
    assert_true(real_ns() - start_ns >= 100 * MS);
    assert_true(cpu_ns() - start_cpu_ns < 10 * MS);
    assert_ptr_equal(item, queue);
}

static void a_pop_waits_as_long_as_it_may(void **state)
{
    (void)state;
    void *item = NULL;
    mete_queue *queue = open_real(1, 3600 * SEC);
    assert_pop_times_out(queue); /* empty */
    assert_int_equal(mete_queue_push(queue, item_of(1), NULL, NULL), METE_OK);
    assert_int_equal(mete_queue_push(queue, item_of(2), NULL, NULL), METE_OK);
    assert_int_equal(mete_queue_pop(queue, METE_NEVER, &item), METE_OK);
    assert_pop_times_out(queue); /* not due for an hour */
    assert_int_equal(mete_queue_len(queue), 1);
    mete_queue_destroy(queue);
}

/*
 * 25 at one per 20 ms.  No pop comes before its slot, and the 26th slot is where
 * it would be without any lateness.  False when the machine made a pop late by a
 * whole interval: then slots may move.
 */
static bool departs_without_drift(void)
{
    mete_queue *queue = open_real(50, SEC);
    uint64_t late_max_ns = 0, wait_ns;
    uint64_t first_ns = real_ns();
    for (uint64_t i = 0; i < 25; i++) {
        assert_int_equal(mete_queue_push(queue, item_of(i), NULL, NULL), METE_OK);
    }
    uint64_t last_ns = real_ns();
    for (uint64_t i = 0; i < 25; i++) {
        void *item = NULL;
        assert_int_equal(mete_queue_pop(queue, METE_NEVER, &item), METE_OK);
        uint64_t late_ns = real_ns() - first_ns - i * 20 * MS;
        assert_ptr_equal(item, item_of(i));
        assert_true(late_ns < 3600 * SEC); /* else it came before its slot */
        late_max_ns = late_ns > late_max_ns ? late_ns : late_max_ns;
    }
    uint64_t before_ns = real_ns();
    assert_int_equal(mete_queue_push(queue, NULL, NULL, &wait_ns), METE_OK);
    uint64_t after_ns = real_ns();
    mete_queue_destroy(queue);
    print_message("the latest of 25 departures was late by %llu us\n", (unsigned long long)late_max_ns / 1000);
    if (late_max_ns >= 20 * MS) {
        return false;
    }
    assert_true(before_ns + wait_ns <= last_ns + 500 * MS);
    assert_true(after_ns + wait_ns >= first_ns + 500 * MS);
    return true;
}

static void real_departures_do_not_drift(void **state)
{
    (void)state;
    bool judged = false;
    for (int round = 0; round < 10 && !judged; round++) {
        judged = departs_without_drift();
    }
    assert_true(judged);
}

struct popper {
    mete_queue *queue;
    uint64_t timeout_ns;
    mete_status status;
    void *item;
    uint64_t done; /* atomic */
};

static void *pop_thread(void *context)
{
    struct popper *popper = context;
    popper->status = mete_queue_pop(popper->queue, popper->timeout_ns, &popper->item);
    __atomic_store_n(&popper->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static bool is_done(struct popper *popper)
{
    return __atomic_load_n(&popper->done, __ATOMIC_ACQUIRE) != 0;
}

static void pause_ms(unsigned ms)
{
    struct timespec span = {0, (long)(ms * MS)};
    nanosleep(&span, NULL);
}

static void a_push_wakes_a_pop_that_waits(void **state)
{
    (void)state;
    struct popper popper = {.queue = open_real(1, SEC), .timeout_ns = METE_NEVER};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, pop_thread, &popper), 0);
    pause_ms(20);
    assert_false(is_done(&popper));
    assert_int_equal(mete_queue_push(popper.queue, item_of(9), NULL, NULL), METE_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(popper.status, METE_OK);
    assert_ptr_equal(popper.item, item_of(9));
    mete_queue_destroy(popper.queue);
}

static void closing_an_empty_queue_ends_the_wait(void **state)
{
    (void)state;
    struct popper popper = {.queue = open_real(1, SEC), .timeout_ns = METE_NEVER};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, pop_thread, &popper), 0);
    pause_ms(20);
    assert_false(is_done(&popper));
    assert_int_equal(mete_queue_close(popper.queue), METE_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(popper.status, METE_EUNAVAILABLE);
    mete_queue_destroy(popper.queue);
}

/* Three wait for ever: one leads, two follow.  The only item left is cancelled
 * after the queue was closed. */
static void closing_ends_all_waits_once_the_queue_is_empty(void **state)
{
    (void)state;
    mete_queue *queue = open_real(1, 3600 * SEC);
    struct popper poppers[3];
    pthread_t threads[3];
    uint64_t ticket;
    void *item;
    assert_int_equal(mete_queue_push(queue, item_of(1), NULL, NULL), METE_OK);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    assert_int_equal(mete_queue_push(queue, item_of(2), &ticket, NULL), METE_OK);
    for (size_t i = 0; i < 3; i++) {
        poppers[i] = (struct popper){.queue = queue, .timeout_ns = METE_NEVER};
        assert_int_equal(pthread_create(&threads[i], NULL, pop_thread, &poppers[i]), 0);
    }
    pause_ms(20);
    assert_int_equal(mete_queue_close(queue), METE_OK);
    pause_ms(20);
    for (size_t i = 0; i < 3; i++) {
        assert_false(is_done(&poppers[i]));
    }
    assert_int_equal(mete_queue_cancel(queue, ticket, &item), METE_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(poppers[i].status, METE_EUNAVAILABLE);
    }
    mete_queue_destroy(queue);
}

/* The first to wait leads, and gives up long before the item is due. */
static void a_leader_that_gives_up_is_replaced(void **state)
{
    (void)state;
    mete_queue *queue = open_real(1, SEC / 4);
    struct popper poppers[2] = {{.queue = queue, .timeout_ns = 60 * MS}, {.queue = queue, .timeout_ns = METE_NEVER}};
    pthread_t threads[2];
    void *item;
    assert_int_equal(mete_queue_push(queue, item_of(1), NULL, NULL), METE_OK);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    assert_int_equal(mete_queue_push(queue, item_of(2), NULL, NULL), METE_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, pop_thread, &poppers[i]), 0);
        pause_ms(10);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(poppers[0].status, METE_ETIMEDOUT);
    assert_int_equal(poppers[1].status, METE_OK);
    assert_ptr_equal(poppers[1].item, item_of(2));
    mete_queue_destroy(queue);
}

/* A clock that only the test moves. */
static uint64_t fake_ns;

static uint64_t fake_now(void *context)
{
    (void)context;
    return __atomic_load_n(&fake_ns, __ATOMIC_RELAXED);
}

static void set_time(uint64_t ns)
{
    __atomic_store_n(&fake_ns, ns, __ATOMIC_RELAXED);
}

/* Hours of that clock pass in milliseconds; a pop must notice. */
static void waits_by_a_clock_of_the_callers(void **state)
{
    (void)state;
    const struct mete_clock clock = {fake_now, NULL};
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    mete_queue *queue = NULL;
    pthread_t thread;
    options.period_ns = 3600 * SEC;
    options.clock = &clock;
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    struct popper popper = {.queue = queue};
    assert_int_equal(mete_queue_push(queue, item_of(1), NULL, NULL), METE_OK);
    assert_int_equal(mete_queue_push(queue, item_of(2), NULL, NULL), METE_OK);
    assert_int_equal(mete_queue_pop(queue, 0, &popper.item), METE_OK);

    popper = (struct popper){.queue = queue, .timeout_ns = 7200 * SEC};
    assert_int_equal(pthread_create(&thread, NULL, pop_thread, &popper), 0);
    pause_ms(20);
    set_time(3600 * SEC - 1);
    pause_ms(20);
    assert_false(is_done(&popper));
    set_time(3600 * SEC);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(popper.status, METE_OK);
    assert_ptr_equal(popper.item, item_of(2));

    popper = (struct popper){.queue = queue, .timeout_ns = 3600 * SEC};
    assert_int_equal(pthread_create(&thread, NULL, pop_thread, &popper), 0);
    pause_ms(20);
    set_time(7200 * SEC - 1);
    pause_ms(20);
    assert_false(is_done(&popper));
    set_time(7200 * SEC);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(popper.status, METE_ETIMEDOUT);
    mete_queue_destroy(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pop_waits_as_long_as_it_may),
        cmocka_unit_test(real_departures_do_not_drift),
        cmocka_unit_test(a_push_wakes_a_pop_that_waits),
        cmocka_unit_test(closing_an_empty_queue_ends_the_wait),
        cmocka_unit_test(closing_ends_all_waits_once_the_queue_is_empty),
        cmocka_unit_test(a_leader_that_gives_up_is_replaced),
        cmocka_unit_test(waits_by_a_clock_of_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

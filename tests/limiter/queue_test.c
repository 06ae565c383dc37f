/* SPDX-License-Identifier: Apache-2.0 */
/* Who leaves a queue when, by a clock that only the test moves. */
#include <mete/queue.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define SEC UINT64_C(1000000000)
#define YEARS_10 (UINT64_C(315576000) * SEC)

static uint64_t fake_ns;

static uint64_t fake_now(void *context)
{
    (void)context;
    return fake_ns;
}

static void set_time(uint64_t ns)
{
    fake_ns = ns;
}

static const struct mete_clock fake_clock = {fake_now, NULL};

static mete_status try_create(uint64_t count, uint64_t period_ns, size_t capacity, mete_queue **out)
{
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    options.count = count;
    options.period_ns = period_ns;
    options.capacity = capacity;
    options.clock = &fake_clock;
    return mete_queue_create(&options, out);
}

static mete_queue *open_at(uint64_t now_ns, uint64_t count, uint64_t period_ns, size_t capacity)
{
    mete_queue *queue = NULL;
    set_time(now_ns);
    assert_int_equal(try_create(count, period_ns, capacity, &queue), METE_OK);
    return queue;
}

/* Items are numbers here. */
static void *item_of(uint64_t number)
{
    return (void *)(uintptr_t)number;
}

static uint64_t push(mete_queue *queue, uint64_t number, uint64_t wait_ns)
{
    uint64_t ticket = 0, told_ns = METE_NEVER - 1;
    assert_int_equal(mete_queue_push(queue, item_of(number), &ticket, &told_ns), METE_OK);
    assert_int_equal(told_ns, wait_ns);
    return ticket;
}

static void assert_pops(mete_queue *queue, uint64_t at_ns, uint64_t number)
{
    void *item = NULL;
    set_time(at_ns);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_OK);
    assert_ptr_equal(item, item_of(number));
}

static void assert_not_due(mete_queue *queue, uint64_t at_ns)
{
    void *item = &fake_ns;
    set_time(at_ns);
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_ETIMEDOUT);
    assert_ptr_equal(item, &fake_ns);
}

static void assert_cancels(mete_queue *queue, uint64_t ticket, uint64_t number)
{
    void *item = NULL;
    assert_int_equal(mete_queue_cancel(queue, ticket, &item), METE_OK);
    assert_ptr_equal(item, item_of(number));
}

static void refuses_wrong_arguments(void **state)
{
    (void)state;
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    const struct mete_clock no_clock = {NULL, NULL};
    mete_queue *queue = NULL;
    void *item = &options;
    assert_int_equal(mete_queue_create(NULL, &queue), METE_EINVAL);
    assert_int_equal(mete_queue_create(&options, NULL), METE_EINVAL);
    options.size--;
    assert_int_equal(mete_queue_create(&options, &queue), METE_EINVAL);
    options.size++;
    options.clock = &no_clock;
    assert_int_equal(mete_queue_create(&options, &queue), METE_EINVAL);
    assert_null(queue);

    options.clock = NULL;
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    assert_int_equal(mete_queue_push(NULL, NULL, NULL, NULL), METE_EINVAL);
    assert_int_equal(mete_queue_pop(NULL, 0, &item), METE_EINVAL);
    assert_int_equal(mete_queue_pop(queue, 0, NULL), METE_EINVAL);
    assert_int_equal(mete_queue_cancel(NULL, 1, &item), METE_EINVAL);
    assert_int_equal(mete_queue_cancel(queue, 1, NULL), METE_EINVAL);
    assert_int_equal(mete_queue_close(NULL), METE_EINVAL);
    assert_int_equal(mete_queue_len(NULL), 0);
    assert_ptr_equal(item, &options);
    mete_queue_destroy(queue);
    mete_queue_destroy(NULL);
}

static void assert_created(mete_status expected, uint64_t count, uint64_t period_ns, size_t capacity)
{
    mete_queue *queue = NULL;
    assert_int_equal(try_create(count, period_ns, capacity, &queue), expected);
    assert_int_equal(queue != NULL, expected == METE_OK);
    mete_queue_destroy(queue);
}

static void rate_and_capacity_have_bounds(void **state)
{
    (void)state;
    assert_created(METE_EINVAL, 0, SEC, 8);
    assert_created(METE_EINVAL, 1, 0, 8);
    assert_created(METE_OK, 1, 1, 8); /* 1e9 per second */
    assert_created(METE_OK, SEC - 1, SEC, 8);
    assert_created(METE_OK, SEC, SEC, 8);
    assert_created(METE_ERANGE, SEC + 1, SEC, 8);
    assert_created(METE_OK, 1, YEARS_10 - 1, 8);
    assert_created(METE_OK, 1, YEARS_10, 8);
    assert_created(METE_ERANGE, 1, YEARS_10 + 1, 8);
    assert_created(METE_OK, METE_PERIOD_MAX, METE_PERIOD_MAX, 8);
    assert_created(METE_ERANGE, METE_PERIOD_MAX, METE_PERIOD_MAX + 1, 8);
    assert_created(METE_ERANGE, 1, SEC, 0);
    assert_created(METE_OK, 1, SEC, 1);
    assert_created(METE_OK, 1, SEC, ((size_t)1 << 24) - 1);
    assert_created(METE_OK, 1, SEC, (size_t)1 << 24);
    assert_created(METE_ERANGE, 1, SEC, ((size_t)1 << 24) + 1);
    assert_created(METE_ERANGE, 1, SEC, SIZE_MAX);
}

static void ten_that_come_at_once_leave_one_per_second(void **state)
{
    (void)state;
    mete_queue *queue = open_at(0, 1, SEC, 10);
    for (uint64_t i = 0; i < 10; i++) {
        push(queue, i, i * SEC);
    }
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(mete_queue_len(queue), 10 - i);
        assert_pops(queue, i * SEC, i);
        assert_not_due(queue, i * SEC);
        assert_not_due(queue, (i + 1) * SEC - 1);
    }
    mete_queue_destroy(queue);
}

/* Grants at 0, 1, ... 24 s, whatever the timer's jitter. */
static void lateness_of_less_than_an_interval_moves_nothing(void **state)
{
    (void)state;
    const uint64_t start_ns = 77 * SEC + 5;
    mete_queue *queue = open_at(start_ns, 1, SEC, 25);
    for (uint64_t i = 0; i < 25; i++) {
        push(queue, i, i * SEC);
    }
    for (uint64_t i = 0; i < 25; i++) {
        uint64_t slot_ns = start_ns + i * SEC;
        if (i > 0) {
            assert_not_due(queue, slot_ns - 1);
        }
        assert_pops(queue, slot_ns + i * 7919 * 7919 % SEC, i);
    }
    mete_queue_destroy(queue);
}

static void missed_slots_are_not_made_up_for(void **state)
{
    (void)state;
    const uint64_t late_ns[] = {SEC - 1, SEC, SEC + 1, 5 * SEC + SEC / 2};
    const uint64_t next_ns[] = {SEC, 2 * SEC, 2 * SEC + 1, 6 * SEC + SEC / 2};
    for (size_t i = 0; i < 4; i++) {
        mete_queue *queue = open_at(0, 1, SEC, 10);
        for (uint64_t k = 0; k < 4; k++) {
            push(queue, k, k * SEC);
        }
        assert_pops(queue, late_ns[i], 0);
        assert_not_due(queue, next_ns[i] - 1);
        assert_pops(queue, next_ns[i], 1);
        assert_not_due(queue, next_ns[i] + SEC - 1);
        assert_pops(queue, next_ns[i] + SEC, 2);
        mete_queue_destroy(queue);
    }
}

static void a_push_tells_the_wait_when_slots_were_missed(void **state)
{
    (void)state;
    mete_queue *queue = open_at(0, 1, SEC, 10);
    push(queue, 0, 0);
    push(queue, 1, SEC);
    set_time(10 * SEC); /* nobody came for ten seconds */
    push(queue, 2, 2 * SEC);
    assert_pops(queue, 10 * SEC + 5, 0);
    assert_pops(queue, 11 * SEC, 1);
    assert_not_due(queue, 12 * SEC - 1);
    assert_pops(queue, 12 * SEC, 2);
    mete_queue_destroy(queue);
}

static void after_a_pause_the_next_leaves_at_once_but_an_interval_apart(void **state)
{
    (void)state;
    mete_queue *queue = open_at(5 * SEC, 1, SEC, 4);
    push(queue, 0, 0);
    assert_pops(queue, 5 * SEC, 0);
    assert_not_due(queue, 5 * SEC);
    set_time(5 * SEC + 400 * MS);
    push(queue, 1, 600 * MS);
    assert_not_due(queue, 6 * SEC - 1);
    assert_pops(queue, 6 * SEC, 1);
    set_time(7 * SEC + 1);
    push(queue, 2, 0);
    assert_pops(queue, 7 * SEC + 1, 2);
    push(queue, 3, SEC);
    mete_queue_destroy(queue);
}

static void departures_are_exact_for_any_fraction(void **state)
{
    (void)state;
    const uint64_t rates[][2] = {{3, 10}, {7, SEC}, {1000003, 86400 * SEC}, {999999937, SEC}, {6, 11 * SEC + 1}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        const uint64_t start_ns = 1000 * SEC;
        mete_queue *queue = open_at(start_ns, rates[i][0], rates[i][1], 4);
        for (uint64_t k = 0; k < 200000; k++) {
            unsigned __int128 passed = (unsigned __int128)k * rates[i][1];
            uint64_t at_ns = start_ns + (uint64_t)((passed + rates[i][0] - 1) / rates[i][0]);
            set_time(at_ns - (k > 0)); /* while the one before is out, and just before this one is due */
            push(queue, k, k > 0);
            if (k > 0) {
                assert_not_due(queue, at_ns - 1);
            }
            assert_pops(queue, at_ns, k);
        }
        mete_queue_destroy(queue);
    }
}

static void six_cancelled_take_no_slot(void **state)
{
    (void)state;
    uint64_t tickets[6];
    mete_queue *queue = open_at(0, 1, 10 * SEC, 6);
    for (uint64_t i = 0; i < 6; i++) {
        tickets[i] = push(queue, i, i * 10 * SEC);
    }
    for (uint64_t i = 0; i < 6; i++) {
        assert_cancels(queue, tickets[i], i);
    }
    assert_int_equal(mete_queue_len(queue), 0);
    push(queue, 6, 0);
    assert_pops(queue, 0, 6);
    mete_queue_destroy(queue);
}

static void a_cancelled_items_slot_goes_to_the_next(void **state)
{
    (void)state;
    uint64_t tickets[5];
    mete_queue *queue = open_at(0, 1, SEC, 5);
    for (uint64_t i = 0; i < 5; i++) {
        tickets[i] = push(queue, i, i * SEC);
    }
    assert_cancels(queue, tickets[2], 2); /* in the middle */
    assert_cancels(queue, tickets[0], 0); /* the oldest */
    assert_cancels(queue, tickets[4], 4); /* the newest */
    push(queue, 5, 2 * SEC);
    assert_pops(queue, 0, 1);
    assert_pops(queue, SEC, 3);
    assert_not_due(queue, 2 * SEC - 1);
    assert_pops(queue, 2 * SEC, 5);
    mete_queue_destroy(queue);
}

static void a_ticket_is_good_for_one_waiting_item(void **state)
{
    (void)state;
    void *item = &fake_ns;
    mete_queue *queue = open_at(0, 1, SEC, 1);
    uint64_t popped = push(queue, 1, 0);
    assert_pops(queue, 0, 1);
    uint64_t cancelled = push(queue, 2, SEC); /* in the place of the first */
    assert_int_equal(mete_queue_cancel(queue, popped, &item), METE_EINVAL);
    assert_cancels(queue, cancelled, 2);
    assert_int_equal(mete_queue_cancel(queue, cancelled, &item), METE_EINVAL);
    push(queue, 3, SEC);
    assert_int_equal(mete_queue_cancel(queue, cancelled, &item), METE_EINVAL);
    assert_int_equal(mete_queue_cancel(queue, 0, &item), METE_EINVAL);
    assert_int_equal(mete_queue_cancel(queue, UINT64_MAX, &item), METE_EINVAL);
    assert_ptr_equal(item, &fake_ns);
    assert_int_equal(mete_queue_len(queue), 1);
    assert_pops(queue, SEC, 3);
    mete_queue_destroy(queue);
}

static void a_full_queue_refuses_and_changes_nothing(void **state)
{
    (void)state;
    const size_t capacities[] = {1, 2, 1000};
    for (size_t i = 0; i < 3; i++) {
        size_t capacity = capacities[i];
        mete_queue *queue = open_at(0, 1, SEC, capacity);
        uint64_t first = push(queue, 0, 0);
        for (uint64_t k = 1; k < capacity; k++) {
            push(queue, k, k * SEC);
        }
        uint64_t ticket = 42, wait_ns = 43;
        set_time(7 * SEC); /* a refused push must not move the slots either */
        assert_int_equal(mete_queue_push(queue, NULL, &ticket, &wait_ns), METE_EFULL);
        assert_int_equal(ticket, 42);
        assert_int_equal(wait_ns, 43);
        assert_int_equal(mete_queue_len(queue), capacity);
        assert_cancels(queue, first, 0);
        push(queue, capacity, (capacity - 1) * SEC);
        assert_int_equal(mete_queue_push(queue, NULL, NULL, NULL), METE_EFULL);
        for (uint64_t k = 1; k <= capacity; k++) {
            assert_pops(queue, (6 + k) * SEC, k);
        }
        mete_queue_destroy(queue);
    }
}

static void a_closed_queue_is_drained_at_the_rate(void **state)
{
    (void)state;
    void *item = &fake_ns;
    uint64_t ticket = 42;
    mete_queue *queue = open_at(0, 1, SEC, 4);
    for (uint64_t i = 0; i < 3; i++) {
        push(queue, i, i * SEC);
    }
    assert_int_equal(mete_queue_close(queue), METE_OK);
    assert_int_equal(mete_queue_close(queue), METE_OK);
    assert_int_equal(mete_queue_push(queue, NULL, &ticket, NULL), METE_EUNAVAILABLE);
    assert_int_equal(ticket, 42);
    for (uint64_t i = 0; i < 3; i++) {
        assert_pops(queue, i * SEC, i);
        if (i < 2) {
            assert_not_due(queue, (i + 1) * SEC - 1);
        }
    }
    assert_int_equal(mete_queue_pop(queue, 0, &item), METE_EUNAVAILABLE);
    assert_int_equal(mete_queue_pop(queue, METE_NEVER, &item), METE_EUNAVAILABLE);
    assert_ptr_equal(item, &fake_ns);
    mete_queue_destroy(queue);
}

static void waits_too_long_to_tell_are_never(void **state)
{
    (void)state;
    mete_queue *queue = open_at(0, 1, YEARS_10, 100);
    for (uint64_t i = 0; i < 100; i++) {
        push(queue, i, i * 10 < 584 ? i * YEARS_10 : METE_NEVER);
    }
    mete_queue_destroy(queue);
}

static void an_older_time_counts_as_the_latest_seen(void **state)
{
    (void)state;
    mete_queue *queue = open_at(10 * SEC, 1, SEC, 4);
    push(queue, 0, 0);
    push(queue, 1, SEC);
    assert_pops(queue, 3 * SEC, 0);
    assert_not_due(queue, 4 * SEC);
    assert_pops(queue, 11 * SEC, 1);
    mete_queue_destroy(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_wrong_arguments),
        cmocka_unit_test(rate_and_capacity_have_bounds),
        cmocka_unit_test(ten_that_come_at_once_leave_one_per_second),
        cmocka_unit_test(lateness_of_less_than_an_interval_moves_nothing),
        cmocka_unit_test(missed_slots_are_not_made_up_for),
        cmocka_unit_test(a_push_tells_the_wait_when_slots_were_missed),
        cmocka_unit_test(after_a_pause_the_next_leaves_at_once_but_an_interval_apart),
        cmocka_unit_test(departures_are_exact_for_any_fraction),
        cmocka_unit_test(six_cancelled_take_no_slot),
        cmocka_unit_test(a_cancelled_items_slot_goes_to_the_next),
        cmocka_unit_test(a_ticket_is_good_for_one_waiting_item),
        cmocka_unit_test(a_full_queue_refuses_and_changes_nothing),
        cmocka_unit_test(a_closed_queue_is_drained_at_the_rate),
        cmocka_unit_test(waits_too_long_to_tell_are_never),
        cmocka_unit_test(an_older_time_counts_as_the_latest_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

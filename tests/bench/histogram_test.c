/* SPDX-License-Identifier: Apache-2.0 */
/* The histogram against sorted values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench/load/histogram.h"
#include "bench/load/ring.h"

/* Slots follow each other without a gap or an overlap, up to the largest value. */
static void slots_cover_all_values(void **state)
{
    (void)state;
    for (size_t slot = 0; slot + 1 < LOAD_HISTOGRAM_SLOTS; slot++) {
        uint64_t last = load_histogram_slot_max(slot);
        assert_int_equal(load_histogram_slot(last), slot);
        assert_int_equal(load_histogram_slot(last + 1), slot + 1);
    }
    assert_int_equal(load_histogram_slot(0), 0);
    assert_true(load_histogram_slot_max(LOAD_HISTOGRAM_SLOTS - 1) == UINT64_MAX);
    assert_int_equal(load_histogram_slot(UINT64_MAX), LOAD_HISTOGRAM_SLOTS - 1);
}

/* A value is told at most 1/64 too high, and up to 127 exactly. */
static void error_is_bounded(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t value = load_random(&random) >> (load_random(&random) % 64);
        uint64_t told = load_histogram_slot_max(load_histogram_slot(value));
        assert_true(told >= value);
        assert_true(told - value <= value / LOAD_HISTOGRAM_PARTS);
        assert_true(value >= 128 || told == value);
    }
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void quantiles_are_those_of_sorted_values(void **state)
{
    (void)state;
    enum { COUNT = 10007 };
    static uint64_t values[COUNT];
    static struct load_histogram histogram;
    static const uint64_t parts[] = {0, 1, 500, 900, 990, 999, 1000};
    uint64_t random = 11;
    load_histogram_clear(&histogram);
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = load_random(&random) >> (24 + load_random(&random) % 40);
        load_histogram_add(&histogram, values[i], 1);
    }
    qsort(values, COUNT, sizeof(values[0]), by_size);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        uint64_t rank = (COUNT * parts[i] + 999) / 1000;
        uint64_t want = values[rank > 0 ? rank - 1 : 0];
        uint64_t told = load_histogram_quantile(&histogram, parts[i], 1000);
        assert_true(told >= want && told - want <= want / LOAD_HISTOGRAM_PARTS);
    }
    assert_true(load_histogram_quantile(&histogram, 1, 1) == values[COUNT - 1]);
    assert_int_equal(histogram.count, COUNT);
}

static void many_at_once_are_many(void **state)
{
    (void)state;
    static struct load_histogram histogram;
    load_histogram_clear(&histogram);
    assert_int_equal(load_histogram_quantile(&histogram, 99, 100), 0);
    load_histogram_add(&histogram, 10, 99);
    load_histogram_add(&histogram, 100, 1);
    load_histogram_add(&histogram, 1000, 0);
    assert_int_equal(histogram.count, 100);
    assert_int_equal(histogram.max, 100);
    assert_int_equal(load_histogram_quantile(&histogram, 99, 100), 10);
    assert_int_equal(load_histogram_quantile(&histogram, 991, 1000), 100);
    load_histogram_clear(&histogram);
    assert_int_equal(histogram.max, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_cover_all_values),
        cmocka_unit_test(error_is_bounded),
        cmocka_unit_test(quantiles_are_those_of_sorted_values),
        cmocka_unit_test(many_at_once_are_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

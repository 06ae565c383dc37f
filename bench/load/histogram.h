/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each latency was seen: a log-linear histogram.  Values below 128 are
 * kept exactly; above that, each doubling is cut into 64 parts, so a value is told
 * at most 1/64 too high and never too low.  Fixed size, no allocation.
 */
#ifndef METE_BENCH_LOAD_HISTOGRAM_H
#define METE_BENCH_LOAD_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define LOAD_HISTOGRAM_PART_BITS 6u /* 64 parts per doubling: finer than what repeats from run to run */
#define LOAD_HISTOGRAM_PARTS (1u << LOAD_HISTOGRAM_PART_BITS)
#define LOAD_HISTOGRAM_SLOTS ((64u - LOAD_HISTOGRAM_PART_BITS + 1u) * LOAD_HISTOGRAM_PARTS)

struct load_histogram {
    uint64_t slots[LOAD_HISTOGRAM_SLOTS];
    uint64_t count;
    uint64_t max;
};

/* Forgets everything. */
void load_histogram_clear(struct load_histogram *histogram);

/* The slot of a value, and the largest value of a slot. */
size_t load_histogram_slot(uint64_t value);
uint64_t load_histogram_slot_max(size_t slot);

static inline void load_histogram_add(struct load_histogram *histogram, uint64_t value, uint64_t times)
{
    histogram->slots[load_histogram_slot(value)] += times;
    histogram->count += times;
    if (value > histogram->max && times > 0) {
        histogram->max = value;
    }
}

/*
 * The value that `part` of `whole` of all values do not exceed (999 of 1000 for
 * p99.9): the largest of its slot, and never above the maximum.  0 when empty.
 */
uint64_t load_histogram_quantile(const struct load_histogram *histogram, uint64_t part, uint64_t whole);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/histogram.h"

#include <string.h>

void load_histogram_clear(struct load_histogram *histogram)
{
    memset(histogram, 0, sizeof(*histogram));
}

/* Slots 0..127 hold themselves.  Above, a value is shifted until its leading
 * bit is the 64 of 64..127; each shift has the next 64 slots. */
size_t load_histogram_slot(uint64_t value)
{
    if (value < 2 * LOAD_HISTOGRAM_PARTS) {
        return (size_t)value;
    }
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - LOAD_HISTOGRAM_PART_BITS;
    return (size_t)shift * LOAD_HISTOGRAM_PARTS + (size_t)(value >> shift);
}

uint64_t load_histogram_slot_max(size_t slot)
{
    if (slot < (size_t)2 * LOAD_HISTOGRAM_PARTS) {
        return slot;
    }
    unsigned shift = (unsigned)(slot / LOAD_HISTOGRAM_PARTS - 1);
    uint64_t leading = slot % LOAD_HISTOGRAM_PARTS + LOAD_HISTOGRAM_PARTS;
    return ((leading + 1) << shift) - 1; /* the last slot's 128 << 57 is 0, and 0 - 1 the largest value */
}

uint64_t load_histogram_quantile(const struct load_histogram *histogram, uint64_t part, uint64_t whole)
{
    unsigned __int128 product = (unsigned __int128)histogram->count * part;
    uint64_t wanted = (uint64_t)((product + whole - 1) / whole);
    uint64_t seen = 0;
    for (size_t slot = 0; slot < LOAD_HISTOGRAM_SLOTS; slot++) {
        seen += histogram->slots[slot];
        if (seen >= wanted && seen > 0) {
            uint64_t value = load_histogram_slot_max(slot);
            return value < histogram->max ? value : histogram->max;
        }
    }
    return histogram->max;
}

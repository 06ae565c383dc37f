/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing over ids 1..65535; an entry is published by one swap and never changes. */
#include "table/scales.h"

uint64_t mete__scales_intern(const struct mete__table *table, struct mete__pair scale)
{
    uint64_t start = mete__hash_check(&scale, sizeof scale);
    for (uint64_t i = 0; i < METE__SCALES - 1; i++) {
        uint64_t id = 1 + (start + i) % (METE__SCALES - 1);
        struct mete__pair seen = {0, 0};
        if (mete__pair_cas_full(&table->scales[id], &seen, scale)) {
            mete__table_count(table, METE__COUNT_SCALES);
            return id;
        }
        if (mete__pair_is_same(seen, scale)) {
            return id;
        }
    }
    return 0;
}

struct mete__pair mete__scales_get(const struct mete__table *table, uint64_t id)
{
    return mete__pair_load_acquire(&table->scales[id & METE__SCALE_MASK]);
}

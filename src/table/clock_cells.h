/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a store file keeps its time over restarts and reboots.
 *
 *   store time = CLOCK_MONOTONIC + offset
 *
 *   boot cell    [boot 40 | check 24] [offset 64]         which boot the offset is for
 *   anchor cell  [store 52 | check' 12] [wall 52 | check'' 12]   both in us
 *
 * CLOCK_MONOTONIC starts anew at boot.  Whoever opens the file first after a
 * boot sets a new offset, so that store time goes on from the anchor by as much
 * as the wall clock has gone on since, and not at all when it went back.  store
 * is rounded down and wall up: what is lost is strict, never credit.
 *
 * Each cell is 16 bytes, changed by one swap: never half-written.
 */
#ifndef METE_TABLE_CLOCK_CELLS_H
#define METE_TABLE_CLOCK_CELLS_H

#include "base/arith.h"
#include "base/hash.h"
#include "table/layout.h"

#define METE__CHECK24 ((UINT64_C(1) << 24) - 1)
#define METE__CHECK12 ((UINT64_C(1) << 12) - 1)

/* Nothing is owed for longer than 10 years by most limits; a wall clock that was
 * wrong for one boot shall not use up the time until METE_TIME_MAX. */
#define METE__ELAPSED_MAX_NS UINT64_C(315576000000000000)

static inline struct mete__pair mete__boot_cell(uint64_t boot_id, uint64_t offset_ns)
{
    struct mete__pair cell = {boot_id & ~METE__CHECK24, offset_ns};
    cell.lo |= mete__hash_check(&cell, sizeof cell) & METE__CHECK24;
    return cell;
}

static inline bool mete__boot_cell_is_valid(struct mete__pair cell)
{
    return mete__pair_is_same(cell, mete__boot_cell(cell.lo, cell.hi));
}

static inline bool mete__boot_cell_is_of(struct mete__pair cell, uint64_t boot_id)
{
    return (cell.lo | METE__CHECK24) == (boot_id | METE__CHECK24);
}

static inline struct mete__pair mete__anchor_cell_of_us(uint64_t store_us, uint64_t wall_us)
{
    struct mete__pair cell = {store_us << 12, wall_us << 12};
    uint64_t check = mete__hash_check(&cell, sizeof cell);
    cell.lo |= check & METE__CHECK12;
    cell.hi |= (check >> 12) & METE__CHECK12;
    return cell;
}

static inline struct mete__pair mete__anchor_cell(uint64_t store_ns, uint64_t wall_ns)
{
    return mete__anchor_cell_of_us(store_ns / 1000, mete__div_ceil_u64(wall_ns, 1000));
}

static inline bool mete__anchor_cell_is_valid(struct mete__pair cell)
{
    return mete__pair_is_same(cell, mete__anchor_cell_of_us(cell.lo >> 12, cell.hi >> 12));
}

/* Where store time stands when the wall clock shows wall_ns. */
static inline uint64_t mete__anchor_store_ns(struct mete__pair cell, uint64_t wall_ns)
{
    uint64_t elapsed_ns = mete__sub_floor0_u64(wall_ns, (cell.hi >> 12) * 1000);
    return (cell.lo >> 12) * 1000 + mete__min_u64(elapsed_ns, METE__ELAPSED_MAX_NS);
}

#endif

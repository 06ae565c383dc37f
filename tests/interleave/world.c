/* SPDX-License-Identifier: Apache-2.0 */
#include "interleave/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "interleave/schedule.h"

static uint64_t read_clock(void *context)
{
    struct world *world = context;
    return world->is_clock_shared ? mete__load_u64_acquire(&world->now_ns) : world->now_ns;
}

struct mete_limit world_limit(const char *text)
{
    struct mete_limit limit;
    assert_int_equal(mete_limit_parse(text, &limit), METE_OK);
    return limit;
}

void world_open(struct world *world, const struct world_shape *shape)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    struct mete_clock clock = {read_clock, world};
    *world = (struct world){.width = shape->width, .now_ns = WORLD_START};
    options.keys_max = shape->buckets == 1 ? 8 : 9;
    options.clock = &clock;
    options.on_full = shape->on_full;
    options.log_units_max = METE__CELLS_PER_BUCKET; /* one bucket of rings */
    options.flags = METE_STORE_NO_HUGE_PAGES | METE_STORE_NO_PREFAULT;
    assert_int_equal(mete_store_create(&options, &world->store), METE_OK);
    assert_int_equal(world->store->table.buckets_n, shape->buckets);
    world->store->table.width = shape->width;
}

static void narrow_logs(struct world *world)
{
    for (struct mete__log *log = world->store->logs; log != NULL; log = log->next) {
        log->table.width = world->width;
    }
}

mete_limiter *world_limiter(struct world *world, const char *limit)
{
    struct mete_limit value = world_limit(limit);
    mete_limiter *limiter;
    assert_in_range(world->limiters_n, 0, WORLD_LIMITERS_MAX - 1);
    assert_int_equal(mete_limiter_create(world->store, limit, &value, &limiter), METE_OK);
    world->limiters[world->limiters_n++] = limiter;
    narrow_logs(world);
    return limiter;
}

void world_prepare_limit(struct world *world, unsigned limiter, const char *limit)
{
    struct mete_limit value = world_limit(limit);
    mete_limiter *at = world->limiters[limiter];
    mete_limiter before = *at;
    assert_int_equal(mete_limiter_set_limit(at, &value), METE_OK);
    *at = before;
    narrow_logs(world);
}

/* --- putting back ------------------------------------------------------------- */

static void keep(struct world *world, void *at, size_t bytes)
{
    assert_in_range(world->kept_n, 0, WORLD_KEPT_MAX - 1);
    void *copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, at, bytes);
    world->kept[world->kept_n++] = (struct world_kept){at, bytes, copy};
}

static void keep_table(struct world *world, const struct mete__table *table, const char *cells, const char *marks)
{
    size_t marks_bytes = (table->buckets_n / METE__BUCKETS_PER_MARK + 1) * sizeof *table->marks;
    size_t stripes_bytes = METE__STRIPES * sizeof *table->stripes;
    keep(world, table->buckets, table->buckets_n * sizeof *table->buckets);
    keep(world, table->marks, marks_bytes);
    keep(world, table->stripes, stripes_bytes);
    schedule_name(cells, table->buckets, table->buckets_n * sizeof *table->buckets);
    schedule_name(marks, table->marks, marks_bytes);
    schedule_ignore(table->stripes, stripes_bytes);
}

void world_keep(struct world *world)
{
    keep_table(world, &world->store->table, "cells", "marks");
    for (unsigned i = 0; i < world->limiters_n; i++) {
        keep(world, world->limiters[i], sizeof *world->limiters[i]);
        schedule_name("limiter", world->limiters[i], sizeof *world->limiters[i]);
    }
    for (struct mete__log *log = world->store->logs; log != NULL; log = log->next) {
        size_t rings_bytes = log->table.buckets_n * METE__CELLS_PER_BUCKET * log->ring_bytes;
        keep_table(world, &log->table, "log cells", "log marks");
        keep(world, log->table.rings, rings_bytes);
        schedule_name("rings", log->table.rings, rings_bytes);
    }
    keep(world, &world->now_ns, sizeof world->now_ns);
    schedule_name("clock", &world->now_ns, sizeof world->now_ns);
}

void world_restore(struct world *world)
{
    for (unsigned i = 0; i < world->kept_n; i++) {
        memcpy(world->kept[i].at, world->kept[i].copy, world->kept[i].bytes);
    }
}

void world_close(struct world *world)
{
    for (unsigned i = 0; i < world->kept_n; i++) {
        free(world->kept[i].copy);
    }
    for (unsigned i = 0; i < world->limiters_n; i++) {
        mete_limiter_destroy(world->limiters[i]);
    }
    mete_store_destroy(world->store);
    schedule_forget();
}

/* --- looking at memory ---------------------------------------------------------- */

static bool is_confirmed(struct mete__pair cell)
{
    return (cell.lo & METE__SCALE_MASK) != 0;
}

/* All cells, usable or not, as one row. */
static const char *check_cells(const struct mete__table *table, bool is_over)
{
    const struct mete__pair *cells = table->buckets[0].cells;
    uint64_t n = table->buckets_n * METE__CELLS_PER_BUCKET;
    for (uint64_t i = 0; i < n; i++) {
        if (is_over && mete__cell_is_pending(cells[i])) {
            return "a cell is pending although all calls are over";
        }
        if (cells[i].lo == 0 && cells[i].hi != 0) {
            return "an empty cell has a word";
        }
        for (uint64_t j = 0; is_confirmed(cells[i]) && j < i; j++) {
            if (mete__cell_is_of(cells[j].lo, cells[i].lo & ~METE__SCALE_MASK)) {
                return "a key has two confirmed cells";
            }
        }
    }
    return NULL;
}

static const char *check_rings(const struct mete__log *log)
{
    for (uint64_t i = 0; i < log->table.buckets_n * METE__CELLS_PER_BUCKET; i++) {
        struct mete__ring ring = mete__log_ring(log, &log->table.buckets[0].cells[i]);
        struct mete__ring_state state = mete__ring_unpack(*ring.control);
        if (!mete__ring_state_is_valid(&ring, &state)) {
            return "a ring's control cannot be";
        }
        for (uint64_t k = 0; k < state.count; k++) {
            uint64_t at_ns = mete__ring_time(&ring, &state, k);
            if (at_ns > state.last_ns || (k > 0 && at_ns < mete__ring_time(&ring, &state, k - 1))) {
                return "a ring's times do not rise up to last";
            }
        }
    }
    return NULL;
}

const char *world_check(const struct world *world, bool is_over)
{
    const char *fault = check_cells(&world->store->table, is_over);
    for (struct mete__log *log = world->store->logs; fault == NULL && log != NULL; log = log->next) {
        fault = check_cells(&log->table, is_over);
        if (fault == NULL) {
            fault = check_rings(log);
        }
    }
    return fault;
}

void world_key(const struct world *world, unsigned first, unsigned second, char *key)
{
    static unsigned tried; /* goes on: no key is given twice */
    const struct mete__table *table = &world->store->table;
    for (;;) {
        snprintf(key, 16, "key %u", tried++);
        struct mete__hash hash = mete__hash_key(&world->limiters[0]->secret, key, strlen(key));
        struct mete__slot slot = mete__table_locate(table, hash);
        if (slot.first == &table->buckets[first] && slot.second == &table->buckets[second]) {
            return;
        }
    }
}

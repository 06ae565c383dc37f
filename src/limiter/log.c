/* SPDX-License-Identifier: Apache-2.0 */
#include "limiter/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limiter/limiter.h"
#include "table/clock_cells.h"
#include "table/map.h"
#include "table/scales.h"

/* --- judging: which ring may be taken ----------------------------------------- */

static uint64_t rank_of_state(const struct mete__log *log, const struct mete__ring *ring,
                              const struct mete__ring_state *state, uint64_t gen, uint64_t now_ns, uint64_t *idle_at_ns)
{
    *idle_at_ns = 0;
    if (state->gen != gen || state->count == 0 || !mete__ring_state_is_valid(ring, state)) {
        return 0;
    }
    uint64_t period_ns = mete__load_u64_relaxed(&log->period_max_ns);
    *idle_at_ns = mete__ring_time(ring, state, state->count - 1) + period_ns;
    if (*idle_at_ns <= now_ns) {
        return 0;
    }
    uint64_t over = mete__ring_over(ring, state, now_ns >= period_ns ? now_ns - period_ns + 1 : 0);
    return mete__max_u64(1, mete__muldiv_floor_u64(state->count - over, period_ns, log->ring_units));
}

static uint64_t rank(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                     uint64_t *idle_at_ns)
{
    const struct mete__log *log = context;
    struct mete__ring ring = mete__log_ring(log, address);
    struct mete__ring_state state = mete__ring_unpack(mete__pair_load_acquire(ring.control));
    return rank_of_state(log, &ring, &state, cell.hi & METE__GEN_MASK, now_ns, idle_at_ns);
}

/* Steps gen, so that the old key can charge no more.  A cell that is dead
 * already may be taken as it is. */
static bool retire(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                   uint64_t rank_max)
{
    uint64_t idle_at_ns;
    struct mete__ring ring = mete__log_ring(context, address);
    struct mete__pair control = mete__pair_load_acquire(ring.control);
    struct mete__ring_state state = mete__ring_unpack(control);
    if (state.gen != (cell.hi & METE__GEN_MASK)) {
        return true;
    }
    /* Charged since it was chosen: the swap below is of this control, so it is judged by this one. */
    if (rank_of_state(context, &ring, &state, state.gen, now_ns, &idle_at_ns) > rank_max) {
        return false;
    }
    state.gen++;
    state.count = 0;
    state.pending = 0;
    state.booked = false;
    return mete__pair_cas_full(ring.control, &control, mete__ring_pack(&state));
}

/* --- finding ------------------------------------------------------------------ */

bool mete__log_look(struct mete__log *log, const struct mete__slot *slot, struct mete__log_view *out)
{
    for (;;) {
        out->cell = mete__table_find(&log->table, slot, &out->cell_seen);
        if (out->cell == NULL) {
            return false;
        }
        out->ring = mete__log_ring(log, out->cell);
        out->control = mete__pair_load_acquire(out->ring.control);
        out->state = mete__ring_unpack(out->control);
        if (out->state.gen == (out->cell_seen.hi & METE__GEN_MASK) &&
            mete__ring_state_is_valid(&out->ring, &out->state)) {
            return true;
        }
        /* Dead: its taker was stopped half-way, or is about to swap it. */
        mete__pair_cas_full(out->cell, &out->cell_seen, (struct mete__pair){0, 0});
    }
}

/* --- life --------------------------------------------------------------------- */

/* The scale table of a log only remembers which periods were used. */
static void remember_period(struct mete__log *log, uint64_t units, uint64_t period_ns)
{
    mete__scales_intern(&log->table, (struct mete__pair){units, period_ns}, 0);
    mete__max_u64_acq_rel(&log->period_max_ns, period_ns);
}

/* Rings for log_units_max units, and never fewer than eight keys. */
static uint64_t keys_for(const mete_store *store, uint64_t units)
{
    return mete__max_u64(METE__CELLS_PER_BUCKET, store->log_units_max / units);
}

static mete_status open_log(mete_limiter *limiter, uint64_t units, struct mete__log *log, const struct mete__why *why)
{
    mete_store *store = limiter->store;
    char *path = NULL;
    if (store->path != NULL) {
        size_t room = strlen(store->path) + 64;
        path = malloc(room);
        if (path == NULL) {
            return mete__fail(why, METE_ENOMEM, "no memory");
        }
        snprintf(path, room, "%s.%016llx-%llu.log", store->path, (unsigned long long)limiter->name_hash,
                 (unsigned long long)units);
    }
    bool own_clock = store->clock.callers.now_ns == NULL;
    struct mete__map_spec spec = {.content = METE__CONTENT_LOG,
                                  .clock_kind = own_clock ? METE__CLOCK_OWN : METE__CLOCK_CALLERS,
                                  .keys_max = keys_for(store, units),
                                  .ring_units = units,
                                  .name_hash = limiter->name_hash,
                                  .path = path,
                                  .flags = METE_STORE_NO_PREFAULT | METE_STORE_NO_HUGE_PAGES,
                                  .boot = mete__boot_cell(0, 0),
                                  .anchor = mete__anchor_cell(0, 0)};
    mete_status status = mete__map_open(&spec, &log->table, why);
    free(path);
    return status;
}

static void learn_periods(struct mete__log *log)
{
    for (uint64_t id = 1; id < METE__SCALES; id++) {
        log->period_max_ns = mete__max_u64(log->period_max_ns, mete__scales_get(&log->table, id).hi);
    }
}

mete_status mete__log_acquire(mete_limiter *limiter, uint64_t units, uint64_t period_ns, struct mete__log **out,
                              const struct mete__why *why)
{
    mete_store *store = limiter->store;
    for (struct mete__log *log = store->logs; log != NULL; log = log->next) {
        if (log->name_hash == limiter->name_hash && log->ring_units >= units) {
            remember_period(log, units, period_ns);
            *out = log;
            return METE_OK;
        }
    }
    if (store->logs_n == METE__LOGS_MAX) {
        return mete__fail(why, METE_EFULL, "limit: this store has opened 1,024 sliding logs already");
    }
    struct mete__log *log = calloc(1, sizeof *log);
    if (log == NULL) {
        return mete__fail(why, METE_ENOMEM, "no memory");
    }
    mete_status status = open_log(limiter, units, log, why);
    if (status != METE_OK) {
        free(log);
        return status;
    }
    log->judge = (struct mete__judge){.context = log, .rank = rank, .retire = retire};
    log->store = store;
    log->ring_units = units;
    log->ring_bytes = mete__ring_bytes(units);
    log->name_hash = limiter->name_hash;
    if (store->path != NULL) {
        learn_periods(log);
    }
    remember_period(log, units, period_ns);
    log->next = store->logs;
    __atomic_store_n(&store->logs, log, __ATOMIC_RELEASE); /* pairs with inherit.c */
    store->logs_n++;
    *out = log;
    return METE_OK;
}

void mete__logs_destroy(mete_store *store)
{
    while (store->logs != NULL) {
        struct mete__log *log = store->logs;
        store->logs = log->next;
        mete__map_close(&log->table);
        free(log);
    }
}

uint64_t mete__logs_bytes(mete_store *store)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&store->mutex);
    for (struct mete__log *log = store->logs; log != NULL; log = log->next) {
        bytes += log->table.bytes;
    }
    pthread_mutex_unlock(&store->mutex);
    return bytes;
}

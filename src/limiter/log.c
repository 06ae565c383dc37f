/* SPDX-License-Identifier: Apache-2.0 */
#include "limiter/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
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
    mete__scales_intern(&log->table, (struct mete__pair){units, period_ns});
    mete__max_u64_acq_rel(&log->period_max_ns, period_ns);
}

/* Rings for log_units_max units, and never fewer than eight keys. */
static uint64_t keys_for(const mete_store *store, uint64_t units)
{
    return mete__max_u64(METE__CELLS_PER_BUCKET, store->log_units_max / units);
}

static void learn_periods(struct mete__log *log)
{
    for (uint64_t id = 1; id < METE__SCALES; id++) {
        log->period_max_ns = mete__max_u64(log->period_max_ns, mete__scales_get(&log->table, id).hi);
    }
}

/* "PATH.NAMEHASH-", which the names of a limiter's files begin with; NULL: no memory. */
static char *path_of(const mete_limiter *limiter, uint64_t units)
{
    size_t room = strlen(limiter->store->path) + 64;
    char *path = malloc(room);
    if (path != NULL) {
        int len = snprintf(path, room, "%s.%016llx-", limiter->store->path, (unsigned long long)limiter->name_hash);
        if (units > 0) {
            snprintf(path + len, room - (size_t)len, "%llu.log", (unsigned long long)units);
        }
    }
    return path;
}

static mete_status open_log(mete_limiter *limiter, uint64_t units, struct mete__log *log, const struct mete__why *why)
{
    mete_store *store = limiter->store;
    char *path = store->path != NULL ? path_of(limiter, units) : NULL;
    if (store->path != NULL && path == NULL) {
        return mete__fail(why, METE_ENOMEM, "no memory");
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

/* The largest log of this name is the one in use; older ones lead to it. */
static struct mete__log *newest_of(const mete_store *store, uint64_t name_hash)
{
    struct mete__log *log = store->logs;
    while (log != NULL && log->name_hash != name_hash) {
        log = log->next;
    }
    return log;
}

static mete_status add_log(mete_limiter *limiter, uint64_t units, struct mete__log **out, const struct mete__why *why)
{
    mete_store *store = limiter->store;
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
    struct mete__log *older = newest_of(store, log->name_hash);
    log->next = store->logs;
    mete__store_pointer_release(&store->logs, log); /* pairs with inherit.c */
    store->logs_n++;
    if (older != NULL) {
        mete__store_pointer_release(&older->newer, log); /* pairs with mete__limiter_log */
    }
    *out = log;
    return METE_OK;
}

mete_status mete__log_acquire(mete_limiter *limiter, uint64_t units, uint64_t period_ns, struct mete__log **out,
                              const struct mete__why *why)
{
    mete_status status = METE_OK;
    *out = newest_of(limiter->store, limiter->name_hash);
    if (*out == NULL || (*out)->ring_units < units) {
        status = add_log(limiter, units, out, why);
    }
    if (status == METE_OK) {
        remember_period(*out, units, period_ns);
    }
    return status;
}

/* --- files of earlier runs ---------------------------------------------------- */

#define SIZES_MAX 32u

struct sizes {
    uint64_t units[SIZES_MAX];
    unsigned n;
};

/* Takes "UNITS.log"; in ascending order; the largest when there are too many. */
static void note_size(void *context, const char *rest)
{
    struct sizes *sizes = context;
    struct mete__text text = mete__text_of(rest, strlen(rest));
    uint64_t units;
    if (mete__text_u64(&text, &units) != METE__NUMBER_OK || !mete__text_is(&text, ".log") || units == 0 ||
        units > METE_LOG_COUNT_MAX) {
        return;
    }
    unsigned at = sizes->n;
    if (sizes->n == SIZES_MAX) {
        memmove(sizes->units, sizes->units + 1, (SIZES_MAX - 1) * sizeof sizes->units[0]);
        at--;
    } else {
        sizes->n++;
    }
    for (; at > 0 && sizes->units[at - 1] > units; at--) {
        sizes->units[at] = sizes->units[at - 1];
    }
    sizes->units[at] = units;
}

mete_status mete__logs_reopen(mete_limiter *limiter, const struct mete__why *why)
{
    struct sizes sizes = {.n = 0};
    mete_status status = METE_OK;
    if (limiter->store->path == NULL || newest_of(limiter->store, limiter->name_hash) != NULL) {
        return METE_OK;
    }
    char *path = path_of(limiter, 0);
    if (path == NULL) {
        return mete__fail(why, METE_ENOMEM, "no memory");
    }
    mete__os_files_beginning(path, note_size, &sizes);
    free(path);
    for (unsigned i = 0; i < sizes.n && status == METE_OK; i++) {
        struct mete__log *log;
        status = add_log(limiter, sizes.units[i], &log, why);
    }
    return status;
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

uint64_t mete__logs_counted(mete_store *store, enum mete__count which)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&store->mutex);
    for (struct mete__log *log = store->logs; log != NULL; log = log->next) {
        sum += mete__table_counted(&log->table, which);
    }
    pthread_mutex_unlock(&store->mutex);
    return sum;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a store: its options, its mapping, its clock. */
#include "limiter/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "limiter/log.h"
#include "table/clock_cells.h"
#include "table/map.h"

#define ANCHOR_EVERY_NS UINT64_C(1000000000)

/* --- options --------------------------------------------------------------- */

static mete_status check_options(const struct mete_store_options *options, const struct mete__why *why)
{
    if (options->size != sizeof *options) {
        return mete__fail(why, METE_EINVAL, "size: not that of struct mete_store_options; use METE_STORE_OPTIONS_INIT");
    }
    if (options->keys_max == 0) {
        return mete__fail(why, METE_ERANGE, "keys_max: must be at least 1");
    }
    if (options->keys_max > METE__KEYS_MAX_MAX) {
        return mete__fail(why, METE_ERANGE, "keys_max: above 2^36");
    }
    if (options->path != NULL && options->path[0] == 0) {
        return mete__fail(why, METE_EINVAL, "path: empty; use NULL for private memory");
    }
    if ((unsigned)options->on_full > METE_FULL_ALLOW) {
        return mete__fail(why, METE_EINVAL, "on_full: unknown policy");
    }
    if (options->clock != NULL && options->clock->now_ns == NULL) {
        return mete__fail(why, METE_EINVAL, "clock: now_ns is missing");
    }
    if ((unsigned)options->clock_source > METE_CLOCK_SYSTEM) {
        return mete__fail(why, METE_EINVAL, "clock_source: unknown");
    }
    if ((options->flags & ~(METE_STORE_NO_HUGE_PAGES | METE_STORE_NO_PREFAULT)) != 0) {
        return mete__fail(why, METE_EINVAL, "flags: unknown bits");
    }
    if (options->log_units_max == 0) {
        return mete__fail(why, METE_ERANGE, "log_units_max: must be at least 1");
    }
    if (options->log_units_max > METE__KEYS_MAX_MAX) {
        return mete__fail(why, METE_ERANGE, "log_units_max: above 2^36");
    }
    return METE_OK;
}

/* --- clock ----------------------------------------------------------------- */

/* The offset that holds for this boot; whoever comes first after a boot sets it. */
static uint64_t agree_on_offset(struct mete__header *header)
{
    uint64_t boot_id = mete__os_boot_id();
    struct mete__pair boot = mete__pair_load_acquire(&header->boot);
    while (!mete__boot_cell_is_of(boot, boot_id)) {
        struct mete__pair anchor = mete__pair_load_acquire(&header->anchor);
        uint64_t now_ns = mete__anchor_store_ns(anchor, mete__wall_ns());
        struct mete__pair fresh = mete__boot_cell(boot_id, now_ns - mete__monotonic_ns());
        if (mete__pair_cas_full(&header->boot, &boot, fresh)) {
            return fresh.hi;
        }
    }
    return boot.hi;
}

static void renew_anchor(mete_store *store, uint64_t now_ns)
{
    if (now_ns >= METE_TIME_MAX) {
        return; /* a wall clock that was wrong for one boot must not end the file's time */
    }
    struct mete__pair *cell = &store->table.header->anchor;
    struct mete__pair seen = mete__pair_load_acquire(cell);
    if (now_ns / 1000 > seen.lo >> 12) { /* losing to another process is as good */
        mete__pair_cas_full(cell, &seen, mete__anchor_cell(now_ns, mete__wall_ns()));
    }
}

uint64_t mete__store_renew_anchor(mete_store *store, uint64_t now_ns)
{
    if (now_ns >= METE_TIME_MAX) {
        return METE_TIME_MAX;
    }
    mete__store_u64_relaxed(&store->anchor_due_ns, store->path != NULL
                                                       ? mete__min_u64(now_ns + ANCHOR_EVERY_NS, METE_TIME_MAX)
                                                       : METE_TIME_MAX);
    if (store->path != NULL) {
        renew_anchor(store, now_ns);
    }
    return now_ns;
}

static void start_clock(mete_store *store)
{
    store->anchor_due_ns = METE_TIME_MAX;
    if (store->clock.callers.now_ns != NULL) {
        return;
    }
    store->clock.offset_ns = agree_on_offset(store->table.header);
    store->clock.has_tick = store->clock.source == METE_CLOCK_AUTO;
    if (store->path != NULL) {
        store->anchor_due_ns = 0;
    }
}

/* --- life ------------------------------------------------------------------ */

static void reseed_in_child(void)
{
    uint64_t random;
    if (mete__os_random(&random, sizeof random) == METE_OK) {
        mete__claim_seed(random);
    }
}

static void prepare_process(void)
{
    reseed_in_child();
    mete__os_on_fork(reseed_in_child);
}

static uint64_t judge_rank(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                           uint64_t *idle_at_ns)
{
    struct mete__profile scratch;
    struct mete__moment moment = {.now_ns = now_ns};
    (void)address;
    const struct mete__profile *profile = mete__rules_profile(context, cell.lo & METE__SCALE_MASK, &scratch);
    if (profile == NULL) {
        return 0; /* written by nobody: free */
    }
    *idle_at_ns = mete__step_idle_at_ns(profile, cell.hi, &moment);
    return mete__step_rank(profile, cell.hi, &moment);
}

static mete_status open_table(mete_store *store, const struct mete_store_options *options, const struct mete__why *why)
{
    uint64_t wall_ns = mete__wall_ns();
    struct mete__map_spec spec = {.content = METE__CONTENT_CELLS,
                                  .clock_kind = options->clock != NULL ? METE__CLOCK_CALLERS : METE__CLOCK_OWN,
                                  .keys_max = options->keys_max,
                                  .path = options->path,
                                  .flags = options->flags,
                                  .boot = mete__boot_cell(mete__os_boot_id(), wall_ns - mete__monotonic_ns()),
                                  .anchor = mete__anchor_cell(wall_ns, wall_ns)};
    return mete__map_open(&spec, &store->table, why);
}

static mete_status store_init(mete_store *store, const struct mete_store_options *options, const struct mete__why *why)
{
    store->on_full = options->on_full;
    store->flags = options->flags;
    store->log_units_max = options->log_units_max;
    store->clock.source = options->clock_source;
    store->judge = (struct mete__judge){.context = store, .rank = judge_rank};
    if (options->clock != NULL) {
        store->clock.callers = *options->clock;
    }
    if (options->path != NULL) {
        size_t size = strlen(options->path) + 1;
        store->path = malloc(size);
        if (store->path == NULL) {
            return mete__fail(why, METE_ENOMEM, "no memory");
        }
        memcpy(store->path, options->path, size);
    }
    mete_status status = open_table(store, options, why);
    if (status == METE_OK) {
        start_clock(store);
        status = store->path != NULL ? mete__rules_learn(store) : METE_OK;
    }
    return status;
}

mete_status mete_store_create_why(const struct mete_store_options *options, mete_store **out, char *why,
                                  size_t why_size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct mete_store_options defaults = METE_STORE_OPTIONS_INIT;
    struct mete__why reason = {why, why_size};
    if (out == NULL) {
        return mete__fail(&reason, METE_EINVAL, "out: missing");
    }
    if (options == NULL) {
        options = &defaults;
    }
    mete_status status = check_options(options, &reason);
    if (status != METE_OK) {
        return status;
    }
    mete_store *store = calloc(1, sizeof *store); /* mostly by_scale, which stays untouched */
    if (store == NULL) {
        return mete__fail(&reason, METE_ENOMEM, "no memory");
    }
    pthread_once(&once, prepare_process);
    pthread_mutex_init(&store->mutex, NULL);
    status = store_init(store, options, &reason);
    if (status != METE_OK) {
        mete_store_destroy(store);
        return status;
    }
    *out = store;
    return METE_OK;
}

mete_status mete_store_create(const struct mete_store_options *options, mete_store **out)
{
    return mete_store_create_why(options, out, NULL, 0);
}

void mete_store_destroy(mete_store *store)
{
    if (store == NULL) {
        return;
    }
    if (store->path != NULL && store->table.header != NULL && store->clock.callers.now_ns == NULL) {
        renew_anchor(store, mete__store_now(store));
    }
    mete__logs_destroy(store);
    mete__rules_clear(&store->rules);
    mete__map_close(&store->table);
    pthread_mutex_destroy(&store->mutex);
    free(store->path);
    free(store);
}

uint64_t mete_store_now(const mete_store *store)
{
    return store != NULL ? mete__store_now((mete_store *)(uintptr_t)store) : 0;
}

/* --- looking at it --------------------------------------------------------- */

mete_status mete_store_stats(const mete_store *store, struct mete_store_stats *out)
{
    if (store == NULL || out == NULL) {
        return METE_EINVAL;
    }
    mete_store *inner = (mete_store *)(uintptr_t)store;
    const struct mete__table *table = &store->table;
    *out = (struct mete_store_stats){
        .keys_max = table->header->fixed.keys_max,
        .cells = table->buckets_n * table->width,
        .memory_bytes = table->bytes,
        .log_bytes = mete__logs_bytes(inner),
        .keys_inserted =
            mete__table_counted(table, METE__COUNT_INSERTED) + mete__logs_counted(inner, METE__COUNT_INSERTED),
        .keys_evicted =
            mete__table_counted(table, METE__COUNT_EVICTED) + mete__logs_counted(inner, METE__COUNT_EVICTED),
        .full_denied = mete__table_counted(table, METE__COUNT_FULL_DENIED),
        .full_untracked = mete__table_counted(table, METE__COUNT_FULL_UNTRACKED),
        .swap_retries = mete__table_counted(table, METE__COUNT_SWAP_RETRIES),
        .claims_removed = mete__table_counted(table, METE__COUNT_CLAIMS_REMOVED) +
                          mete__logs_counted(inner, METE__COUNT_CLAIMS_REMOVED),
        .keys_rescaled = mete__table_counted(table, METE__COUNT_RESCALED),
        .scales_used = mete__table_counted(table, METE__COUNT_SCALES),
        .clock_steps = mete__clock_steps(),
    };
    return METE_OK;
}

mete_status mete_store_keys_live(const mete_store *store, uint64_t *out)
{
    if (store == NULL || out == NULL) {
        return METE_EINVAL;
    }
    uint64_t now_ns = mete_store_now(store);
    uint64_t live = 0;
    for (uint64_t i = 0; i < store->table.buckets_n; i++) {
        for (unsigned j = 0; j < store->table.width; j++) {
            uint64_t idle_at_ns;
            const struct mete__pair *address = &store->table.buckets[i].cells[j];
            struct mete__pair cell = mete__pair_load_acquire(address);
            live += (cell.lo & METE__SCALE_MASK) != 0 &&
                    judge_rank((void *)(uintptr_t)store, address, cell, now_ns, &idle_at_ns) > 0;
        }
    }
    *out = live;
    return METE_OK;
}

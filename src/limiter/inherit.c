/* SPDX-License-Identifier: Apache-2.0 */
#include "limiter/inherit.h"

#include "algorithm/convert.h"
#include "algorithm/sliding_log.h"

/* --- from a ring to a cell ------------------------------------------------------ */

static struct mete__log *logs_of(const mete_limiter *limiter)
{
    return __atomic_load_n(&limiter->store->logs, __ATOMIC_ACQUIRE);
}

/* The key's ring in the largest log it has one in; older ones were left behind. */
static bool find_ring(const mete_limiter *limiter, struct mete__hash hash, const struct mete__log *except,
                      struct mete__log **log, struct mete__log_view *view)
{
    for (*log = logs_of(limiter); *log != NULL; *log = (*log)->next) {
        if ((*log)->name_hash == limiter->name_hash && *log != except) {
            struct mete__slot slot = mete__table_locate(&(*log)->table, hash);
            if (mete__log_look(*log, &slot, view)) {
                return true;
            }
        }
    }
    return false;
}

/* Units that count at settled_ns under the log rule that change `index` ended. */
static uint64_t ring_owes(const mete_limiter *limiter, const struct mete__history *history, uint64_t index,
                          struct mete__hash hash, uint64_t settled_ns)
{
    struct mete__log *log;
    struct mete__log_view view;
    uint64_t period_ns = history->changes[index].before->profile.scale.period;
    uint64_t used;
    do {
        if (!find_ring(limiter, hash, NULL, &log, &view)) {
            return 0;
        }
        uint64_t at_ns = mete__max_u64(settled_ns, view.state.last_ns);
        used = view.state.count - mete__ring_over(&view.ring, &view.state, mete__log_drop_before_ns(period_ns, at_ns));
    } while (!mete__pair_is_same(mete__pair_load_acquire(view.ring.control), view.control));
    return used;
}

static bool is_log(const struct mete__rule *rule)
{
    return rule->profile.scale.kind == METE__KIND_LOG;
}

/* The newest change whose rule before was (is_wanted) a log, and of the newest that was not. */
static bool newest_change(const struct mete__history *history, bool is_wanted_log, uint64_t *index)
{
    for (uint64_t i = history->count; i-- > 0;) {
        if (is_log(history->changes[i].before) == is_wanted_log) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* Whether the cell's scale was last in force after change `index`. */
static bool is_cell_newer(const struct mete__history *history, const struct mete__pair *cell, uint64_t index)
{
    for (uint64_t i = history->count; i-- > index + 1;) {
        if (history->changes[i].before->scale_id == (cell->lo & METE__SCALE_MASK)) {
            return true;
        }
    }
    return false;
}

uint64_t mete__inherited_word(const mete_limiter *limiter, const struct mete__history *history,
                              const struct mete__pair *cell, struct mete__hash hash, uint64_t now_ns)
{
    uint64_t index;
    if (!newest_change(history, true, &index) || (cell != NULL && is_cell_newer(history, cell, index))) {
        return cell != NULL ? mete__limiter_rescale(limiter, history, *cell, now_ns) : 0;
    }
    uint64_t settled_ns = mete__min_u64(history->changes[index].at_ns, now_ns);
    uint64_t owed = ring_owes(limiter, history, index, hash, settled_ns);
    if (owed == 0) {
        return 0;
    }
    struct mete__rule *to = mete__history_after(history, index);
    struct mete__moment moment = mete__rule_moment(to, 0, settled_ns);
    uint64_t word = mete__word_of_owed(&to->profile, owed, &moment);
    return mete__history_walk(history, index + 1, word, now_ns);
}

/* --- to a ring ------------------------------------------------------------------ */

/* From the key's cell, under the last rule that was not a log. */
static void find_in_cell(struct mete__inheritance *heir, uint64_t now_ns)
{
    struct mete__pair seen;
    struct mete__history until = *heir->history;
    uint64_t index;
    struct mete__slot slot = mete__table_locate(&heir->limiter->table, heir->hash);
    struct mete__pair *cell = mete__table_find(&heir->limiter->table, &slot, &seen);
    if (cell == NULL || !newest_change(heir->history, false, &index)) {
        return;
    }
    struct mete__rule *before = until.changes[index].before;
    until.current = before;
    until.count = index;
    heir->at_ns = mete__min_u64(heir->history->changes[index].at_ns, now_ns);
    uint64_t word = seen.hi;
    if ((seen.lo & METE__SCALE_MASK) != before->scale_id) {
        word = mete__limiter_rescale(heir->limiter, &until, seen, heir->at_ns);
    }
    struct mete__moment moment = mete__rule_moment(before, word, heir->at_ns);
    heir->units = mete__min_u64(mete__owed_units(&before->profile, word, &moment),
                                mete__history_after(heir->history, index)->profile.capacity);
}

bool mete__inheritance_find(struct mete__inheritance *heir, uint64_t now_ns)
{
    struct mete__log_view view;
    if (heir->history->count == 0) {
        return false;
    }
    if (find_ring(heir->limiter, heir->hash, heir->log, &heir->older, &view)) {
        return true;
    }
    find_in_cell(heir, now_ns);
    return heir->units > 0;
}

static uint64_t rank(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                     uint64_t *idle_at_ns)
{
    struct mete__judge *own = &((struct mete__inheritance *)context)->log->judge;
    return own->rank(own->context, address, cell, now_ns, idle_at_ns);
}

static bool retire(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns)
{
    struct mete__judge *own = &((struct mete__inheritance *)context)->log->judge;
    return own->retire(own->context, address, cell, now_ns);
}

/* The state a new ring begins with, after `control`; times of an older ring are
 * copied.  Raising is harmless even when the claim comes to nothing: last_ns,
 * which no time is above, goes up with it. */
static struct mete__ring_state begin(const struct mete__inheritance *heir, const struct mete__ring *ring,
                                     struct mete__pair control)
{
    struct mete__ring_state old = mete__ring_unpack(control);
    struct mete__ring_state state = {.gen = old.gen + 1, .last_ns = old.last_ns};
    if (heir->units > 0) {
        state.count = heir->units;
        state.pending = heir->units;
        state.last_ns = mete__max_u64(old.last_ns, heir->at_ns);
        return state;
    }
    struct mete__log *log;
    struct mete__log_view view;
    while (heir->older != NULL && find_ring(heir->limiter, heir->hash, heir->log, &log, &view)) {
        state.count = view.state.count;
        state.last_ns = mete__max_u64(old.last_ns, view.state.last_ns);
        state.booked = view.state.booked;
        for (uint64_t i = 0; i < state.count; i++) {
            mete__ring_raise(ring, i, mete__ring_time(&view.ring, &view.state, i));
        }
        if (mete__pair_is_same(mete__pair_load_acquire(view.ring.control), view.control)) {
            break;
        }
    }
    return state;
}

/*
 * Readies the ring and returns its gen.  The look at the cell comes after the
 * load of the control: while the cell is still our claim nobody else has
 * readied the ring, and if someone does later, our swap fails.
 */
static uint64_t word(void *context, const struct mete__pair *address, struct mete__pair pending)
{
    const struct mete__inheritance *heir = context;
    struct mete__ring ring = mete__log_ring(heir->log, address);
    for (;;) {
        struct mete__pair control = mete__pair_load_acquire(ring.control);
        if (!mete__pair_is_same(mete__pair_load_acquire(address), pending)) {
            return 0; /* removed: confirming will fail */
        }
        struct mete__ring_state state = begin(heir, &ring, control);
        if (mete__pair_cas_full(ring.control, &control, mete__ring_pack(&state))) {
            return state.gen & METE__GEN_MASK;
        }
    }
}

struct mete__judge mete__inheritance_judge(struct mete__inheritance *heir)
{
    return (struct mete__judge){.context = heir, .rank = rank, .retire = retire, .word = word};
}

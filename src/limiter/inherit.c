/* SPDX-License-Identifier: Apache-2.0 */
#include "limiter/inherit.h"

#include <string.h>

#include "algorithm/convert.h"
#include "algorithm/sliding_log.h"

static uint64_t scale_of(struct mete__pair cell)
{
    return cell.lo & METE__SCALE_MASK;
}

static bool is_log(const struct mete__rule *rule)
{
    return rule->profile.scale.kind == METE__KIND_LOG;
}

uint64_t mete__history_index(const struct mete__history *history, uint64_t scale_id)
{
    if (history->current->scale_id == scale_id) {
        return history->count;
    }
    for (uint64_t i = history->count; i-- > 0;) {
        if (history->changes[i].before->scale_id == scale_id) {
            return i;
        }
    }
    return METE__BEFORE_OUR_TIME;
}

/* --- a debt on its way ------------------------------------------------------------ */

/* Under a log: units at one time.  Else: a word. */
struct debt {
    bool in_log;
    uint64_t word;
    uint64_t units;
    uint64_t at_ns;
};

static uint64_t units_at(const struct debt *debt, const struct mete__rule *rule, uint64_t at_ns)
{
    if (debt->in_log) {
        return debt->at_ns >= mete__log_drop_before_ns(rule->profile.scale.period, at_ns) ? debt->units : 0;
    }
    struct mete__moment moment = mete__rule_moment((struct mete__rule *)(uintptr_t)rule, debt->word, at_ns);
    return mete__owed_units(&rule->profile, debt->word, &moment);
}

/* One change: settled under the rule before it, owed under the one after. */
static void step(struct debt *debt, const struct mete__history *history, uint64_t index, uint64_t now_ns)
{
    struct mete__rule *from = history->changes[index].before;
    struct mete__rule *to = mete__history_after(history, index);
    uint64_t at_ns = mete__history_settled_ns(history, index, now_ns);
    bool is_unseen = debt->in_log ? debt->units == 0 && debt->at_ns == 0 : debt->word == 0;
    if (is_unseen) {
        debt->in_log = is_log(to);
        return;
    }
    if (!is_log(from) && !is_log(to)) {
        debt->word = mete__rule_convert(from, to, debt->word, at_ns);
        return;
    }
    uint64_t units = units_at(debt, from, at_ns);
    if (!is_log(to)) {
        struct mete__moment moment = mete__rule_moment(to, 0, at_ns);
        /* Of a ring that owes nothing any more, nothing is moved: it may be one that was reset. */
        *debt = (struct debt){.word = units > 0 ? mete__word_of_owed(&to->profile, units, &moment) : 0};
    } else if (is_log(from)) {
        debt->units = units;
    } else {
        *debt = (struct debt){.in_log = true, .units = mete__min_u64(units, to->profile.capacity), .at_ns = at_ns};
    }
}

static void walk(struct debt *debt, const struct mete__history *history, uint64_t index, uint64_t now_ns)
{
    for (uint64_t i = index; i < history->count; i++) {
        step(debt, history, i, now_ns);
    }
}

/* --- where it starts -------------------------------------------------------------- */

/* The key's ring in the newest log it has one in. */
static bool find_ring(const mete_limiter *limiter, struct mete__hash hash, struct mete__log_view *view)
{
    struct mete__log *log = mete__load_pointer_acquire(&limiter->store->logs);
    for (; log != NULL; log = log->next) {
        struct mete__slot slot;
        if (log->name_hash != limiter->name_hash) {
            continue;
        }
        slot = mete__table_locate(&log->table, hash);
        if (mete__log_look(log, &slot, view)) {
            return true;
        }
    }
    return false;
}

/* The first change from `index` on that leads away from logs; count when none does. */
static uint64_t end_of_logs(const struct mete__history *history, uint64_t index)
{
    while (index < history->count && is_log(mete__history_after(history, index))) {
        index++;
    }
    return index;
}

/* Times before this were over at one of the changes index..last, which led from log to log or away. */
static uint64_t over_at_changes_ns(const struct mete__history *history, uint64_t index, uint64_t last, uint64_t last_ns,
                                   uint64_t now_ns)
{
    uint64_t drop_ns = 0;
    for (uint64_t i = index; i <= last && i < history->count; i++) {
        uint64_t at_ns = mete__max_u64(mete__history_settled_ns(history, i, now_ns), last_ns);
        uint64_t period_ns = history->changes[i].before->profile.scale.period;
        drop_ns = mete__max_u64(drop_ns, mete__log_drop_before_ns(period_ns, at_ns));
    }
    return drop_ns;
}

/* What a ring owes at the change `last`, when logs have been in force from change `index` to it. */
static uint64_t ring_owes(const mete_limiter *limiter, const struct mete__history *history, struct mete__hash hash,
                          uint64_t index, uint64_t last, uint64_t now_ns)
{
    struct mete__log_view view;
    uint64_t used;
    do {
        if (!find_ring(limiter, hash, &view)) {
            return 0;
        }
        uint64_t drop_ns = over_at_changes_ns(history, index, last, view.state.last_ns, now_ns);
        used = view.state.count - mete__ring_over(&view.ring, &view.state, drop_ns);
    } while (!mete__pair_is_same(mete__pair_load_acquire(view.ring.control), view.control));
    return used;
}

/* A ring last used before change `index`, walked to the first change away from
 * logs and through that; *index is the change after. */
static struct debt leave_ring(const mete_limiter *limiter, const struct mete__history *history, struct mete__hash hash,
                              uint64_t *index, uint64_t now_ns)
{
    uint64_t last = end_of_logs(history, *index);
    uint64_t at_ns = mete__history_settled_ns(history, last, now_ns);
    struct debt debt = {.in_log = true, .at_ns = at_ns};
    debt.units = ring_owes(limiter, history, hash, *index, last, now_ns);
    step(&debt, history, last, now_ns);
    *index = last + 1;
    return debt;
}

/* True when the place of scale a was used later than that of scale b. */
static bool is_later(const struct mete__history *history, uint64_t scale_a, uint64_t scale_b)
{
    uint64_t a = mete__history_index(history, scale_a);
    uint64_t b = mete__history_index(history, scale_b);
    return a != METE__BEFORE_OUR_TIME && (b == METE__BEFORE_OUR_TIME || a > b);
}

/* Now, also when the request's time lies a little before it. */
static uint64_t settling_ns(const mete_limiter *limiter, uint64_t asked_ns)
{
    uint64_t now_ns = mete__store_now(limiter->store);
    return now_ns > asked_ns && now_ns - asked_ns <= METE__HELD_UP_MAX_NS ? now_ns : asked_ns;
}

/*
 * A cell of a scale we do not remember: of another process, of a run before this
 * one, or of very long ago.  Its word is good until now under its own scale, so
 * that is when it is settled, straight into the rule in force.
 */
static struct debt settle_now(const mete_limiter *limiter, struct mete__rule *to, struct mete__pair cell,
                              uint64_t asked_ns)
{
    uint64_t now_ns = settling_ns(limiter, asked_ns);
    struct mete__rule from = {.limit = to->limit, .zone = to->zone};
    const struct mete__profile *profile = mete__rules_profile(limiter->store, scale_of(cell), &from.profile);
    if (profile == NULL || profile->scale.kind == METE__KIND_LOG) {
        return (struct debt){0};
    }
    from.profile = *profile;
    if (!is_log(to) && !mete__kind_is_calendar(profile->scale.kind)) {
        return (struct debt){.word = mete__rule_convert(&from, to, cell.hi, now_ns)};
    }
    /* A calendar's zone is not known, but the word says when the window ends. */
    struct mete__moment moment = {.now_ns = now_ns, .span = {now_ns, now_ns}};
    uint64_t owed = mete__min_u64(mete__owed_units(profile, cell.hi, &moment), to->profile.capacity);
    if (is_log(to)) {
        return (struct debt){.in_log = true, .units = owed, .at_ns = now_ns};
    }
    moment = mete__rule_moment(to, 0, now_ns);
    return (struct debt){.word = mete__word_of_owed(&to->profile, owed, &moment)};
}

/* The same for a ring, when the rule in force is not a log. */
static struct debt settle_ring_now(const mete_limiter *limiter, struct mete__rule *to,
                                   const struct mete__log_view *view, uint64_t now_ns)
{
    struct mete__profile scratch;
    const struct mete__profile *from = mete__rules_profile(limiter->store, scale_of(view->cell_seen), &scratch);
    if (from == NULL || from->scale.kind != METE__KIND_LOG) {
        return (struct debt){0};
    }
    uint64_t at_ns = mete__max_u64(now_ns, view->state.last_ns);
    uint64_t drop_ns = mete__log_drop_before_ns(from->scale.period, at_ns);
    uint64_t units = view->state.count - mete__ring_over(&view->ring, &view->state, drop_ns);
    struct mete__moment moment = mete__rule_moment(to, 0, now_ns);
    return (struct debt){.word = units > 0 ? mete__word_of_owed(&to->profile, units, &moment) : 0};
}

/* A cell's debt before change *index. */
static struct debt leave_cell(const mete_limiter *limiter, const struct mete__history *history, struct mete__pair cell,
                              uint64_t *index, uint64_t now_ns)
{
    *index = mete__history_index(history, cell.lo & METE__SCALE_MASK);
    if (*index != METE__BEFORE_OUR_TIME) {
        return (struct debt){.word = cell.hi};
    }
    *index = history->count;
    return settle_now(limiter, history->current, cell, now_ns);
}

static uint64_t larger_word(struct mete__rule *rule, uint64_t a, uint64_t b, uint64_t now_ns)
{
    if (rule->profile.scale.kind == METE__KIND_GCRA) {
        return mete__max_u64(a, b);
    }
    struct mete__moment a_at = mete__rule_moment(rule, a, now_ns);
    struct mete__moment b_at = mete__rule_moment(rule, b, now_ns);
    return mete__step_rank(&rule->profile, b, &b_at) > mete__step_rank(&rule->profile, a, &a_at) ? b : a;
}

/*
 * A cell of the scale in force under an older id: either it was not used since that
 * scale was in force before, or another limiter of this name, which did not go through
 * the changes, has just written it.  That cannot be told; the larger debt counts.
 */
static uint64_t larger_debt(const mete_limiter *limiter, const struct mete__history *history, struct mete__pair cell,
                            uint64_t walked, uint64_t now_ns)
{
    struct mete__rule *to = history->current;
    struct mete__profile scratch;
    uint64_t index = mete__history_index(history, scale_of(cell));
    if (index < history->count && strcmp(history->changes[index].before->limit.time_zone, to->limit.time_zone) != 0) {
        return walked; /* other windows */
    }
    const struct mete__profile *from = mete__rules_profile(limiter->store, scale_of(cell), &scratch);
    if (from == NULL || !mete__scale_is_same(&from->scale, &to->profile.scale)) {
        return walked;
    }
    if (from->scale.kind == METE__KIND_GCRA) {
        return mete__max_u64(walked, cell.hi);
    }
    struct mete__moment walked_at = mete__rule_moment(to, walked, now_ns);
    struct mete__moment kept_at = mete__rule_moment(to, cell.hi, now_ns);
    bool is_kept_larger =
        mete__step_rank(&to->profile, cell.hi, &kept_at) > mete__step_rank(&to->profile, walked, &walked_at);
    return is_kept_larger ? cell.hi : walked;
}

uint64_t mete__inherited_word(const mete_limiter *limiter, const struct mete__history *history,
                              const struct mete__pair *cell, struct mete__hash hash, uint64_t now_ns)
{
    struct debt debt = {0};
    struct mete__log_view view;
    uint64_t index = 0;
    if (cell != NULL) {
        debt = leave_cell(limiter, history, *cell, &index, now_ns);
    }
    if (find_ring(limiter, hash, &view)) {
        uint64_t ring_scale = scale_of(view.cell_seen);
        if (is_later(history, ring_scale, cell != NULL ? scale_of(*cell) : 0)) {
            index = mete__history_index(history, ring_scale);
            debt = leave_ring(limiter, history, hash, &index, now_ns);
            walk(&debt, history, index, now_ns);
            return debt.word;
        }
        if (cell == NULL || !is_later(history, scale_of(*cell), ring_scale)) {
            /* Neither is remembered: the larger debt counts. */
            struct debt of_ring = settle_ring_now(limiter, history->current, &view, now_ns);
            debt.word = larger_word(history->current, debt.word, of_ring.word, now_ns);
            index = history->count;
        }
    }
    walk(&debt, history, index, now_ns);
    return cell != NULL ? larger_debt(limiter, history, *cell, debt.word, now_ns) : debt.word;
}

bool mete__is_settled_now(const mete_limiter *limiter, const struct mete__history *history, struct mete__pair cell)
{
    struct mete__profile scratch;
    const struct mete__scale *to = &history->current->profile.scale;
    if (mete__history_index(history, scale_of(cell)) != METE__BEFORE_OUR_TIME) {
        return false;
    }
    const struct mete__profile *from = mete__rules_profile(limiter->store, scale_of(cell), &scratch);
    if (from != NULL && mete__scale_is_same(&from->scale, to)) {
        return false; /* the same rate under another id: nothing changes */
    }
    /* Nor when only the count of a window differs.  A cut is not written, since another process
     * may decide the key by the larger count: it would find units that were given back. */
    return from == NULL || to->kind == METE__KIND_GCRA || from->scale.kind != to->kind ||
           from->scale.period != to->period;
}

/* --- to a ring -------------------------------------------------------------------- */

static bool find_cell(const struct mete__inheritance *heir, struct mete__pair *seen)
{
    struct mete__slot slot = mete__table_locate(&heir->limiter->table, heir->hash);
    return mete__table_find(&heir->limiter->table, &slot, seen) != NULL;
}

/* ring is one the key had before, or NULL: time does not go back for it. */
static void bring_units(struct mete__inheritance *heir, struct debt debt, uint64_t index,
                        const struct mete__log_view *ring)
{
    walk(&debt, heir->history, index, heir->now_ns);
    heir->what = METE__HEIR_UNITS;
    heir->units = debt.units;
    heir->at_ns = mete__max_u64(debt.at_ns, ring != NULL ? ring->state.last_ns : 0);
}

void mete__inheritance_find(struct mete__inheritance *heir, const struct mete__log_view *own, uint64_t now_ns)
{
    const struct mete__history *history = heir->history;
    struct mete__log_view view;
    struct mete__pair cell;
    uint64_t index;
    heir->what = own != NULL ? METE__HEIR_RING : METE__HEIR_NOTHING;
    heir->units = 0;
    heir->now_ns = now_ns;
    if (own != NULL && history->count == 0) {
        return;
    }
    const struct mete__log_view *ring = own;
    if (ring == NULL && find_ring(heir->limiter, heir->hash, &view)) {
        ring = &view;
    }
    uint64_t ring_scale = ring != NULL ? scale_of(ring->cell_seen) : 0;
    if (find_cell(heir, &cell) && (ring == NULL || is_later(history, scale_of(cell), ring_scale))) {
        struct debt debt = leave_cell(heir->limiter, history, cell, &index, now_ns);
        bring_units(heir, debt, index, ring);
        if (heir->units == 0 && ring == NULL) {
            heir->what = METE__HEIR_NOTHING;
        }
        return;
    }
    if (ring == NULL) {
        return;
    }
    heir->what = METE__HEIR_RING;
    index = mete__history_index(history, ring_scale);
    if (index != METE__BEFORE_OUR_TIME && end_of_logs(history, index) < history->count) {
        struct debt debt = leave_ring(heir->limiter, history, heir->hash, &index, now_ns);
        bring_units(heir, debt, index, ring);
    }
}

/* Times of an older ring are copied.  Raising is harmless even when the claim
 * comes to nothing: last_ns, which no time is above, goes up with it. */
static void copy_ring(const struct mete__inheritance *heir, const struct mete__ring *ring,
                      struct mete__ring_state *state, uint64_t last_ns)
{
    struct mete__log_view view;
    while (find_ring(heir->limiter, heir->hash, &view)) {
        uint64_t index = mete__history_index(heir->history, scale_of(view.cell_seen));
        uint64_t drop_ns =
            over_at_changes_ns(heir->history, index, heir->history->count, view.state.last_ns, heir->now_ns);
        uint64_t over = mete__ring_over(&view.ring, &view.state, drop_ns);
        state->count = mete__min_u64(view.state.count - over, ring->units);
        state->last_ns = mete__max_u64(last_ns, view.state.last_ns);
        state->booked = view.state.booked;
        for (uint64_t i = 0; i < state->count; i++) {
            mete__ring_raise(ring, i, mete__ring_time(&view.ring, &view.state, over + i));
        }
        if (mete__pair_is_same(mete__pair_load_acquire(view.ring.control), view.control)) {
            return;
        }
    }
}

struct mete__ring_state mete__inheritance_begin(const struct mete__inheritance *heir, const struct mete__ring *ring,
                                                struct mete__pair control, uint64_t gen)
{
    struct mete__ring_state old = mete__ring_unpack(control);
    struct mete__ring_state state = {.gen = gen, .last_ns = old.last_ns};
    if (heir->what == METE__HEIR_UNITS) {
        state.count = mete__min_u64(heir->units, ring->units);
        state.pending = state.count;
        state.last_ns = mete__max_u64(old.last_ns, heir->at_ns);
    } else if (heir->what == METE__HEIR_RING) {
        copy_ring(heir, ring, &state, old.last_ns);
    }
    return state;
}

static uint64_t rank(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                     uint64_t *idle_at_ns)
{
    struct mete__judge *own = &((struct mete__inheritance *)context)->log->judge;
    return own->rank(own->context, address, cell, now_ns, idle_at_ns);
}

static bool retire(void *context, const struct mete__pair *address, struct mete__pair cell, uint64_t now_ns,
                   uint64_t rank_max)
{
    struct mete__judge *own = &((struct mete__inheritance *)context)->log->judge;
    return own->retire(own->context, address, cell, now_ns, rank_max);
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
        uint64_t gen = (mete__ring_unpack(control).gen + 1) & METE__GEN_MASK;
        struct mete__ring_state state = mete__inheritance_begin(heir, &ring, control, gen);
        if (mete__pair_cas_full(ring.control, &control, mete__ring_pack(&state))) {
            return gen;
        }
    }
}

struct mete__judge mete__inheritance_judge(struct mete__inheritance *heir)
{
    return (struct mete__judge){.context = heir, .rank = rank, .retire = retire, .word = word};
}

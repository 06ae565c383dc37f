/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decision on a sliding log.  Linearization: a charge or a refund at the
 * swap of the ring's control; a denial at the second load of the control, which
 * shows that the times read in between belong to it.
 */
#include "algorithm/convert.h"
#include "algorithm/sliding_log.h"
#include "limiter/decide.h"
#include "limiter/inherit.h"

static bool is_giving_back(const struct mete__ask *ask)
{
    return ask->op == METE__OP_REFUND || ask->op == METE__OP_UNDO;
}

/* The key's units as judged at a moment. */
struct judged {
    uint64_t at_ns;    /* now, or last when now lies before it */
    uint64_t ahead_ns; /* a booked last that has not come yet */
    uint64_t over;     /* the oldest units that count no more */
    uint64_t used;
};

/* A ring that was not used since logs changed to other periods: what was over at a
 * change stays over. */
static uint64_t settled_drop_ns(const struct mete__log_view *view, const struct mete__history *history, uint64_t now_ns)
{
    uint64_t drop_ns = 0;
    uint64_t index = mete__history_index(history, view->cell_seen.lo & METE__SCALE_MASK);
    for (uint64_t i = index; i < history->count; i++) {
        uint64_t settled_ns = mete__max_u64(mete__history_settled_ns(history, i, now_ns), view->state.last_ns);
        uint64_t period_ns = history->changes[i].before->profile.scale.period;
        drop_ns = mete__max_u64(drop_ns, mete__log_drop_before_ns(period_ns, settled_ns));
    }
    return drop_ns;
}

/* Units before this time are over. */
static uint64_t drop_before_ns(const struct mete__log_view *view, const struct mete__history *history, uint64_t now_ns)
{
    return mete__max_u64(settled_drop_ns(view, history, now_ns),
                         mete__log_drop_before_ns(history->current->profile.scale.period, now_ns));
}

static struct judged judge(const struct mete__log_view *view, const struct mete__history *history, uint64_t now_ns)
{
    struct judged judged = {.at_ns = mete__max_u64(now_ns, view->state.last_ns)};
    judged.ahead_ns = view->state.booked ? judged.at_ns - now_ns : 0;
    judged.over = mete__ring_over(&view->ring, &view->state, drop_before_ns(view, history, judged.at_ns));
    judged.used = view->state.count - judged.over;
    return judged;
}

static uint64_t time_of(const struct mete__log_view *view, const struct judged *judged, uint64_t i)
{
    return mete__ring_time(&view->ring, &view->state, judged->over + i);
}

/* From the judged moment until cost fits, plus the time to that moment. */
static uint64_t wait_for(const struct mete__log_view *view, const struct judged *judged,
                         const struct mete__profile *profile, uint64_t cost)
{
    uint64_t excess = mete__log_excess(profile, judged->used, cost);
    if (excess == 0) {
        return judged->ahead_ns;
    }
    return judged->ahead_ns + time_of(view, judged, excess - 1) + profile->scale.period - judged->at_ns;
}

static void describe(const struct mete__log_view *view, const struct judged *judged,
                     const struct mete__profile *profile, struct mete_decision *out)
{
    out->limit = profile->capacity;
    out->remaining = judged->ahead_ns > 0 ? 0 : mete__sub_floor0_u64(profile->capacity, judged->used);
    if (judged->used == 0) {
        out->reset_after_ns = judged->ahead_ns;
    } else {
        uint64_t newest_ns = time_of(view, judged, judged->used - 1);
        out->reset_after_ns = judged->ahead_ns + newest_ns + profile->scale.period - judged->at_ns;
    }
}

/* The ring is now up to date with the rule in force; when this is lost, what
 * is over is found over once more. */
static void mark_used(struct mete__log_view *view, const struct mete__history *history)
{
    struct mete__pair next = {(view->cell_seen.lo & ~METE__SCALE_MASK) | history->current->scale_id,
                              view->cell_seen.hi};
    if (next.lo != view->cell_seen.lo && mete__pair_cas_full(view->cell, &view->cell_seen, next)) {
        view->cell_seen = next;
    }
}

/* Publishes the ring with cost units at at_ns, dropping what is over then (a
 * reservation needs their places); false: another was first. */
static bool charge(struct mete__log_view *view, const struct mete__history *history, uint64_t cost, uint64_t at_ns,
                   bool booked)
{
    struct mete__ring_state next = view->state;
    uint64_t over = mete__ring_over(&view->ring, &view->state, drop_before_ns(view, history, at_ns));
    mete__ring_help(&view->ring, &view->state);
    next.first = (view->state.first + over) % view->ring.units;
    next.count = view->state.count - over + cost;
    next.pending = cost;
    next.last_ns = at_ns;
    next.booked = booked;
    struct mete__pair expected = view->control;
    if (!mete__pair_cas_full(view->ring.control, &expected, mete__ring_pack(&next))) {
        return false;
    }
    view->state = next;
    mark_used(view, history);
    return true;
}

static bool is_unchanged(const struct mete__log_view *view)
{
    return mete__pair_is_same(mete__pair_load_acquire(view->ring.control), view->control);
}

/* Each returns false when the ring changed meanwhile: look again. */

static bool take(struct mete__log_view *view, const struct mete__history *history, const struct mete__ask *ask,
                 struct mete_decision *out)
{
    const struct mete__profile *profile = &history->current->profile;
    struct judged judged = judge(view, history, ask->now_ns);
    uint64_t longest_ns = ask->op == METE__OP_RESERVE ? mete__min_u64(ask->wait_ns_max, METE__WAIT_MAX_NS) : 0;
    uint64_t wait_ns = ask->cost > profile->capacity ? METE_NEVER : wait_for(view, &judged, profile, ask->cost);
    if (wait_ns != METE_NEVER && judged.at_ns - judged.ahead_ns + wait_ns > METE_TIME_MAX + METE__WAIT_MAX_NS) {
        wait_ns = METE_NEVER; /* a control has 62 bits for the time */
    }
    *out = (struct mete_decision){.allowed = ask->cost == 0 || wait_ns <= longest_ns};
    if (!out->allowed) {
        out->retry_after_ns = wait_ns == METE_NEVER ? METE_NEVER : wait_ns - longest_ns;
    }
    if (!out->allowed || ask->cost == 0 || ask->op == METE__OP_PEEK) {
        describe(view, &judged, profile, out);
        return is_unchanged(view);
    }
    out->wait_ns = wait_ns;
    uint64_t from_ns = judged.at_ns - judged.ahead_ns; /* what waits count from */
    if (!charge(view, history, ask->cost, from_ns + wait_ns,
                from_ns + wait_ns > ask->now_ns && (wait_ns > 0 || view->state.booked))) {
        return false;
    }
    judged = judge(view, history, ask->now_ns);
    describe(view, &judged, profile, out);
    return true;
}

static bool refund(struct mete__log_view *view, const struct mete__history *history, const struct mete__ask *ask,
                   struct mete_decision *out)
{
    struct judged judged = judge(view, history, ask->now_ns);
    uint64_t back = mete__min_u64(ask->cost, judged.used);
    if (back > 0) {
        struct mete__ring_state next = view->state;
        mete__ring_help(&view->ring, &view->state);
        /* Only what a change has settled is dropped: a time before this one may still count the rest. */
        uint64_t over = mete__ring_over(&view->ring, &view->state, settled_drop_ns(view, history, ask->now_ns));
        next.first = (view->state.first + over) % view->ring.units;
        next.count = view->state.count - over - back;
        next.pending = 0;
        struct mete__pair expected = view->control;
        if (!mete__pair_cas_full(view->ring.control, &expected, mete__ring_pack(&next))) {
            return false;
        }
        view->state = next;
        mark_used(view, history);
        judged.over -= over;
        judged.used -= back;
    }
    *out = (struct mete_decision){.allowed = true};
    describe(view, &judged, &history->current->profile, out);
    return back > 0 || is_unchanged(view);
}

/* --- a key without a ring ------------------------------------------------------- */

static void describe_unseen(const struct mete__profile *profile, const struct mete__ask *ask, struct mete_decision *out)
{
    bool fits = ask->cost <= profile->capacity || is_giving_back(ask);
    *out = (struct mete_decision){.allowed = fits,
                                  .limit = profile->capacity,
                                  .remaining = profile->capacity,
                                  .retry_after_ns = fits ? 0 : METE_NEVER};
}

static void answer_full(mete_limiter *limiter, const struct mete__profile *profile, const struct mete__ask *ask,
                        const struct mete__claim *claim, struct mete_decision *out)
{
    describe_unseen(profile, ask, out);
    if (limiter->store->on_full == METE_FULL_ALLOW) {
        mete__table_count(&limiter->table, METE__COUNT_FULL_UNTRACKED);
        out->remaining -= ask->cost;
        out->reset_after_ns = profile->scale.period;
        return;
    }
    mete__table_count(&limiter->table, METE__COUNT_FULL_DENIED);
    out->allowed = false;
    out->remaining = 0;
    out->retry_after_ns = mete__max_u64(1, mete__sub_floor0_u64(claim->idle_at_ns, claim->now_ns));
}

/*
 * Gives the key a ring, with what it brings.  True when it has one now; false
 * when *out is the answer.
 */
static bool claim_ring(struct mete__inheritance *heir, mete_limiter *limiter, struct mete__ask *ask,
                       const struct mete__slot *slot, struct mete_decision *out)
{
    const struct mete__profile *profile = &heir->history->current->profile;
    struct mete__judge judge = mete__inheritance_judge(heir);
    struct mete__claim claim = {.scale_id = heir->history->current->scale_id,
                                .may_evict = limiter->store->on_full == METE_FULL_EVICT};
    bool takes_nothing =
        ask->cost == 0 || ask->op == METE__OP_PEEK || is_giving_back(ask) || ask->cost > profile->capacity;
    mete__inheritance_find(heir, NULL, ask->now_ns);
    if (heir->what == METE__HEIR_NOTHING && takes_nothing) {
        describe_unseen(profile, ask, out);
        return false;
    }
    for (;;) {
        claim.now_ns = mete__begin_ns(limiter, ask, &heir->log->table, slot, &claim.mark_seen_ns);
        switch (mete__claim_cell(&heir->log->table, slot, &judge, &claim)) {
        case METE__CLAIM_MADE:
            ask->now_ns = claim.now_ns;
            return true;
        case METE__CLAIM_FOUND:
            return true;
        case METE__CLAIM_STALE:
            break;
        case METE__CLAIM_FULL:
            if (takes_nothing) { /* what the key brings has no place, and is forgotten */
                describe_unseen(profile, ask, out);
                return false;
            }
            answer_full(limiter, profile, ask, &claim, out);
            return false;
        }
    }
}

/*
 * Puts what the key brings in place of what a ring held that was left behind when
 * the limit was no log.  Control first, then the cell's scale; a thread killed in
 * between leaves a ring that is carried over once more.
 */
static void refresh_ring(struct mete__inheritance *heir, struct mete__log_view *view)
{
    struct mete__ring_state state = mete__inheritance_begin(heir, &view->ring, view->control, view->state.gen);
    /* The cell is looked at after the control: as long as it has the old scale,
     * nobody has charged the refreshed ring, for the scale is marked before. */
    if (!mete__pair_is_same(mete__pair_load_acquire(view->cell), view->cell_seen)) {
        return;
    }
    if (mete__pair_cas_full(view->ring.control, &view->control, mete__ring_pack(&state))) {
        mark_used(view, heir->history);
    }
}

void mete__decide_log(mete_limiter *limiter, const struct mete__history *history, struct mete__ask *ask,
                      struct mete__hash hash, struct mete_decision *out)
{
    struct mete__log *log = mete__limiter_log(limiter);
    struct mete__slot slot = mete__table_locate(&log->table, hash);
    struct mete__inheritance heir = {.limiter = limiter, .log = log, .history = history, .hash = hash};
    for (;;) {
        struct mete__log_view view;
        if (!mete__log_look(log, &slot, &view)) {
            if (!claim_ring(&heir, limiter, ask, &slot, out)) {
                return;
            }
            continue;
        }
        if (__builtin_expect((view.cell_seen.lo & METE__SCALE_MASK) != history->current->scale_id, 0)) {
            mete__inheritance_find(&heir, &view, ask->now_ns);
            if (heir.what == METE__HEIR_UNITS) {
                refresh_ring(&heir, &view);
                continue;
            }
        }
        bool is_done = is_giving_back(ask) ? refund(&view, history, ask, out) : take(&view, history, ask, out);
        if (is_done) {
            return;
        }
        mete__table_count(&limiter->table, METE__COUNT_SWAP_RETRIES);
    }
}

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

/* The key's units as judged at a moment. */
struct judged {
    uint64_t at_ns;    /* now, or last when now lies before it */
    uint64_t ahead_ns; /* a booked last that has not come yet */
    uint64_t over;     /* the oldest units that count no more */
    uint64_t used;
};

/* Logs changed to other periods: what was over at the change stays over. */
static uint64_t drop_before_ns(const struct mete__history *history, uint64_t now_ns)
{
    uint64_t drop_ns = mete__log_drop_before_ns(history->current->profile.scale.period, now_ns);
    for (uint64_t i = 0; i < history->count; i++) {
        const struct mete__rule *before = history->changes[i].before;
        if (before->profile.scale.kind == METE__KIND_LOG) {
            uint64_t settled_ns = mete__min_u64(history->changes[i].at_ns, now_ns);
            drop_ns = mete__max_u64(drop_ns, mete__log_drop_before_ns(before->profile.scale.period, settled_ns));
        }
    }
    return drop_ns;
}

static struct judged judge(const struct mete__log_view *view, const struct mete__history *history, uint64_t now_ns)
{
    struct judged judged = {.at_ns = mete__max_u64(now_ns, view->state.last_ns)};
    judged.ahead_ns = view->state.booked ? judged.at_ns - now_ns : 0;
    judged.over = mete__ring_over(&view->ring, &view->state, drop_before_ns(history, judged.at_ns));
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
    out->reset_after_ns = 0;
    if (judged->used > 0) {
        uint64_t newest_ns = time_of(view, judged, judged->used - 1);
        out->reset_after_ns = judged->ahead_ns + newest_ns + profile->scale.period - judged->at_ns;
    }
}

/* Publishes the ring after `view`, dropping what is over; false: another was first. */
static bool charge(struct mete__log_view *view, struct judged *judged, uint64_t cost, uint64_t at_ns, bool booked)
{
    struct mete__ring_state next = view->state;
    mete__ring_help(&view->ring, &view->state);
    next.first = (view->state.first + judged->over) % view->ring.units;
    next.count = judged->used + cost;
    next.pending = cost;
    next.last_ns = at_ns;
    next.booked = booked;
    struct mete__pair expected = view->control;
    if (!mete__pair_cas_full(view->ring.control, &expected, mete__ring_pack(&next))) {
        return false;
    }
    view->state = next;
    judged->over = 0;
    judged->used = next.count;
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
    if (!charge(view, &judged, ask->cost, from_ns + wait_ns,
                from_ns + wait_ns > ask->now_ns && (wait_ns > 0 || view->state.booked))) {
        return false;
    }
    judged.at_ns = mete__max_u64(ask->now_ns, view->state.last_ns);
    judged.ahead_ns = view->state.booked ? judged.at_ns - ask->now_ns : 0;
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
        next.count -= back;
        next.pending = 0;
        struct mete__pair expected = view->control;
        if (!mete__pair_cas_full(view->ring.control, &expected, mete__ring_pack(&next))) {
            return false;
        }
        view->state = next;
        view->control = mete__ring_pack(&next);
        judged.used -= back;
    }
    *out = (struct mete_decision){.allowed = true};
    describe(view, &judged, &history->current->profile, out);
    return is_unchanged(view) || back > 0;
}

/* --- a key without a ring ------------------------------------------------------- */

static void describe_unseen(const struct mete__profile *profile, const struct mete__ask *ask,
                            struct mete_decision *out)
{
    bool fits = ask->cost <= profile->capacity || ask->op == METE__OP_REFUND;
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
 * Gives the key a ring, with what it owes from before the limit was a log, or
 * was a smaller one.  True when it has one now; false when *out is the answer.
 */
static bool claim_ring(mete_limiter *limiter, struct mete__log *log, const struct mete__history *history,
                       const struct mete__ask *ask, const struct mete__slot *slot, struct mete__hash hash,
                       uint64_t *now_ns, struct mete_decision *out)
{
    struct mete__inheritance heir = {.limiter = limiter, .log = log, .history = history, .hash = hash};
    struct mete__judge judge = mete__inheritance_judge(&heir);
    struct mete__claim claim = {.scale_id = METE__LOG_SCALE_ID,
                                .may_evict = limiter->store->on_full == METE_FULL_EVICT};
    if (!mete__inheritance_find(&heir, ask->now_ns) &&
        (ask->cost == 0 || ask->op == METE__OP_PEEK || ask->op == METE__OP_REFUND ||
         ask->cost > history->current->profile.capacity)) {
        describe_unseen(&history->current->profile, ask, out);
        return false;
    }
    claim.now_ns = mete__begin_ns(limiter, ask, &log->table, slot, &claim.not_before_max_ns);
    for (;;) {
        switch (mete__claim_cell(&log->table, slot, &judge, &claim)) {
        case METE__CLAIM_MADE:
            *now_ns = claim.now_ns;
            return true;
        case METE__CLAIM_FOUND:
            return true;
        case METE__CLAIM_STALE:
            claim.now_ns = claim.not_before_ns;
            break;
        case METE__CLAIM_FULL:
            answer_full(limiter, &history->current->profile, ask, &claim, out);
            return false;
        }
    }
}

void mete__decide_log(mete_limiter *limiter, const struct mete__history *history, const struct mete__ask *asked,
                      struct mete__hash hash, struct mete_decision *out)
{
    struct mete__log *log = mete__limiter_log(limiter);
    struct mete__slot slot = mete__table_locate(&log->table, hash);
    struct mete__ask ask = *asked;
    for (;;) {
        struct mete__log_view view;
        if (!mete__log_look(log, &slot, &view)) {
            if (!claim_ring(limiter, log, history, &ask, &slot, hash, &ask.now_ns, out)) {
                return;
            }
            continue;
        }
        bool is_done = ask.op == METE__OP_REFUND ? refund(&view, history, &ask, out) : take(&view, history, &ask, out);
        if (is_done) {
            return;
        }
        mete__table_count(&limiter->table, METE__COUNT_SWAP_RETRIES);
    }
}

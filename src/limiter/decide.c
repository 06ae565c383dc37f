/* SPDX-License-Identifier: Apache-2.0 */
#include "limiter/decide.h"

#include "base/assert.h"
#include "limiter/inherit.h"

/* Calls of one clock reading may lie this far apart between threads. */
#define CLOCK_SPREAD_NS 2000u

/* By a bucket's receipt; when the rule changed in between, held since the take. */
static uint64_t undo(const struct mete__rule *rule, const struct mete__ask *ask, uint64_t word)
{
    const struct mete__ticks *ticks = &rule->profile.ticks;
    const struct mete__receipt *receipt = ask->receipt;
    uint64_t base = mete__ticks_floor(ticks, ask->now_ns);
    if (receipt->scale_id == rule->scale_id) {
        base = receipt->word - ask->cost * ticks->cost;
    }
    return mete__step_undo(&rule->profile, word, ask->cost, base, receipt->undo_now_ns);
}

static struct mete__verdict step(const struct mete__rule *rule, const struct mete__ask *ask, uint64_t word,
                                 const struct mete__moment *moment)
{
    switch (ask->op) {
    case METE__OP_RESERVE:
        return mete__step_reserve(&rule->profile, word, ask->cost, moment, ask->wait_ns_max);
    case METE__OP_UNDO:
        if (rule->profile.scale.kind == METE__KIND_GCRA) {
            return (struct mete__verdict){.next = undo(rule, ask, word), .allowed = true};
        }
        __attribute__((fallthrough)); /* windows and logs keep what was taken apart from time */
    case METE__OP_REFUND:
        return (struct mete__verdict){.next = mete__step_refund(&rule->profile, word, ask->cost, moment),
                                      .allowed = true};
    default:
        return mete__step_take(&rule->profile, word, ask->cost, moment);
    }
}

static void give_receipt(const struct mete__rule *rule, const struct mete__ask *ask, uint64_t word)
{
    if (ask->receipt != NULL && ask->op == METE__OP_TAKE) {
        ask->receipt->scale_id = rule->scale_id;
        ask->receipt->word = word;
    }
}

static void answer(const struct mete__rule *rule, const struct mete__verdict *verdict, uint64_t word,
                   const struct mete__moment *moment, struct mete_decision *out)
{
    out->allowed = verdict->allowed;
    out->wait_ns = verdict->wait_ns;
    out->retry_after_ns = verdict->retry_after_ns;
    mete__step_describe(&rule->profile, word, moment, out);
}

/* --- a key that is not in the table ------------------------------------------ */

/* Every candidate is live and may not be evicted. */
static void answer_full(mete_limiter *limiter, const struct mete__rule *rule, const struct mete__verdict *verdict,
                        const struct mete__moment *moment, uint64_t idle_at_ns, struct mete_decision *out)
{
    if (limiter->store->on_full == METE_FULL_ALLOW) {
        mete__table_count(&limiter->table, METE__COUNT_FULL_UNTRACKED);
        answer(rule, verdict, verdict->next, moment, out);
        return;
    }
    mete__table_count(&limiter->table, METE__COUNT_FULL_DENIED);
    uint64_t wait_ns = mete__max_u64(1, mete__sub_floor0_u64(idle_at_ns, moment->now_ns));
    *out = (struct mete_decision){.limit = rule->profile.capacity, .retry_after_ns = wait_ns};
}

uint64_t mete__begin_ns(mete_limiter *limiter, const struct mete__ask *ask, const struct mete__table *table,
                        const struct mete__slot *slot, uint64_t *mark_seen_ns)
{
    uint64_t now_ns = ask->now_ns;
    uint64_t not_before_ns = mete__table_not_before_ns(table, slot);
    *mark_seen_ns = not_before_ns;
    if (ask->is_own_now) {
        now_ns = mete__max_u64(now_ns, mete__on_grid_floor(mete__store_now(limiter->store), ask->grid_ns));
        not_before_ns = mete__min_u64(not_before_ns, now_ns + CLOCK_SPREAD_NS);
    }
    return mete__on_grid_ceil(mete__max_u64(now_ns, not_before_ns), ask->grid_ns);
}

/* False when the key turned up meanwhile: look again. */
static bool decide_absent(mete_limiter *limiter, const struct mete__history *history, struct mete__ask *ask,
                          const struct mete__slot *slot, struct mete__hash hash, struct mete_decision *out)
{
    struct mete__rule *rule = history->current;
    struct mete__claim claim = {.scale_id = rule->scale_id, .may_evict = limiter->store->on_full == METE_FULL_EVICT};
    for (;;) {
        claim.now_ns = mete__begin_ns(limiter, ask, &limiter->table, slot, &claim.mark_seen_ns);
        uint64_t word = 0;
        if (__builtin_expect(history->count > 0 || mete__store_has_logs(limiter->store), 0)) {
            word = mete__inherited_word(limiter, history, NULL, hash, claim.now_ns);
        }
        struct mete__moment moment = mete__rule_moment(rule, word, claim.now_ns);
        struct mete__verdict verdict = step(rule, ask, word, &moment);
        if (verdict.next == word || ask->op == METE__OP_PEEK) {
            answer(rule, &verdict, word, &moment, out);
            return true;
        }
        claim.word = verdict.next;
        switch (mete__claim_cell(&limiter->table, slot, &limiter->store->judge, &claim)) {
        case METE__CLAIM_MADE:
            give_receipt(rule, ask, verdict.next);
            answer(rule, &verdict, verdict.next, &moment, out);
            ask->now_ns = claim.now_ns;
            return true;
        case METE__CLAIM_FOUND:
            return false;
        case METE__CLAIM_STALE:
            break;
        case METE__CLAIM_FULL:
            if (ask->op != METE__OP_TAKE && ask->op != METE__OP_RESERVE) { /* gives back: to a key nobody counts */
                answer(rule, &verdict, word, &moment, out);
                return true;
            }
            answer_full(limiter, rule, &verdict, &moment, claim.idle_at_ns, out);
            return true;
        }
    }
}

/* --- a key that is ------------------------------------------------------------ */

/* False when another thread was first: look again. */
static bool decide_present(mete_limiter *limiter, const struct mete__history *history, const struct mete__ask *ask,
                           struct mete__pair *cell, struct mete__pair seen, struct mete__hash hash,
                           struct mete_decision *out)
{
    struct mete__rule *rule = history->current;
    uint64_t word = seen.hi;
    bool is_rescaled = (seen.lo & METE__SCALE_MASK) != rule->scale_id;
    if (is_rescaled) {
        word = mete__inherited_word(limiter, history, &seen, hash, ask->now_ns);
    }
    struct mete__moment moment = mete__rule_moment(rule, word, ask->now_ns);
    struct mete__verdict verdict = step(rule, ask, word, &moment);
    bool must_write = is_rescaled && mete__is_settled_now(limiter, history, seen);
    if ((verdict.next == word && !must_write) || ask->op == METE__OP_PEEK) {
        answer(rule, &verdict, word, &moment, out);
        return true;
    }
    /* A word of a scale we do not remember is settled now, not at some change; so
     * the settling must be written, also by a denial, for its waits to hold. */
    struct mete__pair next = {(seen.lo & ~METE__SCALE_MASK) | rule->scale_id, verdict.next};
    if (!mete__pair_cas_full(cell, &seen, next)) {
        mete__table_yield(&limiter->table, cell);
        return false;
    }
    give_receipt(rule, ask, verdict.next);
    if (is_rescaled) {
        mete__table_count(&limiter->table, METE__COUNT_RESCALED);
    }
    answer(rule, &verdict, verdict.next, &moment, out);
    return true;
}

void mete__decide(mete_limiter *limiter, struct mete__ask *ask, struct mete__hash hash, struct mete_decision *out)
{
    METE_DCHECK(ask->now_ns <= METE_TIME_MAX);
    struct mete__slot slot = mete__table_locate(&limiter->table, hash);
    for (;;) {
        struct mete__history history;
        struct mete__pair seen;
        /* The cell first: whoever wrote it under a newer rule has published that rule before. */
        struct mete__pair *cell = mete__table_find(&limiter->table, &slot, &seen);
        mete__limiter_history(limiter, &history);
        if (history.current->profile.scale.kind == METE__KIND_LOG) {
            mete__decide_log(limiter, &history, ask, hash, out);
            return;
        }
        bool is_done = cell != NULL ? decide_present(limiter, &history, ask, cell, seen, hash, out)
                                    : decide_absent(limiter, &history, ask, &slot, hash, out);
        if (is_done) {
            mete__round_waits(out, ask->grid_ns);
            return;
        }
    }
}

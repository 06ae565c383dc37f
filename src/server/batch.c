/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The takes of one turn of a loop, decided together: memory latency of their keys
 * overlaps, and neighbours of one limiter share a clock reading.  The order of
 * requests is kept, so the results are those of single takes.
 */
#include "server/conn.h"
#include "server/server.h"

static void count_outcome(struct mete__loop *loop, const struct mete__bound_policy *policy,
                          enum mete__count_outcome outcome)
{
    uint64_t *counts = policy != NULL ? loop->counts.policies[policy->place] : loop->counts.own;
    mete__counts_add(&counts[outcome], 1);
}

static void count_latency(struct mete__loop *loop, size_t decisions)
{
    uint64_t took_ns = uv_hrtime() - loop->turn_began_ns;
    uint64_t took_us = took_ns / 1000;
    unsigned bucket = took_us == 0 ? 0 : 64 - (unsigned)__builtin_clzll(took_us);
    bucket = bucket < METE__LATENCY_BUCKETS ? bucket : METE__LATENCY_BUCKETS - 1;
    mete__counts_add(&loop->counts.latency[bucket], decisions);
    mete__counts_add(&loop->counts.latency_sum_ns, took_ns * decisions);
}

static uint32_t place_of(const struct mete__bound_policy *policy)
{
    return policy != NULL ? policy->place : METE__TOP_OWN;
}

void mete__batch_push(struct mete__loop *loop, const struct mete__pending *pending, mete_limiter *limiter,
                      const void *key, size_t key_len, uint64_t cost)
{
    if (loop->batch_len == METE__BATCH_MAX) {
        mete__batch_flush(loop);
    }
    if (loop->batch_len == 0) {
        loop->turn_began_ns = uv_hrtime();
    }
    size_t at = loop->batch_len++;
    loop->pending[at] = *pending;
    loop->limiters[at] = limiter;
    loop->requests[at] = (struct mete_request){key, key_len, cost, METE_NOW, 0};
    pending->conn->is_pending = true;
    mete__conn_touch(pending->conn);
}

static void log_denial(struct mete__loop *loop, const struct mete__bound_policy *policy, const void *key,
                       size_t key_len, uint64_t retry_after_ns)
{
    mete__denials_log(&loop->denials, uv_now(&loop->uv), policy != NULL ? policy->policy->name : NULL, key, key_len,
                      retry_after_ns);
}

static void answer(struct mete__loop *loop, size_t i, mete_status status)
{
    const struct mete__pending *pending = &loop->pending[i];
    const struct mete_decision *decision = status == METE_OK ? &loop->decisions[i] : NULL;
    const struct mete__policy *policy = pending->policy != NULL ? pending->policy->policy : NULL;
    enum mete__count_outcome outcome;
    if (decision == NULL) {
        bool is_open = policy != NULL && (policy->on_store_failure == METE__FAIL_ALLOW || policy->dry_run);
        outcome = is_open ? METE__OUTCOME_FAILED_OPEN : METE__OUTCOME_FAILED_CLOSED;
    } else if (decision->allowed) {
        outcome = METE__OUTCOME_ALLOWED;
    } else {
        outcome = policy != NULL && policy->dry_run ? METE__OUTCOME_WOULD_DENY : METE__OUTCOME_DENIED;
    }
    count_outcome(loop, pending->policy, outcome);
    if (__builtin_expect(loop->snapshot->config->log_keys, 0) && decision != NULL && !decision->allowed) {
        log_denial(loop, pending->policy, loop->requests[i].key, loop->requests[i].key_len, decision->retry_after_ns);
    }
    mete__top_note(&loop->top, loop->batch_len, place_of(pending->policy), loop->requests[i].key,
                   loop->requests[i].key_len, decision != NULL && decision->allowed);
    pending->reply(pending->conn, pending, decision, status);
    pending->conn->is_pending = false;
}

void mete__batch_flush(struct mete__loop *loop)
{
    size_t count = loop->batch_len;
    if (count == 0) {
        return;
    }
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && loop->limiters[end] == loop->limiters[i]) {
            end++;
        }
        mete_status status = mete_take_batch(loop->limiters[i], &loop->requests[i], end - i, &loop->decisions[i]);
        for (; i < end; i++) {
            answer(loop, i, status);
        }
    }
    mete__counts_add(&loop->counts.of[METE__COUNT_BATCHES], 1);
    count_latency(loop, count);
    loop->batch_len = 0;
}

void mete__loop_count(struct mete__loop *loop, const struct mete__bound_policy *policy,
                      const struct mete__outcome *outcome, const void *key, size_t key_len)
{
    enum mete__count_outcome as = METE__OUTCOME_ALLOWED;
    if (outcome->is_failure) {
        as = outcome->allowed ? METE__OUTCOME_FAILED_OPEN : METE__OUTCOME_FAILED_CLOSED;
    } else if (outcome->would_deny) {
        as = METE__OUTCOME_WOULD_DENY;
    } else if (!outcome->allowed) {
        as = METE__OUTCOME_DENIED;
    }
    count_outcome(loop, policy, as);
    if ((as == METE__OUTCOME_DENIED || as == METE__OUTCOME_WOULD_DENY) && loop->snapshot->config->log_keys) {
        log_denial(loop, policy, key, key_len, outcome->retry_after_ns);
    }
    mete__top_add(&loop->top, place_of(policy), key, key_len, outcome->allowed && !outcome->would_deny, 1);
}

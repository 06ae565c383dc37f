/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request against one policy.  Several limits are all or nothing; what the
 * policy says about dry runs and failures is applied to the whole.
 */
#include "server/engine.h"

struct ask {
    const struct mete__policy *policy;
    const struct mete__bound_plan *plan;
    const struct mete__plan *figures;
    struct mete_request request;
};

static uint64_t cost_of(const struct ask *ask, size_t limit)
{
    const struct mete__policy_limit *described = &ask->figures->limits[limit];
    return described->has_cost && ask->request.cost > 0 ? described->cost : ask->request.cost;
}

static struct mete_request request_of(const struct ask *ask, size_t limit)
{
    struct mete_request request = ask->request;
    request.cost = cost_of(ask, limit);
    return request;
}

static mete_status take_all(const struct ask *ask, struct mete__outcome *out)
{
    struct mete_demand demands[METE__LIMITS_MAX];
    for (size_t i = 0; i < out->count; i++) {
        demands[i] = (struct mete_demand){ask->plan->limiters[i], request_of(ask, i)};
    }
    return mete_take_all(demands, out->count, out->decisions, &out->binding);
}

static mete_status each_limit(const struct ask *ask, enum mete__verb verb, struct mete__outcome *out)
{
    mete_status status = METE_OK;
    for (size_t i = 0; status == METE_OK && i < out->count; i++) {
        struct mete_request request = request_of(ask, i);
        switch (verb) {
        case METE__VERB_REFUND:
            status = mete_refund(ask->plan->limiters[i], &request, &out->decisions[i]);
            break;
        case METE__VERB_RESET:
            status = mete_reset(ask->plan->limiters[i], request.key, request.key_len);
            if (status == METE_OK) {
                request.cost = 0;
                status = mete_peek(ask->plan->limiters[i], &request, &out->decisions[i]);
            }
            break;
        default:
            status = mete_peek(ask->plan->limiters[i], &request, &out->decisions[i]);
        }
    }
    return status;
}

static mete_status decide(const struct ask *ask, enum mete__verb verb, struct mete__outcome *out)
{
    if (verb == METE__VERB_TAKE && out->count > 1) {
        return take_all(ask, out);
    }
    if (verb == METE__VERB_TAKE) {
        struct mete_request request = request_of(ask, 0);
        return mete_take(ask->plan->limiters[0], &request, &out->decisions[0]);
    }
    if (verb == METE__VERB_RESERVE) {
        struct mete_request request = request_of(ask, 0);
        return out->count == 1 ? mete_reserve(ask->plan->limiters[0], &request, &out->decisions[0]) : METE_ENOTSUP;
    }
    return each_limit(ask, verb, out);
}

/* Denied: the longest wait.  Allowed: the fewest left. */
static size_t find_binding(const struct mete__outcome *out, bool is_denied)
{
    size_t binding = 0;
    for (size_t i = 1; i < out->count; i++) {
        const struct mete_decision *best = &out->decisions[binding], *each = &out->decisions[i];
        if (is_denied ? each->retry_after_ns > best->retry_after_ns : each->remaining < best->remaining) {
            binding = i;
        }
    }
    return binding;
}

static void conclude(const struct mete__policy *policy, struct mete__outcome *out)
{
    bool is_denied = false;
    for (size_t i = 0; i < out->count; i++) {
        is_denied = is_denied || !out->decisions[i].allowed;
    }
    out->binding = find_binding(out, is_denied);
    out->would_deny = is_denied && policy->dry_run;
    out->allowed = !is_denied || policy->dry_run;
    out->retry_after_ns = is_denied ? out->decisions[out->binding].retry_after_ns : 0;
}

static void fail(const struct mete__policy *policy, mete_status status, struct mete__outcome *out)
{
    bool is_usage = status == METE_ENOTSUP || status == METE_EINVAL;
    out->status = status;
    out->is_failure = !is_usage;
    out->allowed = !is_usage && (policy->on_store_failure == METE__FAIL_ALLOW || policy->dry_run);
}

void mete__engine_decide(const struct mete__bound_policy *bound, enum mete__verb verb, const void *key, size_t key_len,
                         uint64_t cost, uint64_t wait_ns_max, struct mete__outcome *out)
{
    const struct mete__policy *policy = bound->policy;
    const struct mete__bound_plan *plan = mete__bound_plan(bound, key, key_len);
    struct ask ask = {.policy = policy,
                      .plan = plan,
                      .figures = &policy->plans[plan - bound->plans],
                      .request = {key, key_len, cost, METE_NOW, wait_ns_max}};
    out->status = METE_OK;
    out->would_deny = out->is_failure = false;
    out->count = policy->limit_count;
    out->binding = 0;
    out->retry_after_ns = 0;
    mete_status status = decide(&ask, verb, out);
    if (status != METE_OK) {
        fail(policy, status, out);
        return;
    }
    conclude(policy, out);
}

void mete__outcome_of_one(const struct mete__bound_policy *bound, const struct mete_decision *decision,
                          struct mete__outcome *out)
{
    out->status = METE_OK;
    out->is_failure = false;
    out->count = 1;
    out->decisions[0] = *decision;
    conclude(bound->policy, out);
}

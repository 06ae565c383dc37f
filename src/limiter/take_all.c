/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All or nothing over several demands.
 *
 *   look    peek at all; if one denies, that is the answer, nothing was charged
 *   take    one by one; if a rival was faster and one denies, give back in
 *           reverse what was taken
 *
 * Between a take and its give-back a rival sees too little, never too much: a
 * bucket is given back less what the time the units were held for has earned.
 * Sliding logs are taken last: a log gives back its newest units, which may be a
 * rival's that came in between; then the rival's unit counts from the time of
 * ours, earlier by less than this call's run time.  With at most one log among
 * the demands nothing of a log is ever given back.
 */
#include <string.h>

#include "limiter/request.h"

struct call {
    const struct mete_demand *demands;
    struct mete_decision *out;
    size_t n;
    struct mete__hash hashes[METE_DEMANDS_MAX];
    struct mete__ask asks[METE_DEMANDS_MAX];
    struct mete__receipt receipts[METE_DEMANDS_MAX];
    unsigned char order[METE_DEMANDS_MAX];
};

static mete_status check_all(const struct mete_demand *demands, size_t n, const struct mete_decision *out)
{
    if (demands == NULL || out == NULL || n == 0 || n > METE_DEMANDS_MAX) {
        return METE_EINVAL;
    }
    for (size_t i = 0; i < n; i++) {
        mete_status status = mete__request_check(demands[i].limiter, &demands[i].request, out);
        if (status != METE_OK) {
            return status;
        }
    }
    return METE_OK;
}

static bool is_log(const struct mete_demand *demand)
{
    return mete__limiter_rule(demand->limiter)->profile.scale.kind == METE__KIND_LOG;
}

/* Hashes all, and one clock reading per store. */
static void prepare(struct call *call)
{
    size_t at = 0;
    for (size_t i = 0; i < call->n; i++) {
        const struct mete_demand *demand = &call->demands[i];
        mete_limiter *limiter = demand->limiter;
        call->hashes[i] = mete__hash_key(&limiter->secret, demand->request.key, demand->request.key_len);
        mete__table_locate(&limiter->table, call->hashes[i]);
        call->asks[i] = (struct mete__ask){.receipt = &call->receipts[i],
                                           .cost = demand->request.cost,
                                           .now_ns = demand->request.now_ns,
                                           .is_own_now = demand->request.now_ns == METE_NOW};
        for (size_t j = 0; call->asks[i].now_ns == METE_NOW && j < i; j++) {
            if (call->asks[j].is_own_now && call->demands[j].limiter->store == limiter->store) {
                call->asks[i].now_ns = call->asks[j].now_ns;
            }
        }
        if (call->asks[i].now_ns == METE_NOW) {
            call->asks[i].now_ns = mete__store_now(limiter->store);
        }
    }
    for (size_t i = 0; i < call->n; i++) {
        const mete_limiter *limiter = call->demands[i].limiter;
        struct mete__ask *ask = &call->asks[i];
        ask->grid_ns = ask->is_own_now ? mete__own_grid_ns(limiter, mete__limiter_rule(limiter)) : 0;
        ask->now_ns = mete__on_grid_floor(ask->now_ns, ask->grid_ns);
    }
    for (int logs = 0; logs < 2; logs++) {
        for (size_t i = 0; i < call->n; i++) {
            if (is_log(&call->demands[i]) == (logs == 1) && at < call->n) {
                call->order[at++] = (unsigned char)i;
            }
        }
    }
    while (at < call->n) { /* a limit became a log, or ceased to be one, in between */
        call->order[at] = (unsigned char)at;
        at++;
    }
}

static void decide(struct call *call, size_t i, enum mete__op op, struct mete_decision *out)
{
    call->asks[i].op = op;
    mete__decide(call->demands[i].limiter, &call->asks[i], call->hashes[i], out);
}

/* At the time it is by now: our clock's, whatever time the demand was for. */
static void give_back(struct call *call, size_t i)
{
    struct mete_decision unused;
    uint64_t now_ns = mete__store_now(call->demands[i].limiter->store);
    call->receipts[i].undo_now_ns = mete__max_u64(now_ns, call->asks[i].now_ns);
    decide(call, i, METE__OP_UNDO, &unused);
}

static bool look(struct call *call, struct mete_decision *seen)
{
    bool all = true;
    for (size_t i = 0; i < call->n; i++) {
        decide(call, i, METE__OP_PEEK, &seen[i]);
        all = all && seen[i].allowed;
    }
    return all;
}

/* A new key may have to begin later than the call: the rest goes on from there. */
static void go_on_from(struct call *call, size_t from)
{
    for (size_t i = 0; i < call->n; i++) {
        bool is_same_clock = call->demands[i].limiter->store == call->demands[from].limiter->store;
        if (is_same_clock && call->asks[i].is_own_now && call->asks[from].is_own_now) {
            uint64_t now_ns = mete__max_u64(call->asks[i].now_ns, call->asks[from].now_ns);
            call->asks[i].now_ns = mete__on_grid_ceil(now_ns, call->asks[i].grid_ns);
        }
    }
}

static bool take(struct call *call, struct mete_decision *taken)
{
    for (size_t k = 0; k < call->n; k++) {
        size_t i = call->order[k];
        decide(call, i, METE__OP_TAKE, &taken[i]);
        if (taken[i].allowed) {
            go_on_from(call, i);
            continue;
        }
        while (k-- > 0) {
            give_back(call, call->order[k]);
        }
        return false;
    }
    return true;
}

static size_t find_binding(const struct mete_decision *out, size_t n, bool all)
{
    size_t binding = 0;
    for (size_t i = 1; i < n; i++) {
        bool is_tighter =
            all ? out[i].remaining < out[binding].remaining : out[i].retry_after_ns > out[binding].retry_after_ns;
        binding = is_tighter ? i : binding;
    }
    return binding;
}

mete_status mete_take_all(const struct mete_demand *demands, size_t n, struct mete_decision *out, size_t *binding)
{
    mete_status status = check_all(demands, n, out);
    if (status != METE_OK) {
        return status;
    }
    struct call call = {.demands = demands, .out = out, .n = n};
    struct mete_decision decisions[METE_DEMANDS_MAX];
    prepare(&call);
    bool all = look(&call, decisions);
    if (all && !take(&call, decisions)) {
        /* The one that failed keeps its denial; the others say how they stand now. */
        all = false;
        for (size_t i = 0; i < n; i++) {
            if (decisions[i].allowed) {
                decide(&call, i, METE__OP_PEEK, &decisions[i]);
            }
        }
    }
    memcpy(out, decisions, n * sizeof *out);
    if (binding != NULL) {
        *binding = find_binding(out, n, all);
    }
    return METE_OK;
}

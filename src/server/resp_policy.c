/* SPDX-License-Identifier: Apache-2.0 */
/* METE.TAKE and the other commands over policies. */
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "server/places.h"
#include "server/resp_commands.h"
#include "server/server.h"

#define NS_PER_MS UINT64_C(1000000)
#define FIELDS 9u
#define TOP_MAX 1000u
#define TOP_DEFAULT 10u
#define LIMIT_TEXT_SIZE 256u

/* --- the reply -------------------------------------------------------------------------- */

static int64_t shown(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int64_t ms_up(uint64_t ns)
{
    return ns == METE_NEVER ? -1 : (int64_t)(mete__div_ceil_u64(ns, NS_PER_MS));
}

static void field_i64(struct mete__out *out, const char *name, int64_t value)
{
    mete__resp_text(out, name);
    mete__resp_i64(out, value);
}

static void field_bool(struct mete__out *out, const char *name, bool value, int version)
{
    mete__resp_text(out, name);
    mete__resp_bool(out, value, version);
}

/* The figures are those of the limit to name first. */
static void reply_outcome(struct mete__conn *conn, const struct mete__bound_policy *bound,
                          const struct mete__outcome *outcome, int version)
{
    static const struct mete_decision none;
    struct mete__out *out = &conn->out;
    const struct mete_decision *binding = outcome->status == METE_OK ? &outcome->decisions[outcome->binding] : &none;
    mete__resp_map(out, FIELDS, version);
    field_bool(out, "allowed", outcome->allowed, version);
    field_i64(out, "limit", outcome->status == METE_OK ? shown(binding->limit) : 1);
    field_i64(out, "remaining", shown(binding->remaining));
    field_i64(out, "retry_after_ms", outcome->allowed ? 0 : ms_up(outcome->retry_after_ns));
    field_i64(out, "reset_after_ms", ms_up(binding->reset_after_ns));
    field_i64(out, "wait_ms", ms_up(binding->wait_ns));
    mete__resp_text(out, "name");
    mete__resp_text(out, bound->policy->plans[0].limits[outcome->binding].name);
    field_bool(out, "would_deny", outcome->would_deny, version);
    field_bool(out, "failed", outcome->is_failure, version);
}

static void reply_batched(struct mete__conn *conn, const struct mete__pending *pending,
                          const struct mete_decision *decision, mete_status status)
{
    struct mete__outcome outcome = {.status = status};
    if (decision != NULL) {
        mete__outcome_of_one(pending->policy, decision, &outcome);
    } else {
        const struct mete__policy *policy = pending->policy->policy;
        outcome.is_failure = true;
        outcome.allowed = policy->on_store_failure == METE__FAIL_ALLOW || policy->dry_run;
    }
    reply_outcome(conn, pending->policy, &outcome, (int)pending->tag);
}

/* --- the request ------------------------------------------------------------------------ */

struct ask {
    const struct mete__bound_policy *bound;
    struct mete__span key;
    uint64_t cost;
    uint64_t wait_ns_max;
    bool has_cost; /* given, and so may not be again */
    bool has_wait;
};

static const struct mete__bound_policy *find_policy(struct mete__conn *conn, struct mete__span name)
{
    const struct mete__bound_policy *bound = mete__snapshot_find(conn->loop->snapshot, name.at, name.len);
    if (bound == NULL) {
        mete__conn_settle(conn);
        char shown_name[METE__NAME_MAX + 1];
        mete__resp_show(name, shown_name, sizeof shown_name);
        mete__resp_error(&conn->out, "ERR policy: there is none of the name '%s'", shown_name);
        return NULL;
    }
    if (!mete__access_policy(conn->user, bound->policy->index)) {
        mete__conn_settle(conn);
        mete__resp_error(&conn->out, "NOPERM user '%s' may not use policy '%s'", conn->user->name, bound->policy->name);
        return NULL;
    }
    return bound;
}

static bool read_option(struct mete__conn *conn, struct mete__span name, struct mete__span value, struct ask *ask)
{
    int64_t number;
    bool is_cost = mete__resp_is(name, "COST");
    bool is_again = is_cost ? ask->has_cost : ask->has_wait;
    if ((!is_cost && !mete__resp_is(name, "WAIT")) || is_again) {
        mete__conn_settle(conn);
        mete__resp_error(&conn->out, "ERR syntax error: options are COST n and WAIT ms, each once");
        return false;
    }
    if (!mete__resp_integer(value, &number) || number < 0 || (!is_cost && number > (int64_t)(INT64_MAX / NS_PER_MS))) {
        mete__conn_settle(conn);
        mete__resp_error(&conn->out, "ERR %s: not a whole number from 0 up", is_cost ? "COST" : "WAIT");
        return false;
    }
    if (is_cost) {
        ask->cost = (uint64_t)number;
        ask->has_cost = true;
    } else {
        ask->wait_ns_max = (uint64_t)number * NS_PER_MS;
        ask->has_wait = true;
    }
    return true;
}

static bool read_ask(struct mete__conn *conn, const struct mete__resp_request *request, struct ask *ask)
{
    *ask = (struct ask){.key = request->args[2], .bound = find_policy(conn, request->args[1])};
    if (ask->bound == NULL) {
        return false;
    }
    ask->cost = ask->bound->policy->cost;
    if (request->count % 2 == 0 || request->count > 7) {
        mete__conn_settle(conn);
        mete__resp_error(&conn->out, "ERR syntax error: options are COST n and WAIT ms, each once");
        return false;
    }
    for (size_t i = 3; i < request->count; i += 2) {
        if (!read_option(conn, request->args[i], request->args[i + 1], ask)) {
            return false;
        }
    }
    return true;
}

/* --- commands --------------------------------------------------------------------------- */

static void decide_now(struct mete__conn *conn, const struct ask *ask, enum mete__verb verb, bool is_counted)
{
    struct mete__outcome outcome;
    mete__conn_settle(conn);
    mete__engine_decide(ask->bound, verb, ask->key.at, ask->key.len, ask->cost, ask->wait_ns_max, &outcome);
    if (outcome.status == METE_ENOTSUP) {
        mete__resp_error(&conn->out, "ERR policy '%s' has several limits: only one can be reserved from",
                         ask->bound->policy->name);
        return;
    }
    if (is_counted) {
        mete__loop_count(conn->loop, ask->bound, &outcome, ask->key.at, ask->key.len);
    }
    reply_outcome(conn, ask->bound, &outcome, mete__resp_session(conn)->version);
}

void mete__run_take(struct mete__conn *conn, const struct mete__resp_request *request)
{
    struct ask ask;
    if (!read_ask(conn, request, &ask)) {
        return;
    }
    if (ask.bound->policy->limit_count > 1) {
        decide_now(conn, &ask, METE__VERB_TAKE, true);
        return;
    }
    struct mete__pending pending = {
        .conn = conn, .policy = ask.bound, .reply = reply_batched, .tag = (uint32_t)mete__resp_session(conn)->version};
    const struct mete__bound_plan *plan = mete__bound_plan(ask.bound, ask.key.at, ask.key.len);
    mete__batch_push(conn->loop, &pending, plan->limiters[0], ask.key.at, ask.key.len,
                     mete__bound_cost(ask.bound, plan, ask.cost));
}

static void run_now(struct mete__conn *conn, const struct mete__resp_request *request, enum mete__verb verb,
                    bool is_counted)
{
    struct ask ask;
    if (read_ask(conn, request, &ask)) {
        decide_now(conn, &ask, verb, is_counted);
    }
}

void mete__run_peek(struct mete__conn *conn, const struct mete__resp_request *request)
{
    run_now(conn, request, METE__VERB_PEEK, false);
}

void mete__run_reserve(struct mete__conn *conn, const struct mete__resp_request *request)
{
    run_now(conn, request, METE__VERB_RESERVE, true);
}

void mete__run_refund(struct mete__conn *conn, const struct mete__resp_request *request)
{
    run_now(conn, request, METE__VERB_REFUND, false);
}

void mete__run_reset_key(struct mete__conn *conn, const struct mete__resp_request *request)
{
    run_now(conn, request, METE__VERB_RESET, false);
}

static void describe(struct mete__out *out, const struct mete__policy *policy, int version)
{
    mete__resp_map(out, 4, version);
    mete__resp_text(out, "name");
    mete__resp_text(out, policy->name);
    field_i64(out, "cost", shown(policy->cost));
    field_bool(out, "dry_run", policy->dry_run, version);
    mete__resp_text(out, "limits");
    mete__resp_array(out, policy->limit_count);
    for (size_t i = 0; i < policy->limit_count; i++) {
        char text[LIMIT_TEXT_SIZE];
        mete_limit_format(&policy->plans[0].limits[i].limit, text, sizeof text);
        mete__resp_array(out, 2);
        mete__resp_text(out, policy->plans[0].limits[i].name);
        mete__resp_text(out, text);
    }
}

void mete__run_policies(struct mete__conn *conn, const struct mete__resp_request *request)
{
    const struct mete__config *config = conn->loop->snapshot->config;
    size_t count = 0;
    (void)request;
    for (size_t i = 0; i < config->policy_count; i++) {
        count += mete__access_policy(conn->user, i);
    }
    mete__resp_array(&conn->out, count);
    for (size_t i = 0; i < config->policy_count; i++) {
        if (mete__access_policy(conn->user, i)) {
            describe(&conn->out, &config->policies[i], mete__resp_session(conn)->version);
        }
    }
}

/* --- METE.TOP ----------------------------------------------------------------------------- */

static bool read_top(struct mete__conn *conn, const struct mete__resp_request *request, bool *allowed, size_t *max)
{
    *allowed = false;
    *max = TOP_DEFAULT;
    for (size_t i = 1; i < request->count; i++) {
        int64_t number;
        if (mete__resp_is(request->args[i], "ALLOWED") || mete__resp_is(request->args[i], "DENIED")) {
            *allowed = mete__resp_is(request->args[i], "ALLOWED");
        } else if (mete__resp_is(request->args[i], "COUNT") && i + 1 < request->count &&
                   mete__resp_integer(request->args[i + 1], &number) && number >= 1 && number <= TOP_MAX) {
            *max = (size_t)number;
            i++;
        } else {
            mete__resp_error(&conn->out, "ERR syntax error: METE.TOP [ALLOWED | DENIED] [COUNT 1..%u]", TOP_MAX);
            return false;
        }
    }
    return true;
}

void mete__run_top(struct mete__conn *conn, const struct mete__resp_request *request)
{
    static _Thread_local struct mete__top_entry entries[TOP_MAX];
    struct mete__server *server = conn->loop->server;
    struct mete__top *tops[METE__THREADS_MAX];
    bool allowed;
    size_t max;
    if (!read_top(conn, request, &allowed, &max)) {
        return;
    }
    for (unsigned i = 0; i < server->loop_count; i++) {
        tops[i] = &server->loops[i].top;
    }
    size_t count = mete__top_merge(tops, server->loop_count, allowed, entries, max);
    mete__resp_array(&conn->out, count);
    for (size_t i = 0; i < count; i++) {
        const struct mete__top_entry *each = &entries[i];
        mete__resp_array(&conn->out, 4);
        mete__resp_text(&conn->out, each->policy_place == METE__TOP_OWN ? "" : mete__place_name(each->policy_place));
        mete__resp_bulk(&conn->out, each->key, each->key_len < METE__TOP_KEY_MAX ? each->key_len : METE__TOP_KEY_MAX);
        mete__resp_i64(&conn->out, shown(each->count));
        mete__resp_i64(&conn->out, shown(each->error));
    }
}

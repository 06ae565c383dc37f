/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/take, /v1/peek, /v1/reserve, /v1/refund and /v1/reset. */
#include <stdio.h>
#include <stdlib.h>

#include "server/http_args.h"
#include "server/http_outcome.h"

#define NS_PER_MS UINT64_C(1000000)
#define SHOWN_MAX 64
#define BATCH_OUT_MAX (1u << 20) /* 256 answers of eight limits each are below 500 KiB */

const struct mete__bound_policy *mete__http_policy(struct mete__http_call *call, struct mete__span name)
{
    const struct mete__bound_policy *bound = mete__snapshot_find(call->conn->loop->snapshot, name.at, name.len);
    if (bound == NULL) {
        mete__http_problem(call, 404, "there is no policy '%.*s'", name.len < SHOWN_MAX ? (int)name.len : SHOWN_MAX,
                           name.at);
        return NULL;
    }
    if (!mete__access_policy(call->user, bound->policy->index)) {
        mete__http_problem(call, 403, "user '%s' may not use policy '%s'", call->user->name, bound->policy->name);
        return NULL;
    }
    return bound;
}

/* --- one request ---------------------------------------------------------------------- */

static void reply_batched(struct mete__conn *conn, const struct mete__pending *pending,
                          const struct mete_decision *decision, mete_status status)
{
    const struct mete_request *request = &conn->loop->requests[pending - conn->loop->pending];
    struct mete__outcome outcome;
    const struct mete__http_decided decided = {.bound = pending->policy,
                                               .outcome = &outcome,
                                               .key = request->key,
                                               .key_len = request->key_len,
                                               .cost = request->cost};
    if (decision != NULL) {
        mete__outcome_of_one(pending->policy, decision, &outcome);
    } else {
        const struct mete__policy *policy = pending->policy->policy;
        outcome.status = status;
        outcome.is_failure = true;
        outcome.allowed = policy->on_store_failure == METE__FAIL_ALLOW || policy->dry_run;
    }
    mete__http_decided_answer(&conn->out, pending->tag, &decided);
}

static void decide_now(struct mete__http_call *call, const struct mete__bound_policy *bound, enum mete__verb verb,
                       struct mete__span key, uint64_t cost, uint64_t wait_ns_max)
{
    struct mete__outcome outcome;
    bool is_charge = verb == METE__VERB_TAKE || verb == METE__VERB_RESERVE;
    const struct mete__http_decided decided = {.bound = bound,
                                               .outcome = &outcome,
                                               .key = key.at,
                                               .key_len = key.len,
                                               .cost = is_charge || verb == METE__VERB_PEEK ? cost : 0,
                                               .is_question = verb == METE__VERB_PEEK};
    mete__conn_settle(call->conn);
    mete__engine_decide(bound, verb, key.at, key.len, cost, wait_ns_max, &outcome);
    if (outcome.status == METE_ENOTSUP) {
        mete__http_problem(call, 400, "policy '%s' has several limits: only one can be reserved from",
                           bound->policy->name);
        return;
    }
    if (is_charge) {
        mete__loop_count(call->conn->loop, bound, &outcome, key.at, key.len);
    }
    mete__http_decided_answer(&call->conn->out, call->how, &decided);
}

void mete__http_take_one(struct mete__http_call *call, const struct mete__bound_policy *bound, struct mete__span key,
                         uint64_t cost)
{
    if (bound->policy->limit_count != 1) {
        decide_now(call, bound, METE__VERB_TAKE, key, cost, 0);
        return;
    }
    const struct mete__pending pending = {
        .conn = call->conn, .policy = bound, .reply = reply_batched, .tag = call->how};
    const struct mete__bound_plan *plan = mete__bound_plan(bound, key.at, key.len);
    mete__batch_push(call->conn->loop, &pending, plan->limiters[0], key.at, key.len,
                     mete__bound_cost(bound, plan, cost));
}

static bool is_complete(struct mete__http_call *call, const struct mete__http_args *args, const char *where,
                        enum mete__verb verb)
{
    const char *missing = NULL;
    if ((args->given & METE__ARG_POLICY) == 0) {
        missing = "policy";
    } else if ((args->given & (METE__ARG_KEY | METE__ARG_KEY_BASE64)) == 0) {
        missing = "key";
    }
    if (missing != NULL) {
        mete__http_problem(call, 400, "%s%s is missing", where, missing);
        return false;
    }
    if ((args->given & METE__ARG_WAIT) != 0 && verb != METE__VERB_RESERVE) {
        mete__http_problem(call, 400, "%swait_ms_max is for /v1/reserve", where);
        return false;
    }
    if ((args->given & METE__ARG_STATUS) != 0 && where[0] != '\0') {
        mete__http_problem(call, 400, "%sdeny_status: answers of a batch have no status", where);
        return false;
    }
    return true;
}

static void run_one(struct mete__http_call *call, struct mete__http_args *args, enum mete__verb verb, bool may_batch)
{
    if (!is_complete(call, args, "", verb)) {
        return;
    }
    const struct mete__bound_policy *bound = mete__http_policy(call, args->policy);
    if (bound == NULL) {
        return;
    }
    uint64_t cost = (args->given & METE__ARG_COST) != 0 ? args->cost : bound->policy->cost;
    call->how |= (uint32_t)args->deny_status << METE__HOW_STATUS_SHIFT;
    if (verb == METE__VERB_TAKE && may_batch) {
        if (args->is_key_copied) {
            mete__http_session(call->conn)->is_scratch_pending = true;
        }
        mete__http_take_one(call, bound, args->key, cost);
    } else {
        decide_now(call, bound, verb, args->key, cost, args->wait_ms_max * NS_PER_MS);
    }
}

/* --- many in one body ------------------------------------------------------------------- */

struct item {
    struct mete__http_args args;
    const struct mete__bound_policy *bound;
};

/* All are checked before the first is decided.  The policy may be named once for all. */
static bool read_items(struct mete__http_call *call, const json_t *requests, const struct mete__http_args *shared,
                       struct item *items, char *to)
{
    size_t count = json_array_size(requests);
    for (size_t i = 0; i < count; i++) {
        char where[32];
        snprintf(where, sizeof where, "requests[%zu].", i);
        items[i] = (struct item){0};
        struct mete__http_args *args = &items[i].args;
        if (!mete__http_args_json(call, args, json_array_get(requests, i), where, &to)) {
            return false;
        }
        if ((args->given & METE__ARG_POLICY) == 0 && (shared->given & METE__ARG_POLICY) != 0) {
            args->policy = shared->policy;
            args->given |= METE__ARG_POLICY;
        }
        if (!is_complete(call, args, where, METE__VERB_TAKE)) {
            return false;
        }
        items[i].bound = mete__http_policy(call, args->policy);
        if (items[i].bound == NULL) {
            return false;
        }
    }
    return true;
}

static void decide_items(struct mete__http_call *call, const struct item *items, size_t count, struct mete__out *body)
{
    mete__conn_settle(call->conn);
    mete__out_text(body, "{\"answers\":[");
    for (size_t i = 0; i < count; i++) {
        const struct item *item = &items[i];
        const struct mete__http_args *args = &item->args;
        struct mete__outcome outcome;
        uint64_t cost = (args->given & METE__ARG_COST) != 0 ? args->cost : item->bound->policy->cost;
        const struct mete__http_decided decided = {
            .bound = item->bound, .outcome = &outcome, .key = args->key.at, .key_len = args->key.len, .cost = cost};
        mete__engine_decide(item->bound, METE__VERB_TAKE, args->key.at, args->key.len, cost, 0, &outcome);
        mete__loop_count(call->conn->loop, item->bound, &outcome, args->key.at, args->key.len);
        mete__out_text(body, i > 0 ? "," : "");
        mete__http_decided_json(body, &decided);
    }
    mete__out_text(body, "]}");
}

static void run_many(struct mete__http_call *call, const json_t *requests, const struct mete__http_args *shared,
                     char *to)
{
    size_t count = json_array_size(requests);
    if (!json_is_array(requests) || count > METE__HTTP_REQUESTS_MAX) {
        mete__http_problem(call, 400, "requests: not an array of at most %u", METE__HTTP_REQUESTS_MAX);
        return;
    }
    if ((shared->given & ~METE__ARG_POLICY) != 0) {
        mete__http_problem(call, 400, "beside requests only policy may be given");
        return;
    }
    struct item *items = malloc(count * sizeof *items + 1);
    struct mete__out body;
    mete__out_init(&body, BATCH_OUT_MAX);
    if (items == NULL) {
        mete__http_problem(call, 503, "there is no memory for this request");
        return;
    }
    /* Room for all answers first: what is taken must be answered. */
    if (!mete__out_grow(&body, count * 2048 + 64)) {
        mete__http_problem(call, 503, "there is no memory for this answer");
    } else if (read_items(call, requests, shared, items, to)) {
        decide_items(call, items, count, &body);
        mete__http_body_answer(call, 200, METE__TYPE_JSON, &body);
    }
    mete__out_clear(&body);
    free(items);
}

/* --- the verbs ---------------------------------------------------------------------------- */

static void run_json(struct mete__http_call *call, struct mete__http_args *args, enum mete__verb verb, json_t *object,
                     char *to)
{
    if (!mete__http_args_json(call, args, object, "", &to)) {
        return;
    }
    const json_t *requests = json_object_get(object, "requests");
    if (requests == NULL) {
        run_one(call, args, verb, false);
    } else if (verb == METE__VERB_TAKE) {
        run_many(call, requests, args, to);
    } else {
        mete__http_problem(call, 400, "requests are for /v1/take");
    }
}

static void run(struct mete__http_call *call, enum mete__verb verb)
{
    const struct mete__http_request *request = call->request;
    struct mete__http_args args = {0};
    char *scratch = NULL;
    struct mete__span query = call->target.query;
    bool has_base64 = query.len > 0 && memchr(query.at, '_', query.len) != NULL; /* or another name with '_' */
    if (request->body_len > 0 || has_base64 || !mete__is_decoded(query, true)) {
        /* The query decoded, the body without its framing, and keys out of base64. */
        scratch = mete__http_scratch(call, 2 * query.len + 2 * request->body_len + 1);
        if (scratch == NULL) {
            return;
        }
    }
    if (!mete__http_args_query(call, &args, false, scratch)) {
        return;
    }
    if (request->body_len == 0) {
        run_one(call, &args, verb, true);
        return;
    }
    json_t *object;
    char *behind = scratch + 2 * query.len;
    struct mete__span body = mete__http_body(request, behind);
    if (mete__http_args_body(call, body, &object) && object != NULL) {
        run_json(call, &args, verb, object, behind + request->body_len);
        json_decref(object);
    }
}

void mete__http_take(struct mete__http_call *call)
{
    run(call, METE__VERB_TAKE);
}

void mete__http_peek(struct mete__http_call *call)
{
    run(call, METE__VERB_PEEK);
}

void mete__http_reserve(struct mete__http_call *call)
{
    run(call, METE__VERB_RESERVE);
}

void mete__http_refund(struct mete__http_call *call)
{
    run(call, METE__VERB_REFUND);
}

void mete__http_reset(struct mete__http_call *call)
{
    run(call, METE__VERB_RESET);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at: health, metrics, policies, top keys, and the dashboard's files. */
#include <stdlib.h>

#include "policy/window.h"
#include "server/assets.h"
#include "server/http_args.h"
#include "server/http_outcome.h"
#include "server/metrics_text.h"
#include "server/places.h"
#include "wire/base64.h"
#include "wire/json.h"

#define PAGE_MAX (4u << 20) /* bytes of one answer: 1,024 policies of 64 plans are below */
#define TOP_MAX 1000u
#define TOP_DEFAULT 10u
#define LIMIT_TEXT_SIZE 256u

void mete__http_health(struct mete__http_call *call)
{
    struct mete__out body = {.bytes = (char[]){'o', 'k', '\n'}, .len = 3};
    mete__http_body_answer(call, 200, METE__TYPE_TEXT, &body);
}

/* 503 while draining: a load balancer sends no more. */
void mete__http_ready(struct mete__http_call *call)
{
    struct mete__loop *loop = call->conn->loop;
    if (loop->is_draining || __atomic_load_n(&loop->server->is_draining, __ATOMIC_ACQUIRE)) {
        mete__http_problem(call, 503, "the server is about to end");
        return;
    }
    mete__http_health(call);
}

void mete__http_metrics(struct mete__http_call *call)
{
    struct mete__out body;
    mete__out_init(&body, PAGE_MAX);
    mete__metrics_text(call->conn->loop->server, &body);
    mete__http_body_answer(call, 200, METE__METRICS_TYPE, &body);
    mete__out_clear(&body);
}

void mete__http_stats(struct mete__http_call *call)
{
    struct mete__out body;
    mete__out_init(&body, PAGE_MAX);
    mete__stats_json(call->conn->loop->server, &body);
    mete__http_body_answer(call, 200, METE__TYPE_JSON, &body);
    mete__out_clear(&body);
}

/* --- policies ------------------------------------------------------------------------------ */

static struct mete__span text_span(const char *text)
{
    return mete__span_of(text, strlen(text));
}

static void write_limit(struct mete__out *out, const struct mete__policy_limit *limit)
{
    char text[LIMIT_TEXT_SIZE];
    size_t len = mete_limit_format(&limit->limit, text, sizeof text);
    uint64_t capacity = limit->limit.burst > 0 ? limit->limit.burst : limit->limit.count;
    mete__out_text(out, "{\"name\":");
    mete__json_string(out, text_span(limit->name));
    mete__out_text(out, ",\"limit\":");
    mete__json_string(out, mete__span_of(text, len < sizeof text ? len : sizeof text - 1));
    mete__out_text(out, ",\"capacity\":");
    mete__out_u64(out, capacity);
    mete__out_text(out, ",\"window_s\":");
    mete__out_u64(out, mete__limit_window_s(&limit->limit, capacity));
    if (limit->has_cost) {
        mete__out_text(out, ",\"cost\":");
        mete__out_u64(out, limit->cost);
    }
    mete__out_text(out, "}");
}

static void write_plan(struct mete__out *out, const struct mete__policy *policy, size_t plan)
{
    mete__out_text(out, "\"limits\":[");
    for (size_t i = 0; i < policy->limit_count; i++) {
        mete__out_text(out, i > 0 ? "," : "");
        write_limit(out, &policy->plans[plan].limits[i]);
    }
    mete__out_text(out, "]");
}

static void write_policy(struct mete__out *out, const struct mete__policy *policy)
{
    mete__out_text(out, "{\"name\":");
    mete__json_string(out, text_span(policy->name));
    mete__out_text(out, ",\"cost\":");
    mete__out_u64(out, policy->cost);
    mete__out_text(out, policy->dry_run ? ",\"dry_run\":true" : ",\"dry_run\":false");
    mete__out_text(out, ",\"deny_status\":");
    mete__out_u64(out, policy->deny_status);
    mete__out_text(out, ",\"overrides\":");
    mete__out_u64(out, policy->override_count);
    mete__out_text(out, ",");
    write_plan(out, policy, 0);
    mete__out_text(out, ",\"plans\":[");
    for (size_t i = 1; i < policy->plan_count; i++) {
        mete__out_text(out, i > 1 ? ",{\"name\":" : "{\"name\":");
        mete__json_string(out, text_span(policy->plans[i].name));
        mete__out_text(out, ",");
        write_plan(out, policy, i);
        mete__out_text(out, "}");
    }
    mete__out_text(out, "]}");
}

void mete__http_policies(struct mete__http_call *call)
{
    const struct mete__config *config = call->conn->loop->snapshot->config;
    struct mete__out body;
    bool is_first = true;
    mete__out_init(&body, PAGE_MAX);
    mete__out_text(&body, "{\"policies\":[");
    for (size_t i = 0; i < config->policy_count; i++) {
        if (mete__access_policy(call->user, i)) {
            mete__out_text(&body, is_first ? "" : ",");
            is_first = false;
            write_policy(&body, &config->policies[i]);
        }
    }
    mete__out_text(&body, "]}");
    mete__http_body_answer(call, 200, METE__TYPE_JSON, &body);
    mete__out_clear(&body);
}

/* --- top keys -------------------------------------------------------------------------------- */

/* Keys are bytes: one that is not UTF-8 has key_base64 instead of key, as in a request. */
static void write_entry(struct mete__out *out, const struct mete__config *config, const struct mete__top_entry *entry)
{
    size_t len = entry->key_len < METE__TOP_KEY_MAX ? entry->key_len : METE__TOP_KEY_MAX;
    struct mete__span key = {(const char *)entry->key, len};
    const char *policy = entry->policy_place == METE__TOP_OWN ? NULL : mete__place_name(entry->policy_place);
    const struct mete__policy *served = policy != NULL ? mete__config_policy(config, policy, strlen(policy)) : NULL;
    mete__out_text(out, "{\"policy\":");
    if (policy != NULL) {
        mete__json_string(out, text_span(policy));
    } else {
        mete__out_text(out, "null");
    }
    if (mete__is_utf8(key)) {
        mete__out_text(out, ",\"key\":");
        mete__json_string(out, key);
    } else {
        mete__out_text(out, ",\"key_base64\":\"");
        mete__base64_write(out, key);
        mete__out_text(out, "\"");
    }
    mete__out_text(out, entry->key_len > len ? ",\"is_cut\":true" : ",\"is_cut\":false");
    mete__out_text(out, served != NULL && served->dry_run ? ",\"dry_run\":true" : ",\"dry_run\":false");
    mete__out_text(out, ",\"count\":");
    mete__out_u64(out, entry->count);
    mete__out_text(out, ",\"error\":");
    mete__out_u64(out, entry->error);
    mete__out_text(out, "}");
}

static void write_top(struct mete__http_call *call, struct mete__out *out, bool allowed, size_t max,
                      struct mete__top_entry *entries)
{
    struct mete__server *server = call->conn->loop->server;
    const struct mete__config *config = call->conn->loop->snapshot->config;
    struct mete__top *tops[METE__THREADS_MAX];
    for (unsigned i = 0; i < server->loop_count; i++) {
        tops[i] = &server->loops[i].top;
    }
    size_t count = mete__top_merge(tops, server->loop_count, allowed, entries, max);
    mete__out_text(out, allowed ? "\"allowed\":[" : "\"denied\":[");
    for (size_t i = 0; i < count; i++) {
        mete__out_text(out, i > 0 ? "," : "");
        write_entry(out, config, &entries[i]);
    }
    mete__out_text(out, "]");
}

/* ?count=N; false: answered. */
static bool read_count(struct mete__http_call *call, uint64_t *count)
{
    struct mete__span rest = call->target.query, name, value;
    *count = TOP_DEFAULT;
    while (mete__query_next(&rest, &name, &value)) {
        if (!mete__span_is(name, "count") || !mete__http_number(value, count) || *count < 1 || *count > TOP_MAX) {
            mete__http_problem(call, 400, "/v1/top takes count=N, N from 1 to %u", TOP_MAX);
            return false;
        }
    }
    return true;
}

void mete__http_top(struct mete__http_call *call)
{
    uint64_t count;
    struct mete__out body;
    if (!read_count(call, &count)) {
        return;
    }
    struct mete__top_entry *entries = malloc(count * sizeof *entries);
    if (entries == NULL) {
        mete__http_problem(call, 503, "there is no memory for this answer");
        return;
    }
    mete__conn_settle(call->conn);
    mete__out_init(&body, PAGE_MAX);
    mete__out_text(&body, "{");
    write_top(call, &body, false, count, entries);
    mete__out_text(&body, ",");
    write_top(call, &body, true, count, entries);
    mete__out_text(&body, "}");
    mete__http_body_answer(call, 200, METE__TYPE_JSON, &body);
    mete__out_clear(&body);
    free(entries);
}

/* --- the dashboard ------------------------------------------------------------------------------ */

/* RFC 9110, section 13.1.2: weak comparison, "*" for any. */
static bool has_etag(struct mete__span list, const char *etag)
{
    while (list.len > 0) {
        const char *comma = memchr(list.at, ',', list.len);
        size_t len = comma != NULL ? (size_t)(comma - list.at) : list.len;
        struct mete__span each = mete__span_trim(mete__span_of(list.at, len));
        if (each.len > 2 && memcmp(each.at, "W/", 2) == 0) {
            each = mete__span_of(each.at + 2, each.len - 2);
        }
        if (mete__span_is(each, etag) || mete__span_is(each, "*")) {
            return true;
        }
        size_t taken = comma != NULL ? len + 1 : len;
        list = mete__span_of(list.at + taken, list.len - taken);
    }
    return false;
}

void mete__http_asset(struct mete__http_call *call, const struct mete__asset *asset)
{
    struct mete__out *out = &call->conn->out;
    const struct mete__http_field *match = METE__HTTP_FIND(call->request, "if-none-match");
    bool is_known = match != NULL && has_etag(match->value, asset->etag);
    mete__conn_settle(call->conn);
    mete__answer_begin(out, call->how, is_known ? 304 : 200);
    mete__out_text(out, "ETag: ");
    mete__out_text(out, asset->etag);
    mete__out_text(out, "\r\nCache-Control: no-cache\r\nContent-Security-Policy: " METE__ASSET_POLICY
                        "\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n");
    if (is_known) {
        mete__out_text(out, "\r\n"); /* a 304 ends with its head (RFC 9112, section 6.3) */
        return;
    }
    mete__answer_end(out, call->how | METE__HOW_CACHED, asset->type, asset->bytes, asset->len);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http_outcome.h"

#include <assert.h>

#include "base/clock.h"
#include "policy/window.h"
#include "wire/fields.h"
#include "wire/json.h"
#include "wire/problem.h"

#define BODY_SIZE 4096u /* eight limits of names of 64 bytes and five numbers, and what is said of all: below 3,000 */
#define FAILED_RETRY "Retry-After: 1\r\n" /* a store that fails may be there again at any time */

static_assert((int)METE__HEADERS_DRAFT_06 == METE__FIELDS_DRAFT_06 &&
                  (int)METE__HEADERS_DRAFT_07 == METE__FIELDS_DRAFT_07 &&
                  (int)METE__HEADERS_DRAFT_10 == METE__FIELDS_DRAFT_10 &&
                  (int)METE__HEADERS_DRAFT_12 == METE__FIELDS_DRAFT_12 &&
                  (int)METE__HEADERS_X_DELTA == METE__FIELDS_X_DELTA &&
                  (int)METE__HEADERS_X_EPOCH == METE__FIELDS_X_EPOCH,
              "wire knows no configuration, and numbers the styles as it does");
static_assert(METE_NEVER == UINT64_MAX, "wire says never as the library does");

/* --- one limit's figures -------------------------------------------------------------- */

/* See next_unit_ns of wire/fields.h. */
static uint64_t next_unit_ns(const struct mete_decision *decision, mete_limiter *limiter, const void *key,
                             size_t key_len, uint64_t cost)
{
    if (decision->remaining >= decision->limit) {
        return METE__FIELDS_UNKNOWN;
    }
    if (!decision->allowed && cost == decision->remaining + 1) {
        return decision->retry_after_ns;
    }
    struct mete_decision next;
    struct mete_request request = {key, key_len, decision->remaining + 1, METE_NOW, 0};
    if (mete_peek(limiter, &request, &next) != METE_OK || next.retry_after_ns == METE_NEVER) {
        return METE__FIELDS_UNKNOWN;
    }
    return next.allowed ? 1 : next.retry_after_ns;
}

/* The limits of a decision as the fields want them. */
static void describe(const struct mete__http_decided *decided, bool needs_next, struct mete__fields_limit *to)
{
    const struct mete__bound_plan *plan = mete__bound_plan(decided->bound, decided->key, decided->key_len);
    const struct mete__plan *figures = &decided->bound->policy->plans[plan - decided->bound->plans];
    for (size_t i = 0; i < decided->outcome->count; i++) {
        const struct mete_decision *decision = &decided->outcome->decisions[i];
        const struct mete__policy_limit *limit = &figures->limits[i];
        uint64_t cost = limit->has_cost && decided->cost > 0 ? limit->cost : decided->cost;
        to[i].name = mete__span_of(limit->name, strlen(limit->name));
        to[i].capacity = decision->limit;
        to[i].window_s = mete__limit_window_s(&limit->limit, decision->limit);
        to[i].remaining = decision->remaining;
        to[i].retry_after_ns = decision->allowed ? 0 : decision->retry_after_ns;
        to[i].reset_after_ns = decision->reset_after_ns;
        to[i].next_unit_ns = METE__FIELDS_UNKNOWN;
        to[i].partition = mete__span_of(NULL, 0);
        if (needs_next) {
            to[i].next_unit_ns = next_unit_ns(decision, plan->limiters[i], decided->key, decided->key_len, cost);
        }
    }
}

/* --- JSON ------------------------------------------------------------------------------- */

static void write_figures(struct mete__out *out, const struct mete_decision *decision, uint64_t retry_after_ns)
{
    mete__out_text(out, "\"limit\":");
    mete__out_u64(out, decision->limit);
    mete__out_text(out, ",\"remaining\":");
    mete__out_u64(out, decision->remaining);
    mete__out_text(out, ",\"retry_after_ms\":");
    mete__json_ms(out, retry_after_ns);
    mete__out_text(out, ",\"reset_after_ms\":");
    mete__json_ms(out, decision->reset_after_ns);
}

/* Names are [A-Za-z0-9_.-]: nothing to escape. */
static void write_limits(struct mete__out *out, const struct mete__http_decided *decided)
{
    const struct mete__outcome *outcome = decided->outcome;
    mete__out_text(out, ",\"limits\":[");
    for (size_t i = 0; i < outcome->count; i++) {
        const struct mete_decision *decision = &outcome->decisions[i];
        mete__out_text(out, i > 0 ? ",{\"name\":\"" : "{\"name\":\"");
        mete__out_text(out, decided->bound->policy->plans[0].limits[i].name);
        mete__out_text(out, decision->allowed ? "\",\"allowed\":true," : "\",\"allowed\":false,");
        write_figures(out, decision, decision->allowed ? 0 : decision->retry_after_ns);
        mete__out_text(out, "}");
    }
    mete__out_text(out, "]");
}

/* The figures at the top are those of the limit to name first. */
static void write_members(struct mete__out *out, const struct mete__http_decided *decided)
{
    const struct mete__outcome *outcome = decided->outcome;
    mete__out_text(out, outcome->allowed ? "\"allowed\":true" : "\"allowed\":false");
    if (outcome->status != METE_OK) {
        mete__out_text(out, outcome->is_failure ? ",\"failed\":true" : "");
        return;
    }
    const struct mete_decision *binding = &outcome->decisions[outcome->binding];
    mete__out_text(out, ",");
    write_figures(out, binding, outcome->allowed ? 0 : outcome->retry_after_ns);
    if (binding->wait_ns > 0) {
        mete__out_text(out, ",\"wait_ms\":");
        mete__json_ms(out, binding->wait_ns);
    }
    if (outcome->would_deny) {
        mete__out_text(out, ",\"would_deny\":true");
    }
    write_limits(out, decided);
}

void mete__http_decided_json(struct mete__out *out, const struct mete__http_decided *decided)
{
    mete__out_text(out, "{");
    write_members(out, decided);
    mete__out_text(out, "}");
}

/* --- answers ---------------------------------------------------------------------------- */

static unsigned deny_status(uint32_t how, const struct mete__policy *policy)
{
    uint32_t asked = how >> METE__HOW_STATUS_SHIFT;
    return asked != 0 ? asked : policy->deny_status;
}

/* The names that stand in RateLimit, of those that deny. */
static size_t find_violated(const struct mete__http_decided *decided, struct mete__span *names)
{
    size_t count = 0;
    for (size_t i = 0; i < decided->outcome->count; i++) {
        const char *name = decided->bound->policy->plans[0].limits[i].name;
        if (!decided->outcome->decisions[i].allowed) {
            names[count++] = mete__span_of(name, strlen(name));
        }
    }
    return count;
}

static void write_denial(struct mete__out *body, uint32_t how, const struct mete__http_decided *decided,
                         unsigned status)
{
    static const char never[] = "the cost is above what the limit can ever hold: waiting does not help";
    struct mete__span names[METE__LIMITS_MAX];
    struct mete__problem problem = {.type = METE__PROBLEM_QUOTA,
                                    .title = "Quota Exceeded",
                                    .status = status,
                                    .violated = names,
                                    .violated_count = find_violated(decided, names)};
    if (decided->outcome->retry_after_ns == METE_NEVER) {
        problem.detail = mete__span_of(never, sizeof never - 1);
    }
    mete__problem_open(body, &problem);
    if ((how & METE__HOW_CHECK) == 0) {
        mete__out_text(body, ",");
        write_members(body, decided);
    }
    mete__out_text(body, "}");
}

/* No decision could be made.  There are no figures: no fields, and no number that means nothing. */
static void answer_failure(struct mete__out *out, uint32_t how, const struct mete__http_decided *decided)
{
    bool is_check = (how & METE__HOW_CHECK) != 0;
    if (decided->outcome->allowed) {
        static const char body[] = "{\"allowed\":true,\"failed\":true}";
        mete__answer(out, how, 200, is_check ? NULL : METE__TYPE_JSON, body, is_check ? 0 : sizeof body - 1);
        return;
    }
    char bytes[BODY_SIZE];
    struct mete__out body = mete__out_on(bytes, sizeof bytes);
    const char *detail = mete_status_text(decided->outcome->status);
    struct mete__problem problem = {.type = METE__PROBLEM_REDUCED,
                                    .title = "Temporarily Reduced Capacity",
                                    .status = is_check ? deny_status(how, decided->bound->policy) : 503,
                                    .detail = {detail, strlen(detail)}};
    mete__problem_write(&body, &problem);
    mete__answer_begin(out, how, problem.status);
    mete__out_text(out, FAILED_RETRY);
    mete__answer_end(out, how, METE__TYPE_PROBLEM, body.bytes, body.len);
}

static void write_fields(struct mete__out *out, const struct mete__http_decided *decided)
{
    unsigned styles = decided->bound->policy->headers;
    bool is_denied = !decided->outcome->allowed && !decided->is_question;
    if (styles == 0 && !is_denied) {
        return;
    }
    struct mete__fields_limit limits[METE__LIMITS_MAX];
    describe(decided, (styles & (METE__HEADERS_DRAFT_10 | METE__HEADERS_DRAFT_12)) != 0, limits);
    uint64_t wall_ns = (styles & METE__HEADERS_X_EPOCH) != 0 ? mete__wall_ns() : 0;
    mete__fields_write(out, styles, limits, decided->outcome->count, wall_ns);
    uint64_t retry_after = is_denied ? mete__fields_retry_after(limits, decided->outcome->count) : 0;
    if (retry_after > 0) {
        mete__out_text(out, "Retry-After: ");
        mete__out_u64(out, retry_after);
        mete__out_text(out, "\r\n");
    }
}

void mete__http_decided_answer(struct mete__out *out, uint32_t how, const struct mete__http_decided *decided)
{
    const struct mete__outcome *outcome = decided->outcome;
    if (outcome->status != METE_OK) {
        answer_failure(out, how, decided);
        return;
    }
    char bytes[BODY_SIZE];
    struct mete__out body = mete__out_on(bytes, sizeof bytes);
    bool is_fine = outcome->allowed || decided->is_question;
    unsigned status = is_fine ? 200 : deny_status(how, decided->bound->policy);
    bool is_empty = is_fine && (how & METE__HOW_CHECK) != 0;
    if (!is_fine) {
        write_denial(&body, how, decided, status);
    } else if (!is_empty) {
        mete__http_decided_json(&body, decided);
    }
    mete__answer_begin(out, how, status);
    write_fields(out, decided);
    const char *type = is_empty ? NULL : is_fine ? METE__TYPE_JSON : METE__TYPE_PROBLEM;
    mete__answer_end(out, how, type, body.bytes, body.len);
}

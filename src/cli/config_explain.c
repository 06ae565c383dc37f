/* SPDX-License-Identifier: Apache-2.0 */
/* What a key meets in a policy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "cli/config.h"
#include "cli/config_words.h"
#include "cli/limit_facts.h"
#include "cli/replay_words.h"
#include "policy/load.h"

#define WORDS_SIZE 512u

/* One limit of the key's plan, with what follows from it. */
struct explained {
    const struct mete__policy_limit *limit;
    struct mete__limit_facts facts;
    char words[WORDS_SIZE];
    char period[WORDS_SIZE];
    char refill[WORDS_SIZE];
    uint64_t refill_ns;
    uint64_t cost;
};

struct explanation {
    const struct mete__policy *policy;
    const struct mete__plan *plan;
    const struct mete__override *override;
    const char *key;
    size_t key_len;
    struct explained limits[METE__LIMITS_MAX];
};

static mete_status explain_limit(const struct mete__policy *policy, const struct mete__policy_limit *limit,
                                 struct explained *out)
{
    mete_status status = mete__limit_facts_of(&limit->limit, &out->facts);
    if (status != METE_OK) {
        return status;
    }
    out->limit = limit;
    out->refill_ns = out->facts.refill_ns < UINT64_MAX ? (uint64_t)out->facts.refill_ns : UINT64_MAX;
    out->cost = limit->has_cost ? limit->cost : policy->cost;
    mete__limit_words(&limit->limit, "request", out->words, sizeof(out->words));
    mete__span_words(out->facts.period_ns, out->period, sizeof(out->period));
    mete__span_words(out->refill_ns, out->refill, sizeof(out->refill));
    return METE_OK;
}

static void plan_words(const struct explanation *it, char *text, size_t size)
{
    char shown[WORDS_SIZE / 2];
    const char *name = it->plan->name[0] != '\0' ? it->plan->name : "default";
    if (it->override == NULL) {
        snprintf(text, size, "%s: no override is for this key", name);
        return;
    }
    mete__key_shown(it->override->key, it->override->key_len, shown, sizeof(shown));
    snprintf(text, size, "%s, by the override for the %s '%s'", name, it->override->is_prefix ? "prefix" : "key",
             shown);
}

static void print_limit(const struct explained *it)
{
    printf("limit    %s: %s\n", it->limit->name, it->facts.text);
    printf("         %s\n", it->words);
    printf("         count %" PRIu64 ", period %s%s, %s %" PRIu64 "\n", it->facts.limit.count, it->period,
           it->facts.is_calendar ? " on average" : "", it->facts.is_bucket ? "burst" : "capacity", it->facts.capacity);
    printf("         full again %s%s after all of it was spent\n", it->facts.is_bucket ? "" : "at most ", it->refill);
    printf("         a request is charged %" PRIu64 "%s\n", it->cost,
           it->limit->has_cost ? ", whatever its cost" : " unless it names its cost");
    printf("         in headers: quota %" PRIu64 ", window %" PRIu64 " s\n", it->facts.headers.quota,
           it->facts.headers.window_s);
}

/* A dry run lets pass also what no decision can be made about. */
static void print_denied(const struct mete__policy *policy)
{
    if (policy->dry_run) {
        printf("denied   nothing: a dry run only counts what it would deny; full: %s\n",
               mete__on_full_word(policy->on_full));
        return;
    }
    printf("denied   HTTP %u with Retry-After; full: %s; store fails: %s\n", policy->deny_status,
           mete__on_full_word(policy->on_full), policy->on_store_failure == METE__FAIL_ALLOW ? "allow" : "deny");
}

static void print_text(const struct explanation *it)
{
    char words[WORDS_SIZE];
    const struct mete__policy *policy = it->policy;
    mete__key_shown(it->key, it->key_len, words, sizeof(words));
    printf("policy   %s%s\nkey      '%s'\n", policy->name, policy->dry_run ? " (dry run: nothing is denied)" : "",
           words);
    plan_words(it, words, sizeof(words));
    printf("plan     %s\n", words);
    for (size_t i = 0; i < policy->limit_count; i++) {
        print_limit(&it->limits[i]);
    }
    mete__headers_words(policy->headers, words, sizeof(words));
    printf("headers  %s\n", words);
    for (size_t i = 0; i < METE__STYLE_COUNT; i++) {
        if ((policy->headers & mete__styles[i].style) != 0) {
            printf("         %s: %s\n", mete__styles[i].word, mete__styles[i].fields);
        }
    }
    print_denied(policy);
}

/* JSON's readers keep 63 bits at most: a larger number becomes the largest. */
static json_t *number(uint64_t value)
{
    return json_integer(value <= INT64_MAX ? (json_int_t)value : (json_int_t)INT64_MAX);
}

static json_t *limit_to_json(const struct explained *it)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(it->limit->name));
    json_object_set_new(object, "limit", json_string(it->facts.text));
    json_object_set_new(object, "words", json_string(it->words));
    json_object_set_new(object, "count", number(it->facts.limit.count));
    json_object_set_new(object, "period_ns", number(it->facts.period_ns));
    json_object_set_new(object, "period_is_mean", json_boolean(it->facts.is_calendar));
    json_object_set_new(object, "capacity", number(it->facts.capacity));
    json_object_set_new(object, "refill_ns", number(it->refill_ns));
    json_object_set_new(object, "cost", number(it->cost));
    json_object_set_new(object, "cost_is_fixed", json_boolean(it->limit->has_cost));
    json_object_set_new(object, "header_quota", number(it->facts.headers.quota));
    json_object_set_new(object, "header_window", number(it->facts.headers.window_s));
    return object;
}

static json_t *override_to_json(const struct mete__override *override)
{
    char shown[WORDS_SIZE];
    if (override == NULL) {
        return json_null();
    }
    mete__key_shown(override->key, override->key_len, shown, sizeof(shown));
    return json_pack("{s:s, s:s}", "kind", override->is_prefix ? "prefix" : "key", "text", shown);
}

static void print_json(const struct explanation *it)
{
    char shown[WORDS_SIZE];
    json_t *limits = json_array();
    json_t *styles = json_array();
    mete__key_shown(it->key, it->key_len, shown, sizeof(shown));
    for (size_t i = 0; i < it->policy->limit_count; i++) {
        json_array_append_new(limits, limit_to_json(&it->limits[i]));
    }
    for (size_t i = 0; i < METE__STYLE_COUNT; i++) {
        if ((it->policy->headers & mete__styles[i].style) != 0) {
            json_array_append_new(styles, json_string(mete__styles[i].word));
        }
    }
    json_t *object = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:i, s:b}", "policy", it->policy->name, "key", shown,
                               "plan", it->plan->name[0] != '\0' ? it->plan->name : "default", "override",
                               override_to_json(it->override), "limits", limits, "headers", styles, "deny_status",
                               (int)it->policy->deny_status, "dry_run", it->policy->dry_run);
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
}

mete_status mete__config_explain(const struct mete__policy *policy, const char *key, size_t key_len, bool json)
{
    struct explanation it = {.policy = policy, .key = key, .key_len = key_len};
    it.override = mete__policy_override(policy, key, key_len);
    it.plan = mete__policy_plan(policy, key, key_len);
    for (size_t i = 0; i < policy->limit_count; i++) {
        mete_status status = explain_limit(policy, &it.plan->limits[i], &it.limits[i]);
        if (status != METE_OK) {
            return status;
        }
    }
    if (json) {
        print_json(&it);
    } else {
        print_text(&it);
    }
    return METE_OK;
}

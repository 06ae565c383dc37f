/* SPDX-License-Identifier: Apache-2.0 */
/* What a configuration serves. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/config_words.h"
#include "cli/replay_words.h"

#define WORDS_SIZE 1024u

static const char *protocol_word(const struct mete__listener *listener)
{
    return listener->protocol == METE__PROTOCOL_RESP ? "resp" : "http";
}

/* --- text ----------------------------------------------------------------------- */

static void print_limits(const struct mete__policy *policy, const struct mete__plan *plan, const char *indent)
{
    char words[WORDS_SIZE];
    for (size_t i = 0; i < policy->limit_count; i++) {
        const struct mete__policy_limit *limit = &plan->limits[i];
        mete__limit_words(&limit->limit, "request", words, sizeof(words));
        printf("%s%s: %s", indent, limit->name, words);
        if (limit->has_cost) {
            printf(", %" PRIu64 " charged per request", limit->cost);
        }
        printf("\n");
    }
}

static void print_policy(const struct mete__policy *policy)
{
    char headers[WORDS_SIZE];
    char key[WORDS_SIZE];
    printf("policy  %s%s\n", policy->name, policy->dry_run ? " (dry run: nothing is denied)" : "");
    print_limits(policy, &policy->plans[0], "          ");
    for (size_t i = 1; i < policy->plan_count; i++) {
        printf("          plan %s\n", policy->plans[i].name);
        print_limits(policy, &policy->plans[i], "            ");
    }
    if (policy->override_count > 0) {
        size_t prefixes = policy->override_count - policy->exact_count;
        printf("          overrides: %zu key%s, %zu prefix%s\n", policy->exact_count,
               policy->exact_count == 1 ? "" : "s", prefixes, prefixes == 1 ? "" : "es");
    }
    mete__headers_words(policy->headers, headers, sizeof(headers));
    mete__key_words(policy, key, sizeof(key));
    printf("          cost %" PRIu64 "; key %s; headers %s; denied: %u; full: %s; store fails: %s\n", policy->cost, key,
           headers, policy->deny_status, mete__on_full_word(policy->on_full),
           policy->on_store_failure == METE__FAIL_ALLOW ? "allow" : "deny");
}

static bool may_use_any(const struct mete__config *config, const struct mete__user *user)
{
    bool may_any = false;
    for (size_t i = 0; i < config->policy_count; i++) {
        may_any = may_any || (user->policies[i / 64] >> i % 64 & 1) != 0;
    }
    return may_any;
}

static void print_users(const struct mete__config *config)
{
    for (size_t i = config->is_login_required ? 1 : 0; i < config->user_count; i++) {
        const struct mete__user *user = &config->users[i];
        const char *gap = "";
        printf("user    %s: ", user->name);
        if (user->may_use_all) {
            printf("all policies");
        } else if (!may_use_any(config, user)) {
            printf("no policies");
        }
        for (size_t k = 0; k < config->policy_count && !user->may_use_all; k++) {
            if ((user->policies[k / 64] >> k % 64 & 1) != 0) {
                printf("%s%s", gap, config->policies[k].name);
                gap = ", ";
            }
        }
        printf("%s%s\n", user->may_bring_limits ? "; may bring limits" : "",
               user->may_administer ? "; may administer" : "");
    }
}

void mete__config_show(const struct mete__config *config, const char *warnings)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct mete__listener *listener = &config->listeners[i];
        printf("listen  %s %s%s\n", protocol_word(listener), listener->address, listener->is_tls ? " (TLS)" : "");
    }
    printf("store   %s, at most %" PRIu64 " live keys; full: %s\n",
           config->store_path != NULL ? config->store_path : "memory", config->keys_max,
           mete__on_full_word(config->on_full));
    print_users(config);
    for (size_t i = 0; i < config->policy_count; i++) {
        print_policy(&config->policies[i]);
    }
    fflush(stdout);
    while (*warnings != '\0') {
        size_t len = strcspn(warnings, "\n");
        mete__cli_error("config check", "warning: %.*s", (int)len, warnings);
        warnings += len + (warnings[len] == '\n');
    }
    printf("OK\n");
}

/* --- JSON ----------------------------------------------------------------------- */

static json_t *limits_to_json(const struct mete__policy *policy, const struct mete__plan *plan)
{
    char text[WORDS_SIZE];
    json_t *limits = json_object();
    for (size_t i = 0; i < policy->limit_count; i++) {
        mete_limit_format(&plan->limits[i].limit, text, sizeof(text));
        json_t *limit = json_pack("{s:s}", "limit", text);
        if (plan->limits[i].has_cost) {
            json_object_set_new(limit, "cost", json_integer((json_int_t)plan->limits[i].cost));
        }
        json_object_set_new(limits, plan->limits[i].name, limit);
    }
    return limits;
}

static json_t *policy_to_json(const struct mete__policy *policy)
{
    char headers[WORDS_SIZE];
    char key[WORDS_SIZE];
    json_t *plans = json_object();
    for (size_t i = 1; i < policy->plan_count; i++) {
        json_object_set_new(plans, policy->plans[i].name, limits_to_json(policy, &policy->plans[i]));
    }
    mete__headers_words(policy->headers, headers, sizeof(headers));
    mete__key_words(policy, key, sizeof(key));
    return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:b, s:s, s:s, s:s, s:i, s:s}", "name", policy->name, "limits",
                     limits_to_json(policy, &policy->plans[0]), "plans", plans, "override_keys",
                     (json_int_t)policy->exact_count, "override_prefixes",
                     (json_int_t)(policy->override_count - policy->exact_count), "cost", (json_int_t)policy->cost,
                     "dry_run", policy->dry_run, "on_full", mete__on_full_word(policy->on_full), "on_store_failure",
                     policy->on_store_failure == METE__FAIL_ALLOW ? "allow" : "deny", "headers", headers, "deny_status",
                     (int)policy->deny_status, "key", key);
}

static json_t *listeners_to_json(const struct mete__config *config)
{
    json_t *listeners = json_array();
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct mete__listener *listener = &config->listeners[i];
        json_array_append_new(listeners, json_pack("{s:s, s:s, s:b}", "protocol", protocol_word(listener), "address",
                                                   listener->address, "tls", listener->is_tls));
    }
    return listeners;
}

static json_t *lines_to_json(const char *lines)
{
    json_t *array = json_array();
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        json_array_append_new(array, json_stringn(lines, len));
        lines += len + (lines[len] == '\n');
    }
    return array;
}

void mete__config_show_json(const struct mete__config *config, const char *warnings)
{
    json_t *policies = json_array();
    json_t *users = json_array();
    for (size_t i = 0; i < config->policy_count; i++) {
        json_array_append_new(policies, policy_to_json(&config->policies[i]));
    }
    for (size_t i = 0; i < config->user_count; i++) {
        json_array_append_new(users, json_string(config->users[i].name));
    }
    json_t *store =
        json_pack("{s:s?, s:I, s:I, s:s}", "path", config->store_path, "keys_max", (json_int_t)config->keys_max,
                  "log_units_max", (json_int_t)config->log_units_max, "on_full", mete__on_full_word(config->on_full));
    json_t *object = json_pack("{s:b, s:o, s:o, s:o, s:b, s:o, s:o}", "ok", 1, "listen", listeners_to_json(config),
                               "store", store, "users", users, "login_required", config->is_login_required, "policies",
                               policies, "warnings", lines_to_json(warnings));
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
}

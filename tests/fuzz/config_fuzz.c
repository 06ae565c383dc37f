/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a configuration file.  What is taken keeps every promise of
 * policy/config.h; a refusal names a place in printable ASCII.  The memory is
 * bounded more tightly than in earnest, so that running out of it is tried too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "policy/fault.h"
#include "policy/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUDGET ((size_t)8 << 20)

static void check_name(const char *name)
{
    size_t len = strlen(name);
    METE_ASSERT(len >= 1 && len <= METE__NAME_MAX);
    METE_ASSERT(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == len);
}

static void check_limits(const struct mete__policy *policy, const struct mete__plan *plan)
{
    for (size_t i = 0; i < policy->limit_count; i++) {
        const struct mete__policy_limit *limit = &plan->limits[i];
        uint64_t capacity = limit->limit.burst != 0 ? limit->limit.burst : limit->limit.count;
        uint64_t cost = limit->has_cost ? limit->cost : policy->cost;
        METE_ASSERT(mete_limit_check(&limit->limit, NULL, 0) == METE_OK);
        METE_ASSERT(strcmp(limit->name, policy->plans[0].limits[i].name) == 0);
        METE_ASSERT(cost >= 1 && cost <= capacity);
    }
}

/* By walking them all: what mete__policy_plan finds by halving. */
static unsigned plan_of(const struct mete__policy *policy, const char *key, size_t key_len)
{
    const struct mete__override *best = NULL;
    for (size_t i = 0; i < policy->override_count; i++) {
        const struct mete__override *it = &policy->overrides[i];
        bool matches = it->key_len <= key_len && memcmp(it->key, key, it->key_len) == 0;
        if (matches && !it->is_prefix && it->key_len == key_len) {
            return it->plan;
        }
        if (matches && it->is_prefix && (best == NULL || it->key_len > best->key_len)) {
            best = it;
        }
    }
    return best != NULL ? best->plan : 0;
}

static void check_overrides(const struct mete__policy *policy)
{
    for (size_t i = 0; i < policy->override_count; i++) {
        const struct mete__override *it = &policy->overrides[i];
        METE_ASSERT(it->plan < policy->plan_count && it->is_prefix == (i >= policy->exact_count));
        for (size_t len = it->key_len > 2 ? it->key_len - 2 : 0; len <= it->key_len + 1; len++) {
            /* Its NUL is one byte more. */
            const struct mete__plan *plan = mete__policy_plan(policy, it->key, len);
            METE_ASSERT(plan == &policy->plans[plan_of(policy, it->key, len)]);
        }
    }
}

static void check_policy(const struct mete__config *config, const struct mete__policy *policy)
{
    check_name(policy->name);
    METE_ASSERT(policy->index == (size_t)(policy - config->policies));
    METE_ASSERT(mete__config_policy(config, policy->name, strlen(policy->name)) == policy);
    METE_ASSERT(policy->limit_count >= 1 && policy->limit_count <= METE__LIMITS_MAX);
    METE_ASSERT(policy->plan_count >= 1 && policy->plan_count <= METE__PLANS_MAX);
    METE_ASSERT(policy->key_part_count >= 1 && policy->key_part_count <= METE__KEY_PARTS_MAX);
    METE_ASSERT(policy->deny_status >= 400 && policy->deny_status <= 599 && policy->headers < 64);
    for (size_t i = 0; i < policy->plan_count; i++) {
        check_limits(policy, &policy->plans[i]);
    }
    check_overrides(policy);
}

static void check_config(const struct mete__config *config)
{
    char warnings[256];
    METE_ASSERT(config->listener_count >= 1 && config->listener_count <= METE__LISTENERS_MAX);
    METE_ASSERT(config->policy_count <= METE__POLICIES_MAX);
    METE_ASSERT(config->user_count >= 1 && strcmp(config->users[0].name, "default") == 0);
    METE_ASSERT(config->keys_max >= 1 && config->log_units_max >= 1 && config->threads <= 256);
    METE_ASSERT(config->bounds.connections_max >= 1 && config->bounds.request_bytes_max >= 1024);
    METE_ASSERT(config->client_address.header != NULL && config->client_address.proxy_count <= METE__PROXIES_MAX);
    for (size_t i = 0; i < config->policy_count; i++) {
        check_policy(config, &config->policies[i]);
    }
    for (size_t i = 0; i < config->user_count; i++) {
        check_name(config->users[i].name);
        METE_ASSERT(config->users[i].policies != NULL);
    }
    mete__config_warnings(config, warnings, sizeof warnings);
}

static void check_refusal(const char *why)
{
    size_t lines = 1;
    METE_ASSERT(strncmp(why, "f:", 2) == 0);
    for (const char *at = why; *at != '\0'; at++) {
        METE_ASSERT(*at == '\n' || (*at >= ' ' && *at < 0x7f));
        lines += *at == '\n';
        METE_ASSERT(*at != '\n' || strncmp(at + 1, "f:", 2) == 0);
    }
    METE_ASSERT(lines <= METE__FAULTS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char why[METE__CONFIG_WHY_SIZE];
    struct mete__config *config = NULL;
    /* Just as long as the text, so that a read beyond is seen. */
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    mete_status status = mete__config_parse_within(BUDGET, "f", text, size, &config, why, sizeof why);
    free(text);
    METE_ASSERT(status == METE_OK || status == METE_EINVAL || status == METE_ENOMEM);
    if (status == METE_OK) {
        METE_ASSERT(why[0] == '\0');
        check_config(config);
        mete__config_destroy(config);
    } else {
        check_refusal(why);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The policies: their limits, plans, and how they answer. */
#include <inttypes.h>
#include <string.h>

#include "policy/schema.h"

#define HEADER_LEN_MAX 64u
#define COST_MAX ((uint64_t)INT64_MAX) /* what a signed reply of RESP can say */

/* --- tables ----------------------------------------------------------------------- */

enum {
    POLICY_LIMITS,
    POLICY_COST,
    POLICY_DRY_RUN,
    POLICY_ON_FULL,
    POLICY_ON_STORE_FAILURE,
    POLICY_HEADERS,
    POLICY_DENY_STATUS,
    POLICY_KEY,
    POLICY_PLANS,
    POLICY_OVERRIDES,
    POLICY_COUNT
};

static const struct mete__choice failure_words[] = {{"deny", METE__FAIL_DENY}, {"allow", METE__FAIL_ALLOW}, {NULL, 0}};

static const struct mete__field policy_fields[POLICY_COUNT] = {
    [POLICY_LIMITS] = {.name = "limits",
                       .kind = METE__FIELD_OTHER,
                       .is_required = true,
                       .shown_type = "mapping from names to limits, 1 to 8",
                       .help = "checked all or nothing: when one denies, none is charged"},
    [POLICY_COST] = {.name = "cost",
                     .kind = METE__FIELD_COUNT,
                     METE__MEMBER(struct mete__policy, cost),
                     .min = 1,
                     .max = COST_MAX,
                     .fallback = 1,
                     .help = "units of a request that names no cost"},
    [POLICY_DRY_RUN] = {.name = "dry_run",
                        .kind = METE__FIELD_SWITCH,
                        METE__MEMBER(struct mete__policy, dry_run),
                        .help = "decide and count, but let everything pass"},
    [POLICY_ON_FULL] = {.name = "on_full",
                        .kind = METE__FIELD_CHOICE,
                        METE__MEMBER(struct mete__policy, on_full),
                        .choices = mete__on_full_words,
                        .shown_default = "that of `store`",
                        .help = "as `store.on_full`, for the keys of this policy"},
    [POLICY_ON_STORE_FAILURE] = {.name = "on_store_failure",
                                 .kind = METE__FIELD_CHOICE,
                                 METE__MEMBER(struct mete__policy, on_store_failure),
                                 .fallback = METE__FAIL_DENY,
                                 .choices = failure_words,
                                 .help = "what a request gets when the store cannot decide"},
    [POLICY_HEADERS] = {.name = "headers",
                        .kind = METE__FIELD_OTHER,
                        .shown_type = "`off`, or one or a list of `draft-06`, `draft-07`, `draft-10`, "
                                      "`draft-12-provisional`, `x-ratelimit-delta`, `x-ratelimit-epoch`",
                        .shown_default = "draft-10",
                        .help = "the style of the rate limit headers of HTTP responses"},
    [POLICY_DENY_STATUS] = {.name = "deny_status",
                            .kind = METE__FIELD_COUNT,
                            METE__MEMBER(struct mete__policy, deny_status),
                            .min = 400,
                            .max = 599,
                            .fallback = 429,
                            .help = "of HTTP; nginx auth_request knows only 401 and 403"},
    [POLICY_KEY] = {.name = "key",
                    .kind = METE__FIELD_OTHER,
                    .shown_type = "one or a list of `client_address`, `header:NAME`, `query:NAME`, `method`, `path`; "
                                  "at most 8",
                    .shown_default = "client_address",
                    .help = "what of a request to /check/POLICY makes its key"},
    [POLICY_PLANS] = {.name = "plans",
                      .kind = METE__FIELD_OTHER,
                      .shown_type = "mapping from names to limits by name, at most 63",
                      .shown_default = "none",
                      .help = "other figures for the same limits; what a plan does not name stays"},
    [POLICY_OVERRIDES] = {.name = "overrides",
                          .kind = METE__FIELD_OTHER,
                          .shown_type = "list of mappings",
                          .shown_default = "none",
                          .help = "which keys are on which plan"},
};

const struct mete__section mete__section_policy = {
    "policies.NAME", policy_fields, POLICY_COUNT,
    "One policy: limits that are checked all or nothing, and how they answer."};

enum { LIMIT_LIMIT, LIMIT_COST, LIMIT_COUNT };

static const struct mete__field limit_fields[LIMIT_COUNT] = {
    [LIMIT_LIMIT] = {.name = "limit",
                     .kind = METE__FIELD_OTHER,
                     .is_required = true,
                     .shown_type = "`[ALGORITHM] COUNT/PERIOD [burst N] [anchored \\| calendar] [zone NAME]`",
                     .help = "the rule; `mete limit` explains it"},
    [LIMIT_COST] = {.name = "cost",
                    .kind = METE__FIELD_COUNT,
                    METE__MEMBER(struct mete__policy_limit, cost),
                    .min = 1,
                    .max = COST_MAX,
                    .shown_default = "what the request costs",
                    .help = "units charged to this limit, whatever the request costs"},
};

const struct mete__section mete__section_limit = {
    "policies.NAME.limits.NAME", limit_fields, LIMIT_COUNT,
    "One limit: the text of the rule alone, or this mapping. A plan names them in the same way."};

/* --- limits ----------------------------------------------------------------------- */

static void read_rule(const struct mete__loader *loader, const char *name, const struct mete__node *node,
                      struct mete__policy_limit *out)
{
    char why[METE__SENTENCE_SIZE / 2];
    if (node->kind != METE__NODE_TEXT) {
        mete__fault_at(loader, node, "limit '%s': %s, where the text of a limit belongs", name,
                       mete__node_kind_words(node));
        return;
    }
    struct mete_limit limit;
    if (mete_limit_parse_why(node->text, &limit, why, sizeof(why)) != METE_OK ||
        mete_limit_check(&limit, why, sizeof(why)) != METE_OK) {
        mete__fault_at(loader, node, "limit '%s': %s", name, why);
        return;
    }
    out->limit = limit;
}

static void read_limit(const struct mete__loader *loader, const struct mete__node *node, struct mete__policy_limit *out)
{
    const struct mete__node *seen[METE__FIELDS_MAX];
    if (node->kind != METE__NODE_MAP) {
        read_rule(loader, out->name, node, out);
        return;
    }
    /* A plan that gives no cost keeps the policy's. */
    uint64_t cost = out->cost;
    mete__section_read(loader, &mete__section_limit, node, out, seen);
    if (seen[LIMIT_COST] != NULL) {
        out->has_cost = true;
    } else {
        out->cost = cost;
    }
    if (seen[LIMIT_LIMIT] != NULL) {
        read_rule(loader, out->name, seen[LIMIT_LIMIT], out);
    }
}

/* A request that costs more than can ever be there would always be denied. */
static void check_cost(const struct mete__loader *loader, const struct mete__node *node,
                       const struct mete__policy *policy, const struct mete__policy_limit *limit)
{
    uint64_t cost = limit->has_cost ? limit->cost : policy->cost;
    uint64_t capacity = limit->limit.burst != 0 ? limit->limit.burst : limit->limit.count;
    if (limit->limit.count != 0 && cost > capacity) {
        mete__fault_at(loader, node,
                       "limit '%s': a request costs %" PRIu64 ", but at most %" PRIu64
                       " pass at one instant; none would ever pass",
                       limit->name, cost, capacity);
    }
}

static void load_limits(const struct mete__loader *loader, const struct mete__node *node, struct mete__policy *policy)
{
    if (!mete__read_names(loader, "limits", node, METE__LIMITS_MAX)) {
        return;
    }
    for (const struct mete__node *key = node->first; key != NULL; key = key->next->next) {
        struct mete__policy_limit *limit = &policy->plans[0].limits[policy->limit_count];
        if (key->kind != METE__NODE_TEXT) {
            continue;
        }
        limit->name = mete__arena_copy(loader->arena, key->text, key->len);
        if (limit->name == NULL) {
            return;
        }
        read_limit(loader, key->next, limit);
        check_cost(loader, key->next, policy, limit);
        policy->limit_count++;
    }
}

/* --- plans ------------------------------------------------------------------------ */

static struct mete__policy_limit *find_limit(const struct mete__policy *policy, struct mete__plan *plan,
                                             const struct mete__node *key)
{
    for (size_t i = 0; i < policy->limit_count; i++) {
        if (mete__node_is(key, plan->limits[i].name)) {
            return &plan->limits[i];
        }
    }
    return NULL;
}

static void load_plan(const struct mete__loader *loader, const struct mete__node *node,
                      const struct mete__policy *policy, struct mete__plan *plan)
{
    memcpy(plan->limits, policy->plans[0].limits, sizeof(plan->limits));
    if (!mete__read_names(loader, "plans", node, METE__LIMITS_MAX)) {
        return;
    }
    for (const struct mete__node *key = node->first; key != NULL; key = key->next->next) {
        struct mete__policy_limit *limit = find_limit(policy, plan, key);
        if (limit == NULL) {
            mete__fault_at(loader, key, "plan '%s': the policy has no limit %s", plan->name,
                           key->kind == METE__NODE_TEXT ? mete__quote(key->text, key->len).text : "without a name");
            continue;
        }
        read_limit(loader, key->next, limit);
        check_cost(loader, key->next, policy, limit);
    }
}

static void load_plans(const struct mete__loader *loader, const struct mete__node *node, struct mete__policy *policy)
{
    for (const struct mete__node *key = node->first; key != NULL; key = key->next->next) {
        struct mete__plan *plan = &policy->plans[policy->plan_count];
        if (key->kind != METE__NODE_TEXT) {
            continue;
        }
        if (mete__node_is(key, "default")) {
            mete__fault_at(loader, key, "plans: 'default' stands for the policy's own limits; use another name");
            continue;
        }
        plan->name = mete__arena_copy(loader->arena, key->text, key->len);
        if (plan->name == NULL) {
            return;
        }
        load_plan(loader, key->next, policy, plan);
        policy->plan_count++;
    }
}

bool mete__plan_find(const struct mete__policy *policy, const char *name, size_t name_len, unsigned *out)
{
    static const char own[] = "default";
    if (name_len == sizeof(own) - 1 && memcmp(name, own, name_len) == 0) {
        *out = 0;
        return true;
    }
    for (size_t i = 1; i < policy->plan_count; i++) {
        if (strlen(policy->plans[i].name) == name_len && memcmp(policy->plans[i].name, name, name_len) == 0) {
            *out = (unsigned)i;
            return true;
        }
    }
    return false;
}

/* --- headers and key ---------------------------------------------------------------- */

static const struct mete__choice style_words[] = {{"draft-06", METE__HEADERS_DRAFT_06},
                                                  {"draft-07", METE__HEADERS_DRAFT_07},
                                                  {"draft-10", METE__HEADERS_DRAFT_10},
                                                  {"draft-12-provisional", METE__HEADERS_DRAFT_12},
                                                  {"x-ratelimit-delta", METE__HEADERS_X_DELTA},
                                                  {"x-ratelimit-epoch", METE__HEADERS_X_EPOCH},
                                                  {NULL, 0}};

static void load_headers(const struct mete__loader *loader, const struct mete__node *node, unsigned *out)
{
    const struct mete__field field = {.name = "headers", .kind = METE__FIELD_CHOICE, .choices = style_words};
    unsigned style = 0;
    *out = 0;
    if (mete__node_is(node, "off")) {
        return;
    }
    if (node->kind == METE__NODE_TEXT) {
        mete__read_word(loader, &field, node, out);
        return;
    }
    if (!mete__read_list(loader, "headers", node, METE__COUNT_OF(style_words) - 1)) {
        return;
    }
    for (const struct mete__node *item = node->first; item != NULL; item = item->next) {
        if (mete__read_word(loader, &field, item, &style)) {
            *out |= style;
        }
    }
}

/* "header:" or "query:" and a name. */
static bool read_named_part(const struct mete__loader *loader, const struct mete__node *node,
                            struct mete__key_part *part)
{
    static const char header[] = "header:";
    static const char query[] = "query:";
    bool is_header = strncmp(node->text, header, sizeof(header) - 1) == 0;
    if (!is_header && strncmp(node->text, query, sizeof(query) - 1) != 0) {
        mete__fault_at(loader, node, "key: %s is not client_address, header:NAME, query:NAME, method or path",
                       mete__quote(node->text, node->len).text);
        return false;
    }
    size_t skipped = is_header ? sizeof(header) - 1 : sizeof(query) - 1;
    size_t name_len = node->len - skipped;
    if (name_len == 0 || name_len > HEADER_LEN_MAX || (is_header && !mete__is_token(node->text + skipped, name_len))) {
        mete__fault_at(loader, node, "key: %s does not name a %s", mete__quote(node->text, node->len).text,
                       is_header ? "header" : "query parameter of 1 to 64 bytes");
        return false;
    }
    part->source = is_header ? METE__KEY_HEADER : METE__KEY_QUERY;
    part->name = mete__arena_copy(loader->arena, node->text + skipped, name_len);
    return part->name != NULL;
}

static void read_key_part(const struct mete__loader *loader, const struct mete__node *node, struct mete__policy *policy)
{
    static const struct mete__choice plain_words[] = {{"client_address", METE__KEY_CLIENT_ADDRESS},
                                                      {"method", METE__KEY_METHOD},
                                                      {"path", METE__KEY_PATH},
                                                      {NULL, 0}};
    struct mete__key_part part = {METE__KEY_CLIENT_ADDRESS, NULL};
    const struct mete__choice *choice = plain_words;
    if (node->kind != METE__NODE_TEXT) {
        mete__fault_at(loader, node, "key: %s, where a single value belongs", mete__node_kind_words(node));
        return;
    }
    while (choice->word != NULL && !mete__node_is(node, choice->word)) {
        choice++;
    }
    part.source = (enum mete__key_source)choice->value;
    if (choice->word != NULL || read_named_part(loader, node, &part)) {
        policy->key_parts[policy->key_part_count++] = part;
    }
}

static void load_key(const struct mete__loader *loader, const struct mete__node *node, struct mete__policy *policy)
{
    if (node->kind == METE__NODE_TEXT) {
        read_key_part(loader, node, policy);
        return;
    }
    if (!mete__read_list(loader, "key", node, METE__KEY_PARTS_MAX)) {
        return;
    }
    for (const struct mete__node *item = node->first; item != NULL; item = item->next) {
        read_key_part(loader, item, policy);
    }
}

/* --- policies ------------------------------------------------------------------------ */

/* Room for its plans; false when there is no memory. */
static bool take_plans(const struct mete__loader *loader, const struct mete__node *node, struct mete__policy *policy,
                       bool *has_plans)
{
    *has_plans = node != NULL && mete__read_names(loader, "plans", node, METE__PLANS_MAX - 1);
    size_t plan_count = 1 + (*has_plans ? node->count : 0);
    policy->plans = mete__arena_take_array(loader->arena, plan_count, sizeof(policy->plans[0]));
    if (policy->plans == NULL) {
        return false;
    }
    policy->plans[0].name = "";
    policy->plan_count = 1;
    return true;
}

static void load_policy(const struct mete__loader *loader, const struct mete__node *node, struct mete__policy *policy)
{
    const struct mete__node *seen[METE__FIELDS_MAX];
    bool has_plans = false;
    mete__section_read(loader, &mete__section_policy, node, policy, seen);
    if (!take_plans(loader, seen[POLICY_PLANS], policy, &has_plans)) {
        return;
    }
    if (seen[POLICY_ON_FULL] == NULL) {
        policy->on_full = loader->config->on_full;
    }
    if (seen[POLICY_LIMITS] != NULL) {
        load_limits(loader, seen[POLICY_LIMITS], policy);
    }
    if (has_plans) {
        load_plans(loader, seen[POLICY_PLANS], policy);
    }
    if (seen[POLICY_OVERRIDES] != NULL) {
        mete__load_overrides(loader, seen[POLICY_OVERRIDES], policy);
    }
    policy->headers = METE__HEADERS_DRAFT_10;
    if (seen[POLICY_HEADERS] != NULL) {
        load_headers(loader, seen[POLICY_HEADERS], &policy->headers);
    }
    if (seen[POLICY_KEY] != NULL) {
        load_key(loader, seen[POLICY_KEY], policy);
    } else {
        policy->key_parts[0] = (struct mete__key_part){METE__KEY_CLIENT_ADDRESS, NULL};
        policy->key_part_count = 1;
    }
}

void mete__load_policies(const struct mete__loader *loader, const struct mete__node *node)
{
    struct mete__config *config = loader->config;
    if (node == NULL || !mete__read_names(loader, "policies", node, METE__POLICIES_MAX)) {
        return;
    }
    config->policies = mete__arena_take_array(loader->arena, node->count, sizeof(config->policies[0]));
    for (const struct mete__node *key = node->first; key != NULL && config->policies != NULL; key = key->next->next) {
        struct mete__policy *policy = &config->policies[config->policy_count];
        if (key->kind != METE__NODE_TEXT) {
            continue;
        }
        policy->name = mete__arena_copy(loader->arena, key->text, key->len);
        if (policy->name == NULL) {
            return;
        }
        policy->index = config->policy_count++;
        load_policy(loader, key->next, policy);
    }
}

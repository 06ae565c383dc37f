/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keys are on which plan.
 *
 * The overrides of a policy are sorted: exact ones by bytes, then prefixes, the
 * longest first and those of one length by bytes.  A key is looked for among the
 * exact ones, then once per length of prefix that occurs: each by halving, so a
 * lookup takes (1 + lengths) * log2(overrides) comparisons and no memory.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/load.h"
#include "policy/schema.h"

#define KEY_LEN_MAX 1024u /* bounds the lengths of prefixes, and so the steps of a lookup */
#define OVERRIDES_MAX 100000u

struct override_item {
    const char *plan;
};

enum { OVERRIDE_KEY, OVERRIDE_PREFIX, OVERRIDE_PLAN, OVERRIDE_COUNT };

static const struct mete__field override_fields[OVERRIDE_COUNT] = {
    [OVERRIDE_KEY] = {.name = "key",
                      .kind = METE__FIELD_OTHER,
                      .shown_type = "text, at most 1024 bytes",
                      .shown_default = "one of the two is needed",
                      .help = "exactly this key"},
    [OVERRIDE_PREFIX] = {.name = "prefix",
                         .kind = METE__FIELD_OTHER,
                         .shown_type = "text, at most 1024 bytes",
                         .shown_default = "one of the two is needed",
                         .help = "all keys that begin so, unless named exactly or by a longer prefix"},
    [OVERRIDE_PLAN] = {.name = "plan",
                       .kind = METE__FIELD_NAME,
                       .is_required = true,
                       METE__MEMBER(struct override_item, plan),
                       .help = "a plan of this policy, or `default` for its own limits"},
};

const struct mete__section mete__section_override = {"policies.NAME.overrides[]", override_fields, OVERRIDE_COUNT,
                                                     "Which keys are on which plan. The parts of a key that is made "
                                                     "from several are joined with the byte 0x1F: \"a\\x1Fb\"."};

/* --- order ------------------------------------------------------------------------- */

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t common = a_len < b_len ? a_len : b_len;
    int order = common > 0 ? memcmp(a, b, common) : 0;
    if (order != 0 || a_len == b_len) {
        return order;
    }
    return a_len < b_len ? -1 : 1;
}

static int compare_overrides(const void *a_item, const void *b_item)
{
    const struct mete__override *a = a_item;
    const struct mete__override *b = b_item;
    if (a->is_prefix != b->is_prefix) {
        return a->is_prefix ? 1 : -1;
    }
    if (a->is_prefix && a->key_len != b->key_len) {
        return a->key_len > b->key_len ? -1 : 1;
    }
    return compare_bytes(a->key, a->key_len, b->key, b->key_len);
}

/* --- lookup ------------------------------------------------------------------------ */

/* Among sorted[0..count-1], all exact or all prefixes of one length. */
static const struct mete__override *find(const struct mete__override *sorted, size_t count, const char *key,
                                         size_t key_len)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_bytes(key, key_len, sorted[middle].key, sorted[middle].key_len);
        if (order == 0) {
            return &sorted[middle];
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

/* Where the prefixes that are shorter than len begin. */
static size_t first_shorter(const struct mete__override *sorted, size_t low, size_t high, size_t len)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle].key_len < len) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

const struct mete__override *mete__policy_override(const struct mete__policy *policy, const void *key, size_t key_len)
{
    const struct mete__override *sorted = policy->overrides;
    const struct mete__override *found = find(sorted, policy->exact_count, key, key_len);
    /* Longer prefixes than the key cannot be its own. */
    size_t at = first_shorter(sorted, policy->exact_count, policy->override_count, key_len + 1);
    while (found == NULL && at < policy->override_count) {
        size_t len = sorted[at].key_len;
        size_t end = first_shorter(sorted, at, policy->override_count, len);
        found = find(sorted + at, end - at, key, len);
        at = end;
    }
    return found;
}

const struct mete__plan *mete__policy_plan(const struct mete__policy *policy, const void *key, size_t key_len)
{
    if (policy->override_count == 0) {
        return &policy->plans[0];
    }
    const struct mete__override *found = mete__policy_override(policy, key, key_len);
    return &policy->plans[found != NULL ? found->plan : 0];
}

/* --- reading ------------------------------------------------------------------------ */

/* Keys may be anything, also "" and "null": no other reading of a text is so wide. */
static bool read_key(const struct mete__loader *loader, const struct mete__node *node, struct mete__override *out)
{
    const char *field = out->is_prefix ? "prefix" : "key";
    if (node->kind != METE__NODE_TEXT) {
        mete__fault_at(loader, node, "%s: %s, where a single value belongs", field, mete__node_kind_words(node));
        return false;
    }
    if (node->len > KEY_LEN_MAX) {
        mete__fault_at(loader, node, "%s: longer than %u bytes", field, KEY_LEN_MAX);
        return false;
    }
    if (node->len == 0 && (out->is_prefix || node->is_plain)) {
        mete__fault_at(loader, node, "%s: is empty%s", field,
                       out->is_prefix ? "; every key begins so: change the limits of the policy itself" : "");
        return false;
    }
    out->key = mete__arena_copy(loader->arena, node->text, node->len);
    out->key_len = node->len;
    return out->key != NULL;
}

static bool read_override(const struct mete__loader *loader, const struct mete__node *node,
                          const struct mete__policy *policy, struct mete__override *out)
{
    const struct mete__node *seen[METE__FIELDS_MAX];
    struct override_item item;
    mete__section_read(loader, &mete__section_override, node, &item, seen);
    if (node->kind != METE__NODE_MAP) {
        return false;
    }
    if ((seen[OVERRIDE_KEY] == NULL) == (seen[OVERRIDE_PREFIX] == NULL)) {
        mete__fault_at(loader, node, "overrides: each is either for a key or for a prefix");
        return false;
    }
    if (item.plan == NULL) {
        return false;
    }
    if (!mete__plan_find(policy, item.plan, strlen(item.plan), &out->plan)) {
        mete__fault_at(loader, seen[OVERRIDE_PLAN], "plan: the policy '%s' has no plan '%s'", policy->name, item.plan);
        return false;
    }
    out->is_prefix = seen[OVERRIDE_PREFIX] != NULL;
    return read_key(loader, seen[out->is_prefix ? OVERRIDE_PREFIX : OVERRIDE_KEY], out);
}

/* The key or prefix that this item of the list names, when it is that of the override. */
static const struct mete__node *same_text(const struct mete__node *item, const struct mete__override *override)
{
    const char *name = override->is_prefix ? "prefix" : "key";
    const struct mete__node *key = item->kind == METE__NODE_MAP ? item->first : NULL;
    while (key != NULL && !mete__node_is(key, name)) {
        key = key->next->next;
    }
    if (key == NULL || key->next->kind != METE__NODE_TEXT) {
        return NULL;
    }
    const struct mete__node *text = key->next;
    return compare_bytes(text->text, text->len, override->key, override->key_len) == 0 ? text : NULL;
}

/* The list is in the order of the file: the second of two is the fault. */
static void tell_twice(const struct mete__loader *loader, const struct mete__node *list,
                       const struct mete__override *override)
{
    const struct mete__node *first = NULL;
    for (const struct mete__node *item = list->first; item != NULL; item = item->next) {
        const struct mete__node *text = same_text(item, override);
        if (text != NULL && first != NULL) {
            mete__fault_at(loader, text, "%s: %s was already given in line %u", override->is_prefix ? "prefix" : "key",
                           mete__quote(override->key, override->key_len).text, first->place.line);
            return;
        }
        first = text != NULL ? text : first;
    }
}

static void sort(const struct mete__loader *loader, const struct mete__node *list, struct mete__policy *policy)
{
    struct mete__override *sorted = policy->overrides;
    qsort(sorted, policy->override_count, sizeof(sorted[0]), compare_overrides);
    for (size_t i = 0; i < policy->override_count; i++) {
        policy->exact_count += !sorted[i].is_prefix;
        /* A file of nothing else has enough of these faults soon. */
        if (i > 0 && compare_overrides(&sorted[i - 1], &sorted[i]) == 0 && loader->faults->count < METE__FAULTS_MAX) {
            tell_twice(loader, list, &sorted[i]);
        }
    }
}

void mete__load_overrides(const struct mete__loader *loader, const struct mete__node *node, struct mete__policy *policy)
{
    if (!mete__read_list(loader, "overrides", node, OVERRIDES_MAX)) {
        return;
    }
    policy->overrides = mete__arena_take_array(loader->arena, node->count, sizeof(policy->overrides[0]));
    if (policy->overrides == NULL) {
        return;
    }
    for (const struct mete__node *item = node->first; item != NULL; item = item->next) {
        struct mete__override *override = &policy->overrides[policy->override_count];
        if (read_override(loader, item, policy, override)) {
            policy->override_count++;
        }
    }
    sort(loader, node, policy);
}

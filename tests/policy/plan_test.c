/* SPDX-License-Identifier: Apache-2.0 */
/* Which plan a key is on: exact before prefix, the longest prefix first. */
#include <stdlib.h>

#include "tests/policy/policy.h"

#define KEYS_PER_ROUND 400u
#define LETTERS 2u /* few, so that prefixes of prefixes are common */

static const char *plan_of(const struct mete__config *config, const char *key)
{
    return mete__policy_plan(&config->policies[0], key, strlen(key))->name;
}

static void test_order(void **state)
{
    (void)state;
    struct mete__config *config = load("policies:\n"
                                       "  a:\n"
                                       "    limits: {x: 5/s, y: {limit: 50/1h, cost: 2}}\n"
                                       "    plans:\n"
                                       "      gold: {x: 6/s}\n"
                                       "      free: {y: 9/1h, x: {limit: 1/s, cost: 1}}\n"
                                       "    overrides:\n"
                                       "    - {prefix: \"a:\", plan: gold}\n"
                                       "    - {prefix: \"a:b:\", plan: free}\n"
                                       "    - {prefix: \"a:b:c\", plan: default}\n"
                                       "    - {key: \"a:b:\", plan: gold}\n"
                                       "    - {key: \"\", plan: free}\n"
                                       "    - {key: z, plan: gold}\n");
    static const char *const expected[][2] = {
        {"", "free"},      {"a", ""},     {"a:", "gold"}, {"a:x", "gold"}, {"a:b", "gold"}, {"a:b:", "gold"},
        {"a:b:b", "free"}, {"a:b:c", ""}, {"a:b:cc", ""}, {"z", "gold"},   {"zz", ""},      {"Z", ""},
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_string_equal(plan_of(config, expected[i][0]), expected[i][1]);
    }
    assert_string_equal(mete__policy_plan(&config->policies[0], "z\0", 2)->name, "");
    assert_null(mete__policy_override(&config->policies[0], "zz", 2));
    assert_true(mete__policy_override(&config->policies[0], "a:x", 3)->is_prefix);
    mete__config_destroy(config);
}

/* What a plan does not name stays, its cost included. */
static void test_figures(void **state)
{
    (void)state;
    struct mete__config *config = load("policies:\n"
                                       "  a:\n"
                                       "    limits: {x: 5/s, y: {limit: 50/1h, cost: 2}}\n"
                                       "    plans: {p: {y: 9/1h}, q: {x: {limit: 6/s, cost: 3}}, r: {y: {limit: 7/1h, "
                                       "cost: 1}}}\n");
    const struct mete__policy *policy = &config->policies[0];
    assert_int_equal(policy->plan_count, 4);
    const struct mete__policy_limit *p = policy->plans[1].limits;
    const struct mete__policy_limit *q = policy->plans[2].limits;
    const struct mete__policy_limit *r = policy->plans[3].limits;
    assert_int_equal(p[0].limit.count, 5);
    assert_false(p[0].has_cost);
    assert_int_equal(p[1].limit.count, 9);
    assert_true(p[1].has_cost && p[1].cost == 2);
    assert_int_equal(q[0].limit.count, 6);
    assert_true(q[0].has_cost && q[0].cost == 3);
    assert_int_equal(q[1].limit.count, 50);
    assert_true(r[1].has_cost && r[1].cost == 1);
    assert_false(policy->plans[0].limits[0].has_cost);
    mete__config_destroy(config);
}

static unsigned seed;

static unsigned draw(unsigned below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % below;
}

static void draw_key(char key[12])
{
    unsigned len = draw(11);
    for (unsigned i = 0; i < len; i++) {
        key[i] = (char)('a' + draw(LETTERS));
    }
    key[len] = '\0';
}

/* The same by walking them all, as they were written down. */
struct written {
    char key[12];
    bool is_prefix;
    char plan[8];
};

static const char *walk(const struct written *written, size_t count, const char *key)
{
    const struct written *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct written *it = &written[i];
        if (!it->is_prefix && strcmp(it->key, key) == 0) {
            return it->plan;
        }
        bool begins = it->is_prefix && strncmp(it->key, key, strlen(it->key)) == 0;
        if (begins && (best == NULL || strlen(it->key) > strlen(best->key))) {
            best = it;
        }
    }
    return best != NULL ? best->plan : "";
}

static size_t write_random(struct written *written, char *text, size_t size)
{
    size_t count = 0;
    size_t len = (size_t)snprintf(text, size,
                                  "policies:\n  a:\n    limits: {x: 5/s}\n"
                                  "    plans: {p0: {x: 1/s}, p1: {x: 2/s}, p2: {x: 3/s}}\n"
                                  "    overrides:\n");
    unsigned wanted = 1 + draw(60);
    for (unsigned i = 0; i < wanted; i++) {
        struct written it = {.is_prefix = draw(2) == 0};
        bool is_twice = false;
        draw_key(it.key);
        snprintf(it.plan, sizeof(it.plan), "p%u", draw(3));
        for (size_t k = 0; k < count; k++) {
            is_twice = is_twice || (written[k].is_prefix == it.is_prefix && strcmp(written[k].key, it.key) == 0);
        }
        if (is_twice || (it.is_prefix && it.key[0] == '\0')) {
            continue;
        }
        written[count++] = it;
        len += (size_t)snprintf(text + len, size - len, "    - {%s: \"%s\", plan: %s}\n",
                                it.is_prefix ? "prefix" : "key", it.key, it.plan);
    }
    return count;
}

static void test_random(void **state)
{
    (void)state;
    static struct written written[64];
    static char text[8192];
    const char *scale = getenv("METE_TEST_SCALE");
    int rounds = 200 * (scale != NULL ? atoi(scale) : 1);
    for (int round = 0; round < rounds; round++) {
        seed = (unsigned)round;
        size_t count = write_random(written, text, sizeof(text));
        if (count == 0) {
            continue;
        }
        struct mete__config *config = load(text);
        for (unsigned i = 0; i < KEYS_PER_ROUND; i++) {
            char key[12];
            draw_key(key);
            if (strcmp(plan_of(config, key), walk(written, count, key)) != 0) {
                fail_msg("round %d, key '%s'\n%s", round, key, text);
            }
        }
        mete__config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

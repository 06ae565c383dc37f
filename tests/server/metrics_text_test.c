/* SPDX-License-Identifier: Apache-2.0 */
/* The figures, from counters set by hand over a real engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <time.h>

#include "server/live.h"
#include "server/metrics_text.h"
#include "server/places.h"

#define LINES_MAX 2000u

struct world {
    struct mete__server server;
    struct mete__out out;
    char *lines[LINES_MAX];
    size_t line_count;
};

static struct world *world_new(void)
{
    struct world *world = calloc(1, sizeof *world);
    struct mete__config *config;
    char why[512] = "";
    assert_non_null(world);
    static const char text[] =
        "policies:\n  api:\n    limits: {hour: 2/1h burst 2}\n  login:\n    limits: {minute: 5/1m}\n";
    if (mete__config_parse("test", text, sizeof text - 1, &config, why, sizeof why) != METE_OK) {
        fail_msg("%s", why);
    }
    if (mete__engine_create(config, &(struct mete__engine_options){0}, &world->server.engine, why, sizeof why) !=
        METE_OK) {
        fail_msg("%s", why);
    }
    world->server.loop_count = 2;
    world->server.loops = calloc(2, sizeof *world->server.loops);
    assert_non_null(world->server.loops);
    for (size_t i = 0; i < 2; i++) {
        world->server.loops[i].counts.policies = calloc(METE__PLACES, sizeof *world->server.loops[i].counts.policies);
        assert_non_null(world->server.loops[i].counts.policies);
        assert_true(mete__top_init(&world->server.loops[i].top));
    }
    mete__out_init(&world->out, 1 << 24);
    return world;
}

static void world_free(struct world *world)
{
    mete__live_stop();
    mete__engine_destroy(world->server.engine);
    for (size_t i = 0; i < 2; i++) {
        mete__top_clear(&world->server.loops[i].top);
        free(world->server.loops[i].counts.policies);
    }
    free(world->server.loops);
    mete__out_clear(&world->out);
    free(world);
}

static void scrape(struct world *world)
{
    char *rest = NULL;
    world->out.len = 0;
    mete__metrics_text(&world->server, &world->out);
    assert_false(world->out.is_failed);
    assert_true(world->out.len > 0 && world->out.bytes[world->out.len - 1] == '\n');
    mete__out_bytes(&world->out, "", 1);
    world->line_count = 0;
    for (char *line = strtok_r(world->out.bytes, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        assert_true(world->line_count < LINES_MAX);
        world->lines[world->line_count++] = line;
    }
}

/* The value of a series; fails when it is absent or there twice. */
static const char *value_of(const struct world *world, const char *series)
{
    const char *found = NULL;
    size_t len = strlen(series);
    for (size_t i = 0; i < world->line_count; i++) {
        if (strncmp(world->lines[i], series, len) == 0 && world->lines[i][len] == ' ') {
            assert_null(found);
            found = world->lines[i] + len + 1;
        }
    }
    if (found == NULL) {
        fail_msg("no series %s", series);
    }
    return found;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9');
}

/* Every sample stands below the HELP and TYPE of its own metric, and no series is there twice. */
static void test_form(void **state)
{
    (void)state;
    struct world *world = world_new();
    struct mete__metric_row row = {"", "", "", ""};
    size_t at = 0;
    scrape(world);
    for (size_t i = 0; i < world->line_count; i++) {
        const char *line = world->lines[i];
        char expected[1024];
        if (strncmp(line, "# HELP ", 7) == 0) {
            assert_true(mete__metrics_row(at++, &row));
            snprintf(expected, sizeof expected, "# HELP %s %s", row.name, row.help);
            assert_string_equal(line, expected);
            snprintf(expected, sizeof expected, "# TYPE %s %s", row.name, row.type);
            assert_string_equal(world->lines[++i], expected);
            continue;
        }
        size_t len = 0;
        while (is_name(line[len])) {
            len++;
        }
        assert_true(line[len] == ' ' || line[len] == '{');
        assert_int_equal(strncmp(line, row.name, strlen(row.name)), 0);
        bool is_histogram = strcmp(row.type, "histogram") == 0;
        assert_true(len == strlen(row.name) || is_histogram);
        const char *value = strrchr(line, ' ');
        assert_non_null(value);
        value++;
        char *end;
        strtod(value, &end);
        assert_true(end != value && *end == '\0');
        for (size_t j = 0; j < i; j++) {
            assert_false(strncmp(world->lines[j], line, (size_t)(value - line)) == 0);
        }
    }
    assert_false(mete__metrics_row(at, &row));
    world_free(world);
}

/* https://prometheus.io/docs/practices/naming/ */
static void test_names(void **state)
{
    (void)state;
    struct mete__metric_row row;
    for (size_t i = 0; mete__metrics_row(i, &row); i++) {
        size_t len = strlen(row.name);
        bool is_total = len > 6 && strcmp(row.name + len - 6, "_total") == 0;
        assert_int_equal(is_total, strcmp(row.type, "counter") == 0);
        assert_true(strncmp(row.name, "mete_", 5) == 0 || strncmp(row.name, "process_", 8) == 0);
        assert_null(strpbrk(row.help, "\\\n|")); /* would have to be escaped, here or in the docs */
        assert_int_equal(row.help[strlen(row.help) - 1], '.');
    }
}

static void test_sums_over_loops(void **state)
{
    (void)state;
    struct world *world = world_new();
    uint32_t place = mete__places_of("api");
    struct mete__counts *counts[2] = {&world->server.loops[0].counts, &world->server.loops[1].counts};
    counts[0]->policies[place][METE__OUTCOME_ALLOWED] = 5;
    counts[1]->policies[place][METE__OUTCOME_ALLOWED] = 7;
    counts[1]->policies[place][METE__OUTCOME_WOULD_DENY] = 3;
    counts[0]->own[METE__OUTCOME_DENIED] = 11;
    counts[1]->of[METE__COUNT_REQUESTS_HTTP] = UINT64_C(1) << 60;
    counts[0]->of[METE__COUNT_TIMEOUTS] = 1;
    world->server.conn_count = 42;
    world->server.reloads_failed = 2;
    world->server.started_ms = 1700000000042;
    scrape(world);
    assert_string_equal(value_of(world, "mete_decisions_total{policy=\"api\",outcome=\"allowed\"}"), "12");
    assert_string_equal(value_of(world, "mete_decisions_total{policy=\"api\",outcome=\"would_deny\"}"), "3");
    assert_string_equal(value_of(world, "mete_decisions_total{policy=\"login\",outcome=\"denied\"}"), "0");
    assert_string_equal(value_of(world, "mete_own_decisions_total{outcome=\"denied\"}"), "11");
    assert_string_equal(value_of(world, "mete_requests_total{protocol=\"http\"}"), "1152921504606846976");
    assert_string_equal(value_of(world, "mete_requests_total{protocol=\"resp\"}"), "0");
    assert_string_equal(value_of(world, "mete_timeouts_total"), "1");
    assert_string_equal(value_of(world, "mete_connections"), "42");
    assert_string_equal(value_of(world, "mete_config_reloads_total{result=\"failed\"}"), "2");
    assert_string_equal(value_of(world, "process_start_time_seconds"), "1700000000.042");
    assert_true(strtoull(value_of(world, "process_resident_memory_bytes"), NULL, 10) > 100000);
    assert_true(strtoull(value_of(world, "process_open_fds"), NULL, 10) >= 3);
    assert_true(strtoull(value_of(world, "mete_store_keys_max{store=\"0\"}"), NULL, 10) > 0);
    world_free(world);
}

static void test_histogram(void **state)
{
    (void)state;
    struct world *world = world_new();
    struct mete__counts *counts = &world->server.loops[1].counts;
    counts->latency[0] = 1;
    counts->latency[3] = 10;
    counts->latency[METE__LATENCY_BUCKETS - 1] = 100;
    counts->latency_sum_ns = 12000000345;
    scrape(world);
    assert_string_equal(value_of(world, "mete_decision_seconds_bucket{le=\"0.000001\"}"), "1");
    assert_string_equal(value_of(world, "mete_decision_seconds_bucket{le=\"0.000004\"}"), "1");
    assert_string_equal(value_of(world, "mete_decision_seconds_bucket{le=\"0.000008\"}"), "11");
    assert_string_equal(value_of(world, "mete_decision_seconds_bucket{le=\"4.194304\"}"), "11");
    assert_string_equal(value_of(world, "mete_decision_seconds_bucket{le=\"+Inf\"}"), "111");
    assert_string_equal(value_of(world, "mete_decision_seconds_count"), "111");
    assert_string_equal(value_of(world, "mete_decision_seconds_sum"), "12.000000345");
    world_free(world);
}

/* A count is made by another thread; the next who asks gets it. */
static void test_live_keys(void **state)
{
    (void)state;
    struct world *world = world_new();
    struct mete__live live;
    struct mete__outcome outcome;
    const struct mete__snapshot *snapshot = mete__engine_join(world->server.engine);
    const struct mete__bound_policy *bound = mete__snapshot_find(snapshot, "api", 3);
    assert_non_null(bound);
    for (const char *key = "abcde"; *key != '\0'; key++) {
        mete__engine_decide(bound, METE__VERB_TAKE, key, 1, 1, 0, &outcome);
        assert_true(outcome.allowed);
    }
    mete__live_ask(world->server.engine, &live);
    assert_false(live.is_known);
    for (int i = 0; !live.is_known && i < 5000; i++) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        mete__live_ask(world->server.engine, &live);
    }
    assert_true(live.is_known);
    assert_int_equal(live.keys[0], 5);
    assert_true(live.age_ms < METE__LIVE_AGE_MS);
    char key = 'f';
    mete__engine_decide(bound, METE__VERB_TAKE, &key, 1, 1, 0, &outcome);
    mete__live_ask(world->server.engine, &live);
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    mete__live_ask(world->server.engine, &live);
    assert_int_equal(live.keys[0], 5); /* not counted again so soon */
    assert_true(live.age_ms >= 200);
    scrape(world);
    assert_string_equal(value_of(world, "mete_keys_live{store=\"0\"}"), "5");
    assert_string_equal(value_of(world, "mete_store_keys_inserted_total{store=\"0\"}"), "6");
    mete__engine_leave(world->server.engine, snapshot);
    world_free(world);
}

static json_int_t integer(const json_t *object, const char *outer, const char *name)
{
    const json_t *value = json_object_get(json_object_get(object, outer), name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void test_stats(void **state)
{
    (void)state;
    struct world *world = world_new();
    uint32_t place = mete__places_of("api");
    world->server.loops[0].counts.policies[place][METE__OUTCOME_ALLOWED] = 20;
    world->server.loops[1].counts.policies[place][METE__OUTCOME_DENIED] = 3;
    world->server.loops[1].counts.own[METE__OUTCOME_DENIED] = 4;
    world->server.loops[1].counts.latency[5] = 9;
    world->server.conn_count = 8;
    mete__stats_json(&world->server, &world->out);
    assert_false(world->out.is_failed);
    json_error_t error;
    json_t *root = json_loadb(world->out.bytes, world->out.len, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        fail_msg("%s at %d", error.text, error.position);
    }
    assert_string_equal(json_string_value(json_object_get(root, "version")), mete_version());
    assert_int_equal(integer(root, "totals", "allowed"), 20);
    assert_int_equal(integer(root, "totals", "denied"), 7);
    assert_int_equal(integer(root, "own", "denied"), 4);
    assert_int_equal(integer(root, "connections", "open"), 8);
    const json_t *latency = json_object_get(root, "latency");
    assert_int_equal(json_array_size(json_object_get(latency, "upper_us")), METE__LATENCY_BUCKETS - 1);
    assert_int_equal(json_array_size(json_object_get(latency, "counts")), METE__LATENCY_BUCKETS);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(latency, "counts"), 5)), 9);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(latency, "upper_us"), 5)), 32);
    size_t index;
    json_t *policy;
    bool is_there = false;
    json_array_foreach(json_object_get(root, "policies"), index, policy)
    {
        if (strcmp(json_string_value(json_object_get(policy, "name")), "api") == 0) {
            is_there = true;
            assert_int_equal(json_integer_value(json_object_get(policy, "denied")), 3);
        }
    }
    assert_true(is_there);
    json_decref(root);
    world_free(world);
}

/* No policy has such a name today; if one had, it could not break the text. */
static void test_escapes(void **state)
{
    (void)state;
    struct world *world = world_new();
    uint32_t place = mete__places_of("a\"b\\c\nd");
    world->server.loops[0].counts.policies[place][METE__OUTCOME_DENIED] = 6;
    scrape(world);
    assert_string_equal(value_of(world, "mete_decisions_total{policy=\"a\\\"b\\\\c\\nd\",outcome=\"denied\"}"), "6");
    world_free(world);
}

/* Labels are as many as policies, and the text stays in the bound whatever the names. */
static void test_bound(void **state)
{
    (void)state;
    struct world *world = world_new();
    char name[METE__NAME_MAX + 1];
    for (unsigned i = 0; i < 2 * METE__PLACES; i++) {
        snprintf(name, sizeof name, "%060u", i);
        mete__places_of(name);
    }
    assert_string_equal(mete__place_name(METE__PLACES - 1), METE__PLACE_OTHER);
    assert_null(mete__place_name(METE__PLACES));
    assert_int_equal(mete__places_of("one more"), METE__PLACES - 1);
    assert_int_equal(mete__places_of("api"), 0); /* first seen, first placed */
    world->out.len = 0;
    mete__metrics_text(&world->server, &world->out);
    assert_true(world->out.len < 1 << 20);
    world->out.len = 0;
    mete__stats_json(&world->server, &world->out);
    assert_true(world->out.len < 1 << 19);
    assert_false(world->out.is_failed);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form),      cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_names),     cmocka_unit_test(test_sums_over_loops),
        cmocka_unit_test(test_histogram), cmocka_unit_test(test_live_keys),
        cmocka_unit_test(test_stats),     cmocka_unit_test(test_bound), /* the last: it fills the places */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a right configuration becomes: every default, every value, every lookup. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/policy/policy.h"

static void check_defaults(const struct mete__config *config)
{
    assert_int_equal(config->threads, 0);
    assert_null(config->store_path);
    assert_int_equal(config->keys_max, 1000000);
    assert_int_equal(config->log_units_max, 1048576);
    assert_int_equal(config->on_full, METE_FULL_EVICT);
    assert_null(config->tls.certificate);
    assert_string_equal(config->client_address.header, "X-Forwarded-For");
    assert_int_equal(config->client_address.depth, 1);
    assert_int_equal(config->client_address.proxy_count, 0);
    assert_int_equal(config->client_address.ipv6_prefix_len, 64);
    assert_int_equal(config->bounds.connections_max, 10000);
    assert_int_equal(config->bounds.request_bytes_max, 65536);
    assert_int_equal(config->bounds.output_bytes_max, 1048576);
    assert_int_equal(config->bounds.idle_timeout_ms, 300000);
    assert_int_equal(config->bounds.request_timeout_ms, 10000);
    assert_int_equal(config->bounds.drain_timeout_ms, 10000);
    assert_int_equal(config->log_format, METE__LOG_LOGFMT);
    assert_int_equal(config->log_level, 1);
    assert_false(config->log_keys);
}

static void check_everybody_may_all(const struct mete__config *config)
{
    assert_int_equal(config->user_count, 1);
    assert_string_equal(config->users[0].name, "default");
    assert_false(config->is_login_required);
    assert_false(config->users[0].has_password);
    assert_true(config->users[0].may_use_all);
    assert_true(config->users[0].may_bring_limits);
    assert_true(config->users[0].may_administer);
}

static void check_loopback(const struct mete__config *config)
{
    assert_int_equal(config->listener_count, 2);
    assert_int_equal(config->listeners[0].protocol, METE__PROTOCOL_RESP);
    assert_string_equal(config->listeners[0].address, "127.0.0.1:6379");
    assert_int_equal(config->listeners[1].protocol, METE__PROTOCOL_HTTP);
    assert_string_equal(config->listeners[1].address, "127.0.0.1:8080");
    assert_false(config->listeners[0].is_tls || config->listeners[1].is_tls);
}

static void test_defaults(void **state)
{
    (void)state;
    struct mete__config *config = load(POLICIES);
    const struct mete__policy *policy = &config->policies[0];
    check_defaults(config);
    check_everybody_may_all(config);
    check_loopback(config);
    assert_string_equal(config->path, "f");
    assert_int_equal(config->policy_count, 1);
    assert_string_equal(policy->name, "a");
    assert_int_equal(policy->limit_count, 1);
    assert_int_equal(policy->plan_count, 1);
    assert_string_equal(policy->plans[0].name, "");
    assert_string_equal(policy->plans[0].limits[0].name, "b");
    assert_false(policy->plans[0].limits[0].has_cost);
    assert_int_equal(policy->override_count, 0);
    assert_int_equal(policy->cost, 1);
    assert_false(policy->dry_run);
    assert_int_equal(policy->on_full, METE_FULL_EVICT);
    assert_int_equal(policy->on_store_failure, METE__FAIL_DENY);
    assert_int_equal(policy->headers, METE__HEADERS_DRAFT_10);
    assert_int_equal(policy->deny_status, 429);
    assert_int_equal(policy->key_part_count, 1);
    assert_int_equal(policy->key_parts[0].source, METE__KEY_CLIENT_ADDRESS);
    mete__config_destroy(config);
}

/* A section that is there but empty is the same as none. */
static void test_empty_sections(void **state)
{
    (void)state;
    struct mete__config *config = load("store: {}\nclient_address: {}\nbounds: {}\nlog: {}\n" POLICIES);
    check_defaults(config);
    mete__config_destroy(config);
}

static void test_builtin(void **state)
{
    (void)state;
    struct mete__config *config = NULL;
    assert_int_equal(mete__config_builtin(&config), METE_OK);
    check_defaults(config);
    check_everybody_may_all(config);
    check_loopback(config);
    assert_null(config->path);
    const struct mete__policy *policy = mete__config_policy(config, "example", 7);
    assert_non_null(policy);
    assert_int_equal(policy->plans[0].limits[0].limit.count, 10);
    assert_int_equal(policy->plans[0].limits[0].limit.burst, 5);
    mete__config_destroy(config);
    mete__config_destroy(NULL);
}

static void test_daemon_values(void **state)
{
    (void)state;
    struct mete__config *config = load("listen:\n"
                                       "- {resp: \"[::1]:0\", tls: true}\n"
                                       "- {http: localhost:80}\n"
                                       "- {http: fd:web}\n"
                                       "- {resp: unix:/run/m.sock, unix_mode: 0660}\n"
                                       "- {resp: \"[::1]:0\"}\n"
                                       "threads: 3\n"
                                       "store: {path: /var/m, keys_max: 7, log_units_max: 9, on_full: allow}\n"
                                       "tls: {certificate: c, key: k, client_ca: a}\n"
                                       "bounds: {connections_max: 5, request_bytes_max: 2048, output_bytes_max: 1MiB,\n"
                                       "  idle_timeout: 0, request_timeout: 1500ms, drain_timeout: 2m}\n"
                                       "log: {format: json, level: error, keys: true}\n" POLICIES);
    assert_int_equal(config->listener_count, 5);
    assert_true(config->listeners[0].is_tls);
    assert_string_equal(config->listeners[2].address, "fd:web");
    assert_int_equal(config->listeners[2].protocol, METE__PROTOCOL_HTTP);
    assert_int_equal(config->listeners[2].unix_mode, 0600);
    assert_int_equal(config->listeners[3].unix_mode, 0660);
    assert_int_equal(config->threads, 3);
    assert_string_equal(config->store_path, "/var/m");
    assert_int_equal(config->keys_max, 7);
    assert_int_equal(config->log_units_max, 9);
    assert_int_equal(config->on_full, METE_FULL_ALLOW);
    assert_int_equal(config->policies[0].on_full, METE_FULL_ALLOW);
    assert_string_equal(config->tls.certificate, "c");
    assert_string_equal(config->tls.key, "k");
    assert_string_equal(config->tls.client_ca, "a");
    assert_int_equal(config->bounds.connections_max, 5);
    assert_int_equal(config->bounds.request_bytes_max, 2048);
    assert_int_equal(config->bounds.output_bytes_max, 1048576);
    assert_int_equal(config->bounds.idle_timeout_ms, 0);
    assert_int_equal(config->bounds.request_timeout_ms, 1500);
    assert_int_equal(config->bounds.drain_timeout_ms, 120000);
    assert_int_equal(config->log_format, METE__LOG_JSON);
    assert_int_equal(config->log_level, 3);
    assert_true(config->log_keys);
    mete__config_destroy(config);
    config = load("store: {path: memory}\n");
    assert_null(config->store_path);
    assert_int_equal(config->policy_count, 0);
    mete__config_destroy(config);
}

static void test_policy_values(void **state)
{
    (void)state;
    struct mete__config *config = load("store: {on_full: deny}\n"
                                       "policies:\n"
                                       "  p:\n"
                                       "    limits:\n"
                                       "      x: 5/s burst 9\n"
                                       "      y: {limit: sliding_log 7/1m, cost: 2}\n"
                                       "    cost: 3\n"
                                       "    dry_run: true\n"
                                       "    on_full: evict\n"
                                       "    on_store_failure: allow\n"
                                       "    headers: [draft-06, draft-12-provisional, x-ratelimit-epoch]\n"
                                       "    deny_status: 403\n"
                                       "    key: [client_address, \"header:X-Key\", \"query:a=b c\", method, path]\n"
                                       "  q: {limits: {x: 1/s}, headers: off, key: path}\n");
    const struct mete__policy *policy = &config->policies[0];
    const struct mete__policy_limit *limits = policy->plans[0].limits;
    assert_int_equal(policy->limit_count, 2);
    assert_int_equal(limits[0].limit.algorithm, METE_TOKEN_BUCKET);
    assert_int_equal(limits[0].limit.count, 5);
    assert_int_equal(limits[0].limit.burst, 9);
    assert_false(limits[0].has_cost);
    assert_int_equal(limits[1].limit.algorithm, METE_SLIDING_LOG);
    assert_true(limits[1].has_cost);
    assert_int_equal(limits[1].cost, 2);
    assert_int_equal(policy->cost, 3);
    assert_true(policy->dry_run);
    assert_int_equal(policy->on_full, METE_FULL_EVICT);
    assert_int_equal(policy->on_store_failure, METE__FAIL_ALLOW);
    assert_int_equal(policy->headers, METE__HEADERS_DRAFT_06 | METE__HEADERS_DRAFT_12 | METE__HEADERS_X_EPOCH);
    assert_int_equal(policy->deny_status, 403);
    assert_int_equal(policy->key_part_count, 5);
    assert_int_equal(policy->key_parts[1].source, METE__KEY_HEADER);
    assert_string_equal(policy->key_parts[1].name, "X-Key");
    assert_string_equal(policy->key_parts[2].name, "a=b c");
    assert_int_equal(policy->key_parts[3].source, METE__KEY_METHOD);
    assert_int_equal(policy->key_parts[4].source, METE__KEY_PATH);
    assert_int_equal(config->policies[1].headers, 0);
    assert_int_equal(config->policies[1].on_full, METE_FULL_DENY);
    assert_int_equal(config->policies[1].key_parts[0].source, METE__KEY_PATH);
    mete__config_destroy(config);
}

static void test_policy_by_name(void **state)
{
    (void)state;
    static char text[METE__POLICIES_MAX * 40];
    int len = snprintf(text, sizeof(text), "policies:\n");
    for (unsigned i = 0; i < METE__POLICIES_MAX; i++) {
        len += snprintf(text + len, sizeof(text) - (size_t)len, "  p%u: {limits: {a: %u/s}}\n", i * 7919 % 1024, i + 1);
    }
    struct mete__config *config = load(text);
    assert_int_equal(config->policy_count, METE__POLICIES_MAX);
    for (unsigned i = 0; i < METE__POLICIES_MAX; i++) {
        char name[16];
        int name_len = snprintf(name, sizeof(name), "p%u", i * 7919 % 1024);
        const struct mete__policy *policy = mete__config_policy(config, name, (size_t)name_len);
        assert_ptr_equal(policy, &config->policies[i]);
        assert_int_equal(policy->index, i);
        assert_int_equal(policy->plans[0].limits[0].limit.count, i + 1);
    }
    assert_null(mete__config_policy(config, "p1024", 5));
    assert_null(mete__config_policy(config, "p", 1));
    assert_null(mete__config_policy(config, "", 0));
    assert_null(mete__config_policy(config, "p1\0x", 4));
    mete__config_destroy(config);
    snprintf(text + len, sizeof(text) - (size_t)len, "  one_more: {limits: {a: 1/s}}\n");
    refuse(text, "f:2:3: policies: 1025 given, at most 1024 taken");
}

static void test_users(void **state)
{
    (void)state;
    static const char with_password[] = "policies: {a: {limits: {b: 5/s}}, c: {limits: {b: 5/s}}}\n"
                                        "users:\n"
                                        "- {name: one, password: secret, policies: [c], may_bring_limits: true}\n"
                                        "- {name: two, password_sha256: "
                                        "2BB80D537B1DA3E38BD30361AA855686BDE0EACD7162FEF6A25FE97BF527A25B, policies: "
                                        "all, may_administer: true}\n";
    /* SHA-256 of "secret", as sha256sum says. */
    static const unsigned char digest[32] = {0x2b, 0xb8, 0x0d, 0x53, 0x7b, 0x1d, 0xa3, 0xe3, 0x8b, 0xd3, 0x03,
                                             0x61, 0xaa, 0x85, 0x56, 0x86, 0xbd, 0xe0, 0xea, 0xcd, 0x71, 0x62,
                                             0xfe, 0xf6, 0xa2, 0x5f, 0xe9, 0x7b, 0xf5, 0x27, 0xa2, 0x5b};
    struct mete__config *config = load(with_password);
    const struct mete__user *users = config->users;
    assert_int_equal(config->user_count, 3);
    assert_true(config->is_login_required);
    assert_string_equal(users[0].name, "default");
    assert_false(users[0].may_use_all || users[0].may_bring_limits || users[0].may_administer);
    assert_int_equal(users[0].policies[0], 0);
    assert_string_equal(users[1].name, "one");
    assert_true(users[1].has_password);
    assert_memory_equal(users[1].password_sha256, digest, 32);
    assert_int_equal(users[1].policies[0], 2);
    assert_true(users[1].may_bring_limits);
    assert_false(users[1].may_administer || users[1].may_use_all);
    assert_memory_equal(users[2].password_sha256, digest, 32);
    assert_true(users[2].may_use_all && users[2].may_administer);
    mete__config_destroy(config);
}

/* Wherever it stands in the list, "default" is the first. */
static void test_default_user(void **state)
{
    (void)state;
    struct mete__config *config = load("tls: {certificate: c, key: k, client_ca: a}\nusers:\n"
                                       "- {name: one, certificate_name: One Ltd, policies: none}\n"
                                       "- {name: default, policies: [a]}\n" POLICIES);
    assert_int_equal(config->user_count, 2);
    assert_false(config->is_login_required);
    assert_string_equal(config->users[0].name, "default");
    assert_int_equal(config->users[0].policies[0], 1);
    assert_false(config->users[0].may_bring_limits);
    assert_string_equal(config->users[1].name, "one");
    assert_string_equal(config->users[1].certificate_name, "One Ltd");
    assert_false(config->users[1].has_password);
    mete__config_destroy(config);
}

static void test_password_file(void **state)
{
    (void)state;
    static const struct {
        const char *content;
        bool is_right;
    } files[] = {{"secret", true}, {"secret\n", true}, {"secret\r\nmore", true}, {"\nsecret", false}, {"", false}};
    char path[] = "/tmp/mete-password-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char text[256];
        struct mete__config *config = NULL;
        size_t len = strlen(files[i].content);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, files[i].content, len, 0), len);
        snprintf(text, sizeof(text), "users: [{name: u, policies: none, password_file: %s}]\n", path);
        mete_status status = mete__config_parse("f", text, strlen(text), &config, why, sizeof(why));
        assert_int_equal(status == METE_OK, files[i].is_right);
        if (status == METE_OK) {
            assert_int_equal(config->users[1].password_sha256[0], 0x2b);
            assert_int_equal(config->users[1].password_sha256[31], 0x5b);
        } else {
            assert_string_equal(why, "f:1:50: password_file: its first line must have 1 to 512 bytes");
        }
        mete__config_destroy(config);
    }
    close(fd);
    unlink(path);
}

/* From a file: the same, and what the system says when there is none. */
static void test_load(void **state)
{
    (void)state;
    struct mete__config *config = NULL;
    char path[] = "/tmp/mete-config-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, POLICIES, sizeof(POLICIES) - 1), sizeof(POLICIES) - 1);
    assert_int_equal(mete__config_load(path, &config, why, sizeof(why)), METE_OK);
    assert_string_equal(config->path, path);
    mete__config_destroy(config);
    assert_int_equal(ftruncate(fd, ((off_t)1 << 20) + 1), 0);
    assert_int_equal(mete__config_load(path, &config, why, sizeof(why)), METE_EINVAL);
    assert_non_null(strstr(why, "the file is larger than 1048576 bytes"));
    close(fd);
    unlink(path);
    assert_int_equal(mete__config_load(path, &config, why, sizeof(why)), METE_EIO);
    assert_non_null(strstr(why, "cannot be opened: No such file or directory"));
    assert_int_equal(mete__config_load("/", &config, why, sizeof(why)), METE_EINVAL);
    assert_string_equal(why, "/: is not a regular file");
}

static void test_utf8(void **state)
{
    (void)state;
    struct mete__config *config = load("\xef\xbb\xbf# \xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xb2\r\n"
                                       "policies: {a: {limits: {b: 5/s}, plans: {p: {b: 6/s}}, "
                                       "overrides: [{key: \xc3\xa9, plan: p}, {key: \"a\\x1fb\", plan: p}]}}\r\n");
    assert_string_equal(mete__policy_plan(&config->policies[0], "\xc3\xa9", 2)->name, "p");
    assert_string_equal(mete__policy_plan(&config->policies[0],
                                          "a\x1f"
                                          "b",
                                          3)
                            ->name,
                        "p");
    mete__config_destroy(config);
}

/* Those of libyaml go through these two, which it lets a program replace. */
static size_t yaml_allocations_left = SIZE_MAX;

__attribute__((visibility("default"))) void *yaml_malloc(size_t size);
__attribute__((visibility("default"))) void *yaml_realloc(void *old, size_t size);

void *yaml_malloc(size_t size)
{
    return yaml_allocations_left == 0 || yaml_allocations_left-- == 0 ? NULL : malloc(size > 0 ? size : 1);
}

void *yaml_realloc(void *old, size_t size)
{
    return yaml_allocations_left == 0 || yaml_allocations_left-- == 0 ? NULL : realloc(old, size > 0 ? size : 1);
}

/* The n-th allocation of libyaml fails, for every n. */
static void test_yaml_memory(void **state)
{
    (void)state;
    static const char text[] = "# a comment\n" POLICIES "log: {\"keys\": true}\nstore:\n  path: >-\n    memory\n";
    size_t n = 0;
    struct mete__config *config = NULL;
    for (;; n++) {
        yaml_allocations_left = n;
        mete_status status = mete__config_parse("f", text, sizeof(text) - 1, &config, why, sizeof(why));
        bool is_spent = yaml_allocations_left == 0;
        yaml_allocations_left = SIZE_MAX;
        if (status == METE_OK) {
            break;
        }
        assert_true(is_spent);
        assert_int_equal(status, METE_ENOMEM);
        assert_string_equal(why, "f: no memory to read it");
        assert_null(config);
    }
    mete__config_destroy(config);
    assert_true(n > 20);
}

/* However much memory there is: all of it, or a sentence and nothing left behind
 * (the address sanitizer would tell). */
static void test_memory(void **state)
{
    (void)state;
    static const char text[] = "users: [{name: u, policies: [a], password: p}]\n"
                               "policies: {a: {limits: {b: 5/s}, plans: {p: {b: 6/s}}, key: [\"header:X\"], "
                               "overrides: [{key: x, plan: p}, {prefix: y, plan: p}]}}\n";
    size_t budget = 0;
    size_t failures = 0;
    struct mete__config *config = NULL;
    for (;; budget += 16) {
        mete_status status = mete__config_parse_within(budget, "f", text, sizeof(text) - 1, &config, why, sizeof(why));
        if (status == METE_OK) {
            break;
        }
        assert_int_equal(status, METE_ENOMEM);
        assert_string_equal(why, "f: no memory to read it");
        assert_null(config);
        failures++;
    }
    assert_true(failures > 100);
    assert_string_equal(mete__policy_plan(&config->policies[0], "yy", 2)->name, "p");
    mete__config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),      cmocka_unit_test(test_empty_sections),
        cmocka_unit_test(test_builtin),       cmocka_unit_test(test_daemon_values),
        cmocka_unit_test(test_policy_values), cmocka_unit_test(test_policy_by_name),
        cmocka_unit_test(test_users),         cmocka_unit_test(test_default_user),
        cmocka_unit_test(test_password_file), cmocka_unit_test(test_load),
        cmocka_unit_test(test_utf8),          cmocka_unit_test(test_memory),
        cmocka_unit_test(test_yaml_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Common and combined log lines: which are requests, and where their fields are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/log_clf.h"

#define TIME "[29/Feb/2024:00:00:01 +0000]"
#define TIME_NS (UINT64_C(1709164801) * 1000000000)
#define FULL "192.0.2.1 id me " TIME " \"GET /a/b?c=1&d HTTP/1.1\" 200 512 \"http://r/\" \"agent \\\"x\\\" 1\""

static enum mete__reason read_line(const char *line, size_t len, enum mete__clf_field key, enum mete__clf_field cost,
                                   struct mete__record *record)
{
    struct mete__clf clf;
    mete__clf_init(&clf, key, cost);
    return mete__clf_read(&clf, mete__text_of(line, len), record);
}

static void expect_reason(const char *line, enum mete__clf_field key, enum mete__clf_field cost,
                          enum mete__reason reason)
{
    struct mete__record record;
    enum mete__reason got = read_line(line, strlen(line), key, cost, &record);
    if (got != reason) {
        fail_msg("%s: %s, not %s", line, mete__reason_name(got), mete__reason_name(reason));
    }
}

static void expect_key(const char *line, enum mete__clf_field field, const char *key)
{
    struct mete__record record;
    assert_int_equal(read_line(line, strlen(line), field, METE__CLF_NONE, &record), METE__REASON_NONE);
    if (record.key_len != strlen(key) || memcmp(record.key, key, record.key_len) != 0) {
        fail_msg("%s: '%.*s', not '%s'", line, (int)record.key_len, record.key, key);
    }
    assert_int_equal(record.time_ns, TIME_NS);
    assert_int_equal(record.cost, 1);
}

static void lines_that_are_no_requests(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum mete__reason reason;
    } bad[] = {
        {"", METE__REASON_ADDRESS},
        {" ", METE__REASON_ADDRESS},
        {" \"curl/7.54.0\"", METE__REASON_ADDRESS},
        {"192.0.2.1", METE__REASON_ADDRESS},
        {"192.0.2.1\t- - " TIME " \"GET", METE__REASON_ADDRESS},
        {"\x01"
         "192.0.2.1 - - " TIME " \"GET",
         METE__REASON_ADDRESS},
        {"192.0.2.1 ", METE__REASON_NO_TIME},
        {"192.0.2.1 - - ", METE__REASON_NO_TIME},
        {"192.0.2.1 - - [", METE__REASON_NO_TIME},
        {"192.0.2.1 - - [29/Feb/2024:00:00:01 +0000", METE__REASON_NO_TIME},
        {"192.0.2.1 - - 29/Feb/2024:00:00:01 +0000 \"GET", METE__REASON_NO_TIME},
        {"192.0.2.1 - - [] \"GET /", METE__REASON_BAD_TIME},
        {"192.0.2.1 - - [29/Feb/2024:00:00:01] \"GET /", METE__REASON_BAD_TIME},
        {"192.0.2.1 - - [30/Feb/2024:00:00:01 +0000] \"GET /", METE__REASON_BAD_TIME},
        {"192.0.2.1 - - [31/Dec/1969:00:00:01 +0000] \"GET /", METE__REASON_TIME_RANGE},
        {"192.0.2.1 - - " TIME, METE__REASON_NO_REQUEST},
        {"192.0.2.1 - - " TIME " ", METE__REASON_NO_REQUEST},
        {"192.0.2.1 - - " TIME " \"", METE__REASON_NO_REQUEST},
        {"192.0.2.1 - - " TIME " \"\" 400 0", METE__REASON_NO_REQUEST},
        {"192.0.2.1 - - " TIME " GET / 200", METE__REASON_NO_REQUEST},
        /* With a host in front, its name would be taken for the client's address. */
        {"example.org:80 192.0.2.1 - - " TIME " \"GET /", METE__REASON_NO_TIME},
        {"192.0.2.1, 192.0.2.2 - - " TIME " \"GET /", METE__REASON_NO_TIME},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_reason(bad[i].line, METE__CLF_ADDRESS, METE__CLF_NONE, bad[i].reason);
    }
}

static void nul_bytes_before_a_line_are_no_address(void **state)
{
    (void)state;
    static const char line[] = "\0\0\0"
                               "192.0.2.1 - - " TIME " \"GET / HTTP/1.1\" 200 1";
    struct mete__record record;
    assert_int_equal(read_line(line, sizeof(line) - 1, METE__CLF_ADDRESS, METE__CLF_NONE, &record),
                     METE__REASON_ADDRESS);
}

/* What is cut off after the first character of the request does not matter:
 * every longer beginning of a line is a request, every shorter one is not. */
static void a_line_may_be_cut_anywhere_after_the_request_began(void **state)
{
    (void)state;
    size_t enough = strlen("192.0.2.1 id me " TIME " \"G");
    for (size_t len = 0; len <= strlen(FULL); len++) {
        struct mete__record record;
        enum mete__reason got = read_line(FULL, len, METE__CLF_ADDRESS, METE__CLF_NONE, &record);
        assert_int_equal(got == METE__REASON_NONE, len >= enough);
    }
}

static void odd_lines_that_are_requests(void **state)
{
    (void)state;
    expect_key("::1 - - " TIME " \"G", METE__CLF_ADDRESS, "::1");
    expect_key("2001:db8::1 - - " TIME " \"-\" 408 0", METE__CLF_ADDRESS, "2001:db8::1");
    expect_key("client.example.org - - " TIME " \"\\x16\\x03\" 400 0", METE__CLF_ADDRESS, "client.example.org");
    expect_key("192.0.2.1 - John Smith " TIME " \"GET /", METE__CLF_ADDRESS, "192.0.2.1");
    expect_key("192.0.2.1 - John Smith " TIME " \"GET /", METE__CLF_USER, "John Smith");
    expect_key("192.0.2.1 - - " TIME "  \"GET /", METE__CLF_ADDRESS, "192.0.2.1");
    expect_key("192.0.2.1 " TIME " \"GET /", METE__CLF_ADDRESS, "192.0.2.1");
    expect_key("\xff\xfe - - " TIME " \"GET /", METE__CLF_ADDRESS, "\xff\xfe");
}

static void every_field_is_found(void **state)
{
    (void)state;
    static const struct {
        enum mete__clf_field field;
        const char *name;
        const char *value;
    } fields[] = {
        {METE__CLF_ADDRESS, "address", "192.0.2.1"},
        {METE__CLF_IDENT, "ident", "id"},
        {METE__CLF_USER, "user", "me"},
        {METE__CLF_TIME, "time", "29/Feb/2024:00:00:01 +0000"},
        {METE__CLF_METHOD, "method", "GET"},
        {METE__CLF_PATH, "path", "/a/b"},
        {METE__CLF_STATUS, "status", "200"},
        {METE__CLF_BYTES, "bytes", "512"},
        {METE__CLF_REFERER, "referer", "http://r/"},
        {METE__CLF_AGENT, "agent", "agent \\\"x\\\" 1"},
    };
    assert_int_equal(sizeof(fields) / sizeof(fields[0]), METE__CLF_FIELDS - 1);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        enum mete__clf_field found;
        assert_true(mete__clf_field_find(fields[i].name, &found));
        assert_int_equal(found, fields[i].field);
        assert_string_equal(mete__clf_field_name(found), fields[i].name);
        expect_key(FULL, found, fields[i].value);
    }
    enum mete__clf_field found;
    assert_false(mete__clf_field_find("host", &found));
    assert_false(mete__clf_field_find("", &found));
}

/* A field that is cut off must not become a shorter key of its own. */
static void a_key_that_is_cut_off_is_missing(void **state)
{
    (void)state;
    expect_reason("192.0.2.1 - - " TIME " \"GET /a", METE__CLF_PATH, METE__CLF_NONE, METE__REASON_NO_KEY);
    expect_reason("192.0.2.1 - - " TIME " \"GET / HTTP/1.1\"", METE__CLF_STATUS, METE__CLF_NONE, METE__REASON_NO_KEY);
    expect_reason("192.0.2.1 - - " TIME " \"GET / HTTP/1.1\" 200 1 \"-\" \"agent", METE__CLF_AGENT, METE__CLF_NONE,
                  METE__REASON_NO_KEY);
    expect_reason("192.0.2.1 - - " TIME " \"GET / HTTP/1.1\" 200 1 \"-\" \"agent\\\"", METE__CLF_AGENT, METE__CLF_NONE,
                  METE__REASON_NO_KEY);
    expect_reason("192.0.2.1 " TIME " \"GET /", METE__CLF_USER, METE__CLF_NONE, METE__REASON_NO_KEY);
    expect_reason("192.0.2.1 - - " TIME " \"GET\" 400 0", METE__CLF_PATH, METE__CLF_NONE, METE__REASON_NO_KEY);
}

static void costs(void **state)
{
    (void)state;
    struct mete__record record;
    assert_int_equal(read_line(FULL, strlen(FULL), METE__CLF_ADDRESS, METE__CLF_BYTES, &record), METE__REASON_NONE);
    assert_int_equal(record.cost, 512);
    expect_reason("192.0.2.1 - - " TIME " \"GET / HTTP/1.1\" 304 -", METE__CLF_ADDRESS, METE__CLF_BYTES,
                  METE__REASON_BAD_COST);
    expect_reason("192.0.2.1 - - " TIME " \"GET / HTTP/1.1\" 304", METE__CLF_ADDRESS, METE__CLF_BYTES,
                  METE__REASON_NO_COST);
    expect_reason("192.0.2.1 - - " TIME " \"GET / HTTP/1.1\" 200 18446744073709551616", METE__CLF_ADDRESS,
                  METE__CLF_BYTES, METE__REASON_BAD_COST);
    expect_reason("192.0.2.1 - - " TIME " \"GET / HTTP/1.1\" 200 -1", METE__CLF_ADDRESS, METE__CLF_BYTES,
                  METE__REASON_BAD_COST);
    const char *most = "192.0.2.1 - - " TIME " \"GET / HTTP/1.1\" 200 18446744073709551615";
    assert_int_equal(read_line(most, strlen(most), METE__CLF_NONE, METE__CLF_BYTES, &record), METE__REASON_NONE);
    assert_int_equal(record.cost, UINT64_MAX);
    assert_int_equal(record.key_len, 0);
}

/* The time read last is remembered: a line must never be given its neighbour's. */
static void the_remembered_time_is_its_own(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "a - - [29/Feb/2024:00:00:01 +0000] \"G",   "a - - [29/Feb/2024:00:00:02 +0000] \"G",
        "a - - [29/Feb/2024:01:00:02 +0100] \"G",   "a - - [29/Feb/2024:00:00:02 +0000] \"G",
        "a - - [30/Feb/2024:00:00:02 +0000] \"G",   "a - - [29/Feb/2024:00:00:02 +0000] \"G",
        "a - - [29/Feb/2024:00:00:02.5 +0000] \"G",
    };
    static const uint64_t halves[] = {0, 2, 2, 2, UINT64_MAX, 2, 3};
    struct mete__clf clf;
    mete__clf_init(&clf, METE__CLF_ADDRESS, METE__CLF_NONE);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct mete__record record;
        enum mete__reason reason = mete__clf_read(&clf, mete__text_of(lines[i], strlen(lines[i])), &record);
        assert_int_equal(reason, halves[i] == UINT64_MAX ? METE__REASON_BAD_TIME : METE__REASON_NONE);
        if (reason == METE__REASON_NONE) {
            assert_int_equal(record.time_ns, TIME_NS + halves[i] * 500000000);
        }
    }
}

static void combined_has_an_agent(void **state)
{
    (void)state;
    static const char common[] = "192.0.2.1 - - " TIME " \"GET / HTTP/1.1\" 200 1";
    assert_true(mete__clf_is_combined(mete__text_of(FULL, strlen(FULL))));
    assert_false(mete__clf_is_combined(mete__text_of(common, strlen(common))));
    assert_false(mete__clf_is_combined(mete__text_of("x", 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_no_requests),
        cmocka_unit_test(nul_bytes_before_a_line_are_no_address),
        cmocka_unit_test(a_line_may_be_cut_anywhere_after_the_request_began),
        cmocka_unit_test(odd_lines_that_are_requests),
        cmocka_unit_test(every_field_is_found),
        cmocka_unit_test(a_key_that_is_cut_off_is_missing),
        cmocka_unit_test(costs),
        cmocka_unit_test(the_remembered_time_is_its_own),
        cmocka_unit_test(combined_has_an_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

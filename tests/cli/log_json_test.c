/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines: what is no request, then which bytes are the key, the time and the cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/log_json.h"

#define TIME_NS (UINT64_C(1709164800) * 1000000000)

static void expect_reason(const char *line, enum mete__reason reason)
{
    struct mete__json json;
    struct mete__record record;
    mete__json_init(&json, "key", "when", "units");
    enum mete__reason got = mete__json_read(&json, mete__text_of(line, strlen(line)), &record);
    mete__json_clear(&json);
    if (got != reason) {
        fail_msg("%s: %s, not %s", line, mete__reason_name(got), mete__reason_name(reason));
    }
}

static void expect_record(const char *line, const char *key_name, const char *key, size_t key_len, uint64_t time_ns,
                          uint64_t cost)
{
    struct mete__json json;
    struct mete__record record;
    mete__json_init(&json, key_name, "when", cost == 1 ? NULL : "units");
    enum mete__reason got = mete__json_read(&json, mete__text_of(line, strlen(line)), &record);
    if (got != METE__REASON_NONE) {
        fail_msg("%s: %s", line, mete__reason_name(got));
    }
    assert_int_equal(record.key_len, key_len);
    assert_memory_equal(record.key, key, key_len);
    assert_int_equal(record.time_ns, time_ns);
    assert_int_equal(record.cost, cost);
    mete__json_clear(&json);
}

#define EXPECT_KEY(line, name, key) expect_record(line, name, key, sizeof(key) - 1, TIME_NS, 1)

static void lines_that_are_no_objects(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        " ",
        "{",
        "}",
        "[1, 2]",
        "3",
        "null",
        "\"text\"",
        "not json",
        "{\"key\": \"a\", \"when",
        "{'key': 'a'}",
        "{\"key\": \"a\", \"when\": 1709164800, \"units\": 1",
        "{\"key\": \"a\", \"when\": 1, \"units\": 1} x",
        "{\"key\": \"a\", \"when\": NaN, \"units\": 1}",
        "{\"key\": \"\xff\", \"when\": 1, \"units\": 1}",
        "{\"key\": \"a\", \"when\": 01, \"units\": 1}",
        "{\"key\": \"a\", \"when\": 1,}",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        expect_reason(lines[i], METE__REASON_JSON);
    }
}

/* jansson alone would overlook the first of these. */
static void nul_bytes_are_refused(void **state)
{
    (void)state;
    static const char after_number[] = "{\"when\": 1709164800\0, \"key\": \"a\", \"units\": 1}";
    static const char in_text[] = "{\"when\": 1709164800, \"key\": \"a\0\", \"units\": 1}";
    struct mete__json json;
    struct mete__record record;
    mete__json_init(&json, "key", "when", "units");
    assert_int_equal(mete__json_read(&json, mete__text_of(after_number, sizeof(after_number) - 1), &record),
                     METE__REASON_NUL);
    assert_int_equal(mete__json_read(&json, mete__text_of(in_text, sizeof(in_text) - 1), &record), METE__REASON_NUL);
    mete__json_clear(&json);
}

static void members_that_are_missing_or_wrong(void **state)
{
    (void)state;
    expect_reason("{}", METE__REASON_NO_KEY);
    expect_reason("{\"when\": 1709164800, \"units\": 1}", METE__REASON_NO_KEY);
    expect_reason("{\"key\": null, \"when\": 1709164800, \"units\": 1}", METE__REASON_NO_KEY);
    expect_reason("{\"key\": true, \"when\": 1709164800, \"units\": 1}", METE__REASON_NO_KEY);
    expect_reason("{\"key\": [\"a\"], \"when\": 1709164800, \"units\": 1}", METE__REASON_NO_KEY);
    expect_reason("{\"key\": \"\", \"when\": 1709164800, \"units\": 1}", METE__REASON_NO_KEY);
    expect_reason("{\"Key\": \"a\", \"when\": 1709164800, \"units\": 1}", METE__REASON_NO_KEY);
    expect_reason("{\"key\": \"a\", \"units\": 1}", METE__REASON_NO_TIME);
    expect_reason("{\"key\": \"a\", \"when\": null, \"units\": 1}", METE__REASON_BAD_TIME);
    expect_reason("{\"key\": \"a\", \"when\": \"soon\", \"units\": 1}", METE__REASON_BAD_TIME);
    expect_reason("{\"key\": \"a\", \"when\": {\"s\": 1}, \"units\": 1}", METE__REASON_BAD_TIME);
    expect_reason("{\"key\": \"a\", \"when\": -1, \"units\": 1}", METE__REASON_TIME_RANGE);
    expect_reason("{\"key\": \"a\", \"when\": 1709164800}", METE__REASON_NO_COST);
    expect_reason("{\"key\": \"a\", \"when\": 1709164800, \"units\": -1}", METE__REASON_BAD_COST);
    expect_reason("{\"key\": \"a\", \"when\": 1709164800, \"units\": 1.0}", METE__REASON_BAD_COST);
    expect_reason("{\"key\": \"a\", \"when\": 1709164800, \"units\": 1e3}", METE__REASON_BAD_COST);
    expect_reason("{\"key\": \"a\", \"when\": 1709164800, \"units\": \"\"}", METE__REASON_BAD_COST);
    expect_reason("{\"key\": \"a\", \"when\": 1709164800, \"units\": null}", METE__REASON_BAD_COST);
    expect_reason("{\"key\": \"a\", \"when\": 1709164800, \"units\": 18446744073709551616}", METE__REASON_BAD_COST);
}

/* A double would make 1709164800.123456716 of the first. */
static void numbers_are_exact(void **state)
{
    (void)state;
    expect_record("{\"key\":\"a\",\"when\":1709164800.123456789}", "key", "a", 1, TIME_NS + 123456789, 1);
    expect_record("{\"key\":\"a\",\"when\":1709164800123456789}", "key", "a", 1, TIME_NS + 123456789, 1);
    expect_record("{\"key\":\"a\",\"when\":1709164800,\"units\":18446744073709551615}", "key", "a", 1, TIME_NS,
                  UINT64_MAX);
    expect_record("{\"key\":\"a\",\"when\":1709164800,\"units\":\"12\"}", "key", "a", 1, TIME_NS, 12);
    expect_record("{\"key\":\"a\",\"when\":1709164800,\"units\":9007199254740993}", "key", "a", 1, TIME_NS,
                  UINT64_C(9007199254740993));
    /* A number that nobody asked for may have any size. */
    EXPECT_KEY("{\"trace\":340282366920938463463374607431768211455,\"key\":\"a\",\"when\":1709164800}", "key", "a");
}

static void keys_are_decoded(void **state)
{
    (void)state;
    EXPECT_KEY("{\"key\":\"a\\\"b\\\\c\\u00e9\\ud83d\\ude00\",\"when\":1709164800}", "key",
               "a\"b\\c\xc3\xa9\xf0\x9f\x98\x80");
    EXPECT_KEY("{\"key\":\"a\\u0000b\",\"when\":1709164800}", "key", "a\0b");
    EXPECT_KEY("{\"key\":12345678901234567890,\"when\":1709164800}", "key", "12345678901234567890");
    EXPECT_KEY("{\"key\":1.50,\"when\":1709164800}", "key", "1.50");
    EXPECT_KEY("{\"when\":1709164800}", NULL, "");
}

static void the_right_member_is_found(void **state)
{
    (void)state;
    EXPECT_KEY("{\"other\": {\"key\": \"wrong\", \"when\": 5, \"list\": [1, {\"when\": 6}, \"}\"]}, \"key\": \"a\", "
               "\"text\": \"\\\"when\\\": 7, \\\\\", \"when\" : 1709164800 , \"last\": []}",
               "key", "a");
    /* Of two members with one name the last counts, for numbers as for texts. */
    EXPECT_KEY("{\"when\":5,\"key\":\"wrong\",\"key\":\"a\",\"when\":1709164800}", "key", "a");
    EXPECT_KEY("{\"key\":1,\"key\":22,\"when\":1709164800}", "key", "22");
}

static void dots_lead_into_objects(void **state)
{
    (void)state;
    static const char nested[] = "{\"request\":{\"id\":9,\"remote\":{\"ip\":\"a\",\"port\":80}},\"when\":1709164800}";
    EXPECT_KEY(nested, "request.remote.ip", "a");
    EXPECT_KEY(nested, "request.remote.port", "80");
    /* A member that has the dots in its own name comes first. */
    EXPECT_KEY("{\"request\":{\"ip\":\"wrong\"},\"request.ip\":\"a\",\"when\":1709164800}", "request.ip", "a");
    EXPECT_KEY("{\"a\":{\"b.c\":7},\"when\":1709164800}", "a.b.c", "7");

    static const char *const missing[] = {"request.port", "request.ip.x", "request.", ".ip", "nothing.ip", "."};
    static const char line[] = "{\"request\":{\"ip\":\"a\"},\"when\":1709164800}";
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
        struct mete__json json;
        struct mete__record record;
        mete__json_init(&json, missing[i], "when", NULL);
        assert_int_equal(mete__json_read(&json, mete__text_of(line, strlen(line)), &record), METE__REASON_NO_KEY);
        mete__json_clear(&json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_no_objects),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(members_that_are_missing_or_wrong),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(keys_are_decoded),
        cmocka_unit_test(the_right_member_is_found),
        cmocka_unit_test(dots_lead_into_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

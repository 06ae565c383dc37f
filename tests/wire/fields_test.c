/* SPDX-License-Identifier: Apache-2.0 */
/* Rate limit fields in each style, to the letter; Retry-After; problem details; their pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/base64.h"
#include "wire/fields.h"
#include "wire/json.h"
#include "wire/problem.h"
#include "wire/structured.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define NONE METE__FIELDS_UNKNOWN

static struct mete__span span(const char *text)
{
    return mete__span_of(text, strlen(text));
}

static struct mete__fields_limit limit(const char *name, uint64_t capacity, uint64_t window_s, uint64_t remaining,
                                       uint64_t next_unit_ns)
{
    return (struct mete__fields_limit){.name = span(name),
                                       .capacity = capacity,
                                       .window_s = window_s,
                                       .remaining = remaining,
                                       .next_unit_ns = next_unit_ns};
}

static void expect_out(struct mete__out *out, const char *expected)
{
    assert_false(out->is_failed);
    if (out->len != strlen(expected) || (out->len > 0 && memcmp(out->bytes, expected, out->len) != 0)) {
        fail_msg("'%.*s', not '%s'", (int)out->len, out->bytes, expected);
    }
    mete__out_clear(out);
}

static void expect_fields(unsigned styles, const struct mete__fields_limit *limits, size_t count, const char *expected)
{
    struct mete__out out;
    mete__out_init(&out, 65536);
    mete__out_text(&out, "\n");
    mete__fields_write(&out, styles, limits, count, 1700000000 * S + 1);
    mete__out_text(&out, "\n");
    expect_out(&out, expected);
}

/* 100 per 60 s, burst 100: the first request leaves 99, and the next unit comes in 0.6 s. */
static void golden_first_request(void **state)
{
    (void)state;
    struct mete__fields_limit first = limit("perip", 100, 60, 99, 600 * MS);
    expect_fields(METE__FIELDS_DRAFT_10, &first, 1,
                  "\nRateLimit-Policy: \"perip\";q=100;w=60\r\nRateLimit: \"perip\";r=99;t=1\r\n\n");
}

static void golden_denied(void **state)
{
    (void)state;
    struct mete__fields_limit denied = limit("perip", 100, 60, 0, 500 * MS);
    denied.retry_after_ns = 500 * MS;
    expect_fields(METE__FIELDS_DRAFT_10, &denied, 1,
                  "\nRateLimit-Policy: \"perip\";q=100;w=60\r\nRateLimit: \"perip\";r=0;t=1\r\n\n");
    assert_int_equal(mete__fields_retry_after(&denied, 1), 1);
}

static void golden_two_limits(void **state)
{
    (void)state;
    struct mete__fields_limit limits[] = {limit("sec", 5, 1, 3, 200 * MS), limit("day", 1000, 86400, 0, 7100 * MS)};
    limits[1].retry_after_ns = 7100 * MS;
    expect_fields(METE__FIELDS_DRAFT_10, limits, 2,
                  "\nRateLimit-Policy: \"sec\";q=5;w=1, \"day\";q=1000;w=86400\r\n"
                  "RateLimit: \"sec\";r=3;t=1, \"day\";r=0;t=8\r\n\n");
    assert_int_equal(mete__fields_retry_after(limits, 2), 8);
}

static void golden_idle_key(void **state)
{
    (void)state;
    struct mete__fields_limit idle = limit("perip", 100, 60, 100, 0);
    expect_fields(METE__FIELDS_DRAFT_10, &idle, 1,
                  "\nRateLimit-Policy: \"perip\";q=100;w=60\r\nRateLimit: \"perip\";r=100\r\n\n");
}

static void golden_names_and_bounds(void **state)
{
    (void)state;
    struct mete__fields_limit quoted = limit("a\"b", 2, 1, 1, 1);
    expect_fields(METE__FIELDS_DRAFT_10, &quoted, 1,
                  "\nRateLimit-Policy: \"a\\\"b\";q=2;w=1\r\nRateLimit: \"a\\\"b\";r=1;t=1\r\n\n");
    struct mete__fields_limit huge = limit("h", UINT64_C(1000000000000000000), UINT64_MAX, UINT64_MAX - 1, 1);
    expect_fields(METE__FIELDS_DRAFT_10, &huge, 1,
                  "\nRateLimit-Policy: \"h\";q=999999999999999;w=999999999999999\r\n"
                  "RateLimit: \"h\";r=999999999999999\r\n\n");
    struct mete__fields_limit keyed = limit("k", 9, 1, 9, 0);
    keyed.partition = mete__span_of("\xff\x00", 2);
    expect_fields(METE__FIELDS_DRAFT_10, &keyed, 1,
                  "\nRateLimit-Policy: \"k\";q=9;w=1;pk=:/wA=:\r\nRateLimit: \"k\";r=9;pk=:/wA=:\r\n\n");
}

/* One name that cannot be serialised does not hide the others. */
static void names_that_cannot_be_sent(void **state)
{
    (void)state;
    struct mete__fields_limit limits[] = {limit("b\xc3\xa4", 5, 1, 3, NONE), limit("fine", 5, 1, 3, NONE)};
    expect_fields(METE__FIELDS_DRAFT_10, limits, 2,
                  "\nRateLimit-Policy: \"fine\";q=5;w=1\r\nRateLimit: \"fine\";r=3\r\n\n");
    expect_fields(METE__FIELDS_DRAFT_10, limits, 1, "\n\n");
    expect_fields(METE__FIELDS_DRAFT_10, limits, 0, "\n\n");
}

static void older_styles(void **state)
{
    (void)state;
    struct mete__fields_limit limits[] = {limit("sec", 10, 1, 3, 1), limit("min", 50, 60, 2, 1),
                                          limit("too", 10, 5, 9, 1)};
    limits[0].reset_after_ns = 700 * MS;
    limits[1].reset_after_ns = 57001 * MS;
    expect_fields(METE__FIELDS_DRAFT_06, limits, 3,
                  "\nRateLimit-Policy: 10;w=1, 50;w=60\r\nRateLimit-Limit: 50\r\nRateLimit-Remaining: 2\r\n"
                  "RateLimit-Reset: 58\r\n\n");
    expect_fields(METE__FIELDS_DRAFT_07, limits, 3,
                  "\nRateLimit-Policy: 10;w=1, 50;w=60\r\nRateLimit: limit=50, remaining=2, reset=58\r\n\n");
    expect_fields(METE__FIELDS_X_DELTA, limits, 3,
                  "\nX-RateLimit-Limit: 50\r\nX-RateLimit-Remaining: 2\r\nX-RateLimit-Reset: 58\r\n\n");
    /* 1700000000.000000001 + 57.001 */
    expect_fields(METE__FIELDS_X_EPOCH, limits, 3,
                  "\nX-RateLimit-Limit: 50\r\nX-RateLimit-Remaining: 2\r\nX-RateLimit-Reset: 1700000058\r\n\n");
    /* a full bucket: these clients expect a reset always */
    struct mete__fields_limit idle = limit("x", 7, 2, 7, 0);
    expect_fields(
        METE__FIELDS_DRAFT_06, &idle, 1,
        "\nRateLimit-Policy: 7;w=2\r\nRateLimit-Limit: 7\r\nRateLimit-Remaining: 7\r\nRateLimit-Reset: 0\r\n\n");
    expect_fields(METE__FIELDS_DRAFT_07, &idle, 1,
                  "\nRateLimit-Policy: 7;w=2\r\nRateLimit: limit=7, remaining=7, reset=0\r\n\n");
}

static void the_coming_style_and_several_at_once(void **state)
{
    (void)state;
    struct mete__fields_limit one = limit("burst", 100, 60, 80, 45 * S);
    one.reset_after_ns = 50 * S;
    expect_fields(METE__FIELDS_DRAFT_12, &one, 1,
                  "\nRateLimit-Policy: \"burst\";q=100;w=60\r\nRateLimit: \"burst\";a=80;w=45\r\n\n");
    expect_fields(METE__FIELDS_DRAFT_10 | METE__FIELDS_DRAFT_12, &one, 1,
                  "\nRateLimit-Policy: \"burst\";q=100;w=60\r\nRateLimit: \"burst\";r=80;t=45;a=80;w=45\r\n\n");
    expect_fields(METE__FIELDS_DRAFT_06 | METE__FIELDS_DRAFT_07 | METE__FIELDS_DRAFT_10 | METE__FIELDS_X_DELTA |
                      METE__FIELDS_X_EPOCH,
                  &one, 1,
                  "\nRateLimit-Policy: \"burst\";q=100;w=60\r\nRateLimit: \"burst\";r=80;t=45\r\n"
                  "RateLimit-Limit: 100\r\nRateLimit-Remaining: 80\r\nRateLimit-Reset: 50\r\n"
                  "X-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: 80\r\nX-RateLimit-Reset: 50\r\n\n");
    expect_fields(0, &one, 1, "\n\n");
}

/* A window below a second, more remaining than there can be, times near the end of time. */
static void odd_numbers(void **state)
{
    (void)state;
    struct mete__fields_limit odd = limit("o", 5, 0, 9, 1);
    expect_fields(METE__FIELDS_DRAFT_10, &odd, 1, "\nRateLimit-Policy: \"o\";q=5;w=1\r\nRateLimit: \"o\";r=5\r\n\n");
    odd.reset_after_ns = UINT64_MAX;
    expect_fields(METE__FIELDS_X_EPOCH, &odd, 1,
                  "\nX-RateLimit-Limit: 5\r\nX-RateLimit-Remaining: 5\r\nX-RateLimit-Reset: 999999999999999\r\n\n");
}

static void waits_are_rounded_up(void **state)
{
    (void)state;
    static const uint64_t waits[][2] = {{1, 1},         {MS, 1},        {105 * MS, 1},
                                        {999 * MS, 1},  {1000 * MS, 1}, {1000 * MS + 1, 2},
                                        {1001 * MS, 2}, {20 * S, 20},   {UINT64_MAX - 1, UINT64_MAX / S + 1}};
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        struct mete__fields_limit denied = limit("x", 1, 1, 0, NONE);
        denied.retry_after_ns = waits[i][0];
        assert_int_equal(mete__fields_retry_after(&denied, 1), waits[i][1]);
    }
    /* the longest over those that deny; one that can never pass: none */
    struct mete__fields_limit limits[] = {limit("a", 1, 1, 0, NONE), limit("b", 1, 1, 0, 90 * S),
                                          limit("c", 9, 1, 5, 99 * S)};
    limits[0].retry_after_ns = 7 * S;
    limits[1].retry_after_ns = 3 * S;
    assert_int_equal(mete__fields_retry_after(limits, 1), 7);
    assert_int_equal(mete__fields_retry_after(limits, 3), 90); /* not earlier than its t; "c" does not deny */
    limits[2].retry_after_ns = UINT64_MAX;
    assert_int_equal(mete__fields_retry_after(limits, 3), 0);
}

static void problems_are_written(void **state)
{
    (void)state;
    struct mete__out out;
    mete__out_init(&out, 65536);
    struct mete__span names[] = {{"daily", 5}, {"a\"b", 3}};
    struct mete__problem quota = {
        .type = METE__PROBLEM_QUOTA, .title = "Quota Exceeded", .status = 429, .violated = names, .violated_count = 2};
    mete__problem_write(&out, &quota);
    expect_out(&out, "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\","
                     "\"title\":\"Quota Exceeded\",\"status\":429,\"violated-policies\":[\"daily\",\"a\\\"b\"]}");
    struct mete__problem plain = {.status = 404, .detail = span("no 'x'")};
    mete__problem_write(&out, &plain);
    expect_out(&out, "{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404,\"detail\":\"no 'x'\"}");
}

static void json_strings_are_utf8(void **state)
{
    (void)state;
    struct mete__out out;
    mete__out_init(&out, 65536);
    mete__json_string(&out, mete__span_of("a\0\"\\\n\x7f\xc3\xa4\xff\xc0\x80\xed\xa0\x80|", 15));
    expect_out(&out,
               "\"a\\u0000\\\"\\\\\\u000a\\u007f\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
               "\xef\xbf\xbd|\"");
    static const char *const good[] = {
        "", "a", "\xc2\x80", "\xe0\xa0\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xc1\x80",
                                      "\xc2",
                                      "\xe0\x9f\x80",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\x80\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xe1\x80",
                                      "\xff"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(mete__is_utf8(span(good[i])));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(mete__is_utf8(span(bad[i])));
    }
    mete__json_ms(&out, 1);
    mete__json_ms(&out, UINT64_MAX);
    mete__json_ms(&out, 0);
    expect_out(&out, "1null0");
}

static void base64_both_ways(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"", ""},        {"f", "Zg=="},        {"ba", "YmE="},
                                           {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe\xfd", "//79"}};
    struct mete__out out;
    char scratch[16];
    struct mete__span bytes;
    mete__out_init(&out, 65536);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        mete__base64_write(&out, span(pairs[i][0]));
        expect_out(&out, pairs[i][1]);
        assert_true(mete__base64_read(span(pairs[i][1]), scratch, &bytes));
        assert_true(mete__span_is(bytes, pairs[i][0]));
    }
    static const char *const bad[] = {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Zg==Zg==", "Zm 9", "Zm-_", "=g=="};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mete__base64_read(span(bad[i]), scratch, &bytes)) {
            fail_msg("'%s' was read", bad[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_first_request),
        cmocka_unit_test(golden_denied),
        cmocka_unit_test(golden_two_limits),
        cmocka_unit_test(golden_idle_key),
        cmocka_unit_test(golden_names_and_bounds),
        cmocka_unit_test(names_that_cannot_be_sent),
        cmocka_unit_test(older_styles),
        cmocka_unit_test(the_coming_style_and_several_at_once),
        cmocka_unit_test(odd_numbers),
        cmocka_unit_test(waits_are_rounded_up),
        cmocka_unit_test(problems_are_written),
        cmocka_unit_test(json_strings_are_utf8),
        cmocka_unit_test(base64_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

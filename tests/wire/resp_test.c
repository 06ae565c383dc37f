/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/resp.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct mete__resp_bounds bounds = {.bulk_max = 64, .args_max = 40};

static enum mete__resp_result read_text(const char *text, size_t len, struct mete__resp_request *request,
                                        size_t *consumed, const char **error)
{
    *consumed = 0;
    *error = NULL;
    return mete__resp_read(text, len, &bounds, request, consumed, error);
}

/* The first request of the text, its arguments joined by '|'. */
static void joined(const char *text, size_t len, char *out)
{
    struct mete__resp_request request;
    size_t consumed;
    const char *error;
    assert_int_equal(read_text(text, len, &request, &consumed, &error), METE__RESP_DONE);
    *out = '\0';
    for (size_t i = 0; i < request.count && i < METE__RESP_ARGS_MAX; i++) {
        strncat(out, request.args[i].at, request.args[i].len);
        strcat(out, i + 1 < request.count ? "|" : "");
    }
}

static void whole_requests(void **state)
{
    (void)state;
    static const struct {
        const char *text, *joined;
    } cases[] = {
        {"*1\r\n$4\r\nPING\r\n", "PING"},
        {"*2\r\n$4\r\nECHO\r\n$5\r\na b\r\n\r\n", "ECHO|a b\r\n"},
        {"*2\r\n$3\r\nDEL\r\n$0\r\n\r\n", "DEL|"},
        {"PING\r\n", "PING"},
        {"  CL.THROTTLE \t k 1  2 3\n", "CL.THROTTLE|k|1|2|3"},
        {"\r\n", ""},
        {"*0\r\n", ""},
        {"*-1\r\n", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[256];
        joined(cases[i].text, strlen(cases[i].text), text);
        assert_string_equal(text, cases[i].joined);
    }
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum mete__resp_result result;
    } cases[] = {
        {"*x\r\n", METE__RESP_MALFORMED},
        {"*1\n$4\r\n", METE__RESP_MALFORMED},
        {"*\r\n", METE__RESP_MALFORMED},
        {"*1\r\n+PING\r\n", METE__RESP_MALFORMED},
        {"*1\r\n$-1\r\n", METE__RESP_MALFORMED},
        {"*1\r\n$04\r\nPINGxx", METE__RESP_MALFORMED},
        {"*1\r\n$3\r\nPING\r\n", METE__RESP_MALFORMED},
        {"*1\r\n$99999999999999999999\r\n", METE__RESP_MALFORMED},
        {"*1\r\n$65\r\n", METE__RESP_TOO_LARGE},
        {"*41\r\n", METE__RESP_TOO_LARGE},
        {"SET \"a b\"\r\n", METE__RESP_MALFORMED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mete__resp_request request;
        size_t consumed;
        const char *error;
        enum mete__resp_result result = read_text(cases[i].text, strlen(cases[i].text), &request, &consumed, &error);
        if (result != cases[i].result || error == NULL) {
            fail_msg("%s: %d", cases[i].text, result);
        }
        assert_int_equal(consumed, 0);
    }
}

/* Whatever comes first, the rest of a pipeline gives the same requests: at every byte it is either MORE or done. */
static void split_at_every_byte(void **state)
{
    (void)state;
    static const char text[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\0\r\n*\r\nPING x\r\n*0\r\n*1\r\n$4\r\nQUIT\r\n";
    size_t len = sizeof text - 1;
    for (size_t split = 0; split <= len; split++) {
        size_t at = 0, requests = 0;
        for (size_t end = split;; end = len) {
            struct mete__resp_request request;
            size_t consumed;
            const char *error;
            while (at < end) {
                char *copy = malloc(end - at); /* an overrun is found by the sanitizer */
                memcpy(copy, text + at, end - at);
                enum mete__resp_result result = read_text(copy, end - at, &request, &consumed, &error);
                free(copy);
                if (result == METE__RESP_MORE) {
                    break;
                }
                assert_int_equal(result, METE__RESP_DONE);
                at += consumed;
                requests++;
            }
            if (end == len) {
                break;
            }
        }
        assert_int_equal(at, len);
        assert_int_equal(requests, 4);
    }
}

/* A request that does not end is never asked for more than its bound. */
static void endless(void **state)
{
    (void)state;
    char text[4096];
    struct mete__resp_request request;
    size_t consumed;
    const char *error;
    memset(text, 'x', sizeof text);
    assert_int_equal(read_text(text, bounds.bulk_max + 1, &request, &consumed, &error), METE__RESP_MORE);
    assert_int_equal(read_text(text, sizeof text, &request, &consumed, &error), METE__RESP_TOO_LARGE);
    memset(text, '0', sizeof text);
    text[0] = '*';
    assert_int_equal(read_text(text, sizeof text, &request, &consumed, &error), METE__RESP_MALFORMED);
}

static void more_arguments_than_kept(void **state)
{
    (void)state;
    char text[1024] = "*33\r\n";
    struct mete__resp_request request;
    size_t consumed;
    const char *error;
    for (int i = 0; i < 33; i++) {
        strcat(text, "$1\r\na\r\n");
    }
    assert_int_equal(read_text(text, strlen(text), &request, &consumed, &error), METE__RESP_DONE);
    assert_int_equal(request.count, 33);
    assert_int_equal(consumed, strlen(text));
}

static void integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_right;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-1", true, -1},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"-0", false, 0},
        {"00", false, 0},
        {"01", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"0x10", false, 0},
        {"99999999999999999999", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t value = 0;
        struct mete__span span = {cases[i].text, strlen(cases[i].text)};
        if (mete__resp_integer(span, &value) != cases[i].is_right || value != cases[i].value) {
            fail_msg("'%s' gives %lld", cases[i].text, (long long)value);
        }
    }
}

static void replies(void **state)
{
    (void)state;
    struct mete__out out;
    mete__out_init(&out, 4096);
    mete__resp_simple(&out, "OK");
    mete__resp_error(&out, "ERR %s", "a\r\nb");
    mete__resp_i64(&out, INT64_MIN);
    mete__resp_i64(&out, INT64_MAX);
    mete__resp_bulk(&out, "a\0b", 3);
    mete__resp_null(&out, 2);
    mete__resp_null(&out, 3);
    mete__resp_map(&out, 2, 2);
    mete__resp_map(&out, 2, 3);
    mete__resp_bool(&out, true, 2);
    mete__resp_bool(&out, false, 3);
    static const char expected[] =
        "+OK\r\n-ERR a  b\r\n:-9223372036854775808\r\n:9223372036854775807\r\n$3\r\na\0b\r\n$-1\r\n_\r\n"
        "*4\r\n%2\r\n:1\r\n#f\r\n";
    assert_int_equal(out.len, sizeof expected - 1);
    assert_memory_equal(out.bytes, expected, out.len);
    mete__out_clear(&out);
}

/* At its bound a buffer takes no more, and says so once and for all. */
static void bounded_output(void **state)
{
    (void)state;
    struct mete__out out;
    mete__out_init(&out, 1000);
    for (int i = 0; i < 1000; i++) {
        mete__out_bytes(&out, "x", 1);
    }
    assert_false(out.is_failed);
    mete__out_bytes(&out, "x", 1);
    assert_true(out.is_failed);
    assert_int_equal(out.len, 1000);
    mete__out_clear(&out);
    assert_false(out.is_failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_requests),
        cmocka_unit_test(refused),
        cmocka_unit_test(split_at_every_byte),
        cmocka_unit_test(endless),
        cmocka_unit_test(more_arguments_than_kept),
        cmocka_unit_test(integers),
        cmocka_unit_test(replies),
        cmocka_unit_test(bounded_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

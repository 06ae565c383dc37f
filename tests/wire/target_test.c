/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: path, query, parameters, percent-decoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/target.h"

static struct mete__span span(const char *text)
{
    return mete__span_of(text, strlen(text));
}

static void targets_are_split(void **state)
{
    (void)state;
    static const struct {
        const char *target, *path, *query;
    } cases[] = {
        {"/", "/", ""},
        {"/a/b?c=d", "/a/b", "c=d"},
        {"/a?", "/a", ""},
        {"/a?b?c", "/a", "b?c"},
        {"*", "*", ""},
        {"http://h/a?b", "/a", "b"},
        {"http://h", "/", ""},
        {"http://h?b=c", "/", "b=c"},
        {"HTTPS://u:p@[::1]:8/a", "/a", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mete__target target;
        assert_true(mete__target_split(span(cases[i].target), &target));
        assert_true(mete__span_is(target.path, cases[i].path));
        assert_true(mete__span_is(target.query, cases[i].query));
    }
    struct mete__target target;
    static const char *const bad[] = {"", "a", "http:", "http://", "http:///a", "http://?a", "a:b"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(mete__target_split(span(bad[i]), &target));
    }
}

static void parameters_are_taken(void **state)
{
    (void)state;
    struct mete__span rest = span("&a=1&&b&=c&d==e=&f=");
    static const char *const pairs[][2] = {{"a", "1"}, {"b", ""}, {"", "c"}, {"d", "=e="}, {"f", ""}};
    struct mete__span name, value;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        assert_true(mete__query_next(&rest, &name, &value));
        assert_true(mete__span_is(name, pairs[i][0]));
        assert_true(mete__span_is(value, pairs[i][1]));
    }
    assert_false(mete__query_next(&rest, &name, &value));
}

static void percent_is_decoded_strictly(void **state)
{
    (void)state;
    char scratch[64];
    struct mete__span out;
    assert_true(mete__percent_decode(span("a%20b+c%2B%2b"), true, scratch, &out));
    assert_true(mete__span_is(out, "a b c++"));
    assert_true(mete__percent_decode(span("a%20b+c"), false, scratch, &out));
    assert_true(mete__span_is(out, "a b+c"));
    assert_true(mete__percent_decode(span("%00%fF"), true, scratch, &out));
    assert_int_equal(out.len, 2);
    assert_memory_equal(out.at, "\0\xff", 2);
    /* once, not again and again */
    assert_true(mete__percent_decode(span("%2541"), true, scratch, &out));
    assert_true(mete__span_is(out, "%41"));
    static const char *const bad[] = {"%", "%2", "a%", "%g0", "%0g", "% 1", "%+1", "%%41", "%u0041"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(mete__percent_decode(span(bad[i]), true, scratch, &out));
    }
    char place[] = "x%41%42y";
    assert_true(mete__percent_decode(span(place), true, place, &out));
    assert_true(mete__span_is(out, "xABy"));
    assert_true(mete__is_decoded(span("a-b"), true));
    assert_false(mete__is_decoded(span("a+b"), true));
    assert_true(mete__is_decoded(span("a+b"), false));
    assert_false(mete__is_decoded(span("a%"), false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_split),
        cmocka_unit_test(parameters_are_taken),
        cmocka_unit_test(percent_is_decoded_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of an input: ends, numbers, bounds, joining, and bytes that come bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/input_lines.h"

struct fixture {
    char path[32];
    struct mete__input input;
    struct mete__lines lines;
};

static void write_all(int fd, const void *bytes, size_t len)
{
    for (const char *at = bytes; len > 0;) {
        ssize_t n = write(fd, at, len);
        assert_true(n > 0);
        at += n;
        len -= (size_t)n;
    }
}

static void start(struct fixture *fixture, const void *bytes, size_t len)
{
    strcpy(fixture->path, "/tmp/mete-lines-XXXXXX");
    int fd = mkstemp(fixture->path);
    assert_true(fd >= 0);
    write_all(fd, bytes, len);
    close(fd);
    assert_true(mete__input_open(&fixture->input, fixture->path));
    assert_true(mete__lines_init(&fixture->lines));
    mete__lines_start(&fixture->lines, &fixture->input);
}

static void stop(struct fixture *fixture)
{
    mete__lines_clear(&fixture->lines);
    mete__input_close(&fixture->input);
    unlink(fixture->path);
}

static void expect_line(struct fixture *fixture, const char *expected, uint64_t number)
{
    struct mete__text line;
    assert_int_equal(mete__lines_next(&fixture->lines, &line), METE__LINE_READ);
    assert_int_equal(mete__text_len(&line), strlen(expected));
    assert_memory_equal(line.at, expected, strlen(expected));
    assert_int_equal(fixture->lines.number, number);
}

static void expect_end(struct fixture *fixture)
{
    struct mete__text line;
    assert_int_equal(mete__lines_next(&fixture->lines, &line), METE__LINE_END);
    assert_int_equal(mete__lines_next(&fixture->lines, &line), METE__LINE_END);
    assert_string_equal(fixture->input.error, "");
}

static void an_empty_input_has_no_lines(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "", 0);
    struct mete__text sample = mete__lines_peek(&fixture.lines);
    assert_int_equal(mete__text_len(&sample), 0);
    expect_end(&fixture);
    stop(&fixture);
}

static void line_ends(void **state)
{
    (void)state;
    struct fixture fixture;
    static const char bytes[] = "a\r\nb\n\n\r\n\r\r\nc\rd\ntorn";
    start(&fixture, bytes, sizeof(bytes) - 1);
    expect_line(&fixture, "a", 1);
    expect_line(&fixture, "b", 2);
    expect_line(&fixture, "", 3);
    expect_line(&fixture, "", 4);
    expect_line(&fixture, "\r", 5);
    expect_line(&fixture, "c\rd", 6);
    expect_line(&fixture, "torn", 7);
    expect_end(&fixture);
    stop(&fixture);
}

static void a_byte_order_mark_is_dropped(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture,
          "\xef\xbb\xbf"
          "a\nb",
          6);
    struct mete__text sample = mete__lines_peek(&fixture.lines);
    assert_int_equal(mete__text_len(&sample), 3);
    expect_line(&fixture, "a", 1);
    expect_line(&fixture, "b", 2);
    expect_end(&fixture);
    stop(&fixture);
}

/* Empty lines, fewer or more than the buffer holds, then `text` as line count + 1. */
static void try_empty_lines(size_t count, const char *end, const char *text)
{
    struct fixture fixture;
    size_t end_len = strlen(end);
    char *bytes = malloc(count * end_len + strlen(text) + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++) {
        memcpy(bytes + i * end_len, end, end_len);
    }
    strcpy(bytes + count * end_len, text);
    start(&fixture, bytes, count * end_len + strlen(text));
    struct mete__text sample = mete__lines_peek(&fixture.lines);
    assert_int_equal(mete__text_len(&sample), strlen(text));
    assert_int_equal(fixture.lines.number, count);
    if (*text != '\0') {
        expect_line(&fixture, text, count + 1);
    }
    expect_end(&fixture);
    stop(&fixture);
    free(bytes);
}

static void a_look_ahead_passes_over_empty_lines(void **state)
{
    (void)state;
    static const size_t counts[] = {
        0, 1, 2, METE__INPUT_BLOCK - 1, METE__INPUT_BLOCK, METE__INPUT_BLOCK + 1, 5 * METE__INPUT_BLOCK};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        try_empty_lines(counts[i], "\n", "text");
        try_empty_lines(counts[i], "\r\n", "text");
        try_empty_lines(counts[i], "\n", "");
    }
}

/* A line of `len` bytes with this line end, and one after it. */
static void try_long_line(size_t len, const char *end, bool fits)
{
    struct fixture fixture;
    char *bytes = malloc(len + 16);
    assert_non_null(bytes);
    memset(bytes, 'x', len);
    int tail = sprintf(bytes + len, "%snext\n", end);
    start(&fixture, bytes, len + (size_t)tail);
    struct mete__text line;
    assert_int_equal(mete__lines_next(&fixture.lines, &line), fits ? METE__LINE_READ : METE__LINE_TOO_LONG);
    if (fits) {
        assert_int_equal(mete__text_len(&line), len);
        assert_memory_equal(line.at, bytes, len);
    }
    expect_line(&fixture, "next", 2);
    expect_end(&fixture);
    stop(&fixture);
    free(bytes);
}

static void the_longest_line_and_one_byte_more(void **state)
{
    (void)state;
    static const char *const ends[] = {"\n", "\r\n"};
    for (size_t i = 0; i < 2; i++) {
        try_long_line(METE__LINE_MAX - 1, ends[i], true);
        try_long_line(METE__LINE_MAX, ends[i], true);
        try_long_line(METE__LINE_MAX + 1, ends[i], false);
        try_long_line(METE__LINE_MAX + 2, ends[i], false);
        try_long_line(5 * METE__LINE_MAX, ends[i], false);
    }
}

static void a_long_line_may_be_the_last(void **state)
{
    (void)state;
    struct fixture fixture;
    size_t len = 3 * METE__LINE_MAX;
    char *bytes = malloc(len);
    assert_non_null(bytes);
    memset(bytes, 'x', len);
    start(&fixture, bytes, len);
    struct mete__text line;
    assert_int_equal(mete__lines_next(&fixture.lines, &line), METE__LINE_TOO_LONG);
    assert_int_equal(fixture.lines.number, 1);
    expect_end(&fixture);
    stop(&fixture);
    free(bytes);
}

static void lines_are_joined_and_taken_apart(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "a\r\nb\nc", 6);
    struct mete__text line;
    expect_line(&fixture, "a", 1);
    line = mete__text_of("", 0);
    assert_true(mete__lines_extend(&fixture.lines, &line));
    assert_true(mete__text_is(&line, "a\r\nb"));
    assert_true(mete__lines_extend(&fixture.lines, &line));
    assert_true(mete__text_is(&line, "a\r\nb\nc"));
    assert_false(mete__lines_extend(&fixture.lines, &line));
    assert_true(mete__text_is(&line, "a\r\nb\nc"));
    mete__lines_unextend(&fixture.lines);
    expect_line(&fixture, "b", 2);
    assert_true(mete__lines_extend(&fixture.lines, &line));
    assert_true(mete__text_is(&line, "b\nc"));
    expect_end(&fixture);
    stop(&fixture);
}

/* Joining stops where the record would be too long, and the lines are still there. */
static void joining_is_bounded(void **state)
{
    (void)state;
    struct fixture fixture;
    size_t half = METE__LINE_MAX / 2;
    char *bytes = malloc(4 * half);
    assert_non_null(bytes);
    memset(bytes, 'x', 4 * half);
    bytes[half - 1] = '\n';
    bytes[2 * half] = '\n'; /* together exactly the longest line */
    bytes[3 * half] = '\n';
    start(&fixture, bytes, 4 * half);
    struct mete__text line;
    assert_int_equal(mete__lines_next(&fixture.lines, &line), METE__LINE_READ);
    assert_true(mete__lines_extend(&fixture.lines, &line));
    assert_int_equal(mete__text_len(&line), METE__LINE_MAX);
    assert_false(mete__lines_extend(&fixture.lines, &line));
    assert_int_equal(mete__lines_next(&fixture.lines, &line), METE__LINE_READ);
    assert_int_equal(fixture.lines.number, 3);
    assert_int_equal(mete__text_len(&line), half - 1);
    assert_int_equal(mete__lines_next(&fixture.lines, &line), METE__LINE_READ);
    assert_int_equal(mete__text_len(&line), half - 1);
    expect_end(&fixture);
    stop(&fixture);
    free(bytes);
}

/* Many lines through many blocks, against a plain walk over the bytes. */
static void lines_across_blocks(void **state)
{
    (void)state;
    struct fixture fixture;
    size_t len = 5 * METE__INPUT_BLOCK + 17;
    char *bytes = malloc(len);
    assert_non_null(bytes);
    uint32_t random = 1;
    for (size_t i = 0; i < len; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = random >> 24 == 0 ? '\n' : (char)('a' + (random >> 27) % 26);
    }
    start(&fixture, bytes, len);
    struct mete__text line;
    uint64_t number = 0;
    size_t at = 0;
    for (; mete__lines_next(&fixture.lines, &line) == METE__LINE_READ; number++) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t expected = end != NULL ? (size_t)(end - bytes) - at : len - at;
        assert_int_equal(mete__text_len(&line), expected);
        assert_memory_equal(line.at, bytes + at, expected);
        assert_int_equal(fixture.lines.number, number + 1);
        at += expected + (end != NULL ? 1 : 0);
    }
    assert_int_equal(at, len);
    assert_true(number > 1000);
    stop(&fixture);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_input_has_no_lines),
        cmocka_unit_test(line_ends),
        cmocka_unit_test(a_look_ahead_passes_over_empty_lines),
        cmocka_unit_test(a_byte_order_mark_is_dropped),
        cmocka_unit_test(the_longest_line_and_one_byte_more),
        cmocka_unit_test(a_long_line_may_be_the_last),
        cmocka_unit_test(lines_are_joined_and_taken_apart),
        cmocka_unit_test(joining_is_bounded),
        cmocka_unit_test(lines_across_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what is refused, with its sentence, then what is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/args.h"

#define WORDS_MAX 80

static bool flag;
static uint64_t number;
static const char *text;
static struct mete__arg_texts texts;

static const struct mete__arg table[] = {
    {"flag", NULL, "a flag", METE__ARG_FLAG, &flag, 0, 0},
    {"number", "N", "a number\nin two lines", METE__ARG_U64, &number, 3, 5},
    {"any", "N", "any number", METE__ARG_U64, &number, 0, UINT64_MAX},
    {"text", "TEXT", "a text", METE__ARG_TEXT, &text, 0, 0},
    {"texts", "TEXT", "texts", METE__ARG_TEXTS, &texts, 0, 0},
};
static const struct mete__args args = {
    "try", "FILE...", "Tries.", "Notes.", table, sizeof(table) / sizeof(table[0]), 1, 3,
};

static char said[4096]; /* what the last call printed to standard output and standard error */
static char *argv[WORDS_MAX + 2];
static size_t operand_count;

/* Runs the parser on these words with both outputs going to a file. */
static enum mete__args_result parse(const char *const *words, size_t count)
{
    static char copies[WORDS_MAX][64];
    static char name[] = "try";
    flag = false;
    number = 4;
    text = NULL;
    texts.count = 0;
    argv[0] = name;
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(words[i]) < sizeof(copies[i]));
        argv[i + 1] = strcpy(copies[i], words[i]);
    }
    argv[count + 1] = NULL;

    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int old[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    enum mete__args_result result = mete__args_parse(&args, (int)count + 1, argv, &operand_count);
    fflush(stdout);
    assert_true(dup2(old[0], STDOUT_FILENO) >= 0 && dup2(old[1], STDERR_FILENO) >= 0);
    close(old[0]);
    close(old[1]);
    rewind(file);
    said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
    fclose(file);
    return result;
}

#define PARSE(...) \
    parse((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

#define EXPECT_BAD(sentence, ...)                              \
    do {                                                       \
        assert_int_equal(PARSE(__VA_ARGS__), METE__ARGS_BAD);  \
        assert_string_equal(said, "mete try: " sentence "\n"); \
    } while (0)

static void options_that_are_refused(void **state)
{
    (void)state;
    EXPECT_BAD("unknown option '--flags'; did you mean '--flag'? (see 'mete help try')", "a", "--flags");
    EXPECT_BAD("unknown option '--fla'; did you mean '--flag'? (see 'mete help try')", "a", "--fla");
    EXPECT_BAD("unknown option '--other' (see 'mete help try')", "a", "--other=5");
    EXPECT_BAD("unknown option '--nubmer'; did you mean '--number'? (see 'mete help try')", "a", "--nubmer=5");
    EXPECT_BAD("unknown option '--halp'; did you mean '--help'? (see 'mete help try')", "--halp");
    EXPECT_BAD("unknown option '--ant'; did you mean '--any'? (see 'mete help try')", "--ant");
    EXPECT_BAD("unknown option '--end' (see 'mete help try')", "--end");
    EXPECT_BAD("unknown option '-f' (see 'mete help try')", "a", "-f");
    EXPECT_BAD("unknown option '-flag'; did you mean '--flag'? (see 'mete help try')", "a", "-flag");
    EXPECT_BAD("unknown option '--' (see 'mete help try')", "a", "--=5");
    EXPECT_BAD("--flag: takes no value", "a", "--flag=yes");
    EXPECT_BAD("--text: needs a value (TEXT)", "a", "--text");
    EXPECT_BAD("--number: needs a value (N)", "--number");
}

static void numbers_that_are_refused(void **state)
{
    (void)state;
    EXPECT_BAD("--number: '' is not a whole number", "a", "--number=");
    EXPECT_BAD("--number: '4x' is not a whole number", "a", "--number", "4x");
    EXPECT_BAD("--number: '-4' is not a whole number", "a", "--number", "-4");
    EXPECT_BAD("--number: '+4' is not a whole number", "a", "--number=+4");
    EXPECT_BAD("--number: ' 4' is not a whole number", "a", "--number", " 4");
    EXPECT_BAD("--number: '4.0' is not a whole number", "a", "--number", "4.0");
    EXPECT_BAD("--number: 2 is outside 3..5", "a", "--number", "2");
    EXPECT_BAD("--number: 6 is outside 3..5", "a", "--number", "6");
    EXPECT_BAD("--any: 18446744073709551616 is outside 0..18446744073709551615", "a", "--any", "18446744073709551616");
    assert_int_equal(number, 4);
}

static void operands_that_are_refused(void **state)
{
    (void)state;
    EXPECT_BAD("missing FILE... (see 'mete help try')", "--flag");
    EXPECT_BAD("too many arguments: 4 given, at most 3 taken", "a", "b", "c", "d");
}

static void a_collecting_option_is_bounded(void **state)
{
    (void)state;
    const char *words[METE__ARG_TEXTS_MAX + 2] = {"a"};
    for (size_t i = 1; i < METE__ARG_TEXTS_MAX + 2; i++) {
        words[i] = "--texts=x";
    }
    assert_int_equal(parse(words, METE__ARG_TEXTS_MAX + 1), METE__ARGS_OK);
    assert_int_equal(texts.count, METE__ARG_TEXTS_MAX);
    assert_int_equal(parse(words, METE__ARG_TEXTS_MAX + 2), METE__ARGS_BAD);
    assert_string_equal(said, "mete try: --texts: given more than 64 times\n");
}

static void both_ways_to_give_a_value(void **state)
{
    (void)state;
    assert_int_equal(PARSE("a", "--number", "3", "--text=x=y", "--texts", "1", "--texts=", "--flag"), METE__ARGS_OK);
    assert_int_equal(number, 3);
    assert_string_equal(text, "x=y");
    assert_int_equal(texts.count, 2);
    assert_string_equal(texts.items[0], "1");
    assert_string_equal(texts.items[1], "");
    assert_true(flag);
    assert_string_equal(said, "");

    assert_int_equal(PARSE("--number=3", "a", "--number=5", "--text", "--flag"), METE__ARGS_OK);
    assert_int_equal(number, 5); /* the last one */
    assert_string_equal(text, "--flag");
    assert_false(flag);

    assert_int_equal(PARSE("a", "--any", "18446744073709551615"), METE__ARGS_OK);
    assert_int_equal(number, UINT64_MAX);
}

static void operands_keep_their_order(void **state)
{
    (void)state;
    assert_int_equal(PARSE("a", "--number", "3", "-", "--", "--flag"), METE__ARGS_OK);
    assert_int_equal(operand_count, 3);
    assert_string_equal(argv[1], "a");
    assert_string_equal(argv[2], "-");
    assert_string_equal(argv[3], "--flag");
    assert_false(flag);
}

static void the_help_is_made_from_the_table(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--number", "3", "--help", "--unknown"), METE__ARGS_HELP);
    assert_string_equal(said, "Usage: mete try FILE... [OPTION]...\n"
                              "\n"
                              "Tries.\n"
                              "\n"
                              "Options:\n"
                              "  --flag                a flag\n"
                              "  --number N            a number\n"
                              "                        in two lines\n"
                              "  --any N               any number\n"
                              "  --text TEXT           a text\n"
                              "  --texts TEXT          texts\n"
                              "  --help                print this and exit\n"
                              "\n"
                              "Notes.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_that_are_refused),        cmocka_unit_test(numbers_that_are_refused),
        cmocka_unit_test(operands_that_are_refused),       cmocka_unit_test(a_collecting_option_is_bounded),
        cmocka_unit_test(both_ways_to_give_a_value),       cmocka_unit_test(operands_keep_their_order),
        cmocka_unit_test(the_help_is_made_from_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

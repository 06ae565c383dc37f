/* SPDX-License-Identifier: Apache-2.0 */
/* CSV and TSV rows; the columns are key, time, cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/log_csv.h"

#define TIME_NS (UINT64_C(1709164800) * 1000000000)

static char unquoted[64];

/* Each row is read from an allocation of just its size, so that a sanitizer sees
 * a byte read before or after it. */
static enum mete__reason read_row(char separator, const char *row, size_t len, char *key, uint64_t *cost)
{
    struct mete__csv csv;
    mete__csv_init(&csv, separator, unquoted, sizeof(unquoted));
    csv.key = 0;
    csv.time = 1;
    csv.cost = 2;
    char *exact = malloc(len > 0 ? len : 1);
    assert_non_null(exact);
    memcpy(exact, row, len);
    struct mete__record record;
    enum mete__reason reason = mete__csv_read(&csv, mete__text_of(exact, len), &record);
    if (reason == METE__REASON_NONE) {
        memcpy(key, record.key, record.key_len);
        key[record.key_len] = '\0';
        *cost = record.cost;
        assert_int_equal(record.time_ns, TIME_NS);
    }
    free(exact);
    return reason;
}

static void expect_reason(char separator, const char *row, enum mete__reason reason)
{
    char key[64];
    uint64_t cost;
    enum mete__reason got = read_row(separator, row, strlen(row), key, &cost);
    if (got != reason) {
        fail_msg("%s: %s, not %s", row, mete__reason_name(got), mete__reason_name(reason));
    }
}

static void expect_row(char separator, const char *row, const char *expected_key, uint64_t expected_cost)
{
    char key[64] = "";
    uint64_t cost = 0;
    expect_reason(separator, row, METE__REASON_NONE);
    (void)read_row(separator, row, strlen(row), key, &cost);
    assert_string_equal(key, expected_key);
    assert_int_equal(cost, expected_cost);
}

static void rows_that_are_no_requests(void **state)
{
    (void)state;
    expect_reason(',', "", METE__REASON_NO_KEY);
    expect_reason(',', ",1709164800,1", METE__REASON_NO_KEY);
    expect_reason(',', "\"\",1709164800,1", METE__REASON_NO_KEY);
    expect_reason(',', "a", METE__REASON_NO_TIME);
    expect_reason(',', "a,", METE__REASON_BAD_TIME);
    expect_reason(',', "a,yesterday,1", METE__REASON_BAD_TIME);
    expect_reason(',', "a, 1709164800,1", METE__REASON_BAD_TIME);
    expect_reason(',', "a,4102444800000000001,1", METE__REASON_TIME_RANGE);
    expect_reason(',', "a,1709164800", METE__REASON_NO_COST);
    expect_reason(',', "a,1709164800,", METE__REASON_BAD_COST);
    expect_reason(',', "a,1709164800,-1", METE__REASON_BAD_COST);
    expect_reason(',', "a,1709164800,1.5", METE__REASON_BAD_COST);
    expect_reason(',', "a,1709164800,18446744073709551616", METE__REASON_BAD_COST);
    expect_reason(';', "a,1709164800,1", METE__REASON_NO_TIME);
}

static void quotes_that_are_wrong(void **state)
{
    (void)state;
    expect_reason(',', "\"", METE__REASON_OPEN_QUOTE);
    expect_reason(',', "\"a", METE__REASON_OPEN_QUOTE);
    expect_reason(',', "\"a\"\"", METE__REASON_OPEN_QUOTE);
    expect_reason(',', "\"a\"x,1709164800,1", METE__REASON_QUOTES);
    expect_reason(',', "\"a\" ,1709164800,1", METE__REASON_QUOTES);
    /* Also behind the last wanted field: the row is broken there. */
    expect_reason(',', "a,1709164800,1,\"x", METE__REASON_OPEN_QUOTE);
    expect_reason(',', "a,1709164800,1,\"x\"y", METE__REASON_QUOTES);
}

static void nul_bytes_are_refused(void **state)
{
    (void)state;
    char key[64];
    uint64_t cost;
    assert_int_equal(read_row(',', "a\0b,1709164800,1", 16, key, &cost), METE__REASON_NUL);
    assert_int_equal(read_row('\t', "\0\0\0", 3, key, &cost), METE__REASON_NUL);
}

static void rows_of_csv(void **state)
{
    (void)state;
    expect_row(',', "a,1709164800,1", "a", 1);
    expect_row(',', "a,1709164800,0", "a", 0);
    expect_row(',', "a,1709164800,18446744073709551615", "a", UINT64_MAX);
    expect_row(',', "a,1709164800,1,", "a", 1);
    expect_row(',', "a,1709164800,1,more,\"and, more\"", "a", 1);
    expect_row(',', "\"a\",\"1709164800\",\"2\"", "a", 2);
    expect_row(',', "\"a, b\",2024-02-29T00:00:00Z,1", "a, b", 1);
    expect_row(',', "\"a \"\"b\"\"\",1709164800,1", "a \"b\"", 1);
    expect_row(',', "\"\"\"\",1709164800,1", "\"", 1);
    expect_row(',', "\"a\nb\",1709164800,1", "a\nb", 1);
    expect_row(',', "a \"b\" \"\",1709164800,1", "a \"b\" \"\"", 1);
    expect_row(',', " a ,1709164800,1", " a ", 1);
}

/* A quote in TSV means something only around a whole field. */
static void rows_of_tsv(void **state)
{
    (void)state;
    expect_row('\t', "a\t1709164800\t1", "a", 1);
    expect_row('\t', "\"a, b\"\t1709164800\t1", "a, b", 1);
    expect_row('\t', "\"a \"\"b\"\"\"\t1709164800\t1", "a \"b\"", 1);
    expect_row('\t', "\"a\t1709164800\t1\tx\"", "\"a", 1);
    expect_row('\t', "\"a\"x\t1709164800\t1", "\"a\"x", 1);
    expect_row('\t', "\"\t1709164800\t1", "\"", 1);
    expect_row('\t', "a\t1709164800\t1\t\"", "a", 1);
    expect_reason('\t', "\t1709164800\t1", METE__REASON_NO_KEY);
    expect_reason('\t', "a\t", METE__REASON_BAD_TIME);
}

static void without_a_key_or_a_cost(void **state)
{
    (void)state;
    struct mete__csv csv;
    struct mete__record record;
    mete__csv_init(&csv, ',', unquoted, sizeof(unquoted));
    csv.time = 0;
    assert_int_equal(mete__csv_read(&csv, mete__text_of("1709164800,374,44", 17), &record), METE__REASON_NONE);
    assert_int_equal(record.key_len, 0);
    assert_int_equal(record.cost, 1);
    assert_int_equal(record.time_ns, TIME_NS);
    /* One column may be two things. */
    csv.key = 0;
    csv.cost = 0;
    assert_int_equal(mete__csv_read(&csv, mete__text_of("1709164800,374,44", 17), &record), METE__REASON_NONE);
    assert_int_equal(record.key_len, 10);
    assert_int_equal(record.cost, 1709164800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_no_requests),
        cmocka_unit_test(quotes_that_are_wrong),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(rows_of_csv),
        cmocka_unit_test(rows_of_tsv),
        cmocka_unit_test(without_a_key_or_a_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

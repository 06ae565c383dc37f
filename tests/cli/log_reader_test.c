/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the format and the fields from the first bytes of a log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cli/log_reader.h"
#include "cli/log_sniff.h"

#define COMMON "192.0.2.1 - - [29/Feb/2024:00:00:01 +0000] \"GET / HTTP/1.1\" 200 1"
#define COMBINED COMMON " \"-\" \"agent\""

static char scratch[64];
static char why_text[512];

static enum mete__reader_result open_reader(struct mete__reader *reader, struct mete__log_wish wish, const char *sample)
{
    const struct mete__why why = {why_text, sizeof(why_text)};
    why_text[0] = '\0';
    return mete__reader_open(reader, &wish, mete__text_of(sample, strlen(sample)), scratch, sizeof(scratch), &why);
}

static void expect_format(const char *sample, enum mete__format format)
{
    struct mete__reader reader;
    enum mete__reader_result result = open_reader(&reader, (struct mete__log_wish){0}, sample);
    if (result != METE__READER_OK || reader.format != format) {
        fail_msg("%s: %s, not %s", sample, mete__format_name(reader.format), mete__format_name(format));
    }
    mete__reader_close(&reader);
}

static void expect_failure(struct mete__log_wish wish, const char *sample, enum mete__reader_result result,
                           const char *sentence)
{
    struct mete__reader reader;
    assert_int_equal(open_reader(&reader, wish, sample), result);
    assert_string_equal(why_text, sentence);
}

static void formats_that_cannot_be_told(void **state)
{
    (void)state;
    static const char *const samples[] = {"no log at all", "192.0.2.1",
                                          ("\x7f"
                                           "ELF\x02\x01"),
                                          "[1]\n[2]\n", "{\n"};
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        expect_failure((struct mete__log_wish){0}, samples[i], METE__READER_BAD_INPUT,
                       "the format cannot be told from the first lines; name it with --format");
    }
}

static void formats(void **state)
{
    (void)state;
    expect_format("", METE__FORMAT_AUTO);
    expect_format("\n\r\n\n", METE__FORMAT_AUTO);
    expect_format(COMMON, METE__FORMAT_COMMON);
    expect_format(COMBINED "\n", METE__FORMAT_COMBINED);
    expect_format(COMMON "\n" COMBINED "\n", METE__FORMAT_COMBINED);
    expect_format(" \"tail of a line\"\r\n\n{broken\na,b\tc\n" COMMON "\n", METE__FORMAT_COMMON);
    expect_format("{\"time\": 1, \"ip\": \"a\"}", METE__FORMAT_JSON);
    expect_format("broken, broken\n{\"time\": 1}\n", METE__FORMAT_JSON);
    expect_format("time,ip\n", METE__FORMAT_CSV);
    expect_format("time\n", METE__FORMAT_CSV);
    expect_format("time\tip, or name\n", METE__FORMAT_TSV);
}

static void a_wish_for_a_format_is_kept(void **state)
{
    (void)state;
    struct mete__reader reader;
    assert_int_equal(open_reader(&reader, (struct mete__log_wish){.format = METE__FORMAT_COMMON}, "nothing"),
                     METE__READER_OK);
    assert_int_equal(reader.format, METE__FORMAT_COMMON);
    enum mete__format format;
    for (enum mete__format at = METE__FORMAT_AUTO; at < METE__FORMATS; at++) {
        assert_true(mete__format_find(mete__format_name(at), &format));
        assert_int_equal(format, at);
    }
    assert_false(mete__format_find("clf", &format));
}

static void fields_that_are_not_there(void **state)
{
    (void)state;
    expect_failure((struct mete__log_wish){.key = "host"}, COMMON, METE__READER_BAD_WISH,
                   "--key: the common log format has no field 'host', but address, ident, user, time, method, path, "
                   "status, bytes");
    expect_failure((struct mete__log_wish){.cost = "agent"}, COMMON, METE__READER_BAD_WISH,
                   "--cost: the common log format has no field 'agent', but address, ident, user, time, method, path, "
                   "status, bytes");
    expect_failure((struct mete__log_wish){.time = "status"}, COMBINED, METE__READER_BAD_WISH,
                   "--time: the time of this format is the field time, not 'status'");
    expect_failure((struct mete__log_wish){.key = "who"}, "time,ip\n", METE__READER_BAD_WISH,
                   "--key: there is no field 'who' in the header: 'time', 'ip'");
    expect_failure((struct mete__log_wish){.cost = "Time"}, "time,\x1b[2J\n", METE__READER_BAD_WISH,
                   "--cost: there is no field 'Time' in the header: 'time', '\\x1b[2J'");
    expect_failure((struct mete__log_wish){.time = "when"}, "time\tip\n", METE__READER_BAD_WISH,
                   "--time: there is no field 'when' in the header: 'time', 'ip'");
    expect_failure((struct mete__log_wish){0}, "a,b\n1,2\n", METE__READER_BAD_INPUT,
                   "read as csv, but no field of its header has the name of a time ('a', 'b'); "
                   "name it with --time, or the format with --format");
    expect_failure((struct mete__log_wish){0}, "{\"a\": 1}\n", METE__READER_BAD_INPUT,
                   "no member of the first objects has the name of a time; name it with --time");
}

static void expect_fields(struct mete__log_wish wish, const char *sample, const char *key, const char *time,
                          bool key_missing)
{
    struct mete__reader reader;
    assert_int_equal(open_reader(&reader, wish, sample), METE__READER_OK);
    assert_string_equal(reader.key_name, key);
    assert_string_equal(reader.time_name, time);
    assert_int_equal(reader.key_missing, key_missing);
    assert_int_equal(reader.shared_key, key[0] == '\0');
    mete__reader_close(&reader);
}

static void fields_are_found(void **state)
{
    (void)state;
    const struct mete__log_wish none = {0};
    const struct mete__log_wish shared = {.key = METE__KEY_SHARED};
    expect_fields(none, COMMON, "address", "time", false);
    expect_fields(shared, COMMON, "", "time", false);
    expect_fields(none, "host\tlogname\ttime\n", "host", "time", false);
    expect_fields(none, "Host,Client_IP,Date,Timestamp\n", "Client_IP", "Timestamp", false);
    expect_fields(none, "TIMESTAMP,ContextTokens,GeneratedTokens\n", "", "TIMESTAMP", true);
    expect_fields(shared, "TIMESTAMP,host\n", "", "TIMESTAMP", false);
    expect_fields((struct mete__log_wish){.key = "a b", .time = "when"}, "\"a b\",when,time,ip\n", "a b", "when",
                  false);
    expect_fields(none, "{\"host\": \"server\", \"remote_addr\": \"a\", \"@timestamp\": \"x\"}\n", "remote_addr",
                  "@timestamp", false);
    /* A better name in a later line wins; a member that is no text or number does not count. */
    expect_fields(none, "{\"host\": \"server\", \"ts\": 1}\n{\"client_ip\": \"a\", \"ts\": 1, \"time\": {}}\n",
                  "client_ip", "ts", false);
    expect_fields(none, "{\"ts\": 1}\n", "", "ts", true);
}

static void rows_are_read_through_the_reader(void **state)
{
    (void)state;
    struct mete__reader reader;
    struct mete__record record;
    assert_int_equal(open_reader(&reader, (struct mete__log_wish){.cost = "n"}, "n,time,ip\n"), METE__READER_OK);
    assert_true(reader.header);
    assert_int_equal(mete__reader_read(&reader, mete__text_of("5,1709164800,\"a\"\"\"", 18), &record),
                     METE__REASON_NONE);
    assert_int_equal(record.cost, 5);
    assert_int_equal(record.key_len, 2);
    assert_memory_equal(record.key, "a\"", 2);
    assert_int_equal(open_reader(&reader, (struct mete__log_wish){0}, COMBINED), METE__READER_OK);
    assert_false(reader.header);
    assert_int_equal(mete__reader_read(&reader, mete__text_of(COMBINED, strlen(COMBINED)), &record), METE__REASON_NONE);
    assert_memory_equal(record.key, "192.0.2.1", record.key_len);
}

static void what_is_printed_is_harmless(void **state)
{
    (void)state;
    char text[32];
    static const char nasty[] = "a\\b\x1b[m\n\xc3\xa9\0~\x7f";
    size_t len = mete__escape(mete__text_of(nasty, sizeof(nasty) - 1), text, sizeof(text));
    assert_int_equal(len, strlen(text));
    assert_string_equal(text, "a\\\\b\\x1b[m\\x0a\\xc3\\xa9\\x00...");
    char longer[64];
    (void)mete__escape(mete__text_of(nasty, sizeof(nasty) - 1), longer, sizeof(longer));
    assert_string_equal(longer, "a\\\\b\\x1b[m\\x0a\\xc3\\xa9\\x00~\\x7f");
    assert_int_equal(mete__escape(mete__text_of("", 0), text, sizeof(text)), 0);
    assert_string_equal(text, "");
    for (size_t size = 8; size < sizeof(text); size++) {
        memset(text, 'x', sizeof(text));
        assert_true(mete__escape(mete__text_of(nasty, sizeof(nasty) - 1), text, size) < size);
        assert_non_null(memchr(text, '\0', size));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_that_cannot_be_told),
        cmocka_unit_test(formats),
        cmocka_unit_test(a_wish_for_a_format_is_kept),
        cmocka_unit_test(fields_that_are_not_there),
        cmocka_unit_test(fields_are_found),
        cmocka_unit_test(rows_are_read_through_the_reader),
        cmocka_unit_test(what_is_printed_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines to the letter, and a log that nobody reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server/log.h"

#define LINE_MAX_BYTES 4096u
#define TIME_LEN (sizeof("time=2026-01-31T12:00:00.123Z") - 1)

static int ends[2]; /* a pipe: read, written */
static char said[65536];
static size_t said_len;

static int set_up(void **state)
{
    (void)state;
    mete__log_configure(false, METE__LOG_DEBUG);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    mete__log_to(ends[1]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mete__log_to(STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void hear(void)
{
    ssize_t got = read(ends[0], said, sizeof(said) - 1);
    said_len = got > 0 ? (size_t)got : 0;
    said[said_len] = '\0';
}

/* What one value looks like, in the form that is configured. */
static const char *written(const char *bytes, size_t len)
{
    METE__LOG(METE__LOG_INFO, "e", METE__LOG_BYTES("v", bytes, len));
    hear();
    assert_true(said_len > 1 && said[said_len - 1] == '\n');
    said[said_len - 1] = '\0';
    char *value = strstr(said, "v=");
    return value != NULL ? value + 2 : strstr(said, "\"v\":") + 4;
}

#define WRITTEN(literal) written((literal), sizeof(literal) - 1)

static void a_line_to_the_letter(void **state)
{
    (void)state;
    METE__LOG(METE__LOG_INFO, "listening", METE__LOG_TEXT("protocol", "resp"),
              METE__LOG_BYTES("address", "127.0.0.1:6379 and more", 14), METE__LOG_U64("n", UINT64_MAX));
    hear();
    assert_string_equal(said + TIME_LEN, " level=info event=\"listening\" protocol=resp address=127.0.0.1:6379 "
                                         "n=18446744073709551615\n");
    METE__LOG(METE__LOG_ERROR, "gone");
    hear();
    assert_string_equal(said + TIME_LEN, " level=error event=\"gone\"\n");

    mete__log_configure(true, METE__LOG_DEBUG);
    METE__LOG(METE__LOG_WARN, "odd \"one\"", METE__LOG_TEXT("text", "a b"), METE__LOG_U64("n", 0));
    hear();
    assert_memory_equal(said, "{\"time\":\"", 9);
    assert_string_equal(strchr(said, 'Z'),
                        "Z\",\"level\":\"warn\",\"event\":\"odd \\\"one\\\"\",\"text\":\"a b\",\"n\":0}\n");
}

static void the_time_is_now_in_utc(void **state)
{
    (void)state;
    setenv("TZ", "Asia/Tokyo", 1);
    tzset();
    time_t before = time(NULL);
    METE__LOG(METE__LOG_INFO, "e");
    time_t after = time(NULL);
    hear();
    struct tm tm = {0};
    unsigned ms = 1000;
    char z = 0;
    assert_int_equal(sscanf(said, "time=%4d-%2d-%2dT%2d:%2d:%2d.%3u%c ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                            &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &z),
                     8);
    assert_true(z == 'Z' && ms < 1000 && said[TIME_LEN] == ' ');
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    time_t then = timegm(&tm);
    assert_in_range(then, before, after);
    unsetenv("TZ");
    tzset();
}

static void levels_below_the_least_are_left_out(void **state)
{
    (void)state;
    mete__log_configure(false, METE__LOG_WARN);
    METE__LOG(METE__LOG_DEBUG, "e");
    METE__LOG(METE__LOG_INFO, "e");
    hear();
    assert_int_equal(said_len, 0);
    METE__LOG(METE__LOG_WARN, "e");
    hear();
    assert_non_null(strstr(said, "level=warn"));
}

static void logfmt_values(void **state)
{
    (void)state;
    assert_string_equal(WRITTEN("plain/+-:[]{}'"), "plain/+-:[]{}'");
    assert_string_equal(WRITTEN("gr\xC3\xBC\xC3\x9F\xE2\x82\xAC\xF0\x9F\x98\x80"),
                        "gr\xC3\xBC\xC3\x9F\xE2\x82\xAC\xF0\x9F\x98\x80");
    assert_string_equal(WRITTEN(""), "\"\"");
    assert_string_equal(WRITTEN("a b"), "\"a b\"");
    assert_string_equal(WRITTEN("a=b"), "\"a=b\"");
    assert_string_equal(WRITTEN("\""), "\"\\\"\"");
    assert_string_equal(WRITTEN("\\"), "\"\\\\\"");
    assert_string_equal(WRITTEN("\n\r\t\0\x1B\x7F"), "\"\\n\\r\\t\\x00\\x1b\\x7f\"");
    assert_string_equal(WRITTEN("\xC2\x9B"
                                "31m"),
                        "\"\\xc2\\x9b31m\"");
    assert_string_equal(WRITTEN("\xFF"), "\"\\xff\"");
    assert_string_equal(WRITTEN("line\nlevel=error event=\"forged\""), "\"line\\nlevel=error event=\\\"forged\\\"\"");
}

/* RFC 3629, section 4: each way to be wrong. */
static void bytes_that_are_no_utf8(void **state)
{
    (void)state;
    assert_string_equal(WRITTEN("\x80"), "\"\\x80\"");
    assert_string_equal(WRITTEN("\xC3"), "\"\\xc3\"");
    assert_string_equal(WRITTEN("\xC3z"), "\"\\xc3z\"");
    assert_string_equal(WRITTEN("\xC1\xBF"), "\"\\xc1\\xbf\"");
    assert_string_equal(WRITTEN("\xE0\x9F\xBF"), "\"\\xe0\\x9f\\xbf\"");
    assert_string_equal(WRITTEN("\xED\xA0\x80"), "\"\\xed\\xa0\\x80\"");
    assert_string_equal(WRITTEN("\xE2\x82"), "\"\\xe2\\x82\"");
    assert_string_equal(WRITTEN("\xE2\x82z"), "\"\\xe2\\x82z\"");
    assert_string_equal(WRITTEN("\xF0\x8F\xBF\xBF"), "\"\\xf0\\x8f\\xbf\\xbf\"");
    assert_string_equal(WRITTEN("\xF4\x90\x80\x80"), "\"\\xf4\\x90\\x80\\x80\"");
    assert_string_equal(WRITTEN("\xF5\x80\x80\x80"), "\"\\xf5\\x80\\x80\\x80\"");
    assert_string_equal(WRITTEN("\xF4\x8F\xBF\xBF"), "\xF4\x8F\xBF\xBF");
    assert_string_equal(WRITTEN("\xED\x9F\xBF"), "\xED\x9F\xBF");
}

static void json_values(void **state)
{
    (void)state;
    mete__log_configure(true, METE__LOG_DEBUG);
    assert_string_equal(WRITTEN("a=b c"), "\"a=b c\"}");
    assert_string_equal(WRITTEN("\"\\\n\r\t\0\x1B\x7F"), "\"\\\"\\\\\\n\\r\\t\\u0000\\u001b\\u007f\"}");
    assert_string_equal(WRITTEN("\xC2\x9B"), "\"\\u009b\"}");
    assert_string_equal(WRITTEN("\xC3\xBC\xFF"), "\"\xC3\xBC\\\\xff\"}");
}

static void every_byte_is_valid_json(void **state)
{
    (void)state;
    char bytes[256 + 3 + 1];
    const size_t len = sizeof(bytes) - 1;
    for (int i = 0; i < 256; i++) {
        bytes[i] = (char)i;
    }
    memcpy(bytes + 256, "\xE2\x82\xAC", 4); /* and a NUL, for the event */
    mete__log_configure(true, METE__LOG_DEBUG);
    METE__LOG(METE__LOG_INFO, bytes + 200, METE__LOG_BYTES("v", bytes, len), METE__LOG_U64("n", 7));
    hear();
    json_error_t error;
    json_t *line = json_loads(said, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    assert_non_null(line);
    json_t *v = json_object_get(line, "v");
    assert_memory_equal(json_string_value(v), bytes, 128);
    assert_memory_equal(json_string_value(v) + 128, "\\x80", 4);
    assert_memory_equal(json_string_value(v) + json_string_length(v) - 3, "\xE2\x82\xAC", 3);
    assert_int_equal(json_integer_value(json_object_get(line, "n")), 7);
    json_decref(line);
}

static void long_values_are_cut_and_marked(void **state)
{
    (void)state;
    static char bytes[100000];
    memset(bytes, 'x', sizeof(bytes));
    assert_int_equal(strlen(written(bytes, 998)), 998);
    assert_int_equal(strlen(written(bytes, 1024)), 997 + 6 + 2);
    const char *value = written(bytes, sizeof(bytes));
    assert_true(strlen(value) <= 1024);
    assert_string_equal(value + strlen(value) - 10, "...+99003\"");

    memset(bytes, '\xFF', sizeof(bytes));
    value = written(bytes, sizeof(bytes));
    assert_true(strlen(value) <= 1024);
    assert_string_equal(strstr(value, "..."), "...+99751\"");
    for (size_t i = 0; i + 2 < sizeof(bytes); i += 3) {
        memcpy(bytes + i, "\xE2\x82\xAC", 3);
    }
    /* Not within a character. */
    value = written(bytes, sizeof(bytes) - 1);
    assert_memory_equal(strstr(value, "...") - 3, "\xE2\x82\xAC", 3);
}

static void many_fields_are_left_out_and_counted(void **state)
{
    (void)state;
    static char bytes[2000];
    struct mete__log_field fields[2000];
    memset(bytes, '\x01', sizeof(bytes));
    for (int is_json = 0; is_json <= 1; is_json++) {
        mete__log_configure(is_json, METE__LOG_DEBUG);
        for (size_t len = 0; len < sizeof(bytes); len += 7) {
            for (size_t i = 0; i < 2000; i++) {
                fields[i] = i % 2 == 0 ? METE__LOG_BYTES("f", bytes, len) : METE__LOG_U64("f", INT64_MAX);
            }
            mete__log_fields(METE__LOG_INFO, "e", fields, 2000);
            hear();
            assert_in_range(said_len, 3000, LINE_MAX_BYTES);
            assert_ptr_equal(strchr(said, '\n'), said + said_len - 1);
            assert_non_null(strstr(said, is_json ? ",\"fields_cut\":1" : " fields_cut=1"));
            json_t *line = is_json ? json_loads(said, JSON_ALLOW_NUL, NULL) : json_null();
            assert_non_null(line);
            json_decref(line);
        }
    }
}

/* A pipe that is full: nothing waits; what was lost is told later. */
static void a_reader_that_stops(void **state)
{
    (void)state;
    alarm(20);
    for (int i = 0; i < 10000; i++) {
        METE__LOG(METE__LOG_INFO, "e", METE__LOG_U64("i", (uint64_t)i));
    }
    size_t lines = 0;
    for (hear(); said_len > 0; hear()) {
        for (const char *at = said; (at = strchr(at, '\n')) != NULL; at++) {
            lines++;
        }
    }
    assert_in_range(lines, 10, 9999);
    METE__LOG(METE__LOG_INFO, "back");
    METE__LOG(METE__LOG_INFO, "again");
    hear();
    unsigned long long lost = 0;
    assert_int_equal(sscanf(strstr(said, "lost="), "lost=%llu", &lost), 1);
    assert_int_equal(lost, 10000 - lines);
    assert_null(strstr(strchr(said, '\n'), "lost="));
    alarm(0);
}

static void a_socket_that_is_full(void **state)
{
    (void)state;
    int pair[2];
    alarm(20);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    mete__log_to(pair[1]);
    for (int i = 0; i < 20000; i++) {
        METE__LOG(METE__LOG_INFO, "e");
    }
    mete__log_to(ends[1]);
    METE__LOG(METE__LOG_INFO, "e");
    hear();
    assert_non_null(strstr(said, " lost="));
    ssize_t got = read(pair[0], said, sizeof(said));
    assert_true(got > 0 && memcmp(said, "time=", 5) == 0);
    close(pair[0]);
    METE__LOG(METE__LOG_INFO, "e");
    close(pair[1]);
    alarm(0);
}

/* Without SIGPIPE ignored, the write would end this program. */
static void a_reader_that_goes_away(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    close(ends[0]);
    errno = ERANGE;
    for (int i = 0; i < 3; i++) {
        METE__LOG(METE__LOG_INFO, "e");
    }
    assert_int_equal(errno, ERANGE);
    close(ends[1]);
    METE__LOG(METE__LOG_INFO, "to a closed descriptor");
    sigset_t pending;
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGPIPE));

    assert_int_equal(pipe(ends), 0);
    mete__log_to(ends[1]);
    METE__LOG(METE__LOG_INFO, "e");
    hear();
    assert_non_null(strstr(said, " lost=4\n"));
}

/* A signal that somebody else raised and holds back stays pending. */
static void a_pending_signal_is_left_alone(void **state)
{
    (void)state;
    sigset_t set;
    sigset_t pending;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_kill(pthread_self(), SIGPIPE);
    close(ends[0]);
    METE__LOG(METE__LOG_INFO, "e");
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGPIPE));
    assert_int_equal(sigtimedwait(&set, NULL, &(struct timespec){0}), SIGPIPE);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    assert_int_equal(pipe(ends), 0);
    mete__log_to(ends[1]);
    METE__LOG(METE__LOG_INFO, "e");
}

static void a_disk_that_is_full(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY);
    assert_true(full >= 0);
    mete__log_to(full);
    METE__LOG(METE__LOG_INFO, "e");
    mete__log_to(ends[1]);
    METE__LOG(METE__LOG_INFO, "e");
    hear();
    assert_non_null(strstr(said, " lost=1\n"));
    close(full);
}

#define WRITERS 4
#define LINES_EACH 2000

static void *write_many(void *letter)
{
    char text[900];
    memset(text, *(const char *)letter, sizeof(text));
    for (int i = 0; i < LINES_EACH; i++) {
        METE__LOG(METE__LOG_INFO, "e", METE__LOG_BYTES("v", text, sizeof(text)));
    }
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
    (void)state;
    static const char letters[WRITERS + 1] = "abcd";
    char path[] = "/tmp/mete-log-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    mete__log_to(file);
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)&letters[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    lseek(file, 0, SEEK_SET);
    FILE *lines = fdopen(file, "r");
    assert_non_null(lines);
    size_t count = 0;
    while (fgets(said, sizeof(said), lines) != NULL) {
        const char *value = strstr(said, " v=") + 3;
        assert_int_equal(strspn(value, (char[]){value[0], 0}), 900);
        assert_string_equal(value + 900, "\n");
        count++;
    }
    assert_int_equal(count, WRITERS * LINES_EACH);
    fclose(lines);
}

static void one_line_a_second(void **state)
{
    (void)state;
    struct mete__log_quiet quiet = {0};
    uint64_t suppressed = 99;
    assert_true(mete__log_may(&quiet, 0, &suppressed));
    assert_int_equal(suppressed, 0);
    assert_false(mete__log_may(&quiet, 1, &suppressed));
    assert_false(mete__log_may(&quiet, 1000, &suppressed));
    assert_true(mete__log_may(&quiet, 1001, &suppressed));
    assert_int_equal(suppressed, 2);
    assert_false(mete__log_may(&quiet, 900, &suppressed));
    assert_false(mete__log_may(&quiet, 2000, &suppressed));
    assert_true(mete__log_may(&quiet, 1000000, &suppressed));
    assert_int_equal(suppressed, 2);
    assert_true(mete__log_may(&quiet, 1001000, &suppressed));
    assert_int_equal(suppressed, 0);
}

static struct mete__log_quiet shared;
static uint64_t told[WRITERS];

static void *ask_many(void *sum)
{
    uint64_t suppressed;
    for (uint64_t i = 0; i < 100000; i++) {
        if (mete__log_may(&shared, 1 + i / 10, &suppressed)) {
            *(uint64_t *)sum += 1 + suppressed;
        }
    }
    return NULL;
}

static void every_call_is_told_or_counted(void **state)
{
    (void)state;
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_many, &told[i]), 0);
    }
    uint64_t sum = 0;
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        sum += told[i];
    }
    assert_int_equal(sum + shared.suppressed, WRITERS * 100000);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_line_to_the_letter),
        CASE(the_time_is_now_in_utc),
        CASE(levels_below_the_least_are_left_out),
        CASE(logfmt_values),
        CASE(bytes_that_are_no_utf8),
        CASE(json_values),
        CASE(every_byte_is_valid_json),
        CASE(long_values_are_cut_and_marked),
        CASE(many_fields_are_left_out_and_counted),
        CASE(a_reader_that_stops),
        CASE(a_socket_that_is_full),
        CASE(a_reader_that_goes_away),
        CASE(a_pending_signal_is_left_alone),
        CASE(a_disk_that_is_full),
        CASE(lines_of_threads_do_not_mix),
        cmocka_unit_test(one_line_a_second),
        cmocka_unit_test(every_call_is_told_or_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

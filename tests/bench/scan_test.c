/* SPDX-License-Identifier: Apache-2.0 */
/* The reply scanner, with its input split at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/load/scan.h"

struct stream {
    enum load_protocol protocol;
    const char *bytes;
    uint64_t replies, denied, errors;
};

#define THROTTLE "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n"
#define OK_5 "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define LONG_FIELD \
    "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"

static const struct stream streams[] = {
    {LOAD_RESP, "", 0, 0, 0},
    {LOAD_RESP, "+OK\r\n", 1, 0, 0},
    {LOAD_RESP, "+OK\r\n+OK\r\n+PONG\r\n+OK\r\n", 4, 0, 0},
    {LOAD_RESP, ":1\r\n:1\r\n:12\r\n:1\r\n", 4, 0, 0},
    {LOAD_RESP, "-ERR no\r\n:1\r\n-ERR no\r\n-ERR no\r\n", 4, 0, 3},
    {LOAD_RESP, THROTTLE THROTTLE THROTTLE "*5\r\n:1\r\n:16\r\n:0\r\n:2\r\n:32\r\n" THROTTLE, 5, 0, 0},
    {LOAD_RESP, "$5\r\na\r\n:1\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n", 5, 0, 0},
    {LOAD_RESP, "*2\r\n*2\r\n:1\r\n$3\r\n+\r\n\r\n*1\r\n-ERR within\r\n_\r\n", 2, 0, 0},
    {LOAD_RESP, "%2\r\n+a\r\n:1\r\n+b\r\n*2\r\n#t\r\n,1.5\r\n~1\r\n(123\r\n%0\r\n=7\r\ntxt:a\r\n\r\n!3\r\nERR\r\n", 5,
     0, 1},
    {LOAD_RESP, "|1\r\n+ttl\r\n:3\r\n*1\r\n:9\r\n+OK\r\n", 2, 0, 0},
    {LOAD_RESP, "*5\r\n:0\r\n:16\r\n", 0, 0, 0},
    {LOAD_HTTP, OK_5, 1, 0, 0},
    {LOAD_HTTP, OK_5 OK_5 "HTTP/1.1 429 Too Many Requests\r\ncontent-length:2\r\nRetry-After: 1\r\n\r\n{}" OK_5, 4, 1,
     0},
    {LOAD_HTTP, "HTTP/1.1 503 Busy\r\nServer: x\r\nCONTENT-LENGTH: \t0\r\n\r\n" OK_5, 2, 0, 1},
    {LOAD_HTTP, "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n" OK_5, 3, 0, 1},
    {LOAD_HTTP, "HTTP/1.1 100 Continue\r\n\r\n" OK_5 OK_5, 2, 0, 0},
    {LOAD_HTTP, "HTTP/1.1 200 OK\r\n" LONG_FIELD "Content-Length: 12\r\n" LONG_FIELD "\r\n0123\r\n\r\n0123", 1, 0, 0},
    {LOAD_HTTP, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", 0, 0, 0},
};

static const struct stream malformed[] = {
    {LOAD_RESP, "hello\r\n", 0, 0, 0},
    {LOAD_RESP, "+OK\r\n\r\n", 1, 0, 0},
    {LOAD_RESP, "$a\r\n", 0, 0, 0},
    {LOAD_RESP, "*99999999999999999999\r\n", 0, 0, 0},
    {LOAD_HTTP, "+OK\r\n", 0, 0, 0},
    {LOAD_HTTP, "HTTP/1.1 2x0 OK\r\n", 0, 0, 0},
    {LOAD_HTTP, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 0, 0},
    {LOAD_HTTP, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n", 0, 0, 0},
};

static bool feed(struct load_scan *scan, const char *bytes, size_t len, struct load_counts *counts)
{
    return len == 0 || load_scan_feed(scan, bytes, len, counts);
}

/* The stream in pieces: up to `first`, up to `second`, the rest. */
static bool scan_pieces(const struct stream *stream, size_t first, size_t second, struct load_counts *counts)
{
    size_t len = strlen(stream->bytes);
    struct load_scan scan = {.protocol = stream->protocol};
    memset(counts, 0, sizeof(*counts));
    return feed(&scan, stream->bytes, first, counts) && feed(&scan, stream->bytes + first, second - first, counts) &&
           feed(&scan, stream->bytes + second, len - second, counts);
}

static void counts_are(const struct load_counts *counts, const struct stream *stream)
{
    assert_int_equal(counts->replies, stream->replies);
    assert_int_equal(counts->kinds[LOAD_KIND_DENIED], stream->denied);
    assert_int_equal(counts->kinds[LOAD_KIND_ERROR], stream->errors);
    assert_int_equal(counts->kinds[LOAD_KIND_OK], stream->replies - stream->denied - stream->errors);
}

static void replies_are_counted_however_they_come(void **state)
{
    (void)state;
    struct load_counts counts;
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        size_t len = strlen(streams[i].bytes);
        for (size_t first = 0; first <= len; first++) {
            for (size_t second = first; second <= len; second++) {
                assert_true(scan_pieces(&streams[i], first, second, &counts));
                counts_are(&counts, &streams[i]);
            }
        }
    }
}

static void replies_are_counted_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        struct load_scan scan = {.protocol = streams[i].protocol};
        struct load_counts counts = {0};
        for (const char *at = streams[i].bytes; *at != '\0'; at++) {
            assert_true(load_scan_feed(&scan, at, 1, &counts));
        }
        counts_are(&counts, &streams[i]);
    }
}

static void what_is_no_reply_is_told(void **state)
{
    (void)state;
    struct load_counts counts;
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        size_t len = strlen(malformed[i].bytes);
        for (size_t first = 0; first <= len; first++) {
            assert_false(scan_pieces(&malformed[i], first, len, &counts));
            assert_int_equal(counts.replies, malformed[i].replies);
        }
    }
}

/* Longer than what is remembered, and repeated. */
static void long_replies_repeat(void **state)
{
    (void)state;
    enum { BODY = LOAD_SCAN_SAME_MAX };
    char bytes[2 * (BODY + 16)];
    struct load_scan scan = {.protocol = LOAD_RESP};
    struct load_counts counts = {0};
    memset(bytes, 'x', sizeof(bytes));
    size_t reply = 6 + BODY + 2;
    for (size_t i = 0; i < 2; i++) {
        memcpy(bytes + i * reply, "$512\r\n", 6);
        memcpy(bytes + i * reply + 6 + BODY, "\r\n", 2);
    }
    assert_true(load_scan_feed(&scan, bytes, 2 * reply, &counts));
    assert_int_equal(counts.replies, 2);
    assert_int_equal(scan.same_len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_are_counted_however_they_come),
        cmocka_unit_test(replies_are_counted_byte_by_byte),
        cmocka_unit_test(what_is_no_reply_is_told),
        cmocka_unit_test(long_replies_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

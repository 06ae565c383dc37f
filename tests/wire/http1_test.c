/* SPDX-License-Identifier: Apache-2.0 */
/* The request codec: what is read, what is refused and why, and that pieces do not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/http1.h"

#define BYTES_MAX 4096u
#define SIZED(literal) (literal), sizeof(literal) - 1

static enum mete__http_result read_all(const char *bytes, size_t len, struct mete__http_request *request,
                                       size_t *consumed)
{
    struct mete__http_progress progress = {0};
    return mete__http_read(bytes, len, BYTES_MAX, &progress, request, consumed);
}

/* The bytes one, two, ... `step` at a time, each time in memory of just that length, so that a read beyond is seen. */
static enum mete__http_result read_pieces(const char *bytes, size_t len, size_t step, char **copy,
                                          struct mete__http_request *request, size_t *consumed)
{
    struct mete__http_progress progress = {0};
    enum mete__http_result result = METE__HTTP_MORE;
    *copy = NULL;
    for (size_t part = step < len ? step : len; result == METE__HTTP_MORE;
         part = part + step < len ? part + step : len) {
        free(*copy);
        *copy = malloc(part > 0 ? part : 1);
        assert_non_null(*copy);
        memcpy(*copy, bytes, part);
        result = mete__http_read(*copy, part, BYTES_MAX, &progress, request, consumed);
        if (part == len) {
            break;
        }
    }
    return result;
}

static void expect_same_span(struct mete__span a, struct mete__span b)
{
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.at, b.at, a.len);
}

static void expect_same(const struct mete__http_request *a, const struct mete__http_request *b)
{
    expect_same_span(a->method, b->method);
    expect_same_span(a->target, b->target);
    expect_same_span(a->body, b->body);
    assert_int_equal(a->minor, b->minor);
    assert_int_equal(a->keeps_alive, b->keeps_alive);
    assert_int_equal(a->is_chunked, b->is_chunked);
    assert_int_equal(a->head_len, b->head_len);
    assert_int_equal(a->body_len, b->body_len);
    assert_int_equal(a->field_count, b->field_count);
    for (size_t i = 0; i < a->field_count; i++) {
        expect_same_span(a->fields[i].name, b->fields[i].name);
        expect_same_span(a->fields[i].value, b->fields[i].value);
    }
}

/* In steps of one byte and of others, and cut in two at every byte. */
static void expect_pieces_alike(const char *bytes, size_t len)
{
    static struct mete__http_request whole, part;
    size_t consumed = 0;
    enum mete__http_result result = read_all(bytes, len, &whole, &consumed);
    for (size_t step = 1; step < len; step++) {
        char *copy = NULL;
        size_t taken = 0;
        assert_int_equal(read_pieces(bytes, len, step, &copy, &part, &taken), result);
        if (result == METE__HTTP_DONE) {
            assert_int_equal(taken, consumed);
            expect_same(&whole, &part);
        } else if (result == METE__HTTP_REFUSED) {
            assert_int_equal(part.status, whole.status);
            assert_string_equal(part.why, whole.why);
        }
        free(copy);
    }
}

struct good {
    const char *bytes;
    size_t len;
    const char *method;
    const char *target;
    const char *body;
    bool keeps_alive;
};

static const struct good good[] = {
    {SIZED("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "GET", "/", "", true},
    {SIZED("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), "GET", "/", "", true},
    {SIZED("GET /x?y=z HTTP/1.1\r\nHOST:a:80\r\nX-A:\r\nx-b: \t c d \t\r\n\r\n"), "GET", "/x?y=z", "", true},
    {SIZED("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "GET", "/", "", true},
    {SIZED("GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n"), "GET", "/", "", true},
    {SIZED("GET http://a.b/c HTTP/1.1\r\nHost: a.b\r\n\r\n"), "GET", "http://a.b/c", "", true},
    {SIZED("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS", "*", "", true},
    {SIZED("GET / HTTP/1.7\r\nHost: a\r\n\r\n"), "GET", "/", "", true},
    {SIZED("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), "GET", "/", "", false},
    {SIZED("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE ,y\r\n\r\n"), "GET", "/", "", false},
    {SIZED("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n"), "GET", "/", "", false},
    {SIZED("GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n"), "GET", "/", "", true},
    {SIZED("GET / HTTP/1.0\r\n\r\n"), "GET", "/", "", false},
    {SIZED("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), "GET", "/", "", true},
    {SIZED("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"), "GET", "/", "", false},
    {SIZED("GET / HTTP/1.0\r\nExpect: anything\r\n\r\n"), "GET", "/", "", false},
    {SIZED("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"), "POST", "/", "hello", true},
    {SIZED("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), "POST", "/", "", true},
    {SIZED("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0005\r\n\r\nhello"), "POST", "/", "hello", true},
    {SIZED("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "POST", "/", "", true},
    {SIZED("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "POST", "/",
     "hello", true},
    {SIZED("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
           "1\r\nh\r\n00000003 ; a=\"b\"\r\n\r\nl\r\n1;x\r\no\r\n000\r\nT: 1\r\nU:\r\n\r\n"),
     "POST", "/", "h\r\nlo", true},
    {SIZED("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n"), "POST", "/",
     "0123456789", true},
    {SIZED("!#$%&'*+-.^_`|~09azAZ /~ HTTP/1.1\r\nHost: a\r\nX: \x80\xff\r\n\r\n"), "!#$%&'*+-.^_`|~09azAZ", "/~", "",
     true},
};

/* A reload between the pieces of a request. */
static void a_bound_may_become_lower(void **state)
{
    static const struct {
        const char *head, *body;
        unsigned status;
    } table[] = {
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n", "0123456789012345678901234567890123456789", 413},
        {"POST / HTTP/1.1\r\nHost: a\r\nX: 01234567890123456789\r\nContent-Length: 1\r\n\r\n", "x", 431},
        {"POST /01234567890123456789012345678901234567890123456789012 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n",
         "x", 414},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "a\r\n0123456789\r\n0\r\n\r\n", 413},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char bytes[256];
        struct mete__http_progress progress = {0};
        struct mete__http_request request;
        size_t consumed;
        size_t head = (size_t)snprintf(bytes, sizeof(bytes), "%s", table[i].head);
        size_t len = head + (size_t)snprintf(bytes + head, sizeof(bytes) - head, "%s", table[i].body);
        assert_int_equal(mete__http_read(bytes, head, BYTES_MAX, &progress, &request, &consumed), METE__HTTP_MORE);
        memset(&request, 0xa5, sizeof(request));
        assert_int_equal(mete__http_read(bytes, len, 64, &progress, &request, &consumed), METE__HTTP_REFUSED);
        assert_int_equal(request.status, table[i].status);
        assert_non_null(request.why);
    }
}

static void requests_are_read(void **state)
{
    (void)state;
    static struct mete__http_request request;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        size_t consumed = 0;
        char scratch[BYTES_MAX];
        if (read_all(good[i].bytes, good[i].len, &request, &consumed) != METE__HTTP_DONE) {
            fail_msg("%s: refused or not whole: %s", good[i].bytes, request.why);
        }
        struct mete__span body = mete__http_body(&request, scratch);
        assert_int_equal(consumed, good[i].len);
        assert_true(mete__span_is(request.method, good[i].method));
        assert_true(mete__span_is(request.target, good[i].target));
        assert_true(mete__span_is(body, good[i].body));
        assert_int_equal(body.len, request.body_len);
        assert_int_equal(request.keeps_alive, good[i].keeps_alive);
        expect_pieces_alike(good[i].bytes, good[i].len);
        for (size_t len = 0; len < good[i].len; len++) {
            assert_int_equal(read_all(good[i].bytes, len, &request, &consumed), METE__HTTP_MORE);
        }
    }
}

#define GET "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static const struct {
    const char *bytes;
    size_t len;
    unsigned status;
} bad[] = {
    /* both framings, in either order (RFC 9112, section 6.1) */
    {SIZED(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), 400},
    /* lengths */
    {SIZED(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"), 400},
    {SIZED(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"), 400},
    {SIZED(POST "Content-Length: 5, 5\r\n\r\nhello"), 400},
    {SIZED(POST "Content-Length: +5\r\n\r\nhello"), 400},
    {SIZED(POST "Content-Length: -5\r\n\r\nhello"), 400},
    {SIZED(POST "Content-Length: 0x5\r\n\r\nhello"), 400},
    {SIZED(POST "Content-Length: 5 5\r\n\r\nhello"), 400},
    {SIZED(POST "Content-Length:\r\n\r\n"), 400},
    {SIZED(POST "Content-Length: 5000\r\n\r\n"), 413},
    {SIZED(POST "Content-Length: 18446744073709551621\r\n\r\nhello"), 413},
    {SIZED(POST "Content-Length: 99999999999999999999999999999999999999999\r\n\r\nhello"), 413},
    /* codings */
    {SIZED(POST "Transfer-Encoding: gzip\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding: identity\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501},
    {SIZED(POST "Transfer-Encoding: chunked, gzip\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding: xchunked\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding: \"chunked\"\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding: chunked;q=1\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding:\r\n\r\n"), 400},
    {SIZED(POST "Transfer-Encoding:\x0b"
                "chunked\r\n\r\n"),
     400},
    {SIZED("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400},
    /* chunks */
    {SIZED(CHUNKED "x\r\n"), 400},
    {SIZED(CHUNKED "\r\n"), 400},
    {SIZED(CHUNKED "+5\r\nhello\r\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED "-1\r\n"), 400},
    {SIZED(CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED " 5\r\nhello\r\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED "5 \r\nhello\r\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED "5\nhello\r\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED "5\r\nhello\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED "5\r\nhello0\r\n\r\n"), 400},
    {SIZED(CHUNKED "4\r\nhello\r\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED "5;a=\x01\r\nhello\r\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED "5;a\rb\r\nhello\r\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED "000000005\r\nhello\r\n0\r\n\r\n"), 400},
    {SIZED(CHUNKED "FFFFFFFFFFFFFFFF1\r\n"), 400},
    {SIZED(CHUNKED "FFFFFFFF\r\n"), 413},
    {SIZED(CHUNKED "1000\r\n"), 413},
    {SIZED(CHUNKED "0\r\n bad: 1\r\n\r\n"), 400},
    {SIZED(CHUNKED "0\r\nbad\r\n\r\n"), 400},
    {SIZED(CHUNKED "0\r\nT: 1\n\r\n"), 400},
    /* folding, blanks, control bytes, names */
    {SIZED(GET "X: a\r\n b\r\n\r\n"), 400},
    {SIZED(GET "X: a\r\n\tb\r\n\r\n"), 400},
    {SIZED("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), 400},
    {SIZED(GET "X : a\r\n\r\n"), 400},
    {SIZED(GET "X\t: a\r\n\r\n"), 400},
    {SIZED(GET "Content-Length : 5\r\n\r\nhello"), 400},
    {SIZED(GET ": a\r\n\r\n"), 400},
    {SIZED(GET "X\r\n\r\n"), 400},
    {SIZED(GET "X(: a\r\n\r\n"), 400},
    {SIZED(GET "X\x80: a\r\n\r\n"), 400},
    {SIZED(GET "X\0: a\r\n\r\n"), 400},
    {SIZED(GET "X: a\0b\r\n\r\n"), 400},
    {SIZED(GET "X: a long enough value, then \0 and more\r\n\r\n"), 400},
    {SIZED(GET "X: a\x7f\r\n\r\n"), 400},
    {SIZED(GET "X: a\rb\r\n\r\n"), 400},
    {SIZED(GET "X: a\r\r\n\r\n"), 400},
    {SIZED(GET "X: a\nY: b\r\n\r\n"), 400},
    {SIZED(GET "X: a\n\n"), 400},
    {SIZED(GET "\n"), 400},
    /* Host */
    {SIZED("GET / HTTP/1.1\r\n\r\n"), 400},
    {SIZED(GET "Host: a\r\n\r\n"), 400},
    {SIZED("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), 400},
    {SIZED("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400},
    {SIZED("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400},
    {SIZED("GET / HTTP/1.1\r\nHost: u@b\r\n\r\n"), 400},
    /* the request line */
    {SIZED("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET /\r\n\r\n"), 400},
    {SIZED("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET /  HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"), 400},
    {SIZED(" GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("G(T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET / http/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET / HTTP/1.10\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET / HTTP/1.\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET / HTTP/11\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505},
    {SIZED("GET / HTTP/0.9\r\nHost: a\r\n\r\n"), 505},
    {SIZED("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505},
    {SIZED("GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET a HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET * HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {SIZED("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"), 501},
    /* expectations */
    {SIZED(POST "Expect: 200-ok\r\nContent-Length: 5\r\n\r\nhello"), 417},
    {SIZED(POST "Expect:\r\n\r\n"), 417},
};

static void what_could_be_smuggled_is_refused(void **state)
{
    (void)state;
    static struct mete__http_request request;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t consumed = 0;
        enum mete__http_result result = read_all(bad[i].bytes, bad[i].len, &request, &consumed);
        if (result != METE__HTTP_REFUSED || request.status != bad[i].status) {
            fail_msg("%s: result %d, status %u, not %u", bad[i].bytes, (int)result, request.status, bad[i].status);
        }
        assert_non_null(request.why);
        expect_pieces_alike(bad[i].bytes, bad[i].len);
    }
}

/* A request of `head` bytes in its head and `body` in its body. */
static char *make_request(size_t head, size_t body, size_t *len)
{
    char *bytes = malloc(head + body + 64);
    assert_non_null(bytes);
    int start = snprintf(bytes, 64, POST "Content-Length: %zu\r\nX: ", body);
    size_t used = (size_t)start;
    memset(bytes + used, 'x', head - used - 4);
    memcpy(bytes + head - 4, "\r\n\r\n", 4);
    memset(bytes + head, 'b', body);
    *len = head + body;
    return bytes;
}

static void expect_status(const char *bytes, size_t len, unsigned status)
{
    static struct mete__http_request request;
    size_t consumed = 0;
    enum mete__http_result result = read_all(bytes, len, &request, &consumed);
    assert_int_equal(result, status == 0 ? METE__HTTP_DONE : METE__HTTP_REFUSED);
    if (status != 0) {
        assert_int_equal(request.status, status);
    }
}

static void head_and_body_are_bounded(void **state)
{
    (void)state;
    static const struct {
        size_t head, body;
        unsigned status;
    } sizes[] = {
        {BYTES_MAX, 0, 0},       {BYTES_MAX + 1, 0, 431},   {BYTES_MAX - 5, 5, 0},
        {BYTES_MAX - 5, 6, 413}, {100, BYTES_MAX - 100, 0}, {100, BYTES_MAX - 99, 413},
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t len;
        char *bytes = make_request(sizes[i].head, sizes[i].body, &len);
        expect_status(bytes, len, sizes[i].status);
        free(bytes);
    }
    char line[BYTES_MAX + 1];
    memset(line, '/', sizeof(line));
    memcpy(line, "GET /", 5);
    expect_status(line, BYTES_MAX, 414);
    expect_status(line, BYTES_MAX + 1, 414);
}

static void chunks_are_bounded(void **state)
{
    (void)state;
    char bytes[2 * BYTES_MAX];
    size_t head = sizeof(CHUNKED) - 1;
    memcpy(bytes, CHUNKED, head);
    /* an extension that never ends */
    memset(bytes + head, ';', BYTES_MAX);
    bytes[head] = '1';
    expect_status(bytes, head + METE__HTTP_CHUNK_LINE_MAX, 400);
    /* chunks that never end */
    size_t len = head;
    while (len < BYTES_MAX) {
        memcpy(bytes + len, "1\r\nx\r\n", 6);
        len += 6;
    }
    expect_status(bytes, len, 413);
    /* trailers */
    for (size_t count = METE__HTTP_FIELDS_MAX; count <= METE__HTTP_FIELDS_MAX + 1; count++) {
        memcpy(bytes + head, "0\r\n", 3);
        len = head + 3;
        for (size_t i = 0; i < count; i++) {
            memcpy(bytes + len, "T: 1\r\n", 6);
            len += 6;
        }
        memcpy(bytes + len, "\r\n", 2);
        expect_status(bytes, len + 2, count > METE__HTTP_FIELDS_MAX ? 431 : 0);
    }
}

static void fields_are_counted(void **state)
{
    (void)state;
    char bytes[BYTES_MAX];
    for (size_t count = METE__HTTP_FIELDS_MAX - 1; count <= METE__HTTP_FIELDS_MAX + 1; count++) {
        size_t len = (size_t)snprintf(bytes, sizeof(bytes), GET);
        for (size_t i = 1; i < count; i++) {
            len += (size_t)snprintf(bytes + len, sizeof(bytes) - len, "X-%zu: %zu\r\n", i, i);
        }
        len += (size_t)snprintf(bytes + len, sizeof(bytes) - len, "\r\n");
        expect_status(bytes, len, count > METE__HTTP_FIELDS_MAX ? 431 : 0);
    }
}

static void fields_are_found(void **state)
{
    (void)state;
    static const char bytes[] = GET "X-Forwarded-For: 1\r\nx-forwarded-for: 2\r\nX-Forwarded-Fox: 3\r\n\r\n";
    static struct mete__http_request request;
    size_t consumed = 0;
    struct mete__span values[3];
    assert_int_equal(read_all(SIZED(bytes), &request, &consumed), METE__HTTP_DONE);
    assert_true(mete__span_is(METE__HTTP_FIND(&request, "x-forwarded-for")->value, "1"));
    assert_true(mete__span_is(METE__HTTP_FIND(&request, "host")->value, "a"));
    assert_null(METE__HTTP_FIND(&request, "x-forwarded"));
    assert_int_equal(mete__http_find_all(&request, SIZED("X-FORWARDED-for"), values, 3), 2);
    assert_true(mete__span_is(values[0], "1"));
    assert_true(mete__span_is(values[1], "2"));
    assert_int_equal(mete__http_find_all(&request, SIZED("x-forwarded-for"), values, 1), 1);
}

static void one_request_is_taken_of_two(void **state)
{
    (void)state;
    static const char bytes[] = POST "Content-Length: 3\r\n\r\nabc" GET "\r\n";
    static struct mete__http_request request;
    struct mete__http_progress progress = {0};
    size_t first = 0, second = 0;
    assert_int_equal(mete__http_read(SIZED(bytes), BYTES_MAX, &progress, &request, &first), METE__HTTP_DONE);
    assert_int_equal(mete__http_read(bytes + first, sizeof(bytes) - 1 - first, BYTES_MAX, &progress, &request, &second),
                     METE__HTTP_DONE);
    assert_int_equal(first + second, sizeof(bytes) - 1);
    assert_true(mete__span_is(request.method, "GET"));
}

static void continue_is_wanted_before_the_body(void **state)
{
    (void)state;
    static const char bytes[] = POST "Expect: 100-Continue\r\nContent-Length: 3\r\n\r\nabc";
    static struct mete__http_request request;
    struct mete__http_progress progress = {0};
    size_t consumed = 0;
    assert_int_equal(mete__http_read(bytes, 10, BYTES_MAX, &progress, &request, &consumed), METE__HTTP_MORE);
    assert_false(progress.wants_continue);
    assert_int_equal(mete__http_read(bytes, sizeof(bytes) - 4, BYTES_MAX, &progress, &request, &consumed),
                     METE__HTTP_MORE);
    assert_true(progress.wants_continue);
    progress.wants_continue = false;
    assert_int_equal(mete__http_read(bytes, sizeof(bytes) - 3, BYTES_MAX, &progress, &request, &consumed),
                     METE__HTTP_MORE);
    assert_false(progress.wants_continue);
    assert_int_equal(mete__http_read(SIZED(bytes), BYTES_MAX, &progress, &request, &consumed), METE__HTTP_DONE);
    assert_false(progress.wants_continue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_may_become_lower),
        cmocka_unit_test(requests_are_read),
        cmocka_unit_test(what_could_be_smuggled_is_refused),
        cmocka_unit_test(head_and_body_are_bounded),
        cmocka_unit_test(chunks_are_bounded),
        cmocka_unit_test(fields_are_counted),
        cmocka_unit_test(fields_are_found),
        cmocka_unit_test(one_request_is_taken_of_two),
        cmocka_unit_test(continue_is_wanted_before_the_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

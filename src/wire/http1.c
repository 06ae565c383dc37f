/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request's head, line by line.  A line is judged when it is whole, so that the
 * result does not depend on the pieces the bytes came in.
 */
#include "wire/http1.h"

#include <string.h>

static enum mete__http_result refuse(struct mete__http_request *request, unsigned status, const char *why)
{
    request->status = status;
    request->why = why;
    return METE__HTTP_REFUSED;
}

/*
 * The line at bytes + at, without its CRLF; *next is where the one after it begins.
 * RFC 9112, section 2.2: a bare LF may be taken for a line's end.  Not here:
 * programs differ on it.
 */
static enum mete__http_result take_line(const char *bytes, size_t len, size_t bytes_max, size_t at,
                                        struct mete__span *line, size_t *next, struct mete__http_request *request)
{
    const char *end = memchr(bytes + at, '\n', len - at);
    size_t past = end != NULL ? (size_t)(end - bytes) + 1 : len + 1;
    if (past > bytes_max) {
        return at <= 2 ? refuse(request, 414, "the request line is too long")
                       : refuse(request, 431, "the head is too long");
    }
    if (end == NULL) {
        return METE__HTTP_MORE;
    }
    if (past - at < 2 || end[-1] != '\r') {
        return refuse(request, 400, "a line ends with LF alone");
    }
    *line = mete__span_of(bytes + at, past - at - 2);
    *next = past;
    return METE__HTTP_DONE;
}

/* RFC 9112, section 2.3: HTTP-name "/" DIGIT "." DIGIT, in upper case. */
static unsigned read_version(struct mete__span text, struct mete__http_request *request)
{
    if (text.len != 8 || memcmp(text.at, "HTTP/", 5) != 0 || text.at[6] != '.' || text.at[5] < '0' ||
        text.at[5] > '9' || text.at[7] < '0' || text.at[7] > '9') {
        request->why = "the request line does not end with an HTTP version";
        return 400;
    }
    if (text.at[5] != '1') {
        request->why = "this server speaks HTTP/1.1";
        return 505;
    }
    /* RFC 9110, section 2.5: a higher minor version is answered as the highest one known. */
    request->minor = text.at[7] == '0' ? 0 : 1;
    return 0;
}

/* Visible ASCII and no fragment. */
static bool is_target(struct mete__span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] <= ' ' || text.at[i] >= 0x7f || text.at[i] == '#') {
            return false;
        }
    }
    return text.len > 0;
}

static bool begins_nocase(struct mete__span text, const char *start)
{
    size_t len = strlen(start);
    return text.len > len && mete__span_is_nocase(mete__span_of(text.at, len), start);
}

/* RFC 9112, section 3.2: origin-form, absolute-form, or "*" of OPTIONS.  authority-form
 * is for CONNECT, which is not done here. */
static unsigned check_target(struct mete__http_request *request)
{
    struct mete__span target = request->target;
    if (target.len > 0 && target.at[0] == '/' && is_target(target)) {
        return 0;
    }
    if (mete__span_is(request->method, "CONNECT")) {
        request->why = "CONNECT is not supported";
        return 501;
    }
    bool is_absolute = begins_nocase(target, "http://") || begins_nocase(target, "https://");
    bool is_asterisk = mete__span_is(target, "*") && mete__span_is(request->method, "OPTIONS");
    if (is_asterisk || (is_absolute && is_target(target))) {
        return 0;
    }
    request->why = "the request target is malformed";
    return 400;
}

/* RFC 9112, section 3: method SP request-target SP HTTP-version, with single spaces. */
static unsigned read_request_line(struct mete__span line, struct mete__http_request *request)
{
    const char *end = line.at + line.len;
    const char *space = memchr(line.at, ' ', line.len);
    const char *second = space != NULL ? memchr(space + 1, ' ', (size_t)(end - space - 1)) : NULL;
    if (second == NULL) {
        request->why = "the request line is not METHOD TARGET VERSION";
        return 400;
    }
    request->method = mete__span_of(line.at, (size_t)(space - line.at));
    request->target = mete__span_of(space + 1, (size_t)(second - space - 1));
    if (!mete__http_is_token(request->method)) {
        request->why = "the method is not a token";
        return 400;
    }
    unsigned status = read_version(mete__span_of(second + 1, (size_t)(end - second - 1)), request);
    return status != 0 ? status : check_target(request);
}

static unsigned add_field(struct mete__span line, struct mete__http_framing *framing,
                          struct mete__http_request *request)
{
    if (request->field_count == METE__HTTP_FIELDS_MAX) {
        request->why = "too many header fields";
        return 431;
    }
    struct mete__http_field *field = &request->fields[request->field_count];
    unsigned status = mete__http_field_read(line, field, &request->why);
    if (status == 0) {
        request->field_count++;
        status = mete__http_framing_add(framing, field, request->minor, &request->why);
    }
    return status;
}

/* RFC 9112, section 9.3. */
static bool keeps_alive(const struct mete__http_framing *framing, unsigned minor)
{
    return !framing->wants_close && (minor > 0 || framing->wants_keep_alive);
}

/* What can only be said when all fields are known. */
static enum mete__http_result finish_head(const struct mete__http_framing *framing, size_t bytes_max,
                                          struct mete__http_progress *progress, struct mete__http_request *request)
{
    /* RFC 9112, section 3.2: "A server MUST respond with a 400 status code to any HTTP/1.1 request
     * message that lacks a Host header field and to any that contains more than one". */
    if (framing->hosts != 1 && (request->minor > 0 || framing->hosts > 1)) {
        return refuse(request, 400, framing->hosts == 0 ? "there is no Host" : "there is more than one Host");
    }
    /* RFC 9112, section 6.1: such a request "might be an attempt at request smuggling". */
    if (framing->is_chunked && framing->has_length) {
        return refuse(request, 400, "Content-Length and Transfer-Encoding do not go together");
    }
    if (framing->has_length && framing->length > bytes_max - request->head_len) {
        return refuse(request, 413, "the body is too large");
    }
    request->keeps_alive = keeps_alive(framing, request->minor);
    request->is_chunked = framing->is_chunked;
    progress->head_len = request->head_len;
    progress->need = request->head_len + (size_t)framing->length;
    progress->chunk_at = framing->is_chunked ? request->head_len : 0;
    progress->wants_continue = framing->expects_continue;
    return METE__HTTP_DONE;
}

static enum mete__http_result read_head(const char *bytes, size_t len, size_t bytes_max,
                                        struct mete__http_progress *progress, struct mete__http_request *request)
{
    struct mete__span line;
    struct mete__http_framing framing = {0};
    /* RFC 9112, section 2.2: one empty line before a request is skipped. */
    size_t at = len >= 2 && memcmp(bytes, "\r\n", 2) == 0 ? 2 : 0;
    request->field_count = 0;
    enum mete__http_result result = take_line(bytes, len, bytes_max, at, &line, &at, request);
    if (result != METE__HTTP_DONE) {
        return result;
    }
    unsigned status = read_request_line(line, request);
    while (status == 0) {
        result = take_line(bytes, len, bytes_max, at, &line, &at, request);
        if (result != METE__HTTP_DONE) {
            return result;
        }
        if (line.len == 0) {
            request->head_len = at;
            return finish_head(&framing, bytes_max, progress, request);
        }
        status = add_field(line, &framing, request);
    }
    request->status = status;
    return METE__HTTP_REFUSED;
}

/* Nothing can have changed before another line is whole, or the bound is reached. */
static bool is_line_pending(const char *bytes, size_t len, size_t bytes_max, struct mete__http_progress *progress)
{
    size_t seen = progress->seen;
    progress->seen = len;
    return seen > 0 && len < bytes_max && memchr(bytes + seen, '\n', len - seen) == NULL;
}

static enum mete__http_result read_body(const char *bytes, size_t len, size_t bytes_max,
                                        struct mete__http_progress *progress, struct mete__http_request *request)
{
    if (progress->chunk_at != 0) {
        enum mete__http_result result =
            mete__http_chunks_walk(bytes, len, bytes_max, progress, &request->status, &request->why);
        if (result != METE__HTTP_DONE) {
            return result;
        }
    }
    return len < progress->need ? METE__HTTP_MORE : METE__HTTP_DONE;
}

enum mete__http_result mete__http_read(const char *bytes, size_t len, size_t bytes_max,
                                       struct mete__http_progress *progress, struct mete__http_request *request,
                                       size_t *consumed)
{
    bool has_head = progress->head_len == 0;
    if (has_head) {
        if (is_line_pending(bytes, len, bytes_max, progress)) {
            return METE__HTTP_MORE;
        }
        enum mete__http_result result = read_head(bytes, len, bytes_max, progress, request);
        if (result != METE__HTTP_DONE) {
            return result;
        }
    }
    enum mete__http_result result = read_body(bytes, len, bytes_max, progress, request);
    if (result != METE__HTTP_DONE) {
        return result;
    }
    size_t whole = progress->need;
    size_t decoded = progress->decoded;
    if (!has_head) {
        /* It was in order, and is again unless bytes_max is lower now; its spans are wanted where the bytes are now. */
        result = read_head(bytes, progress->head_len, bytes_max, progress, request);
        if (result != METE__HTTP_DONE) {
            return result;
        }
    }
    request->body = mete__span_of(bytes + request->head_len, whole - request->head_len);
    request->body_len = request->is_chunked ? decoded : request->body.len;
    *progress = (struct mete__http_progress){0};
    *consumed = whole;
    return METE__HTTP_DONE;
}

const struct mete__http_field *mete__http_find(const struct mete__http_request *request, const char *name,
                                               size_t name_len)
{
    for (size_t i = 0; i < request->field_count; i++) {
        const struct mete__http_field *field = &request->fields[i];
        if (field->name.len == name_len && mete__lower(field->name.at[0]) == name[0] &&
            mete__span_is_nocase(field->name, name)) {
            return field;
        }
    }
    return NULL;
}

size_t mete__http_find_all(const struct mete__http_request *request, const char *name, size_t name_len,
                           struct mete__span *values, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < request->field_count && count < max; i++) {
        const struct mete__http_field *field = &request->fields[i];
        bool is_same = field->name.len == name_len;
        for (size_t k = 0; is_same && k < name_len; k++) {
            is_same = mete__lower(field->name.at[k]) == mete__lower(name[k]);
        }
        if (is_same) {
            values[count++] = field->value;
        }
    }
    return count;
}

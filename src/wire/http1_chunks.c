/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunked transfer coding (RFC 9112, section 7.1):
 *
 *   chunked-body = *chunk last-chunk trailer-section CRLF
 *   chunk        = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
 *
 * Extensions and trailer fields are checked and passed over.
 */
#include "wire/http1.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = mete__lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The size at the front of a chunk's line; false when there is none, or it has too many digits.
 * What follows must be an extension: blanks (section 7.1.1 has them before ";" only) and ";". */
static bool read_size(struct mete__span line, uint64_t *size)
{
    size_t digits = 0;
    *size = 0;
    while (digits < line.len && hex_digit(line.at[digits]) >= 0) {
        if (digits == METE__HTTP_CHUNK_DIGITS_MAX) {
            return false;
        }
        *size = *size * 16 + (uint64_t)hex_digit(line.at[digits++]);
    }
    struct mete__span rest = mete__span_trim(mete__span_of(line.at + digits, line.len - digits));
    bool is_plain = digits == line.len;
    return digits > 0 && (is_plain || (rest.len > 0 && rest.at[0] == ';' && mete__http_is_value(rest)));
}

struct walk {
    const char *bytes;
    size_t len;
    size_t bytes_max;
    unsigned *status;
    const char **why;
};

static enum mete__http_result refuse(const struct walk *walk, unsigned status, const char *why)
{
    *walk->status = status;
    *walk->why = why;
    return METE__HTTP_REFUSED;
}

/* As take_line of a head; line_max bounds it on its own. */
static enum mete__http_result take_line(const struct walk *walk, size_t at, size_t line_max, struct mete__span *line,
                                        size_t *next)
{
    size_t left = walk->len - at;
    const char *end = memchr(walk->bytes + at, '\n', left < line_max ? left : line_max);
    size_t past = end != NULL ? (size_t)(end - walk->bytes) + 1 : walk->len + 1;
    if (end == NULL && left >= line_max) {
        return refuse(walk, 400, "the line of a chunk's size is too long");
    }
    if (past > walk->bytes_max) {
        return refuse(walk, 413, "the body is too large");
    }
    if (end == NULL) {
        return METE__HTTP_MORE;
    }
    if (past - at < 2 || end[-1] != '\r') {
        return refuse(walk, 400, "a line ends with LF alone");
    }
    *line = mete__span_of(walk->bytes + at, past - at - 2);
    *next = past;
    return METE__HTTP_DONE;
}

/* One chunk; progress moves behind it. */
static enum mete__http_result take_chunk(const struct walk *walk, struct mete__http_progress *progress)
{
    struct mete__span line;
    size_t data;
    uint64_t size;
    enum mete__http_result result = take_line(walk, progress->chunk_at, METE__HTTP_CHUNK_LINE_MAX, &line, &data);
    if (result != METE__HTTP_DONE) {
        return result;
    }
    if (!read_size(line, &size)) {
        return refuse(walk, 400, "a chunk's size is malformed");
    }
    if (size == 0) {
        progress->is_trailer = true;
        progress->chunk_at = data;
        return METE__HTTP_DONE;
    }
    if (size + 2 > walk->bytes_max - data) {
        return refuse(walk, 413, "the body is too large");
    }
    size_t end = data + (size_t)size;
    if (walk->len < end + 2) {
        return METE__HTTP_MORE;
    }
    if (memcmp(walk->bytes + end, "\r\n", 2) != 0) {
        return refuse(walk, 400, "a chunk does not end where its size says");
    }
    progress->decoded += (size_t)size;
    progress->chunk_at = end + 2;
    return METE__HTTP_DONE;
}

/* One line of the trailer section; *is_end when it was the empty one. */
static enum mete__http_result take_trailer(const struct walk *walk, struct mete__http_progress *progress, bool *is_end)
{
    struct mete__span line;
    struct mete__http_field field;
    enum mete__http_result result = take_line(walk, progress->chunk_at, SIZE_MAX, &line, &progress->chunk_at);
    if (result != METE__HTTP_DONE || line.len == 0) {
        *is_end = result == METE__HTTP_DONE;
        return result;
    }
    if (++progress->trailers > METE__HTTP_FIELDS_MAX) {
        return refuse(walk, 431, "too many trailer fields");
    }
    unsigned status = mete__http_field_read(line, &field, walk->why);
    return status != 0 ? refuse(walk, status, *walk->why) : METE__HTTP_DONE;
}

/* Each turn moves chunk_at on, and chunk_at stays below bytes_max. */
enum mete__http_result mete__http_chunks_walk(const char *bytes, size_t len, size_t bytes_max,
                                              struct mete__http_progress *progress, unsigned *status, const char **why)
{
    const struct walk walk = {bytes, len, bytes_max, status, why};
    bool is_end = false;
    while (!is_end) {
        enum mete__http_result result =
            progress->is_trailer ? take_trailer(&walk, progress, &is_end) : take_chunk(&walk, progress);
        if (result != METE__HTTP_DONE) {
            return result;
        }
    }
    progress->need = progress->chunk_at;
    return METE__HTTP_DONE;
}

/* The next chunk's data at *at of a body that was walked before; len 0 at the end. */
static struct mete__span next_data(struct mete__span body, size_t *at)
{
    uint64_t size = 0;
    const char *end = memchr(body.at + *at, '\n', body.len - *at);
    (void)read_size(mete__span_of(body.at + *at, (size_t)(end - body.at) - *at - 1), &size);
    struct mete__span data = mete__span_of(end + 1, (size_t)size);
    *at = (size_t)(data.at - body.at) + data.len + 2;
    return data;
}

struct mete__span mete__http_body(const struct mete__http_request *request, char *scratch)
{
    if (!request->is_chunked) {
        return request->body;
    }
    size_t at = 0;
    size_t len = 0;
    struct mete__span data = next_data(request->body, &at);
    if (data.len == request->body_len) {
        return data;
    }
    for (; data.len > 0; data = next_data(request->body, &at)) {
        memcpy(scratch + len, data.at, data.len);
        len += data.len;
    }
    return mete__span_of(scratch, len);
}

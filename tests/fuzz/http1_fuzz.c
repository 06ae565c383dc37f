/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as HTTP requests.  Cut anywhere they give the same result; what is accepted
 * lies within the bounds, has one framing, and nothing in it that another program
 * could take for the end of a line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "wire/http1.h"

#define BYTES_MAX 2048u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct mete__http_request whole, part;

static void check_span(struct mete__span span, const char *bytes, size_t len)
{
    METE_ASSERT(span.at >= bytes && span.len <= len && (size_t)(span.at - bytes) <= len - span.len);
}

static void check_line_bytes(struct mete__span span)
{
    METE_ASSERT(memchr(span.at, '\r', span.len) == NULL && memchr(span.at, '\n', span.len) == NULL);
    METE_ASSERT(memchr(span.at, '\0', span.len) == NULL);
}

static void check_request(const struct mete__http_request *request, const char *bytes, size_t consumed)
{
    METE_ASSERT(consumed <= BYTES_MAX && request->head_len <= consumed);
    METE_ASSERT(request->field_count <= METE__HTTP_FIELDS_MAX && request->body_len <= request->body.len);
    check_span(request->method, bytes, request->head_len);
    check_span(request->target, bytes, request->head_len);
    check_span(request->body, bytes, consumed);
    check_line_bytes(request->method);
    check_line_bytes(request->target);
    for (size_t i = 0; i < request->field_count; i++) {
        check_span(request->fields[i].name, bytes, request->head_len);
        check_span(request->fields[i].value, bytes, request->head_len);
        check_line_bytes(request->fields[i].name);
        check_line_bytes(request->fields[i].value);
    }
    bool has_coding = METE__HTTP_FIND(request, "transfer-encoding") != NULL;
    bool has_length = METE__HTTP_FIND(request, "content-length") != NULL;
    METE_ASSERT(has_coding == request->is_chunked && !(has_coding && has_length));
    METE_ASSERT(has_coding || has_length || request->body.len == 0);
    char scratch[BYTES_MAX];
    struct mete__span body = mete__http_body(request, scratch);
    METE_ASSERT(body.len == request->body_len);
}

/* Shown in growing pieces, in memory of just their size. */
static enum mete__http_result read_in_steps(const char *bytes, size_t size, size_t step, size_t *consumed)
{
    struct mete__http_progress progress = {0};
    enum mete__http_result result = METE__HTTP_MORE;
    for (size_t len = 0; result == METE__HTTP_MORE && len < size;) {
        len = size - len < step ? size : len + step;
        char *copy = malloc(len);
        METE_ASSERT(copy != NULL);
        memcpy(copy, bytes, len);
        result = mete__http_read(copy, len, BYTES_MAX, &progress, &part, consumed);
        if (result == METE__HTTP_DONE) {
            check_request(&part, copy, *consumed);
        }
        free(copy);
    }
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    for (int count = 0; count < 8 && size > 0; count++) {
        struct mete__http_progress progress = {0};
        size_t consumed = 0;
        enum mete__http_result result = mete__http_read(bytes, size, BYTES_MAX, &progress, &whole, &consumed);
        for (size_t step = 1; step < 64; step = step * 5 + 2) {
            size_t taken = 0;
            METE_ASSERT(read_in_steps(bytes, size, step, &taken) == result && taken == consumed);
            METE_ASSERT(result != METE__HTTP_REFUSED || (part.status == whole.status && part.why == whole.why));
            METE_ASSERT(result != METE__HTTP_DONE ||
                        (part.body_len == whole.body_len && part.field_count == whole.field_count &&
                         part.keeps_alive == whole.keeps_alive && part.target.len == whole.target.len));
        }
        METE_ASSERT(result != METE__HTTP_MORE || size < BYTES_MAX);
        if (result != METE__HTTP_DONE) {
            break;
        }
        check_request(&whole, bytes, consumed);
        bytes += consumed;
        size -= consumed;
    }
    return 0;
}

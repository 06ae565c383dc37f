/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a pipeline of RESP requests.  Shown whole, or in two pieces that meet at
 * every byte, they give the same requests and the same refusal at the same place.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "wire/resp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_MAX_SPLIT 256u

struct outcome {
    size_t requests;
    size_t args;
    size_t at; /* bytes taken */
    enum mete__resp_result last;
};

static const struct mete__resp_bounds bounds = {.bulk_max = 128, .args_max = 64};

static void check_args(const struct mete__resp_request *request, const char *bytes, size_t consumed)
{
    for (size_t i = 0; i < request->count && i < METE__RESP_ARGS_MAX; i++) {
        METE_ASSERT(request->args[i].at >= bytes && request->args[i].at + request->args[i].len <= bytes + consumed);
    }
}

/* Takes requests from data[outcome->at..end), as a connection does whose buffer ends there. */
static void take(struct outcome *outcome, const uint8_t *data, size_t end)
{
    outcome->last = METE__RESP_MORE;
    while (outcome->at < end) {
        struct mete__resp_request request;
        const char *error = NULL;
        size_t len = end - outcome->at, consumed = 0;
        char *bytes = malloc(len);
        METE_ASSERT(bytes != NULL);
        memcpy(bytes, data + outcome->at, len);
        outcome->last = mete__resp_read(bytes, len, &bounds, &request, &consumed, &error);
        if (outcome->last == METE__RESP_DONE) {
            METE_ASSERT(consumed > 0 && consumed <= len);
            check_args(&request, bytes, consumed);
            outcome->requests++;
            outcome->args += request.count;
            outcome->at += consumed;
        } else if (outcome->last != METE__RESP_MORE) {
            METE_ASSERT(error != NULL);
        }
        free(bytes);
        if (outcome->last != METE__RESP_DONE) {
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole = {0};
    take(&whole, data, size);
    for (size_t split = 0; split <= size && size <= SIZE_MAX_SPLIT; split++) {
        struct outcome parts = {0};
        take(&parts, data, split);
        if (parts.last == METE__RESP_MORE || parts.last == METE__RESP_DONE) {
            take(&parts, data, size);
        }
        METE_ASSERT(parts.requests <= whole.requests && parts.at <= whole.at);
        bool is_refused = parts.last == METE__RESP_MALFORMED || parts.last == METE__RESP_TOO_LARGE;
        METE_ASSERT(is_refused || (parts.requests == whole.requests && parts.args == whole.args));
        METE_ASSERT(!is_refused || whole.last == METE__RESP_MALFORMED || whole.last == METE__RESP_TOO_LARGE);
    }
    if (size <= 24) {
        int64_t value;
        (void)mete__resp_integer((struct mete__span){(const char *)data, size}, &value);
    }
    return 0;
}

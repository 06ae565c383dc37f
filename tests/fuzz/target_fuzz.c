/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a target, and its parameters: spans stay inside, and decoding in place is decoding. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "wire/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_decode(struct mete__span text, bool is_query)
{
    char *scratch = malloc(text.len + 1);
    char *place = malloc(text.len + 1);
    METE_ASSERT(scratch != NULL && place != NULL);
    if (text.len > 0) {
        memcpy(place, text.at, text.len);
    }
    struct mete__span out, in_place;
    bool is_fine = mete__percent_decode(text, is_query, scratch, &out);
    METE_ASSERT(mete__percent_decode(mete__span_of(place, text.len), is_query, place, &in_place) == is_fine);
    if (is_fine) {
        METE_ASSERT(out.len <= text.len && out.len == in_place.len && memcmp(scratch, place, out.len) == 0);
    }
    if (mete__is_decoded(text, is_query)) {
        METE_ASSERT(is_fine && out.len == text.len && (text.len == 0 || memcmp(scratch, text.at, text.len) == 0));
    }
    free(scratch);
    free(place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mete__span text = mete__span_of((const char *)data, size);
    struct mete__target target;
    check_decode(text, false);
    check_decode(text, true);
    if (!mete__target_split(text, &target)) {
        return 0;
    }
    METE_ASSERT(target.path.len > 0 && target.path.len + target.query.len <= size + 1);
    METE_ASSERT(memchr(target.path.at, '?', target.path.len) == NULL);
    struct mete__span rest = target.query, name, value;
    size_t taken = 0;
    while (mete__query_next(&rest, &name, &value)) {
        METE_ASSERT(name.at >= text.at && value.at + value.len <= text.at + size);
        METE_ASSERT(memchr(name.at, '=', name.len) == NULL && memchr(value.at, '&', value.len) == NULL);
        check_decode(name, true);
        check_decode(value, true);
        taken += name.len + value.len;
    }
    METE_ASSERT(rest.len == 0 && taken <= target.query.len);
    return 0;
}

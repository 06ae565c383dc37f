/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the text of a limit.  A limit that is read passes mete_limit_check and
 * reads back from what mete_limit_format writes; a refusal says why in printable
 * ASCII.
 */
#include <mete/mete.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(mete_status status, const char *why)
{
    METE_ASSERT(status == METE_EINVAL || status == METE_ERANGE);
    METE_ASSERT(why[0] != '\0');
    for (const char *at = why; *at != '\0'; at++) {
        METE_ASSERT(*at >= ' ' && *at < 0x7f);
    }
}

static void check_read_back(const struct mete_limit *limit)
{
    char text[128];
    struct mete_limit back;
    size_t len = mete_limit_format(limit, text, sizeof text);
    METE_ASSERT(len > 0 && len < sizeof text && strlen(text) == len);
    METE_ASSERT(mete_limit_check(limit, NULL, 0) == METE_OK);
    METE_ASSERT(mete_limit_parse(text, &back) == METE_OK);
    METE_ASSERT(memcmp(&back, limit, sizeof back) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Just as long as the text and its NUL, so that a read beyond is seen. */
    char *text = malloc(size + 1);
    struct mete_limit limit;
    char why[400] = "";
    if (text == NULL) {
        return 0;
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    mete_status status = mete_limit_parse_why(text, &limit, why, sizeof why);
    if (status == METE_OK) {
        check_read_back(&limit);
    } else {
        check_refusal(status, why);
    }
    free(text);
    return 0;
}

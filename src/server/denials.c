/* SPDX-License-Identifier: Apache-2.0 */
#include "server/denials.h"

#include <mete/mete.h>
#include <stdio.h>

#include "base/arith.h"
#include "server/log.h"

#define NS_PER_MS 1000000u

void mete__denials_log(struct mete__denials *denials, uint64_t now_ms, const char *policy, const void *key,
                       size_t key_len, uint64_t retry_after_ns)
{
    if (now_ms / 1000 != denials->second) {
        denials->second = now_ms / 1000;
        denials->lines = 0;
    }
    if (denials->lines == METE__DENIALS_PER_S) {
        denials->suppressed++;
        return;
    }
    denials->lines++;
    char retry_after[24] = "never"; /* in ms, rounded up */
    if (retry_after_ns != METE_NEVER) {
        snprintf(retry_after, sizeof retry_after, "%llu",
                 (unsigned long long)(mete__div_ceil_u64(retry_after_ns, NS_PER_MS)));
    }
    METE__LOG(METE__LOG_INFO, "denied", METE__LOG_TEXT("policy", policy != NULL ? policy : ""),
              METE__LOG_BYTES("key", key, key_len), METE__LOG_TEXT("retry_after_ms", retry_after),
              METE__LOG_U64("suppressed", denials->suppressed));
    denials->suppressed = 0;
}

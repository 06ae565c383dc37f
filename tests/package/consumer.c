/* SPDX-License-Identifier: Apache-2.0 */
/* Two units per hour: the third is denied, and the wait is told. */
#include <inttypes.h>
#include <mete/algorithm.h>
#include <mete/mete.h>
#include <mete/queue.h>
#include <stdio.h>

int main(void)
{
    struct mete_limit limit = {0};
    if (mete_limit_parse("2/1h", &limit) != METE_OK) {
        return 1;
    }
    struct mete_profile profile;
    if (mete_profile_init(&profile, &limit) != METE_OK) {
        return 2;
    }

    mete_store *store = NULL;
    mete_limiter *limiter = NULL;
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = 1000;
    if (mete_store_create(&options, &store) != METE_OK ||
        mete_limiter_create(store, "hourly", &limit, &limiter) != METE_OK) {
        return 3;
    }
    bool first = mete_allow(limiter, "alice", 5);
    bool second = mete_allow(limiter, "alice", 5);
    struct mete_request request = METE_REQUEST_INIT;
    request.key = "alice";
    request.key_len = 5;
    struct mete_decision decision;
    mete_status status = mete_take(limiter, &request, &decision);
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    mete_queue_destroy(NULL);

    if (!first || !second || status != METE_OK || decision.allowed) {
        return 4;
    }
    /* 1800 s after the first unit, less the time these calls took. */
    if (decision.retry_after_ns > UINT64_C(1800000000000) || decision.retry_after_ns < UINT64_C(1790000000000)) {
        printf("retry after %" PRIu64 " ns\n", decision.retry_after_ns);
        return 5;
    }
    printf("mete %s\n", METE_VERSION);
    return 0;
}

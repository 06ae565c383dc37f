/* SPDX-License-Identifier: Apache-2.0 */
/* Five requests of one user against "3 at once, then 1 per second". */
#include <mete/mete.h>
#include <stdio.h>

int main(void)
{
    mete_store *store;
    mete_limiter *limiter;
    struct mete_limit limit;

    if (mete_limit_parse("1/s burst 3", &limit) != METE_OK || mete_store_create(NULL, &store) != METE_OK) {
        return 1;
    }
    if (mete_limiter_create(store, "api", &limit, &limiter) != METE_OK) {
        return 1;
    }
    for (int i = 1; i <= 5; i++) {
        struct mete_request request = METE_REQUEST_INIT;
        struct mete_decision decision;
        request.key = "alice";
        request.key_len = 5;
        if (mete_take(limiter, &request, &decision) != METE_OK) {
            return 1;
        }
        if (decision.allowed) {
            printf("request %d: 200, %llu left\n", i, (unsigned long long)decision.remaining);
        } else {
            uint64_t retry_after_s = (decision.retry_after_ns + 999999999) / 1000000000;
            printf("request %d: 429, Retry-After: %llu\n", i, (unsigned long long)retry_after_s);
        }
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* mete_wait: for clients that pace themselves.  The units are taken first, so
 * no waiter can lose them, and the order of waiters is that of their calls. */
#include <errno.h>
#include <time.h>

#include "limiter/request.h"

#define NS_PER_S UINT64_C(1000000000)
#define POLL_NS UINT64_C(1000000) /* callers' clocks are looked at once a millisecond */

static struct timespec timespec_of(uint64_t at_ns)
{
    return (struct timespec){.tv_sec = (time_t)(at_ns / NS_PER_S), .tv_nsec = (long)(at_ns % NS_PER_S)};
}

/* Not before the store's own time shows until_ns. */
static void sleep_until(mete_store *store, uint64_t until_ns)
{
    uint64_t now_ns;
    while ((now_ns = mete__store_now(store)) < until_ns) {
        bool is_ours = store->clock.callers.now_ns == NULL;
        uint64_t longest_ns = is_ours ? until_ns - now_ns : mete__min_u64(POLL_NS, until_ns - now_ns);
        struct timespec at = timespec_of(mete__monotonic_ns() + longest_ns);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
        }
    }
}

mete_status mete_wait(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out)
{
    if (request != NULL && request->now_ns != METE_NOW) {
        return METE_EINVAL;
    }
    mete_status status = mete__request_check(limiter, request, out);
    if (status != METE_OK) {
        return status;
    }
    struct mete__hash hash = mete__hash_key(&limiter->secret, request->key, request->key_len);
    struct mete__ask ask = mete__request_ask(limiter, mete__limiter_rule(limiter), request, METE__OP_RESERVE);
    mete__decide(limiter, &ask, hash, out);
    if (out->allowed && out->wait_ns > 0) {
        sleep_until(limiter->store, ask.now_ns + out->wait_ns);
    }
    return METE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sums.h"

#include <string.h>

#include "base/clock.h"

static void add_all(uint64_t *sums, const uint64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sums[i] += mete__load_u64_relaxed(&counts[i]);
    }
}

static void add_loop(struct mete__sums *sums, const struct mete__loop *loop)
{
    add_all(sums->of, loop->counts.of, METE__SERVER_COUNTS);
    add_all(sums->latency, loop->counts.latency, METE__LATENCY_BUCKETS);
    add_all(&sums->latency_sum_ns, &loop->counts.latency_sum_ns, 1);
    add_all(sums->own, loop->counts.own, METE__OUTCOMES);
    if (loop->top.sketch != NULL) {
        sums->top_dropped += mete__top_dropped(&loop->top);
    }
}

void mete__sums_take(struct mete__server *server, struct mete__sums *out)
{
    const mete_store *stores[METE__LIVE_STORES];
    memset(out, 0, sizeof *out);
    out->server = server;
    out->now_ms = mete__wall_ns() / 1000000;
    out->open = mete__load_u64_relaxed(&server->conn_count);
    for (unsigned i = 0; i < server->loop_count; i++) {
        add_loop(out, &server->loops[i]);
    }
    out->store_count = mete__engine_stores(server->engine, stores);
    for (size_t i = 0; i < out->store_count; i++) {
        mete_store_stats(stores[i], &out->stores[i]);
    }
    mete__live_ask(server->engine, &out->live);
    mete__process_read(&out->process);
}

void mete__sums_policy(const struct mete__sums *sums, uint32_t place, uint64_t out[METE__OUTCOMES])
{
    memset(out, 0, METE__OUTCOMES * sizeof *out);
    for (unsigned i = 0; i < sums->server->loop_count; i++) {
        const struct mete__counts *counts = &sums->server->loops[i].counts;
        if (counts->policies != NULL) {
            add_all(out, counts->policies[place], METE__OUTCOMES);
        }
    }
}

const char *mete__outcome_name(enum mete__count_outcome outcome)
{
    static const char *const names[METE__OUTCOMES] = {
        [METE__OUTCOME_ALLOWED] = "allowed",
        [METE__OUTCOME_DENIED] = "denied",
        [METE__OUTCOME_WOULD_DENY] = "would_deny",
        [METE__OUTCOME_FAILED_OPEN] = "failed_open",
        [METE__OUTCOME_FAILED_CLOSED] = "failed_closed",
    };
    return names[outcome];
}

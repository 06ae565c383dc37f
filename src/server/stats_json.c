/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard's feed: totals as JSON.  Whoever wants rates takes the difference of two. */
#include "server/metrics_text.h"

#include "server/places.h"
#include "server/sums.h"
#include "wire/json.h"

static void number(const char *gap, const char *name, uint64_t value, struct mete__out *out)
{
    mete__out_format(out, "%s\"%s\":%llu", gap, name, (unsigned long long)value);
}

static void outcomes(const uint64_t counts[METE__OUTCOMES], struct mete__out *out)
{
    for (unsigned i = 0; i < METE__OUTCOMES; i++) {
        number(i == 0 ? "" : ",", mete__outcome_name(i), counts[i], out);
    }
}

static void write_policies(const struct mete__sums *sums, uint64_t totals[METE__OUTCOMES], struct mete__out *out)
{
    const char *name;
    mete__out_text(out, ",\"policies\":[");
    for (uint32_t place = 0; (name = mete__place_name(place)) != NULL; place++) {
        uint64_t counts[METE__OUTCOMES];
        mete__sums_policy(sums, place, counts);
        mete__out_text(out, place == 0 ? "{\"name\":" : ",{\"name\":");
        mete__json_string(out, mete__span_of(name, strlen(name)));
        mete__out_text(out, ",");
        outcomes(counts, out);
        mete__out_text(out, "}");
        for (unsigned i = 0; i < METE__OUTCOMES; i++) {
            totals[i] += counts[i];
        }
    }
    mete__out_text(out, "]");
}

static void write_decisions(const struct mete__sums *sums, struct mete__out *out)
{
    uint64_t totals[METE__OUTCOMES];
    memcpy(totals, sums->own, sizeof totals);
    write_policies(sums, totals, out);
    mete__out_text(out, ",\"own\":{");
    outcomes(sums->own, out);
    mete__out_text(out, "},\"totals\":{");
    outcomes(totals, out);
    mete__out_text(out, "}");
}

/* upper_us has one element less than counts: the last bucket has no bound. */
static void write_latency(const struct mete__sums *sums, struct mete__out *out)
{
    mete__out_text(out, ",\"latency\":{\"upper_us\":[");
    for (unsigned i = 0; i + 1 < METE__LATENCY_BUCKETS; i++) {
        mete__out_format(out, "%s%llu", i == 0 ? "" : ",", 1ULL << i);
    }
    mete__out_text(out, "],\"counts\":[");
    for (unsigned i = 0; i < METE__LATENCY_BUCKETS; i++) {
        mete__out_format(out, "%s%llu", i == 0 ? "" : ",", (unsigned long long)sums->latency[i]);
    }
    mete__out_text(out, "]");
    number(",", "sum_ns", sums->latency_sum_ns, out);
    mete__out_text(out, "}");
}

static void write_traffic(const struct mete__sums *sums, struct mete__out *out)
{
    mete__out_text(out, ",\"connections\":{");
    number("", "open", sums->open, out);
    number(",", "opened", sums->of[METE__COUNT_CONNECTIONS_OPENED], out);
    number(",", "closed", sums->of[METE__COUNT_CONNECTIONS_CLOSED], out);
    number(",", "refused", sums->of[METE__COUNT_CONNECTIONS_REFUSED], out);
    mete__out_text(out, "},\"requests\":{");
    number("", "resp", sums->of[METE__COUNT_REQUESTS_RESP], out);
    number(",", "http", sums->of[METE__COUNT_REQUESTS_HTTP], out);
    mete__out_text(out, "},\"errors\":{");
    number("", "protocol", sums->of[METE__COUNT_PROTOCOL_ERRORS], out);
    number(",", "timeouts", sums->of[METE__COUNT_TIMEOUTS], out);
    number(",", "logins_failed", sums->of[METE__COUNT_LOGINS_FAILED], out);
    mete__out_text(out, "},\"bytes\":{");
    number("", "received", sums->of[METE__COUNT_BYTES_IN], out);
    number(",", "sent", sums->of[METE__COUNT_BYTES_OUT], out);
    mete__out_text(out, "}");
}

static void write_store(const struct mete__sums *sums, size_t at, struct mete__out *out)
{
    const struct mete_store_stats *stats = &sums->stores[at];
    mete__out_text(out, at == 0 ? "{" : ",{");
    number("", "keys_max", stats->keys_max, out);
    if (sums->live.is_known) {
        number(",", "keys_live", sums->live.keys[at], out);
    } else {
        mete__out_text(out, ",\"keys_live\":null");
    }
    number(",", "memory_bytes", stats->memory_bytes, out);
    number(",", "log_bytes", stats->log_bytes, out);
    number(",", "keys_inserted", stats->keys_inserted, out);
    number(",", "keys_evicted", stats->keys_evicted, out);
    number(",", "full_denied", stats->full_denied, out);
    number(",", "full_untracked", stats->full_untracked, out);
    number(",", "swap_retries", stats->swap_retries, out);
    number(",", "scales_used", stats->scales_used, out);
    mete__out_text(out, "}");
}

static void write_stores(const struct mete__sums *sums, struct mete__out *out)
{
    mete__out_text(out, ",\"stores\":[");
    for (size_t i = 0; i < sums->store_count; i++) {
        write_store(sums, i, out);
    }
    mete__out_text(out, "]");
    if (sums->live.is_known) {
        number(",", "keys_live_age_ms", sums->live.age_ms, out);
    } else {
        mete__out_text(out, ",\"keys_live_age_ms\":null");
    }
}

static void write_process(const struct mete__sums *sums, struct mete__out *out)
{
    mete__out_text(out, ",\"process\":{");
    number("", "rss_bytes", sums->process.rss_bytes, out);
    number(",", "cpu_us", sums->process.cpu_us, out);
    number(",", "fds", sums->process.fds, out);
    number(",", "fds_max", sums->process.fds_max, out);
    mete__out_text(out, "},\"reloads\":{");
    number("", "done", mete__load_u64_relaxed(&sums->server->reloads), out);
    number(",", "failed", mete__load_u64_relaxed(&sums->server->reloads_failed), out);
    mete__out_text(out, "}");
}

void mete__stats_json(struct mete__server *server, struct mete__out *out)
{
    struct mete__sums sums;
    mete__sums_take(server, &sums);
    mete__out_format(out, "{\"version\":\"%s\"", mete_version());
    number(",", "now_ms", sums.now_ms, out);
    number(",", "started_ms", server->started_ms, out);
    number(",", "uptime_ms", sums.now_ms > server->started_ms ? sums.now_ms - server->started_ms : 0, out);
    number(",", "threads", server->loop_count, out);
    mete__out_format(out, ",\"draining\":%s",
                     __atomic_load_n(&server->is_draining, __ATOMIC_RELAXED) ? "true" : "false");
    write_decisions(&sums, out);
    write_latency(&sums, out);
    write_traffic(&sums, out);
    write_stores(&sums, out);
    write_process(&sums, out);
    mete__out_text(out, "}");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One table of metrics: each row knows how to write its samples. */
#include "server/metrics_text.h"

#include "server/places.h"
#include "server/sums.h"

struct metric {
    struct mete__metric_row row;
    void (*write)(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out);
    size_t at; /* which of several alike: an index, or the offset of a field */
};

/* name 1 */
static void sample(const struct metric *metric, uint64_t value, struct mete__out *out)
{
    mete__out_format(out, "%s %llu\n", metric->row.name, (unsigned long long)value);
}

/* A label's value: backslash, quote and line feed are escaped. */
static void label(const char *name, const char *value, struct mete__out *out)
{
    mete__out_text(out, name);
    mete__out_text(out, "=\"");
    for (; *value != '\0'; value++) {
        if (*value == '\n') {
            mete__out_text(out, "\\n");
            continue;
        }
        if (*value == '\\' || *value == '"') {
            mete__out_text(out, "\\");
        }
        mete__out_bytes(out, value, 1);
    }
    mete__out_text(out, "\"");
}

/* name{label="value"} 1 */
static void labelled(const struct metric *metric, const char *name, const char *value, uint64_t number,
                     struct mete__out *out)
{
    mete__out_format(out, "%s{", metric->row.name);
    label(name, value, out);
    mete__out_format(out, "} %llu\n", (unsigned long long)number);
}

/* 1.000000001 */
static void seconds(uint64_t whole, uint64_t rest, int digits, struct mete__out *out)
{
    mete__out_format(out, "%llu.%0*llu", (unsigned long long)whole, digits, (unsigned long long)rest);
}

static void timed(const struct metric *metric, uint64_t ms, struct mete__out *out)
{
    mete__out_format(out, "%s ", metric->row.name);
    seconds(ms / 1000, ms % 1000, 3, out);
    mete__out_text(out, "\n");
}

/* --- decisions -------------------------------------------------------------- */

static void outcomes(const struct metric *metric, const char *policy, const uint64_t counts[METE__OUTCOMES],
                     struct mete__out *out)
{
    for (unsigned i = 0; i < METE__OUTCOMES; i++) {
        mete__out_format(out, "%s{", metric->row.name);
        if (policy != NULL) {
            label("policy", policy, out);
            mete__out_text(out, ",");
        }
        label("outcome", mete__outcome_name(i), out);
        mete__out_format(out, "} %llu\n", (unsigned long long)counts[i]);
    }
}

static void write_decisions(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    uint64_t counts[METE__OUTCOMES];
    const char *name;
    for (uint32_t place = 0; (name = mete__place_name(place)) != NULL; place++) {
        mete__sums_policy(sums, place, counts);
        outcomes(metric, name, counts, out);
    }
}

static void write_own(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    outcomes(metric, NULL, sums->own, out);
}

/* Bucket i counts decisions that took less than 2^i us, so its upper bound is that; the last has none. */
static void write_latency(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < METE__LATENCY_BUCKETS; i++) {
        total += sums->latency[i];
        mete__out_format(out, "%s_bucket{le=\"", metric->row.name);
        if (i + 1 < METE__LATENCY_BUCKETS) {
            seconds((UINT64_C(1) << i) / 1000000, (UINT64_C(1) << i) % 1000000, 6, out);
        } else {
            mete__out_text(out, "+Inf");
        }
        mete__out_format(out, "\"} %llu\n", (unsigned long long)total);
    }
    mete__out_format(out, "%s_sum ", metric->row.name);
    seconds(sums->latency_sum_ns / 1000000000, sums->latency_sum_ns % 1000000000, 9, out);
    mete__out_format(out, "\n%s_count %llu\n", metric->row.name, (unsigned long long)total);
}

/* --- connections ------------------------------------------------------------ */

static void write_count(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    sample(metric, sums->of[metric->at], out);
}

static void write_open(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    sample(metric, sums->open, out);
}

static void write_requests(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    labelled(metric, "protocol", "resp", sums->of[METE__COUNT_REQUESTS_RESP], out);
    labelled(metric, "protocol", "http", sums->of[METE__COUNT_REQUESTS_HTTP], out);
}

static void write_top_dropped(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    sample(metric, sums->top_dropped, out);
}

/* --- stores ------------------------------------------------------------------ */

static void per_store(const struct metric *metric, const struct mete__sums *sums, size_t store, uint64_t value,
                      struct mete__out *out)
{
    char name[8] = {(char)('0' + store), '\0'};
    if (store < sums->store_count) {
        labelled(metric, "store", name, value, out);
    }
}

static void write_store(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    for (size_t i = 0; i < sums->store_count; i++) {
        uint64_t value;
        memcpy(&value, (const char *)&sums->stores[i] + metric->at, sizeof value);
        per_store(metric, sums, i, value, out);
    }
}

static void write_live(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    for (size_t i = 0; i < sums->store_count && sums->live.is_known; i++) {
        per_store(metric, sums, i, sums->live.keys[i], out);
    }
}

static void write_live_age(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    if (sums->live.is_known) {
        timed(metric, sums->live.age_ms, out);
    }
}

static void write_live_took(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    if (sums->live.is_known) {
        timed(metric, sums->live.took_ms, out);
    }
}

/* Of the process, not of a store: every store tells the same. */
static void write_clock_steps(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    sample(metric, sums->store_count > 0 ? sums->stores[0].clock_steps : 0, out);
}

/* --- daemon and process ------------------------------------------------------ */

static void write_build(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    (void)sums;
    labelled(metric, "version", mete_version(), 1, out);
}

static void write_reloads(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    labelled(metric, "result", "done", mete__load_u64_relaxed(&sums->server->reloads), out);
    labelled(metric, "result", "failed", mete__load_u64_relaxed(&sums->server->reloads_failed), out);
}

static void write_draining(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    sample(metric, __atomic_load_n(&sums->server->is_draining, __ATOMIC_RELAXED), out);
}

static void write_loops(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    sample(metric, sums->server->loop_count, out);
}

static void write_start(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    timed(metric, sums->server->started_ms, out);
}

static void write_cpu(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    mete__out_format(out, "%s ", metric->row.name);
    seconds(sums->process.cpu_us / 1000000, sums->process.cpu_us % 1000000, 6, out);
    mete__out_text(out, "\n");
}

static void write_process(const struct metric *metric, const struct mete__sums *sums, struct mete__out *out)
{
    uint64_t value;
    memcpy(&value, (const char *)&sums->process + metric->at, sizeof value);
    sample(metric, value, out);
}

/* --- the table --------------------------------------------------------------- */

#define COUNT(name, which, help)                                      \
    {                                                                 \
        {name, "counter", "", help}, write_count, METE__COUNT_##which \
    }
#define STORE(name, type, field, help)                                                     \
    {                                                                                      \
        {name, type, "store", help}, write_store, offsetof(struct mete_store_stats, field) \
    }
#define PROCESS(name, field, help)                                                      \
    {                                                                                   \
        {name, "gauge", "", help}, write_process, offsetof(struct mete__process, field) \
    }
#define PLAIN(name, type, labels, function, help) \
    {                                             \
        {name, type, labels, help}, function, 0   \
    }

static const struct metric metrics[] = {
    PLAIN("mete_decisions_total", "counter", "policy, outcome", write_decisions,
          "Decisions by policy and outcome: allowed, denied, would_deny (dry run: allowed, and would have been "
          "denied), failed_open and failed_closed (no decision could be made). Policies beyond 1023 share (other)."),
    PLAIN("mete_own_decisions_total", "counter", "outcome", write_own,
          "Decisions on limits that requests bring themselves, as CL.THROTTLE does, by outcome."),
    PLAIN("mete_decision_seconds", "histogram", "", write_latency,
          "Time from the first request of a batch until its replies are written, counted for each of its decisions; "
          "policies of several limits are not decided in batches."),
    PLAIN("mete_connections", "gauge", "", write_open, "Connections open now."),
    COUNT("mete_connections_opened_total", CONNECTIONS_OPENED, "Connections accepted."),
    COUNT("mete_connections_closed_total", CONNECTIONS_CLOSED, "Connections closed, by either side."),
    COUNT("mete_connections_refused_total", CONNECTIONS_REFUSED,
          "Connections refused: over connections_max, or no file descriptor was left."),
    PLAIN("mete_requests_total", "counter", "protocol", write_requests, "Requests read, by protocol: resp, http."),
    COUNT("mete_protocol_errors_total", PROTOCOL_ERRORS, "Requests that could not be read as their protocol says."),
    COUNT("mete_timeouts_total", TIMEOUTS, "Connections closed because they were idle, or slow to send a request."),
    COUNT("mete_logins_failed_total", LOGINS_FAILED, "Logins with a wrong name or password."),
    COUNT("mete_received_bytes_total", BYTES_IN, "Bytes read from connections."),
    COUNT("mete_sent_bytes_total", BYTES_OUT, "Bytes written to connections."),
    COUNT("mete_choked_total", CHOKED, "Times a connection was not read because its replies waited to be sent."),
    COUNT("mete_batches_total", BATCHES, "Batches of requests that were decided together."),
    PLAIN("mete_top_dropped_total", "counter", "", write_top_dropped,
          "Samples left out of the list of top keys because the list was being read."),
    PLAIN("mete_keys_live", "gauge", "store", write_live,
          "Keys with something spent, at the last count; without the keys of sliding logs."),
    PLAIN("mete_keys_live_age_seconds", "gauge", "", write_live_age,
          "Age of the last count of live keys; a count is started when it is asked for and older than 10 s."),
    PLAIN("mete_keys_live_walk_seconds", "gauge", "", write_live_took, "How long the last count of live keys took."),
    STORE("mete_store_keys_max", "gauge", keys_max, "Keys the store holds without forgetting any."),
    STORE("mete_store_memory_bytes", "gauge", memory_bytes, "Memory of the store's table."),
    STORE("mete_store_log_bytes", "gauge", log_bytes, "Memory of sliding logs."),
    STORE("mete_store_keys_inserted_total", "counter", keys_inserted, "Keys that were given a place."),
    STORE("mete_store_keys_evicted_total", "counter", keys_evicted, "Live keys forgotten to make room."),
    STORE("mete_store_full_denied_total", "counter", full_denied, "New keys denied because the table was full."),
    STORE("mete_store_full_untracked_total", "counter", full_untracked,
          "Decisions admitted untracked because the table was full."),
    STORE("mete_store_swap_retries_total", "counter", swap_retries,
          "Decisions repeated because another thread changed the key first."),
    STORE("mete_store_claims_removed_total", "counter", claims_removed,
          "Half-made places of other threads or killed processes that were cleared away."),
    STORE("mete_store_keys_rescaled_total", "counter", keys_rescaled, "Keys carried over to a changed limit."),
    STORE("mete_store_scales_used", "gauge", scales_used, "Distinct rates in use, of at most 65535."),
    PLAIN("mete_clock_steps_total", "counter", "", write_clock_steps,
          "Clock readings that would have gone back and were held."),
    PLAIN("mete_config_reloads_total", "counter", "result", write_reloads,
          "Reloads of the configuration: done, or failed (the old one stayed in force)."),
    PLAIN("mete_draining", "gauge", "", write_draining, "1 while the daemon finishes its connections to stop."),
    PLAIN("mete_loops", "gauge", "", write_loops, "Event loops, each a thread."),
    PLAIN("mete_build_info", "gauge", "version", write_build, "Always 1; the label tells the version."),
    PLAIN("process_start_time_seconds", "gauge", "", write_start, "When the daemon started, in Unix time."),
    PLAIN("process_cpu_seconds_total", "counter", "", write_cpu, "Processor time used, user and system."),
    PROCESS("process_resident_memory_bytes", rss_bytes, "Memory that is resident."),
    PROCESS("process_virtual_memory_bytes", virtual_bytes, "Address space in use."),
    PROCESS("process_open_fds", fds, "File descriptors open."),
    PROCESS("process_max_fds", fds_max, "File descriptors that may be open."),
};

#define METRIC_COUNT (sizeof metrics / sizeof metrics[0])

/* Help texts have neither backslash nor line feed, which would have to be escaped (a test looks). */
void mete__metrics_text(struct mete__server *server, struct mete__out *out)
{
    struct mete__sums sums;
    mete__sums_take(server, &sums);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct mete__metric_row *row = &metrics[i].row;
        mete__out_format(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name, row->type);
        metrics[i].write(&metrics[i], &sums, out);
    }
}

bool mete__metrics_row(size_t index, struct mete__metric_row *out)
{
    if (index >= METRIC_COUNT) {
        return false;
    }
    *out = metrics[index].row;
    return true;
}

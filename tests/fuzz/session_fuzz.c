/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as what a client sends over RESP or HTTP (the first byte chooses), to the
 * sessions of the daemon: commands, paths, queries, JSON bodies, batches.  Given in
 * two pieces that meet where the second byte says, they are taken, or refused, as in
 * one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "policy/load.h"
#include "server/conn_io.h"
#include "server/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OUT_MAX (8u << 20)

static const char config_text[] =
    "policies:\n"
    "  a: {limits: {m: 3/1m}, key: [client_address, \"header:X-Key\", \"query:k\", path]}\n"
    "  b: {limits: {x: 5/s burst 2, y: sliding_window 9/1h}, dry_run: true}\n"
    "store: {keys_max: 64}\n"
    "bounds: {request_bytes_max: 4096}\n";

static struct mete__server server;
static struct mete__loop loop;

static bool set_up(void)
{
    struct mete__config *config;
    struct mete__engine_options options = {.has_test_clock = true};
    char why[METE__CONFIG_WHY_SIZE];
    mete_status status = mete__config_parse("fuzz", config_text, sizeof config_text - 1, &config, why, sizeof why);
    METE_ASSERT(status == METE_OK);
    config->log_level = METE__LOG_ERROR + 1;
    mete__log_configure(false, METE__LOG_ERROR);
    status = mete__engine_create(config, &options, &server.engine, why, sizeof why);
    METE_ASSERT(status == METE_OK);
    server.loops = &loop;
    server.loop_count = 1;
    loop.server = &server;
    loop.snapshot = mete__engine_join(server.engine);
    loop.counts.policies = calloc(METE__POLICIES_MAX, sizeof *loop.counts.policies);
    METE_ASSERT(uv_loop_init(&loop.uv) == 0 && loop.counts.policies != NULL && mete__top_init(&loop.top));
    return true;
}

struct result {
    size_t taken;
    bool is_finishing;
};

/* One connection, given bytes[0..split), then all of it. */
static struct result talk(const struct mete__protocol *protocol, const char *bytes, size_t len, size_t split)
{
    struct mete__conn_io io = {.state = METE__CONN_READING};
    struct mete__conn conn = {.loop = &loop, .protocol = protocol, .io = &io, .local = "fuzz", .peer = "192.0.2.7:1"};
    struct result result = {0};
    conn.session = calloc(1, protocol->session_size);
    conn.user = &loop.snapshot->config->users[0];
    METE_ASSERT(conn.session != NULL);
    mete__out_init(&conn.out, OUT_MAX);
    if (protocol->opened != NULL) {
        protocol->opened(&conn);
    }
    for (size_t end = split;; end = len) {
        while (result.taken < end && !io.is_finishing) {
            size_t shown = end - result.taken;
            char *copy = malloc(shown); /* just as long: a read beyond is seen */
            METE_ASSERT(copy != NULL);
            memcpy(copy, bytes + result.taken, shown);
            size_t taken = protocol->input(&conn, copy, shown);
            mete__batch_flush(&loop);
            free(copy);
            METE_ASSERT(taken <= shown);
            result.taken += taken;
            if (taken == 0) {
                break;
            }
        }
        if (end == len) {
            break;
        }
    }
    result.is_finishing = io.is_finishing;
    METE_ASSERT(!conn.out.is_failed);
    loop.conns.dirty = NULL;
    if (protocol->closed != NULL) {
        protocol->closed(&conn);
    }
    free(conn.session);
    mete__out_clear(&conn.out);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_ready;
    is_ready = is_ready || set_up();
    if (size < 2) {
        return 0;
    }
    const struct mete__protocol *protocol = data[0] % 2 == 0 ? &mete__protocol_http : &mete__protocol_resp;
    const char *bytes = (const char *)data + 2;
    size_t len = size - 2, split = len > 0 ? data[1] * len / 256 : 0;
    struct result whole = talk(protocol, bytes, len, len);
    struct result parts = talk(protocol, bytes, len, split);
    METE_ASSERT(whole.is_finishing == parts.is_finishing);
    METE_ASSERT(whole.is_finishing || whole.taken == parts.taken);
    /* An hour later little is owed. */
    uint64_t now_ns = mete__engine_now(server.engine) + UINT64_C(3600000000000);
    mete__engine_set_clock(server.engine, now_ns < METE_TIME_MAX ? now_ns : 0);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What clients ask about the server. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/resp_commands.h"
#include "server/server.h"

/* Clients choose features by the version of Redis they believe to speak to. */
#define REDIS_VERSION "7.0.0"

/* --- COMMAND ------------------------------------------------------------------------------ */

static void put_flags(struct mete__out *out, const struct mete__command *command)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {{METE__COMMAND_WRITE, "write"},
                 {METE__COMMAND_READONLY, "readonly"},
                 {METE__COMMAND_FAST, "fast"},
                 {METE__COMMAND_NO_AUTH, "no_auth"},
                 {METE__COMMAND_ADMIN, "admin"}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        count += (command->flags & names[i].flag) != 0;
    }
    mete__resp_array(out, count);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if ((command->flags & names[i].flag) != 0) {
            mete__resp_simple(out, names[i].name);
        }
    }
}

/* Redis names commands in lower case here, and so clients look for them. */
static void put_name(struct mete__out *out, const struct mete__command *command)
{
    char name[32];
    size_t len = strlen(command->name);
    for (size_t i = 0; i < len; i++) {
        char c = command->name[i];
        name[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    mete__resp_bulk(out, name, len);
}

/* Commands for tests are not shown to others. */
static bool is_shown(const struct mete__conn *conn, const struct mete__command *command)
{
    return (command->flags & METE__COMMAND_TEST_CLOCK) == 0 || mete__engine_has_test_clock(conn->loop->server->engine);
}

static size_t count_shown(const struct mete__conn *conn)
{
    size_t count = 0;
    for (size_t i = 0; i < mete__command_count; i++) {
        count += is_shown(conn, &mete__commands[i]);
    }
    return count;
}

/* The ten fields of COMMAND INFO. */
static void put_info(struct mete__out *out, const struct mete__command *command)
{
    mete__resp_array(out, 10);
    put_name(out, command);
    mete__resp_i64(out, command->arity);
    put_flags(out, command);
    mete__resp_i64(out, command->key);
    mete__resp_i64(out, command->keys_step != 0 ? -1 : command->key);
    mete__resp_i64(out, command->key != 0 ? 1 : 0);
    for (int i = 0; i < 4; i++) { /* categories, tips, key specifications, subcommands */
        mete__resp_array(out, 0);
    }
}

static void put_docs(struct mete__out *out, const struct mete__command *command, int version)
{
    put_name(out, command);
    mete__resp_map(out, 4, version);
    mete__resp_text(out, "summary");
    mete__resp_text(out, command->summary);
    mete__resp_text(out, "since");
    mete__resp_text(out, METE_VERSION);
    mete__resp_text(out, "arguments_text");
    mete__resp_text(out, command->arguments);
    mete__resp_text(out, "reply_schema");
    mete__resp_text(out, command->reply);
}

/* One row per command, all or those named. */
static void each_command(struct mete__conn *conn, const struct mete__resp_request *request, bool is_docs)
{
    struct mete__out *out = &conn->out;
    int version = mete__resp_session(conn)->version;
    bool is_all = request->count <= 2;
    size_t count = is_all ? count_shown(conn) : 0;
    for (size_t i = 2; i < request->count; i++) {
        count += !is_docs || mete__command_find(request->args[i]) != NULL;
    }
    if (is_docs) {
        mete__resp_map(out, count, version);
    } else {
        mete__resp_array(out, count);
    }
    for (size_t i = 0; is_all && i < mete__command_count; i++) {
        if (is_shown(conn, &mete__commands[i]) && is_docs) {
            put_docs(out, &mete__commands[i], version);
        } else if (is_shown(conn, &mete__commands[i])) {
            put_info(out, &mete__commands[i]);
        }
    }
    for (size_t i = 2; i < request->count; i++) {
        const struct mete__command *command = mete__command_find(request->args[i]);
        if (command != NULL && is_docs) {
            put_docs(out, command, version);
        } else if (command != NULL) {
            put_info(out, command);
        } else if (!is_docs) {
            mete__resp_null(out, version);
        }
    }
}

void mete__run_command(struct mete__conn *conn, const struct mete__resp_request *request)
{
    struct mete__span what = request->count > 1 ? request->args[1] : (struct mete__span){"", 0};
    if (request->count == 1 || mete__resp_is(what, "INFO")) {
        each_command(conn, request, false);
    } else if (mete__resp_is(what, "DOCS")) {
        each_command(conn, request, true);
    } else if (mete__resp_is(what, "COUNT") && request->count == 2) {
        mete__resp_i64(&conn->out, (int64_t)count_shown(conn));
    } else if (mete__resp_is(what, "LIST") && request->count == 2) {
        mete__resp_array(&conn->out, count_shown(conn));
        for (size_t i = 0; i < mete__command_count; i++) {
            if (is_shown(conn, &mete__commands[i])) {
                put_name(&conn->out, &mete__commands[i]);
            }
        }
    } else {
        mete__resp_error(&conn->out, "ERR unknown subcommand or wrong number of arguments for COMMAND");
    }
}

/* --- CONFIG GET --------------------------------------------------------------------------- */

struct setting {
    const char *name;
    char value[32];
};

void mete__run_config(struct mete__conn *conn, const struct mete__resp_request *request)
{
    const struct mete__config *config = conn->loop->snapshot->config;
    struct setting settings[] = {{"appendonly", "no"}, {"databases", "1"}, {"maxclients", ""},
                                 {"maxmemory", "0"},   {"save", ""},       {"timeout", ""}};
    char pattern[64];
    bool is_matching[sizeof settings / sizeof *settings];
    size_t count = 0;
    if (!mete__resp_is(request->args[1], "GET") || request->count != 3) {
        mete__resp_error(&conn->out, "ERR only CONFIG GET pattern is served; the configuration is a file");
        return;
    }
    snprintf(settings[2].value, sizeof settings[2].value, "%llu", (unsigned long long)config->bounds.connections_max);
    snprintf(settings[5].value, sizeof settings[5].value, "%llu",
             (unsigned long long)config->bounds.idle_timeout_ms / 1000);
    size_t len = request->args[2].len < sizeof pattern - 1 ? request->args[2].len : sizeof pattern - 1;
    memcpy(pattern, request->args[2].at, len);
    pattern[len] = '\0';
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        is_matching[i] = fnmatch(pattern, settings[i].name, FNM_CASEFOLD) == 0;
        count += is_matching[i];
    }
    mete__resp_map(&conn->out, count, mete__resp_session(conn)->version);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (is_matching[i]) {
            mete__resp_text(&conn->out, settings[i].name);
            mete__resp_text(&conn->out, settings[i].value);
        }
    }
}

/* --- INFO, TIME ----------------------------------------------------------------------------- */

static uint64_t wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void mete__run_info(struct mete__conn *conn, const struct mete__resp_request *request)
{
    struct mete__server *server = conn->loop->server;
    const mete_store *stores[3];
    struct mete_store_stats stats = {0};
    struct mete__out text;
    (void)request;
    mete__out_init(&text, 1u << 16);
    mete__out_format(&text,
                     "# Server\r\nredis_version:%s\r\nmete_version:%s\r\nredis_mode:standalone\r\nprocess_id:%ld\r\n"
                     "uptime_in_seconds:%llu\r\nio_threads_active:%u\r\n\r\n",
                     REDIS_VERSION, METE_VERSION, (long)getpid(),
                     (unsigned long long)(wall_us() / 1000 - server->started_ms) / 1000, server->loop_count);
    mete__out_format(&text, "# Clients\r\nconnected_clients:%llu\r\nmaxclients:%llu\r\n\r\n",
                     (unsigned long long)__atomic_load_n(&server->conn_count, __ATOMIC_RELAXED),
                     (unsigned long long)conn->loop->snapshot->config->bounds.connections_max);
    size_t count = mete__engine_stores(server->engine, stores);
    for (size_t i = 0; i < count; i++) {
        (void)mete_store_stats(stores[i], &stats);
        mete__out_format(
            &text,
            "# Store%zu\r\nkeys_max:%llu\r\nmemory_bytes:%llu\r\nkeys_inserted:%llu\r\nevicted_keys:%llu\r\n"
            "full_denied:%llu\r\nfull_untracked:%llu\r\n\r\n",
            i, (unsigned long long)stats.keys_max, (unsigned long long)stats.memory_bytes,
            (unsigned long long)stats.keys_inserted, (unsigned long long)stats.keys_evicted,
            (unsigned long long)stats.full_denied, (unsigned long long)stats.full_untracked);
    }
    mete__out_format(&text,
                     "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n");
    mete__resp_bulk(&conn->out, text.bytes, text.len);
    mete__out_clear(&text);
}

void mete__run_time(struct mete__conn *conn, const struct mete__resp_request *request)
{
    char digits[24];
    uint64_t now_us = wall_us();
    (void)request;
    mete__resp_array(&conn->out, 2);
    mete__resp_bulk(&conn->out, digits, mete__write_u64(digits, now_us / 1000000));
    mete__resp_bulk(&conn->out, digits, mete__write_u64(digits, now_us % 1000000));
}

/* --- METE.CLOCK ------------------------------------------------------------------------------ */

void mete__run_clock(struct mete__conn *conn, const struct mete__resp_request *request)
{
    struct mete__engine *engine = conn->loop->server->engine;
    struct mete__span what = request->args[1];
    uint64_t now_ns = mete__engine_now(engine);
    int64_t number = 0;
    bool is_get = mete__resp_is(what, "GET") && request->count == 2;
    bool is_advance = mete__resp_is(what, "ADVANCE");
    if (!is_get && !((is_advance || mete__resp_is(what, "SET")) && request->count == 3)) {
        mete__resp_error(&conn->out, "ERR syntax error: METE.CLOCK GET | SET ns | ADVANCE ns");
        return;
    }
    if (!is_get && (!mete__resp_integer(request->args[2], &number) || number < 0 ||
                    (uint64_t)number + (is_advance ? now_ns : 0) > METE_TIME_MAX)) {
        mete__resp_error(&conn->out, "ERR ns: not a whole number of nanoseconds up to the year 2100");
        return;
    }
    if (!is_get) {
        now_ns = (uint64_t)number + (is_advance ? now_ns : 0);
        mete__engine_set_clock(engine, now_ns);
    }
    mete__resp_i64(&conn->out, (int64_t)now_ns);
}

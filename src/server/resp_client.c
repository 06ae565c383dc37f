/* SPDX-License-Identifier: Apache-2.0 */
/* What clients send when they connect, and about themselves. */
#include <stdio.h>
#include <string.h>

#include "server/log.h"
#include "server/resp_commands.h"
#include "server/server.h"

/* --- logging in --------------------------------------------------------------------------- */

/* name is NULL when only a password was given; an empty name is nobody's. */
static bool login(struct mete__conn *conn, const struct mete__span *name, struct mete__span password)
{
    const struct mete__config *config = conn->loop->snapshot->config;
    const struct mete__user *user = NULL;
    if (name == NULL) {
        user = mete__access_login(config, NULL, 0, password.at, password.len);
    } else if (name->len > 0) {
        user = mete__access_login(config, name->at, name->len, password.at, password.len);
    }
    if (user == NULL) {
        mete__counts_add(&conn->loop->counts.of[METE__COUNT_LOGINS_FAILED], 1);
        METE__LOG(METE__LOG_WARN, "login failed", METE__LOG_TEXT("peer", conn->peer));
        mete__resp_error(&conn->out, "WRONGPASS invalid username-password pair or user is disabled.");
        return false;
    }
    conn->user = user;
    return true;
}

void mete__run_auth(struct mete__conn *conn, const struct mete__resp_request *request)
{
    if (request->count > 3) {
        mete__resp_error(&conn->out, "ERR syntax error");
        return;
    }
    if (request->count == 2 && conn->loop->snapshot->config->user_count == 1) {
        mete__resp_error(&conn->out, "ERR AUTH called without any password configured for the default user");
        return;
    }
    if (login(conn, request->count == 3 ? &request->args[1] : NULL, request->args[request->count - 1])) {
        mete__resp_simple(&conn->out, "OK");
    }
}

static bool set_name(struct mete__conn *conn, struct mete__span name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] < '!' || name.at[i] > '~') {
            mete__resp_error(&conn->out, "ERR Client names cannot contain spaces, newlines or special characters.");
            return false;
        }
    }
    if (name.len > METE__CONN_NAME_MAX) {
        mete__resp_error(&conn->out, "ERR Client names have at most %u characters.", METE__CONN_NAME_MAX);
        return false;
    }
    memcpy(conn->name, name.at, name.len);
    conn->name[name.len] = '\0';
    return true;
}

static void introduce(struct mete__conn *conn)
{
    struct mete__out *out = &conn->out;
    int version = mete__resp_session(conn)->version;
    mete__resp_map(out, 7, version);
    mete__resp_text(out, "server");
    mete__resp_text(out, "mete");
    mete__resp_text(out, "version");
    mete__resp_text(out, METE_VERSION);
    mete__resp_text(out, "proto");
    mete__resp_i64(out, version);
    mete__resp_text(out, "id");
    mete__resp_i64(out, (int64_t)conn->id);
    mete__resp_text(out, "mode");
    mete__resp_text(out, "standalone");
    mete__resp_text(out, "role");
    mete__resp_text(out, "master");
    mete__resp_text(out, "modules");
    mete__resp_array(out, 0);
}

static bool hello_options(struct mete__conn *conn, const struct mete__resp_request *request)
{
    for (size_t i = 2; i < request->count;) {
        if (mete__resp_is(request->args[i], "AUTH") && i + 2 < request->count) {
            if (!login(conn, &request->args[i + 1], request->args[i + 2])) {
                return false;
            }
            i += 3;
        } else if (mete__resp_is(request->args[i], "SETNAME") && i + 1 < request->count) {
            if (!set_name(conn, request->args[i + 1])) {
                return false;
            }
            i += 2;
        } else {
            mete__resp_error(&conn->out, "ERR Syntax error in HELLO option");
            return false;
        }
    }
    return true;
}

void mete__run_hello(struct mete__conn *conn, const struct mete__resp_request *request)
{
    int64_t version = mete__resp_session(conn)->version;
    if (request->count > 1 && (!mete__resp_integer(request->args[1], &version) || version < 2 || version > 3)) {
        mete__resp_error(&conn->out, "NOPROTO unsupported protocol version");
        return;
    }
    if (!hello_options(conn, request)) {
        return;
    }
    if (mete__access_is_locked(conn->loop->snapshot->config, conn->user)) {
        mete__resp_error(&conn->out, "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
                                     "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client "
                                     "and select the RESP protocol version at the same time");
        return;
    }
    mete__resp_session(conn)->version = (int)version;
    introduce(conn);
}

/* --- CLIENT ------------------------------------------------------------------------------- */

static void describe(const struct mete__conn *conn, char *text, size_t size)
{
    uint64_t now_ms = uv_now(&conn->loop->uv);
    snprintf(text, size, "id=%llu addr=%s laddr=%s name=%s age=%llu idle=%llu resp=%d user=%s\n",
             (unsigned long long)conn->id, conn->peer, conn->local, conn->name,
             (unsigned long long)(now_ms - conn->opened_ms) / 1000,
             (unsigned long long)(now_ms - conn->active_ms) / 1000,
             conn->protocol == &mete__protocol_resp ? ((const struct mete__resp_session *)conn->session)->version : 0,
             conn->user->name);
}

/* The connections of this loop: those of others belong to other threads. */
static void list(struct mete__conn *conn)
{
    struct mete__out lines;
    char line[512];
    mete__out_init(&lines, conn->out.size_max / 2);
    for (const struct mete__conn *each = conn->loop->conns.first; each != NULL && lines.len < lines.size_max / 2;
         each = each->next) {
        describe(each, line, sizeof line);
        mete__out_text(&lines, line);
    }
    mete__resp_bulk(&conn->out, lines.bytes, lines.len);
    mete__out_clear(&lines);
}

/* What clients tell of themselves or wish for, and nothing here depends on. */
static bool is_without_effect(const struct mete__resp_request *request)
{
    const struct mete__span *args = request->args;
    if (mete__resp_is(args[1], "SETINFO")) {
        return request->count == 4 && (mete__resp_is(args[2], "LIB-NAME") || mete__resp_is(args[2], "LIB-VER"));
    }
    return request->count == 3 && (mete__resp_is(args[1], "NO-EVICT") || mete__resp_is(args[1], "NO-TOUCH"));
}

void mete__run_client(struct mete__conn *conn, const struct mete__resp_request *request)
{
    const struct mete__span *args = request->args;
    struct mete__span what = args[1];
    char line[512];
    if (mete__resp_is(what, "SETNAME") && request->count == 3) {
        if (set_name(conn, args[2])) {
            mete__resp_simple(&conn->out, "OK");
        }
    } else if (mete__resp_is(what, "GETNAME") && request->count == 2) {
        if (conn->name[0] != '\0') {
            mete__resp_text(&conn->out, conn->name);
        } else {
            mete__resp_null(&conn->out, mete__resp_session(conn)->version);
        }
    } else if (mete__resp_is(what, "ID") && request->count == 2) {
        mete__resp_i64(&conn->out, (int64_t)conn->id);
    } else if (mete__resp_is(what, "INFO") && request->count == 2) {
        describe(conn, line, sizeof line);
        mete__resp_text(&conn->out, line);
    } else if (mete__resp_is(what, "LIST") && request->count == 2) {
        if (conn->user->may_administer) {
            list(conn);
        } else {
            mete__resp_error(&conn->out, "NOPERM user '%s' may not use 'CLIENT LIST': may_administer is not set",
                             conn->user->name);
        }
    } else if (is_without_effect(request)) {
        mete__resp_simple(&conn->out, "OK");
    } else {
        mete__resp_error(&conn->out, "ERR unknown subcommand or wrong number of arguments for CLIENT");
    }
}

/* --- small ones --------------------------------------------------------------------------- */

void mete__run_select(struct mete__conn *conn, const struct mete__resp_request *request)
{
    int64_t number;
    if (!mete__resp_integer(request->args[1], &number) || number != 0) {
        mete__resp_error(&conn->out, "ERR DB index is out of range: there is one database, 0");
        return;
    }
    mete__resp_simple(&conn->out, "OK");
}

void mete__run_reset(struct mete__conn *conn, const struct mete__resp_request *request)
{
    (void)request;
    conn->user = &conn->loop->snapshot->config->users[0];
    conn->name[0] = '\0';
    mete__resp_session(conn)->version = 2;
    mete__resp_simple(&conn->out, "RESET");
}

void mete__run_quit(struct mete__conn *conn, const struct mete__resp_request *request)
{
    (void)request;
    mete__resp_simple(&conn->out, "OK");
    mete__conn_finish(conn);
}

void mete__run_ping(struct mete__conn *conn, const struct mete__resp_request *request)
{
    if (request->count > 2) {
        mete__resp_error(&conn->out, "ERR wrong number of arguments for 'ping' command");
    } else if (request->count == 2) {
        mete__resp_bulk(&conn->out, request->args[1].at, request->args[1].len);
    } else {
        mete__resp_simple(&conn->out, "PONG");
    }
}

void mete__run_echo(struct mete__conn *conn, const struct mete__resp_request *request)
{
    mete__resp_bulk(&conn->out, request->args[1].at, request->args[1].len);
}

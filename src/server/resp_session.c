/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A RESP connection: requests are read one by one, checked against the table of
 * commands and run.  Replies keep the order of requests: a command that does not
 * answer through the batch settles it first.
 */
#include <stdio.h>
#include <string.h>

#include "server/log.h"
#include "server/resp_commands.h"
#include "server/server.h"

#define READ_MAX 1024u /* arguments that are read, so that a command is refused in its turn */
#define SHOWN_MAX 48   /* bytes of a client's word that an error repeats */

static void opened(struct mete__conn *conn)
{
    mete__resp_session(conn)->version = 2;
}

static void refuse_unknown(struct mete__conn *conn, const struct mete__resp_request *request)
{
    char shown[SHOWN_MAX + 1];
    mete__resp_show(request->args[0], shown, sizeof shown);
    mete__conn_settle(conn);
    mete__resp_error(&conn->out, "ERR unknown command '%s'", shown);
}

/* No command sees more arguments than are kept. */
static bool has_arity(const struct mete__command *command, size_t count)
{
    if (count > METE__RESP_ARGS_MAX) {
        return false;
    }
    return command->arity >= 0 ? count == (size_t)command->arity : count >= (size_t)-command->arity;
}

static void refuse_arity(struct mete__conn *conn, const struct mete__command *command, size_t count)
{
    mete__conn_settle(conn);
    if (count > METE__RESP_ARGS_MAX) {
        mete__resp_error(&conn->out, "ERR at most %u arguments are taken for '%s' command; usage: %s %s",
                         METE__RESP_ARGS_MAX - 1, command->name, command->name, command->arguments);
        return;
    }
    mete__resp_error(&conn->out, "ERR wrong number of arguments for '%s' command; usage: %s %s", command->name,
                     command->name, command->arguments);
}

/* True when the user may; else the error is the reply. */
static bool is_permitted(struct mete__conn *conn, const struct mete__command *command)
{
    const struct mete__user *user = conn->user;
    if ((command->flags & METE__COMMAND_NO_AUTH) != 0) {
        return true;
    }
    if (mete__access_is_locked(conn->loop->snapshot->config, user)) {
        mete__conn_settle(conn);
        mete__resp_error(&conn->out, "NOAUTH Authentication required.");
        return false;
    }
    const char *missing = NULL;
    if ((command->flags & METE__COMMAND_OWN_LIMIT) != 0 && !user->may_bring_limits) {
        missing = "may_bring_limits";
    } else if ((command->flags & METE__COMMAND_ADMIN) != 0 && !user->may_administer) {
        missing = "may_administer";
    }
    if (missing != NULL) {
        mete__conn_settle(conn);
        mete__resp_error(&conn->out, "NOPERM user '%s' may not use '%s': %s is not set", user->name, command->name,
                         missing);
    }
    return missing == NULL;
}

static const struct mete__command *find(struct mete__resp_session *session, struct mete__span name)
{
    const struct mete__command *last = session->last;
    if (last != NULL && name.len == session->last_len && memcmp(name.at, last->name, name.len) == 0) {
        return last;
    }
    const struct mete__command *command = mete__command_find(name);
    if (command != NULL) {
        session->last = command;
        session->last_len = name.len;
    }
    return command;
}

static bool is_there(const struct mete__conn *conn, const struct mete__command *command)
{
    return command != NULL && ((command->flags & METE__COMMAND_TEST_CLOCK) == 0 ||
                               mete__engine_has_test_clock(conn->loop->server->engine));
}

/* A browser or another HTTP client that was led here could smuggle commands in its body. */
static bool is_http(const struct mete__resp_request *request)
{
    return request->count > 0 && (mete__resp_is(request->args[0], "POST") || mete__resp_is(request->args[0], "HOST:"));
}

static void refuse_protocol(struct mete__conn *conn, const char *sentence)
{
    mete__conn_settle(conn);
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_PROTOCOL_ERRORS], 1);
    mete__resp_error(&conn->out, "ERR %s", sentence);
    mete__conn_finish(conn);
}

static void run(struct mete__conn *conn, const struct mete__resp_request *request)
{
    const struct mete__command *command = find(mete__resp_session(conn), request->args[0]);
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_REQUESTS_RESP], 1);
    if (!is_there(conn, command)) {
        if (is_http(request)) {
            refuse_protocol(conn, "this is not HTTP");
            return;
        }
        refuse_unknown(conn, request);
    } else if (!has_arity(command, request->count)) {
        refuse_arity(conn, command, request->count);
    } else if (is_permitted(conn, command)) {
        if ((command->flags & METE__COMMAND_BATCHED) == 0) {
            mete__conn_settle(conn);
        }
        command->run(conn, request);
    }
}

static size_t input(struct mete__conn *conn, const char *bytes, size_t len)
{
    struct mete__resp_session *session = mete__resp_session(conn);
    struct mete__resp_bounds bounds = {.bulk_max = conn->loop->snapshot->config->bounds.request_bytes_max,
                                       .args_max = READ_MAX};
    size_t taken = 0;
    while (taken < len && !mete__conn_is_choked(conn)) {
        size_t consumed;
        const char *error = "Protocol error";
        enum mete__resp_result result =
            mete__resp_read(bytes + taken, len - taken, &bounds, &session->request, &consumed, &error);
        if (result == METE__RESP_MORE) {
            break;
        }
        if (result != METE__RESP_DONE) {
            refuse_protocol(conn, error);
            return len;
        }
        taken += consumed;
        if (session->request.count > 0) {
            run(conn, &session->request);
        }
        if (mete__conn_is_finishing(conn)) {
            return len;
        }
    }
    return taken;
}

static void refuse(struct mete__conn *conn, bool is_too_large)
{
    mete__resp_error(&conn->out, is_too_large ? "ERR Protocol error: a command is longer than this server takes"
                                              : "ERR a command was not finished in time");
}

const struct mete__protocol mete__protocol_resp = {.name = "resp",
                                                   .session_size = sizeof(struct mete__resp_session),
                                                   .opened = opened,
                                                   .input = input,
                                                   .refuse = refuse};

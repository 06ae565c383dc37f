/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of the RESP listener: one table, from which dispatch, arity checks,
 * COMMAND, the reference in docs/commands.md and the tests' check of every reply are
 * made.
 */
#ifndef METE_SERVER_RESP_COMMANDS_H
#define METE_SERVER_RESP_COMMANDS_H

#include "server/conn.h"
#include "wire/resp.h"

/* What a RESP connection keeps between requests. */
struct mete__resp_session {
    int version;                      /* of the protocol: 2 or 3 */
    const struct mete__command *last; /* most requests repeat the command before */
    size_t last_len;                  /* of its name */
    struct mete__resp_request request;
};

enum mete__command_flag {
    METE__COMMAND_WRITE = 1 << 0,
    METE__COMMAND_READONLY = 1 << 1,
    METE__COMMAND_FAST = 1 << 2,
    METE__COMMAND_NO_AUTH = 1 << 3,   /* also before logging in */
    METE__COMMAND_ADMIN = 1 << 4,     /* may_administer */
    METE__COMMAND_OWN_LIMIT = 1 << 5, /* may_bring_limits */
    METE__COMMAND_BATCHED = 1 << 6, /* answers in its turn by itself: what is in the batch need not be answered first */
    METE__COMMAND_TEST_CLOCK = 1 << 7 /* only with --test-clock */
};

typedef void mete__command_run(struct mete__conn *conn, const struct mete__resp_request *request);

struct mete__command {
    const char *name; /* upper case */
    int arity;        /* arguments with the name; negative: at least so many */
    unsigned flags;
    int key;       /* place of the first key; 0: none */
    int keys_step; /* 0: one key; 1: all further arguments are keys */
    mete__command_run *run;
    const char *arguments; /* as the help shows them */
    const char *summary;
    const char *reply; /* the schema of its reply: docs/commands.md */
};

extern const struct mete__command mete__commands[];
extern const size_t mete__command_count;

/* In any letter case; NULL when there is none. */
const struct mete__command *mete__command_find(struct mete__span name);

static inline struct mete__resp_session *mete__resp_session(struct mete__conn *conn)
{
    return conn->session;
}

/* The handlers, by file: resp_throttle.c, resp_policy.c, resp_client.c, resp_server.c. */
mete__command_run mete__run_throttle, mete__run_gcra, mete__run_del, mete__run_exists;
mete__command_run mete__run_take, mete__run_peek, mete__run_reserve, mete__run_refund, mete__run_reset_key,
    mete__run_policies, mete__run_top;
mete__command_run mete__run_hello, mete__run_auth, mete__run_client, mete__run_select, mete__run_reset, mete__run_quit,
    mete__run_ping, mete__run_echo;
mete__command_run mete__run_command, mete__run_config, mete__run_info, mete__run_time, mete__run_clock;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for the HTTP session until that is there: connections are closed.  http_session.c takes its place (delete this file). */
#include "server/conn.h"

static size_t input(struct mete__conn *conn, const char *bytes, size_t len)
{
    (void)bytes;
    mete__conn_finish(conn);
    return len;
}

const struct mete__protocol mete__protocol_http = {.name = "http", .input = input};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP connection: requests are read one by one and led to where they belong.
 * Answers keep the order of requests: what does not answer through the batch
 * settles it first.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/http_call.h"
#include "server/server.h"

#define SCRATCH_MIN 512u
#define SCRATCH_KEPT 4096u /* a larger one is given back when the next request comes */
#define DETAIL_SIZE 256u

static void refuse_request(struct mete__conn *conn, unsigned status, const char *why)
{
    mete__conn_settle(conn);
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_PROTOCOL_ERRORS], 1);
    mete__answer_problem(&conn->out, METE__HOW_CLOSE, status, "", "%s", why);
    mete__conn_finish(conn);
}

char *mete__http_scratch(struct mete__http_call *call, size_t size)
{
    struct mete__http_session *session = mete__http_session(call->conn);
    if (session->is_scratch_pending) {
        mete__conn_settle(call->conn);
        session->is_scratch_pending = false;
    }
    if (size > session->scratch_size) {
        size_t wanted = size > SCRATCH_MIN ? size : SCRATCH_MIN;
        free(session->scratch);
        session->scratch = malloc(wanted);
        session->scratch_size = session->scratch != NULL ? wanted : 0;
        if (session->scratch == NULL) {
            mete__http_problem(call, 503, "there is no memory for this request");
        }
    }
    return session->scratch;
}

static void scratch_trim(struct mete__http_session *session)
{
    if (session->scratch_size > SCRATCH_KEPT && !session->is_scratch_pending) {
        free(session->scratch);
        session->scratch = NULL;
        session->scratch_size = 0;
    }
}

void mete__http_problem(struct mete__http_call *call, unsigned status, const char *format, ...)
{
    char detail[DETAIL_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    mete__conn_settle(call->conn);
    mete__answer_problem(&call->conn->out, call->how, status, "", "%s", detail);
}

void mete__http_body_answer(struct mete__http_call *call, unsigned status, const char *type,
                            const struct mete__out *body)
{
    if (body->is_failed) {
        mete__http_problem(call, 503, "there is no memory for this answer");
        return;
    }
    mete__conn_settle(call->conn);
    mete__answer(&call->conn->out, call->how, status, type, body->bytes, body->len);
}

static uint32_t how_of(const struct mete__conn *conn, const struct mete__http_request *request, bool is_last)
{
    uint32_t how = mete__span_is(request->method, "HEAD") ? METE__HOW_HEAD : 0;
    if (!request->keeps_alive || mete__conn_may_end(conn, is_last)) {
        return how | METE__HOW_CLOSE;
    }
    return request->minor == 0 ? how | METE__HOW_OLD : how;
}

static void serve(struct mete__conn *conn, const struct mete__http_request *request, bool is_last)
{
    struct mete__http_call call = {.conn = conn, .request = request, .how = how_of(conn, request, is_last)};
    mete__counts_add(&conn->loop->counts.of[METE__COUNT_REQUESTS_HTTP], 1);
    if (!conn->is_pending) {
        mete__http_session(conn)->is_scratch_pending = false;
        scratch_trim(mete__http_session(conn));
    }
    if (mete__target_split(request->target, &call.target)) {
        mete__http_route(&call);
    } else {
        mete__http_problem(&call, 400, "the request target has no path");
    }
    if ((call.how & METE__HOW_CLOSE) != 0) {
        mete__conn_settle(conn); /* an answer of the batch is not yet written */
        mete__conn_finish(conn);
    }
}

static size_t input(struct mete__conn *conn, const char *bytes, size_t len)
{
    struct mete__http_session *session = mete__http_session(conn);
    size_t bytes_max = conn->loop->snapshot->config->bounds.request_bytes_max;
    struct mete__http_request request;
    size_t taken = 0;
    while (taken < len && !mete__conn_is_choked(conn)) {
        size_t consumed = 0;
        enum mete__http_result result =
            mete__http_read(bytes + taken, len - taken, bytes_max, &session->progress, &request, &consumed);
        if (result == METE__HTTP_REFUSED) {
            refuse_request(conn, request.status, request.why);
            return len;
        }
        if (result == METE__HTTP_MORE) {
            if (session->progress.wants_continue) {
                session->progress.wants_continue = false;
                mete__conn_settle(conn);
                mete__out_text(&conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
            }
            break;
        }
        taken += consumed;
        serve(conn, &request, taken == len);
        if (mete__conn_is_finishing(conn)) {
            return len;
        }
    }
    return taken;
}

static void refuse(struct mete__conn *conn, bool is_too_large)
{
    refuse_request(conn, is_too_large ? 413 : 408,
                   is_too_large ? "the request is larger than this server takes"
                                : "the request was not finished in time");
}

static void closed(struct mete__conn *conn)
{
    free(mete__http_session(conn)->scratch);
}

const struct mete__protocol mete__protocol_http = {.name = "http",
                                                   .session_size = sizeof(struct mete__http_session),
                                                   .input = input,
                                                   .refuse = refuse,
                                                   .closed = closed};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP request under way, between the files of this protocol.
 *
 *   http_session.c  bytes to requests, refusals
 *   http_routes.c   which path and method leads where, and who may go
 *   http_login.c    who asks, and whether a browser was tricked into asking
 *   http_args.c     policy, key and cost, from the query or JSON
 *   http_decide.c   /v1/take and its kin
 *   http_check.c    /check/POLICY for gateways
 *   http_outcome.c  a decision as fields and JSON
 *   http_pages.c    everything that is looked at
 */
#ifndef METE_SERVER_HTTP_CALL_H
#define METE_SERVER_HTTP_CALL_H

#include "server/conn.h"
#include "server/http_answer.h"
#include "wire/http1.h"
#include "wire/target.h"

struct mete__http_session {
    struct mete__http_progress progress;
    char *scratch; /* decoded text of the request under way, or of the one in the batch */
    size_t scratch_size;
    bool is_scratch_pending; /* a key in the batch lies there */
};

struct mete__http_call {
    struct mete__conn *conn;
    const struct mete__http_request *request;
    struct mete__target target;
    const struct mete__user *user;
    uint32_t how;
};

static inline struct mete__http_session *mete__http_session(struct mete__conn *conn)
{
    return conn->session;
}

/*
 * Room for size bytes that last until this request is answered, also from the
 * batch (then is_scratch_pending is to be set).  At most once per request.  NULL: no memory,
 * and the request has been answered.
 */
char *mete__http_scratch(struct mete__http_call *call, size_t size);

/* Answers with problem details; what is in the batch is answered first. */
void mete__http_problem(struct mete__http_call *call, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A whole answer, likewise. */
void mete__http_body_answer(struct mete__http_call *call, unsigned status, const char *type,
                            const struct mete__out *body);

/* Finds where the request leads, and goes there. */
void mete__http_route(struct mete__http_call *call);

/* Sets call->user; false when the request has been answered with 401. */
bool mete__http_login(struct mete__http_call *call, bool is_open, bool is_check);
bool mete__http_is_cross_site(const struct mete__http_request *request);
bool mete__http_is_rebound(const struct mete__http_call *call);
bool mete__http_has_json(const struct mete__http_request *request);

void mete__http_take(struct mete__http_call *call);
void mete__http_peek(struct mete__http_call *call);
void mete__http_reserve(struct mete__http_call *call);
void mete__http_refund(struct mete__http_call *call);
void mete__http_reset(struct mete__http_call *call);
void mete__http_check(struct mete__http_call *call);
void mete__http_health(struct mete__http_call *call);
void mete__http_ready(struct mete__http_call *call);
void mete__http_metrics(struct mete__http_call *call);
void mete__http_policies(struct mete__http_call *call);
void mete__http_top(struct mete__http_call *call);
void mete__http_stats(struct mete__http_call *call);
struct mete__asset;
void mete__http_asset(struct mete__http_call *call, const struct mete__asset *asset);

/* The policy of a name that the user may use; NULL: answered with 404 or 403. */
const struct mete__bound_policy *mete__http_policy(struct mete__http_call *call, struct mete__span name);

/* A take of a policy: by the batch when it has one limit (the key then stays where it is until the batch
 * is decided), else at once. */
void mete__http_take_one(struct mete__http_call *call, const struct mete__bound_policy *bound, struct mete__span key,
                         uint64_t cost);

#endif

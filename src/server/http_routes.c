/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths and methods: one table, from which dispatch, 405 and its Allow, and the
 * rights that are needed are taken.
 */
#include "server/assets.h"
#include "server/http_call.h"

#define GET 1u
#define HEAD 2u
#define POST 4u
#define ANY 0u

#define OPEN 1u   /* also to who has not logged in where that is required */
#define ADMIN 2u  /* needs may_administer */
#define CHANGE 4u /* takes or gives units: not on behalf of another site's page */
#define CHECK 8u  /* asked by a gateway with fields of its client */

struct route {
    const char *path; /* one that ends with '/' stands for all that begin so */
    unsigned methods;
    unsigned flags;
    void (*run)(struct mete__http_call *call);
};

/* The most frequent first. */
static const struct route routes[] = {
    {"/v1/take", GET | HEAD | POST, CHANGE, mete__http_take},
    {"/check/", ANY, CHECK, mete__http_check},
    {"/v1/peek", GET | HEAD | POST, 0, mete__http_peek},
    {"/v1/reserve", GET | HEAD | POST, CHANGE, mete__http_reserve},
    {"/v1/refund", GET | HEAD | POST, CHANGE | ADMIN, mete__http_refund},
    {"/v1/reset", GET | HEAD | POST, CHANGE | ADMIN, mete__http_reset},
    {"/v1/policies", GET | HEAD, ADMIN, mete__http_policies},
    {"/v1/top", GET | HEAD, ADMIN, mete__http_top},
    {"/v1/stats", GET | HEAD, ADMIN, mete__http_stats},
    {"/metrics", GET | HEAD, ADMIN, mete__http_metrics},
    {"/healthz", GET | HEAD, OPEN, mete__http_health},
    {"/readyz", GET | HEAD, OPEN, mete__http_ready},
};

static const struct route *find(struct mete__span path)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const char *at = routes[i].path;
        size_t len = strlen(at);
        if (path.len == len ? memcmp(path.at, at, len) == 0
                            : at[len - 1] == '/' && path.len > len && memcmp(path.at, at, len) == 0) {
            return &routes[i];
        }
    }
    return NULL;
}

static unsigned method_bit(struct mete__span method)
{
    return mete__span_is(method, "GET")    ? GET
           : mete__span_is(method, "POST") ? POST
           : mete__span_is(method, "HEAD") ? HEAD
                                           : 0;
}

static void refuse_method(struct mete__http_call *call, unsigned methods)
{
    const char *allow = (methods & POST) != 0 ? "Allow: GET, HEAD, POST\r\n" : "Allow: GET, HEAD\r\n";
    mete__conn_settle(call->conn);
    mete__answer_problem(&call->conn->out, call->how, 405, allow, "this path has no such method");
}

/* False when the request has been answered. */
static bool may_go(struct mete__http_call *call, unsigned methods, unsigned flags)
{
    if (methods != ANY && (methods & method_bit(call->request->method)) == 0) {
        refuse_method(call, methods);
        return false;
    }
    if (!mete__http_login(call, (flags & OPEN) != 0, (flags & CHECK) != 0)) {
        return false;
    }
    if ((flags & ADMIN) != 0 && !call->user->may_administer) {
        mete__http_problem(call, 403, "user '%s' may not do this: may_administer is not set", call->user->name);
        return false;
    }
    if ((flags & CHANGE) != 0 && mete__http_is_cross_site(call->request)) {
        mete__http_problem(call, 403,
                           "a page of another site may not ask for this, unless with JSON or the field X-Mete-Client");
        return false;
    }
    if ((flags & (CHANGE | ADMIN)) != 0 && mete__http_is_rebound(call)) {
        mete__http_problem(call, 403, "a browser that has not logged in must use an address or localhost, not a name");
        return false;
    }
    return true;
}

void mete__http_route(struct mete__http_call *call)
{
    const struct route *route = find(call->target.path);
    if (route != NULL) {
        if (may_go(call, route->methods, route->flags)) {
            route->run(call);
        }
        return;
    }
    const struct mete__asset *asset = mete__asset_find(call->target.path.at, call->target.path.len);
    if (asset == NULL) {
        mete__http_problem(call, 404, "there is nothing at this path");
    } else if (may_go(call, GET | HEAD, 0)) {
        mete__http_asset(call, asset);
    }
}

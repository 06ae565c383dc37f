/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks.  A login is of one request: Authorization with Basic (RFC 7617), or Bearer
 * with "user:password".  Without it the connection's user counts: "default", or
 * that of the client's certificate.
 */
#include <arpa/inet.h>
#include <string.h>

#include "server/http_call.h"
#include "wire/base64.h"

#define CREDENTIALS_MAX 512u /* bytes of an Authorization that is looked at */

#define CHALLENGE "WWW-Authenticate: Basic realm=\"mete\", charset=\"UTF-8\"\r\n"

static bool take_scheme(struct mete__span *value, const char *scheme)
{
    size_t len = strlen(scheme);
    if (value->len <= len || !mete__span_is_nocase(mete__span_of(value->at, len), scheme) || value->at[len] != ' ') {
        return false;
    }
    *value = mete__span_trim(mete__span_of(value->at + len, value->len - len));
    return true;
}

/* NULL when nobody is meant by it. */
static const struct mete__user *user_of(const struct mete__config *config, struct mete__span value)
{
    char decoded[CREDENTIALS_MAX];
    if (value.len > CREDENTIALS_MAX) {
        return NULL;
    }
    if (take_scheme(&value, "basic")) {
        if (!mete__base64_read(value, decoded, &value)) {
            return NULL;
        }
    } else if (!take_scheme(&value, "bearer")) {
        return NULL;
    }
    const char *colon = value.len > 0 ? memchr(value.at, ':', value.len) : NULL;
    if (colon == NULL) {
        return NULL;
    }
    size_t name_len = (size_t)(colon - value.at);
    return mete__access_login(config, value.at, name_len, colon + 1, value.len - name_len - 1);
}

static void refuse_login(struct mete__http_call *call, const char *sentence)
{
    mete__conn_settle(call->conn);
    mete__answer_problem(&call->conn->out, call->how, 401, CHALLENGE, "%s", sentence);
}

bool mete__http_login(struct mete__http_call *call, bool is_open, bool is_check)
{
    const struct mete__config *config = call->conn->loop->snapshot->config;
    const struct mete__http_field *field = METE__HTTP_FIND(call->request, "authorization");
    call->user = call->conn->user;
    if (is_open) {
        return true;
    }
    /* A gateway passes on what its client sent to the application: unless logging in is
     * required, that is not meant for here; but it is the gateway's own when it fits. */
    if (field != NULL && is_check && !config->is_login_required) {
        const struct mete__user *user = call->user->may_use_all ? NULL : user_of(config, field->value);
        call->user = user != NULL ? user : call->user;
    } else if (field != NULL) {
        call->user = user_of(config, field->value);
        if (call->user == NULL) {
            mete__counts_add(&call->conn->loop->counts.of[METE__COUNT_LOGINS_FAILED], 1);
            refuse_login(call, "Authorization is not of a user of this server");
            return false;
        }
    }
    if (mete__access_is_locked(config, call->user)) {
        refuse_login(call, "log in with Authorization: Basic, or Bearer user:password");
        return false;
    }
    return true;
}

bool mete__http_has_json(const struct mete__http_request *request)
{
    const struct mete__http_field *field = METE__HTTP_FIND(request, "content-type");
    if (field == NULL) {
        return false;
    }
    const char *mark = field->value.len > 0 ? memchr(field->value.at, ';', field->value.len) : NULL;
    size_t len = mark != NULL ? (size_t)(mark - field->value.at) : field->value.len;
    return mete__span_is_nocase(mete__span_trim(mete__span_of(field->value.at, len)), "application/json");
}

/* "https://host:port" of Origin (RFC 6454, section 7) names the same host and port as Host. */
static bool is_own_origin(struct mete__span origin, const struct mete__http_field *host)
{
    const char *mark = origin.len > 0 ? memchr(origin.at, ':', origin.len) : NULL;
    size_t scheme = mark != NULL ? (size_t)(mark - origin.at) + 3 : origin.len;
    if (host == NULL || scheme >= origin.len || memcmp(mark, "://", 3) != 0) {
        return false;
    }
    struct mete__span authority = mete__span_of(origin.at + scheme, origin.len - scheme);
    return authority.len == host->value.len && memcmp(authority.at, host->value.at, authority.len) == 0;
}

/*
 * Browsers say so themselves: Sec-Fetch-Site (W3C Fetch Metadata), and older ones Origin.  What
 * a page cannot send to another site without being asked first (CORS, and this server
 * never agrees) is safe: a JSON content type, a field of one's own.
 */
bool mete__http_is_cross_site(const struct mete__http_request *request)
{
    const struct mete__http_field *site = METE__HTTP_FIND(request, "sec-fetch-site");
    const struct mete__http_field *origin = METE__HTTP_FIND(request, "origin");
    bool is_cross = false;
    if (site != NULL) {
        is_cross = !mete__span_is(site->value, "same-origin") && !mete__span_is(site->value, "none");
    } else if (origin != NULL) {
        is_cross = !is_own_origin(origin->value, METE__HTTP_FIND(request, "host"));
    }
    return is_cross && !mete__http_has_json(request) && METE__HTTP_FIND(request, "x-mete-client") == NULL;
}

/* An address, or the names that are this machine's own and that no other name server answers for. */
static bool is_own_name(struct mete__span host)
{
    const char *colon = host.len > 0 ? memchr(host.at, ':', host.len) : NULL;
    if (host.len > 0 && host.at[0] == '[') {
        return true; /* an IPv6 address: the codec has checked its form */
    }
    struct mete__span name = mete__span_of(host.at, colon != NULL ? (size_t)(colon - host.at) : host.len);
    char text[INET_ADDRSTRLEN];
    struct in_addr address;
    if (name.len < sizeof text) {
        memcpy(text, name.at, name.len);
        text[name.len] = '\0';
        if (inet_pton(AF_INET, text, &address) == 1) {
            return true;
        }
    }
    return mete__span_is_nocase(name, "localhost");
}

static bool is_browser(const struct mete__http_request *request)
{
    const struct mete__http_field *agent = METE__HTTP_FIND(request, "user-agent");
    return METE__HTTP_FIND(request, "sec-fetch-site") != NULL || METE__HTTP_FIND(request, "origin") != NULL ||
           (agent != NULL && agent->value.len >= 8 && memcmp(agent->value.at, "Mozilla/", 8) == 0);
}

/*
 * DNS rebinding: a page whose name is made to lead to this server after it was loaded
 * has this server as its own site.  It comes under its own name, so a browser that has
 * not logged in must come under an address or localhost.
 */
bool mete__http_is_rebound(const struct mete__http_call *call)
{
    const struct mete__http_field *host = METE__HTTP_FIND(call->request, "host");
    bool is_anybody = call->user == &call->conn->loop->snapshot->config->users[0];
    return is_anybody && host != NULL && is_browser(call->request) && !is_own_name(host->value);
}

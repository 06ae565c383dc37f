/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /check/POLICY: what gateways ask (nginx auth_request, Traefik ForwardAuth, Caddy
 * forward_auth), with the fields of their client's request.  The key is made of the
 * parts that the policy names.
 *
 * What a client can write is not believed: its cost (X-Mete-Cost) may only be above the
 * policy's, its addresses count from where trusted proxies begin.  The query of
 * /check is the gateway's own.
 */
#include "server/http_args.h"
#include "wire/client_address.h"

#define PART_END '\x1f'
#define LINES_MAX METE__HTTP_FIELDS_MAX

/* --- the client's address --------------------------------------------------------------- */

static bool is_proxy(const void *context, const unsigned char address[16])
{
    const struct mete__client_address *settings = context;
    for (size_t i = 0; i < settings->proxy_count; i++) {
        if (mete__address_is_in(address, settings->proxies[i].address, settings->proxies[i].prefix_len)) {
            return true;
        }
    }
    return false;
}

static bool is_loopback(const unsigned char address[16])
{
    static const unsigned char localhost[16] = {[15] = 1};
    return memcmp(address, localhost, 16) == 0 || (mete__address_is_ipv4(address) && address[12] == 127);
}

/* A Unix socket is open to whom its permissions let in. */
static bool is_peer_trusted(const struct mete__conn *conn, const struct mete__client_address *settings)
{
    if (conn->is_unix) {
        return true;
    }
    return settings->proxy_count > 0 ? is_proxy(settings, conn->peer_address) : is_loopback(conn->peer_address);
}

static size_t write_client(const struct mete__http_call *call, char *to)
{
    const struct mete__conn *conn = call->conn;
    const struct mete__client_address *settings = &conn->loop->snapshot->config->client_address;
    unsigned char address[16];
    memcpy(address, conn->peer_address, 16);
    if (is_peer_trusted(conn, settings)) {
        struct mete__span values[LINES_MAX];
        const struct mete__forwarded list = {
            .values = values,
            .value_count =
                mete__http_find_all(call->request, settings->header, strlen(settings->header), values, LINES_MAX),
            .depth = settings->depth,
            .is_trusted = settings->proxy_count > 0 ? is_proxy : NULL,
            .context = settings,
        };
        if (mete__forwarded_pick(&list, address)) {
            return mete__address_format(address, settings->ipv6_prefix_len, to);
        }
        if (conn->is_unix) {
            memcpy(to, "unix", 4);
            return 4;
        }
        memcpy(address, conn->peer_address, 16);
    }
    return mete__address_format(address, settings->ipv6_prefix_len, to);
}

/* --- the key ---------------------------------------------------------------------------- */

static size_t write_span(struct mete__span span, char *to)
{
    if (span.len > 0) {
        memcpy(to, span.at, span.len);
    }
    return span.len;
}

/* Several fields of one name are one, joined by ", " (RFC 9110, section 5.3). */
static size_t write_header(const struct mete__http_call *call, const char *name, char *to)
{
    struct mete__span values[LINES_MAX];
    size_t count = mete__http_find_all(call->request, name, strlen(name), values, LINES_MAX);
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += write_span(i > 0 ? mete__span_of(", ", 2) : mete__span_of("", 0), to + len);
        len += write_span(values[i], to + len);
    }
    return len;
}

/* SIZE_MAX: a value that cannot be decoded, or that holds what ends a part. */
static size_t write_query(const struct mete__http_call *call, const char *wanted, char *to)
{
    struct mete__span rest = call->target.query, name, value;
    while (mete__query_next(&rest, &name, &value)) {
        if (mete__span_is(name, wanted)) {
            if (!mete__percent_decode(value, true, to, &value) ||
                (value.len > 0 && memchr(value.at, PART_END, value.len) != NULL)) {
                return SIZE_MAX;
            }
            return value.len;
        }
    }
    return 0;
}

static size_t write_method(const struct mete__http_call *call, char *to)
{
    const struct mete__http_field *field = METE__HTTP_FIND(call->request, "x-forwarded-method");
    return write_span(field != NULL ? field->value : call->request->method, to);
}

/*
 * What the gateway says the client asked for.  Some gateways set the one field and pass on the
 * other as the client sent it: when both are there they must agree.
 */
static size_t write_path(const struct mete__http_call *call, char *to)
{
    const struct mete__http_field *field = METE__HTTP_FIND(call->request, "x-forwarded-uri");
    const struct mete__http_field *original = METE__HTTP_FIND(call->request, "x-original-uri");
    if (field != NULL && original != NULL &&
        (field->value.len != original->value.len ||
         memcmp(field->value.at, original->value.at, field->value.len) != 0)) {
        return SIZE_MAX;
    }
    field = field != NULL ? field : original;
    if (field == NULL) {
        return write_span(call->target.path, to);
    }
    const char *mark = field->value.len > 0 ? memchr(field->value.at, '?', field->value.len) : NULL;
    size_t len = mark != NULL ? (size_t)(mark - field->value.at) : field->value.len;
    return write_span(mete__span_of(field->value.at, len), to);
}

static size_t write_part(const struct mete__http_call *call, const struct mete__key_part *part, char *to)
{
    switch (part->source) {
    case METE__KEY_CLIENT_ADDRESS:
        return write_client(call, to);
    case METE__KEY_HEADER:
        return write_header(call, part->name, to);
    case METE__KEY_QUERY:
        return write_query(call, part->name, to);
    case METE__KEY_METHOD:
        return write_method(call, to);
    case METE__KEY_PATH:
        return write_path(call, to);
    }
    return 0;
}

/* False: answered. */
static bool make_key(struct mete__http_call *call, const struct mete__policy *policy, char *to, struct mete__span *key)
{
    size_t len = 0;
    for (size_t i = 0; i < policy->key_part_count; i++) {
        if (i > 0) {
            to[len++] = PART_END;
        }
        size_t more = write_part(call, &policy->key_parts[i], to + len);
        if (more == SIZE_MAX) {
            const char *name = policy->key_parts[i].source == METE__KEY_PATH ? "X-Forwarded-Uri and X-Original-URI"
                                                                             : policy->key_parts[i].name;
            mete__http_problem(call, 400, "%s: cannot be part of a key", name);
            return false;
        }
        len += more;
    }
    *key = mete__span_of(to, len);
    return true;
}

/* --- the request ------------------------------------------------------------------------ */

static bool read_cost(struct mete__http_call *call, const struct mete__policy *policy,
                      const struct mete__http_args *args, uint64_t *cost)
{
    const struct mete__http_field *field = METE__HTTP_FIND(call->request, "x-mete-cost");
    uint64_t asked = 0;
    *cost = (args->given & METE__ARG_COST) != 0 ? args->cost : policy->cost;
    if (field == NULL) {
        return true;
    }
    if (!mete__http_number(field->value, &asked)) {
        mete__http_problem(call, 400, "X-Mete-Cost: not a whole number from 0 up");
        return false;
    }
    *cost = asked > *cost ? asked : *cost;
    return true;
}

/*
 * "/check/POLICY" to POLICY.  Of "/check/POLICY/REST" the rest, and the query, are the client's:
 * a gateway that puts a prefix before its client's path asks so (Envoy's path_prefix).
 */
static struct mete__span take_name(struct mete__http_call *call, bool *is_clients)
{
    struct mete__span name = mete__span_of(call->target.path.at + 7, call->target.path.len - 7);
    const char *slash = name.len > 0 ? memchr(name.at, '/', name.len) : NULL;
    *is_clients = slash != NULL;
    if (slash != NULL) {
        call->target.path = mete__span_of(slash, (size_t)(name.at + name.len - slash));
        name.len = (size_t)(slash - name.at);
    }
    return name;
}

void mete__http_check(struct mete__http_call *call)
{
    struct mete__http_args args = {0};
    bool is_clients;
    struct mete__span name = take_name(call, &is_clients);
    const struct mete__bound_policy *bound = mete__http_policy(call, name);
    if (bound == NULL) {
        return;
    }
    /* A part is at most the head, or an address, and has an end. */
    size_t query_max = call->target.query.len;
    size_t part_max = call->request->head_len + METE__ADDRESS_TEXT_MAX + 1;
    char *scratch = mete__http_scratch(call, 2 * query_max + bound->policy->key_part_count * part_max);
    struct mete__span key;
    uint64_t cost;
    if (scratch == NULL || (!is_clients && !mete__http_args_query(call, &args, true, scratch)) ||
        !make_key(call, bound->policy, scratch + 2 * query_max, &key) ||
        !read_cost(call, bound->policy, &args, &cost)) {
        return;
    }
    call->how |= METE__HOW_CHECK | (uint32_t)args.deny_status << METE__HOW_STATUS_SHIFT;
    mete__http_session(call->conn)->is_scratch_pending = true;
    mete__http_take_one(call, bound, key, cost);
}

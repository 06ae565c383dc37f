/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CL.THROTTLE and its cousins: limits that a request brings itself.
 *
 * The reply is redis-cell's: limited, limit, remaining, retry after, reset after;
 * times in whole seconds, -1 for "allowed" and for "never".  What differs, and why,
 * stands in docs/commands.md.
 */
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "server/resp_commands.h"
#include "server/server.h"

#define NS_PER_S UINT64_C(1000000000)
#define SHOWN_MAX 40

struct own {
    uint64_t capacity;
    uint64_t count;
    uint64_t period_ns;
    uint64_t cost;
};

/* --- arguments ---------------------------------------------------------------------- */

static void refuse_number(struct mete__conn *conn, const char *name, struct mete__span arg, const char *rule)
{
    char shown[SHOWN_MAX + 1];
    mete__resp_show(arg, shown, sizeof shown);
    mete__conn_settle(conn);
    mete__resp_error(&conn->out, "ERR %s: '%s' is not %s", name, shown, rule);
}

static bool read_number(struct mete__conn *conn, const char *name, struct mete__span arg, int64_t least, uint64_t *out)
{
    int64_t value;
    if (!mete__resp_integer(arg, &value) || value < least) {
        refuse_number(conn, name, arg,
                      least > 0 ? "a whole number from 1 to 9223372036854775807"
                                : "a whole number from 0 to 9223372036854775807");
        return false;
    }
    *out = (uint64_t)value;
    return true;
}

static bool read_period(struct mete__conn *conn, struct mete__span arg, uint64_t *out_ns)
{
    uint64_t seconds;
    if (!read_number(conn, "period", arg, 1, &seconds)) {
        return false;
    }
    if (seconds > METE_PERIOD_MAX / NS_PER_S) {
        refuse_number(conn, "period", arg, "a number of seconds up to 146 years");
        return false;
    }
    *out_ns = seconds * NS_PER_S;
    return true;
}

/* Seconds with up to nine decimals, exactly. */
static bool read_decimal_period(struct mete__conn *conn, struct mete__span arg, uint64_t *out_ns)
{
    const char *dot = memchr(arg.at, '.', arg.len);
    if (dot == NULL) {
        return read_period(conn, arg, out_ns);
    }
    struct mete__span whole = {arg.at, (size_t)(dot - arg.at)};
    struct mete__span decimals = {dot + 1, arg.len - whole.len - 1};
    int64_t seconds = 0;
    uint64_t ns = 0, unit = NS_PER_S / 10;
    bool is_right = mete__resp_integer(whole, &seconds) && seconds >= 0 &&
                    (uint64_t)seconds <= METE_PERIOD_MAX / NS_PER_S - 1 && decimals.len >= 1 && decimals.len <= 9;
    for (size_t i = 0; is_right && i < decimals.len; i++, unit /= 10) {
        is_right = decimals.at[i] >= '0' && decimals.at[i] <= '9';
        ns += (uint64_t)(decimals.at[i] - '0') * unit;
    }
    *out_ns = (uint64_t)seconds * NS_PER_S + ns;
    if (!is_right || *out_ns == 0) {
        refuse_number(conn, "period", arg, "a number of seconds above 0, up to 146 years, with at most 9 decimals");
        return false;
    }
    return true;
}

/* --- replies ------------------------------------------------------------------------ */

static int64_t seconds_up(uint64_t ns)
{
    return (int64_t)(mete__div_ceil_u64(ns, NS_PER_S));
}

/* A number as a RESP integer; there is room for 24 bytes. */
static size_t put(char *to, int64_t value)
{
    size_t len = 0;
    to[len++] = ':';
    if (value < 0) {
        to[len++] = '-';
        value = -value;
    }
    len += mete__write_u64(to + len, (uint64_t)value);
    to[len++] = '\r';
    to[len++] = '\n';
    return len;
}

static int64_t shown_u64(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void reply_throttle(struct mete__conn *conn, const struct mete__pending *pending,
                           const struct mete_decision *decision, mete_status status)
{
    (void)pending;
    if (decision == NULL) {
        mete__resp_error(&conn->out, "ERR no decision could be made: %s", mete_status_text(status));
        return;
    }
    char *room = mete__out_room(&conn->out, 4 + 5 * 24);
    if (room == NULL) {
        return;
    }
    bool is_told = !decision->allowed && decision->retry_after_ns != METE_NEVER;
    size_t len = 4;
    memcpy(room, "*5\r\n", 4);
    len += put(room + len, decision->allowed ? 0 : 1);
    len += put(room + len, shown_u64(decision->limit));
    len += put(room + len, shown_u64(decision->remaining));
    len += put(room + len, is_told ? seconds_up(decision->retry_after_ns) : -1);
    len += put(room + len, seconds_up(decision->reset_after_ns));
    conn->out.len += len;
}

/* --- the limit ---------------------------------------------------------------------- */

static struct mete__own_cached *cached(struct mete__loop *loop, const struct own *own)
{
    uint64_t mixed = (own->capacity * UINT64_C(0x9E3779B97F4A7C15) ^ own->count) * UINT64_C(0xC2B2AE3D27D4EB4F);
    mixed = (mixed ^ own->period_ns) * UINT64_C(0x9E3779B97F4A7C15);
    return &loop->own_cache.of[mixed >> 32 & (METE__OWN_CACHE_SIZE - 1)];
}

/* The library names the fields of a limit; the command calls two of them otherwise. */
static void refuse_limit(struct mete__conn *conn, const char *why)
{
    static const char *const names[][2] = {{"burst:", "max_burst:"}, {"count:", "count_per_period:"}};
    mete__conn_settle(conn);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(why, names[i][0], strlen(names[i][0])) == 0) {
            mete__resp_error(&conn->out, "ERR %s%s", names[i][1], why + strlen(names[i][0]));
            return;
        }
    }
    mete__resp_error(&conn->out, "ERR %s", why);
}

static mete_limiter *limiter_of(struct mete__conn *conn, const struct own *own)
{
    char why[256];
    struct mete__own_cached *entry = cached(conn->loop, own);
    if (entry->limiter != NULL && entry->capacity == own->capacity && entry->count == own->count &&
        entry->period_ns == own->period_ns) {
        return entry->limiter;
    }
    mete_limiter *limiter;
    mete_status status = mete__engine_own_limit(conn->loop->server->engine, own->capacity, own->count, own->period_ns,
                                                &limiter, why, sizeof why);
    if (status != METE_OK) {
        refuse_limit(conn, why);
        return NULL;
    }
    *entry = (struct mete__own_cached){own->capacity, own->count, own->period_ns, limiter};
    return limiter;
}

static void push(struct mete__conn *conn, struct mete__span key, mete_limiter *limiter, uint64_t cost)
{
    struct mete__pending pending = {.conn = conn, .reply = reply_throttle};
    mete__batch_push(conn->loop, &pending, limiter, key.at, key.len, cost);
}

static void decide(struct mete__conn *conn, struct mete__span key, const struct own *own)
{
    mete_limiter *limiter = limiter_of(conn, own);
    if (limiter != NULL) {
        push(conn, key, limiter, own->cost);
    }
}

/* --- the same limit again ----------------------------------------------------------- */

static size_t text_len(const struct mete__resp_request *request)
{
    const struct mete__span *last = &request->args[request->count - 1];
    return (size_t)(last->at + last->len - request->args[2].at);
}

static bool is_same(const struct mete__own_last *last, const struct mete__resp_request *request)
{
    return last->limiter != NULL && last->count == request->count && last->text_len == text_len(request) &&
           memcmp(last->text, request->args[2].at, last->text_len) == 0;
}

static void remember(struct mete__own_last *last, const struct mete__resp_request *request, mete_limiter *limiter,
                     uint64_t cost)
{
    size_t len = text_len(request);
    if (len > sizeof last->text) {
        return;
    }
    last->limiter = limiter;
    last->cost = cost;
    last->count = request->count;
    last->text_len = len;
    memcpy(last->text, request->args[2].at, len);
}

void mete__run_throttle(struct mete__conn *conn, const struct mete__resp_request *request)
{
    const struct mete__span *args = request->args;
    struct mete__own_last *last = &conn->loop->own_last;
    struct own own = {.cost = 1};
    if (is_same(last, request)) {
        push(conn, args[1], last->limiter, last->cost);
        return;
    }
    if (request->count > 6) {
        mete__conn_settle(conn);
        mete__resp_error(&conn->out, "ERR wrong number of arguments; usage: CL.THROTTLE key max_burst count_per_period "
                                     "period [quantity]");
        return;
    }
    if (!read_number(conn, "max_burst", args[2], 0, &own.capacity) ||
        !read_number(conn, "count_per_period", args[3], 1, &own.count) || !read_period(conn, args[4], &own.period_ns) ||
        (request->count == 6 && !read_number(conn, "quantity", args[5], 0, &own.cost))) {
        return;
    }
    own.capacity++;
    mete_limiter *limiter = limiter_of(conn, &own);
    if (limiter != NULL) {
        push(conn, args[1], limiter, own.cost);
        remember(last, request, limiter, own.cost);
    }
}

void mete__run_gcra(struct mete__conn *conn, const struct mete__resp_request *request)
{
    const struct mete__span *args = request->args;
    struct own own = {.cost = 1};
    bool has_tokens =
        request->count == 7 && (mete__resp_is(args[5], "TOKENS") || mete__resp_is(args[5], "NUM_REQUESTS"));
    if (request->count != 5 && !has_tokens) {
        mete__conn_settle(conn);
        mete__resp_error(&conn->out, "ERR syntax error; usage: GCRA key max-burst tokens-per-period period "
                                     "[TOKENS count]");
        return;
    }
    if (!read_number(conn, "max-burst", args[2], 0, &own.capacity) ||
        !read_number(conn, "tokens-per-period", args[3], 1, &own.count) ||
        !read_decimal_period(conn, args[4], &own.period_ns) ||
        (has_tokens && !read_number(conn, "TOKENS", args[6], 1, &own.cost))) {
        return;
    }
    own.capacity++;
    decide(conn, args[1], &own);
}

/* --- keys ---------------------------------------------------------------------------- */

static bool has_spent(mete_limiter *limiter, struct mete__span key)
{
    struct mete_request request = {key.at, key.len, 0, METE_NOW, 0};
    struct mete_decision decision;
    return mete_peek(limiter, &request, &decision) == METE_OK && decision.reset_after_ns > 0;
}

static void run_keys(struct mete__conn *conn, const struct mete__resp_request *request, bool is_del)
{
    mete_limiter *limiter = mete__engine_any_own(conn->loop->server->engine);
    int64_t count = 0;
    for (size_t i = 1; limiter != NULL && i < request->count; i++) {
        bool is_there = has_spent(limiter, request->args[i]);
        count += is_there;
        if (is_there && is_del) {
            (void)mete_reset(limiter, request->args[i].at, request->args[i].len);
        }
    }
    mete__resp_i64(&conn->out, count);
}

void mete__run_del(struct mete__conn *conn, const struct mete__resp_request *request)
{
    run_keys(conn, request, true);
}

void mete__run_exists(struct mete__conn *conn, const struct mete__resp_request *request)
{
    run_keys(conn, request, false);
}

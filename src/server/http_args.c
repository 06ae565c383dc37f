/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http_args.h"

#include <stdio.h>

#include "base/text.h"
#include "wire/base64.h"

#define SHOWN_MAX 40 /* bytes of a client's word that an answer repeats */
#define WAIT_MS_MAX (UINT64_MAX / 1000000u)

enum kind { SPAN, NUMBER, BASE64 };

/* The one list of what can be asked. */
static const struct arg {
    const char *name;
    unsigned bit;
    enum kind kind;
    size_t offset;
    uint64_t least, most;
} table[] = {
    {"policy", METE__ARG_POLICY, SPAN, offsetof(struct mete__http_args, policy), 0, 0},
    {"key", METE__ARG_KEY, SPAN, offsetof(struct mete__http_args, key), 0, 0},
    {"cost", METE__ARG_COST, NUMBER, offsetof(struct mete__http_args, cost), 0, UINT64_MAX},
    {"wait_ms_max", METE__ARG_WAIT, NUMBER, offsetof(struct mete__http_args, wait_ms_max), 0, WAIT_MS_MAX},
    {"deny_status", METE__ARG_STATUS, NUMBER, offsetof(struct mete__http_args, deny_status), 400, 599},
    {"key_base64", METE__ARG_KEY_BASE64, BASE64, offsetof(struct mete__http_args, key), 0, 0},
};

static const struct arg *find(struct mete__span name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (mete__span_is(name, table[i].name)) {
            return &table[i];
        }
    }
    return NULL;
}

static int shown(struct mete__span word)
{
    return word.len < SHOWN_MAX ? (int)word.len : SHOWN_MAX;
}

bool mete__http_number(struct mete__span span, uint64_t *out)
{
    struct mete__text text = mete__text_of(span.at, span.len);
    return mete__text_u64(&text, out) == METE__NUMBER_OK && mete__text_is_empty(&text);
}

static void *place_of(struct mete__http_args *args, const struct arg *arg)
{
    return (char *)args + arg->offset;
}

/* A key may be given in one of two ways, once. */
static bool may_set(struct mete__http_call *call, struct mete__http_args *args, const struct arg *arg,
                    const char *where)
{
    unsigned same =
        (arg->bit & (METE__ARG_KEY | METE__ARG_KEY_BASE64)) != 0 ? METE__ARG_KEY | METE__ARG_KEY_BASE64 : arg->bit;
    if ((args->given & same) != 0) {
        mete__http_problem(call, 400, "%s%s is given twice", where, arg->name);
        return false;
    }
    args->given |= arg->bit;
    return true;
}

static bool set_number(struct mete__http_call *call, struct mete__http_args *args, const struct arg *arg,
                       const char *where, bool is_number, uint64_t value)
{
    if (!is_number || value < arg->least || value > arg->most) {
        mete__http_problem(call, 400, "%s%s: not a whole number from %llu to %llu", where, arg->name,
                           (unsigned long long)arg->least, (unsigned long long)arg->most);
        return false;
    }
    memcpy(place_of(args, arg), &value, sizeof value);
    return true;
}

/* Text as it stands, or from base64 by way of `*to`. */
static bool set_text(struct mete__http_call *call, struct mete__http_args *args, const struct arg *arg,
                     const char *where, struct mete__span text, char **to)
{
    if (arg->kind == BASE64) {
        if (!mete__base64_read(text, *to, &text)) {
            mete__http_problem(call, 400, "%s%s: not base64", where, arg->name);
            return false;
        }
        *to += text.len;
        args->is_key_copied = true;
    }
    memcpy(place_of(args, arg), &text, sizeof text);
    return true;
}

static bool set_parameter(struct mete__http_call *call, struct mete__http_args *args, const struct arg *arg,
                          struct mete__span value, char **to)
{
    uint64_t number = 0;
    if (!may_set(call, args, arg, "")) {
        return false;
    }
    if (!mete__is_decoded(value, true)) {
        if (!mete__percent_decode(value, true, *to, &value)) {
            mete__http_problem(call, 400, "%s: a '%%' is not followed by two hexadecimal digits", arg->name);
            return false;
        }
        *to += value.len;
        args->is_key_copied = args->is_key_copied || arg->bit == METE__ARG_KEY;
    }
    if (arg->kind == NUMBER) {
        bool is_number = mete__http_number(value, &number);
        return set_number(call, args, arg, "", is_number, number);
    }
    return set_text(call, args, arg, "", value, to);
}

bool mete__http_args_query(struct mete__http_call *call, struct mete__http_args *args, bool is_lenient, char *to)
{
    struct mete__span rest = call->target.query, name, value;
    while (mete__query_next(&rest, &name, &value)) {
        const struct arg *arg = find(name);
        if (arg == NULL && !is_lenient) {
            mete__http_problem(call, 400, "there is no parameter '%.*s'", shown(name), name.at);
            return false;
        }
        if (arg != NULL && !set_parameter(call, args, arg, value, &to)) {
            return false;
        }
    }
    return true;
}

static bool set_member(struct mete__http_call *call, struct mete__http_args *args, const struct arg *arg,
                       const char *where, const json_t *value, char **to)
{
    if (!may_set(call, args, arg, where)) {
        return false;
    }
    if (arg->kind == NUMBER) {
        json_int_t number = json_integer_value(value);
        return set_number(call, args, arg, where, json_is_integer(value) && number >= 0, (uint64_t)number);
    }
    if (!json_is_string(value)) {
        mete__http_problem(call, 400, "%s%s: not a string", where, arg->name);
        return false;
    }
    return set_text(call, args, arg, where, mete__span_of(json_string_value(value), json_string_length(value)), to);
}

bool mete__http_args_json(struct mete__http_call *call, struct mete__http_args *args, json_t *object, const char *where,
                          char **to)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object)) {
        mete__http_problem(call, 400, "%snot an object", where);
        return false;
    }
    json_object_foreach(object, name, value)
    {
        struct mete__span word = mete__span_of(name, strlen(name));
        const struct arg *arg = find(word);
        if (arg == NULL) {
            if (where[0] == '\0' && strcmp(name, "requests") == 0) {
                continue;
            }
            mete__http_problem(call, 400, "there is no member '%s%.*s'", where, shown(word), name);
            return false;
        }
        if (!set_member(call, args, arg, where, value, to)) {
            return false;
        }
    }
    return true;
}

bool mete__http_args_body(struct mete__http_call *call, struct mete__span body, json_t **out)
{
    json_error_t error;
    *out = NULL;
    if (body.len == 0) {
        return true;
    }
    if (!mete__http_has_json(call->request)) {
        mete__http_problem(call, 415, "the body is not of Content-Type application/json");
        return false;
    }
    *out = json_loadb(body.at, body.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (*out == NULL) {
        mete__http_problem(call, 400, "the body is not JSON: line %d, column %d: %s", error.line, error.column,
                           error.text);
        return false;
    }
    if (!json_is_object(*out)) {
        json_decref(*out);
        mete__http_problem(call, 400, "the body is not a JSON object");
        return false;
    }
    return true;
}

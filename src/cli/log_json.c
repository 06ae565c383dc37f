/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines; log_json.h says what is read. */
#include "cli/log_json.h"

#include "cli/log_time.h"

/* A member's value: parsed, and its bytes in the line when it is a number. */
struct member {
    const json_t *value;
    struct mete__text number;
};

static bool find_field(struct mete__json_field *field, const json_t *row, struct mete__text line, struct member *out);
static bool text_of(const struct member *member, struct mete__text *out);

enum mete__reason mete__json_read(struct mete__json *json, struct mete__text line, struct mete__record *out)
{
    json_decref(json->row);
    json->row = NULL;
    /* jansson overlooks a NUL byte after a number, and the number's bytes would hold it. */
    if (memchr(line.at, '\0', mete__text_len(&line)) != NULL) {
        return METE__REASON_NUL;
    }
    json->row = mete__json_parse(line);
    if (json->row == NULL) {
        return METE__REASON_JSON;
    }
    struct member member;
    struct mete__text key = {"", ""};
    if (json->key.name != NULL &&
        (!find_field(&json->key, json->row, line, &member) || !text_of(&member, &key) || mete__text_is_empty(&key))) {
        return METE__REASON_NO_KEY;
    }
    struct mete__text text;
    if (!find_field(&json->time, json->row, line, &member)) {
        return METE__REASON_NO_TIME;
    }
    if (!text_of(&member, &text)) {
        return METE__REASON_BAD_TIME;
    }
    uint64_t time_ns = 0;
    enum mete__reason reason = mete__time_read(text, &time_ns);
    if (reason != METE__REASON_NONE) {
        return reason;
    }
    uint64_t cost = 1;
    if (json->cost.name != NULL) {
        if (!find_field(&json->cost, json->row, line, &member)) {
            return METE__REASON_NO_COST;
        }
        if (!text_of(&member, &text) || mete__cost_read(text.at, mete__text_len(&text), &cost) != METE__REASON_NONE) {
            return METE__REASON_BAD_COST;
        }
    }
    *out = (struct mete__record){key.at, mete__text_len(&key), time_ns, cost};
    return METE__REASON_NONE;
}

/* Whole numbers above 64 bits, such as trace ids, must not spoil a line, so all
 * numbers are taken as doubles, and not looked at. */
json_t *mete__json_parse(struct mete__text line)
{
    json_t *row = json_loadb(line.at, mete__text_len(&line), JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    if (!json_is_object(row)) {
        json_decref(row);
        return NULL;
    }
    return row;
}

/* A text or a number as bytes; false for anything else. */
static bool text_of(const struct member *member, struct mete__text *out)
{
    if (json_is_string(member->value)) {
        *out = mete__text_of(json_string_value(member->value), json_string_length(member->value));
        return true;
    }
    *out = member->number;
    return json_is_number(member->value) && !mete__text_is_empty(out);
}

/* --- the bytes of a value ----------------------------------------------- */
/* All of these walk over text that jansson has found to be valid. */

static void skip_space(struct mete__text *text)
{
    while (!mete__text_is_empty(text) &&
           (*text->at == ' ' || *text->at == '\t' || *text->at == '\r' || *text->at == '\n')) {
        text->at++;
    }
}

/* Takes a text with its quotes; out is what lies between them, escapes and all. */
static void take_text(struct mete__text *text, struct mete__text *out)
{
    (void)mete__text_eat(text, '"');
    out->at = text->at;
    while (!mete__text_is_empty(text) && *text->at != '"') {
        text->at += *text->at == '\\' && mete__text_len(text) > 1 ? 2 : 1;
    }
    out->end = text->at;
    (void)mete__text_eat(text, '"');
}

/* Takes one value of any kind, up to the ',' or the closing bracket after it. */
static void take_value(struct mete__text *text, struct mete__text *out)
{
    skip_space(text);
    out->at = text->at;
    out->end = text->at;
    for (size_t depth = 0; !mete__text_is_empty(text);) {
        char c = *text->at;
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            break;
        }
        struct mete__text inner;
        if (c == '"') {
            take_text(text, &inner);
        } else {
            depth += c == '{' || c == '[';
            depth -= c == '}' || c == ']';
            text->at++;
        }
        /* White space is not part of a value, so it never moves its end. */
        out->end = c == ' ' || c == '\t' || c == '\r' || c == '\n' ? out->end : text->at;
    }
}

/* The bytes of the last member called name: the one that jansson keeps. */
static struct mete__text raw_member(struct mete__text object, struct mete__text name)
{
    struct mete__text found = {object.end, object.end};
    skip_space(&object);
    (void)mete__text_eat(&object, '{');
    while (!mete__text_is_empty(&object)) {
        skip_space(&object);
        struct mete__text member_name;
        struct mete__text value;
        take_text(&object, &member_name);
        skip_space(&object);
        (void)mete__text_eat(&object, ':');
        take_value(&object, &value);
        if (mete__text_len(&member_name) == mete__text_len(&name) &&
            memcmp(member_name.at, name.at, mete__text_len(&name)) == 0) {
            found = value;
        }
        if (!mete__text_eat(&object, ',')) {
            break;
        }
    }
    return found;
}

static bool find_member(const json_t *row, struct mete__text line, const char *path, struct member *out)
{
    struct mete__text name = mete__text_of(path, strlen(path));
    out->value = json_object_get(row, path);
    while (out->value == NULL) {
        /* Not a member as it stands: go into the one before the next dot. */
        struct mete__text rest = name;
        struct mete__text parent = mete__text_until(&rest, '.');
        if (!mete__text_eat(&rest, '.')) {
            return false;
        }
        row = json_object_getn(row, parent.at, mete__text_len(&parent));
        if (!json_is_object(row)) {
            return false;
        }
        line = raw_member(line, parent);
        name = rest;
        out->value = json_object_getn(row, name.at, mete__text_len(&name));
    }
    out->number = json_is_number(out->value) ? raw_member(line, name) : (struct mete__text){"", ""};
    return true;
}

static bool find_field(struct mete__json_field *field, const json_t *row, struct mete__text line, struct member *out)
{
    bool found = find_member(row, line, field->name, out);
    field->found = field->found || found;
    field->missed = field->missed || !found;
    return found;
}

void mete__json_init(struct mete__json *json, const char *key, const char *time, const char *cost)
{
    *json = (struct mete__json){.key.name = key, .time.name = time, .cost.name = cost};
}

void mete__json_clear(struct mete__json *json)
{
    json_decref(json->row);
    json->row = NULL;
}

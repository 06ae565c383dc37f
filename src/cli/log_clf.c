/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common and combined log formats.  The walk of a line that is keyed by its
 * address stops at the first character of the request; only other fields make
 * it go on.
 */
#include "cli/log_clf.h"

/* A line taken apart up to the start of its request. */
struct head {
    struct mete__text address;
    struct mete__text names; /* IDENT USER, with what may lie between them and the time */
    struct mete__text time;
    struct mete__text rest; /* from the first character of the request */
};

static enum mete__reason read_head(struct mete__text line, struct head *head);
static enum mete__reason read_time(struct mete__clf *clf, struct mete__text time, uint64_t *time_ns);
static bool field_of(const struct head *head, enum mete__clf_field field, struct mete__text *out);

enum mete__reason mete__clf_read(struct mete__clf *clf, struct mete__text line, struct mete__record *out)
{
    struct head head;
    uint64_t time_ns = 0;
    uint64_t cost = 1;
    enum mete__reason reason = read_head(line, &head);
    if (reason == METE__REASON_NONE) {
        reason = read_time(clf, head.time, &time_ns);
    }
    if (reason != METE__REASON_NONE) {
        return reason;
    }
    struct mete__text key = head.address;
    if (clf->key == METE__CLF_NONE) {
        key.end = key.at;
    } else if (clf->key != METE__CLF_ADDRESS && (!field_of(&head, clf->key, &key) || mete__text_is_empty(&key))) {
        return METE__REASON_NO_KEY;
    }
    if (clf->cost != METE__CLF_NONE) {
        struct mete__text text;
        if (!field_of(&head, clf->cost, &text)) {
            return METE__REASON_NO_COST;
        }
        if (mete__cost_read(text.at, mete__text_len(&text), &cost) != METE__REASON_NONE) {
            return METE__REASON_BAD_COST;
        }
    }
    *out = (struct mete__record){key.at, mete__text_len(&key), time_ns, cost};
    return METE__REASON_NONE;
}

/* --- up to the request -------------------------------------------------- */

/* The first word.  An address holds no blanks and no control bytes: after a
 * crash, blocks of NUL bytes stand before the first line. */
static bool take_address(struct mete__text *line, struct mete__text *out)
{
    const char *start = line->at;
    while (line->at < line->end && (unsigned char)*line->at > ' ') {
        line->at++;
    }
    *out = (struct mete__text){start, line->at};
    return line->at > start && mete__text_eat(line, ' ');
}

/*
 * A user name may hold spaces.  Other text must not: with a host name in front
 * of the address, as in Apache's vhost_combined, all clients of that host would
 * silently become one.  So names with a space too many begin with the ident
 * "-", which it is wherever identd is not asked.
 */
static bool names_are_plain(const struct mete__text *names)
{
    struct mete__text rest = *names;
    struct mete__text ident = mete__text_word(&rest);
    if (mete__text_is(&ident, "-")) {
        return true;
    }
    mete__text_skip_blanks(&rest);
    (void)mete__text_word(&rest);
    mete__text_skip_blanks(&rest);
    return mete__text_is_empty(&rest);
}

static enum mete__reason read_head(struct mete__text line, struct head *head)
{
    if (!take_address(&line, &head->address)) {
        return METE__REASON_ADDRESS;
    }
    bool usual = mete__text_len(&line) > 5 && memcmp(line.at, "- - [", 5) == 0;
    head->names = usual ? (struct mete__text){line.at, line.at + 4} : mete__text_until(&line, '[');
    line.at = head->names.end;
    if (!mete__text_eat(&line, '[') || (!usual && !names_are_plain(&head->names))) {
        return METE__REASON_NO_TIME;
    }
    /* The usual length is tried first: it saves the search. */
    if (mete__text_len(&line) > METE__CLF_TIME_LEN && line.at[METE__CLF_TIME_LEN] == ']') {
        head->time = mete__text_of(line.at, METE__CLF_TIME_LEN);
        line.at += METE__CLF_TIME_LEN;
    } else {
        head->time = mete__text_until(&line, ']');
    }
    if (!mete__text_eat(&line, ']')) {
        return METE__REASON_NO_TIME;
    }
    mete__text_skip_blanks(&line);
    if (!mete__text_eat(&line, '"') || mete__text_is_empty(&line) || *line.at == '"') {
        return METE__REASON_NO_REQUEST;
    }
    head->rest = line;
    return METE__REASON_NONE;
}

static enum mete__reason read_time(struct mete__clf *clf, struct mete__text time, uint64_t *time_ns)
{
    bool usual = mete__text_len(&time) == METE__CLF_TIME_LEN;
    if (usual && clf->time_known && memcmp(time.at, clf->time_text, METE__CLF_TIME_LEN) == 0) {
        *time_ns = clf->time_ns;
        return METE__REASON_NONE;
    }
    enum mete__reason reason = mete__time_read_clf(time, time_ns);
    if (reason == METE__REASON_NONE && usual) {
        memcpy(clf->time_text, time.at, METE__CLF_TIME_LEN);
        clf->time_ns = *time_ns;
        clf->time_known = true;
    }
    return reason;
}

/* --- fields ------------------------------------------------------------- */

/* Takes up to the next quote that no backslash escapes, and the quote; false
 * when it is cut off. */
static bool take_quoted(struct mete__text *text, struct mete__text *out)
{
    const char *start = text->at;
    for (; text->at < text->end && *text->at != '"'; text->at++) {
        if (*text->at == '\\' && text->at + 1 < text->end) {
            text->at++;
        }
    }
    *out = (struct mete__text){start, text->at};
    return mete__text_eat(text, '"');
}

static bool take_word(struct mete__text *text, struct mete__text *out)
{
    mete__text_skip_blanks(text);
    *out = mete__text_word(text);
    return !mete__text_is_empty(out);
}

/* Finds a field after the start of the request; false when it is cut off. */
static bool tail_field(struct mete__text rest, enum mete__clf_field field, struct mete__text *out)
{
    struct mete__text request;
    if (!take_quoted(&rest, &request)) {
        return false;
    }
    if (field <= METE__CLF_PATH) {
        *out = mete__text_word(&request);
        if (field == METE__CLF_METHOD) {
            return true;
        }
        mete__text_skip_blanks(&request);
        struct mete__text path = mete__text_word(&request);
        *out = mete__text_until(&path, '?');
        return true;
    }
    for (enum mete__clf_field at = METE__CLF_STATUS; at <= field && at <= METE__CLF_COMMON_LAST; at++) {
        if (!take_word(&rest, out)) {
            return false;
        }
    }
    for (enum mete__clf_field at = METE__CLF_REFERER; at <= field; at++) {
        mete__text_skip_blanks(&rest);
        if (!mete__text_eat(&rest, '"') || !take_quoted(&rest, out)) {
            return false;
        }
    }
    return true;
}

static bool field_of(const struct head *head, enum mete__clf_field field, struct mete__text *out)
{
    struct mete__text names = head->names;
    struct mete__text ident = mete__text_word(&names);
    mete__text_skip_blanks(&names);
    while (names.end > names.at && names.end[-1] == ' ') {
        names.end--;
    }
    switch (field) {
    case METE__CLF_ADDRESS:
        *out = head->address;
        return true;
    case METE__CLF_IDENT:
        *out = ident;
        return true;
    case METE__CLF_USER:
        *out = names;
        return true;
    case METE__CLF_TIME:
        *out = head->time;
        return true;
    default:
        return tail_field(head->rest, field, out);
    }
}

bool mete__clf_is_combined(struct mete__text line)
{
    struct head head;
    struct mete__text agent;
    return read_head(line, &head) == METE__REASON_NONE && tail_field(head.rest, METE__CLF_AGENT, &agent);
}

static const char *const field_names[METE__CLF_FIELDS] = {
    [METE__CLF_ADDRESS] = "address", [METE__CLF_IDENT] = "ident",   [METE__CLF_USER] = "user",
    [METE__CLF_TIME] = "time",       [METE__CLF_METHOD] = "method", [METE__CLF_PATH] = "path",
    [METE__CLF_STATUS] = "status",   [METE__CLF_BYTES] = "bytes",   [METE__CLF_REFERER] = "referer",
    [METE__CLF_AGENT] = "agent",
};

const char *mete__clf_field_name(enum mete__clf_field field)
{
    return field_names[field];
}

bool mete__clf_field_find(const char *name, enum mete__clf_field *out)
{
    for (enum mete__clf_field field = METE__CLF_ADDRESS; field < METE__CLF_FIELDS; field++) {
        if (strcmp(field_names[field], name) == 0) {
            *out = field;
            return true;
        }
    }
    return false;
}

void mete__clf_init(struct mete__clf *clf, enum mete__clf_field key, enum mete__clf_field cost)
{
    *clf = (struct mete__clf){.key = key, .cost = cost};
}

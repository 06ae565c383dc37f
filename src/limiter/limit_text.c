/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a limit from text:
 *
 *   [ALGORITHM] COUNT/PERIOD [burst N] [anchored | calendar] [zone NAME]
 *
 * Words may be in either case, except the name of a zone, which is a file's.
 * Blanks are spaces and tabs.  What may follow the rate may come in any order.
 * A sentence about a mistake begins with the field and shows what was found.
 */
#include <inttypes.h>
#include <mete/mete.h>

#include "base/text.h"
#include "base/why.h"
#include "limiter/limit_words.h"
#include "limiter/zone.h"

/* The longest limit takes about 90 bytes; the rest is room for blanks. */
#define TEXT_LEN_MAX 512

#define UNITS_TEXT "ns, us, ms, s, m, h, d, w"

enum option {
    OPTION_BURST = 1,
    OPTION_ANCHORED = 2,
    OPTION_CALENDAR = 4,
    OPTION_ZONE = 8,
};

struct parser {
    struct mete__text rest;
    const struct mete__why *why;
    struct mete_limit limit;
    struct mete__text rate;   /* COUNT/PERIOD as it was written */
    struct mete__text period; /* its meaning depends on what follows */
    unsigned options;         /* enum option, those seen */
};

/* --- words ---------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_word(struct mete__text text, const char *word)
{
    for (; text.at < text.end && *word != '\0'; text.at++, word++) {
        if (lower(*text.at) != *word) {
            return false;
        }
    }
    return mete__text_is_empty(&text) && *word == '\0';
}

/* word or its plural. */
static bool is_word_or_plural(struct mete__text text, const char *word)
{
    if (is_word(text, word)) {
        return true;
    }
    if (mete__text_is_empty(&text) || lower(text.end[-1]) != 's') {
        return false;
    }
    text.end--;
    return is_word(text, word);
}

/* --- sentences ------------------------------------------------------------ */

/* What was found, fit to be shown: in quotes, cut when long, and with anything
 * but printable ASCII written as \xNN. */
struct quote {
    char text[2 + 4 * 48 + 3 + 1];
};

static struct quote quote(struct mete__text found)
{
    static const char hex[] = "0123456789abcdef";
    const size_t shown_max = 48;
    bool is_cut = mete__text_len(&found) > shown_max;
    struct quote quote;
    size_t len = 0;
    if (is_cut) {
        found.end = found.at + shown_max;
    }
    quote.text[len++] = '\'';
    for (; found.at < found.end; found.at++) {
        unsigned char byte = (unsigned char)*found.at;
        if (byte >= ' ' && byte < 0x7f && byte != '\\') {
            quote.text[len++] = (char)byte;
            continue;
        }
        quote.text[len++] = '\\';
        quote.text[len++] = 'x';
        quote.text[len++] = hex[byte >> 4];
        quote.text[len++] = hex[byte & 15];
    }
    memcpy(quote.text + len, is_cut ? "...'" : "'", is_cut ? 5 : 2);
    return quote;
}

/* --- numbers --------------------------------------------------------------- */

static mete_status read_number(const struct parser *parser, const char *field, struct mete__text text, uint64_t *out)
{
    struct mete__text digits = text;
    enum mete__number number = mete__text_u64(&digits, out);
    if (number == METE__NUMBER_NONE || !mete__text_is_empty(&digits)) {
        return mete__fail(parser->why, METE_EINVAL, "%s: %s is not a whole number; write digits only", field,
                          quote(text).text);
    }
    if (number == METE__NUMBER_TOO_LARGE) {
        return mete__fail(parser->why, METE_ERANGE, "%s: %s is too large; no number may be above %" PRIu64, field,
                          quote(text).text, UINT64_MAX);
    }
    return METE_OK;
}

/* --- algorithm and rate ------------------------------------------------------ */

/* A first word that starts with a letter names the algorithm, unless it holds a
 * slash: then it is a rate with a wrong count. */
static mete_status parse_algorithm(struct parser *parser)
{
    struct mete__text after = parser->rest;
    struct mete__text word = mete__text_word(&after);
    if (mete__text_is_empty(&word) || !is_letter(*word.at) || memchr(word.at, '/', mete__text_len(&word)) != NULL) {
        return METE_OK;
    }
    parser->rest = after;
    if (is_word(word, "gcra")) {
        return METE_OK;
    }
    for (size_t i = 0; i < METE__ALGORITHMS_COUNT; i++) {
        if (is_word(word, mete__algorithm_names[i])) {
            parser->limit.algorithm = (enum mete_algorithm)i;
            return METE_OK;
        }
    }
    return mete__fail(parser->why, METE_EINVAL,
                      "algorithm: unknown name %s; use token_bucket, leaky_bucket, fixed_window, sliding_window, "
                      "sliding_log",
                      quote(word).text);
}

/* Up to a slash or a blank. */
static struct mete__text take_count(struct mete__text *text)
{
    struct mete__text word = *text;
    word = mete__text_word(&word);
    word = mete__text_until(&word, '/');
    text->at = word.end;
    return word;
}

static mete_status parse_rate(struct parser *parser)
{
    mete__text_skip_blanks(&parser->rest);
    parser->rate.at = parser->rest.at;
    struct mete__text count = take_count(&parser->rest);
    if (mete__text_is_empty(&count)) {
        return mete__fail(parser->why, METE_EINVAL, "count: missing; write COUNT/PERIOD, such as 100/1m");
    }
    mete_status status = read_number(parser, "count", count, &parser->limit.count);
    if (status != METE_OK) {
        return status;
    }
    mete__text_skip_blanks(&parser->rest);
    if (!mete__text_eat(&parser->rest, '/')) {
        return mete__fail(parser->why, METE_EINVAL,
                          "period: no '/' after the count %s; write COUNT/PERIOD, such as 100/1m", quote(count).text);
    }
    mete__text_skip_blanks(&parser->rest);
    parser->period = mete__text_word(&parser->rest);
    parser->rate.end = parser->period.end;
    return METE_OK;
}

/* --- period ------------------------------------------------------------------ */

static mete_status find_unit(const struct parser *parser, struct mete__text word, const struct mete__unit **out)
{
    for (size_t i = 0; i < METE__UNITS_COUNT; i++) {
        if (is_word(word, mete__units[i].name) ||
            (mete__units[i].word != NULL && is_word_or_plural(word, mete__units[i].word))) {
            *out = &mete__units[i];
            return METE_OK;
        }
    }
    if (is_word_or_plural(word, "month") || is_word_or_plural(word, "year")) {
        return mete__fail(parser->why, METE_EINVAL,
                          "period: %s in %s is not a fixed span; write fixed_window COUNT/month calendar, or days",
                          quote(word).text, quote(parser->rate).text);
    }
    return mete__fail(parser->why, METE_EINVAL, "period: unknown unit %s in %s; use " UNITS_TEXT, quote(word).text,
                      quote(parser->rate).text);
}

static mete_status parse_span(struct parser *parser)
{
    struct mete__text number = parser->period;
    struct mete__text word = parser->period;
    while (word.at < word.end && !is_letter(*word.at)) {
        word.at++;
    }
    number.end = word.at;
    if (mete__text_is_empty(&word)) {
        return mete__fail(parser->why, METE_EINVAL, "period: no unit in %s; use " UNITS_TEXT, quote(parser->rate).text);
    }
    uint64_t times = 1;
    mete_status status = METE_OK;
    if (!mete__text_is_empty(&number)) {
        status = read_number(parser, "period", number, &times);
    }
    const struct mete__unit *unit = NULL;
    if (status == METE_OK) {
        status = find_unit(parser, word, &unit);
    }
    if (status != METE_OK) {
        return status;
    }
    if (times == 0) {
        return mete__fail(parser->why, METE_EINVAL, "period: %s has no length", quote(parser->rate).text);
    }
    if (times > METE_PERIOD_MAX / unit->ns) {
        return mete__fail(parser->why, METE_ERANGE, "period: %s is longer than %" PRIu64 "ns", quote(parser->rate).text,
                          METE_PERIOD_MAX);
    }
    parser->limit.period_ns = times * unit->ns;
    return METE_OK;
}

static mete_status parse_calendar_unit(struct parser *parser)
{
    for (size_t i = METE_ALIGN_MINUTE; i < METE__ALIGNMENTS_COUNT; i++) {
        if (is_word(parser->period, mete__calendar_names[i])) {
            parser->limit.alignment = (enum mete_alignment)i;
            return METE_OK;
        }
    }
    return mete__fail(parser->why, METE_EINVAL,
                      "period: with calendar it is one of minute, hour, day, week, month, year, not %s",
                      quote(parser->period).text);
}

/* --- what follows the rate --------------------------------------------------- */

static mete_status parse_burst(struct parser *parser)
{
    mete__text_skip_blanks(&parser->rest);
    struct mete__text word = mete__text_word(&parser->rest);
    if (mete__text_is_empty(&word)) {
        return mete__fail(parser->why, METE_EINVAL, "burst: a number must follow");
    }
    mete_status status = read_number(parser, "burst", word, &parser->limit.burst);
    /* In a struct 0 stands for "not given"; whoever writes it means something else. */
    if (status == METE_OK && parser->limit.burst == 0) {
        return mete__fail(parser->why, METE_EINVAL, "burst: '0' lets nothing pass; use 1 or more, or leave it out");
    }
    return status;
}

static mete_status parse_zone(struct parser *parser)
{
    mete__text_skip_blanks(&parser->rest);
    struct mete__text word = mete__text_word(&parser->rest);
    size_t len = mete__text_len(&word);
    if (len == 0) {
        return mete__fail(parser->why, METE_EINVAL, "zone: a name must follow, such as Europe/Berlin");
    }
    if (len >= METE_TIME_ZONE_SIZE) {
        return mete__fail(parser->why, METE_EINVAL, "zone: %s is longer than %d bytes", quote(word).text,
                          METE_TIME_ZONE_SIZE - 1);
    }
    memcpy(parser->limit.time_zone, word.at, len);
    if (!mete__zone_is_name(parser->limit.time_zone)) {
        return mete__fail(parser->why, METE_EINVAL, "zone: %s is not the name of a time zone", quote(word).text);
    }
    return METE_OK;
}

static mete_status parse_option(struct parser *parser, struct mete__text word)
{
    static const struct {
        const char *name;
        enum option option;
    } names[] = {
        {"burst", OPTION_BURST}, {"anchored", OPTION_ANCHORED}, {"calendar", OPTION_CALENDAR}, {"zone", OPTION_ZONE}};
    size_t i = 0;
    while (i < sizeof names / sizeof names[0] && !is_word(word, names[i].name)) {
        i++;
    }
    if (i == sizeof names / sizeof names[0]) {
        return mete__fail(parser->why, METE_EINVAL,
                          "limit: unknown word %s; after COUNT/PERIOD come burst N, anchored, calendar, zone NAME",
                          quote(word).text);
    }
    if ((parser->options & names[i].option) != 0) {
        return mete__fail(parser->why, METE_EINVAL, "%s: given twice", names[i].name);
    }
    parser->options |= names[i].option;
    switch (names[i].option) {
    case OPTION_BURST:
        return parse_burst(parser);
    case OPTION_ZONE:
        return parse_zone(parser);
    default:
        return METE_OK;
    }
}

static mete_status check_options(const struct parser *parser)
{
    const char *algorithm = mete__algorithm_names[parser->limit.algorithm];
    bool is_bucket = parser->limit.algorithm == METE_TOKEN_BUCKET || parser->limit.algorithm == METE_LEAKY_BUCKET;
    bool is_anchored = (parser->options & OPTION_ANCHORED) != 0;
    bool is_calendar = (parser->options & OPTION_CALENDAR) != 0;
    if (!is_bucket && (parser->options & OPTION_BURST) != 0) {
        return mete__fail(parser->why, METE_EINVAL, "burst: %s has none; its capacity is the count", algorithm);
    }
    if (is_anchored && is_calendar) {
        return mete__fail(parser->why, METE_EINVAL, "anchored: contradicts calendar");
    }
    if (parser->limit.algorithm != METE_FIXED_WINDOW && (is_anchored || is_calendar)) {
        return mete__fail(parser->why, METE_EINVAL, "%s: only fixed_window can be, not %s",
                          is_anchored ? "anchored" : "calendar", algorithm);
    }
    if (!is_calendar && (parser->options & OPTION_ZONE) != 0) {
        return mete__fail(parser->why, METE_EINVAL, "zone: only with calendar");
    }
    return METE_OK;
}

static mete_status parse_options(struct parser *parser)
{
    for (;;) {
        mete__text_skip_blanks(&parser->rest);
        if (mete__text_is_empty(&parser->rest)) {
            return check_options(parser);
        }
        mete_status status = parse_option(parser, mete__text_word(&parser->rest));
        if (status != METE_OK) {
            return status;
        }
    }
}

/* --- the whole ----------------------------------------------------------------- */

static mete_status parse_limit(struct parser *parser)
{
    mete__text_skip_blanks(&parser->rest);
    mete_status status = parse_algorithm(parser);
    if (status == METE_OK) {
        status = parse_rate(parser);
    }
    if (status == METE_OK) {
        status = parse_options(parser);
    }
    if (status != METE_OK) {
        return status;
    }
    if ((parser->options & OPTION_CALENDAR) != 0) {
        return parse_calendar_unit(parser);
    }
    parser->limit.alignment = (parser->options & OPTION_ANCHORED) != 0 ? METE_ALIGN_FIRST : METE_ALIGN_EPOCH;
    return parse_span(parser);
}

mete_status mete_limit_parse_why(const char *text, struct mete_limit *out, char *why_text, size_t why_size)
{
    const struct mete__why why = {why_text, why_size};
    if (text == NULL || out == NULL) {
        return mete__fail(&why, METE_EINVAL, "limit: %s is NULL", text == NULL ? "the text" : "the result");
    }
    size_t len = strnlen(text, TEXT_LEN_MAX + 1);
    if (len > TEXT_LEN_MAX) {
        return mete__fail(&why, METE_EINVAL, "limit: the text is longer than %d bytes", TEXT_LEN_MAX);
    }
    struct parser parser = {.rest = mete__text_of(text, len), .why = &why};
    mete_status status = parse_limit(&parser);
    if (status == METE_OK) {
        status = mete_limit_check(&parser.limit, why_text, why_size);
    }
    if (status == METE_OK) {
        *out = parser.limit;
    }
    return status;
}

mete_status mete_limit_parse(const char *text, struct mete_limit *out)
{
    return mete_limit_parse_why(text, out, NULL, 0);
}

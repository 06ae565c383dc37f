/* SPDX-License-Identifier: Apache-2.0 */
/* `mete limit`: a limit in words and numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/limit_facts.h"

#define NS_PER_S UINT64_C(1000000000)
#define NUMBER_SIZE 64
#define DECIMALS 9
#define RATE_DECIMALS 12                    /* the slowest rate is 3.2e-9 per second */
#define FIELD_MAX UINT64_C(999999999999999) /* RFC 9651: 15 digits */
#define OPERANDS_MAX 16
#define BYTES_PER_KEY "21.3" /* a 16-byte cell, and three of four cells in use */

/* numerator / denominator in decimal, at most `decimals` digits after the
 * point, cut off; "~" before it says that digits were cut off. */
static void format_ratio(char out[NUMBER_SIZE], mete__u128 numerator, mete__u128 denominator, int decimals)
{
    char fraction[NUMBER_SIZE / 2];
    mete__u128 rest = numerator % denominator;
    int len = 0;
    while (rest != 0 && len < decimals) {
        rest *= 10;
        fraction[len++] = (char)('0' + (int)(rest / denominator));
        rest %= denominator;
    }
    fraction[len] = '\0';
    mete__u128 whole = numerator / denominator;
    char digits[NUMBER_SIZE / 2];
    int at = (int)sizeof(digits) - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(whole % 10));
        whole /= 10;
    } while (whole != 0 && at > 0);
    snprintf(out, NUMBER_SIZE, "%s%s%s%s", rest != 0 ? "~" : "", digits + at, len > 0 ? "." : "", fraction);
}

/* "0.6 s", "93784 s (1d 2h 3m 4s)" */
static void format_duration(char out[NUMBER_SIZE], mete__u128 ns)
{
    char seconds[NUMBER_SIZE];
    format_ratio(seconds, ns, NS_PER_S, DECIMALS);
    uint64_t whole_s = (uint64_t)(ns / NS_PER_S);
    if (whole_s < 120) {
        snprintf(out, NUMBER_SIZE, "%.40s s", seconds);
        return;
    }
    uint64_t parts[] = {whole_s / 86400, whole_s / 3600 % 24, whole_s / 60 % 60, whole_s % 60};
    static const char units[] = "dhms";
    int len = snprintf(out, NUMBER_SIZE, "%.24s s (", seconds);
    const char *gap = "";
    for (size_t i = 0; i < 4; i++) {
        if (parts[i] != 0 && len < NUMBER_SIZE) {
            len += snprintf(out + len, NUMBER_SIZE - (size_t)len, "%s%" PRIu64 "%c", gap, parts[i], units[i]);
            gap = " ";
        }
    }
    if (len < NUMBER_SIZE) {
        snprintf(out + len, NUMBER_SIZE - (size_t)len, ")");
    }
}

static const char *algorithm_name(enum mete_algorithm algorithm)
{
    static const char *const names[] = {"token_bucket", "leaky_bucket", "fixed_window", "sliding_window",
                                        "sliding_log"};
    return names[algorithm];
}

static const char *algorithm_words(const struct mete_limit *limit)
{
    switch (limit->algorithm) {
    case METE_TOKEN_BUCKET:
        return "a burst at once, then units come back one by one (GCRA)";
    case METE_LEAKY_BUCKET:
        return "a level that drains one by one: take meters it, reserve queues at the drain rate";
    case METE_FIXED_WINDOW:
        if (limit->alignment == METE_ALIGN_EPOCH) {
            return "a count per window, windows start at multiples of the period";
        }
        return limit->alignment == METE_ALIGN_FIRST ? "a count per window, a window starts with its first request"
                                                    : "a count per unit of the calendar";
    case METE_SLIDING_WINDOW:
        return "two counters, the window before weighted by what of it is still in the period";
    case METE_SLIDING_LOG:
        return "the time of every unit is kept: never more than the count in any period";
    }
    return "";
}

static uint64_t field(uint64_t value)
{
    return mete__min_u64(value, FIELD_MAX);
}

static void format_policy(char *out, size_t out_size, const struct mete__limit_headers *headers)
{
    snprintf(out, out_size, "\"default\";q=%" PRIu64 ";w=%" PRIu64, field(headers->quota), field(headers->window_s));
}

static void format_state(char *out, size_t out_size, uint64_t remaining, uint64_t more_s)
{
    snprintf(out, out_size, "\"default\";r=%" PRIu64 ";t=%" PRIu64, field(remaining), field(more_s));
}

static void print_rate(const struct mete__limit_facts *facts)
{
    static const struct {
        uint64_t seconds;
        const char *name;
    } units[] = {{1, "second"}, {60, "minute"}, {3600, "hour"}, {86400, "day"}};
    char number[NUMBER_SIZE];
    format_duration(number, facts->period_ns);
    printf("rate            %" PRIu64 " per %s%s\n", facts->limit.count, number,
           facts->is_calendar ? ", the mean length of that unit" : "");
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        format_ratio(number, (mete__u128)facts->limit.count * units[i].seconds * NS_PER_S, facts->period_ns,
                     RATE_DECIMALS);
        printf("                %s per %s\n", number, units[i].name);
    }
    printf("one unit every  %" PRIu64, facts->unit_ns);
    if (facts->unit_parts != 1) {
        printf("/%" PRIu64, facts->unit_parts);
    }
    format_ratio(number, facts->unit_ns, (mete__u128)facts->unit_parts * NS_PER_S, DECIMALS);
    printf(" ns, %s s\n", number);
}

static void print_capacity(const struct mete__limit_facts *facts)
{
    static const char *const sums[] = {"burst + count", "burst + count", "twice the count, around a boundary",
                                       "twice the count less one, around a boundary", "the count"};
    char number[NUMBER_SIZE];
    printf("capacity        %" PRIu64 " at one instant\n", facts->capacity);
    format_duration(number, facts->refill_ns);
    printf("as never seen   %s%s after all of it was spent\n", facts->is_bucket ? "" : "at most ", number);
    format_ratio(number, facts->most_in_period, 1, 0);
    printf("in one period   at most %s (%s)\n", number, sums[facts->limit.algorithm]);
}

static void print_precision(const struct mete__limit_facts *facts)
{
    switch (facts->precision) {
    case METE__LIMIT_EXACT:
        printf("precision       exact to the nanosecond\n");
        break;
    case METE__LIMIT_STRICT_1NS:
        printf(
            "precision       the rate is exact; a decision may be strict by less than 1 ns, which does not add up\n");
        break;
    case METE__LIMIT_STRICT_GRAIN:
        printf("precision       exact, but a window starts at a multiple of %" PRIu64 " ns, rounded up\n",
               facts->grain_ns);
        break;
    }
}

static void print_headers(const struct mete__limit_facts *facts)
{
    const struct mete__limit_headers *headers = &facts->headers;
    char text[NUMBER_SIZE * 2];
    format_policy(text, sizeof(text), headers);
    printf("headers         RateLimit-Policy: %s\n", text);
    format_state(text, sizeof(text), headers->first_remaining, headers->first_more_s);
    printf("  first request RateLimit: %s\n", text);
    format_state(text, sizeof(text), 0, headers->retry_after_s);
    printf("  all spent     429, RateLimit: %s\n", text);
    printf("                Retry-After: %" PRIu64 "\n", field(headers->retry_after_s));
}

static void print_text(const struct mete__limit_facts *facts)
{
    printf("limit           %s\n", facts->text);
    printf("algorithm       %s: %s\n", algorithm_name(facts->limit.algorithm), algorithm_words(&facts->limit));
    print_rate(facts);
    print_capacity(facts);
    print_precision(facts);
    printf("memory          " BYTES_PER_KEY " bytes per key the store is made for%s\n",
           facts->limit.algorithm == METE_SLIDING_LOG ? ", and 8 bytes per unit of the count" : "");
    print_headers(facts);
    if (facts->is_bucket) {
        printf("range           burst 1..%" PRIu64 " at this rate\n", facts->burst_max);
    } else {
        printf("range           count up to %" PRIu64 " in this period\n", facts->count_max);
    }
    printf("                rates from 1 per 10 years to 1000000000 per second\n");
}

/* JSON's readers keep 63 bits at most: a larger number is a string of digits. */
static void set_u64(json_t *object, const char *name, mete__u128 value)
{
    char digits[NUMBER_SIZE];
    format_ratio(digits, value, 1, 0);
    json_object_set_new(object, name, value <= INT64_MAX ? json_integer((json_int_t)value) : json_string(digits));
}

static json_t *headers_to_json(const struct mete__limit_headers *headers)
{
    char text[NUMBER_SIZE * 2];
    json_t *object = json_object();
    format_policy(text, sizeof(text), headers);
    json_object_set_new(object, "ratelimit_policy", json_string(text));
    format_state(text, sizeof(text), headers->first_remaining, headers->first_more_s);
    json_object_set_new(object, "ratelimit_first", json_string(text));
    format_state(text, sizeof(text), 0, headers->retry_after_s);
    json_object_set_new(object, "ratelimit_spent", json_string(text));
    set_u64(object, "retry_after", field(headers->retry_after_s));
    return object;
}

static void print_json(const struct mete__limit_facts *facts)
{
    static const char *const precisions[] = {"exact", "strict_by_less_than_1_ns", "start_rounded_up"};
    json_t *object = json_object();
    json_object_set_new(object, "limit", json_string(facts->text));
    json_object_set_new(object, "algorithm", json_string(algorithm_name(facts->limit.algorithm)));
    set_u64(object, "count", facts->limit.count);
    set_u64(object, "period_ns", facts->period_ns);
    json_object_set_new(object, "period_is_mean", json_boolean(facts->is_calendar));
    json_object_set_new(object, "rate_per_second",
                        json_real((double)facts->limit.count * (double)NS_PER_S / (double)facts->period_ns));
    set_u64(object, "capacity", facts->capacity);
    set_u64(object, "unit_ns", facts->unit_ns);
    set_u64(object, "unit_parts", facts->unit_parts);
    set_u64(object, "refill_ns", facts->refill_ns);
    set_u64(object, "most_in_period", facts->most_in_period);
    json_object_set_new(object, "precision", json_string(precisions[facts->precision]));
    if (facts->grain_ns != 0) {
        set_u64(object, "start_grain_ns", facts->grain_ns);
    }
    set_u64(object, facts->is_bucket ? "burst_max" : "count_max",
            facts->is_bucket ? facts->burst_max : facts->count_max);
    json_object_set_new(object, "headers", headers_to_json(&facts->headers));
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(object);
}

/* "mete limit 100/1m burst 20" needs no quotes. */
static bool join(char *text, size_t text_size, char **words, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        int added = snprintf(text + len, text_size - len, "%s%s", i == 0 ? "" : " ", words[i]);
        if (added < 0 || (size_t)added >= text_size - len) {
            return false;
        }
        len += (size_t)added;
    }
    return true;
}

static int explain(const char *text, bool json)
{
    char why[METE__LIMIT_TEXT_SIZE * 2];
    struct mete_limit limit;
    struct mete__limit_facts facts;
    if (mete_limit_parse_why(text, &limit, why, sizeof(why)) != METE_OK ||
        mete_limit_check(&limit, why, sizeof(why)) != METE_OK) {
        mete__cli_error("limit", "'%s': %s", text, why);
        return METE__EXIT_USAGE;
    }
    mete_status status = mete__limit_facts_of(&limit, &facts);
    if (status != METE_OK) {
        mete__cli_error("limit", "%s", mete_status_text(status));
        return METE__EXIT_INPUT;
    }
    if (json) {
        print_json(&facts);
    } else {
        print_text(&facts);
    }
    return METE__EXIT_OK;
}

int mete__cli_limit(int argc, char **argv)
{
    bool json = false;
    const struct mete__arg table[] = {
        {"json", NULL, "print one JSON object", METE__ARG_FLAG, &json, 0, 0},
    };
    const struct mete__args args = {
        .command = "limit",
        .operands = "LIMIT...",
        .summary = "Explains a limit in words and numbers: what passes, when units come back, which\n"
                   "response headers it leads to, and how far its numbers may go.",
        .notes = "LIMIT is [ALGORITHM] COUNT/PERIOD [burst N] [anchored | calendar] [zone NAME],\n"
                 "such as '100/1m burst 20' or 'fixed_window 1000/month calendar zone Europe/Berlin'.\n"
                 "Several arguments are joined with spaces.",
        .table = table,
        .table_count = sizeof(table) / sizeof(table[0]),
        .operands_min = 1,
        .operands_max = OPERANDS_MAX,
    };
    size_t operand_count = 0;
    enum mete__args_result parsed = mete__args_parse(&args, argc, argv, &operand_count);
    if (parsed != METE__ARGS_OK) {
        return parsed == METE__ARGS_HELP ? METE__EXIT_OK : METE__EXIT_USAGE;
    }
    char text[METE__LIMIT_TEXT_SIZE * 4];
    if (!join(text, sizeof(text), argv + 1, operand_count)) {
        mete__cli_error("limit", "the limit is longer than any limit can be");
        return METE__EXIT_USAGE;
    }
    return explain(text, json);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The words of limits, and limits written with them. */
#include <inttypes.h>
#include <stdio.h>

#include "limiter/limit_words.h"

const char *const mete__algorithm_names[METE__ALGORITHMS_COUNT] = {
    [METE_TOKEN_BUCKET] = "token_bucket", [METE_LEAKY_BUCKET] = "leaky_bucket",
    [METE_FIXED_WINDOW] = "fixed_window", [METE_SLIDING_WINDOW] = "sliding_window",
    [METE_SLIDING_LOG] = "sliding_log",
};

const char *const mete__calendar_names[METE__ALIGNMENTS_COUNT] = {
    [METE_ALIGN_MINUTE] = "minute", [METE_ALIGN_HOUR] = "hour",   [METE_ALIGN_DAY] = "day",
    [METE_ALIGN_WEEK] = "week",     [METE_ALIGN_MONTH] = "month", [METE_ALIGN_YEAR] = "year",
};

const struct mete__unit mete__units[METE__UNITS_COUNT] = {
    {"w", "week", UINT64_C(604800000000000)},
    {"d", "day", UINT64_C(86400000000000)},
    {"h", "hour", UINT64_C(3600000000000)},
    {"m", "minute", UINT64_C(60000000000)},
    {"s", "second", UINT64_C(1000000000)},
    {"ms", NULL, 1000000},
    {"us", NULL, 1000},
    {"ns", NULL, 1},
};

/* "100/1m" or "100/month" */
static void format_rate(const struct mete_limit *limit, char *text, size_t size)
{
    if (limit->alignment >= METE_ALIGN_MINUTE) {
        snprintf(text, size, "%" PRIu64 "/%s", limit->count, mete__calendar_names[limit->alignment]);
        return;
    }
    const struct mete__unit *unit = mete__units;
    while (limit->period_ns % unit->ns != 0) {
        unit++;
    }
    snprintf(text, size, "%" PRIu64 "/%" PRIu64 "%s", limit->count, limit->period_ns / unit->ns, unit->name);
}

size_t mete_limit_format(const struct mete_limit *limit, char *text, size_t text_size)
{
    if (limit == NULL || mete_limit_check(limit, NULL, 0) != METE_OK) {
        if (text_size > 0) {
            text[0] = '\0';
        }
        return 0;
    }
    char rate[64];
    char burst[32] = "";
    format_rate(limit, rate, sizeof rate);
    if (limit->burst != 0) {
        snprintf(burst, sizeof burst, " burst %" PRIu64, limit->burst);
    }
    const char *alignment = limit->alignment >= METE_ALIGN_MINUTE  ? " calendar"
                            : limit->alignment == METE_ALIGN_FIRST ? " anchored"
                                                                   : "";
    int len = snprintf(text, text_size, "%s %s%s%s%s%s", mete__algorithm_names[limit->algorithm], rate, burst,
                       alignment, limit->time_zone[0] != '\0' ? " zone " : "", limit->time_zone);
    return (size_t)len;
}

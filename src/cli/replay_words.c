/* SPDX-License-Identifier: Apache-2.0 */
/* Words for people; replay_words.h shows them. */
#include "cli/replay_words.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

static const struct {
    uint64_t ns;
    const char *name;
} units[] = {
    {86400 * SECOND_NS, "day"}, {3600 * SECOND_NS, "hour"}, {60 * SECOND_NS, "minute"}, {SECOND_NS, "second"},
    {1000000, "millisecond"},   {1000, "microsecond"},      {1, "nanosecond"},
};

static const char *const algorithm_words[] = {
    [METE_TOKEN_BUCKET] = "token bucket", [METE_LEAKY_BUCKET] = "leaky bucket",
    [METE_FIXED_WINDOW] = "fixed window", [METE_SLIDING_WINDOW] = "sliding window",
    [METE_SLIDING_LOG] = "sliding log",
};

static const char *const calendar_words[] = {
    [METE_ALIGN_MINUTE] = "minute", [METE_ALIGN_HOUR] = "hour",   [METE_ALIGN_DAY] = "day",
    [METE_ALIGN_WEEK] = "week",     [METE_ALIGN_MONTH] = "month", [METE_ALIGN_YEAR] = "year",
};

size_t mete__span_words(uint64_t span_ns, char *text, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        uint64_t n = span_ns / units[i].ns;
        span_ns %= units[i].ns;
        if (n > 0 && len < size) {
            len += (size_t)snprintf(text + len, size - len, "%s%llu %s%s", len > 0 ? " " : "", (unsigned long long)n,
                                    units[i].name, n == 1 ? "" : "s");
        }
    }
    return len > 0 ? len : (size_t)snprintf(text, size, "0 seconds");
}

static size_t period_words(const struct mete_limit *limit, char *text, size_t size)
{
    if (limit->alignment < METE_ALIGN_MINUTE) {
        return mete__span_words(limit->period_ns, text, size);
    }
    return (size_t)snprintf(text, size, "calendar %s of %s", calendar_words[limit->alignment],
                            limit->time_zone[0] != '\0' ? limit->time_zone : "UTC");
}

size_t mete__limit_words(const struct mete_limit *limit, const char *unit, char *text, size_t size)
{
    char period[128];
    char burst[64] = "";
    period_words(limit, period, sizeof(period));
    bool bucket = limit->algorithm == METE_TOKEN_BUCKET || limit->algorithm == METE_LEAKY_BUCKET;
    if (bucket) {
        snprintf(burst, sizeof(burst), ", at most %llu at one instant",
                 (unsigned long long)(limit->burst != 0 ? limit->burst : limit->count));
    } else if (limit->alignment == METE_ALIGN_FIRST) {
        snprintf(burst, sizeof(burst), " from a key's first request");
    }
    return (size_t)snprintf(text, size, "%llu %s%s per %s%s (%s)", (unsigned long long)limit->count, unit,
                            limit->count == 1 ? "" : "s", period, burst, algorithm_words[limit->algorithm]);
}

size_t mete__time_words(uint64_t time_ns, char *text, size_t size)
{
    time_t seconds = (time_t)(time_ns / SECOND_NS);
    struct tm tm;
    char whole[32];
    char fraction[16] = "";
    gmtime_r(&seconds, &tm);
    strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm);
    unsigned nanoseconds = (unsigned)(time_ns % SECOND_NS);
    if (nanoseconds != 0) {
        int digits = 9;
        for (; nanoseconds % 10 == 0; nanoseconds /= 10) {
            digits--;
        }
        snprintf(fraction, sizeof(fraction), ".%0*u", digits, nanoseconds);
    }
    return (size_t)snprintf(text, size, "%s%sZ", whole, fraction);
}

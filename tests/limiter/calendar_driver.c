/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers questions about calendar windows, one a line, for test_calendar.py:
 *
 *   ZONE            opens a zone for what follows; answers its number of steps
 *   offset SECONDS  answers local time minus UTC
 *   UNIT SECONDS    (minute, hour, day, week, month, year) answers START END
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limiter/calendar.h"

static const char *const units[] = {
    [METE_ALIGN_MINUTE] = "minute", [METE_ALIGN_HOUR] = "hour",   [METE_ALIGN_DAY] = "day",
    [METE_ALIGN_WEEK] = "week",     [METE_ALIGN_MONTH] = "month", [METE_ALIGN_YEAR] = "year",
};

static bool answer_zone(const char *name, struct mete__zone **zone)
{
    mete__zone_destroy(*zone);
    *zone = NULL;
    mete_status status = mete__zone_open(name, zone);
    if (status != METE_OK) {
        fprintf(stderr, "%s: status %d\n", name, status);
        return false;
    }
    printf("%zu\n", (*zone)->steps_count);
    return true;
}

static bool answer(const struct mete__zone *zone, const char *word, int64_t unix_s)
{
    if (strcmp(word, "offset") == 0) {
        printf("%" PRId32 "\n", mete__zone_offset_s(zone, unix_s));
        return true;
    }
    for (int i = METE_ALIGN_MINUTE; i <= METE_ALIGN_YEAR; i++) {
        struct mete__calendar_span span;
        if (strcmp(word, units[i]) == 0 && mete__calendar_window(zone, (enum mete_alignment)i, unix_s, &span)) {
            printf("%" PRId64 " %" PRId64 "\n", span.start_s, span.end_s);
            return true;
        }
    }
    fprintf(stderr, "no answer to %s %" PRId64 "\n", word, unix_s);
    return false;
}

int main(void)
{
    char line[128];
    struct mete__zone *zone = NULL;
    bool ok = true;
    while (ok && fgets(line, sizeof line, stdin) != NULL) {
        char word[64];
        int64_t unix_s;
        int found = sscanf(line, "%63s %" SCNd64, word, &unix_s);
        if (found == 1) {
            ok = answer_zone(word, &zone);
        } else {
            ok = found == 2 && zone != NULL && answer(zone, word, unix_s);
        }
    }
    mete__zone_destroy(zone);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

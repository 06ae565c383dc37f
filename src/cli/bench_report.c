/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <mete/mete.h>

static const struct mete__bench_series *find_series(const struct mete__bench_report *report, const char *name)
{
    for (size_t i = 0; i < report->series_count; i++) {
        if (strcmp(report->series[i].name, name) == 0) {
            return &report->series[i];
        }
    }
    return NULL;
}

/* The tables above are sized for every row there is: running over is a mistake
 * in this program, not in its input. */
static void must_fit(bool fits)
{
    if (!fits) {
        fprintf(stderr, "mete: bench: a table of bench_report.h is too small\n");
        abort();
    }
}

void mete__bench_add(struct mete__bench_report *report, const char *name, const char *unit, double sample)
{
    size_t i = 0;
    while (i < report->series_count && strcmp(report->series[i].name, name) != 0) {
        i++;
    }
    must_fit(i < METE__BENCH_SERIES_MAX);
    struct mete__bench_series *series = &report->series[i];
    if (i == report->series_count) {
        report->series_count++;
        snprintf(series->name, sizeof(series->name), "%s", name);
        series->unit = unit;
        series->count = 0;
    }
    must_fit(series->count < METE__BENCH_RUNS_MAX);
    series->samples[series->count++] = sample;
}

const char *mete__bench_name(struct mete__bench_report *report, const char *format, ...)
{
    must_fit(report->name_count < sizeof(report->names) / sizeof(report->names[0]));
    char *name = report->names[report->name_count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, METE__BENCH_NAME_SIZE, format, arguments);
    va_end(arguments);
    return name;
}

void mete__bench_require(struct mete__bench_report *report, const struct mete__bench_check *check)
{
    bool measured = find_series(report, check->measured) != NULL;
    if (measured && (check->reference == NULL || find_series(report, check->reference) != NULL)) {
        must_fit(report->check_count < METE__BENCH_CHECKS_MAX);
        report->checks[report->check_count++] = *check;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct mete__bench_spread spread_of(const double *samples, size_t count)
{
    double sorted[METE__BENCH_RUNS_MAX];
    memcpy(sorted, samples, count * sizeof(*samples));
    qsort(sorted, count, sizeof(*sorted), compare_doubles);
    size_t middle = count / 2;
    double median = count % 2 != 0 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return (struct mete__bench_spread){median, sorted[0], sorted[count - 1]};
}

/* The check's value in each run, then their spread. */
static struct mete__bench_spread judge(const struct mete__bench_report *report, const struct mete__bench_check *check)
{
    const struct mete__bench_series *measured = find_series(report, check->measured);
    const struct mete__bench_series *reference =
        check->reference != NULL ? find_series(report, check->reference) : measured;
    size_t count = measured->count < reference->count ? measured->count : reference->count;
    double values[METE__BENCH_RUNS_MAX];
    for (size_t i = 0; i < count; i++) {
        double value = measured->samples[i];
        if (check->kind == METE__BENCH_RATIO) {
            value /= reference->samples[i];
        } else if (check->kind == METE__BENCH_DIFFERENCE) {
            value -= reference->samples[i];
        }
        values[i] = value;
    }
    return spread_of(values, count);
}

static bool is_met(const struct mete__bench_check *check, double value)
{
    return check->sense == METE__BENCH_AT_MOST ? value <= check->required : value >= check->required;
}

static void print_series(const struct mete__bench_report *report)
{
    printf("%-46s %10s %22s\n", "measured", "median", "min .. max");
    for (size_t i = 0; i < report->series_count; i++) {
        const struct mete__bench_series *series = &report->series[i];
        struct mete__bench_spread spread = spread_of(series->samples, series->count);
        printf("%-46s %10.2f %10.2f .. %-8.2f %s\n", series->name, spread.median, spread.min, spread.max, series->unit);
    }
}

size_t mete__bench_print_table(const struct mete__bench_report *report)
{
    printf("mete %s bench\n", mete_version());
    printf("machine  %s\n", report->machine);
    printf("clock    %s\n", report->clock);
    printf("runs     %zu, median of the runs; what is compared takes turns within a run\n\n", report->runs);
    print_series(report);
    if (report->check_count > 0) {
        printf("\n%-46s %8s %18s   %-9s\n", "required", "median", "min .. max", "must be");
    }
    size_t misses = 0;
    for (size_t i = 0; i < report->check_count; i++) {
        const struct mete__bench_check *check = &report->checks[i];
        struct mete__bench_spread spread = judge(report, check);
        bool met = is_met(check, spread.median);
        printf("%-46s %8.3f %8.3f .. %-8.3f %s %-7g %s\n", check->name, spread.median, spread.min, spread.max,
               check->sense == METE__BENCH_AT_MOST ? "<=" : ">=", check->required, met ? "ok" : "MISS");
        misses += met ? 0 : 1;
    }
    return misses;
}

static json_t *spread_to_json(const char *name, struct mete__bench_spread spread)
{
    return json_pack("{s:s, s:f, s:f, s:f}", "name", name, "median", spread.median, "min", spread.min, "max",
                     spread.max);
}

static json_t *series_to_json(const struct mete__bench_series *series)
{
    json_t *object = spread_to_json(series->name, spread_of(series->samples, series->count));
    json_object_set_new(object, "unit", json_string(series->unit));
    return object;
}

static json_t *check_to_json(const struct mete__bench_check *check, struct mete__bench_spread spread, bool met)
{
    json_t *object = spread_to_json(check->name, spread);
    json_object_set_new(object, "measured", json_string(check->measured));
    if (check->reference != NULL) {
        json_object_set_new(object, "reference", json_string(check->reference));
    }
    json_object_set_new(object, check->sense == METE__BENCH_AT_MOST ? "at_most" : "at_least",
                        json_real(check->required));
    json_object_set_new(object, "ok", json_boolean(met));
    return object;
}

size_t mete__bench_print_json(const struct mete__bench_report *report)
{
    json_t *all_series = json_array();
    for (size_t i = 0; i < report->series_count; i++) {
        json_array_append_new(all_series, series_to_json(&report->series[i]));
    }
    json_t *all_checks = json_array();
    size_t misses = 0;
    for (size_t i = 0; i < report->check_count; i++) {
        struct mete__bench_spread spread = judge(report, &report->checks[i]);
        bool met = is_met(&report->checks[i], spread.median);
        json_array_append_new(all_checks, check_to_json(&report->checks[i], spread, met));
        misses += met ? 0 : 1;
    }
    json_t *root = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:I}", "version", mete_version(), "machine",
                             report->machine, "clock", report->clock, "runs", (json_int_t)report->runs, "series",
                             all_series, "checks", all_checks, "misses", (json_int_t)misses);
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(root);
    return misses;
}

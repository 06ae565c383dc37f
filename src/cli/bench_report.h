/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `mete bench` measured: named series with one sample per run, and checks
 * that set one series against another.
 *
 * A check is computed run by run and its median is judged, so that a machine
 * that gets slower half-way moves both sides of a ratio alike.
 */
#ifndef METE_CLI_BENCH_REPORT_H
#define METE_CLI_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METE__BENCH_RUNS_MAX 99u
#define METE__BENCH_SERIES_MAX 64u
#define METE__BENCH_CHECKS_MAX 64u
#define METE__BENCH_NAME_SIZE 64u

struct mete__bench_series {
    char name[METE__BENCH_NAME_SIZE];
    const char *unit;
    double samples[METE__BENCH_RUNS_MAX];
    size_t count;
};

enum mete__bench_kind {
    METE__BENCH_RATIO,      /* measured / reference */
    METE__BENCH_DIFFERENCE, /* measured - reference */
    METE__BENCH_VALUE       /* measured alone */
};

enum mete__bench_sense { METE__BENCH_AT_MOST, METE__BENCH_AT_LEAST };

struct mete__bench_check {
    const char *name; /* constant, or in names[] of the report */
    const char *measured;
    const char *reference; /* NULL for METE__BENCH_VALUE */
    enum mete__bench_kind kind;
    enum mete__bench_sense sense;
    double required;
};

struct mete__bench_spread {
    double median;
    double min;
    double max;
};

struct mete__bench_report {
    struct mete__bench_series series[METE__BENCH_SERIES_MAX];
    size_t series_count;
    struct mete__bench_check checks[METE__BENCH_CHECKS_MAX];
    size_t check_count;
    char names[3 * METE__BENCH_CHECKS_MAX][METE__BENCH_NAME_SIZE];
    size_t name_count;
    char machine[768];
    char clock[96];
    size_t runs;
    const char *failure; /* why a measurement was not what it claims to be; NULL when all were */
};

/* Adds a sample to the series of this name, making it at its first sample. */
void mete__bench_add(struct mete__bench_report *report, const char *name, const char *unit, double sample);

/* A name made by printf that lives as long as the report. */
const char *mete__bench_name(struct mete__bench_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The check is left out of the report when one of its series was not measured. */
void mete__bench_require(struct mete__bench_report *report, const struct mete__bench_check *check);

/* Both return the number of checks that miss what is required. */
size_t mete__bench_print_table(const struct mete__bench_report *report);
size_t mete__bench_print_json(const struct mete__bench_report *report);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a replay found: gathered here, printed for people or as one JSON object.
 */
#ifndef METE_CLI_REPLAY_REPORT_H
#define METE_CLI_REPLAY_REPORT_H

#include "cli/log_reader.h"
#include "cli/replay_decide.h"

/* So many lines are named for each reason of skipping. */
#define METE__SKIPS_NAMED 5

struct mete__skips {
    uint64_t count;
    struct {
        size_t file;
        uint64_t line;
    } first[METE__SKIPS_NAMED];
};

#define METE__REPLAY_ERROR_SIZE 512

struct mete__replay_file {
    const char *name;
    enum mete__format format; /* AUTO: it holds no lines, or error says why none was read */
    bool gzip;
    bool shared_key;
    bool key_missing;
    char key_name[METE__FIELD_NAME_SIZE];
    char time_name[METE__FIELD_NAME_SIZE];
    uint64_t lines; /* with empty ones and a header */
    uint64_t requests;
    uint64_t skipped;
    uint64_t empty;    /* lines of nothing but their end: neither requests nor skipped */
    uint64_t first_ns; /* the times of its first and its last request */
    uint64_t last_ns;
    char error[METE__REPLAY_ERROR_SIZE]; /* "", or why reading stopped early */
};

struct mete__report {
    struct mete__replay_file *files;
    size_t file_count;
    const char *cost_name; /* NULL: every request costs 1 */
    size_t top;
    bool quiet;
    struct mete__skips skips[METE__REASONS];
    struct mete__decider *decider;
    struct mete_store_stats stats;
};

/* Counts a line that is not a request. */
void mete__report_skip(struct mete__report *report, enum mete__reason reason, size_t file, uint64_t line);

uint64_t mete__report_skipped(const struct mete__report *report);
uint64_t mete__report_empty(const struct mete__report *report);

/* Files should come oldest first. */
struct mete__disorder {
    uint64_t count; /* files whose first request is earlier than the last one of a file before them */
    const struct mete__replay_file *file;   /* the first of them, */
    const struct mete__replay_file *before; /* and the file before it that ends last */
};

struct mete__disorder mete__report_disorder(const struct mete__report *report);

/* Both to standard output.  False: no memory. */
bool mete__report_print(const struct mete__report *report);
bool mete__report_print_json(const struct mete__report *report);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay from the first file to the report:
 *
 *   input -> lines -> reader (a record, or a reason) -> decider -> report
 *
 * Files are checked before the first is read, so that a mistyped name does not
 * cost a long run.  What goes wrong later ends that file, is told, and makes the
 * exit code METE__EXIT_INPUT; the report still covers all that was read.
 */
#ifndef METE_CLI_REPLAY_RUN_H
#define METE_CLI_REPLAY_RUN_H

#include "cli/cli.h"
#include "cli/log_reader.h"
#include "cli/replay_decide.h"

#define METE__REPLAY_COMMAND "replay"

struct mete__replay_job {
    char **names;
    size_t name_count;
    struct mete__log_wish wish;
    struct mete_limit limits[METE__ARG_TEXTS_MAX];
    size_t limit_count;
    uint64_t keys_max;
    size_t top;
    bool json;
    bool quiet;
};

/* Does the job, prints the report to standard output and errors to standard error. */
enum mete__exit mete__replay_run(const struct mete__replay_job *job);

#endif

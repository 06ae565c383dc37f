/* SPDX-License-Identifier: Apache-2.0 */
/* `mete replay`: its command line.  replay_run.h does the work. */
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/replay_run.h"

#define COMMAND METE__REPLAY_COMMAND
#define FILES_MAX 10000

struct options {
    struct mete__arg_texts limits;
    const char *key;
    const char *cost;
    const char *time;
    const char *format;
    uint64_t keys_max;
    uint64_t top;
    bool json;
    bool quiet;
};

static enum mete__exit run(const struct options *options, char **names, size_t count);

int mete__cli_replay(int argc, char **argv)
{
    struct options options = {.keys_max = 1000000, .top = 10, .format = "auto"};
    const struct mete__arg table[] = {
        {"limit", "TEXT",
         "the limit, such as \"10/1m burst 20\" (see 'mete limit');\n"
         "given more than once, all must let a request pass",
         METE__ARG_TEXTS, &options.limits, 0, 0},
        {"key", "FIELD",
         "what is limited: a field's name, or - for one key for all\n"
         "(default: the client address, found by its usual names)",
         METE__ARG_TEXT, &options.key, 0, 0},
        {"cost", "FIELD", "how many units a request takes: a field with whole\nnumbers (default: 1 each)",
         METE__ARG_TEXT, &options.cost, 0, 0},
        {"time", "FIELD", "when a request came (default: found by its usual names)", METE__ARG_TEXT, &options.time, 0,
         0},
        {"format", "NAME", "auto, common, combined, json, csv or tsv (default: auto)", METE__ARG_TEXT, &options.format,
         0, 0},
        {"keys-max", "N", "keys held and counted (default: 1000000)", METE__ARG_U64, &options.keys_max, 1,
         UINT64_C(1000000000)},
        {"top", "N", "worst keys listed (default: 10)", METE__ARG_U64, &options.top, 0, 100000},
        {"json", NULL, "print one JSON object", METE__ARG_FLAG, &options.json, 0, 0},
        {"quiet", NULL, "print the totals and notes alone, and no progress", METE__ARG_FLAG, &options.quiet, 0, 0},
    };
    const struct mete__args args = {
        .command = COMMAND,
        .operands = "FILE...",
        .summary = "Decides every request of the logs at its own logged time, and tells what the limit\n"
                   "would have let pass.  FILE is plain or gzip; - is standard input.",
        .notes = "Fields of common and combined logs: address, ident, user, time, method, path (without\n"
                 "its query), status, bytes, referer, agent.  CSV and TSV need a header line.  A member of\n"
                 "a JSON object inside another is named with a dot, as request.remote_ip.\n"
                 "\n"
                 "A line that is not a request is skipped and counted with its reason; the exit code\n"
                 "stays 0.  It is 3 when a file cannot be read to its end, and when no JSON line has the\n"
                 "field that an option names.  Several files are given oldest first.",
        .table = table,
        .table_count = sizeof(table) / sizeof(table[0]),
        .operands_min = 1,
        .operands_max = FILES_MAX,
    };
    size_t count = 0;
    const enum mete__args_result result = mete__args_parse(&args, argc, argv, &count);
    if (result != METE__ARGS_OK) {
        return result == METE__ARGS_HELP ? METE__EXIT_OK : METE__EXIT_USAGE;
    }
    return (int)run(&options, argv + 1, count);
}

static bool parse_limits(const struct options *options, struct mete__replay_job *job)
{
    if (options->limits.count == 0) {
        mete__cli_error(COMMAND, "missing --limit (see 'mete help replay')");
        return false;
    }
    for (size_t i = 0; i < options->limits.count; i++) {
        char why[256];
        const char *text = options->limits.items[i];
        struct mete_limit *limit = &job->limits[i];
        if (mete_limit_parse_why(text, limit, why, sizeof(why)) != METE_OK ||
            mete_limit_check(limit, why, sizeof(why)) != METE_OK) {
            mete__cli_error(COMMAND, "--limit '%s': %s", text, why);
            return false;
        }
    }
    job->limit_count = options->limits.count;
    return true;
}

static enum mete__exit run(const struct options *options, char **names, size_t count)
{
    struct mete__replay_job job = {
        .names = names,
        .name_count = count,
        .wish = {METE__FORMAT_AUTO, options->key, options->time, options->cost},
        .keys_max = options->keys_max,
        .top = (size_t)options->top,
        .json = options->json,
        .quiet = options->quiet,
    };
    if (!mete__format_find(options->format, &job.wish.format)) {
        mete__cli_error(COMMAND, "--format: '%s' is none of auto, common, combined, json, csv, tsv", options->format);
        return METE__EXIT_USAGE;
    }
    return parse_limits(options, &job) ? mete__replay_run(&job) : METE__EXIT_USAGE;
}

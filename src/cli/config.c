/* SPDX-License-Identifier: Apache-2.0 */
/* `mete config`: checks a configuration file, explains it, prints its reference. */
#include "cli/config.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "policy/load.h"
#include "policy/nearest.h"
#include "server/tls.h"

#define WARNINGS_SIZE 16384u

/* Standard error has the faults as lines either way; with --json so has standard output. */
static void tell_faults(const char *why, bool json)
{
    fprintf(stderr, "%s\n", why);
    if (!json) {
        return;
    }
    json_t *faults = json_array();
    while (*why != '\0') {
        size_t len = strcspn(why, "\n");
        json_array_append_new(faults, json_stringn(why, len));
        why += len + (why[len] == '\n');
    }
    json_t *object = json_pack("{s:b, s:o}", "ok", 0, "faults", faults);
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
}

/* Certificate, key and client CA fit for serving; else a sentence with the file's name before it. */
static bool check_tls(const char *path, const struct mete__config *config, char *why, size_t why_size)
{
    char sentence[METE__CONFIG_WHY_SIZE / 2];
    struct mete__tls_context *context = NULL;
    if (config->tls.certificate != NULL &&
        mete__tls_context_create(&config->tls, &context, sentence, sizeof(sentence)) != METE_OK) {
        snprintf(why, why_size, "%s: tls: %s", path, sentence);
        return false;
    }
    mete__tls_context_release(context);
    return true;
}

static int check(const char *path, bool json)
{
    char why[METE__CONFIG_WHY_SIZE];
    char warnings[WARNINGS_SIZE];
    struct mete__config *config = NULL;
    if (mete__config_load(path, &config, why, sizeof(why)) != METE_OK) {
        tell_faults(why, json);
        return METE__EXIT_INPUT;
    }
    if (!check_tls(path, config, why, sizeof(why))) {
        tell_faults(why, json);
        mete__config_destroy(config);
        return METE__EXIT_INPUT;
    }
    mete__config_warnings(config, warnings, sizeof(warnings));
    if (json) {
        mete__config_show_json(config, warnings);
    } else {
        mete__config_show(config, warnings);
    }
    mete__config_destroy(config);
    return METE__EXIT_OK;
}

static int explain(const char *path, const char *policy_name, const char *key, bool json)
{
    char why[METE__CONFIG_WHY_SIZE];
    struct mete__config *config = NULL;
    int result = METE__EXIT_OK;
    if (mete__config_load(path, &config, why, sizeof(why)) != METE_OK) {
        tell_faults(why, json);
        return METE__EXIT_INPUT;
    }
    const struct mete__policy *policy = mete__config_policy(config, policy_name, strlen(policy_name));
    if (policy == NULL) {
        mete__cli_error("config explain", "%s has no policy '%s'", path, policy_name);
        result = METE__EXIT_USAGE;
    } else {
        mete_status status = mete__config_explain(policy, key, strlen(key), json);
        if (status != METE_OK) {
            mete__cli_error("config explain", "%s", mete_status_text(status));
            result = METE__EXIT_INPUT;
        }
    }
    mete__config_destroy(config);
    return result;
}

static int run_check(int argc, char **argv)
{
    bool json = false;
    const struct mete__arg table[] = {{"json", NULL, "print one JSON object", METE__ARG_FLAG, &json, 0, 0}};
    const struct mete__args args = {
        .command = "config check",
        .operands = "FILE",
        .summary = "Reads a configuration file as 'mete serve' does and shows what it would serve.\n"
                   "Every fault is a line FILE:LINE:COLUMN: SENTENCE on standard error, and the exit\n"
                   "code is then 3.  The files of TLS are loaded too.",
        .table = table,
        .table_count = 1,
        .operands_min = 1,
        .operands_max = 1,
    };
    size_t count = 0;
    enum mete__args_result parsed = mete__args_parse(&args, argc, argv, &count);
    if (parsed != METE__ARGS_OK) {
        return parsed == METE__ARGS_HELP ? METE__EXIT_OK : METE__EXIT_USAGE;
    }
    return check(argv[1], json);
}

static int run_explain(int argc, char **argv)
{
    bool json = false;
    const struct mete__arg table[] = {{"json", NULL, "print one JSON object", METE__ARG_FLAG, &json, 0, 0}};
    const struct mete__args args = {
        .command = "config explain",
        .operands = "FILE POLICY KEY",
        .summary = "Tells what a key meets in a policy: its plan and the override that decides it,\n"
                   "each limit in words and numbers, what a request costs, and the response headers.",
        .table = table,
        .table_count = 1,
        .operands_min = 3,
        .operands_max = 3,
    };
    size_t count = 0;
    enum mete__args_result parsed = mete__args_parse(&args, argc, argv, &count);
    if (parsed != METE__ARGS_OK) {
        return parsed == METE__ARGS_HELP ? METE__EXIT_OK : METE__EXIT_USAGE;
    }
    return explain(argv[1], argv[2], argv[3], json);
}

static int run_schema(int argc, char **argv)
{
    const struct mete__args args = {
        .command = "config schema",
        .operands = "",
        .summary = "Prints every key of the configuration file: what it takes, its default, what it\n"
                   "means. It is made from the tables that read the file.",
        .operands_max = 0,
    };
    size_t count = 0;
    enum mete__args_result parsed = mete__args_parse(&args, argc, argv, &count);
    if (parsed != METE__ARGS_OK) {
        return parsed == METE__ARGS_HELP ? METE__EXIT_OK : METE__EXIT_USAGE;
    }
    mete__schema_print(stdout);
    return METE__EXIT_OK;
}

static const struct {
    const char *name;
    const char *operands;
    const char *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"check", "FILE", "say what a file would serve, or everything that is wrong with it", run_check},
    {"explain", "FILE POLICY KEY", "say what a key meets in a policy", run_explain},
    {"schema", "", "print the reference of the file", run_schema},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
    fprintf(out, "Usage: mete config COMMAND [OPTION]...\n\n"
                 "Checks and explains configuration files of 'mete serve'.\n\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %-8s%-16s %s\n", commands[i].name, commands[i].operands, commands[i].help);
    }
    fprintf(out, "\nOptions:\n  %-24s %s\n\n'mete help config COMMAND' tells more.\n", "--help", "print this and exit");
}

static int unknown(const char *name)
{
    struct mete__nearest nearest = mete__nearest_to(name, strlen(name));
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        mete__nearest_try(&nearest, commands[i].name);
    }
    if (nearest.found != NULL) {
        mete__cli_error("config", "unknown command '%s'; did you mean '%s'? (see 'mete help config')", name,
                        nearest.found);
    } else {
        mete__cli_error("config", "unknown command '%s' (see 'mete help config')", name);
    }
    return METE__EXIT_USAGE;
}

int mete__cli_config(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return METE__EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return METE__EXIT_OK;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, argv[1]) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return unknown(argv[1]);
}

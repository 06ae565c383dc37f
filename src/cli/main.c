/* SPDX-License-Identifier: Apache-2.0 */
/* The program mete: a table of subcommands, from which its help is made. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <mete/mete.h>

#include "cli/cli.h"
#include "policy/nearest.h"

struct command {
    const char *name;
    const char *help; /* one line */
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"serve", "decide for gateways, services and Redis clients", mete__cli_serve},
    {"top", "watch a running daemon: policies and top keys", mete__cli_top},
    {"take", "take units of a key from a running daemon", mete__cli_take},
    {"peek", "say what take would say, and take nothing", mete__cli_peek},
    {"limit", "explain a limit: what it lets pass, and when", mete__cli_limit},
    {"config", "check and explain configuration files", mete__cli_config},
    {"replay", "tell what a limit would have done to the requests of a log", mete__cli_replay},
    {"stress", "check decisions made by many threads at once", mete__cli_stress},
    {"bench", "measure decisions on this machine", mete__cli_bench},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static int run(int argc, char **argv);

/* What was printed may still be in a buffer, and not fit on the disk. */
int main(int argc, char **argv)
{
    int result = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        mete__cli_error(NULL, "standard output cannot be written: %s", strerror(errno));
        return METE__EXIT_INPUT;
    }
    return result;
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static void print_help(FILE *out)
{
    fprintf(out, "Usage: mete COMMAND [OPTION]...\n\n"
                 "Limits how much each caller may do: exactly, and in bounded memory.\n\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    }
    fprintf(out, "  %-10s %s\n\n'mete help COMMAND' tells more.  'mete --version' prints the version.\n", "help",
            "print this, or the help of a command");
}

static int unknown(const char *name)
{
    struct mete__nearest nearest = mete__nearest_to(name, strlen(name));
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        mete__nearest_try(&nearest, commands[i].name);
    }
    mete__nearest_try(&nearest, "--version");
    if (nearest.found != NULL) {
        mete__cli_error(NULL, "unknown command '%s'; did you mean '%s'? (see 'mete help')", name, nearest.found);
    } else {
        mete__cli_error(NULL, "unknown command '%s' (see 'mete help')", name);
    }
    return METE__EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc < 3 || strcmp(argv[2], "help") == 0) {
        print_help(stdout);
        return METE__EXIT_OK;
    }
    const struct command *command = find(argv[2]);
    if (command == NULL) {
        return unknown(argv[2]);
    }
    char option[] = "--help";
    if (argc > 3 && argv[3][0] != '-') { /* "mete help config check" */
        char *arguments[] = {argv[2], argv[3], option, NULL};
        return command->run(3, arguments);
    }
    char *arguments[] = {argv[2], option, NULL};
    return command->run(2, arguments);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return METE__EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return help(argc, argv);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("mete %s\n", mete_version());
        return METE__EXIT_OK;
    }
    const struct command *command = find(argv[1]);
    return command != NULL ? command->run(argc - 1, argv + 1) : unknown(argv[1]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all subcommands of the program share: their functions, the exit codes
 * and the one way errors are printed.
 */
#ifndef METE_CLI_CLI_H
#define METE_CLI_CLI_H

enum mete__exit {
    METE__EXIT_OK = 0,
    METE__EXIT_CHECK = 1, /* the command ran and found something wrong */
    METE__EXIT_USAGE = 2, /* the command line cannot be understood */
    METE__EXIT_INPUT = 3  /* a file, its content or the system failed */
};

/* Each takes the arguments from its own name on and returns an exit code. */
int mete__cli_serve(int argc, char **argv);
int mete__cli_replay(int argc, char **argv);
int mete__cli_bench(int argc, char **argv);
int mete__cli_stress(int argc, char **argv);
int mete__cli_limit(int argc, char **argv);
int mete__cli_take(int argc, char **argv);
int mete__cli_peek(int argc, char **argv);
int mete__cli_top(int argc, char **argv);
int mete__cli_config(int argc, char **argv);

/* Prints "mete COMMAND: SENTENCE" and a newline to standard error; "mete:
 * SENTENCE" when command is NULL. */
void mete__cli_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of one subcommand, from one table: the table is what is
 * parsed, and the help text is made from it.
 *
 * "--name VALUE" and "--name=VALUE" are the same.  Options and operands may be
 * mixed; "--" ends the options; "-" alone is an operand.  An option given twice
 * keeps the last value, except METE__ARG_TEXTS, which collects.
 */
#ifndef METE_CLI_ARGS_H
#define METE_CLI_ARGS_H

#include <stddef.h>
#include <stdint.h>

/* Most values one collecting option may be given. */
#define METE__ARG_TEXTS_MAX 64

struct mete__arg_texts {
    const char *items[METE__ARG_TEXTS_MAX];
    size_t count;
};

enum mete__arg_kind {
    METE__ARG_FLAG, /* bool *; set to true */
    METE__ARG_U64,  /* uint64_t *; min..max, both included */
    METE__ARG_TEXT, /* const char **; points into argv */
    METE__ARG_TEXTS /* struct mete__arg_texts *; points into argv */
};

struct mete__arg {
    const char *name;       /* without the dashes */
    const char *value_name; /* what the help calls the value; NULL for a flag */
    const char *help;       /* one line, or more separated by '\n' */
    enum mete__arg_kind kind;
    void *out;
    uint64_t min;
    uint64_t max;
};

struct mete__args {
    const char *command;  /* the subcommand's name */
    const char *operands; /* as the usage line shows them: "FILE..."; "" when there are none */
    const char *summary;  /* one sentence or a short paragraph */
    const char *notes;    /* printed below the options; NULL when there is nothing to add */
    const struct mete__arg *table;
    size_t table_count;
    size_t operands_min;
    size_t operands_max;
};

enum mete__args_result {
    METE__ARGS_OK,   /* go on */
    METE__ARGS_HELP, /* --help was given and is printed: exit 0 */
    METE__ARGS_BAD   /* a sentence is printed to standard error: exit METE__EXIT_USAGE */
};

/*
 * Parses argv[1..argc-1].  The operands are moved to argv[1..*operand_count],
 * in their order.  The values in the table's out pointers keep their defaults
 * when an option is absent.
 */
enum mete__args_result mete__args_parse(const struct mete__args *args, int argc, char **argv, size_t *operand_count);

/* The help text, to standard output. */
void mete__args_help(const struct mete__args *args);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The table-driven command line; args.h says how it behaves. */
#include "cli/args.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "policy/nearest.h"

/* Where the help's second column starts. */
#define HELP_COLUMN 24

static bool parse_option(const struct mete__args *args, int argc, char **argv, int *at);
static bool check_operands(const struct mete__args *args, size_t count);

enum mete__args_result mete__args_parse(const struct mete__args *args, int argc, char **argv, size_t *operand_count)
{
    size_t count = 0;
    bool options_over = false;
    for (int i = 1; i < argc; i++) {
        bool is_option = !options_over && argv[i][0] == '-' && argv[i][1] != '\0';
        if (!is_option) {
            argv[++count] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            options_over = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            mete__args_help(args);
            return METE__ARGS_HELP;
        } else if (!parse_option(args, argc, argv, &i)) {
            return METE__ARGS_BAD;
        }
    }
    *operand_count = count;
    return check_operands(args, count) ? METE__ARGS_OK : METE__ARGS_BAD;
}

static const struct mete__arg *find(const struct mete__args *args, const char *name, size_t name_len)
{
    for (size_t i = 0; i < args->table_count; i++) {
        const struct mete__arg *arg = &args->table[i];
        if (strlen(arg->name) == name_len && memcmp(arg->name, name, name_len) == 0) {
            return arg;
        }
    }
    return NULL;
}

static bool set_u64(const char *command, const struct mete__arg *arg, const char *value)
{
    struct mete__text text = mete__text_of(value, strlen(value));
    uint64_t number = 0;
    enum mete__number result = mete__text_u64(&text, &number);
    if (result == METE__NUMBER_NONE || !mete__text_is_empty(&text)) {
        mete__cli_error(command, "--%s: '%s' is not a whole number", arg->name, value);
        return false;
    }
    if (result == METE__NUMBER_TOO_LARGE || number < arg->min || number > arg->max) {
        mete__cli_error(command, "--%s: %s is outside %llu..%llu", arg->name, value, (unsigned long long)arg->min,
                        (unsigned long long)arg->max);
        return false;
    }
    *(uint64_t *)arg->out = number;
    return true;
}

static bool add_text(const char *command, const struct mete__arg *arg, const char *value)
{
    struct mete__arg_texts *texts = arg->out;
    if (texts->count == METE__ARG_TEXTS_MAX) {
        mete__cli_error(command, "--%s: given more than %d times", arg->name, METE__ARG_TEXTS_MAX);
        return false;
    }
    texts->items[texts->count++] = value;
    return true;
}

static bool set_value(const char *command, const struct mete__arg *arg, const char *value)
{
    switch (arg->kind) {
    case METE__ARG_U64:
        return set_u64(command, arg, value);
    case METE__ARG_TEXTS:
        return add_text(command, arg, value);
    case METE__ARG_TEXT:
        *(const char **)arg->out = value;
        return true;
    case METE__ARG_FLAG:
        break;
    }
    *(bool *)arg->out = true;
    return true;
}

static void tell_unknown(const struct mete__args *args, const char *option, const char *name, size_t name_len)
{
    struct mete__nearest nearest = mete__nearest_to(name, name_len);
    int option_len = (int)(name_len + (size_t)(name - option));
    for (size_t i = 0; i < args->table_count; i++) {
        mete__nearest_try(&nearest, args->table[i].name);
    }
    mete__nearest_try(&nearest, "help");
    if (nearest.found != NULL) {
        mete__cli_error(args->command, "unknown option '%.*s'; did you mean '--%s'? (see 'mete help %s')", option_len,
                        option, nearest.found, args->command);
    } else {
        mete__cli_error(args->command, "unknown option '%.*s' (see 'mete help %s')", option_len, option, args->command);
    }
}

/* Parses argv[*at], and the value after it when it has one; *at is left on the
 * last argument used. */
static bool parse_option(const struct mete__args *args, int argc, char **argv, int *at)
{
    const char *option = argv[*at];
    const char *name = option + (option[1] == '-' ? 2 : 1);
    size_t name_len = strcspn(name, "=");
    const char *value = name[name_len] == '=' ? name + name_len + 1 : NULL;
    const struct mete__arg *arg = option[1] == '-' ? find(args, name, name_len) : NULL;
    if (arg == NULL) {
        tell_unknown(args, option, name, name_len);
        return false;
    }
    if (arg->kind == METE__ARG_FLAG && value != NULL) {
        mete__cli_error(args->command, "--%s: takes no value", arg->name);
        return false;
    }
    if (arg->kind != METE__ARG_FLAG && value == NULL) {
        if (*at + 1 >= argc) {
            mete__cli_error(args->command, "--%s: needs a value (%s)", arg->name, arg->value_name);
            return false;
        }
        value = argv[++*at];
    }
    return set_value(args->command, arg, value);
}

/* "KEY" of "FILE POLICY KEY" when two were given. */
static const char *missing_operands(const struct mete__args *args, size_t given)
{
    const char *missing = args->operands;
    for (size_t i = 0; i < given && strchr(missing, ' ') != NULL; i++) {
        missing = strchr(missing, ' ') + 1;
    }
    return missing;
}

static bool check_operands(const struct mete__args *args, size_t count)
{
    if (count < args->operands_min) {
        mete__cli_error(args->command, "missing %s (see 'mete help %s')", missing_operands(args, count), args->command);
        return false;
    }
    if (count > args->operands_max) {
        mete__cli_error(args->command, "too many arguments: %zu given, at most %zu taken", count, args->operands_max);
        return false;
    }
    return true;
}

/* One option: its name and value, then its help lines in the second column. */
static void print_option(const char *name, const char *value_name, const char *help)
{
    bool has_value = value_name != NULL;
    int width = printf("  --%s%s%s", name, has_value ? " " : "", has_value ? value_name : "");
    if (width >= HELP_COLUMN) {
        printf("\n");
        width = 0;
    }
    while (help != NULL) {
        size_t line_len = strcspn(help, "\n");
        printf("%*s%.*s\n", HELP_COLUMN - width, "", (int)line_len, help);
        help = help[line_len] == '\n' ? help + line_len + 1 : NULL;
        width = 0;
    }
}

void mete__args_help(const struct mete__args *args)
{
    const char *gap = args->operands[0] != '\0' ? " " : "";
    printf("Usage: mete %s%s%s [OPTION]...\n\n%s\n\nOptions:\n", args->command, gap, args->operands, args->summary);
    for (size_t i = 0; i < args->table_count; i++) {
        print_option(args->table[i].name, args->table[i].value_name, args->table[i].help);
    }
    print_option("help", NULL, "print this and exit");
    if (args->notes != NULL) {
        printf("\n%s\n", args->notes);
    }
}

void mete__cli_error(const char *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "mete%s%s: ", command != NULL ? " " : "", command != NULL ? command : "");
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
}

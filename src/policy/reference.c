/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of the configuration file, made from the tables that read it. */
#include <inttypes.h>
#include <string.h>

#include "policy/load.h"
#include "policy/schema.h"

#define TEXT_SIZE 96u

static const struct mete__section *const sections[] = {
    &mete__section_root,   &mete__section_listen,   &mete__section_store, &mete__section_policy,
    &mete__section_limit,  &mete__section_override, &mete__section_user,  &mete__section_client_address,
    &mete__section_bounds, &mete__section_tls,      &mete__section_log,
};

/* A number as a file would have it: 64KiB, 10s. */
static void format_number(char out[TEXT_SIZE], const struct mete__field *field, uint64_t value)
{
    static const struct {
        enum mete__field_kind kind;
        uint64_t factor;
        const char *word;
    } units[] = {{METE__FIELD_BYTES, UINT64_C(1) << 30, "GiB"},
                 {METE__FIELD_BYTES, UINT64_C(1) << 20, "MiB"},
                 {METE__FIELD_BYTES, UINT64_C(1) << 10, "KiB"},
                 {METE__FIELD_SPAN, 86400000, "d"},
                 {METE__FIELD_SPAN, 3600000, "h"},
                 {METE__FIELD_SPAN, 60000, "m"},
                 {METE__FIELD_SPAN, 1000, "s"},
                 {METE__FIELD_SPAN, 1, "ms"}};
    for (size_t i = 0; i < METE__COUNT_OF(units); i++) {
        if (units[i].kind == field->kind && value != 0 && value % units[i].factor == 0) {
            snprintf(out, TEXT_SIZE, "%" PRIu64 "%s", value / units[i].factor, units[i].word);
            return;
        }
    }
    snprintf(out, TEXT_SIZE, "%" PRIu64, value);
}

static void print_range(FILE *out, const char *what, const struct mete__field *field)
{
    char least[TEXT_SIZE];
    char most[TEXT_SIZE];
    format_number(least, field, field->min);
    format_number(most, field, field->max);
    fprintf(out, "%s, %s..%s", what, least, most);
}

static void print_type(FILE *out, const struct mete__field *field)
{
    if (field->shown_type != NULL) {
        fputs(field->shown_type, out);
        return;
    }
    switch (field->kind) {
    case METE__FIELD_COUNT:
        print_range(out, "number", field);
        return;
    case METE__FIELD_BYTES:
        print_range(out, "bytes", field);
        return;
    case METE__FIELD_SPAN:
        print_range(out, "time", field);
        return;
    case METE__FIELD_SWITCH:
        fputs("`true` or `false`", out);
        return;
    case METE__FIELD_CHOICE:
        for (const struct mete__choice *choice = field->choices; choice->word != NULL; choice++) {
            fprintf(out, "%s`%s`", choice == field->choices ? "" : ", ", choice->word);
        }
        return;
    case METE__FIELD_NAME:
        fputs("name", out);
        return;
    case METE__FIELD_TEXT:
    case METE__FIELD_OTHER:
        break;
    }
    fputs("text", out);
}

static void print_default(FILE *out, const struct mete__field *field)
{
    char text[TEXT_SIZE];
    if (field->is_required) {
        fputs("required", out);
    } else if (field->shown_default != NULL) {
        fputs(field->shown_default, out);
    } else if (field->kind == METE__FIELD_SWITCH) {
        fputs(field->fallback != 0 ? "true" : "false", out);
    } else if (field->kind == METE__FIELD_CHOICE) {
        const struct mete__choice *choice = field->choices;
        while (choice->word != NULL && choice->value != field->fallback) {
            choice++;
        }
        fputs(choice->word != NULL ? choice->word : "", out);
    } else if (field->kind != METE__FIELD_OTHER) {
        format_number(text, field, field->fallback);
        fputs(text, out);
    } else {
        fputs("see there", out);
    }
}

void mete__schema_print(FILE *out)
{
    for (size_t i = 0; i < METE__COUNT_OF(sections); i++) {
        const struct mete__section *section = sections[i];
        fprintf(out, "%s### %s\n\n%s\n\n| key | value | default | meaning |\n|---|---|---|---|\n", i == 0 ? "" : "\n",
                section->path[0] != '\0' ? section->path : "the file", section->help);
        for (size_t k = 0; k < section->field_count; k++) {
            const struct mete__field *field = &section->fields[k];
            fprintf(out, "| `%s` | ", field->name);
            print_type(out, field);
            fputs(" | ", out);
            print_default(out, field);
            fprintf(out, " | %s |\n", field->help);
        }
    }
}

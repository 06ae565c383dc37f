/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stress_report.h"

#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#define LIMIT_TEXT_SIZE 256

void mete__stress_print_text(const struct mete__stress_result *result, const struct mete_limit *limit, const char *mode)
{
    char text[LIMIT_TEXT_SIZE];
    double seconds = (double)result->elapsed_ns * 1e-9;
    mete_limit_format(limit, text, sizeof(text));
    printf("limit            %s\n", text);
    printf("callers          %" PRIu64 " (%s)\n", result->callers, mode);
    printf("rounds           %" PRIu64 "\n", result->rounds);
    printf("  inconclusive   %" PRIu64 "\n", result->rounds - result->conclusive);
    printf("  conclusive     %" PRIu64 ", the longest took %.6f s\n", result->conclusive,
           (double)result->longest_ns * 1e-9);
    printf("  exactly %-6" PRIu64 " %" PRIu64 "\n", result->burst, result->exact);
    if (result->deviation_round != 0) {
        printf("first deviation  round %" PRIu64 " admitted %" PRIu64 " instead of %" PRIu64 " in %.6f s\n",
               result->deviation_round, result->deviation_admitted, result->burst, (double)result->deviation_ns * 1e-9);
    } else {
        printf("first deviation  none\n");
    }
    printf("decisions        %" PRIu64 " in %.2f s, %.0f per second with the waiting between rounds\n",
           result->decisions, seconds, seconds > 0 ? (double)result->decisions / seconds : 0.0);
}

static void set_u64(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

static json_t *deviation_to_json(const struct mete__stress_result *result)
{
    if (result->deviation_round == 0) {
        return json_null();
    }
    json_t *object = json_object();
    set_u64(object, "round", result->deviation_round);
    set_u64(object, "admitted", result->deviation_admitted);
    set_u64(object, "elapsed_ns", result->deviation_ns);
    return object;
}

void mete__stress_print_json(const struct mete__stress_result *result, const struct mete_limit *limit, const char *mode,
                             bool passed)
{
    char text[LIMIT_TEXT_SIZE];
    json_t *object = json_object();
    mete_limit_format(limit, text, sizeof(text));
    json_object_set_new(object, "limit", json_string(text));
    json_object_set_new(object, "mode", json_string(mode));
    set_u64(object, "callers", result->callers);
    set_u64(object, "burst", result->burst);
    set_u64(object, "rounds", result->rounds);
    set_u64(object, "conclusive", result->conclusive);
    set_u64(object, "inconclusive", result->rounds - result->conclusive);
    set_u64(object, "exact", result->exact);
    json_object_set_new(object, "first_deviation", deviation_to_json(result));
    set_u64(object, "decisions", result->decisions);
    set_u64(object, "elapsed_ns", result->elapsed_ns);
    json_object_set_new(object, "passed", json_boolean(passed));
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
}

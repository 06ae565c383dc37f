/* SPDX-License-Identifier: Apache-2.0 */
/* `mete take` and `mete peek`: one decision of a running daemon. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/shown.h"
#include "wire/base64.h"

#define NO_COST UINT64_MAX
#define COST_MAX ((uint64_t)INT64_MAX) /* what a JSON integer of this program can say */
#define SECONDS_SIZE 32
#define NAME_COLUMNS 64

/* --- what was said ----------------------------------------------------------------- */

static uint64_t number(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

/* "1.234 s"; "never" for null. */
static const char *seconds(const json_t *ms, char out[SECONDS_SIZE])
{
    if (!json_is_integer(ms)) {
        return "never";
    }
    uint64_t value = (uint64_t)json_integer_value(ms);
    if (value % 1000 == 0) {
        snprintf(out, SECONDS_SIZE, "%" PRIu64 " s", value / 1000);
    } else {
        snprintf(out, SECONDS_SIZE, "%" PRIu64 ".%03" PRIu64 " s", value / 1000, value % 1000);
    }
    return out;
}

static void print_limit(const json_t *limit)
{
    char wait[SECONDS_SIZE], reset[SECONDS_SIZE];
    const char *name = json_string_value(json_object_get(limit, "name"));
    printf("  ");
    if (name != NULL) {
        mete__shown_print(name, strlen(name), NAME_COLUMNS);
    }
    printf(": %" PRIu64 " of %" PRIu64 " left", number(limit, "remaining"), number(limit, "limit"));
    if (json_is_false(json_object_get(limit, "allowed"))) {
        const json_t *retry = json_object_get(limit, "retry_after_ms");
        printf(json_is_null(retry) ? ", %s passes" : ", passes in %s", seconds(retry, wait));
    }
    printf(", full in %s\n", seconds(json_object_get(limit, "reset_after_ms"), reset));
}

static void print_answer(const json_t *answer, bool is_allowed)
{
    char wait[SECONDS_SIZE];
    const json_t *retry = json_object_get(answer, "retry_after_ms");
    if (json_is_true(json_object_get(answer, "failed"))) {
        printf("%s: no decision could be made\n", is_allowed ? "allowed" : "denied");
    } else if (json_is_true(json_object_get(answer, "would_deny"))) {
        printf("allowed: dry run, else denied\n");
    } else if (is_allowed) {
        printf("allowed\n");
    } else if (json_is_null(retry)) {
        printf("denied: the cost is more than the limit ever holds\n");
    } else {
        printf("denied: retry after %s\n", seconds(retry, wait));
    }
    size_t at;
    json_t *limit;
    json_array_foreach(json_object_get(answer, "limits"), at, limit)
    {
        print_limit(limit);
    }
}

/* --- what is asked ------------------------------------------------------------------- */

/* Keys are bytes; what is no UTF-8 goes in base64. */
static bool set_key(json_t *question, const char *key)
{
    json_t *text = json_string(key);
    if (text != NULL) {
        return json_object_set_new(question, "key", text) == 0;
    }
    struct mete__out encoded;
    mete__out_init(&encoded, 2 * strlen(key) + 8);
    mete__base64_write(&encoded, mete__span_of(key, strlen(key)));
    bool is_set = !encoded.is_failed &&
                  json_object_set_new(question, "key_base64", json_stringn(encoded.bytes, encoded.len)) == 0;
    mete__out_clear(&encoded);
    return is_set;
}

static json_t *make_question(const char *policy, const char *key, uint64_t cost)
{
    json_t *question = json_object();
    bool is_made = json_object_set_new(question, "policy", json_string(policy)) == 0 && set_key(question, key);
    if (is_made && cost != NO_COST) {
        is_made = json_object_set_new(question, "cost", json_integer((json_int_t)cost)) == 0;
    }
    if (!is_made) {
        json_decref(question);
        return NULL;
    }
    return question;
}

static int decide(const struct mete__client *client, const char *path, const json_t *question, bool is_json)
{
    struct mete__client_answer answer;
    int code = mete__client_ask(client, path, question, &answer);
    if (code != METE__EXIT_OK) {
        return code;
    }
    const json_t *allowed = json_object_get(answer.body, "allowed");
    if (json_is_boolean(allowed)) {
        code = json_is_true(allowed) ? METE__EXIT_OK : METE__EXIT_CHECK;
        if (is_json) {
            json_dumpf(answer.body, stdout, JSON_COMPACT);
            putchar('\n');
        } else {
            print_answer(answer.body, json_is_true(allowed));
        }
    } else {
        code = mete__client_complain(client, &answer);
    }
    json_decref(answer.body);
    return code;
}

static int run(int argc, char **argv, const char *command, const char *summary, const char *path)
{
    struct mete__client client = mete__client_default(command);
    uint64_t cost = NO_COST;
    bool is_json = false;
    const struct mete__arg table[] = {
        {"cost", "N", "units (the policy's own)", METE__ARG_U64, &cost, 0, COST_MAX},
        {"json", NULL, "print the daemon's answer", METE__ARG_FLAG, &is_json, 0, 0},
        METE__CLIENT_OPTIONS(client),
    };
    const struct mete__args args = {
        .command = command,
        .operands = "POLICY KEY",
        .summary = summary,
        .notes = "Exit status: 0 allowed, 1 denied, 2 usage (also: no such policy), 3 not reached or refused.",
        .table = table,
        .table_count = sizeof table / sizeof *table,
        .operands_min = 2,
        .operands_max = 2,
    };
    size_t operand_count;
    switch (mete__args_parse(&args, argc, argv, &operand_count)) {
    case METE__ARGS_HELP:
        return METE__EXIT_OK;
    case METE__ARGS_BAD:
        return METE__EXIT_USAGE;
    case METE__ARGS_OK:
        break;
    }
    json_t *question = make_question(argv[1], argv[2], cost);
    if (question == NULL) {
        mete__cli_error(command, "POLICY is not UTF-8, or there is no memory");
        return METE__EXIT_USAGE;
    }
    int code = decide(&client, path, question, is_json);
    json_decref(question);
    return code;
}

int mete__cli_take(int argc, char **argv)
{
    return run(argc, argv, "take", "Takes units of a key from a running daemon, and says whether they were there.",
               "/v1/take");
}

int mete__cli_peek(int argc, char **argv)
{
    return run(argc, argv, "peek", "Says what take would say, and takes nothing.", "/v1/peek");
}

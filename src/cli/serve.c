/* SPDX-License-Identifier: Apache-2.0 */
/* mete serve: the daemon. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "server/server.h"

#define WHY_SIZE 4096u

/* "127.0.0.1:6379" as the options of redis-cli. */
static void hint_resp(const char *address)
{
    const char *colon = strrchr(address, ':');
    if (strncmp(address, "unix:", 5) == 0) {
        printf("  redis-cli -s %s CL.THROTTLE user123 15 30 60\n", address + 5);
    } else {
        printf("  redis-cli -h %.*s -p %s CL.THROTTLE user123 15 30 60\n", (int)(colon - address), address, colon + 1);
    }
}

static void hint_http(const struct mete__config *config, const char *address)
{
    const char *policy = config->policy_count > 0 ? config->policies[0].name : "NAME";
    printf(
        "  for i in $(seq 30); do curl -si 'http://%s/v1/take?policy=%s&key=me' | grep -iE '^(HTTP|retry|ratelimit:)'; "
        "done\n",
        address, policy);
    printf("  http://%s/   (the dashboard, in a browser)\n", address);
}

static void hint(const struct mete__config *config, const char *resp, const char *http)
{
    puts("mete serve: try, in another terminal (Ctrl-C here ends it):");
    if (resp != NULL) {
        hint_resp(resp);
    }
    if (http != NULL) {
        hint_http(config, http);
    }
    fflush(stdout);
}

int mete__cli_serve(int argc, char **argv)
{
    struct mete__server_options options = {.threads = METE__THREADS_CONFIGURED};
    const char *store = NULL;
    bool has_test_clock = false, is_hinting = false;
    const struct mete__arg table[] = {
        {"config", "FILE", "policies, listeners, users: see 'mete config schema';\nwithout it one example policy",
         METE__ARG_TEXT, &options.config_path, 0, 0},
        {"resp", "ADDR", "where Redis clients connect (127.0.0.1:6379); port 0 takes\na free one; off for none",
         METE__ARG_TEXT, &options.resp_address, 0, 0},
        {"http", "ADDR", "where HTTP clients connect (127.0.0.1:8080)", METE__ARG_TEXT, &options.http_address, 0, 0},
        {"threads", "N", "event loops; 0, the default: one per processor", METE__ARG_U64, &options.threads, 0,
         METE__THREADS_MAX},
        {"store", "memory|FILE", "where spent units are kept; a file survives restarts", METE__ARG_TEXT, &store, 0, 0},
        {"hints", NULL, "print three commands to try", METE__ARG_FLAG, &is_hinting, 0, 0},
        {"test-clock", NULL, "for tests: time stands still until METE.CLOCK moves it", METE__ARG_FLAG, &has_test_clock,
         0, 0},
    };
    const struct mete__args args = {
        .command = "serve",
        .operands = "",
        .summary = "Decides for gateways, services and Redis clients, over RESP and HTTP.",
        .notes = "ADDR is HOST:PORT, [IPv6]:PORT, unix:PATH or fd:NAME (socket activation).\n"
                 "SIGTERM drains and ends, SIGHUP reads the configuration again.",
        .table = table,
        .table_count = sizeof table / sizeof *table,
    };
    size_t operand_count;
    char why[WHY_SIZE];
    switch (mete__args_parse(&args, argc, argv, &operand_count)) {
    case METE__ARGS_HELP:
        return METE__EXIT_OK;
    case METE__ARGS_BAD:
        return METE__EXIT_USAGE;
    case METE__ARGS_OK:
        break;
    }
    options.engine = (struct mete__engine_options){.store_path = store, .has_test_clock = has_test_clock};
    options.ready = is_hinting ? hint : NULL;
    if (mete__server_run(&options, why, sizeof why) != 0) {
        mete__cli_error("serve", "%s", why);
        return METE__EXIT_INPUT;
    }
    return METE__EXIT_OK;
}

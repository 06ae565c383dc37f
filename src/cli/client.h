/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a running daemon over HTTP: one connection per question, closed after the
 * answer.  Blocks, with bounds on time and bytes.
 */
#ifndef METE_CLI_CLIENT_H
#define METE_CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define METE__CLIENT_ADDRESS "127.0.0.1:8080"

struct mete__client {
    const char *command; /* whose errors are printed */
    const char *address; /* HOST[:PORT], [IPV6]:PORT, unix:PATH */
    const char *user;    /* "NAME:PASSWORD"; NULL: nobody in particular */
    char *why;           /* sentences go here instead of standard error, when it is not NULL */
    size_t why_size;
};

struct mete__client_answer {
    unsigned status;
    json_t *body; /* an object; owned */
};

/*
 * The answer to a request; body is JSON for a POST, or NULL for a GET.  METE__EXIT_OK; or, after a
 * sentence, METE__EXIT_USAGE (the address is none) or METE__EXIT_INPUT: the daemon cannot be reached, or what
 * answers is no daemon.
 */
int mete__client_ask(const struct mete__client *client, const char *path, const json_t *body,
                     struct mete__client_answer *out);

/* Says what a problem+json answer says; returns the exit code for it: a request that names what is
 * not there is METE__EXIT_USAGE, everything else METE__EXIT_INPUT. */
int mete__client_complain(const struct mete__client *client, const struct mete__client_answer *answer);

/* The options that all who ask have in common, for their tables. */
#define METE__CLIENT_OPTIONS(client)                                                                         \
    {"connect",                                                                                              \
     "ADDR",                                                                                                 \
     "the daemon's HTTP listener (" METE__CLIENT_ADDRESS "):\nHOST:PORT, [IPv6]:PORT or unix:PATH",          \
     METE__ARG_TEXT,                                                                                         \
     &(client).address,                                                                                      \
     0,                                                                                                      \
     0},                                                                                                     \
    {                                                                                                        \
        "user", "NAME:PASSWORD", "who asks; better in METE_USER, where ps does not show it", METE__ARG_TEXT, \
            &(client).user, 0, 0                                                                             \
    }

/* The client before its options are read: the default address, and the user of METE_USER. */
struct mete__client mete__client_default(const char *command);

#endif

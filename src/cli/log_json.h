/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One JSON object per line.  A field is named by its member name, or by a path
 * with dots ("request.remote_ip") when no member has that name as it stands.
 *
 * jansson parses the line and decodes texts.  Numbers are read from the bytes of
 * the line: a double cannot hold a time in nanoseconds.
 */
#ifndef METE_CLI_LOG_JSON_H
#define METE_CLI_LOG_JSON_H

#include <stdbool.h>

#include <jansson.h>

#include "base/text.h"
#include "cli/log_record.h"

struct mete__json_field {
    const char *name; /* NULL: not asked for */
    bool found;       /* some line had it */
    bool missed;      /* some line had not */
};

struct mete__json {
    struct mete__json_field key; /* NULL: one key for all */
    struct mete__json_field time;
    struct mete__json_field cost; /* NULL: 1 */
    json_t *row;                  /* the line read last; the record's key may point into it */
};

/* The names must outlive *json. */
void mete__json_init(struct mete__json *json, const char *key, const char *time, const char *cost);
void mete__json_clear(struct mete__json *json);

/* Reads one line, without its line end; out is written when it returns NONE. */
enum mete__reason mete__json_read(struct mete__json *json, struct mete__text line, struct mete__record *out);

/* Parses a line; NULL when it is not an object.  json_decref it. */
json_t *mete__json_parse(struct mete__text line);

#endif

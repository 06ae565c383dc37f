/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the common and the combined log format of Apache and nginx:
 *
 *   ADDRESS IDENT USER [TIME] "METHOD PATH PROTOCOL" STATUS BYTES "REFERER" "AGENT"
 *
 * A line is a request when its address, its time and the first character of its
 * request can be read.  What is cut off after that does not matter, unless the
 * key or the cost is there.
 */
#ifndef METE_CLI_LOG_CLF_H
#define METE_CLI_LOG_CLF_H

#include <stdbool.h>

#include "base/text.h"
#include "cli/log_record.h"
#include "cli/log_time.h"

/* The last field of the common format; fields after it are of the combined. */
#define METE__CLF_COMMON_LAST METE__CLF_BYTES

enum mete__clf_field {
    METE__CLF_NONE, /* as a key: one key for all; as a cost: 1 */
    METE__CLF_ADDRESS,
    METE__CLF_IDENT,
    METE__CLF_USER,
    METE__CLF_TIME,
    METE__CLF_METHOD,
    METE__CLF_PATH, /* without the query */
    METE__CLF_STATUS,
    METE__CLF_BYTES,
    METE__CLF_REFERER,
    METE__CLF_AGENT,
    METE__CLF_FIELDS
};

struct mete__clf {
    enum mete__clf_field key;
    enum mete__clf_field cost;
    /* The time read last: neighbours in a log mostly share their second. */
    char time_text[METE__CLF_TIME_LEN];
    uint64_t time_ns;
    bool time_known;
};

/* The name of a field, as options give it; NULL for METE__CLF_NONE. */
const char *mete__clf_field_name(enum mete__clf_field field);

/* Finds a field by its name; false when there is none. */
bool mete__clf_field_find(const char *name, enum mete__clf_field *out);

/* key and cost as above; the rest of *clf is reset. */
void mete__clf_init(struct mete__clf *clf, enum mete__clf_field key, enum mete__clf_field cost);

/* Reads one line, without its line end.  What it answers depends on the line
 * and the two fields alone; out is written when it returns NONE. */
enum mete__reason mete__clf_read(struct mete__clf *clf, struct mete__text line, struct mete__record *out);

/* True when the line is a request and has all fields up to the agent. */
bool mete__clf_is_combined(struct mete__text line);

#endif

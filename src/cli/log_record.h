/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every log reader makes of a line: a record, or the reason why the line
 * is not a request.
 */
#ifndef METE_CLI_LOG_RECORD_H
#define METE_CLI_LOG_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct mete__record {
    const char *key; /* in the line or in the reader: valid until the reader's next line */
    size_t key_len;
    uint64_t time_ns; /* Unix time, at most METE_TIME_MAX */
    uint64_t cost;
};

/* The table in log_record.c has the words. */
enum mete__reason {
    METE__REASON_NONE, /* the line is a request */
    METE__REASON_TOO_LONG,
    METE__REASON_ADDRESS,
    METE__REASON_NO_TIME,
    METE__REASON_BAD_TIME,
    METE__REASON_TIME_RANGE,
    METE__REASON_NO_REQUEST,
    METE__REASON_NO_KEY,
    METE__REASON_NO_COST,
    METE__REASON_BAD_COST,
    METE__REASON_JSON,
    METE__REASON_QUOTES,
    METE__REASON_OPEN_QUOTE,
    METE__REASON_NUL,
    METE__REASONS
};

/* A fixed word for programs, and a sentence for people. */
const char *mete__reason_name(enum mete__reason reason);
const char *mete__reason_text(enum mete__reason reason);

/* Reads a cost: decimal digits and nothing else, up to 2^64 - 1. */
enum mete__reason mete__cost_read(const char *bytes, size_t len, uint64_t *out);

#endif

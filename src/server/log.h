/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structured logs, one line per event to standard error, as logfmt or JSON:
 *
 *   time=2026-01-31T12:00:00.123Z level=info event="listening" protocol=resp address=127.0.0.1:6379
 *
 * A line is written by one write(2), so lines of threads do not mix.  Keys of
 * requests are never passed here unless the configuration says log_keys.
 * Any thread.
 */
#ifndef METE_SERVER_LOG_H
#define METE_SERVER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mete__log_level { METE__LOG_DEBUG, METE__LOG_INFO, METE__LOG_WARN, METE__LOG_ERROR };

struct mete__log_field {
    const char *name;
    const char *text; /* NULL: the number counts */
    size_t text_len;  /* SIZE_MAX: up to the NUL */
    uint64_t number;
};

#define METE__LOG_TEXT(name, text) ((struct mete__log_field){(name), (text), SIZE_MAX, 0})
#define METE__LOG_BYTES(name, bytes, len) ((struct mete__log_field){(name), (bytes), (len), 0})
#define METE__LOG_U64(name, value) ((struct mete__log_field){(name), NULL, 0, (value)})

/* Set before threads start, and by a reload. */
void mete__log_configure(bool is_json, enum mete__log_level least);

/* Writes to this file descriptor instead of standard error.  It stays the caller's. */
void mete__log_to(int fd);

void mete__log_fields(enum mete__log_level level, const char *event, const struct mete__log_field *fields,
                      size_t field_count);

/* METE__LOG(METE__LOG_WARN, "connection refused", METE__LOG_U64("connections", n)) */
#define METE__LOG(level, event, ...)                                                                                 \
    mete__log_fields((level), (event), (const struct mete__log_field[]){{0}, ##__VA_ARGS__} + 1,                     \
                     sizeof((const struct mete__log_field[]){{0}, ##__VA_ARGS__}) / sizeof(struct mete__log_field) - \
                         1)

/*
 * The same for what may happen thousands of times a second: at most one line per
 * second and place, with how many were left out ("suppressed=N").
 */
struct mete__log_quiet {
    uint64_t last_ms;
    uint64_t suppressed;
};
bool mete__log_may(struct mete__log_quiet *quiet, uint64_t now_ms, uint64_t *suppressed);

#endif

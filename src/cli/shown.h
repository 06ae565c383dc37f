/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from elsewhere (keys, names) for a terminal: UTF-8 without control characters as
 * it is, every other byte as \xNN, so that nothing in it can steer the terminal.
 */
#ifndef METE_CLI_SHOWN_H
#define METE_CLI_SHOWN_H

#include <stddef.h>

/* To standard output, as much as fits the columns; returns how many were used, a character being one. */
size_t mete__shown_print(const char *text, size_t len, size_t columns_max);

/* How many that would be for all of it. */
size_t mete__shown_width(const char *text, size_t len);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What `mete top` shows: the difference of two /v1/stats, and /v1/top, as lines. */
#ifndef METE_CLI_TOP_VIEW_H
#define METE_CLI_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct mete__top_view {
    const char *address;
    const json_t *before; /* /v1/stats, earlier; NULL: no rates yet */
    const json_t *now;
    const json_t *top; /* /v1/top */
    size_t columns;
    size_t policies_max; /* rows */
    size_t keys_max;     /* rows, per list */
    bool is_styled;      /* bold headings */
};

/* Prints to standard output. */
void mete__top_view_print(const struct mete__top_view *view);

#endif

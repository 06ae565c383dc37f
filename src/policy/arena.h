/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is taken piece by piece and given back at once: a configuration
 * is read once and never changed.  A budget bounds it, whatever a file says.
 */
#ifndef METE_POLICY_ARENA_H
#define METE_POLICY_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct mete__arena_block;

struct mete__arena {
    struct mete__arena_block *blocks; /* the newest first */
    size_t budget;                    /* bytes that may still be asked for */
    bool is_exhausted;                /* a piece was refused: by the budget or by the system */
};

/* Zeroed bytes, aligned for any type; NULL when there are none left. */
void *mete__arena_take(struct mete__arena *arena, size_t size);

/* count * size bytes, checked for overflow. */
void *mete__arena_take_array(struct mete__arena *arena, size_t count, size_t size);

/* A copy with a NUL behind it. */
char *mete__arena_copy(struct mete__arena *arena, const char *bytes, size_t len);

/* Gives everything back. */
void mete__arena_clear(struct mete__arena *arena);

#endif

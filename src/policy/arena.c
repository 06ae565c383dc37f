/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A small file fits one block, and a large one does not need thousands. */
#define BLOCK_SIZE ((size_t)32768)
#define ALIGNMENT _Alignof(max_align_t)

struct mete__arena_block {
    struct mete__arena_block *next;
    size_t used;
    size_t size;
    _Alignas(max_align_t) unsigned char bytes[];
};

/* A block with room for size bytes in front of the others. */
static struct mete__arena_block *add_block(struct mete__arena *arena, size_t size)
{
    size_t block_size = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    struct mete__arena_block *block = calloc(1, sizeof(*block) + block_size);
    if (block == NULL) {
        return NULL;
    }
    block->size = block_size;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *mete__arena_take(struct mete__arena *arena, size_t size)
{
    if (size > arena->budget || size > SIZE_MAX / 2) {
        arena->is_exhausted = true;
        return NULL;
    }
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct mete__arena_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < rounded) {
        block = add_block(arena, rounded);
    }
    if (block == NULL) {
        arena->is_exhausted = true;
        return NULL;
    }
    void *taken = block->bytes + block->used;
    block->used += rounded;
    arena->budget -= rounded < arena->budget ? rounded : arena->budget;
    return taken;
}

void *mete__arena_take_array(struct mete__arena *arena, size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        arena->is_exhausted = true;
        return NULL;
    }
    return mete__arena_take(arena, bytes);
}

char *mete__arena_copy(struct mete__arena *arena, const char *bytes, size_t len)
{
    char *copy = mete__arena_take(arena, len + 1);
    if (copy != NULL && len > 0) {
        memcpy(copy, bytes, len);
    }
    return copy;
}

void mete__arena_clear(struct mete__arena *arena)
{
    while (arena->blocks != NULL) {
        struct mete__arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML text as a tree of nodes, each with its place.
 *
 * What configurations do not need is refused: anchors and aliases (a small file
 * could stand for a huge tree), tags, and more than one document.  Depth and the
 * number of nodes are bounded, and nothing here recurses.
 */
#ifndef METE_POLICY_NODE_H
#define METE_POLICY_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include <mete/mete.h>

#include "policy/arena.h"
#include "policy/fault.h"

#define METE__DEPTH_MAX 16u     /* the deepest key of the schema is at 7 */
#define METE__NODES_MAX 200000u /* a file of the largest size has room for more only when it is mostly punctuation */

enum mete__node_kind { METE__NODE_TEXT, METE__NODE_LIST, METE__NODE_MAP };

struct mete__node {
    enum mete__node_kind kind;
    bool is_plain; /* text without quotes: numbers and words are only meant then */
    struct mete__place place;
    const char *text; /* NUL-terminated, and may hold no other NUL */
    size_t len;
    size_t count;             /* items of a list, keys of a map */
    struct mete__node *first; /* of a map: key, value, key, value ... */
    struct mete__node *last;
    struct mete__node *next; /* in the list or map it is part of */
};

/* The root; NULL when there are faults, or no memory (the arena says so). */
struct mete__node *mete__node_parse(const char *text, size_t len, struct mete__arena *arena,
                                    struct mete__faults *faults);

/* "a text", "a list", "a mapping": what was found instead. */
const char *mete__node_kind_words(const struct mete__node *node);

bool mete__node_is(const struct mete__node *node, const char *word);

#endif

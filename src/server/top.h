/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keys are allowed and denied most: a sketch of bounded size per loop, merged
 * when somebody asks.  Written by its loop; read by others under a lock that the
 * writer only tries (an update that finds it taken is dropped and counted).
 *
 * Counts are estimates: at most too high by the stated error, never too low, of
 * the updates that were made.  Heavy traffic is sampled (weights say so).
 */
#ifndef METE_SERVER_TOP_H
#define METE_SERVER_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METE__TOP_KEY_MAX 64u /* bytes of a key that are kept; longer keys are cut, and marked */

struct mete__top_sketch; /* of top.c */

struct mete__top {
    struct mete__top_sketch *sketch;
    uint32_t skip; /* requests left to skip before the next sample */
};

bool mete__top_init(struct mete__top *top);
void mete__top_clear(struct mete__top *top);

/* policy_place: as in metrics.h; METE__TOP_OWN for limits that requests bring. */
#define METE__TOP_OWN UINT32_MAX
void mete__top_add(struct mete__top *top, uint32_t policy_place, const void *key, size_t key_len, bool allowed,
                   uint64_t weight);

struct mete__top_entry {
    uint32_t policy_place;
    unsigned char key[METE__TOP_KEY_MAX];
    size_t key_len; /* as asked, may be above METE__TOP_KEY_MAX: then only the first bytes are here */
    uint64_t count;
    uint64_t error; /* count is at most this much too high */
};

/* The most frequent ones of all sketches, allowed or denied, in falling order; returns how many (at most max). */
size_t mete__top_merge(struct mete__top *const *tops, size_t top_count, bool allowed, struct mete__top_entry *out,
                       size_t max);

#endif

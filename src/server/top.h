/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keys are allowed and denied most, lately: a sketch of bounded size per loop,
 * merged when somebody asks.  Written by its loop; read by others under a lock that
 * the writer only tries (an update that finds it taken is dropped and counted).
 *
 * "Lately" is the current window and the one before it: one to two times
 * METE__TOP_WINDOW_MS, if the loop calls mete__top_turn.
 *
 * Counts are estimates: at most too high by the stated error, never too low, of
 * the updates that were made.  Heavy traffic is sampled (weights say so): a key of n requests
 * sampled one in w is then off by about sqrt(w * n) as well, either way.
 */
#ifndef METE_SERVER_TOP_H
#define METE_SERVER_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METE__TOP_KEY_MAX 64u /* bytes of a key that are kept; longer keys are cut, and marked */
#define METE__TOP_WINDOW_MS 60000u

struct mete__top_sketch; /* of top.c */

struct mete__top {
    struct mete__top_sketch *sketch;
    uint32_t skip;       /* requests left to skip before the next sample */
    uint32_t weight;     /* how many requests the next sample stands for */
    uint64_t random;     /* state of mete__top_draw; never 0 */
    uint64_t rotated_ms; /* the start of the current window; 0 before the first turn */
};

bool mete__top_init(struct mete__top *top);
void mete__top_clear(struct mete__top *top);

/* policy_place: as in metrics.h; METE__TOP_OWN for limits that requests bring. */
#define METE__TOP_OWN UINT32_MAX
void mete__top_add(struct mete__top *top, uint32_t policy_place, const void *key, size_t key_len, bool allowed,
                   uint64_t weight);

/* Once per turn of the loop; now_ms is any clock that does not go back (uv_now). */
void mete__top_rotate(struct mete__top *top, uint64_t now_ms);
static inline void mete__top_turn(struct mete__top *top, uint64_t now_ms)
{
    if (__builtin_expect(now_ms - top->rotated_ms >= METE__TOP_WINDOW_MS, 0)) {
        mete__top_rotate(top, now_ms);
    }
}

/* How many requests of a batch this large one sample stands for: what is added costs about
 * 13 ns and several lines of cache, so large batches (they are large when there is
 * much to do) pay for one in 16. */
#define METE__TOP_WEIGHT_MAX 16u
static inline uint32_t mete__top_weight(size_t batch_len)
{
    size_t weight = batch_len / 4;
    return weight < 1 ? 1 : weight < METE__TOP_WEIGHT_MAX ? (uint32_t)weight : METE__TOP_WEIGHT_MAX;
}

/* The next sample: weight - 1 requests are skipped on average, and a random number of them (0 to
 * 2 * weight - 2), so that no pattern in the traffic can hide between the samples. */
static inline void mete__top_draw(struct mete__top *top, uint32_t weight)
{
    top->weight = weight;
    if (weight == 1) {
        top->skip = 0;
        return;
    }
    top->random ^= top->random << 13; /* xorshift64: G. Marsaglia, "Xorshift RNGs", 2003 */
    top->random ^= top->random >> 7;
    top->random ^= top->random << 17;
    top->skip = (uint32_t)(((top->random >> 32) * (2 * (uint64_t)weight - 1)) >> 32);
}

/* A request was decided, one of batch_len in its batch: counted, or skipped. */
static inline void mete__top_note(struct mete__top *top, size_t batch_len, uint32_t policy_place, const void *key,
                                  size_t key_len, bool allowed)
{
    if (top->skip > 0) {
        top->skip--;
        return;
    }
    mete__top_add(top, policy_place, key, key_len, allowed, top->weight);
    mete__top_draw(top, mete__top_weight(batch_len));
}

/* Updates that were dropped because the sketch was being read.  Any thread. */
uint64_t mete__top_dropped(const struct mete__top *top);

struct mete__top_entry {
    uint32_t policy_place;
    unsigned char key[METE__TOP_KEY_MAX];
    size_t key_len; /* as asked, may be above METE__TOP_KEY_MAX: then only the first bytes are here */
    uint64_t count;
    uint64_t error; /* count is at most this much too high */
};

/* The most frequent ones of all sketches, allowed or denied, in falling order; returns how many (at most max).
 * Allocates; without memory there are none.  Any thread. */
size_t mete__top_merge(struct mete__top *const *tops, size_t top_count, bool allowed, struct mete__top_entry *out,
                       size_t max);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests written out before the run, one after the other, all of one length: to
 * send n of them is to send n * request_len bytes from where the ring stands.
 *
 * There is one request for each key, in a random order, so after one round
 * every key was used exactly once.
 */
#ifndef METE_BENCH_LOAD_RING_H
#define METE_BENCH_LOAD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/load/scan.h"

#define LOAD_KEYS_MAX 100000000u
#define LOAD_TEMPLATE_MAX 4096u /* bytes of one request */
#define LOAD_RING_BYTES_MAX (UINT64_C(8) << 30)

struct load_ring {
    char *bytes; /* count requests, and the first `slice_max` of them again behind */
    size_t request_len;
    size_t count;
    size_t slice_max;
    size_t next;
};

/*
 * LOAD_RESP: the template's words are a command's arguments.  LOAD_HTTP: the
 * template is a request target.  Each %k in it is the number of the key, always
 * with as many digits as the largest.  At most slice_max requests are taken at
 * once.  False with a sentence when it cannot be.
 */
bool load_ring_init(struct load_ring *ring, enum load_protocol protocol, const char *template, size_t keys,
                    size_t slice_max, uint64_t seed, char *why, size_t why_size);
void load_ring_clear(struct load_ring *ring);

/* The next n requests: n * request_len bytes that stay as they are. */
static inline const char *load_ring_take(struct load_ring *ring, size_t n)
{
    const char *at = ring->bytes + ring->next * ring->request_len;
    ring->next += n;
    if (ring->next >= ring->count) {
        ring->next %= ring->count;
    }
    return at;
}

/* A number from a state that it moves on (splitmix64). */
uint64_t load_random(uint64_t *state);

#endif

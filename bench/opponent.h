/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a competent C programmer writes in an afternoon: the limiter that
 * `mete bench` compares with.  64 mutexes, each over its own chained hash
 * table; a malloc'd node per key with the key in it; a token bucket in doubles.
 *
 * It is not made slow on purpose.  It has mete's clock and mete's hash, tables
 * sized for the keys beforehand (no chain is long, nothing is ever resized),
 * no allocation for a key it knows, and it reads the clock outside the lock.
 * What it lacks is what mete adds: exact time, a memory bound, and state that
 * other processes can share.
 */
#ifndef METE_BENCH_OPPONENT_H
#define METE_BENCH_OPPONENT_H

#include <mete/mete.h>

struct opponent;

/*
 * rate_per_s units a second, at most burst at one instant, tables for `keys`
 * keys.  Reads the time of clock_store, which must outlive it.  NULL when there
 * is no memory.
 */
struct opponent *opponent_create(size_t keys, double rate_per_s, double burst, const mete_store *clock_store);

/* One unit, now.  False when denied, and when there is no memory for a new key.
 * Any thread. */
bool opponent_allow(struct opponent *opponent, const void *key, size_t key_len);

/* Frees the tables and all nodes.  NULL is fine. */
void opponent_destroy(struct opponent *opponent);

#endif

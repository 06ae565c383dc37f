/* SPDX-License-Identifier: Apache-2.0 */
#include "limiter/log_ring.h"

#define FIELD ((UINT64_C(1) << 20) - 1)

struct mete__ring_state mete__ring_unpack(struct mete__pair control)
{
    return (struct mete__ring_state){.gen = control.lo >> 60,
                                     .first = (control.lo >> 40) & FIELD,
                                     .count = (control.lo >> 20) & FIELD,
                                     .pending = control.lo & FIELD,
                                     .last_ns = control.hi >> 2,
                                     .booked = (control.hi >> 1) & 1};
}

struct mete__pair mete__ring_pack(const struct mete__ring_state *state)
{
    return (struct mete__pair){.lo = ((state->gen & METE__GEN_MASK) << 60) | (state->first << 40) |
                                     (state->count << 20) | state->pending,
                               .hi = (state->last_ns << 2) | (uint64_t)state->booked << 1};
}

static uint64_t place(const struct mete__ring *ring, const struct mete__ring_state *state, uint64_t i)
{
    uint64_t at = state->first + i;
    return at >= ring->units ? at - ring->units : at;
}

uint64_t mete__ring_time(const struct mete__ring *ring, const struct mete__ring_state *state, uint64_t i)
{
    if (i >= state->count - state->pending) {
        return state->last_ns;
    }
    return mete__load_u64_acquire(&ring->times[place(ring, state, i)]);
}

uint64_t mete__ring_over(const struct mete__ring *ring, const struct mete__ring_state *state, uint64_t drop_before_ns)
{
    uint64_t low = 0;
    uint64_t high = state->count;
    if (state->count == 0 || mete__ring_time(ring, state, 0) >= drop_before_ns) {
        return 0;
    }
    while (low < high) { /* times never fall from one unit to the next */
        uint64_t middle = low + (high - low) / 2;
        if (mete__ring_time(ring, state, middle) < drop_before_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void mete__ring_raise(const struct mete__ring *ring, uint64_t at, uint64_t now_ns)
{
    mete__max_u64_acq_rel(&ring->times[at], now_ns);
}

void mete__ring_help(const struct mete__ring *ring, const struct mete__ring_state *state)
{
    for (uint64_t i = state->count - state->pending; i < state->count; i++) {
        mete__ring_raise(ring, place(ring, state, i), state->last_ns);
    }
}

bool mete__ring_state_is_valid(const struct mete__ring *ring, const struct mete__ring_state *state)
{
    return state->first < ring->units && state->count <= ring->units && state->pending <= state->count;
}

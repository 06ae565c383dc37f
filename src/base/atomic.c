/* SPDX-License-Identifier: Apache-2.0 */
#include "base/atomic.h"

#if defined(METE__PAIR_X86)

bool mete__pair_loads_are_atomic;

__attribute__((constructor)) static void find_out_about_loads(void)
{
    __builtin_cpu_init();
    mete__pair_loads_are_atomic = __builtin_cpu_supports("avx") != 0;
}

#elif defined(METE__PAIR_BY_LOCK)

/* One spin lock per group of addresses; held for a few instructions. */
#define LOCKS 64u

static struct {
    _Alignas(64) char is_held;
} locks[LOCKS];

static unsigned lock_of(const struct mete__pair *address)
{
    unsigned which = (unsigned)(((uintptr_t)address >> 6) % LOCKS);
    while (__atomic_test_and_set(&locks[which].is_held, __ATOMIC_SEQ_CST)) {
        mete__pause();
    }
    return which;
}

bool mete__pair_cas_full(struct mete__pair *address, struct mete__pair *expected, struct mete__pair desired)
{
    unsigned which = lock_of(address);
    bool swapped = mete__pair_is_same(*address, *expected);
    if (swapped) {
        /* Readers of one half alone take no lock. */
        mete__store_u64_relaxed(&address->lo, desired.lo);
        mete__store_u64_relaxed(&address->hi, desired.hi);
    } else {
        *expected = *address;
    }
    __atomic_clear(&locks[which].is_held, __ATOMIC_SEQ_CST);
    return swapped;
}

struct mete__pair mete__pair_load_acquire(const struct mete__pair *address)
{
    unsigned which = lock_of(address);
    struct mete__pair value = *address;
    __atomic_clear(&locks[which].is_held, __ATOMIC_SEQ_CST);
    return value;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only way to memory that threads or processes share.  Every name says the
 * order.  A pair is 16 bytes that are read and swapped as one.
 *
 *   x86-64    lock cmpxchg16b; loads by movdqa, which is atomic on every
 *             processor with AVX (Intel SDM vol. 3A, 9.1.1; AMD APM vol. 2,
 *             7.3.2), else by cmpxchg16b
 *   sanitizer the compiler's 16-byte atomics, which it watches
 *   others    the compiler's 16-byte atomics, or METE_PAIR_LOCKED
 *
 * METE_PAIR_LOCKED: no 16-byte swap; pairs are guarded by spin locks of this
 * process (atomic.c).  Enough for private memory, not for shared files.
 *
 * METE_INTERLEAVE: each access first calls mete__interleave(), so that a test
 * can run every interleaving of small cases on one thread.
 *
 * A pair swap is a full barrier everywhere, and pair loads take part in its
 * total order (Dekker's pattern in table/claim.c needs it).
 */
#ifndef METE_BASE_ATOMIC_H
#define METE_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/inline.h"

struct mete__pair {
    _Alignas(16) uint64_t lo;
    uint64_t hi;
};

_Static_assert(sizeof(struct mete__pair) == 16, "a pair is 16 bytes");

#ifdef METE_INTERLEAVE
void mete__interleave(const void *address);
#define METE__POINT(address) mete__interleave(address)
#else
#define METE__POINT(address) ((void)0)
#endif

#if defined(METE_INTERLEAVE)
#define METE__PAIR_PLAIN 1
#elif defined(METE_PAIR_LOCKED)
#define METE__PAIR_BY_LOCK 1
#elif defined(__SANITIZE_THREAD__)
#define METE__PAIR_BUILTIN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define METE__PAIR_BUILTIN 1
#endif
#endif
#if !defined(METE__PAIR_PLAIN) && !defined(METE__PAIR_BY_LOCK) && !defined(METE__PAIR_BUILTIN)
#if defined(__x86_64__)
#define METE__PAIR_X86 1
#elif defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
#define METE__PAIR_BUILTIN 1
#else
#define METE__PAIR_BY_LOCK 1
#endif
#endif

/* False when pairs are only atomic within this process.  (The thread sanitizer
 * guards them by locks of its own, so in its builds processes must not share a
 * file; files of one process are let through, for the tests.) */
#ifdef METE__PAIR_BY_LOCK
#define METE__PAIR_IS_SHARED false
#else
#define METE__PAIR_IS_SHARED true
#endif

/* --- 64 bits -------------------------------------------------------------- */

static inline uint64_t mete__load_u64_relaxed(const uint64_t *address)
{
    METE__POINT(address);
    return __atomic_load_n(address, __ATOMIC_RELAXED);
}

static inline uint64_t mete__load_u64_acquire(const uint64_t *address)
{
    METE__POINT(address);
    return __atomic_load_n(address, __ATOMIC_ACQUIRE);
}

static inline void mete__store_u64_relaxed(uint64_t *address, uint64_t value)
{
    METE__POINT(address);
    __atomic_store_n(address, value, __ATOMIC_RELAXED);
}

static inline void mete__store_u64_release(uint64_t *address, uint64_t value)
{
    METE__POINT(address);
    __atomic_store_n(address, value, __ATOMIC_RELEASE);
}

static inline uint64_t mete__add_u64_relaxed(uint64_t *address, uint64_t value)
{
    METE__POINT(address);
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

static inline bool mete__cas_u64_acq_rel(uint64_t *address, uint64_t *expected, uint64_t desired)
{
    METE__POINT(address);
    return __atomic_compare_exchange_n(address, expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Raises *address to value if it is lower. */
static inline void mete__max_u64_acq_rel(uint64_t *address, uint64_t value)
{
    uint64_t seen = mete__load_u64_acquire(address);
    while (seen < value && !mete__cas_u64_acq_rel(address, &seen, value)) {
    }
}

/* Macros, so that pointers keep their types. */
#define mete__load_pointer_acquire(address) (METE__POINT(address), __atomic_load_n(address, __ATOMIC_ACQUIRE))
#define mete__store_pointer_release(address, value) \
    (METE__POINT(address), __atomic_store_n(address, value, __ATOMIC_RELEASE))

/* --- pairs ---------------------------------------------------------------- */

static inline bool mete__pair_is_same(struct mete__pair a, struct mete__pair b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

#if defined(METE__PAIR_X86)

METE_HIDDEN extern bool mete__pair_loads_are_atomic; /* set before main by atomic.c: AVX */

METE_INLINE bool mete__pair_cas_full(struct mete__pair *address, struct mete__pair *expected, struct mete__pair desired)
{
    bool swapped;
    __asm__ __volatile__("lock cmpxchg16b %1"
                         : "=@ccz"(swapped), "+m"(*address), "+a"(expected->lo), "+d"(expected->hi)
                         : "b"(desired.lo), "c"(desired.hi)
                         : "memory");
    return swapped;
}

METE_INLINE struct mete__pair mete__pair_load_acquire(const struct mete__pair *address)
{
    struct mete__pair value = {0, 0};
    if (__builtin_expect(mete__pair_loads_are_atomic, 1)) {
        typedef long long vector __attribute__((vector_size(16)));
        vector both;
        __asm__ __volatile__("movdqa %1, %0" : "=x"(both) : "m"(*address) : "memory");
        value.lo = (uint64_t)both[0];
        value.hi = (uint64_t)both[1];
        return value;
    }
    union {
        const struct mete__pair *in;
        struct mete__pair *out;
    } cast = {.in = address}; /* swaps 0 for 0, or fails: nothing changes */
    mete__pair_cas_full(cast.out, &value, value);
    return value;
}

#elif defined(METE__PAIR_BUILTIN)

static inline unsigned __int128 mete__pair_pack(struct mete__pair pair)
{
    return ((unsigned __int128)pair.hi << 64) | pair.lo;
}

static inline struct mete__pair mete__pair_unpack(unsigned __int128 packed)
{
    return (struct mete__pair){(uint64_t)packed, (uint64_t)(packed >> 64)};
}

METE_INLINE bool mete__pair_cas_full(struct mete__pair *address, struct mete__pair *expected, struct mete__pair desired)
{
    unsigned __int128 seen = mete__pair_pack(*expected);
    bool swapped = __atomic_compare_exchange_n((unsigned __int128 *)(void *)address, &seen, mete__pair_pack(desired),
                                               false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    *expected = mete__pair_unpack(seen);
    return swapped;
}

METE_INLINE struct mete__pair mete__pair_load_acquire(const struct mete__pair *address)
{
    return mete__pair_unpack(__atomic_load_n((const unsigned __int128 *)(const void *)address, __ATOMIC_SEQ_CST));
}

#elif defined(METE__PAIR_PLAIN)

METE_INLINE bool mete__pair_cas_full(struct mete__pair *address, struct mete__pair *expected, struct mete__pair desired)
{
    METE__POINT(address);
    if (!mete__pair_is_same(*address, *expected)) {
        *expected = *address;
        return false;
    }
    *address = desired;
    return true;
}

METE_INLINE struct mete__pair mete__pair_load_acquire(const struct mete__pair *address)
{
    METE__POINT(address);
    return *address;
}

#else

bool mete__pair_cas_full(struct mete__pair *address, struct mete__pair *expected, struct mete__pair desired);
struct mete__pair mete__pair_load_acquire(const struct mete__pair *address);

#endif

static inline void mete__pause(void)
{
#if defined(METE_INTERLEAVE)
    mete__interleave((const void *)0); /* lets another go first */
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif

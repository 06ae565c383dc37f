/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks.  CLOCK_MONOTONIC is the time of the library; reading it takes
 * about 20 ns, which is as much as a whole decision.  Where the kernel itself
 * derives CLOCK_MONOTONIC from the processor's counter (TSC), the same time can
 * be had from one rdtsc, a multiplication and an addition.
 *
 * Each thread keeps an anchor: a moment known both in ticks and in nanoseconds.
 * A reading is anchor.ns + (ticks since the anchor) * mult / 2^32.  After half a
 * millisecond the thread takes a new anchor, so no error can add up.
 *
 * A reading lies within 1 us of CLOCK_MONOTONIC, by this account in ns:
 *
 *   200  the anchor: ticks and time are read at most 400 ns apart, and the
 *        middle is taken; a wider pair (the thread was interrupted in between)
 *        is tried again, and never becomes an anchor
 *    20  mult: measured over 10 ms or more, both ends together known to 40 ppm of
 *        that; 40 ppm of half a millisecond
 *   500  the kernel's rate: time servers may change it after mult was measured.
 *        They steer by at most 500 ppm either way, so by 1000 ppm of half a
 *        millisecond
 *     2  rounding of the middle and of the product
 *
 * 722 in all; the rest is reserve for counters of different processors that
 * are not quite in step.  A rate that changed by more than that (an
 * administrator may order it) is noticed at the next anchor: mult is revoked, and
 * all threads read the system's clock until it is measured anew.  Until then
 * the error grows by the excess for half a millisecond at most.
 *
 * A counter that jumps (suspend, a virtual machine that was moved) makes the
 * anchor look too old, and a new one is taken.  A child after a fork keeps its
 * parent's anchor, which is as good there.
 *
 * Within a thread time never steps back: a reading before the last one is
 * replaced by the last one, and counted.  Two threads may disagree by the errors
 * of both; and as rdtsc waits for nothing, a reading may be older than a value
 * loaded just before it by as long as that load took.
 */
#ifndef METE_BASE_CLOCK_H
#define METE_BASE_CLOCK_H

#include <mete/mete.h>

/* METE_INTERLEAVE builds replay thread schedules: they must not depend on ticks. */
#if defined(__x86_64__) && defined(__linux__) && !(defined(METE_INTERLEAVE) && METE_INTERLEAVE)
#define METE__CLOCK_HAS_TSC 1
#else
#define METE__CLOCK_HAS_TSC 0
#endif

/* CLOCK_MONOTONIC, from the system. */
uint64_t mete__monotonic_ns(void);

/*
 * CLOCK_MONOTONIC as of the kernel's last tick: 3 ns, and unlike rdtsc it does
 * not wait for the work before it.  Never ahead of CLOCK_MONOTONIC, and behind
 * it by one tick (1 to 10 ms); METE__TICK_LATE_MAX_NS is ten of the longest, for
 * ticks that come late.  Later still, as in a virtual machine that was paused,
 * is like a thread that was stopped right after it read the clock.
 */
#define METE__TICK_LATE_MAX_NS UINT64_C(100000000)
uint64_t mete__tick_ns(void);

/* CLOCK_REALTIME: may step in either direction. */
uint64_t mete__wall_ns(void);

/* True where the kernel's own clock source is the TSC and the processor says
 * that it runs at one rate in all states.  Found out once. */
bool mete__tsc_is_trusted(void);

/* How often a reading would have gone back and was held, over all threads. */
uint64_t mete__clock_steps(void);

#if METE__CLOCK_HAS_TSC

#define METE__CLOCK_SHIFT 32

/* The longest that readings go without a look at CLOCK_MONOTONIC. */
#define METE__CLOCK_ANCHOR_MAX_NS UINT64_C(500000)

/* Special values of mult. */
#define METE__CLOCK_UNKNOWN 0 /* not measured yet */
#define METE__CLOCK_REVOKED 1 /* was found wrong; only spans that begin later count */

/* One per process. */
struct mete__clock_calibration {
    uint64_t mult; /* ns per tick * 2^32; one word, read and written relaxed: it carries no other data */
};

/* One per thread; all zero before the first reading. */
struct mete__clock_anchor {
    uint64_t tsc;       /* this moment in ticks ... */
    uint64_t ns;        /* ... and on CLOCK_MONOTONIC */
    uint64_t mult;      /* the process's, when the anchor was taken */
    uint64_t ticks_max; /* age at which the anchor is too old; 0 when there is none */
    uint64_t last;      /* the latest reading given out, ns */
};

extern struct mete__clock_calibration mete__clock_calibration;
extern _Thread_local struct mete__clock_anchor mete__clock_anchor __attribute__((tls_model("initial-exec")));

/* The rare cases: no anchor, too old an anchor, or a reading before the last
 * one.  ticks is the anchor's age. */
uint64_t mete__clock_settle(uint64_t ticks) __attribute__((noinline, cold));

/* CLOCK_MONOTONIC's time, read through the TSC where that is trusted. */
static inline uint64_t mete__tsc_monotonic_ns(void)
{
    struct mete__clock_anchor *anchor = &mete__clock_anchor;
    /* A counter that went back is an age of nearly 2^64. */
    uint64_t ticks = __builtin_ia32_rdtsc() - anchor->tsc;
    /* Below ticks_max the product is below 2^51. */
    uint64_t ns = anchor->ns + ((ticks * anchor->mult) >> METE__CLOCK_SHIFT);
    if (__builtin_expect((ticks >= anchor->ticks_max) | (ns < anchor->last), 0)) {
        return mete__clock_settle(ticks);
    }
    anchor->last = ns;
    return ns;
}

#else

static inline uint64_t mete__tsc_monotonic_ns(void)
{
    return mete__monotonic_ns();
}

#endif

/* A thread should stay with one source: between the two, time may step back by the error. */
static inline uint64_t mete__clock_read(enum mete_clock_source source)
{
    return source == METE_CLOCK_SYSTEM ? mete__monotonic_ns() : mete__tsc_monotonic_ns();
}

#endif

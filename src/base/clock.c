/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow half of the clock: anchors, and the measuring of mult.
 *
 * mult is measured over time that passes anyway.  The first span begins with the
 * first reading of the process; later every thread measures its own spans and
 * publishes what it finds, so that mult follows the kernel's rate.  No lock is
 * needed: the first span's start never changes, later starts belong to
 * threads, and what is shared is one word that any thread may replace by an
 * equally good one.  So a fork at any moment leaves nothing held.
 */
#include "base/clock.h"

#include "base/assert.h"

#include <time.h>

static uint64_t clock_ns(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    METE_ASSERT(failed == 0);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t mete__monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t mete__tick_ns(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
    return clock_ns(CLOCK_MONOTONIC_COARSE);
#else
    return clock_ns(CLOCK_MONOTONIC);
#endif
}

uint64_t mete__wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec < 0) { /* before 1970: somebody's mistake */
        return 0;
    }
    return clock_ns(CLOCK_REALTIME);
}

#if METE__CLOCK_HAS_TSC

#include "base/arith.h"
#include "base/atomic.h"

#include <cpuid.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAIR_TRIES 4                      /* after that the next reading tries on */
#define PAIR_WIDTH_MAX_NS 400             /* see the account in clock.h */
#define PAIR_WIDTH_MAX_TICKS 1024         /* 400 ns at 2.5 GHz */
#define SPAN_FIRST_NS UINT64_C(10000000)  /* while mult is not known */
#define SPAN_NEXT_NS UINT64_C(100000000)  /* afterwards: less noise, 10 stores a second and thread */
#define SPAN_MAX_NS UINT64_C(1000000000)  /* a longer one would tell the rate of the past */
#define SPAN_PER_WIDTH 12500              /* 40 ppm for half of both widths */
#define SLEEP_NOISE_NS UINT64_C(10000000) /* two clocks read one after the other; a suspend takes longer */
#define MULT_MIN (UINT64_C(1) << 27)      /* 32 GHz */
#define MULT_MAX (UINT64_C(1) << 36)      /* 62.5 MHz */

/* A moment in ticks and in ns: the middle of `width` ticks. */
struct pair {
    uint64_t tsc;
    uint64_t ns;
    uint64_t width;
};

/* Where a measurement of mult begins. */
struct span {
    struct pair start;
    uint64_t asleep_ns; /* time suspended since boot, when it began */
    bool begun;
};

struct mete__clock_calibration mete__clock_calibration;
_Thread_local struct mete__clock_anchor mete__clock_anchor __attribute__((tls_model("initial-exec")));

static _Thread_local struct span thread_span __attribute__((tls_model("initial-exec")));

static pthread_once_t process_once = PTHREAD_ONCE_INIT;
static bool process_trusts_tsc; /* this and process_span are written once, under process_once */
static struct span process_span;

static uint64_t clock_steps; /* relaxed: a count, nothing hangs on it */

/* The lfence keeps both reads of the counter outside of the system's own read. */
static uint64_t rdtsc_ordered(void)
{
    __builtin_ia32_lfence();
    uint64_t tsc = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return tsc;
}

/* The tightest of a few tries; stops at the first that is at most width_max. */
static struct pair pair_take(uint64_t width_max)
{
    struct pair best = {.width = UINT64_MAX};
    for (int i = 0; i < PAIR_TRIES && best.width > width_max; i++) {
        uint64_t before = rdtsc_ordered();
        uint64_t ns = mete__monotonic_ns();
        uint64_t width = rdtsc_ordered() - before;
        if (width < best.width) {
            best = (struct pair){before + width / 2, ns, width};
        }
    }
    return best;
}

/* CLOCK_BOOTTIME goes on during a suspend, CLOCK_MONOTONIC stands still, and
 * the TSC does either: a span with a suspend in it tells nothing. */
static uint64_t asleep_ns(void)
{
    uint64_t monotonic = mete__monotonic_ns();
    return clock_ns(CLOCK_BOOTTIME) - monotonic;
}

static void span_begin(struct span *span, const struct pair *start)
{
    *span = (struct span){*start, asleep_ns(), true};
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* mult over the span up to end, or METE__CLOCK_UNKNOWN when it cannot tell. */
static uint64_t span_mult(const struct span *span, const struct pair *end)
{
    uint64_t ticks = end->tsc - span->start.tsc;
    uint64_t ns = end->ns - span->start.ns;
    if (!span->begun || end->tsc <= span->start.tsc || ns < SPAN_FIRST_NS ||
        ticks / SPAN_PER_WIDTH < span->start.width + end->width) {
        return METE__CLOCK_UNKNOWN;
    }
    if (distance(asleep_ns(), span->asleep_ns) > SLEEP_NOISE_NS) {
        return METE__CLOCK_UNKNOWN;
    }
    mete__u128 mult = ((mete__u128)ns << METE__CLOCK_SHIFT) / ticks;
    return mult >= MULT_MIN && mult <= MULT_MAX ? (uint64_t)mult : METE__CLOCK_UNKNOWN;
}

static bool kernel_uses_tsc(void)
{
    char name[8] = "";
    int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t len = read(file, name, sizeof name - 1);
    close(file);
    return len == 4 && strcmp(name, "tsc\n") == 0;
}

/* CPUID 80000007H: EDX bit 8, "invariant TSC": what Linux calls constant_tsc and
 * nonstop_tsc.  A process may be forbidden to read the counter: prctl(2). */
static bool processor_offers_tsc(void)
{
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    int mode = PR_TSC_SIGSEGV;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0 &&
           prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_ENABLE;
}

static void process_begin(void)
{
    process_trusts_tsc = processor_offers_tsc() && kernel_uses_tsc();
    if (process_trusts_tsc) {
        struct pair start = pair_take(0);
        span_begin(&process_span, &start);
    }
}

bool mete__tsc_is_trusted(void)
{
    pthread_once(&process_once, process_begin);
    return process_trusts_tsc;
}

static bool mult_is_known(uint64_t mult)
{
    return mult > METE__CLOCK_REVOKED;
}

static uint64_t ns_to_ticks(uint64_t ns, uint64_t mult)
{
    return (ns << METE__CLOCK_SHIFT) / mult;
}

/* While mult is not known this saves tries only: span_mult judges the width. */
static uint64_t pair_width_max(uint64_t mult)
{
    return mult_is_known(mult) ? ns_to_ticks(PAIR_WIDTH_MAX_NS, mult) : PAIR_WIDTH_MAX_TICKS;
}

/*
 * True when the thread's last anchor, carried on to this pair, misses it by more
 * than both pairs' errors and 1/1024 of the time between: the readings since
 * may have been off by more than the bound.
 */
static bool rate_is_off(const struct mete__clock_anchor *anchor, const struct pair *now)
{
    uint64_t elapsed_ns = now->ns - anchor->ns;
    if (anchor->ticks_max == 0 || now->width > pair_width_max(anchor->mult) || elapsed_ns > SPAN_MAX_NS) {
        return false; /* nothing to judge by, or a suspend may lie between */
    }
    mete__u128 told_ns = ((mete__u128)(now->tsc - anchor->tsc) * anchor->mult) >> METE__CLOCK_SHIFT;
    uint64_t miss_ns = told_ns > UINT64_MAX ? UINT64_MAX : distance((uint64_t)told_ns, elapsed_ns);
    return miss_ns > PAIR_WIDTH_MAX_NS + elapsed_ns / 1024;
}

static void mult_publish(uint64_t mult)
{
    mete__store_u64_relaxed(&mete__clock_calibration.mult, mult); /* with mult_update */
}

/* What the spans that end now tell of mult. */
static uint64_t mult_measure(uint64_t mult, const struct pair *now)
{
    uint64_t age_ns = now->ns - thread_span.start.ns;
    uint64_t found = METE__CLOCK_UNKNOWN;
    if (age_ns >= (mult_is_known(mult) ? SPAN_NEXT_NS : SPAN_FIRST_NS) && age_ns <= SPAN_MAX_NS) {
        found = span_mult(&thread_span, now);
    }
    if (found == METE__CLOCK_UNKNOWN && mult == METE__CLOCK_UNKNOWN) {
        found = span_mult(&process_span, now); /* serves threads that live for less than a span */
    }
    if (found != METE__CLOCK_UNKNOWN || age_ns > SPAN_MAX_NS) {
        span_begin(&thread_span, now);
    }
    return found;
}

/* Measures on, and returns the mult to use from now on. */
static uint64_t mult_update(const struct mete__clock_anchor *anchor, uint64_t mult, const struct pair *now)
{
    if (mult_is_known(mult) && anchor->mult == mult && rate_is_off(anchor, now)) {
        mult = METE__CLOCK_REVOKED;
        mult_publish(mult);
    }
    if (!thread_span.begun || (mult == METE__CLOCK_REVOKED && anchor->mult != METE__CLOCK_REVOKED)) {
        span_begin(&thread_span, now);
    }
    uint64_t found = mult_measure(mult, now);
    if (found == METE__CLOCK_UNKNOWN) {
        return mult;
    }
    mult_publish(found);
    return found;
}

/* The last reading again, when ns lies before it. */
static uint64_t hold(struct mete__clock_anchor *anchor, uint64_t ns)
{
    if (ns < anchor->last) {
        mete__add_u64_relaxed(&clock_steps, 1); /* with mete__clock_steps */
        return anchor->last;
    }
    anchor->last = ns;
    return ns;
}

uint64_t mete__clock_steps(void)
{
    return mete__load_u64_relaxed(&clock_steps); /* with hold */
}

uint64_t mete__clock_settle(uint64_t ticks)
{
    struct mete__clock_anchor *anchor = &mete__clock_anchor;
    if (ticks < anchor->ticks_max) {
        return hold(anchor, 0); /* the anchor is good: the reading was before the last one */
    }
    if (!mete__tsc_is_trusted()) {
        return mete__monotonic_ns();
    }
    uint64_t mult = mete__load_u64_relaxed(&mete__clock_calibration.mult); /* with mult_publish */
    struct pair now = pair_take(pair_width_max(mult));
    mult = mult_update(anchor, mult, &now);
    anchor->mult = mult;
    anchor->ticks_max = 0;
    if (mult_is_known(mult) && now.width <= pair_width_max(mult)) {
        anchor->tsc = now.tsc;
        anchor->ns = now.ns;
        anchor->ticks_max = ns_to_ticks(METE__CLOCK_ANCHOR_MAX_NS, mult);
    }
    return hold(anchor, now.ns);
}

#else

bool mete__tsc_is_trusted(void)
{
    return false;
}

uint64_t mete__clock_steps(void)
{
    return 0;
}

#endif

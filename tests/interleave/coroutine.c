/* SPDX-License-Identifier: Apache-2.0 */
#include "interleave/coroutine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#define STACK_BYTES (256u * 1024)

static struct {
    ucontext_t context;
    _Alignas(64) unsigned char stack[STACK_BYTES];
    const void *bottom; /* for the address sanitizer: ours, and of main as it was met */
    size_t bytes;
    void *fake_stack;
    void *fiber; /* for the thread sanitizer */
} coroutines[COROUTINES_MAX + 1];

static void (*body_of_all)(unsigned);
static unsigned running = COROUTINE_MAIN;
static unsigned left;   /* where the last switch came from ... */
static unsigned target; /* ... and where it went */

static void arrive(unsigned self)
{
#if defined(__SANITIZE_ADDRESS__)
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(coroutines[self].fake_stack, &bottom, &bytes);
    if (left == COROUTINE_MAIN) {
        coroutines[left].bottom = bottom;
        coroutines[left].bytes = bytes;
    }
#else
    (void)left;
#endif
    running = self;
}

static void enter(void)
{
    unsigned self = target; /* makecontext passes no arguments of use */
    coroutines[self].fake_stack = NULL;
    arrive(self);
    body_of_all(self);
    abort();
}

static void make(unsigned self)
{
    getcontext(&coroutines[self].context);
    coroutines[self].context.uc_stack.ss_sp = coroutines[self].stack;
    coroutines[self].context.uc_stack.ss_size = STACK_BYTES;
    coroutines[self].context.uc_link = NULL;
    coroutines[self].bottom = coroutines[self].stack;
    coroutines[self].bytes = STACK_BYTES;
    makecontext(&coroutines[self].context, enter, 0);
#if defined(__SANITIZE_THREAD__)
    if (coroutines[self].fiber != NULL) {
        __tsan_destroy_fiber(coroutines[self].fiber);
    }
    coroutines[self].fiber = __tsan_create_fiber(0);
    coroutines[COROUTINE_MAIN].fiber = __tsan_get_current_fiber();
#endif
}

void coroutines_start(unsigned count, void (*body)(unsigned))
{
    body_of_all = body;
    running = COROUTINE_MAIN;
    for (unsigned i = 0; i < count; i++) {
        make(i);
    }
}

void coroutine_switch(unsigned from, unsigned to)
{
    left = from;
    target = to;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&coroutines[from].fake_stack, coroutines[to].bottom, coroutines[to].bytes);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(coroutines[to].fiber, 0);
#endif
    swapcontext(&coroutines[from].context, &coroutines[to].context);
    arrive(from);
}

void coroutine_fail(const char *why)
{
    if (running != COROUTINE_MAIN) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
    fail_msg("%s", why);
    abort();
}

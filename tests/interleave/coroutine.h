/* SPDX-License-Identifier: Apache-2.0 */
/* A few coroutines with stacks of their own, known to the sanitizers. */
#ifndef COROUTINE_H
#define COROUTINE_H

#define COROUTINES_MAX 3u
#define COROUTINE_MAIN COROUTINES_MAX /* who called coroutines_start */

/* Makes count coroutines, each at the start of body(its number).  What was left
 * of earlier ones is dropped.  body ends by switching away for good. */
void coroutines_start(unsigned count, void (*body)(unsigned));

/* Leaves `from`, which is running, for `to`. */
void coroutine_switch(unsigned from, unsigned to);

/* Says why and ends the cmocka test; on a coroutine's stack, the program. */
_Noreturn void coroutine_fail(const char *why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two strengths of assertion.  METE_ASSERT is always on: O(1), for errors of
 * the programmer.  METE_DCHECK is for walks and the decision path: on in debug,
 * sanitizer and fuzz builds.  Input from outside reaches neither.
 */
#ifndef METE_BASE_ASSERT_H
#define METE_BASE_ASSERT_H

/* Says on standard error what did not hold, and aborts. */
_Noreturn void mete__assert_failed(const char *condition, const char *file, int line);

#define METE_ASSERT(condition)                                   \
    do {                                                         \
        if (__builtin_expect(!(condition), 0)) {                 \
            mete__assert_failed(#condition, __FILE__, __LINE__); \
        }                                                        \
    } while (0)

#ifdef METE_DCHECKS
#define METE_DCHECK(condition) METE_ASSERT(condition)
#else
#define METE_DCHECK(condition) ((void)0)
#endif

#endif

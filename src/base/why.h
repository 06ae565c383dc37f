/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a failure writes the sentence that says why: a bounded buffer of the
 * caller's, or nowhere.  Every _why function passes one of these down.
 */
#ifndef METE_BASE_WHY_H
#define METE_BASE_WHY_H

#include <mete/mete.h>

struct mete__why {
    char *text; /* may be NULL */
    size_t size;
};

/* Writes the sentence (truncated, NUL-terminated) and returns status. */
mete_status mete__fail(const struct mete__why *why, mete_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problem details (RFC 9457): the body of an answer that is not what was asked for, and
 * the problem types of draft-ietf-httpapi-ratelimit-headers.  Pure.
 */
#ifndef METE_WIRE_PROBLEM_H
#define METE_WIRE_PROBLEM_H

#include "wire/out.h"
#include "wire/span.h"

#define METE__PROBLEM_QUOTA "https://iana.org/assignments/http-problem-types#quota-exceeded"
#define METE__PROBLEM_REDUCED "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

/* Type and title have nothing to escape: they are words of the program. */
struct mete__problem {
    const char *type;  /* NULL: about:blank, then the title is the status's (RFC 9457, section 4.2.1) */
    const char *title; /* NULL: the status's reason phrase */
    unsigned status;
    struct mete__span detail;          /* len 0: none */
    const struct mete__span *violated; /* "violated-policies"; NULL: none */
    size_t violated_count;
};

/* Writes the object without its closing brace, for members of one's own to follow, each begun by a comma. */
void mete__problem_open(struct mete__out *out, const struct mete__problem *problem);

/* The whole object. */
void mete__problem_write(struct mete__out *out, const struct mete__problem *problem);

/* "Too Many Requests" (RFC 9110, section 15; RFC 6585); "Denied" for a status that has no phrase here. */
const char *mete__http_reason(unsigned status);

#endif

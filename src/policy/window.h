/* SPDX-License-Identifier: Apache-2.0 */
/* The windows that response headers tell of, as the daemon sends and as the program explains them. */
#ifndef METE_POLICY_WINDOW_H
#define METE_POLICY_WINDOW_H

#include <mete/mete.h>

/* The longest that a unit of the calendar is where clocks are put back by at most an hour: a day of 25
 * hours, and in a week, a month or a year one such day.  0 for what is no such unit. */
uint64_t mete__calendar_longest_s(enum mete_alignment unit);

/* The seconds in which a limit earns its capacity, rounded up; the longest of a calendar's units. */
uint64_t mete__limit_window_s(const struct mete_limit *limit, uint64_t capacity);

#endif

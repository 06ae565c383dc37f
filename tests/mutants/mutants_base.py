# SPDX-License-Identifier: Apache-2.0
"""Mutants of the clock."""

CLOCK = "src/base/clock.c"

MUTANTS = [
    ("clock-last-not-held", CLOCK, "if (ns < anchor->last) {", "if (false) {", "base/clock_test",
     "a thread's time steps back"),
    ("clock-steps-not-counted",
     CLOCK, "        mete__add_u64_relaxed(&clock_steps, 1); /* with mete__clock_steps */\n", "",
     "base/clock_test", "steps back are held in silence"),
    ("clock-anchored-for-ever", CLOCK, "anchor->ticks_max = ns_to_ticks(METE__CLOCK_ANCHOR_MAX_NS, mult);",
     "anchor->ticks_max = UINT64_MAX / 2;", "base/clock_test", "the error of mult adds up"),
    ("clock-wrong-rate-believed", CLOCK,
     "if (mult_is_known(mult) && anchor->mult == mult && rate_is_off(anchor, now)) {", "if (false) {",
     "base/clock_test",
     "a kernel that steers is not followed"),
    ("clock-jump-not-noticed", "src/base/clock.h", "((ticks >= anchor->ticks_max) | (ns < anchor->last), 0)) {",
     "(ticks >= anchor->ticks_max, 0)) {", "base/clock_test", "a reading before the last one is given out"),
]

# SPDX-License-Identifier: Apache-2.0
"""Mutants of the arithmetic: what is allowed, what is told, what a limit may be."""

GCRA = "src/algorithm/gcra.h"
STEP = "src/algorithm/step.c"
FIXED = "src/algorithm/fixed_window.c"
SLIDING = "src/algorithm/sliding_window.c"
SLIDING_LOG = "src/algorithm/sliding_log.h"
CONVERT = "src/algorithm/convert.c"
PROFILE = "src/algorithm/profile.c"
ARITH = "src/base/arith.h"
CHECK = "api/limit_check_test"
FIELDS = "api/limit_fields_test"


def check(name, condition, why, test=CHECK):
    """A range check of profile.c that is left out."""
    return (f"check-{name}", PROFILE, f"if ({condition}) {{", "if (false) {", test, why)


MUTANTS = [
    # --- buckets
    ("gcra-one-less", GCRA, "if (word - now_tick > ticks->burst_ticks - charge) {",
     "if (word - now_tick >= ticks->burst_ticks - charge) {", "cases/bucket_test",
     "the last unit of a burst is denied"),
    ("library-admits-one-more", GCRA, "if (word - now_tick > ticks->burst_ticks - charge) {",
     "if (word - now_tick > ticks->burst_ticks) {",
     "mete stress --seconds 0 --rounds 100 --burst 100 --rate 20/s --callers 2", "mete stress must report what it is for"),
    ("gcra-start-floor", GCRA, "(ticks->tick_mul != 0 ? now_tick : mete__ticks_ceil(ticks, now_ns)) + charge;",
     "now_tick + charge;", "oracle/test_oracle token_bucket", "a key is begun a tick early: too generous"),
    ("gcra-idle-time-saved", GCRA, "(ticks->tick_mul != 0 ? now_tick : mete__ticks_ceil(ticks, now_ns)) + charge;",
     "word + charge;", "cases/bucket_test", "no max with now: idle time becomes credit above the burst"),
    ("gcra-lead-off-by-one", GCRA, "uint64_t lead = ticks->burst_ticks - cost * ticks->cost;",
     "uint64_t lead = ticks->burst_ticks - cost * ticks->cost - 1;", "api/take_test", "a wait is told a tick too long"),
    ("gcra-retry-early", GCRA, "uint64_t lead = ticks->burst_ticks - cost * ticks->cost;",
     "uint64_t lead = ticks->burst_ticks - cost * ticks->cost + 1;", "api/take_test",
     "a wait is told a tick too short"),
    ("gcra-cost-not-bounded", GCRA, "if (__builtin_expect(cost > profile->capacity, 0)) {", "if (false) {",
     "api/take_test", "a huge cost wraps and is admitted"),
    ("gcra-estimate-not-corrected", GCRA, "for (int i = 0; i < 3 && mete__ticks_floor(ticks, now_ns) < tick; i++) {",
     "for (int i = 0; i < 0 && mete__ticks_floor(ticks, now_ns) < tick; i++) {", "oracle/test_oracle token_bucket",
     "waits are one or two nanoseconds short"),
    ("gcra-division-not-corrected", GCRA, "    while (remainder >= ticks->den) {", "    while (false) {",
     "oracle/test_oracle token_bucket", "a time is one to three ticks early"),
    ("arith-quotient-one-less", ARITH, "return quotient + (x - quotient * divisor >= divisor);", "return quotient;",
     "oracle/test_oracle token_bucket", "division by a reciprocal is sometimes one short"),
    ("gcra-refund-of-a-full-bucket", STEP,
     "    if (word <= mete__ticks_floor(ticks, now_ns)) {\n        return word;\n    }\n    return cost >",
     "    (void)now_ns;\n    return cost >", "oracle/test_oracle token_bucket",
     "a refund above full is credit at older times"),
    ("gcra-refund-wraps", STEP, "return cost > word / ticks->cost ? 0 : word - cost * ticks->cost;",
     "return word - cost * ticks->cost;", "oracle/test_oracle token_bucket",
     "a large refund leaves a debt of centuries"),
    ("leaky-queue-as-a-meter", STEP, "if (profile->algorithm == METE_LEAKY_BUCKET) {", "if (false) {",
     "api/reserve_test", "a leaky bucket's requests leave all at once"),
    ("reserve-longest-wait-not-cut", STEP, "uint64_t longest_ns = mete__min_u64(wait_ns_max, METE__WAIT_MAX_NS);",
     "uint64_t longest_ns = wait_ns_max;", "api/reserve_test", "times beyond what words can hold are promised"),
    ("idle-one-late", STEP, "mete__step_idle_at_ns(profile, word, moment) <= moment->now_ns;",
     "mete__step_idle_at_ns(profile, word, moment) < moment->now_ns;", "api/word_test", "a key is idle a moment late"),

    # --- fixed window
    ("fixed-ends-late", FIXED, "if (now_ns >= fixed.end_ns) {", "if (now_ns > fixed.end_ns) {", "cases/window_test",
     "the first nanosecond of a window counts to the one before"),
    ("fixed-older-time", FIXED, "fixed.base_ns = is_inside || fixed.is_ahead ? now_ns : fixed.start_ns;",
     "fixed.base_ns = now_ns;", "cases/time_test", "waits grow when time goes back"),
    ("fixed-booked-ignored", FIXED, "fixed.is_ahead = fixed.booked && now_ns < fixed.start_ns;",
     "fixed.is_ahead = false;", "oracle/test_oracle fixed_window",
     "units booked for the next window are given away now"),
    ("fixed-booking-full", FIXED, "        fixed.used = 0;\n    }\n    uint64_t wait_ns", "    }\n    uint64_t wait_ns",
     "oracle/test_oracle fixed_window", "the next window is booked with what was used in this one"),
    ("fixed-retry-short", FIXED, "return mete__verdict_deny(word, fixed.end_ns - fixed.base_ns);",
     "return mete__verdict_deny(word, fixed.end_ns - fixed.base_ns - 1);", "api/take_test",
     "at retry_after it is still denied"),
    ("fixed-refund-wraps", FIXED, "return word - mete__min_u64(cost, fixed.used);", "return word - cost;",
     "api/reserve_test", "a refund above what was used takes from the window's place"),
    ("fixed-refund-of-another-window", FIXED, "bool is_inside = !fixed.is_ahead && fixed.base_ns == moment->now_ns;",
     "bool is_inside = !fixed.is_ahead;", "oracle/test_oracle fixed_window",
     "a take of the last window is refunded to this one"),
    ("fixed-grain-too-wide", FIXED, "fixed.start_ns - now_ns < grain;", "fixed.start_ns - now_ns <= grain;",
     "oracle/test_oracle fixed_window", "a time before an anchored window counts as inside"),
    ("fixed-damaged-word", FIXED, "{.used = mete__min_u64(word & frames->count_mask, profile->capacity),",
     "{.used = word & frames->count_mask,", "api/word_test", "a damaged word tells more than the limit remains"),
    ("fixed-recount-not-cut", FIXED, "uint64_t used = mete__min_u64(word & from->frames.count_mask, to->capacity);",
     "uint64_t used = word & from->frames.count_mask;", "oracle/test_oracle fixed_window",
     "a smaller count's word runs over into its place"),

    # --- sliding window counter
    ("sliding-remembers-too-long", SLIDING, "word != 0 && now_index == sliding.index + 1 ? sliding.cur : 0;",
     "word != 0 ? sliding.cur : 0;", "cases/window_test", "a window long over still counts"),
    ("sliding-older-time", SLIDING, "} else if (now_index < sliding.index) {", "} else if (false) {",
     "oracle/test_oracle sliding_window", "a time before the window is judged as far after it"),
    ("sliding-booked-ignored", SLIDING, "sliding.ahead_ns = sliding.booked ? sliding.base_ns - now_ns : 0;",
     "sliding.ahead_ns = 0;", "oracle/test_oracle sliding_window",
     "units booked for the next window are given away now"),
    ("sliding-retry-not-over-the-boundary", SLIDING, "        at->prev = at->cur;\n", "        at->prev = 0;\n",
     "api/take_test", "a wait over the boundary forgets what was just taken"),
    ("sliding-overlap-floor", SLIDING, "return mete__muldiv_ceil_u64(sliding->prev,",
     "return mete__muldiv_floor_u64(sliding->prev,", "oracle/test_oracle sliding_window",
     "remaining is told one too high"),
    ("sliding-passes-early", SLIDING, "period - mete__muldiv_floor_u64(room, period, prev);",
     "period - mete__muldiv_ceil_u64(room, period, prev);", "oracle/test_oracle sliding_window",
     "admits a nanosecond early"),
    ("sliding-refund-this-window-only", SLIDING, "if (taken_index + 1 == index) {", "if (false) {",
     "oracle/test_oracle sliding_window", "a take of the window before cannot be undone"),
    ("sliding-booking-kept", SLIDING, "at.booked = now.booked && now.base_ns > moment->now_ns;",
     "at.booked = now.booked;", "oracle/test_oracle sliding_window", "a window that has begun counts as booked"),

    # --- sliding log
    ("log-counts-a-moment-longer", SLIDING_LOG, "now_ns - period_ns + 1 : 0;", "now_ns - period_ns : 0;",
     "cases/window_test", "a unit counts at exactly one period"),
    ("log-excess-off-by-one", SLIDING_LOG, "return mete__sub_floor0_u64(used, profile->capacity - cost);",
     "return mete__sub_floor0_u64(used, profile->capacity - cost + 1);", "cases/window_test",
     "one unit above the count is admitted"),

    # --- one limit to another
    ("convert-not-cut", CONVERT, "owed > to->ticks.burst_ticks ? to->ticks.burst_ticks : (uint64_t)owed;",
     "(uint64_t)owed;", "api/change_test", "a key is locked out longer than an exhausted one"),
    ("convert-rounds-down", CONVERT, "owed = (owed + (from->ticks.cost - 1)) / from->ticks.cost;",
     "owed = owed / from->ticks.cost;", "oracle/test_oracle token_bucket", "each change forgives a part of a tick"),
    ("convert-start-floor", CONVERT, "return mete__ticks_ceil(&to->ticks, now_ns) + debt;",
     "return mete__ticks_floor(&to->ticks, now_ns) + debt;", "oracle/test_oracle token_bucket",
     "a change forgives a part of a tick"),
    ("convert-units-not-cut", CONVERT, "uint64_t owed = mete__min_u64(units, profile->capacity);",
     "uint64_t owed = units;", "api/change_test", "more is owed than the new limit has"),
    ("convert-units-floor", CONVERT,
     "return mete__div_ceil_u64(mete__sub_floor0_u64(word, now_tick), profile->ticks.cost);",
     "return mete__sub_floor0_u64(word, now_tick) / profile->ticks.cost;", "oracle/test_oracle fixed_window",
     "a bucket that becomes a window forgives up to a unit"),
    ("convert-periods-alike",
     CONVERT, "from->scale.kind == to->scale.kind && from->scale.period == to->scale.period &&",
     "from->scale.kind == to->scale.kind &&", "oracle/test_oracle fixed_window",
     "an index of seconds is read as one of minutes"),

    # --- what a limit may be
    check("algorithm", "(unsigned)limit->algorithm > METE_SLIDING_LOG", "an unknown algorithm"),
    check("alignment", "(unsigned)limit->alignment > METE_ALIGN_YEAR", "an unknown alignment", FIELDS),
    check("alignment-of-others", "limit->alignment != METE_ALIGN_EPOCH && limit->algorithm != METE_FIXED_WINDOW",
          "a bucket has no alignment"),
    check("zone-terminated", "!is_terminated(limit->time_zone, sizeof limit->time_zone)", "a name without an end",
     FIELDS),
    check("zone-of-others", "limit->time_zone[0] != 0 && !calendar", "only calendars have a zone"),
    check("count-zero", "limit->count == 0", "a limit of nothing divides by zero"),
    check("period-of-calendar", "calendar && limit->period_ns != 0", "a calendar unit is the period"),
    check("period-zero", "!calendar && limit->period_ns == 0", "no period divides by zero"),
    check("burst-of-windows", "limit->burst != 0 && limit->algorithm > METE_LEAKY_BUCKET", "windows have no burst"),
    check("count-of-calendar", "limit->count > METE__CALENDAR_COUNT_MAX", "30 bits hold the count"),
    check("period-max", "limit->period_ns > METE_PERIOD_MAX", "ticks would not fit"),
    check("rate-max", "limit->count > limit->period_ns", "above 1e9 per second"),
    check("rate-min", "(mete__u128)limit->count * RATE_MIN_PERIOD_NS < limit->period_ns", "below 1 per 10 years"),
    check("burst-max", "debt > UINT64_MAX - last", "a full debt at the end of time would wrap"),
    ("check-sliding-fits", PROFILE, "return mete__bits_u64(index_max) + 1 + 2 * mete__bits_u64(scale->count) <= 64;",
     "return index_max > 0;", CHECK, "both counts and the index must fit a word"),
    ("check-fixed-fits", PROFILE, "return mete__bits_u64(index_max) + 1 + mete__bits_u64(scale->count) <= 64;",
     "return index_max > 0;", FIELDS, "count and index must fit a word"),
    ("check-first-fits", PROFILE, "return mete__bits_u64(scale->count) <= 57;", "return true;", FIELDS,
     "a rounded start must stay below 2^62"),
    ("check-log-count", PROFILE,
     "} else if (made.scale.kind == METE__KIND_LOG && limit->count > METE_LOG_COUNT_MAX) {", "} else if (false) {",
     CHECK,
     "a ring has 20 bits for its counts"),
    ("profile-coarse-ticks", PROFILE, "if (step <= cost_max / 3) {", "if (step <= cost_max) {",
     "oracle/test_oracle token_bucket",
     "fewer than two ticks a nanosecond: more strict than promised"),
    ("profile-grain", PROFILE, "frames->grain_shift = frames->count_bits - 1;",
     "frames->grain_shift = frames->count_bits;",
     "oracle/test_oracle fixed_window", "anchored windows start more coarsely than the rules say"),
]

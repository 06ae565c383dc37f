# SPDX-License-Identifier: Apache-2.0
"""Mutants of what the daemon tells: top keys and figures.  (That a reader of the sketch and
its loop keep out of each other's way is seen by the thread sanitizer alone.)"""

TOP = "src/server/top.c"
TOP_H = "src/server/top.h"
TEXT = "src/server/metrics_text.c"
SUMS = "src/server/sums.c"
LIVE = "src/server/live.c"
PLACES = "src/server/places.c"

MUTANTS = [
    ("top-error-forgotten", TOP, "entry->error = set->counts[way];", "entry->error = 0;", "server/top_test",
     "a newcomer's count is taken for certain"),
    ("top-newcomer-from-zero", TOP, "    set->counts[way] += weight;",
     "    set->counts[way] = is_new ? weight : set->counts[way] + weight;", "server/top_test",
     "a key that left and came back is told too low"),
    ("top-any-victim", TOP, "return lesser(a, b) & (WAYS - 1);", "return lesser(a, a) & (WAYS - 1);", "server/top_test",
     "a key with a high count loses its place"),
    ("top-missed-not-added", TOP, "        joined.entry.count += missed;\n", "", "server/top_test",
     "what another loop may have seen of a key is left out"),
    ("top-missed-twice", TOP, "        missed -= merge->smallest[joined.source][set_of(joined.hash)];\n", "",
     "server/top_test", "a loop that knows a key is taken to have missed it too"),
    ("top-hash-not-compared", TOP, "set->counts[way] != 0 && table->entries[at][way].hash == hash",
     "set->counts[way] != 0", "server/top_test", "strangers with the same 16 bits count for a key"),
    ("top-count-wraps", TOP, "if (__builtin_expect(set->counts[way] > UINT32_MAX - weight, 0)) {", "if (false) {",
     "server/top_test", "after 2^32 requests the busiest key is the rarest"),
    ("top-window-never-ends", TOP, "    sketch->current ^= 1;\n", "", "server/top_test",
     "one window is lost and the other goes on for ever"),
    ("top-silence", TOP, "if (!is_first && now_ms - top->rotated_ms >= 2 * (uint64_t)METE__TOP_WINDOW_MS) {",
     "if (false) {", "server/top_test", "after a night the list tells of yesterday"),
    ("top-policy-not-in-hash", TOP, "return hash ^ policy_place * UINT64_C(0x9E3779B97F4A7C15);", "return hash;",
     "server/top_test", "one key of two policies is one"),
    ("top-fixed-step", TOP_H, "top->skip = (uint32_t)(((top->random >> 32) * (2 * (uint64_t)weight - 1)) >> 32);",
     "top->skip = weight - 1;", "server/top_test", "a client that repeats a pattern hides between the samples"),
    ("metrics-label-not-escaped", TEXT, "if (*value == '\\\\' || *value == '\"') {", "if (false) {",
     "server/metrics_text_test", "a name breaks the text"),
    ("metrics-buckets-not-summed", TEXT, "total += sums->latency[i];", "total = sums->latency[i];",
     "server/metrics_text_test", "buckets of a histogram hold those below them too"),
    ("metrics-first-loop-only", SUMS, "i < server->loop_count; i++) {\n        add_loop", "i < 1; i++) {\n        add_loop",
     "server/metrics_text_test", "other loops' figures are left out"),
    ("live-counted-every-time", LIVE, "(!last.is_known || age_ms >= METE__LIVE_AGE_MS)", "true",
     "server/metrics_text_test", "every look walks the table"),
    ("places-without-bound", PLACES, "if (count == METE__PLACES) {", "if (count == METE__PLACES + 1) {",
     "server/metrics_text_test", "a counter beyond the array"),
]

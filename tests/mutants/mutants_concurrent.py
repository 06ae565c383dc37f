# SPDX-License-Identifier: Apache-2.0
"""Mutants of what threads and processes share: claims, swaps, marks, rings."""

# Tried on every day, whatever the seed.
ALWAYS = ("claim-no-rescan", "swap-compares-half", "library-admits-one-more")

CLAIM = "src/table/claim.c"
TABLE = "src/table/table.h"
ATOMIC = "src/base/atomic.h"
DECIDE = "src/limiter/decide.c"
DECIDE_H = "src/limiter/decide.h"
DECIDE_LOG = "src/limiter/decide_log.c"
RING = "src/limiter/log_ring.c"
LOG = "src/limiter/log.c"
LIMITER = "src/limiter/limiter.c"
INHERIT = "src/limiter/inherit.c"
ALL = "src/limiter/take_all.c"

MUTANTS = [
    # --- claim.c
    ("claim-no-rescan", CLAIM, "if (!rescan(table, slot, choice.cell, claim)) {", "if (false) {",
     "interleave/take_test", "two threads give one key a cell each"),
    ("claim-rival-stays", CLAIM, "if (mete__pair_cas_full(cell, &seen, (struct mete__pair){0, 0})) {",
     "if (cell != NULL) {", "interleave/take_test", "a rival's pending claim may still be confirmed"),
    ("claim-confirmed-rival-ignored", CLAIM, "            return false;\n        }\n        if (seen.lo != tag) {",
     "            return true;\n        }\n        if (seen.lo != tag) {", "interleave/take_test",
     "the key has a cell already"),
    ("claim-not-withdrawn", CLAIM, "    mete__pair_cas_full(ours, &pending, (struct mete__pair){0, 0});\n",
     "    (void)ours;\n    (void)pending;\n", "interleave/take_test", "a cell stays lost to a claim that was given up"),
    ("claim-marks-not-raised", CLAIM, "mete__max_u64_acq_rel(mark_of(table, bucket), claim->now_ns);",
     "(void)bucket;", "interleave/evict_test", "a slow thread begins a key again that was taken over"),
    ("claim-marks-not-checked", CLAIM,
     "if (mete__table_not_before_ns(table, slot) > mete__max_u64(claim->now_ns, claim->mark_seen_ns)) {",
     "if (false) {",
     "store/marks_test", "the same, when the takeover comes between search and confirmation"),
    ("claim-mark-of-the-future-believed", CLAIM, "> mete__max_u64(claim->now_ns, claim->mark_seen_ns)) {",
     "> claim->now_ns) {", "store/marks_test", "a caller's time far ahead stops the store's clock"),
    ("claim-dead-claims-stay", CLAIM,
     "if (!is_left_pending(choice->cell, choice->seen)) {",
     "if (!is_left_pending(choice->cell, choice->seen) || true) {",
     "interleave/kill_test", "the cells of killed threads are never taken over"),
    ("claim-threads-share-nonces", CLAIM, "thread_nonce = seed + (mete__add_u64_relaxed(&threads, 1) << 40);",
     "(void)threads;\n        thread_nonce = seed;", "store/nonce_test",
     "a swap succeeds on another claim than the one seen"),
    ("claim-no-reseed-after-fork", "src/limiter/store.c", "mete__os_on_fork(reseed_in_child);",
     "(void)mete__os_on_fork;", "store/processes_test", "parent and child use the same nonces"),
    ("claim-debts-alike", CLAIM, "return debt > UINT64_MAX - RANK_LIVE ? UINT64_MAX : debt + RANK_LIVE;",
     "return RANK_LIVE;", "api/full_test", "not the smallest debt is evicted"),
    ("claim-idle-not-preferred", CLAIM, "        return RANK_IDLE;\n", "        return RANK_LIVE + 1000000000000000;\n",
     "api/full_test", "a live key is evicted beside an idle one"),
    ("claim-evicts-always", CLAIM, "if (choice.rank >= RANK_LIVE && !claim->may_evict) {", "if (false) {",
     "api/full_test", "METE_FULL_DENY forgets a live key"),
    ("claim-one-bucket-filled-first", CLAIM, "second.rank < out->rank : second.live < out->live)",
     "second.rank < out->rank : false)", "store/placement_test", "live keys are displaced long before keys_max"),
    ("claim-retire-not-asked", CLAIM,
     "if (judge->retire != NULL && !judge->retire(", "if (judge->retire != NULL && false && !judge->retire(",
     "interleave/log_test", "a ring keeps the charges of its old key"),
    ("claim-idle-at-forgotten", CLAIM, "claim->idle_at_ns = mete__min_u64(claim->idle_at_ns, idle_at_ns);",
     "claim->idle_at_ns = idle_at_ns;", "api/full_test", "a denied new key is told too long a wait"),

    # --- swaps and cells
    ("swap-compares-half", ATOMIC, "    if (!mete__pair_is_same(*address, *expected)) {\n        *expected = *address;",
     "    if (address->hi != expected->hi) {\n        *expected = *address;", "interleave/evict_test",
     "a word is swapped in a cell that has another key by now"),
    ("swap-not-locked", ATOMIC, '"lock cmpxchg16b %1"', '"cmpxchg16b %1"', "limiter/concurrency_stress_test",
     "the swap is not atomic between processors"),
    ("cell-pending-found", TABLE, "return (lo ^ tag) - 1 < METE__SCALE_MASK;",
     "return (lo ^ tag) < METE__SCALE_MASK + 1;", "store/trap_test",
     "a claim that is not confirmed is used, and counted twice"),
    ("cell-second-bucket-not-searched", TABLE, "return mete__bucket_find(slot->second, table->width, slot->tag, seen);",
     "return NULL;", "interleave/take_test", "a key in its second bucket is not found"),
    ("decide-lost-swap-counts", DECIDE, "if (!mete__pair_cas_full(cell, &seen, next)) {",
     "if (mete__pair_cas_full(cell, &seen, next), false) {", "interleave/take_test",
     "a lost update is answered as won"),
    ("hot-lost-swap-counts", DECIDE_H,
     "mete__pair_cas_full(cell, &seen, (struct mete__pair){lo, *word}), 1)) {",
     "(mete__pair_cas_full(cell, &seen, (struct mete__pair){lo, *word}), 1), 1)) {", "limiter/concurrency_stress_test",
     "the same on the hot path"),
    ("hot-new-owner-overwritten", DECIDE_H, "if (seen.lo != lo) { /* given to another key, or rescaled */",
     "if (false) {", "interleave/evict_test", "a failed swap is repeated on a cell that has another key"),
    ("decide-clock-not-read-again", DECIDE,
     "now_ns = mete__max_u64(now_ns, mete__on_grid_floor(mete__store_now(limiter->store), ask->grid_ns));", ";",
     "store/marks_test", "a thread that slept begins an absent key at an old time"),

    # --- a limit that changes while it is used
    ("change-flipped-too-early", LIMITER, "    struct mete__history *to = &limiter->histories[which % 2];\n",
     "    struct mete__history *to = &limiter->histories[which % 2];\n"
     "    mete__store_u64_release(&limiter->which, which);\n", "interleave/change_test",
     "a history is read while it is written"),
    ("change-history-read-once", LIMITER, "} while (mete__load_u64_acquire(&limiter->which) != which);",
     "} while (false);", "interleave/history_test", "a history is copied across two changes"),

    # --- all or nothing
    ("all-no-roll-back", ALL, "while (k-- > 0) {", "while (false) {", "interleave/all_test",
     "what was taken before a denial stays taken"),
    ("all-roll-back-one-short", ALL, "while (k-- > 0) {", "while (k-- > 1) {", "interleave/all_test",
     "the first of them stays taken"),

    # --- rings
    ("ring-no-help", DECIDE_LOG, "    mete__ring_help(&view->ring, &view->state);\n    next.first",
     "    next.first", "interleave/log_test", "times of the charge before are never written"),
    ("ring-time-stored", RING, "mete__max_u64_acq_rel(&ring->times[at], now_ns);",
     "mete__store_u64_release(&ring->times[at], now_ns);", "interleave/log_test",
     "a helper that slept moves a time back"),
    ("ring-pending-not-last", RING, "if (i >= state->count - state->pending) {", "if (false) {", "interleave/log_test",
     "a unit is judged by a time that is not written yet"),
    ("ring-denial-not-checked", DECIDE_LOG, "        return is_unchanged(view);\n    }\n    out->wait_ns",
     "        return true;\n    }\n    out->wait_ns", "interleave/log_test",
     "a denial mixes times of two states"),
    ("ring-gen-not-stepped", LOG, "    state.gen++;\n", "", "interleave/log_test",
     "the old key goes on charging a ring that was taken from it"),
    ("ring-gen-not-compared", LOG, "out->state.gen == (out->cell_seen.hi & METE__GEN_MASK) &&", "",
     "interleave/kill_test",
     "a dead cell is used as if its ring were its own"),
    ("ring-claim-not-looked-at", INHERIT, "if (!mete__pair_is_same(mete__pair_load_acquire(address), pending)) {",
     "if (false) {", "interleave/log_test", "a removed claim empties the ring of who came after it"),
]

# SPDX-License-Identifier: Apache-2.0
"""Mutants of decisions, changes of limits and calls, where one thread is enough."""

DECIDE = "src/limiter/decide.c"
DECIDE_LOG = "src/limiter/decide_log.c"
TAKE = "src/limiter/take.c"
ALL = "src/limiter/take_all.c"
BATCH = "src/limiter/batch.c"
LIMITER = "src/limiter/limiter.c"
LIMITER_H = "src/limiter/limiter.h"
INHERIT = "src/limiter/inherit.c"
RULE = "src/limiter/rule.c"
QUEUE = "src/limiter/queue.c"
SCHEDULE = "src/limiter/queue_schedule.h"
STORE = "src/limiter/store.c"

MUTANTS = [
    # --- one decision
    ("full-policies-swapped", DECIDE, "if (limiter->store->on_full == METE_FULL_ALLOW) {",
     "if (limiter->store->on_full != METE_FULL_ALLOW) {", "api/full_test", "a full table admits instead of denying"),
    ("full-policies-swapped-for-logs", DECIDE_LOG, "if (limiter->store->on_full == METE_FULL_ALLOW) {",
     "if (limiter->store->on_full != METE_FULL_ALLOW) {", "api/full_log_test", "the same for logs"),
    ("full-wait-not-told", DECIDE, "mete__max_u64(1, mete__sub_floor0_u64(idle_at_ns, moment->now_ns));", "1;",
     "api/full_test", "a denied new key is told to try at once"),
    ("rescaled-ignored", DECIDE, "    if (is_rescaled) {\n        word =", "    if (false) {\n        word =",
     "api/change_test", "a word is read under a limit it was not written for"),
    ("rescaled-not-written", DECIDE, "{(seen.lo & ~METE__SCALE_MASK) | rule->scale_id, verdict.next};",
     "{seen.lo, verdict.next};", "oracle/test_oracle fixed_window", "a new word is kept under the old limit's name"),
    ("forgotten-word-in-another-calendar", RULE, "from->profile.scale.kind == to->profile.scale.kind &&\n", "\n",
     "api/change_test", "a forgotten bucket's word is read as the end of a day"),
    ("peek-writes", DECIDE, "if ((verdict.next == word && !must_write) || ask->op == METE__OP_PEEK) {",
     "if (verdict.next == word && !must_write) {", "api/take_test", "looking costs a unit"),
    ("log-peek-writes", DECIDE_LOG, "if (!out->allowed || ask->cost == 0 || ask->op == METE__OP_PEEK) {",
     "if (!out->allowed || ask->cost == 0) {", "api/take_test", "looking costs a unit of a log"),
    ("log-older-time", DECIDE_LOG, "{.at_ns = mete__max_u64(now_ns, view->state.last_ns)};", "{.at_ns = now_ns};",
     "api/log_time_test", "an older time finds units over that are not"),
    ("log-over-kept-by-a-reservation", DECIDE_LOG,
     "uint64_t over = mete__ring_over(&view->ring, &view->state, drop_before_ns(view, history, at_ns));",
     "uint64_t over = mete__ring_over(&view->ring, &view->state, drop_before_ns(view, history, view->state.last_ns));",
     "api/reserve_test", "a reservation finds no place in the ring"),
    ("log-booked-forgotten", DECIDE_LOG, "    next.booked = booked;\n", "    next.booked = false;\n",
     "api/reserve_test", "units booked ahead are given away now"),
    ("allow-denies-early", TAKE, "if (seen.hi - latest > lead) {", "if (seen.hi - earliest > lead) {",
     "limiter/allow_tick_test", "denied by a tick that is milliseconds old"),
    ("allow-admits-early", TAKE, "        if (seen.hi - earliest > lead) {\n            return -1;\n        }\n", "",
     "limiter/allow_tick_test", "admitted by a bound that is a tenth of a second ahead"),
    ("allow-forgets-idle-time", TAKE, "if (seen.hi <= latest || seen.lo != lo) {",
     "if (seen.hi <= earliest || seen.lo != lo) {", "limiter/allow_tick_test",
     "a key that was full a moment ago earns credit for it"),
    ("reset-does-nothing", TAKE, "} while (cell != NULL && seen.hi != 0 && !mete__pair_cas_full(",
     "} while (false && !mete__pair_cas_full(", "api/reserve_test", "a reset key stays denied"),
    ("reset-moves-a-log-back", TAKE, "{.gen = view.state.gen, .last_ns = view.state.last_ns};",
     "{.gen = view.state.gen};", "api/log_time_test", "time goes back for a log"),

    # --- several at once
    ("all-logs-first", ALL, "== (logs == 1) && at < call->n) {", "== (logs == 0) && at < call->n) {",
     "limiter/all_order_test", "a log gives back a rival's unit"),
    ("all-binding-the-loosest", ALL, "out[i].retry_after_ns > out[binding].retry_after_ns;",
     "out[i].retry_after_ns < out[binding].retry_after_ns;", "api/many_test", "the wrong demand is named"),
    ("all-remaining-the-largest", ALL, "out[i].remaining < out[binding].remaining",
     "out[i].remaining > out[binding].remaining",
     "api/many_test", "the wrong demand is named"),
    ("batch-out-of-order", BATCH, "&members[i], &own_now_ns, &out[done + i]);",
     "&members[i], &own_now_ns, &out[n - 1 - (done + i)]);", "api/many_test", "answers belong to other requests"),
    ("batch-clock-read-each-time", BATCH, "METE__OP_TAKE, *own_now_ns);",
     "METE__OP_TAKE, mete__store_now(limiter->store));", "api/many_test", "one batch has many times"),
    ("batch-second-group-lost", BATCH, "for (size_t done = 0; done < n; done += GROUP) {",
     "for (size_t done = 0; done < n && done < GROUP; done += GROUP) {", "api/many_test",
     "requests after the first group are not decided"),

    # --- limits that change
    ("change-not-remembered", LIMITER, "remember(&history, next, mete__store_now(limiter->store));",
     "(void)remember;\n        history.current = next;", "api/change_test",
     "a key is carried over from the wrong limit"),
    ("change-moment-forgotten", LIMITER, "remember(&history, next, mete__store_now(limiter->store));",
     "remember(&history, next, 0);", "api/change_test", "what was earned before the change is lost"),
    ("change-always-era-0", LIMITER, "era = (limiter->eras_used + i) % METE__ERAS;", "era = 0;",
     "oracle/test_oracle token_bucket", "a limit that comes back is taken for its first time"),
    ("change-era-not-packed", RULE, "scale->count | (uint64_t)era << ERA_SHIFT;",
     "scale->count | (uint64_t)(era & 0) << ERA_SHIFT;", "oracle/test_oracle token_bucket",
     "a limit that comes back has its old id"),
    ("change-settled-late",
     LIMITER_H, "return now_ns < at_ns && at_ns - now_ns > METE__HELD_UP_MAX_NS ? now_ns : at_ns;",
     "(void)at_ns;\n    return now_ns;", "api/change_test", "a key is settled at its next use"),
    ("change-older-time", LIMITER_H, "return now_ns < at_ns && at_ns - now_ns > METE__HELD_UP_MAX_NS ? now_ns : at_ns;",
     "(void)now_ns;\n    return at_ns;", "oracle/test_oracle fixed_window",
     "a time from long before the change is settled after it"),
    ("change-only-the-first", INHERIT,
     "    for (uint64_t i = index; i < history->count; i++) {\n        step(",
     "    for (uint64_t i = index; i < history->count && i < index + 1; i++) {\n        step(", "api/change_test",
     "later changes are not walked through"),
    ("change-cell-before-ring", INHERIT, "(b == METE__BEFORE_OUR_TIME || a > b);",
     "(b == METE__BEFORE_OUR_TIME || a < b);",
     "oracle/test_oracle fixed_window", "of cell and ring the older one counts"),
    ("change-ring-not-copied", INHERIT, "        copy_ring(heir, ring, &state, old.last_ns);\n",
     "        (void)copy_ring;\n",
     "oracle/test_oracle token_bucket", "a log with a larger count begins empty"),
    ("change-foreign-word-not-settled", DECIDE, "if ((verdict.next == word && !must_write) ||",
     "if ((verdict.next == word) ||", "store/foreign_test",
     "each denial under a limit unknown here settles the key anew"),
    ("names-share-keys", LIMITER, "store->table.header->fixed.secret, name, strlen(name));",
     "store->table.header->fixed.secret, \"\", 0);", "api/limiter_test", "two limiters charge one key"),
    ("calendar-window-of-the-word", RULE, "span_of(rule, word_end_ns > now_ns ? word_end_ns - 1 : now_ns);",
     "span_of(rule, now_ns);", "oracle/test_oracle fixed_window", "an older time begins an older window again"),
    ("calendar-cache-holds-too-long", RULE, "if (cached.lo <= at_ns && at_ns < cached.hi) {",
     "if (cached.lo <= at_ns && at_ns <= cached.hi) {", "oracle/test_oracle fixed_window",
     "the first moment is in the window before"),

    # --- stores
    ("store-unknown-flags",
     STORE, "if ((options->flags & ~(METE_STORE_NO_HUGE_PAGES | METE_STORE_NO_PREFAULT)) != 0) {",
     "if (false) {", "api/store_test", "flags of the future are taken and ignored"),
    ("store-size-unchecked", STORE, "if (options->size != sizeof *options) {", "if (false) {", "api/store_test",
     "a structure of another version is read"),
    ("store-idle-keys-live", STORE, "judge_rank((void *)(uintptr_t)store, address, cell, now_ns, &idle_at_ns) > 0;",
     "judge_rank((void *)(uintptr_t)store, address, cell, now_ns, &idle_at_ns) < UINT64_MAX;", "api/store_test",
     "idle keys are counted as live"),

    # --- queue
    ("queue-drifts", SCHEDULE, "    schedule->next_rest += schedule->step_rest; /* both below count <= 2^62 */\n", "",
     "limiter/queue_test", "each slot is a part of a nanosecond early"),
    ("queue-lateness-drifts", SCHEDULE, "if (now_ns >= mete__queue_schedule_due_after_ns(schedule, 1)) {",
     "if (now_ns >= mete__queue_schedule_due_ns(schedule)) {", "limiter/queue_test", "a late consumer moves all slots"),
    ("queue-bursts-after-lateness", SCHEDULE, "if (now_ns >= mete__queue_schedule_due_after_ns(schedule, 1)) {",
     "if (false) {", "limiter/queue_test", "missed slots are made up for at once"),
    ("queue-leaves-early", SCHEDULE, "return schedule->next_ns + (schedule->next_rest != 0);",
     "return schedule->next_ns;", "limiter/queue_test", "an item leaves before its slot"),
    ("queue-starts-at-once",
     SCHEDULE, "if (now_ns >= mete__queue_schedule_due_ns(schedule)) {\n        schedule->next_ns",
     "if (true) {\n        schedule->next_ns", "limiter/queue_test", "an emptied queue forgets its last departure"),
    ("queue-any-ticket-cancels", QUEUE, "if (queue->places[index].ticket == ticket) {",
     "if (queue->places[index].ticket != 0) {", "limiter/queue_test", "an old ticket takes another's item"),
    ("queue-push-wakes-nobody", QUEUE, "    wake(queue);\nout:\n", "out:\n", "limiter/queue_wait_test",
     "a consumer sleeps on beside an item"),
    ("queue-leader-for-ever", QUEUE, "    if (leads) {\n        queue->has_leader = false;\n    }\n", "",
     "limiter/queue_wait_test", "nobody leads after the first departure"),
    ("queue-clock-goes-back", QUEUE, "mete__max_u64(queue->now_ns, mete__min_u64(now_ns, METE_TIME_MAX));",
     "mete__min_u64(now_ns, METE_TIME_MAX);", "limiter/queue_test", "an older time is believed"),
]

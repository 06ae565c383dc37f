# SPDX-License-Identifier: Apache-2.0
"""The independent model of mete: what docs/algorithms.md says, in whole numbers.

It is written from the documents alone, never from the C code, so that where both
agree neither can have a private opinion.  Limit is a rule in figures, Key the
state of one key under it.
"""
from copy import copy
from typing import NamedTuple

from rule import NEVER, PERIOD_MAX, SECOND, TEN_YEARS, TIME_MAX, Decision  # noqa: F401 (handed on)
from rule_bucket import LeakyBucket, TokenBucket
from rule_calendar import UNITS, CalendarWindow, zone_of
from rule_log import SlidingLog
from rule_window import AnchoredWindow, FixedWindow, SlidingWindow

ALGORITHMS = ("token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log")
ALIGNMENTS = ("epoch", "first") + UNITS
BUCKETS = ALGORITHMS[:2]
LOG_COUNT_MAX = 1048575
CALENDAR_COUNT_MAX = 2**30 - 1
HOUR = 3600 * SECOND
CHANGES_KEPT = 8  # how many changes a limiter remembers for a key that is not used


class Limit(NamedTuple):
    algorithm: str
    count: int
    period_ns: int
    burst: int = 0
    alignment: str = "epoch"
    time_zone: str = ""

    def is_calendar(self):
        return self.alignment in UNITS

    def check(self):
        """'ok', 'einval' (contradictory or missing) or 'erange' (cannot be represented)."""
        if self.algorithm not in BUCKETS and self.burst:
            return "einval"
        if self.algorithm != "fixed_window" and self.alignment != "epoch":
            return "einval"
        if self.is_calendar():
            return self._check_calendar()
        if self.time_zone or self.count == 0 or self.period_ns == 0:
            return "einval"
        if self.period_ns > PERIOD_MAX or self.count > self.period_ns or self.count * TEN_YEARS < self.period_ns:
            return "erange"
        if self.algorithm == "sliding_log":
            return "ok" if self.count <= LOG_COUNT_MAX else "erange"
        return "ok" if rule_of(self).is_representable() else "erange"

    def _check_calendar(self):
        if self.period_ns or self.count == 0:
            return "einval"
        try:
            zone_of(self.time_zone)
        except (KeyError, ValueError, OSError):
            return "einval"
        return "ok" if self.count <= CALENDAR_COUNT_MAX else "erange"


def rule_of(limit, rational=False):
    if limit.algorithm == "token_bucket":
        return TokenBucket(limit, rational)
    if limit.algorithm == "leaky_bucket":
        return LeakyBucket(limit, rational)
    if limit.algorithm == "sliding_window":
        return SlidingWindow(limit)
    if limit.algorithm == "sliding_log":
        return SlidingLog(limit)
    if limit.is_calendar():
        return CalendarWindow(limit)
    return AnchoredWindow(limit) if limit.alignment == "first" else FixedWindow(limit)


def settled_at(s, t):
    """'As if it had been done at s = S. (When t is more than an hour before S [...] s = t.)'"""
    return s if t >= s - HOUR else t


def is_same(a, b):
    """Whether the words of two limits mean the same."""
    if a.limit.algorithm in BUCKETS and b.limit.algorithm in BUCKETS:
        return a.rate == b.rate
    return a.limit == b.limit


def alike(rule):
    """What two limits share that cannot be told apart once they are forgotten."""
    limit = rule.limit
    return ("bucket", rule.rate) if limit.algorithm in BUCKETS else limit._replace(time_zone="")


def is_log(rule):
    return rule.limit.algorithm == "sliding_log"


def carry(old, new, state, s):
    """A state under the old rule, settled at s and owed under the new one."""
    if state == old.NOTHING:
        return new.NOTHING
    kinds = (old.limit.algorithm, new.limit.algorithm)
    if kinds[0] in BUCKETS and kinds[1] in BUCKETS:
        return state if old.rate == new.rate else new.carry(old, state, s)
    if is_log(old) and is_log(new):
        return new.carry(old, state, s)
    if kinds[0] == kinds[1] and new.is_same_but_count(old):
        return new.cut(state)
    owed = old.owed(state, s)
    if is_log(old) and not owed:
        return new.NOTHING  # "when nothing is owed, nothing is moved"
    return new.owing(min(owed, new.capacity), s)


class Key:
    """The state of one key.  Limit changes are carried at the next use, as the library does."""

    def __init__(self, limit, rational=False):
        self.rational = rational
        self.rule = rule_of(limit, rational)
        self.state = self.rule.NOTHING
        self.changes = []
        self.now = None  # the store's clock
        self.settled = []  # for changes that a log takes part in: the moments they were first looked at
        self.last = 0  # of the log the key has, or had under an earlier limit: "a reset does not move last back"

    def copy(self):
        other = copy(self)
        other.changes = list(self.changes)
        other.settled = list(self.settled)
        return other

    def set_limit(self, limit, s):
        if limit == self.rule.limit:
            return
        new = rule_of(limit, self.rational)
        if self.state != self.rule.NOTHING or self.changes:
            self.changes.append((self.rule, new, s))
        else:
            self.state = new.NOTHING
        self.rule = new

    def may_change(self):
        """Whether the rule book says what becomes of the key after one more change without a use.

        "A key last used under a limit that this limiter does not remember": not when a later limit looks like it,
        nor when the forgotten one is on a calendar, whose windows are then unknown.
        """
        if len(self.changes) < CHANGES_KEPT:
            return True
        first = self.changes[0][0]
        return not first.limit.is_calendar() and all(alike(first) != alike(new) for _, new, _ in self.changes)

    def _is_log_changed(self):
        return any(is_log(old) or is_log(new) for old, new, _ in self.changes)

    def clear_time(self, t):
        """t, or the next best time at which the rule book says what is seen.

        A first look may move the units of a log, whatever comes of it.  So until something is written, what is seen
        when the changes count from other moments than at the first look is open.
        """
        for (_, _, s), settled in zip(self.changes, self.settled):
            if settled_at(s, t) != settled:
                t = settled
        return t

    def seen_at(self, t, is_peek=False):
        """The state as the current rule sees it at t."""
        if self._is_log_changed():
            self.settled += [settled_at(s, t) for _, _, s in self.changes[len(self.settled):]]
        state = self._forgotten(t, is_peek) if len(self.changes) > CHANGES_KEPT else self._walked(t)
        return self._as_log(state, t) if is_log(self.rule) else state

    def _as_log(self, state, t):
        """'The first use of a log after a change from another kind, or to a larger count, moves its units, whatever
        comes of it; when nothing is owed, nothing is moved.'"""
        is_other = any(not is_log(old) for old, _, _ in self.changes)
        is_larger = any(old.capacity < new.capacity for old, new, _ in self.changes)
        if is_other and state:
            # "A log that the key had before keeps its last: units are moved to max(s, last)"
            state = self.rule.moved(state, self.last)
        if is_other or is_larger and state and self.rule.owed(state, t):
            self._write(None, state)
        return ((), self.last, False) if state is None and self.last else state

    def _forgotten(self, t, is_peek):
        """'Settled at its next use instead, straight into the limit in force; that is written even when the use is
        a denial. (Settled at the store's time now, when that is at most an hour after t.)'"""
        s = self.now if self.now is not None and t <= self.now <= t + HOUR else t
        state = carry(self.changes[0][0], self.rule, self.state, s)
        # "A window of which only the count differs stays where it is until something is charged."
        is_same_window = not is_log(self.rule) and self.rule.limit.algorithm not in BUCKETS and \
            self.changes[0][0].limit.algorithm == self.rule.limit.algorithm and \
            self.rule.is_same_but_count(self.changes[0][0])
        if not is_peek and not is_same_window:
            self.state = state  # also when nothing is owed: it is not settled again at another time
            self.changes.clear()
            self.settled = []
            self.last = state[1] if is_log(self.rule) and state else self.last
        return state

    def _walked(self, t):
        """'A key not used while limits went from A to others and back to A, which is in force now, owes the larger
        of two: what walking through the changes gives, and what it owes if A had been in force all the time.'"""
        state = self.state
        for old, new, s in self.changes:
            state = carry(old, new, state, settled_at(s, t))
        if not self._has_come_back():
            return state
        return max(state, self.state, key=lambda each: self.rule.weight(each, t))

    def _has_come_back(self):
        """Not for a log: 'its times speak for themselves'."""
        return bool(self.changes) and is_same(self.changes[0][0], self.rule) and not is_log(self.rule)

    def _write(self, before, after):
        # What writes nothing leaves the changes still to be carried, too.
        if after != before:
            self.state = after
            self.changes.clear()
            self.settled = []
            if is_log(self.rule):
                self.last = after[1]

    def take(self, t, n=1):
        before = self.seen_at(t)
        decision, after = self.rule.take(before, t, n)
        self._write(before, after)
        return decision

    def peek(self, t, n=1):
        return self.rule.peek(self.seen_at(t, True), t, n)

    def reserve(self, t, n=1, wait_max=0):
        before = self.seen_at(t)
        decision, after = self.rule.reserve(before, t, n, wait_max)
        self._write(before, after)
        return decision

    def refund(self, t, n=1):
        before = self.seen_at(t)
        decision, after = self.rule.refund(before, t, n)
        self._write(before, after)
        return decision

    def reset(self):
        self.state = self.rule.NOTHING
        self.changes.clear()
        self.settled = []

    def is_exact_at(self, t):
        """Whether the waits told at t are counted from t itself (they are not when time went back)."""
        state = self.copy().seen_at(t)
        is_settled_later = len(self.changes) > CHANGES_KEPT or any(t < s for _, _, s in self.changes)
        # Of two states the larger may be another one later.
        return not is_settled_later and not self._has_come_back() and not self.rule.stale(state, t)

# SPDX-License-Identifier: Apache-2.0
"""What every algorithm of the model shares.

A rule is one limit's algorithm.  It is pure: it takes a state and gives back a
decision and the next state, and never changes a state in place.  NOTHING is a
key never seen.  The sentences in quotes are those of docs/algorithms.md.
"""
from typing import NamedTuple

NEVER = 2**64 - 1
SECOND = 10**9
TIME_MAX = 4102444800 * SECOND
TEN_YEARS = 315576000 * SECOND
PERIOD_MAX = 2**62 - 1


class Decision(NamedTuple):
    allowed: bool
    limit: int
    remaining: int
    wait: int
    retry: int
    reset: int


def ceil_div(a, b):
    return -(-a // b)


class Rule:
    """Subclasses give show, retry, charge, book, undo, owed, owing, stale."""

    NOTHING = None

    def __init__(self, limit):
        self.limit = limit
        self.capacity = limit.burst or limit.count

    def take(self, state, t, n):
        verdict, retry = self._verdict(state, t, n)
        after = self.charge(state, t, n) if verdict and n else state
        return self._tell(after, t, verdict, 0, retry), after

    def peek(self, state, t, n):
        """take's verdict and waits, "but remaining and reset_after are of the state as it is"."""
        verdict, retry = self._verdict(state, t, n)
        return self._tell(state, t, verdict, 0, retry)

    def reserve(self, state, t, n, wait_max):
        if n == 0:
            return self._tell(state, t, True, 0, 0), state
        if n > self.capacity:
            return self._tell(state, t, False, 0, NEVER), state
        wait, retry, after = self.book(state, t, n, min(wait_max, TEN_YEARS))
        if retry:
            return self._tell(state, t, False, 0, retry), state
        return self._tell(after, t, True, wait, 0), after

    def refund(self, state, t, n):
        after = self.undo(state, t, n) if n and state != self.NOTHING else state
        return self._tell(after, t, True, 0, 0), after

    def weight(self, state, t):
        """What is owed, to compare two states of one key.  "An emptied window that was booked and has not begun is
        more than nothing"."""
        return self.owed(state, t), self.show(state, t)[1] > 0

    def _verdict(self, state, t, n):
        if n == 0:
            return True, 0
        if n > self.capacity:
            return False, NEVER
        retry = self.retry(state, t, n)
        return not retry, retry

    def _tell(self, state, t, allowed, wait, retry):
        remaining, reset = self.show(state, t)
        return Decision(allowed, self.capacity, remaining, wait, retry, reset)

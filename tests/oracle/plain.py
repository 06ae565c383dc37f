# SPDX-License-Identifier: Apache-2.0
"""The algorithms once more, as a textbook states them: slow, with fractions and plain lists.

Only takes, and time only forward.  These check the model, which is written in
another form: whole numbers, one moment instead of a token count, closed
formulas for the waits instead of a search.
"""
from fractions import Fraction

from rule import NEVER, Decision


def first_moment(holds, low, high):
    """The smallest moment in (low, high] at which holds, which never turns false again; holds(high) is true."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


class Plain:
    def __init__(self, limit):
        self.limit = limit
        self.count, self.period = limit.count, limit.period_ns
        self.capacity = limit.burst or limit.count

    def take(self, t, n):
        allowed, retry = n <= self.available(t), 0
        if allowed:
            self.charge(t, n)
        elif n > self.capacity:
            retry = NEVER
        else:
            retry = self._wait(lambda at: n <= self.available(at), t)
        reset = 0 if self.is_new(t) else self._wait(self.is_new, t)
        return Decision(allowed, self.capacity, max(0, int(self.available(t) // 1)), 0, retry, reset)

    def _wait(self, holds, t):
        high = t + 1
        while not holds(high):
            high = t + 2 * (high - t)
        return first_moment(holds, t, high) - t


class PlainBucket(Plain):
    """tokens = min(capacity, tokens + elapsed * rate)"""

    def __init__(self, limit):
        super().__init__(limit)
        self.tokens, self.at = Fraction(self.capacity), 0

    def available(self, t):
        return min(Fraction(self.capacity), self.tokens + Fraction((t - self.at) * self.count, self.period))

    def charge(self, t, n):
        self.tokens, self.at = self.available(t) - n, t

    def is_new(self, t):
        return self.available(t) == self.capacity


class PlainFixed(Plain):
    def __init__(self, limit):
        super().__init__(limit)
        self.used = {}

    def available(self, t):
        return self.count - self.used.get(t // self.period, 0)

    def charge(self, t, n):
        self.used = {t // self.period: self.used.get(t // self.period, 0) + n}

    def is_new(self, t):
        return self.available(t) == self.count


class PlainSliding(PlainFixed):
    """estimated = current_count + previous_count * (1 - elapsed_in_current / window)"""

    def available(self, t):
        i = t // self.period
        overlap = 1 - Fraction(t % self.period, self.period)
        return self.count - self.used.get(i, 0) - self.used.get(i - 1, 0) * overlap

    def charge(self, t, n):
        self.used[t // self.period] = self.used.get(t // self.period, 0) + n

    def is_new(self, t):
        i = t // self.period
        return not self.used.get(i, 0) and not self.used.get(i - 1, 0)


class PlainLog(Plain):
    def __init__(self, limit):
        super().__init__(limit)
        self.times = []

    def available(self, t):
        return self.count - sum(1 for e in self.times if t - e < self.period)

    def charge(self, t, n):
        self.times += [t] * n

    def is_new(self, t):
        return self.available(t) == self.count


PLAIN = {"token_bucket": PlainBucket, "leaky_bucket": PlainBucket, "fixed_window": PlainFixed,
         "sliding_window": PlainSliding, "sliding_log": PlainLog}

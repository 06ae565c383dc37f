# SPDX-License-Identifier: Apache-2.0
"""Token bucket and leaky bucket.

The state is F, the moment the bucket is full again, in ticks; 0 is a key never
seen.  `rational` counts in ticks of 1/c ns whatever c is: then a unit costs
exactly p ticks, t is exactly t * c ticks, and nothing is ever rounded, so whole
numbers are the true rational model scaled by c.
"""
from fractions import Fraction
from math import gcd

from rule import Rule, TEN_YEARS, TIME_MAX, ceil_div


GRIDS = tuple(10**digits for digits in range(1, 10))


def unit_ticks(p, c):
    """E, the whole ticks one unit costs at p/c ns a unit in lowest terms, and the grid at whose times it is exact."""
    if c <= 3:
        return p, 1
    most = 3 * p // c
    for grid in GRIDS:
        step = p // gcd(p, grid)
        # "the largest multiple of m that is at most floor(3p/c)": then grid * cE / p is whole
        if step <= most // 3:
            return most // step * step, grid
    return most, None


class TokenBucket(Rule):
    NOTHING = 0

    def __init__(self, limit, rational=False):
        super().__init__(limit)
        common = gcd(limit.period_ns, limit.count)
        p, c = limit.period_ns // common, limit.count // common
        self.rate = (p, c)
        self.rational = rational
        self.unit, self.grid = (p, 1) if rational else unit_ticks(p, c)
        # ticks per ns, as a fraction in lowest terms
        ticks = Fraction(c * self.unit, p)
        self.num, self.den = ticks.numerator, ticks.denominator
        self.full = self.capacity * self.unit

    def ticks(self, t):
        return t * self.num // self.den

    def ticks_ceil(self, t):
        return ceil_div(t * self.num, self.den)

    def moment(self, tick):
        """The smallest t with ticks(t) >= tick."""
        return ceil_div(tick * self.den, self.num)

    def is_representable(self):
        return self.ticks_ceil(TIME_MAX + TEN_YEARS) + self.full < 2**64

    def debt(self, full_at, t):
        return max(0, full_at - self.ticks(t))

    def show(self, full_at, t):
        d = self.debt(full_at, t)
        if d == 0:
            return self.capacity, 0
        return max(0, self.full - d) // self.unit, self.moment(full_at) - t

    def retry(self, full_at, t, n):
        late = self.debt(full_at, t) + n * self.unit - self.full
        if late <= 0:
            return 0
        return self.moment(full_at + n * self.unit - self.full) - t

    def charge(self, full_at, t, n):
        if full_at <= self.ticks(t):
            return self.ticks_ceil(t) + n * self.unit
        return full_at + n * self.unit

    def book(self, full_at, t, n, wait_max):
        wait = self.retry(full_at, t, n)
        return wait, max(0, wait - wait_max), self.charge(full_at, t, n)

    def undo(self, full_at, t, n):
        # F is "not cut to t: a request with an older time must not find more than the n units".
        if full_at <= self.ticks(t):
            return full_at
        return max(0, full_at - n * self.unit)

    def stale(self, full_at, t):
        return False

    def weight(self, full_at, t):
        return full_at

    def owed(self, full_at, s):
        return ceil_div(self.debt(full_at, s), self.unit)

    def owing(self, units, s):
        return self.ticks_ceil(s) + units * self.unit if units else self.ticks(s)

    def carry(self, old, full_at, s):
        """From another bucket of another rate: what is owed, "at most the new capacity"."""
        d = old.debt(full_at, s)
        if d == 0:
            return self.ticks(s)
        scaled = Fraction(d * self.unit) / old.unit
        if not self.rational:
            scaled = ceil_div(scaled.numerator, scaled.denominator)
        return self.ticks_ceil(s) + min(scaled, self.full)


class LeakyBucket(TokenBucket):
    def book(self, full_at, t, n, wait_max):
        """'The request leaves when all before it have drained.'"""
        wait = max(0, self.moment(full_at) - t)
        retry = max(self.retry(full_at, t, n), wait - wait_max)
        return wait, max(0, retry), self.charge(full_at, t, n)

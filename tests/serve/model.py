# SPDX-License-Identifier: Apache-2.0
"""What CL.THROTTLE must answer, in exact fractions, written from the contract of redis-cell's reply: five integers,
limited, limit, remaining, retry after and reset after, times in seconds rounded up whenever anything is left."""
from fractions import Fraction
from math import ceil, floor

LIMITED, LIMIT, REMAINING, RETRY, RESET = range(5)


class Throttle:
    """One key: the moment at which its bucket will be full again."""

    def __init__(self):
        self.full_at = Fraction(0)

    def __call__(self, now, burst, count, period, quantity=1):
        now = Fraction(now)
        unit = Fraction(period, count)
        capacity = burst + 1
        owed = max(Fraction(0), self.full_at - now)
        allowed = owed + unit * quantity <= unit * capacity
        retry = -1
        if not allowed and quantity <= capacity:
            retry = ceil(owed + unit * quantity - unit * capacity)
        if allowed and quantity > 0:
            owed += unit * quantity
            self.full_at = now + owed
        remaining = max(0, floor((unit * capacity - owed) / unit))
        return [int(not allowed), capacity, remaining, retry, ceil(owed)]

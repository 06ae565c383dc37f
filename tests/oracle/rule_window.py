# SPDX-License-Identifier: Apache-2.0
"""Fixed windows (epoch, first, calendar) and the sliding window counter."""
from rule import Rule, TEN_YEARS, TIME_MAX, ceil_div


def place_bits(width):
    """'bits(floor((t_max + 10 years) / P) + 2)': up to the latest booking and two more."""
    return ((TIME_MAX + TEN_YEARS) // width + 2).bit_length()


class FixedWindow(Rule):
    """The state is (start, used, booked).  Epoch alignment; the others refine it."""

    def is_representable(self):
        return place_bits(self.limit.period_ns) + 1 + self.capacity.bit_length() <= 64

    def place(self, t):
        return t - t % self.limit.period_ns

    def end(self, start):
        return start + self.limit.period_ns

    def next_place(self, start):
        return self.end(start)

    def is_near(self, start, t):
        """Whether a t before start still counts as inside."""
        return False

    def look(self, state, t):
        """(start, used, the moment the request is judged at, whether the window is booked ahead)."""
        if state is None or t >= self.end(state[0]):
            return self.place(t), 0, t, False
        start, used, booked = state
        if t >= start or (not booked and self.is_near(start, t)):
            return start, used, t, False
        return start, used, (t if booked else start), booked

    def show(self, state, t):
        start, used, now, ahead = self.look(state, t)
        if ahead and not used:
            # "A booked window that a refund emptied still has to begin"
            return 0, start - t
        return (0 if ahead else self.capacity - used), (self.end(start) - now if used else 0)

    def retry(self, state, t, n):
        start, used, now, ahead = self.look(state, t)
        if used + n <= self.capacity:
            return start - t if ahead else 0
        return self.end(start) - now

    def charge(self, state, t, n):
        start, used, _, _ = self.look(state, t)
        return (start, used + n, False)

    def book(self, state, t, n, wait_max):
        start, used, now, ahead = self.look(state, t)
        if used + n <= self.capacity:
            wait = start - t if ahead else 0
            return wait, max(0, wait - wait_max), (start, used + n, ahead)
        start_next = self.next_place(start)
        wait = start_next - now
        # "but not longer than to end": there a new window may begin at once, without a booking
        retry = 0 if wait <= wait_max else min(wait - wait_max, self.end(start) - now)
        return wait, retry, (start_next, n, True)

    def undo(self, state, t, n):
        start, used, booked = state
        near = not booked and t < start and self.is_near(start, t)
        if not near and not start <= t < self.end(start):
            return state
        return self.kept((start, max(0, used - n), booked))

    @staticmethod
    def kept(state):
        """An empty window at time 0 is written as word 0, which is a key never seen."""
        return None if not any(state) else state

    def stale(self, state, t):
        return self.look(state, t)[2] != t

    def owed(self, state, s):
        return self.look(state, s)[1]

    def owing(self, units, s):
        return self.kept((self.place(s), units, False))

    def is_same_but_count(self, other):
        a, b = self.limit, other.limit
        return (a.period_ns, a.alignment, a.time_zone) == (b.period_ns, b.alignment, b.time_zone)

    def cut(self, state):
        start, used, booked = state
        return (start, min(used, self.capacity), booked)


class AnchoredWindow(FixedWindow):
    """'A window starts with the first charge after the last one ended, at t rounded up to a multiple of g.'"""

    def __init__(self, limit):
        super().__init__(limit)
        self.grain = 2 ** (62 - min(62, 63 - limit.count.bit_length()))

    def is_representable(self):
        return self.capacity.bit_length() <= 57

    def place(self, t):
        return ceil_div(t, self.grain) * self.grain

    def look(self, state, t):
        """'An emptied window starts anew with the next charge at or after its start.'"""
        if state is not None and state[1] == 0 and t >= state[0]:
            state = None
        return super().look(state, t)

    def next_place(self, start):
        return self.place(self.end(start))

    def is_near(self, start, t):
        return 0 < start - t < self.grain

    def cut(self, state):
        start, used, booked = state
        return (self.place(start), min(used, self.capacity), booked)


class SlidingWindow(Rule):
    """The state is (i, prev, cur, booked)."""

    def __init__(self, limit):
        super().__init__(limit)
        self.period = limit.period_ns

    def is_representable(self):
        return place_bits(self.period) + 1 + 2 * self.capacity.bit_length() <= 64

    def look(self, state, t):
        """(i, prev, cur, the moment it is judged at, whether the window is booked ahead), rolled to t."""
        here = t // self.period
        if state is None or here > state[0] + 1:
            return here, 0, 0, t, False
        i, prev, cur, booked = state
        if here == i + 1:
            return here, cur, 0, t, False
        if here == i:
            return i, prev, cur, t, False
        return i, prev, cur, i * self.period, booked

    def show(self, state, t):
        i, prev, cur, now, ahead = self.look(state, t)
        left = (i + 1) * self.period - now
        remaining = 0 if ahead else max(0, self.capacity - cur - ceil_div(prev * left, self.period))
        origin = t if ahead else now
        if cur:
            return remaining, (i + 2) * self.period - origin
        if prev:
            return remaining, (i + 1) * self.period - origin
        return remaining, (i * self.period - t if ahead else 0)

    def _passes_at(self, i, prev, cur, now, n):
        """The first moment from now on at which n passes, and the window index it falls in."""
        period, room = self.period, self.capacity - n
        if room >= cur:
            # cur * P + n * P + prev * left <= C * P while left more nanoseconds of this window remain
            left = (room - cur) * period // prev if prev else period
            moment = max(now, (i + 1) * period - left)
        else:
            left = room * period // cur
            moment = (i + 2) * period - left
        return moment, moment // period

    def retry(self, state, t, n):
        i, prev, cur, now, ahead = self.look(state, t)
        moment, _ = self._passes_at(i, prev, cur, now, n)
        return moment - (t if ahead else now)

    def charge(self, state, t, n):
        i, prev, cur, _, _ = self.look(state, t)
        return (i, prev, cur + n, False)

    def book(self, state, t, n, wait_max):
        i, prev, cur, now, ahead = self.look(state, t)
        moment, index = self._passes_at(i, prev, cur, now, n)
        wait = moment - (t if ahead else now)
        if index == i:
            after = (i, prev, cur + n, ahead)
        else:
            after = (index, cur if index == i + 1 else 0, n, True)
        return wait, max(0, wait - wait_max), after

    def undo(self, state, t, n):
        i, prev, cur, booked = state
        here = t // self.period
        if here == i:
            cur = max(0, cur - n)
        elif here == i - 1:
            prev = max(0, prev - n)
        return FixedWindow.kept((i, prev, cur, booked))

    def stale(self, state, t):
        _, _, _, now, ahead = self.look(state, t)
        return now != t and not ahead

    def owed(self, state, s):
        i, prev, cur, now, _ = self.look(state, s)
        return cur + ceil_div(prev * ((i + 1) * self.period - now), self.period)

    def owing(self, units, s):
        return FixedWindow.kept((s // self.period, 0, units, False))

    def is_same_but_count(self, other):
        return self.period == other.period

    def cut(self, state):
        i, prev, cur, booked = state
        return (i, min(prev, self.capacity), min(cur, self.capacity), booked)



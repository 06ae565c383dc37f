# SPDX-License-Identifier: Apache-2.0
"""The sliding window log.

The state is (units, last, booked): units is a tuple of (time, how many), oldest
first.
"""
from rule import NEVER, Rule, TEN_YEARS, TIME_MAX

# "Nothing is added at a moment after t_max + 10 years: METE_NEVER."
MOMENT_MAX = TIME_MAX + TEN_YEARS


class SlidingLog(Rule):
    def __init__(self, limit):
        super().__init__(limit)
        self.period = limit.period_ns

    def look(self, state, t):
        """(units that count, their number, the moment it is judged at, whether that is booked ahead)."""
        if state is None:
            return (), 0, t, False
        units, last, booked = state
        now = max(t, last)
        over = now - self.period
        live = units
        if units and units[0][0] <= over:
            live = tuple(u for u in units if u[0] > over)
        return live, sum(u[1] for u in live), now, booked and t < last

    def show(self, state, t):
        live, used, now, ahead = self.look(state, t)
        if ahead and not live:
            # What a refund emptied still has to begin, as a booked window does.
            return 0, now - t
        origin = t if ahead else now
        # "A lower count drops none: remaining is 0 until enough are over."
        return (0 if ahead else max(0, self.capacity - used)), (live[-1][0] + self.period - origin if live else 0)

    def _passes_at(self, live, used, now, n):
        surplus = used + n - self.capacity
        if surplus <= 0:
            return now
        for time, units in live:
            surplus -= units
            if surplus <= 0:
                return time + self.period
        raise AssertionError("n is at most the capacity")

    def retry(self, state, t, n):
        live, used, now, ahead = self.look(state, t)
        moment = self._passes_at(live, used, now, n)
        return NEVER if moment > MOMENT_MAX else moment - (t if ahead else now)

    @staticmethod
    def _add(live, moment, n):
        if live and live[-1][0] == moment:
            return live[:-1] + ((moment, live[-1][1] + n),)
        return live + ((moment, n),)

    def charge(self, state, t, n):
        live, _, now, _ = self.look(state, t)
        return (self._add(live, now, n), now, False)

    def book(self, state, t, n, wait_max):
        live, used, now, ahead = self.look(state, t)
        moment = self._passes_at(live, used, now, n)
        if moment > MOMENT_MAX:
            return 0, NEVER, state
        wait = moment - (t if ahead else now)
        return wait, max(0, wait - wait_max), (self._add(live, moment, n), moment, ahead or moment > now)

    def undo(self, state, t, n):
        _, used, _, _ = self.look(state, t)
        removed = min(n, used)
        units = list(state[0])
        while removed:
            time, count = units.pop()
            if count > removed:
                units.append((time, count - removed))
            removed -= min(count, removed)
        return (tuple(units), state[1], state[2])

    def stale(self, state, t):
        _, _, now, ahead = self.look(state, t)
        return now != t and not ahead

    def owed(self, state, s):
        return self.look(state, s)[1]

    def owing(self, units, s):
        return (((s, units),) if units else (), s, False)

    def carry(self, old, state, s):
        """From a log: "those over at s under the old period are dropped. A lower count drops none"."""
        return (old.look(state, s)[0], state[1], state[2])

    def moved(self, state, last):
        """The units in a log whose newest time was last: none is older than that."""
        if not state[0]:
            return None
        late = tuple(u for u in state[0] if u[0] > last)
        early = sum(u[1] for u in state[0] if u[0] <= last)
        return (((last, early),) if early else ()) + late, max(state[1], last), False

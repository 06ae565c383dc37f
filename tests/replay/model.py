# SPDX-License-Identifier: Apache-2.0
"""Exact decisions per key, and a replay's totals, in whole numbers.

Written from docs/algorithms.md alone.  Only `take` is modelled: a replay does
nothing else.  A denial writes nothing, so nothing is forgotten before a charge:
a later, older request must find the state as the last charge left it.
"""

import datetime
import math
import re
import zoneinfo
from collections import Counter, deque, namedtuple

NS = 10**9
UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": NS, "m": 60 * NS, "h": 3600 * NS,
            "d": 86400 * NS, "w": 7 * 86400 * NS}
UNITS_NS |= {word + plural: UNITS_NS[word[0]] for word in ("second", "minute", "hour", "day", "week")
             for plural in ("", "s")}

Limit = namedtuple("Limit", "algorithm count period_ns burst alignment zone")


def parse_limit(text):
    """[ALGORITHM] COUNT/PERIOD [burst N] [anchored | calendar] [zone NAME]"""
    words = text.split()
    algorithm = "token_bucket" if "/" in words[0] else words.pop(0)
    algorithm = "token_bucket" if algorithm == "gcra" else algorithm
    count, period = words.pop(0).split("/")
    burst, alignment, zone = 0, "epoch", "UTC"
    while words:
        word = words.pop(0)
        if word == "burst":
            burst = int(words.pop(0))
        elif word == "zone":
            zone = words.pop(0)
        elif word in ("anchored", "calendar"):
            alignment = word
        else:
            raise ValueError(f"limit: {word}")
    if alignment == "calendar":
        return Limit(algorithm, int(count), 0, 0, period, zone)
    number, unit = re.fullmatch(r"(\d*)([a-z]+)", period).groups()
    return Limit(algorithm, int(count), int(number or 1) * UNITS_NS[unit], burst, alignment, zone)


def make(limit):
    """One key's state, never seen yet: an object with take(time_ns, cost)."""
    if limit.algorithm in ("token_bucket", "leaky_bucket"):
        return Bucket(limit)
    if limit.algorithm == "fixed_window":
        if limit.alignment == "epoch":
            return EpochWindow(limit)
        return AnchoredWindow(limit) if limit.alignment == "anchored" else CalendarWindow(limit)
    return {"sliding_window": SlidingWindow, "sliding_log": SlidingLog}[limit.algorithm](limit)


class Replay:
    """Decides (line, key, time_ns, cost) in order and counts what came out."""

    def __init__(self, text):
        self.limit = parse_limit(text)
        self.states = {}
        self.requests = self.allowed = self.denied = self.skipped = 0
        self.units_allowed = self.units_denied = self.denied_forever = 0
        self.steps_back = self.step_back_max_ns = 0
        self.first_ns = self.last_ns = self.before_ns = None
        self.denied_of = Counter()
        self.requests_of = Counter()

    def feed(self, entries):
        for entry in entries:
            if len(entry) == 2:
                self.skipped += 1
            else:
                self.decide(*entry[1:])
        return self

    def decide(self, key, time_ns, cost):
        state = self.states.get(key)
        if state is None:
            state = self.states[key] = make(self.limit)
        self.requests += 1
        self.requests_of[key] += 1
        self.see_time(time_ns)
        if state.take(time_ns, cost):
            self.allowed += 1
            self.units_allowed += cost
        else:
            self.denied += 1
            self.units_denied += cost
            self.denied_of[key] += 1
            self.denied_forever += cost > (self.limit.burst or self.limit.count)

    def see_time(self, time_ns):
        if self.before_ns is None:
            self.first_ns = self.last_ns = self.before_ns = time_ns
        if time_ns < self.before_ns:
            self.steps_back += 1
            self.step_back_max_ns = max(self.step_back_max_ns, self.before_ns - time_ns)
        self.first_ns, self.last_ns = min(self.first_ns, time_ns), max(self.last_ns, time_ns)
        self.before_ns = time_ns

    def totals(self):
        names = ("requests", "allowed", "denied", "skipped", "units_allowed", "units_denied", "denied_forever",
                 "steps_back", "step_back_max_ns")
        return {"keys": len(self.states)} | {name: getattr(self, name) for name in names}


def unit_ticks(p, c):
    """Whole ticks that one unit costs: p when they are exact, else so many that round times are whole ticks."""
    if c <= 3:
        return p
    most = 3 * p // c
    for digits in range(1, 10):
        step = p // math.gcd(p, 10**digits)
        if step <= most // 3:
            return most - most % step
    return most


class Bucket:
    """Token bucket, and leaky bucket as a meter: the two take alike.

    full: the tick at which the bucket is full again; 0 for never seen.
    """

    def __init__(self, limit):
        gcd = math.gcd(limit.period_ns, limit.count)
        self.p = limit.period_ns // gcd
        c = limit.count // gcd
        self.unit = unit_ticks(self.p, c)
        self.scale = c * self.unit  # ticks = ns * scale / p
        self.burst = limit.burst or limit.count
        self.full = 0

    def take(self, t, n):
        if n == 0:
            return True
        now = t * self.scale // self.p
        if self.full <= now:
            if n > self.burst:
                return False
            self.full = -(-t * self.scale // self.p) + n * self.unit
            return True
        if self.full - now + n * self.unit > self.burst * self.unit:
            return False
        self.full += n * self.unit
        return True


class Window:
    """A fixed window: `place` orders the windows, `used` counts in the stored one."""

    def __init__(self, limit):
        self.count = limit.count
        self.place = None
        self.used = 0

    def take(self, t, n):
        if n == 0:
            return True
        place, used = self.place_of(t), 0
        if self.place is not None and place <= self.place:
            place, used = self.place, self.used  # also when time went back
        if used + n > self.count:
            return False
        self.place, self.used = place, used + n
        return True


class EpochWindow(Window):
    def __init__(self, limit):
        super().__init__(limit)
        self.period_ns = limit.period_ns

    def place_of(self, t):
        return t // self.period_ns


class CalendarWindow(Window):
    """day, week (from Monday), month or year of a time zone."""

    def __init__(self, limit):
        super().__init__(limit)
        self.unit = limit.alignment
        self.zone = zoneinfo.ZoneInfo(limit.zone)

    def place_of(self, t):
        day = datetime.datetime.fromtimestamp(t // NS, self.zone).date()
        return {"day": day.toordinal(), "week": (day.toordinal() - 1) // 7,  # ordinal 1 is a Monday
                "month": day.year * 12 + day.month, "year": day.year}[self.unit]


class AnchoredWindow(Window):
    """Starts at the first charge, rounded up to what a word can hold; place is the start."""

    def __init__(self, limit):
        super().__init__(limit)
        self.period_ns = limit.period_ns
        self.grain = 2 ** (62 - min(62, 63 - limit.count.bit_length()))

    def place_of(self, t):
        if self.place is not None and t < self.place + self.period_ns:
            return self.place
        return -(-t // self.grain) * self.grain


class SlidingWindow:
    def __init__(self, limit):
        self.count, self.period_ns = limit.count, limit.period_ns
        self.index, self.prev, self.cur = None, 0, 0

    def take(self, t, n):
        if n == 0:
            return True
        index, prev, cur = self.rolled(t)
        left = self.period_ns - max(0, t - index * self.period_ns)
        if (cur + n) * self.period_ns + prev * left > self.count * self.period_ns:
            return False
        self.index, self.prev, self.cur = index, prev, cur + n
        return True

    def rolled(self, t):
        index = t // self.period_ns
        if self.index is None or index >= self.index + 2:
            return index, 0, 0
        if index == self.index + 1:
            return index, self.cur, 0
        return self.index, self.prev, self.cur


class SlidingLog:
    def __init__(self, limit):
        self.count, self.period_ns = limit.count, limit.period_ns
        self.taken = deque()  # (time, units), oldest first
        self.units = 0        # in all of taken
        self.last = 0

    def take(self, t, n):
        if n == 0:
            return True
        t = max(t, self.last)
        over, over_units = 0, 0
        for time, units in self.taken:
            if t - time < self.period_ns:
                break
            over += 1
            over_units += units
        if self.units - over_units + n > self.count:
            return False
        for _ in range(over):
            self.taken.popleft()
        self.taken.append((t, n))
        self.units += n - over_units
        self.last = t
        return True

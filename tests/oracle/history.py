# SPDX-License-Identifier: Apache-2.0
"""Random limits and random histories, driven by the model towards the moments that matter."""
import random

from harness import NOW, Step, World
from model import ALGORITHMS, BUCKETS, HOUR, NEVER, PERIOD_MAX, TEN_YEARS, TIME_MAX, Limit, rule_of
from rule_calendar import UNITS, changes_near

SECOND = 10**9
DAY = 86400 * SECOND
UNIX_NOW = 1796000000 * SECOND
ZONES = ("", "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe",
         "America/St_Johns", "Pacific/Apia", "America/Sao_Paulo", "Asia/Kolkata", "Africa/Monrovia", "Africa/Cairo",
         "America/Havana")


def log_uniform(rng, low, high):
    """Every number of digits as likely as any other."""
    if high <= low:
        return low
    bits = rng.randint(low.bit_length(), high.bit_length())
    return min(high, max(low, rng.getrandbits(max(bits, 1)) | 1 << max(bits - 1, 0)))


def random_rate(rng):
    """(count, period_ns) anywhere between 1 per 10 years and 1e9 per second."""
    kind = rng.randrange(8)
    if kind == 0:
        period = log_uniform(rng, 1, PERIOD_MAX)
        return log_uniform(rng, max(1, -(-period // TEN_YEARS)), period), period
    if kind == 1:
        return rng.choice((1, 2, 5, 10, 60, 100, 1000)), rng.choice((1, 60, 3600, 86400)) * SECOND
    if kind == 2:
        c, p = rng.choice((1, 2, 3)), log_uniform(rng, 3, TEN_YEARS)
        k = log_uniform(rng, 1, PERIOD_MAX // p)
        return c * k, p * k
    if kind == 3:
        count = log_uniform(rng, 4, 10**6)
        return count, count * log_uniform(rng, 1, min(TEN_YEARS - 1, PERIOD_MAX // count - 1)) + rng.randint(1, 3)
    if kind == 4:
        return rng.choice(((1, TEN_YEARS), (1, 1), (SECOND, SECOND), (PERIOD_MAX, PERIOD_MAX), (15, PERIOD_MAX),
                           (3, 10), (7, 7), (4, 5), (7, SECOND), (1, 3), (SECOND - 1, SECOND)))
    if kind == 5:
        return rng.randint(1, 20), rng.randint(20, 400)
    count = rng.choice((7, 11, 13, 30, 60, 97, 101, 997, 9973))
    return count, rng.choice((1, 60, 3600)) * SECOND + rng.choice((0, 0, 1, 7))


def random_burst(rng, limit):
    """0, small, or up to the very largest that can be represented."""
    kind = rng.randrange(6)
    if kind == 0:
        return 0
    if kind <= 3:
        return rng.choice((1, 2, 3, 5, 10, 100))
    rule = rule_of(limit._replace(burst=1))
    room = 2**64 - 1 - rule.ticks_ceil(TIME_MAX + TEN_YEARS)
    most = max(1, room // rule.unit)
    return most if kind == 4 else log_uniform(rng, 1, most)


def random_limit(rng, algorithm, mode, count_max=None):
    while True:
        count, period = random_rate(rng)
        if algorithm == "fixed_window" and mode == "store" and rng.random() < 0.4:
            count = min(count, 2**30 - 1) if rng.random() < 0.5 else rng.randint(1, 10)
            return Limit(algorithm, count, 0, 0, rng.choice(UNITS), rng.choice(ZONES))
        if algorithm == "sliding_window" and rng.random() < 0.7:
            count = min(count, log_uniform(rng, 1, 2**20))
        if count_max and count > count_max:
            count = rng.randint(1, count_max)
        limit = Limit(algorithm, count, period)
        if algorithm in BUCKETS:
            limit = limit._replace(burst=random_burst(rng, limit))
        elif algorithm == "fixed_window":
            limit = limit._replace(alignment=rng.choice(("epoch", "first")))
        if limit.check() == "ok":
            return limit


def any_limit(rng):
    """Any limit at all, most of them about some bound."""
    algorithm = rng.choice(ALGORITHMS)
    period = rng.choice((log_uniform(rng, 1, 2**63), 2 ** rng.randint(0, 62) - rng.randint(0, 1), PERIOD_MAX,
                         PERIOD_MAX + 1, TEN_YEARS, TEN_YEARS + 1, 0))
    least = -(-period // TEN_YEARS)
    count = rng.choice((log_uniform(rng, 1, max(1, period)), 2 ** rng.randint(0, 62) - rng.randint(0, 1), period,
                        period + 1, least, max(0, least - 1), 1048575, 1048576, 2**30 - 1, 2**30, 0))
    if rng.random() < 0.5:
        count, period = random_rate(rng)
    limit = Limit(algorithm, count, period)
    if algorithm in BUCKETS:
        burst = rng.choice((0, log_uniform(rng, 1, 2**64 - 1)))
        if rng.random() < 0.5 and limit._replace(burst=1).check() == "ok":
            burst = random_burst(rng, limit)
        limit = limit._replace(burst=burst)
    if algorithm == "fixed_window":
        limit = limit._replace(alignment=rng.choice(("epoch", "first") + UNITS))
        if limit.is_calendar():
            limit = limit._replace(period_ns=0, time_zone=rng.choice(ZONES))
            if rng.random() < 0.1:
                limit = limit._replace(count=10, time_zone=rng.choice(("Nowhere/Land", "../etc/passwd", "europe")))
    if rng.random() < 0.05:
        limit = limit._replace(**rng.choice(({"burst": 1}, {"alignment": "first"}, {"time_zone": "UTC"},
                                             {"period_ns": 5}, {"alignment": "day"})))
    return limit


class Walk:
    """One history: self.steps and, step by step, what the model says: self.expected.

    The waits the model tells are tried at once on copies and kept as later times
    of the walk.  A wait that does not keep its promise is a fault of the model
    or the rule book and ends in self.broken.
    """

    def __init__(self, seed, algorithm, mode, length, changes=False):
        self.rng = random.Random(seed)
        self.mode = mode
        self.algorithm = algorithm
        self.changes = changes
        self.world = World(mode)
        self.steps, self.expected, self.broken = [], [], []
        self.changed = 0
        # A log keeps a number per unit: counts stay small enough to build many logs.
        self.count_max = self.rng.choice((5, 20, 200, 3000)) if algorithm == "sliding_log" or changes else None
        self.limit = random_limit(self.rng, algorithm, mode, self.count_max)
        self.t = self.start = self._start()
        self.clock = self.rng.choice((0, self.t)) if mode == "store" else 0
        self.marks, self.past = [self.t], [self.limit]
        self.keys = 1 if mode == "word" or self.rng.random() < 0.6 else 3
        self.emit(Step("N", t=self.clock, n=4096))
        self.emit(Step("L", limit=self.limit))
        while len(self.steps) < length:
            self._step()

    def _start(self):
        rng = self.rng
        period = self.limit.period_ns or DAY
        kind = rng.randrange(6)
        if self.limit.is_calendar() and rng.random() < 0.4:
            at = rng.choice(changes_near(self.limit.time_zone, rng.randint(0, TIME_MAX // SECOND)))
            return max(0, min(TIME_MAX, at * SECOND + rng.randint(-DAY, DAY)))
        if kind == 0:
            return rng.choice((0, 1, rng.randint(0, 10 * min(period, DAY))))
        if kind <= 3:
            grain = rng.choice((1, 1000, 10**6, SECOND))
            return (UNIX_NOW + rng.randint(0, 365 * DAY)) // grain * grain
        if kind == 4:
            return TIME_MAX - log_uniform(rng, 1, 20 * 365 * DAY)
        return rng.randint(0, TIME_MAX)

    def emit(self, step):
        assert self.world.is_clear(step)
        expected = self.world.apply(step)
        self.steps.append(step)
        self.expected.append(expected)
        return expected

    @property
    def slot(self):
        return self.changed if self.mode == "word" else 0

    def _key(self, number):
        return self.world.key_of(Step("p", key=number, slot=self.slot))

    def _step(self):
        rng = self.rng
        number = rng.randrange(self.keys)
        self.t = self._clear_time(number, self._next_time())
        may_change = self.mode == "store" and not self._has_many_logs() or self.changed < 7
        if rng.random() < 0.04 and self.changes and may_change:
            self._change(number)
            # Now and then so many that the limiter no longer remembers where the key was last used.
            again = rng.choice((0.4, 0.4, 0.4, 0.4, 0.95))
            while self.mode == "store" and rng.random() < again and not self._has_many_logs():
                self.t = self._next_time() if rng.random() < 0.5 else self.t
                self._change(number)
            return None
        if self.mode == "store" and rng.random() < 0.1:
            return self._extra(number)
        roll = rng.random()
        if roll < 0.08:
            at = self._clear_time(number, rng.choice(self.marks)) if rng.random() < 0.5 else self.t
            self.emit(Step("f", t=at, n=self._cost(number), key=number, slot=self.slot))
        elif roll < 0.28:
            self._decide("r", number)
        else:
            self._decide("t" if roll < 0.92 else "p", number)

    def _next_time(self):
        rng, t = self.rng, self.t
        period = self.limit.period_ns or rng.choice((60 * SECOND, DAY, 31 * DAY))
        roll = rng.random()
        if roll < 0.32:
            return t
        if roll < 0.38:
            t += 1
        elif roll < 0.50:
            t += log_uniform(rng, 1, period)
        elif roll < 0.64:
            t += rng.randint(0, 3 * period // (self.limit.count or 1) + 1)
        elif roll < 0.80:
            t = rng.choice(self.marks[-6:]) + rng.choice((-1, 0, 0, 1))
        elif roll < 0.88:
            t = (t // period + rng.choice((1, 1, 2))) * period + rng.choice((-1, 0, 0, 1))
        elif roll < 0.885:
            t += log_uniform(rng, DAY, 30 * 365 * DAY)
        elif roll < 0.89 or self.changed and roll < 0.93:
            t = self.clock - rng.choice((0, 1, rng.randint(0, HOUR), HOUR, HOUR + 1))
        elif roll < 0.90 or t == TIME_MAX and roll < 0.97:
            t = self.start
        elif roll < 0.97:
            t -= log_uniform(rng, 1, min(t, 2 * period) + 1)
        elif roll < 0.975:
            t = rng.choice((0, TIME_MAX, TIME_MAX - 1, rng.randint(0, TIME_MAX)))
        else:
            t += rng.randint(0, 3 * period)
        return max(0, min(t, TIME_MAX))

    def _has_many_logs(self):
        """Logs that the limiter has forgotten (after 8 changes) are not compared: a ring or a cell, whichever owes
        more, may then count."""
        return len(self.past) > 8 and any(limit.algorithm == "sliding_log" for limit in self.past)

    def _clear_time(self, number, t):
        """Once a log or a calendar took part in a change, time does not go back any more: what then stays of their
        own times, seen from before the change, is not compared.  (They alone, and all other changes, are.)"""
        t = self._key(number).clear_time(t)
        if len(self.past) > 1 and any(limit.algorithm == "sliding_log" or limit.is_calendar() for limit in self.past):
            t = max([t, self.clock] + [step.t for step in self.steps[-40:] if step.t is not None and step.t <= TIME_MAX])
        return t

    def _cost(self, number):
        rng = self.rng
        roll = rng.random()
        if roll < 0.45:
            return 1
        capacity = self._key(number).rule.capacity
        if roll < 0.50:
            return 0
        if roll < 0.62:
            return rng.randint(1, 4)
        if roll < 0.72:
            return log_uniform(rng, 1, capacity)
        if roll < 0.82:
            return max(0, capacity + rng.randint(-1, 1))
        if roll < 0.96:
            return self._key(number).copy().peek(self.t, 0).remaining + rng.randint(0, 1)
        return rng.choice((2**64 - 1, 2**63, 2**64 - 1 - rng.randint(0, 9), 2**32, log_uniform(rng, 1, 2**64 - 1)))

    def _decide(self, code, number):
        key, n = self._key(number), self._cost(number)
        wait_max = self._wait_max(key, n) if code == "r" else 0
        exact = key.is_exact_at(self.t)
        step = Step(code, t=self.t, n=n, wait=wait_max, key=number, slot=self.slot)
        decision = self.emit(step).decision
        self.marks += [self.t + w for w in (decision.retry, decision.reset, decision.wait) if 0 < w < NEVER]
        del self.marks[:-12]
        if 0 < decision.retry < NEVER:
            self._retry(step, decision.retry, exact)

    def _wait_max(self, key, n):
        rng = self.rng
        roll = rng.random()
        if roll < 0.2:
            return 0
        if roll < 0.3:
            return rng.choice((NEVER, TEN_YEARS, TEN_YEARS + 1))
        if roll < 0.6:
            return log_uniform(rng, 1, min(TEN_YEARS, 3 * (self.limit.period_ns or DAY)))
        trial = key.copy().reserve(self.t, n, NEVER)
        return max(0, trial.wait + rng.choice((-1, 0, 0, 1, -trial.wait // 2)))

    def _retry(self, step, retry, exact):
        """'At t + retry_after the same request passes, one nanosecond earlier it does not.'"""
        if step.t + retry > TIME_MAX:
            return
        for t, passes in ((step.t + retry - 1, False), (step.t + retry, True)):
            trial = step._replace(t=t, dry=1) if self.mode == "word" else step._replace(t=t, code="p")
            if step.code == "r" and self.mode == "store":
                # Stores have no copies: only the model can try, the library is asked later in the walk.
                decision = self._key(step.key).copy().reserve(t, step.n, step.wait)
            elif not self.world.is_clear(trial):
                continue
            else:
                decision = self.emit(trial).decision
            if exact and decision.allowed != passes:
                self.broken.append((len(self.steps) - 1, self.limit, step, retry, t, decision))

    def _change(self, number):
        limit = self._next_limit()
        if limit.check() != "ok" or self.mode == "store" and not self.world.is_clear(Step("M")):
            return
        self.past.append(limit)
        self.limit = limit
        self.changed += 1
        if self.mode == "word":
            self.emit(Step("L", slot=self.changed, limit=limit))
            self.emit(Step("c", t=self.t, key=number, slot=self.changed - 1, extra=self.changed))
            return
        self._tick()
        self.emit(Step("M", limit=limit))

    def _next_limit(self):
        rng = self.rng
        limit = self.limit
        roll = rng.randrange(7)
        if roll == 6:
            return self._one_field_changed(limit)
        if roll == 0 and limit.algorithm in BUCKETS:
            return limit._replace(burst=random_burst(rng, limit), algorithm=rng.choice(BUCKETS))
        if roll <= 2 and limit.algorithm not in BUCKETS:
            return limit._replace(count=max(1, limit.count * rng.randint(1, 20) // 10))
        if roll == 3 and self.mode == "store":
            return rng.choice(self.past[-3:])
        kinds = ALGORITHMS if self.mode == "store" else ALGORITHMS[:4]
        return random_limit(rng, limit.algorithm if roll == 4 else rng.choice(kinds), self.mode, self.count_max)

    def _one_field_changed(self, limit):
        """The same figures under another name, or a calendar limit with another zone or unit."""
        rng = self.rng
        if limit.is_calendar():
            return limit._replace(**rng.choice(({"time_zone": rng.choice(ZONES)}, {"alignment": rng.choice(UNITS)})))
        algorithm = rng.choice(ALGORITHMS if self.mode == "store" else ALGORITHMS[:4])
        alignment = rng.choice(("epoch", "first")) if algorithm == "fixed_window" else "epoch"
        return limit._replace(algorithm=algorithm, alignment=alignment, burst=limit.burst * (algorithm in BUCKETS))

    def _tick(self):
        """The store's clock never goes back; it may stay behind the requests."""
        if self.t > self.clock and self.rng.random() < 0.9:
            self.clock = self.t
            self.emit(Step("K", t=self.clock))

    def _extra(self, number):
        rng = self.rng
        roll = rng.randrange(4)
        if roll == 0:
            self.emit(Step("x", key=number))
        elif roll == 1:
            self._tick()
            step = Step("t", t=NOW, n=self._cost(number), key=number)
            if self.world.is_clear(step):
                self.emit(step)
        elif roll == 2:
            self._tick()
        else:
            takes = rng.randint(1, 6)
            self.emit(Step("b", extra=takes))
            for _ in range(takes):
                key = rng.randrange(self.keys)
                self.emit(Step("t", t=self._clear_time(key, self.t), n=self._cost(key), key=key))

# SPDX-License-Identifier: Apache-2.0
"""The examples everyone knows, through the library: the textbook's own token bucket and its printed
trace, the sliding window counter worked out by hand, and the burst around a window's boundary.
"""
import random
import unittest
from math import gcd

from harness import Driver, Step
from model import ALGORITHMS, Limit

SECOND = 10**9
MINUTE = 60 * SECOND
MS = 10**6
driver = None


def ask(limit, requests, mode="store"):
    """Decisions of takes (t, n) on one fresh key."""
    steps = [Step("N", t=0, n=1000), Step("L", limit=limit)] + [Step("t", t=t, n=n) for t, n in requests]
    replies = driver.run(mode, steps)
    assert all(r.status == 0 for r in replies), [r.status for r in replies if r.status]
    return [r.decision for r in replies[2:]]


class TextbookBucket:
    """Tokens in thousandths, whole milliseconds: the class of the printed program, in Python."""

    def __init__(self, capacity, refill_per_s, now_ms):
        self.capacity_milli, self.refill_per_s = capacity * 1000, refill_per_s
        self.tokens_milli, self.last_ms = capacity * 1000, now_ms

    def allow(self, now_ms):
        self.tokens_milli = min(self.tokens_milli + (now_ms - self.last_ms) * self.refill_per_s, self.capacity_milli)
        self.last_ms = now_ms
        if self.tokens_milli >= 1000:
            self.tokens_milli -= 1000
            return True
        return False


class TokenBucket(unittest.TestCase):
    TRACE = ((0, True), (0, True), (0, True), (0, False), (500, False), (1000, True), (1000, False), (3000, True))

    def test_printed_trace(self):
        for start in (0, 1796000000000):
            for algorithm in ("token_bucket", "leaky_bucket"):
                for mode in ("word", "store"):
                    got = ask(Limit(algorithm, 1, SECOND, 3), [((start + ms) * MS, 1) for ms, _ in self.TRACE], mode)
                    self.assertEqual([d.allowed for d in got], [allowed for _, allowed in self.TRACE])

    def test_same_as_the_textbook_bucket(self):
        rng = random.Random(1)
        compared = 0
        for _ in range(300):
            refill = rng.choice((1, 2, 3, 4, 5, 6, 10, 15, 30, 60, 100, 300, 1000, 3000))
            self.assertLessEqual(refill // gcd(refill, SECOND), 3)
            capacity, ms = rng.randint(1, 20), rng.choice((0, 1, 1796000000123))
            bucket, times, want = TextbookBucket(capacity, refill, ms), [], []
            for _ in range(100):
                times.append((ms * MS, 1))
                want.append(bucket.allow(ms))
                ms += rng.choice((0, 0, 0, 1, rng.randint(0, 2000 // refill + 1), rng.randint(0, 5000)))
            got = ask(Limit("token_bucket", refill, SECOND, capacity), times)
            self.assertEqual([d.allowed for d in got], want, (refill, capacity))
            compared += len(want)
        print(f"{compared} decisions as the textbook bucket", flush=True)

    def test_a_thousand_and_not_one_more(self):
        start = 1796000000 * SECOND + 123456789
        asks = [(start + i * 400_000, 1) for i in range(1200)]
        got = ask(Limit("token_bucket", 1, SECOND, 1000), asks)
        self.assertEqual([d.allowed for d in got], [True] * 1000 + [False] * 200)
        self.assertEqual(got[1000].retry, SECOND - 1000 * 400_000)


class SlidingWindow(unittest.TestCase):
    """100 per minute, 80 in the window before, 30 so far, 15 s elapsed: 30 + 80 * 0.75 = 90."""

    def test_estimate_is_90(self):
        before = [(10 * SECOND, 80), (61 * SECOND, 1), (70 * SECOND, 29)]
        now = 75 * SECOND
        got = ask(Limit("sliding_window", 100, MINUTE), before + [(now, 0), (now, 1), (now, 10), (now, 9), (now, 1)])
        self.assertEqual([d.allowed for d in got], [True] * 5 + [False, True, False])
        self.assertEqual(got[3].remaining, 100 - 90)
        self.assertEqual(got[4].remaining, 9)


class BoundaryBurst(unittest.TestCase):
    """100 at 0:59.9 and 100 more at 1:00.1 under 100 per minute."""

    def admitted(self, limit):
        asks = [(59_900 * MS, 1)] * 100 + [(60_100 * MS, 1)] * 100
        return sum(d.allowed for d in ask(limit, asks))

    def test_fixed_window_lets_twice_the_count_pass(self):
        self.assertEqual(self.admitted(Limit("fixed_window", 100, MINUTE)), 200)
        self.assertEqual(self.admitted(Limit("fixed_window", 100, 0, 0, "minute")), 200)

    def test_no_other_does(self):
        for algorithm in ALGORITHMS:
            if algorithm != "fixed_window":
                self.assertEqual(self.admitted(Limit(algorithm, 100, MINUTE)), 100, algorithm)
        self.assertEqual(self.admitted(Limit("fixed_window", 100, MINUTE, 0, "first")), 100)


if __name__ == "__main__":
    driver = Driver()
    unittest.main()

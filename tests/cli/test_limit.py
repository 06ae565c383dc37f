# SPDX-License-Identifier: Apache-2.0
"""mete limit: its numbers against exact fractions, and its bounds at the bound."""
import json
import os
import random
import re
import subprocess
import unittest
from fractions import Fraction
from math import ceil

METE = os.environ["METE_BIN"]
SCALE = int(os.environ.get("METE_TEST_SCALE", "1"))
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


def limit(*words):
    return subprocess.run([METE, "limit", *words], capture_output=True, text=True, timeout=60)


def facts(text):
    run = limit("--json", text)
    assert run.returncode == 0, (text, run.stderr)
    return json.loads(run.stdout)


class Buckets(unittest.TestCase):
    def check(self, count, number, unit, burst):
        text = f"{count}/{number}{unit}" + (f" burst {burst}" if burst else "")
        found = facts(text)
        period = number * UNITS[unit]
        capacity = burst or count
        interval = Fraction(period, count)
        self.assertEqual(Fraction(found["unit_ns"], found["unit_parts"]), interval, text)
        self.assertEqual(found["unit_parts"], interval.denominator, text)
        self.assertEqual(found["capacity"], capacity, text)
        self.assertEqual(found["refill_ns"], ceil(capacity * interval), text)
        self.assertEqual(found["most_in_period"], capacity + count, text)
        exact = interval.denominator <= 3
        self.assertEqual(found["precision"], "exact" if exact else "strict_by_less_than_1_ns", text)
        window = ceil(capacity * interval / 10**9)
        self.assertEqual(found["headers"]["ratelimit_policy"], f'"default";q={capacity};w={window}', text)
        # One unit comes back after one interval; where that is no whole number of
        # nanoseconds, the start of the bucket may have been rounded up by less than one.
        seconds = {ceil(interval / 10**9), ceil((ceil(interval) + (0 if exact else 1)) / Fraction(10**9))}
        remaining, more = re.fullmatch(r'"default";r=(\d+);t=(\d+)', found["headers"]["ratelimit_first"]).groups()
        self.assertEqual(int(remaining), capacity - 1, text)
        self.assertIn(int(more), seconds, text)
        self.assertIn(found["headers"]["retry_after"], seconds, text)

    def test_known(self):
        self.check(100, 1, "m", 20)
        self.check(100, 60, "s", None)
        self.check(1, 1, "s", 1000)
        self.check(3, 1, "s", None)
        self.check(7, 1, "s", 3)
        self.check(1000000000, 1, "s", None)
        self.check(5, 1, "d", None)
        self.check(1, 3652, "d", 1)

    def test_random(self):
        source = random.Random(20261130)
        for _ in range(100 * SCALE):
            unit = source.choice(["ms", "s", "m", "h", "d"])
            self.check(source.randint(1, 10**source.randint(1, 5)), source.randint(1, 30), unit,
                       source.choice([None, source.randint(1, 10000)]))

    def test_golden_headers(self):
        headers = facts("100/60s burst 100")["headers"]
        self.assertEqual(headers["ratelimit_policy"], '"default";q=100;w=60')
        self.assertEqual(headers["ratelimit_first"], '"default";r=99;t=1')
        self.assertEqual(headers["ratelimit_spent"], '"default";r=0;t=1')
        self.assertEqual(headers["retry_after"], 1)

    def test_largest_burst(self):
        for rate in "1/s", "100/1m", "7/1s", "1/1d", "1000000000/s":
            largest = int(facts(rate)["burst_max"])  # a string where 63 bits are too few
            self.assertEqual(limit(f"{rate} burst {largest}").returncode, 0, (rate, largest))
            self.assertEqual(limit(f"{rate} burst {largest + 1}").returncode, 2, (rate, largest))


class Windows(unittest.TestCase):
    def test_fixed(self):
        found = facts("fixed_window 100/1m")
        self.assertEqual(found["most_in_period"], 200)
        self.assertEqual(found["capacity"], 100)
        self.assertEqual(found["refill_ns"], 60 * 10**9)
        self.assertEqual(found["precision"], "exact")
        self.assertEqual(found["headers"]["ratelimit_policy"], '"default";q=100;w=60')
        # The example stands at the start of a window.
        self.assertEqual(found["headers"]["ratelimit_first"], '"default";r=99;t=60')
        self.assertEqual(found["headers"]["retry_after"], 60)

    def test_anchored(self):
        # docs/algorithms.md: 1 ns for a count of 1, 8 ns up to 15, 512 ns up to 1023.
        for count, grain in (1, None), (15, 8), (1023, 512):
            found = facts(f"fixed_window {count}/1h anchored")
            self.assertEqual(found.get("start_grain_ns"), grain)

    def test_calendar(self):
        found = facts("fixed_window 1000/month calendar zone Europe/Berlin")
        self.assertTrue(found["period_is_mean"])
        self.assertEqual(found["period_ns"], 146097 * 86400 * 10**9 // 4800)
        self.assertEqual(found["most_in_period"], 2000)
        self.assertLessEqual(found["headers"]["retry_after"], 31 * 86400 + 3600)

    def test_sliding(self):
        found = facts("sliding_window 100/1m")
        self.assertEqual(found["most_in_period"], 199)
        self.assertEqual(found["refill_ns"], 120 * 10**9)
        # All spent at the start of a window: its weight goes down after its end.
        self.assertEqual(found["headers"]["retry_after"], 61)

    def test_log(self):
        found = facts("sliding_log 5/1m")
        self.assertEqual(found["most_in_period"], 5)
        self.assertEqual(found["count_max"], 1048575)
        self.assertEqual(found["headers"]["retry_after"], 60)
        self.assertIn("8 bytes per unit", limit("sliding_log 5/1m").stdout)

    def test_largest_count(self):
        for head, tail in ("sliding_window", "1m"), ("sliding_window", "1d"), ("sliding_log", "1m"), \
                          ("fixed_window", "1m"), ("fixed_window", "1m anchored"), ("fixed_window", "1us"), \
                          ("fixed_window", "day calendar"):
            largest = facts(f"{head} 1/{tail}")["count_max"]
            self.assertEqual(limit(f"{head} {largest}/{tail}").returncode, 0, (head, tail, largest))
            self.assertEqual(limit(f"{head} {largest + 1}/{tail}").returncode, 2, (head, tail, largest))
        # docs/algorithms.md, "Sliding window counter".
        self.assertEqual(facts("sliding_window 1/1m")["count_max"], 262143)


class Text(unittest.TestCase):
    def test_words(self):
        output = limit("100/1m", "burst", "20").stdout
        for line in ("limit           token_bucket 100/1m burst 20", "one unit every  600000000 ns, 0.6 s",
                     "capacity        20 at one instant", "as never seen   12 s after all of it was spent",
                     "in one period   at most 120 (burst + count)", "                100 per minute",
                     "                ~1.666666666666 per second", "                144000 per day",
                     'headers         RateLimit-Policy: "default";q=20;w=12',
                     "precision       exact to the nanosecond"):
            self.assertIn(line + "\n", output)

    def test_fractions_and_long_times(self):
        output = limit("7/1s").stdout
        self.assertIn("one unit every  1000000000/7 ns, ~0.142857142 s\n", output)
        self.assertIn("strict by less than 1 ns", output)
        self.assertIn("as never seen   93784 s (1d 2h 3m 4s) after", limit("1/1s burst 93784").stdout)

    def test_gcra_is_token_bucket(self):
        self.assertEqual(facts("gcra 5/1s"), facts("token_bucket 5/1s"))


class Errors(unittest.TestCase):
    def test_bad_texts(self):
        for text, word in (("100", "period"), ("0/s", "count"), ("x/s", "count"), ("1/0s", "period"),
                           ("1/fortnight", "period"), ("10/s burst 20x", "burst"), ("10/s burst 0", "burst"),
                           ("hope 1/s", "hope"), ("1/month", "month"), ("sliding_window 5/1m burst 3", "burst"),
                           ("99999999999999999999/s", "count"), ("1000000001/s", "rate"),
                           ("10/s burst 18446744073709551615", "burst"), ("", "")):
            run = limit(text)
            self.assertEqual(run.returncode, 2, (text, run.stdout))
            self.assertEqual(run.stdout, "", text)
            self.assertTrue(run.stderr.startswith("mete limit: "), run.stderr)
            sentence = run.stderr.partition("': ")[2]
            self.assertIn(word, sentence, (text, run.stderr))

    def test_usage(self):
        self.assertEqual(limit().returncode, 2)
        self.assertEqual(limit("--frob", "1/s").returncode, 2)
        self.assertEqual(limit(*["1/s"] * 17).returncode, 2)
        self.assertEqual(limit("1" * 2000 + "/s").returncode, 2)
        self.assertEqual(limit("--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()

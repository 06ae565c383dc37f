# SPDX-License-Identifier: Apache-2.0
"""A denial that says "retry after k": the same request after k seconds passes, and after k - 1 (k > 1) it does not.
For every algorithm, over both protocols, with several costs, at many phases of the period."""
import random
import unittest

import conf
from daemon import SCALE, serve
from resp import pairs

LIMITS = {
    "bucket": "7/1m burst 5",
    "bucket_one": "1/1h burst 1",
    "bucket_fast": "3/s burst 9",
    "leaky": "leaky_bucket 10/1m burst 6",
    "window": "fixed_window 9/1m",
    "window_anchored": "fixed_window 9/1m anchored",
    "window_calendar": "fixed_window 20/hour calendar zone Europe/Berlin",
    "window_short": "fixed_window 6/500ms",
    "sliding": "sliding_window 11/1m",
    "log": "sliding_log 8/1m",
}
SEVERAL = {
    "two": {"burst": "5/1m burst 3", "hour": "fixed_window 12/1h"},
    "three": {"second": "sliding_log 4/10s", "minute": "sliding_window 9/1m", "day": "1/1h burst 15"},
}
ROUNDS = 6 * SCALE
S = 10**9


class Property(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        policies = {name: conf.policy(limit) for name, limit in {**LIMITS, **SEVERAL}.items()}
        cls.daemon = serve(cls, conf.config(policies), test_clock=True)
        cls.client = cls.daemon.resp()
        cls.web = cls.daemon.web()
        cls.seed = random.randrange(2**32)
        cls.chance = random.Random(cls.seed)
        cls.now = 1_700_000_000 * S
        print("seed", cls.seed)

    def setUp(self):
        type(self).now += self.chance.randrange(400 * S)  # the clock never goes back for the tests that follow

    def at(self, nanoseconds):
        type(self).now = nanoseconds
        self.assertEqual(self.client("METE.CLOCK", "SET", nanoseconds), nanoseconds)

    def each_denial(self, take):
        """take(policy, key, cost) returns (allowed, k in seconds, or None when it can never pass)."""
        for policy in {**LIMITS, **SEVERAL}:
            for number in range(ROUNDS):
                cost = self.chance.choice([1, 1, 2, 3])
                if policy == "bucket_one":
                    cost = 1
                with self.subTest(policy=policy, cost=cost, seed=self.seed, round=number):
                    self.deny_and_retry(take, policy, f"{take.__name__}:{policy}:{number}", cost)

    def deny_and_retry(self, take, policy, key, cost):
        self.at(self.now + self.chance.randrange(200 * S))
        for _ in range(60):
            allowed, k = take(policy, key, cost)
            if not allowed:
                break
            self.assertIsNone(k, "no wait on what was allowed")
            self.at(self.now + self.chance.choice([0, 1, 999_999_999, self.chance.randrange(2 * S)])
                    if not policy.endswith(("fast", "short")) else self.now)
        self.assertFalse(allowed, "60 takes and none denied")
        self.assertGreaterEqual(k, 1)
        denied_at = self.now
        if k > 1:
            self.at(denied_at + (k - 1) * S)
            self.assertFalse(take(policy, key, cost)[0], f"it passes already after {k - 1} s")
        self.at(denied_at + k * S)
        self.assertTrue(take(policy, key, cost)[0], f"it does not pass after {k} s")

    def test_http(self):
        def http(policy, key, cost):
            response = self.web.take(policy, key, cost)
            self.assertIn(response.status, (200, 429))
            return response.status == 200, response.retry_after
        self.each_denial(http)

    def test_resp(self):
        """METE.TAKE says milliseconds; rounded up to seconds they hold the same promise."""
        def resp(policy, key, cost):
            reply = pairs(self.client("METE.TAKE", policy, key, "COST", cost))
            wait = reply["retry_after_ms"]
            self.assertEqual(wait == 0, bool(reply["allowed"]))
            return wait == 0, None if wait <= 0 else -(-wait // 1000)
        self.each_denial(resp)

    def test_throttle(self):
        def throttle(policy, key, cost):
            burst, count, period = {"bucket": (4, 7, 60), "bucket_one": (0, 1, 3600), "bucket_fast": (8, 3, 1)}[policy]
            reply = self.client("CL.THROTTLE", key, burst, count, period, cost)
            return reply[0] == 0, None if reply[3] == -1 else reply[3]
        for policy in "bucket", "bucket_one", "bucket_fast":
            for number in range(4 * ROUNDS):
                cost = 1 if policy == "bucket_one" else self.chance.choice([1, 2, 3])
                with self.subTest(policy=policy, cost=cost, seed=self.seed, round=number):
                    self.deny_and_retry(throttle, policy, f"throttle:{policy}:{number}", cost)

    def test_to_the_millisecond(self):
        """The wait of METE.TAKE is exact to its own unit: one millisecond earlier the request does not pass."""
        for policy in LIMITS:
            for number in range(ROUNDS):
                key = f"ms:{policy}:{number}"
                with self.subTest(policy=policy, seed=self.seed, round=number):
                    self.at(self.now + self.chance.randrange(200 * S))
                    reply = {"allowed": 1}
                    while reply["allowed"]:
                        reply = pairs(self.client("METE.TAKE", policy, key))
                    wait, denied_at = reply["retry_after_ms"], self.now
                    self.assertGreaterEqual(wait, 1)
                    self.at(denied_at + (wait - 1) * 10**6)
                    self.assertEqual(pairs(self.client("METE.PEEK", policy, key))["allowed"], 0)
                    self.at(denied_at + wait * 10**6)
                    self.assertEqual(pairs(self.client("METE.PEEK", policy, key))["allowed"], 1)

    def test_more_than_the_capacity_has_no_wait(self):
        for policy in {**LIMITS, **SEVERAL}:
            with self.subTest(policy=policy):
                response = self.web.take(policy, "large", 1000)
                self.assertGreaterEqual(response.status, 400)
                self.assertNotIn("Retry-After", response)
                reply = pairs(self.client("METE.TAKE", policy, "large", "COST", 1000))
                self.assertEqual((reply["allowed"], reply["retry_after_ms"]), (0, -1))


if __name__ == "__main__":
    unittest.main()

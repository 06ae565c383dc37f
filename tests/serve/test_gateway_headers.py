# SPDX-License-Identifier: Apache-2.0
"""Public fault reports about other gateways' rate limiters, each with its scenario and the right outcome:
fields of responses.

The comment above a test has the report's number in our collection and where it was made.  Not here: reports about a
shared Redis store, replicas and peers, which a single daemon does not have.
"""
import unittest

import conf
from gateway import Case


class Headers(Case):
    # gw-001 https://github.com/traefik/traefik/issues/8573
    # "Retry-After: 0" with 105 ms left, so a client that obeys is denied again.
    def test_gw_001_retry_after_is_rounded_up(self):
        self.start({"api": conf.policy("1/2s burst 1")})
        for number, (left_ms, expected) in enumerate([(1, 1), (105, 1), (999, 1), (1000, 1), (1001, 2)]):
            with self.subTest(left_ms=left_ms):
                start = 100 * number
                self.at(start)
                self.assertTrue(self.passed("api", "k"))
                self.at(f"{start + (2000 - left_ms) / 1000:.3f}")
                denied = self.web.take("api", "k")
                self.assertEqual((denied.status, denied.retry_after), (429, expected))
                self.at(f"{start + (2000 - left_ms) / 1000 + expected:.3f}")
                self.assertTrue(self.passed("api", "k"))

    # gw-010 https://github.com/envoyproxy/gateway/issues/5693
    # A 429 with nothing but length, type and date.
    def test_gw_010_both_paths_carry_the_fields(self):
        self.start({"api": conf.policy({"a": "1/1m", "b": "5/1h"})})
        for status in 200, 429:
            response = self.web.take("api", "k")
            self.assertEqual(response.status, status)
            self.assertEqual(set(response.rate_limit), {"a", "b"})
            self.assertEqual(set(response.rate_limit_policy), {"a", "b"})
            self.assertEqual("Retry-After" in response, status == 429)
            self.assertIn("Content-Length", response)
            self.assertIn("Date", response)

    # gw-021 https://github.com/varnish/varnish-modules/issues/149
    # Retry-After filled in elsewhere: 5 though the block is 20 s.
    def test_gw_021_the_denial_supplies_the_wait(self):
        self.start({"api": conf.policy("1/20s burst 1")})
        self.assertTrue(self.passed("api", "k"))
        self.assertEqual(self.web.take("api", "k").retry_after, 20)

    # gw-031 https://github.com/apache/apisix/issues/9964
    # "Reset: 0" as soon as nothing remains.
    def test_gw_031_reset_counts_down_to_the_windows_end(self):
        self.start({"api": conf.policy("fixed_window 2/1m", headers=["x-ratelimit-delta", "draft-10"])})
        for at, left in ("10", 50), ("59.5", 1), ("59.999999999", 1):
            self.at(at)
            while self.passed("api", "k"):
                pass
            denied = self.web.take("api", "k")
            self.assertEqual(denied["X-RateLimit-Reset"], str(left))
            self.assertEqual(denied.rate_limit[next(iter(denied.rate_limit))]["t"], left)
            self.assertEqual(denied.retry_after, left)
        self.at("60")
        self.assertTrue(self.passed("api", "k"), "at the very end the next window is open")

    # gw-040 https://github.com/express-rate-limit/express-rate-limit/pull/49
    # Retry-After on every response, and always the whole window.
    def test_gw_040_retry_after_only_on_denials_and_only_what_is_left(self):
        self.start({"api": conf.policy("fixed_window 2/100s")})
        self.at(90)
        self.assertNotIn("Retry-After", self.web.take("api", "k"))
        self.assertNotIn("Retry-After", self.web.take("api", "k"))
        self.assertEqual(self.web.take("api", "k").retry_after, 10)

    # gw-041 https://github.com/cloudfoundry/cloud_controller_ng/issues/2544
    # Retry-After with a Unix time in it: wait 50 years.
    def test_gw_041_retry_after_is_never_longer_than_the_window(self):
        periods = {"bucket": ("5/1m", 60), "window": ("fixed_window 5/1m", 60), "sliding": ("sliding_window 5/1m", 120),
                   "log": ("sliding_log 5/1m", 60)}
        self.start({name: conf.policy(limit) for name, (limit, _) in periods.items()})
        for at in 1_700_000_000, 1_700_000_059, 1_800_000_030:
            self.at(at)
            for name, (_, longest) in periods.items():
                while self.passed(name, "k"):
                    pass
                self.assertLessEqual(self.web.take(name, "k").retry_after, longest)

    # gw-043 https://github.com/3scale/APIcast/pull/929
    # "Retry-After: -1" where there is nothing to wait for.
    def test_gw_043_no_wait_no_field(self):
        self.start({"api": conf.policy("5/1m")})
        self.assertNotIn("Retry-After", self.web.take("api", "k"))
        never = self.web.take("api", "k", 6)
        self.assertGreaterEqual(never.status, 400)
        self.assertNotIn("Retry-After", never)
        self.assertNotRegex(str(never.fields), r"-\d+'")

    # gw-055 https://github.com/Kuadrant/limitador/issues/17
    # The drafts changed several times, and implementers chose different ones: see test_headers.py for every style.
    def test_gw_055_styles_by_configuration(self):
        self.start({"new": conf.policy({"x": "5/1m"}), "old": conf.policy({"x": "5/1m"}, headers=["draft-06"])})
        self.assertIn("RateLimit", self.web.take("new", "k"))
        old = self.web.take("old", "k")
        self.assertNotIn("RateLimit", old)
        self.assertEqual(old["RateLimit-Remaining"], "4")


if __name__ == "__main__":
    unittest.main()

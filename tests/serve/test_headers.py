# SPDX-License-Identifier: Apache-2.0
"""The fields that tell a client about its limit, in every style, read back by a strict parser of RFC 9651.

Styles: draft-10 of draft-ietf-httpapi-ratelimit-headers by default, and by configuration its older forms and
X-RateLimit-*.  Rounding: what is left down, times up.
"""
import time
import unittest

import conf
import sf
from daemon import serve

STYLES = ["draft-06", "draft-07", "draft-10", "draft-12-provisional", "x-ratelimit-delta", "x-ratelimit-epoch"]
PERIP = "100/1m burst 100"
PROBLEM = "https://iana.org/assignments/http-problem-types#quota-exceeded"


class Default(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls, conf.config({
            "perip": conf.policy({"perip": PERIP}),
            "both": conf.policy({"sec": "4/4s burst 4", "day": "1/8s burst 1"}),
            "huge": conf.policy({"huge": "1000000000/s burst 1000000000000000000"}),
            "short": conf.policy({"short": "fixed_window 5/500ms"}),
        }), test_clock=True)
        cls.web = cls.daemon.web()

    def test_first_request(self):
        """The next unit comes in 0.6 s: t=1."""
        self.daemon.clock_s(0)
        response = self.web.take("perip", "first")
        self.assertEqual(response.status, 200)
        self.assertEqual(response["RateLimit-Policy"], '"perip";q=100;w=60')
        self.assertEqual(response["RateLimit"], '"perip";r=99;t=1')
        self.assertNotIn("Retry-After", response)

    def test_denial(self):
        """100 at once, and one more 0.1 s later: it would pass in 0.5 s."""
        self.daemon.clock_s(0)
        self.assertEqual(self.web.take("perip", "denied", 100).status, 200)
        self.daemon.clock_s("0.1")
        response = self.web.take("perip", "denied")
        self.assertEqual(response.status, 429)
        self.assertEqual(response["RateLimit"], '"perip";r=0;t=1')
        self.assertEqual(response["Retry-After"], "1")

    def test_full_bucket_has_no_t(self):
        response = self.web.peek("perip", "idle")
        self.assertEqual(response["RateLimit"], '"perip";r=100')

    def test_two_limits_and_the_longest_wait(self):
        self.daemon.clock_s(0)
        self.assertEqual(self.web.take("both", "k").status, 200)
        self.daemon.clock_s("0.9")
        response = self.web.take("both", "k")
        self.assertEqual(response.status, 429)
        self.assertEqual(response["RateLimit"], '"sec";r=3;t=1, "day";r=0;t=8')
        self.assertEqual(response["RateLimit-Policy"], '"sec";q=4;w=4, "day";q=1;w=8')
        self.assertEqual(response["Retry-After"], "8")

    def test_numbers_have_at_most_15_digits(self):
        response = self.web.take("huge", "k")
        self.assertEqual(response.rate_limit_policy["huge"]["q"], 999999999999999)
        self.assertEqual(response.rate_limit["huge"]["r"], 999999999999999)

    def test_a_window_below_a_second_is_never_w_0(self):
        response = self.web.take("short", "k")
        self.assertIn(response.rate_limit_policy["short"].get("w"), (None, 1))

    def test_problem_details(self):
        self.daemon.clock_s(0)
        self.web.take("both", "problem")
        response = self.web.take("both", "problem")
        self.assertEqual(response["Content-Type"], "application/problem+json")
        self.assertEqual(response.json["type"], PROBLEM)
        self.assertEqual(response.json["status"], 429)
        self.assertIsInstance(response.json["title"], str)
        self.assertEqual(response.json["violated-policies"], ["day"])

    def test_a_denial_is_not_to_be_cached(self):
        """RFC 6585 section 4."""
        self.web.take("both", "cached")
        self.assertIn("no-store", self.web.take("both", "cached").get("Cache-Control", "no-store"))

    def test_head_has_the_same_fields_and_no_body(self):
        self.daemon.clock_s(0)
        self.web.take("both", "head")
        get, head = self.web.take("both", "head"), self.web("HEAD", "/v1/take?policy=both&key=head")
        self.assertEqual((head.status, head.body), (429, b""))
        for name in "RateLimit", "RateLimit-Policy", "Retry-After", "Content-Type", "Content-Length":
            self.assertEqual(head[name], get[name])


class EveryStyle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        policies = {style: conf.policy({"perip": PERIP}, headers=[style]) for style in STYLES}
        policies["all"] = conf.policy({"perip": PERIP}, headers=[style for style in STYLES if "12" not in style
                                                                 and style not in ("draft-07", "x-ratelimit-epoch")])
        policies["two-06"] = conf.policy({"sec": "4/4s burst 4", "day": "1/8s burst 1"}, headers=["draft-06"])
        policies["none"] = conf.policy({"perip": PERIP}, headers="off")
        cls.daemon = serve(cls, conf.config(policies), test_clock=True)
        cls.web = cls.daemon.web()

    def states(self, style):
        """Full, after one, empty 0.1 s later and denied."""
        self.daemon.clock_s(0)
        full = self.web.peek(style, "k")
        one = self.web.take(style, "k")
        self.assertEqual(self.web.take(style, "k", 99).status, 200)
        self.daemon.clock_s("0.1")
        denied = self.web.take(style, "k")
        self.assertEqual((full.status, one.status, denied.status), (200, 200, 429))
        self.assertEqual(denied["Retry-After"], "1")
        return full, one, denied

    def test_draft_06(self):
        """Four fields; Reset, in seconds from now until full, is always there."""
        for response, left, reset in zip(self.states("draft-06"), (100, 99, 0), (0, 1, 60)):
            self.assertEqual(sf.parse_item(response["RateLimit-Limit"]), (100, []))
            self.assertEqual(sf.parse_item(response["RateLimit-Remaining"]), (left, []))
            self.assertEqual(sf.parse_item(response["RateLimit-Reset"]), (reset, []))
            self.assertEqual(response["RateLimit-Policy"], "100;w=60")
            self.assertNotIn("RateLimit", response)

    def test_draft_06_shows_the_limit_closest_to_its_end(self):
        self.daemon.clock_s(0)
        response = self.web.take("two-06", "k")
        self.assertEqual(response["RateLimit-Limit"], "1")
        self.assertEqual(response["RateLimit-Remaining"], "0")
        self.assertEqual(response["RateLimit-Reset"], "8")
        self.assertEqual(response["RateLimit-Policy"], "4;w=4, 1;w=8")

    def test_draft_07(self):
        for response, left, reset in zip(self.states("draft-07"), (100, 99, 0), (0, 1, 60)):
            self.assertEqual(response["RateLimit"], f"limit=100, remaining={left}, reset={reset}")
            self.assertEqual(sf.serialise_dictionary(sf.parse_dictionary(response["RateLimit"])), response["RateLimit"])
            self.assertEqual(response["RateLimit-Policy"], "100;w=60")

    def test_draft_10(self):
        full, one, denied = self.states("draft-10")
        self.assertEqual(full["RateLimit"], '"perip";r=100')
        self.assertEqual(one["RateLimit"], '"perip";r=99;t=1')
        self.assertEqual(denied["RateLimit"], '"perip";r=0;t=1')
        for response in full, one, denied:
            self.assertEqual(response["RateLimit-Policy"], '"perip";q=100;w=60')

    def test_draft_12_provisional(self):
        """Available quota (a) and effective window (w) instead of remaining (r) and time (t)."""
        for response, left in zip(self.states("draft-12-provisional"), (100, 99, 0)):
            parameters = response.rate_limit["perip"]
            self.assertEqual(parameters["a"], left)
            self.assertNotIn("r", parameters)
            self.assertNotIn("t", parameters)
            self.assertGreaterEqual(parameters.get("w", 1), 1)
            self.assertEqual(response.rate_limit_policy["perip"], {"q": 100, "w": 60})

    def test_x_ratelimit_delta(self):
        for response, left, reset in zip(self.states("x-ratelimit-delta"), (100, 99, 0), (0, 1, 60)):
            self.assertEqual([response[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining", "Reset")],
                             ["100", str(left), str(reset)])
            self.assertNotIn("RateLimit", response)

    def test_x_ratelimit_epoch(self):
        """The moment in wall-clock seconds, rounded up; the wall clock goes on while the test clock stands."""
        for response, left, reset in zip(self.states("x-ratelimit-epoch"), (100, 99, 0), (0, 1, 60)):
            self.assertEqual(response["X-RateLimit-Limit"], "100")
            self.assertEqual(response["X-RateLimit-Remaining"], str(left))
            value = int(response["X-RateLimit-Reset"])
            # Under a test clock the moment may be counted from it or from the wall clock.
            self.assertTrue(any(abs(value - start - reset) <= 15 for start in (0, time.time())), value)

    def test_several_at_once(self):
        full, one, _ = self.states("all")
        self.assertEqual(one["X-RateLimit-Remaining"], "99")
        self.assertEqual(one["RateLimit-Remaining"], "99")
        self.assertIn('"perip";r=99;t=1', one["RateLimit"])
        self.assertIn("RateLimit-Reset", full)

    def test_none(self):
        for response in self.states("none"):
            for name, _ in response.fields:
                self.assertNotIn("ratelimit", name)


if __name__ == "__main__":
    unittest.main()

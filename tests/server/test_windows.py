# SPDX-License-Identifier: Apache-2.0
"""How long a window is: a response header, the list of policies, mete config explain and mete limit say the same."""

import http.client
import json
import os
import re
import tempfile
import unittest

import serving

METE = os.environ["METE_BIN"]
HOUR = 3600
DAY = 24 * HOUR
# A limit, and the seconds in which its capacity is earned; of the calendar's units the longest there is.
LIMITS = {
    "minute": ("fixed_window 9/minute calendar", 60),
    "hour": ("fixed_window 9/hour calendar", HOUR),
    "day": ("fixed_window 9/day calendar zone Europe/Berlin", DAY + HOUR),
    "week": ("fixed_window 9/week calendar", 7 * DAY + HOUR),
    "month": ("fixed_window 9/month calendar", 31 * DAY + HOUR),
    "year": ("fixed_window 9/year calendar", 366 * DAY + HOUR),
    "plain": ("fixed_window 9/90s", 90),
    "burst": ("token_bucket 7/1m burst 20", 172),
    "small": ("token_bucket 1000/1s burst 1", 1),
    "slide": ("sliding_window 5/1500ms", 2),
}


class Windows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="mete-windows-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = os.path.join(folder.name, "mete.yml")
        with open(cls.path, "w", encoding="utf-8") as file:
            file.write("listen: [{http: '127.0.0.1:0'}]\npolicies:\n")
            file.writelines(f"  {name}: {{limits: {{a: '{text}'}}}}\n" for name, (text, _) in LIMITS.items())
        cls.daemon = serving.Daemon("--config", cls.path, listeners=1)
        cls.addClassCleanup(cls.daemon.finish)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port("http"), timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer, json.loads(answer.read())

    def test_the_daemon(self):
        listed = {each["name"]: each["limits"][0] for each in self.get("/v1/policies")[1]["policies"]}
        for name, (_, seconds) in LIMITS.items():
            self.assertEqual(listed[name]["window_s"], seconds, name)
            answer, _ = self.get(f"/v1/take?policy={name}&key=k")
            self.assertEqual(re.search(r";w=(\d+)$", answer.getheader("RateLimit-Policy"))[1], str(seconds), name)

    def test_the_program(self):
        for name, (text, seconds) in LIMITS.items():
            run = serving.run(METE, "config", "explain", self.path, name, "k")
            self.assertIn(f", window {seconds} s\n", run.stdout)
            told = json.loads(serving.run(METE, "config", "explain", "--json", self.path, name, "k").stdout)
            self.assertEqual(told["limits"][0]["header_window"], seconds, name)
            told = json.loads(serving.run(METE, "limit", "--json", text).stdout)
            self.assertEqual(re.search(r";w=(\d+)$", told["headers"]["ratelimit_policy"])[1], str(seconds), name)
            self.assertLessEqual(told["headers"]["retry_after"], seconds + 1, name)

    def test_a_calendars_unit_is_over_in_its_longest_time(self):
        told = json.loads(serving.run(METE, "limit", "--json", LIMITS["month"][0]).stdout)
        self.assertEqual(told["refill_ns"], LIMITS["month"][1] * 10**9)
        text = serving.run(METE, "limit", LIMITS["month"][0]).stdout
        self.assertIn("as never seen   at most 2682000 s (31d 1h) after all of it was spent\n", text)
        self.assertIn("of that unit\n", text)
        text = serving.run(METE, "config", "explain", self.path, "day", "k").stdout
        self.assertIn("full again at most 1 day 1 hour after all of it was spent\n", text)


if __name__ == "__main__":
    unittest.main()

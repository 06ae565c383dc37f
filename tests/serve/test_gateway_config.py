# SPDX-License-Identifier: Apache-2.0
"""Public fault reports about other gateways' rate limiters, each with its scenario and the right outcome:
zero, and what is left out.

The comment above a test has the report's number in our collection and where it was made.  Not here: reports about a
shared Redis store, replicas and peers, which a single daemon does not have.
"""
import json
import os
import subprocess
import unittest

import conf
from daemon import METE, folder
from gateway import Case


class Configuration(Case):
    # gw-005 https://github.com/traefik/traefik/pull/13512, gw-006 https://github.com/traefik/traefik/pull/9621
    # "0 = no limit" in one store and "deny all" in the other; a limiter that relied on a division by zero.
    def test_gw_005_006_zero_is_refused_at_load(self):
        for limit in ("0/1m", "5/0s", "0/0s", "0/1m burst 5", "5/0s burst 0", "5/1m burst 0", "fixed_window 0/1m",
                      "sliding_window 5/0m", "sliding_log 0/1h"):
            with self.subTest(limit=limit):
                run = check(self, conf.text(conf.config({"api": conf.policy(limit)})))
                self.assertNotEqual(run.returncode, 0)
                self.assertRegex(run.stdout + run.stderr, r"mete\.yaml:\d+:\d+: ")

    def test_gw_005_006_zero_is_refused_on_the_wire(self):
        self.start({"api": conf.policy("1/1m")})
        for numbers in (4, 0, 60), (4, 1, 0), (0, 0, 0):
            self.assertRegex(str(self.client("CL.THROTTLE", "k", *numbers)), "(?i)count|period")

    # gw-008 https://github.com/traefik/traefik/issues/8724
    # Without an optional field the rule was silently absent.
    def test_gw_008_a_policy_without_an_optional_field_still_limits(self):
        full = conf.policy("3/1m", cost=1, dry_run=False, on_full="evict", on_store_failure="deny",
                           headers=["draft-10"], deny_status=429, key=["client_address"])
        for missing in [None, *(name for name in full if name != "limits")]:
            with self.subTest(missing=missing):
                self.start({"api": {name: value for name, value in full.items() if name != missing}})
                self.assertEqual([self.passed("api", "k") for _ in range(4)], [True] * 3 + [False])

    def test_gw_008_a_policy_without_limits_is_refused(self):
        for policies in {"api": {}}, {"api": {"limits": {}}}, {"api": {"limits": []}}, {"api": None}:
            with self.subTest(policies=policies):
                self.assertNotEqual(check(self, json.dumps({"policies": policies})).returncode, 0)

    def test_gw_008_an_unknown_field_is_refused(self):
        """A misspelt field must not leave its rule without effect."""
        run = check(self, json.dumps({"policies": {"api": {"limits": "3/1m", "dry_ran": True}}}))
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("dry_ran", run.stdout + run.stderr)


def check(case, text):
    path = os.path.join(folder(case), "mete.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return subprocess.run([METE, "config", "check", path], capture_output=True, text=True, timeout=60, check=False)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Public fault reports about other gateways' rate limiters, each with its scenario and the right outcome:
what is kept, and how long.

The comment above a test has the report's number in our collection and where it was made.  Not here: reports about a
shared Redis store, replicas and peers, which a single daemon does not have.
"""
import os
import re
import unittest

import conf
from daemon import folder, serve
from gateway import Case
from resp import pairs


class Memory(Case):
    # gw-020 https://github.com/varnish/varnish-modules/issues/206
    # Blocked keys were collected as garbage after the rate's period.
    def test_gw_020_a_long_block_outlives_a_flood(self):
        self.start({"block": conf.policy("1/2h burst 1"), "flood": conf.policy("10/1m")},
                   store={"keys_max": 1000})
        self.at(1000)
        self.assertTrue(self.passed("block", "villain"))
        for minute in range(1, 119, 20):
            self.at(1000 + 60 * minute)
            self.client.pipeline([("METE.TAKE", "flood", f"{minute}:{i}") for i in range(2000)])
            self.assertFalse(self.passed("block", "villain"), f"minute {minute}")

    # gw-048 https://github.com/nginx/nginx/pull/542
    # The key that owes most was evicted by a flood of others, and had a fresh allowance.
    def test_gw_048_a_forced_eviction_is_counted(self):
        self.start({"hour": conf.policy("1/1h burst 1")}, store={"keys_max": 1000})
        self.at(1000)
        self.assertTrue(self.passed("hour", "A"))
        self.at(1001)  # all others owe more than A: the worst there is
        for start in range(0, 2000, 500):
            self.client.pipeline([("METE.TAKE", "hour", f"other:{start + i}") for i in range(500)])
        evicted = re.findall(r"^mete_\w*evict\w*(?:\{[^}]*\})? (\d+)", self.metrics(), re.MULTILINE)
        self.assertTrue(evicted, "no count of evictions")
        if self.passed("hour", "A"):
            self.assertGreater(sum(map(int, evicted)), 0)

    def test_gw_048_a_full_store_that_denies_instead(self):
        """on_full: deny keeps every promise to those that are in."""
        self.start({"hour": conf.policy("1/1h burst 1", on_full="deny")}, store={"keys_max": 1000})
        self.at(1000)
        self.assertTrue(self.passed("hour", "A"))
        replies = self.client.pipeline([("METE.TAKE", "hour", f"other:{i}") for i in range(3000)])
        self.assertLess(sum(pairs(reply)["allowed"] for reply in replies), 1500)
        self.assertFalse(self.passed("hour", "A"))

    # gw-016 https://github.com/haproxy/haproxy/issues/1497
    # After a reload a rate of 3 had become 26768.
    def test_gw_016_a_restart_keeps_what_was_spent(self):
        policies = {"bucket": conf.policy("100/1h"), "window": conf.policy("fixed_window 100/1d"),
                    "sliding": conf.policy("sliding_window 100/1d"), "log": conf.policy("sliding_log 100/1h")}
        place = folder(self)
        daemon = serve(self, conf.config(policies, store={"path": os.path.join(place, "store"), "keys_max": 10000}))
        with daemon.web() as web:
            for policy in policies:
                self.assertEqual(web.take(policy, "k", 30).status, 200)
        self.assertEqual(daemon.terminate(), 0)
        daemon.restart()
        with daemon.resp() as client:
            for policy in policies:
                reply = pairs(client("METE.PEEK", policy, "k"))
                self.assertTrue(70 <= reply["remaining"] <= 71, (policy, reply))

    # gw-035 https://github.com/apache/apisix/issues/12592
    # The same trace with other decisions in another store.
    def test_gw_035_memory_and_file_decide_the_same(self):
        policies = {"bucket": conf.policy("1/1s burst 1"), "many": conf.policy({"a": "3/1s", "b": "sliding_log 20/1m"})}
        vectors = []
        for store in {}, {"path": os.path.join(folder(self), "store")}:
            self.start(policies, store={"keys_max": 10000, **store})
            vector = []
            for step in range(300):
                self.at(f"{1000 + step * 0.271:.3f}")
                for policy in policies:
                    vector.append(pairs(self.client("METE.TAKE", policy, f"k{step % 2}")))
            vectors.append(vector)
        self.assertEqual(vectors[0], vectors[1])
        self.assertEqual({reply["allowed"] for reply in vectors[0]}, {0, 1})


if __name__ == "__main__":
    unittest.main()

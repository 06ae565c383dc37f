# SPDX-License-Identifier: Apache-2.0
"""Public fault reports about other gateways' rate limiters, each with its scenario and the right outcome:
what is counted, and when.

The comment above a test has the report's number in our collection and where it was made.  Not here: reports about a
shared Redis store, replicas and peers, which a single daemon does not have.
"""
import signal
import socket
import threading
import unittest

import conf
from daemon import RELOADED
from gateway import Case
from resp import pairs


class Counting(Case):
    # gw-011 https://github.com/envoyproxy/ratelimit/issues/427
    # What one limit denied was charged to the others.
    def test_gw_011_all_or_nothing(self):
        limits = {"few": "fixed_window 5/1m", "many": "fixed_window 100/1m"}
        self.start({"api": conf.policy(limits)})
        statuses = [self.web.take("api", "k").status for _ in range(200)]
        self.assertEqual(statuses.count(200), 5)
        self.daemon.write(conf.config({"api": conf.policy({**limits, "few": "fixed_window 1000/1m"})}))
        since = len(self.daemon.lines)
        self.daemon.signal(signal.SIGHUP)
        self.daemon.await_line(RELOADED, since)
        self.assertEqual(self.web.peek("api", "k").rate_limit["many"]["r"], 95)

    # gw-013 https://github.com/envoyproxy/ratelimit/issues/423
    # A dry run that counted fewer denials than enforcement makes.
    def test_gw_013_dry_run_counts_what_enforcement_would_deny(self):
        limits = {"burst": "5/1s burst 10", "minute": "sliding_window 40/1m"}
        self.start({"real": conf.policy(limits), "dry": conf.policy(limits, dry_run=True)})
        denied = 0
        for step in range(600):
            self.at(f"{step * 0.137:.3f}")
            key, cost = f"k{step % 3}", 1 + step % 4
            denied += not self.passed("real", key, cost)
            self.assertTrue(self.passed("dry", key, cost), "a dry run denies nothing")
        self.assertGreater(denied, 50)
        self.assertEqual(self.decisions("real", "denied"), denied)
        self.assertEqual(self.decisions("dry", "would_deny"), denied)
        self.assertEqual(self.decisions("dry", "denied"), 0)

    # gw-023 https://github.com/spring-cloud/spring-cloud-gateway/pull/1688
    # One late request, stamped 10 s earlier, refilled the bucket.
    def test_gw_023_time_that_goes_back_earns_nothing(self):
        for limit in "1/1s burst 4", "fixed_window 4/1m", "sliding_window 4/1m", "sliding_log 4/1m":
            with self.subTest(limit=limit):
                self.start({"api": conf.policy(limit)})
                self.at(1000)
                self.assertEqual([self.passed("api", "k") for _ in range(4)], [True] * 4)
                self.at(990)
                self.passed("api", "k")
                self.at(1000)
                self.assertEqual([self.passed("api", "k") for _ in range(4)], [False] * 4)

    # gw-026 https://github.com/spring-cloud/spring-cloud-gateway/issues/3594
    # More than 25,000 a day could not be expressed.
    def test_gw_026_large_counts_over_long_periods(self):
        for count in 25_001, 10**6, 10**12:
            with self.subTest(count=count):
                self.start({"api": conf.policy(f"{count}/1d"), "window": conf.policy(f"fixed_window {count}/1d")})
                for policy in "api", "window":
                    reply = pairs(self.client("METE.TAKE", policy, "k"))
                    self.assertEqual((reply["limit"], reply["remaining"]), (count, count - 1))
                    reply = pairs(self.client("METE.TAKE", policy, "k", "COST", count - 1))
                    self.assertEqual((reply["allowed"], reply["remaining"]), (1, 0))
                    self.assertEqual(pairs(self.client("METE.TAKE", policy, "k"))["allowed"], 0)

    # gw-028 https://github.com/Kong/kong/issues/2495
    # One a minute: the third request, a second later, passed.
    def test_gw_028_a_window_lasts_to_its_end(self):
        self.start({"api": conf.policy("fixed_window 1/1m")})
        passed = []
        for at in 0, 1, 2, "59.999999999", 60:
            self.at(at)
            passed.append(self.passed("api", "k"))
        self.assertEqual(passed, [True, False, False, False, True])

    # gw-030 https://github.com/Kong/kong/issues/4379
    # Charging in a later phase, which an early end skips.
    def test_gw_030_a_client_that_leaves_has_been_charged(self):
        self.start({"api": conf.policy("100/1h")})
        for _ in range(20):
            with socket.create_connection(self.daemon.address("http")) as stream:
                stream.sendall(b"GET /v1/take?policy=api&key=k HTTP/1.1\r\nHost: m\r\n\r\n")
                # Gone before the answer: no lingering, a reset.
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                stream.recv(1)
        self.assertEqual(pairs(self.client("METE.PEEK", "api", "k"))["remaining"], 80)

    # gw-050 https://github.com/nginx/nginx/pull/12
    # 10,000/s in milliseconds: nine of ten requests of one millisecond are denied.
    def test_gw_050_time_is_finer_than_a_millisecond(self):
        self.start({"api": conf.policy("10000/s burst 10")})
        passed = 0
        for millisecond in range(50):
            self.at(f"{1 + millisecond / 1000:.3f}")
            replies = self.client.pipeline([("METE.TAKE", "api", "k")] * 10)
            passed += sum(pairs(reply)["allowed"] for reply in replies)
        self.assertEqual(passed, 500)

    # gw-051 https://github.com/nginx/nginx/pull/58
    # Is the capacity the burst, or one more?
    def test_gw_051_capacity_is_max_burst_plus_one(self):
        self.start({"api": conf.policy("1/1h")})
        for burst in 0, 1, 5:
            replies = self.client.pipeline([("CL.THROTTLE", f"burst:{burst}", burst, 1, 3600)] * 10)
            self.assertEqual([reply[0] for reply in replies].count(0), burst + 1)

    # gw-033 https://github.com/apache/apisix/issues/3988
    # At 90 % of the limit with many connections some requests were denied.
    def test_gw_033_below_the_limit_nothing_is_denied(self):
        self.start({"api": conf.policy("sliding_log 6400/1h")}, test_clock=False, threads=2)
        replies = [None] * 64

        def work(number):
            with self.daemon.resp() as client:
                replies[number] = client.pipeline([("METE.TAKE", "api", "k")] * 90)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(pairs(reply)["allowed"] for some in replies for reply in some), 5760)
        self.assertEqual(pairs(self.client("METE.PEEK", "api", "k"))["remaining"], 640)


class Windows(Case):
    # gw-015 https://github.com/haproxy/haproxy/issues/1196
    # Counters of periods longer than a second never rotated.
    def test_gw_015_windows_end(self):
        periods = {"500ms": 500, "1s": 1000, "2s": 2000, "1m": 60000}
        kinds = {"fixed_window", "fixed_window anchored", "sliding_window", "sliding_log"}
        policies = {f"{kind.replace(' ', '_')}-{name}": conf.policy(
            f"{kind.split()[0]} 7/{name} {' '.join(kind.split()[1:])}".strip()) for kind in kinds for name in periods}
        self.start(policies)
        for number, start_ms in enumerate((1_700_000_000_000, 1_700_000_123_457)):
            for policy in policies:
                key = f"k{number}"
                self.at(f"{start_ms / 1000:.3f}")
                replies = self.client.pipeline([("METE.TAKE", policy, key)] * 9)
                self.assertEqual([pairs(reply)["allowed"] for reply in replies], [1] * 7 + [0] * 2, policy)
        for name, period_ms in sorted(periods.items(), key=lambda item: item[1]):
            self.at(f"{(1_700_000_123_457 + 2 * period_ms) / 1000:.3f}")
            for policy in policies:
                if policy.endswith("-" + name):
                    reply = pairs(self.client("METE.PEEK", policy, "k1"))
                    self.assertEqual((reply["remaining"], reply["reset_after_ms"]), (7, 0), policy)


if __name__ == "__main__":
    unittest.main()

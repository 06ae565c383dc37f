# SPDX-License-Identifier: Apache-2.0
"""Another configuration while the daemon runs, by SIGHUP and by the file itself changing: all of it or none of it, and
what live keys have spent stays spent."""
import os
import signal
import threading
import unittest

import conf
from daemon import NOT_RELOADED, RELOADED, serve, wait_until
from resp import ErrorReply, pairs


class Case(unittest.TestCase):
    def start(self, policies, **options):
        self.daemon = serve(self, conf.config(policies), **options)
        self.client = self.daemon.resp()

    def take(self, policy, key="k", cost=1, verb="TAKE"):
        reply = self.client("METE." + verb, policy, key, "COST", cost)
        return reply if isinstance(reply, ErrorReply) else pairs(reply)

    def peek(self, policy, key="k"):
        return self.take(policy, key, verb="PEEK")

    def hangup(self, config, pattern):
        since = len(self.daemon.lines)
        self.daemon.write(config)
        self.daemon.signal(signal.SIGHUP)
        return self.daemon.await_line(pattern, since)


class Good(Case):
    def test_what_was_spent_stays_spent(self):
        self.start({"burst": conf.policy("10/1h burst 10"), "rate": conf.policy("10/1h burst 10"),
                    "window": conf.policy("fixed_window 10/1d"), "kind": conf.policy("10/1h burst 10")},
                   test_clock=True)
        self.daemon.clock_s(1_700_000_000)
        for policy in "burst", "rate", "window", "kind":
            self.assertEqual(self.take(policy, cost=4)["remaining"], 6)
        self.hangup(conf.config({"burst": conf.policy("10/1h burst 20"), "rate": conf.policy("1/1h burst 10"),
                                 "window": conf.policy("fixed_window 5/1d"),
                                 "kind": conf.policy("fixed_window 10/1d")}),
                    RELOADED)
        wait_until(lambda: self.peek("burst")["limit"] == 20)
        self.assertEqual({policy: (self.peek(policy)["limit"], self.peek(policy)["remaining"])
                          for policy in ("burst", "rate", "window", "kind")},
                         {"burst": (20, 16), "rate": (10, 6), "window": (5, 1), "kind": (10, 6)})

    def test_what_needs_a_restart_is_said(self):
        self.start({"api": conf.policy("5/1h")})
        text = conf.config({"api": conf.policy("5/1h")}, threads=7)
        self.assertIn("threads", self.hangup(text, "level=warn.*threads has changed: restart"))
        self.daemon.await_line(RELOADED, 0)

    def test_a_key_moves_to_another_plan(self):
        """It keeps what it owes, and gets the burst of its plan."""
        plans = {"plans": {"gold": "100/1h burst 100"}}
        self.start({"api": conf.policy("10/1h burst 10", **plans)})
        self.assertEqual(self.take("api", cost=4)["remaining"], 6)
        self.hangup(conf.config({"api": conf.policy("10/1h burst 10", overrides={"k": "gold"}, **plans)}), RELOADED)
        wait_until(lambda: self.peek("api")["limit"] == 100)
        self.assertEqual(self.peek("api")["remaining"], 96)

    def test_policies_come_and_go(self):
        self.start({"old": conf.policy("5/1h"), "both": conf.policy("5/1h")})
        self.take("both", cost=2)
        self.hangup(conf.config({"new": conf.policy("7/1h"), "both": conf.policy("5/1h")}), RELOADED)
        wait_until(lambda: not isinstance(self.peek("new"), ErrorReply))
        self.assertEqual(self.peek("new")["limit"], 7)
        self.assertIsInstance(self.peek("old"), ErrorReply)
        self.assertEqual(self.peek("both")["remaining"], 3)
        with self.daemon.web() as web:
            self.assertEqual(web.take("old", "k").status, 404)

    def test_a_policy_that_comes_back_remembers(self):
        """Its name is its identity."""
        self.start({"api": conf.policy("5/1h"), "other": conf.policy("1/1h")})
        self.take("api", cost=5)
        self.hangup(conf.config({"other": conf.policy("1/1h")}), RELOADED)
        wait_until(lambda: isinstance(self.peek("api"), ErrorReply))
        self.hangup(conf.config({"api": conf.policy("5/1h"), "other": conf.policy("1/1h")}), RELOADED)
        wait_until(lambda: not isinstance(self.peek("api"), ErrorReply))
        self.assertEqual(self.take("api")["allowed"], 0)

    def test_limits_of_clients_stay(self):
        self.start({"api": conf.policy("5/1h")})
        self.client("CL.THROTTLE", "own", 9, 1, 3600, 7)
        self.hangup(conf.config({"api": conf.policy("6/1h")}), RELOADED)
        wait_until(lambda: self.peek("api")["limit"] == 6)
        self.assertEqual(self.client("CL.THROTTLE", "own", 9, 1, 3600, 0)[2], 3)

    def test_both_loops_change(self):
        self.start({"api": conf.policy("5/1h")}, threads=2)
        clients = [self.daemon.resp() for _ in range(16)]
        self.hangup(conf.config({"api": conf.policy("6/1h")}), RELOADED)
        for client in clients:
            wait_until(lambda client=client: pairs(client("METE.PEEK", "api", "k"))["limit"] == 6)
            client.close()

    def test_under_load_no_request_fails(self):
        """40 reloads while clients ask: every reply is of one configuration or the other."""
        self.start({"api": conf.policy("1000/1h", plans={"big": "2000/1h"}, overrides={"b*": "big"})}, threads=2)
        stop = threading.Event()
        problems, asked = [], [0, 0, 0]

        def work(number):
            with self.daemon.resp() as client:
                while not stop.is_set():
                    for key, factor in ("a", 1), ("b", 2):
                        for reply in client.pipeline([("METE.PEEK", "api", key)] * 20):
                            one_or_other = 1000 * factor, 1500 * factor
                            if isinstance(reply, ErrorReply) or pairs(reply)["limit"] not in one_or_other:
                                problems.append(reply)
                        asked[number] += 20

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        try:
            for turn in range(40):
                limit, big = ("1500/1h", "3000/1h") if turn % 2 == 0 else ("1000/1h", "2000/1h")
                self.hangup(conf.config({"api": conf.policy(limit, plans={"big": big}, overrides={"b*": "big"})}),
                            RELOADED)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(problems[:3], [])
        self.assertGreater(min(asked), 0)


class Bad(Case):
    def bad(self, text, pattern):
        """The old configuration stays, and the log says where the fault is."""
        self.start({"api": conf.policy("5/1h")})
        self.take("api", cost=2)
        line = self.hangup(text, NOT_RELOADED)
        self.daemon.await_line(pattern)
        self.assertEqual(self.take("api")["remaining"], 2, line)
        self.hangup(conf.config({"api": conf.policy("6/1h")}), RELOADED)
        wait_until(lambda: self.peek("api")["limit"] == 6, 10, "a good file after a bad one is not taken")

    def test_not_yaml(self):
        self.bad("policies: [\n", r"mete\.yaml:\d+:\d+: ")

    def test_a_limit_that_cannot_be(self):
        self.bad(conf.config({"api": conf.policy("6/1h"), "zero": conf.policy("0/1h")}), r"mete\.yaml:\d+:\d+: .*count")

    def test_an_unknown_field(self):
        self.bad(conf.config({"api": conf.policy("6/1h", nonsense=1)}), r"mete\.yaml:\d+:\d+: .*nonsense")

    def test_empty(self):
        self.bad("", r"mete\.yaml")

    def test_binary(self):
        self.bad("\x00\x01\x02", r"mete\.yaml")

    def test_gone(self):
        self.start({"api": conf.policy("5/1h")})
        self.take("api", cost=2)
        since = len(self.daemon.lines)
        os.remove(self.daemon.config_path)
        self.daemon.signal(signal.SIGHUP)
        self.daemon.await_line(NOT_RELOADED + r".*mete\.yaml", since)
        self.assertEqual(self.take("api")["remaining"], 2)

    def test_the_count_of_failed_reloads_is_a_metric(self):
        self.bad("policies: [\n", r"mete\.yaml")
        with self.daemon.web() as web:
            self.assertRegex(web.get("/metrics").body.decode(), r"(?m)^mete_\w*reload\w*(\{[^}]*\})? [1-9]")


if __name__ == "__main__":
    unittest.main()

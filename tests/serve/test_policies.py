# SPDX-License-Identifier: Apache-2.0
"""Policies end to end: several limits all or nothing, plans for some keys, dry runs, who may use which, and the same
state over both protocols."""
import base64
import re
import unittest

import conf
from daemon import serve
from resp import ErrorReply, pairs


class Case(unittest.TestCase):
    def start(self, policies, **sections):
        self.daemon = serve(self, conf.config(policies, **sections), test_clock=True)
        self.client = self.daemon.resp()
        self.web = self.daemon.web()

    def take(self, policy, key, cost=None, verb="TAKE"):
        return pairs(self.client("METE." + verb, policy, key, *([] if cost is None else ["COST", cost])))


class Verbs(Case):
    def setUp(self):
        self.start({"api": conf.policy("1/1m burst 5"), "window": conf.policy("fixed_window 5/1m"),
                    "costly": conf.policy("10/1m", cost=4)})

    def test_take_says_everything(self):
        reply = self.take("api", "k")
        self.assertEqual({name: reply[name] for name in ("allowed", "limit", "remaining", "retry_after_ms",
                                                         "reset_after_ms")},
                         {"allowed": 1, "limit": 5, "remaining": 4, "retry_after_ms": 0, "reset_after_ms": 60000})

    def test_take_that_is_denied(self):
        self.take("api", "k", 5)
        reply = self.take("api", "k", 2)
        self.assertEqual((reply["allowed"], reply["remaining"], reply["retry_after_ms"], reply["reset_after_ms"]),
                         (0, 0, 120000, 300000))

    def test_resp2_and_resp3_say_the_same(self):
        """A flat array and a map."""
        flat = self.client("METE.PEEK", "api", "k")
        self.client("HELLO", 3)
        reply = self.client("METE.PEEK", "api", "k")
        self.assertIsInstance(flat, list)
        self.assertIsInstance(reply, dict)
        self.assertEqual(pairs(flat), pairs(reply))
        self.assertEqual(list(pairs(flat)), list(pairs(reply)))

    def test_milliseconds_are_rounded_up(self):
        self.take("api", "k", 5)
        self.daemon.clock_s("0.000000001")
        self.assertEqual(self.take("api", "k")["retry_after_ms"], 60000)
        self.daemon.clock_s("59.999999999")
        self.assertEqual(self.take("api", "k")["retry_after_ms"], 1)

    def test_peek_charges_nothing(self):
        for _ in range(10):
            reply = self.take("api", "k", 5, verb="PEEK")
            self.assertEqual((reply["allowed"], reply["remaining"]), (1, 5))
        self.take("api", "k", 3)
        self.assertEqual(self.take("api", "k", 3, verb="PEEK")["allowed"], 0)

    def test_refund_gives_back_but_never_above_full(self):
        self.take("api", "k", 4)
        self.assertEqual(self.take("api", "k", 2, verb="REFUND")["remaining"], 3)
        self.assertEqual(self.take("api", "k", 100, verb="REFUND")["remaining"], 5)
        self.assertEqual(self.take("api", "k", 5)["allowed"], 1)
        self.assertEqual(self.take("api", "k")["allowed"], 0)

    def test_reset_forgets(self):
        self.take("api", "k", 5)
        self.assertNotIsInstance(self.client("METE.RESET", "api", "k"), ErrorReply)
        self.assertEqual(self.take("api", "k", verb="PEEK")["remaining"], 5)

    def test_the_policys_own_cost(self):
        self.assertEqual(self.take("costly", "k")["remaining"], 6)
        self.assertEqual(self.take("costly", "k", 1)["remaining"], 5)
        self.assertEqual(self.take("costly", "k", 0)["remaining"], 5)

    def test_reserve(self):
        """Taken now, to be acted on after a wait that is at most as long as the client says."""
        self.take("api", "k", 5)
        denied = pairs(self.client("METE.RESERVE", "api", "k", "WAIT", 59999))
        self.assertEqual(denied["allowed"], 0)
        reply = pairs(self.client("METE.RESERVE", "api", "k", "WAIT", 60000))
        self.assertEqual((reply["allowed"], reply["wait_ms"]), (1, 60000))
        self.daemon.clock_s(60)
        self.assertEqual(self.take("api", "k")["allowed"], 0, "the unit of the first minute was reserved")

    def test_reserve_is_for_policies_of_one_limit(self):
        self.start({"two": conf.policy({"a": "5/1h", "b": "5/1h"})})
        self.assertIsInstance(self.client("METE.RESERVE", "two", "k", "WAIT", 1), ErrorReply)
        for words in [], ["WAIT"], ["WAIT", "-1"], ["WAIT", "x"], ["WAIT", "1", "COST", "x"]:
            self.assertIsInstance(self.client("METE.RESERVE", "two", "k", *words), ErrorReply)
        self.assertEqual(self.take("two", "k", verb="PEEK")["remaining"], 5)

    def test_deleting_a_key_does_not_touch_policies(self):
        self.take("api", "k", 2)
        self.client("CL.THROTTLE", "k", 4, 1, 60)
        self.assertEqual(self.client("DEL", "k"), 1)
        self.assertEqual(self.take("api", "k", verb="PEEK")["remaining"], 3)

    def test_keys_of_two_policies_are_not_the_same(self):
        self.take("api", "k", 5)
        self.assertEqual(self.take("window", "k")["remaining"], 4)
        self.assertEqual(self.client("CL.THROTTLE", "k", 4, 1, 60)[2], 4)

    def test_both_protocols_see_one_state(self):
        self.take("api", "k", 2)
        self.assertEqual(self.web.take("api", "k", 2).status, 200)
        self.assertEqual(self.take("api", "k", 2)["allowed"], 0)
        self.assertEqual(self.web.take("api", "k", 2).status, 429)
        self.assertEqual(self.web.refund("api", "k", 1).status, 200)
        self.assertEqual(self.take("api", "k", verb="PEEK")["remaining"], 2)
        self.assertEqual(self.web.reset("api", "k").status, 200)
        self.assertEqual(self.take("api", "k", verb="PEEK")["remaining"], 5)

    def test_binary_keys_over_http(self):
        """%-escapes are bytes."""
        key = b"\xff\x00\r\n&=%+ /"
        self.assertEqual(self.web.take("api", key, 3).status, 200)
        self.assertEqual(self.take("api", key, verb="PEEK")["remaining"], 2)

    def test_mistakes_are_named(self):
        for words, pattern in [(("nonsense", "k"), "nonsense|policy"),
                               (("api", "k", "COST"), "(?i)cost|syntax|arguments"),
                               (("api", "k", "COST", "x"), "(?i)cost"), (("api", "k", "COST", "-1"), "(?i)cost"),
                               (("api", "k", "WHAT", "1"), "(?i)what|syntax"), (("api",), "number of arguments")]:
            with self.subTest(words=words):
                reply = self.client("METE.TAKE", *words)
                self.assertIsInstance(reply, ErrorReply)
                self.assertRegex(reply, pattern)
        for target, status in [("/v1/take?policy=nonsense&key=k", 404), ("/v1/take?key=k", 400),
                               ("/v1/take?policy=api", 400), ("/v1/take?policy=api&key=k&cost=x", 400),
                               ("/v1/take?policy=api&key=k&cost=-1", 400), ("/v1/nonsense", 404)]:
            with self.subTest(target=target):
                response = self.web.get(target)
                self.assertEqual(response.status, status)
                self.assertEqual(response["Content-Type"], "application/problem+json")

    def test_policies_are_listed(self):
        text = str(self.client("METE.POLICIES"))
        listed = self.web.get("/v1/policies")
        self.assertEqual(listed.status, 200)
        for name in "api", "window", "costly":
            self.assertIn(name, text)
            self.assertIn(name, listed.body.decode())

    def test_top_keys(self):
        for _ in range(300):
            self.take("api", "busy")
        for i in range(20):
            self.take("api", f"other:{i}")
        self.assertIn("busy", str(self.client("METE.TOP")))
        top = self.web.get("/v1/top")
        self.assertEqual(top.status, 200)
        self.assertIn("busy", top.body.decode())


class AllOrNothing(Case):
    def test_a_denial_of_one_charges_none(self):
        self.start({"api": conf.policy({"few": "fixed_window 3/1m", "many": "100/1h burst 100",
                                        "log": "sliding_log 50/1h"})})
        allowed = [self.take("api", "k")["allowed"] for _ in range(30)]
        self.assertEqual(sum(allowed), 3)
        left = self.web.peek("api", "k").rate_limit
        self.assertEqual({name: parameters["r"] for name, parameters in left.items()},
                         {"few": 0, "many": 97, "log": 47})

    def test_the_reply_is_of_the_limit_that_binds(self):
        self.start({"api": conf.policy({"minute": "fixed_window 3/1m", "hour": "fixed_window 4/1h"})})
        self.assertEqual((self.take("api", "k")["limit"], self.take("api", "k")["remaining"]), (3, 1))
        self.take("api", "k")
        self.assertEqual(self.take("api", "k")["retry_after_ms"], 60000)
        self.daemon.clock_s(60)
        self.take("api", "k")
        reply = self.take("api", "k")
        self.assertEqual((reply["allowed"], reply["limit"], reply["retry_after_ms"]), (0, 4, 3540000))

    def test_limits_with_a_cost_of_their_own(self):
        """One counts requests, the other what they cost."""
        self.start({"api": conf.policy({"requests": {"limit": "10/1h", "cost": 1}, "bytes": "1000/1h"})})
        self.take("api", "k", 300)
        left = self.web.peek("api", "k").rate_limit
        self.assertEqual((left["requests"]["r"], left["bytes"]["r"]), (9, 700))


class Plans(Case):
    def setUp(self):
        self.start({"api": conf.policy({"rate": "3/1h"}, plans={"gold": {"rate": "10/1h"}, "none": {"rate": "1/1h"}},
                                       overrides={"alice": "gold", "team-*": "gold", "team-x*": "none",
                                                  "team-x1": "gold"})})

    def limit_of(self, key):
        return self.take("api", key, verb="PEEK")["limit"]

    def test_the_exact_key(self):
        self.assertEqual([self.limit_of(key) for key in ("bob", "alice", "alice2", "Alice", "")], [3, 10, 3, 3, 3])

    def test_the_longest_prefix_unless_one_is_exact(self):
        self.assertEqual([self.limit_of(key) for key in ("team-", "team-a", "team-x", "team-x2", "team-x1", "team")],
                         [10, 10, 1, 1, 10, 3])

    def test_each_key_has_its_own_allowance(self):
        self.assertEqual(sum(self.take("api", "team-a")["allowed"] for _ in range(12)), 10)
        self.assertEqual(sum(self.take("api", "team-b")["allowed"] for _ in range(12)), 10)
        self.assertEqual(sum(self.take("api", "bob")["allowed"] for _ in range(12)), 3)

    def test_headers_show_the_plan_of_the_key(self):
        self.assertEqual(self.web.take("api", "alice").rate_limit_policy["rate"]["q"], 10)
        self.assertEqual(self.web.take("api", "bob").rate_limit_policy["rate"]["q"], 3)


class DryRun(Case):
    def test_everything_passes_and_the_count_says_what_would_not(self):
        limits = {"a": "2/1m burst 2", "b": "sliding_log 7/10m"}
        self.start({"real": conf.policy(limits), "dry": conf.policy(limits, dry_run=True)})
        denied = 0
        for step in range(200):
            self.daemon.clock_s(step * 7)
            denied += not self.take("real", "k", step % 3)["allowed"]
            self.assertEqual(self.take("dry", "k", step % 3)["allowed"], 1)
        counts = decisions(self.web)
        self.assertGreater(denied, 20)
        self.assertEqual(counts["real", "denied"], denied)
        self.assertEqual(counts["dry", "would_deny"], denied)
        self.assertEqual(counts.get(("dry", "denied"), 0), 0)
        self.assertEqual(counts["real", "allowed"], counts["dry", "allowed"])

    def test_over_http_there_is_no_429(self):
        self.start({"dry": conf.policy("1/1h", dry_run=True)})
        responses = [self.web.take("dry", "k") for _ in range(3)]
        self.assertEqual([response.status for response in responses], [200] * 3)
        self.assertTrue(all("Retry-After" not in response for response in responses))


def decisions(web):
    """{(policy, outcome): count} from /metrics."""

    counts = {}
    for line in web.get("/metrics").body.decode().splitlines():
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', line))
        if "decisions" in line and {"policy", "outcome"} <= set(labels):
            counts[labels["policy"], labels["outcome"]] = int(line.rsplit(" ", 1)[1])
    return counts


class Users(Case):
    """Who may use which policies, who may bring limits, and who may administer."""

    def setUp(self):
        self.start({"api": conf.policy("5/1h"), "admin": conf.policy("5/1h"), "open": conf.policy("5/1h")}, users={
            "default": conf.user(policies=["open"]),
            "app": conf.user(password="app-pw", policies=["api", "open"]),
            "trusted": conf.user(password="trusted-pw", policies=["api"], may_bring_limits=True),
            "root": conf.user(password="root-pw", policies="all", may_bring_limits=True, may_administer=True),
        })

    def code(self, client, *command):
        reply = client(*command)
        return reply.code if isinstance(reply, ErrorReply) else "OK"

    def login(self, name):
        client = self.daemon.resp()
        self.addCleanup(client.close)
        if name != "default":
            self.assertEqual(client("AUTH", name, name + "-pw"), "OK")
        return client

    def test_policies(self):
        allowed = {"default": {"open"}, "app": {"api", "open"}, "trusted": {"api"}, "root": {"api", "admin", "open"}}
        for name, policies in allowed.items():
            client = self.login(name)
            for policy in "api", "admin", "open":
                for verb in "TAKE", "PEEK":
                    with self.subTest(user=name, policy=policy, verb=verb):
                        self.assertEqual(self.code(client, "METE." + verb, policy, name),
                                         "OK" if policy in policies else "NOPERM")

    def test_bringing_limits(self):
        for name, expected in ("default", "NOPERM"), ("app", "NOPERM"), ("trusted", "OK"), ("root", "OK"):
            client = self.login(name)
            for command in ("CL.THROTTLE", "k", 4, 1, 60), ("RL.THROTTLE", "k", 4, 1, 60), ("GCRA", "k", 4, 1, 60):
                with self.subTest(user=name, command=command[0]):
                    self.assertEqual(self.code(client, *command), expected)

    def test_administration(self):
        for name, expected in ("default", "NOPERM"), ("app", "NOPERM"), ("root", "OK"):
            client = self.login(name)
            for command in ("METE.RESET", "open", "k"), ("METE.REFUND", "open", "k"), ("METE.TOP",), ("CLIENT", "LIST"):
                with self.subTest(user=name, command=command):
                    self.assertEqual(self.code(client, *command), expected)

    def test_deleting_needs_as_much_as_bringing(self):
        """DEL of a throttle key gives its allowance back."""
        self.assertEqual(self.code(self.login("app"), "DEL", "k"), "NOPERM")
        self.assertEqual(self.code(self.login("root"), "DEL", "k"), "OK")

    def test_a_login_lasts_until_another(self):
        client = self.login("app")
        self.assertEqual(self.code(client, "METE.TAKE", "api", "k"), "OK")
        self.assertEqual(client("AUTH", "app", "wrong").code, "WRONGPASS")
        self.assertEqual(self.code(client, "METE.TAKE", "api", "k"), "OK", "a failed login changes nothing")
        self.assertEqual(client("AUTH", "trusted", "trusted-pw"), "OK")
        self.assertEqual(self.code(client, "METE.TAKE", "open", "k"), "NOPERM")
        client("RESET")
        self.assertEqual(self.code(client, "METE.TAKE", "api", "k"), "NOPERM")
        self.assertEqual(self.code(client, "METE.TAKE", "open", "k"), "OK")

    def test_http(self):
        def status(user, policy, verb="take"):
            return self.web.take(policy, "h", verb=verb, headers=basic(user) if user else ()).status
        self.assertEqual([status(None, policy) for policy in ("open", "api")], [200, 403])
        self.assertEqual([status("app:app-pw", policy) for policy in ("open", "api", "admin")], [200, 200, 403])
        self.assertEqual(status("app:wrong", "open"), 401)
        self.assertEqual(status("nobody:app-pw", "open"), 401)
        for user, expected in (None, 403), ("app:app-pw", 403), ("root:root-pw", 200):
            headers = basic(user) if user else ()
            self.assertEqual(self.web.get("/v1/top", headers).status, expected)
            self.assertEqual(self.web.reset("open", "h", headers=headers).status, expected)

    def test_http_401_names_the_scheme(self):
        response = self.web.take("open", "h", headers=basic("app:wrong"))
        self.assertRegex(response["WWW-Authenticate"], "(?i)^basic|bearer")

    def test_policies_not_to_be_used_are_not_shown(self):
        listed = str(self.login("app")("METE.POLICIES"))
        if not listed.startswith("NOPERM"):
            self.assertNotIn("'admin'", listed)


def basic(user):
    return {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()}


class Locked(Case):
    """With users and none of them "default", all must log in, but the health checks."""

    def test_http(self):
        self.start({"api": conf.policy("5/1h")}, users={"app": conf.user(password="app-pw", policies="all")})
        self.assertEqual(self.web.get("/healthz").status, 200)
        self.assertEqual(self.web.get("/readyz").status, 200)
        self.assertEqual(self.web.take("api", "k").status, 401)
        self.assertEqual(self.web.get("/check/api").status, 401)
        self.assertEqual(self.web.get("/metrics").status, 401)
        self.assertEqual(self.web.take("api", "k", headers=basic("app:app-pw")).status, 200)
        self.assertEqual(self.web.take("api", "k").status, 401, "a login is of one request")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""/check/POLICY, which gateways ask with the fields of their client's request: what makes the key, which status says
no; and many decisions in one request to /v1/take."""
import unittest

import conf
from daemon import serve
from resp import pairs


class Case(unittest.TestCase):
    def start(self, policies, **sections):
        self.daemon = serve(self, conf.config(policies, **sections), test_clock=True)
        self.client = self.daemon.resp()
        self.web = self.daemon.web()

    def left(self, policy, key):
        return pairs(self.client("METE.PEEK", policy, key))["remaining"]


class Keys(Case):
    def test_the_peer_itself(self):
        self.start({"api": conf.policy("5/1h")})
        self.assertEqual(self.web.get("/check/api").status, 200)
        self.assertEqual(self.left("api", "127.0.0.1"), 4)

    def test_a_header(self):
        self.start({"api": conf.policy("5/1h", key="header:X-Api-Key")})
        self.web.get("/check/api", {"x-api-KEY": "alice"})
        self.assertEqual((self.left("api", "alice"), self.left("api", "")), (4, 5))

    def test_a_header_that_is_absent_is_the_empty_key(self):
        self.start({"api": conf.policy("5/1h", key="header:X-Api-Key")})
        self.web.get("/check/api")
        self.web.get("/check/api", {"X-Api-Key": ""})
        self.assertEqual(self.left("api", ""), 3)

    def test_a_query_parameter(self):
        self.start({"api": conf.policy("5/1h", key="query:user")})
        self.web.get("/check/api?x=1&user=a%20b")
        self.assertEqual(self.left("api", "a b"), 4)

    def test_the_method_and_path_of_the_clients_request(self):
        """Traefik and Caddy say them in X-Forwarded-*, nginx's recipe in X-Original-URI."""
        self.start({"api": conf.policy("5/1h", key=["method", "path"])})
        self.web.get("/check/api", {"X-Forwarded-Method": "POST", "X-Forwarded-Uri": "/a/b?c=d"})
        self.assertEqual(self.left("api", "POST\x1f/a/b"), 4)
        self.web.get("/check/api", {"X-Original-URI": "/a/b?e"})
        self.assertEqual(self.left("api", "GET\x1f/a/b"), 4)

    def test_parts_are_joined_so_that_they_cannot_be_confused(self):
        self.start({"api": conf.policy("5/1h", key=["header:A", "header:B"])})
        self.web.get("/check/api", {"A": "x", "B": "yz"})
        self.web.get("/check/api", {"A": "xy", "B": "z"})
        self.assertEqual((self.left("api", "x\x1fyz"), self.left("api", "xy\x1fz")), (4, 4))

    def test_another_header_for_the_address(self):
        self.start({"api": conf.policy("5/1h")}, client_address={"header": "CF-Connecting-IP"})
        self.web.get("/check/api", {"CF-Connecting-IP": "192.0.2.7", "X-Forwarded-For": "192.0.2.8"})
        self.assertEqual((self.left("api", "192.0.2.7"), self.left("api", "192.0.2.8")), (4, 5))

    def test_several_lines_of_one_header_are_one_list(self):
        """RFC 9110 section 5.3: the last address of the last line is the nearest."""
        self.start({"api": conf.policy("5/1h")})
        self.web.get("/check/api", [("X-Forwarded-For", "203.0.113.1"), ("X-Forwarded-For", "198.51.100.1, 192.0.2.7")])
        self.assertEqual((self.left("api", "192.0.2.7"), self.left("api", "203.0.113.1")), (4, 5))

    def test_what_is_no_address_is_no_other_clients_key(self):
        """Nonsense in the header spends neither an address's allowance nor an unlimited number of fresh keys."""
        self.start({"api": conf.policy("5/1h")})
        statuses = [self.web.get("/check/api", {"X-Forwarded-For": f"nonsense{i}"}).status for i in range(20)]
        self.assertLessEqual(statuses.count(200), 5, statuses)


class Costs(Case):
    """What the client's own request says may make it dearer, never cheaper."""

    def test_a_header_raises_the_cost_and_never_lowers_it(self):
        self.start({"api": conf.policy("20/1h", cost=3)})
        for cost, left in ("5", 15), ("1", 12), ("0", 9), ("3", 6):
            self.assertEqual(self.web.get("/check/api", {"X-Mete-Cost": cost}).status, 200)
            self.assertEqual(self.left("api", "127.0.0.1"), left, f"X-Mete-Cost: {cost}")

    def test_nonsense_does_not_make_it_free(self):
        self.start({"api": conf.policy("20/1h", cost=3)})
        for cost in "x", "-5", "1.5", "", "99999999999999999999999":
            before = self.left("api", "127.0.0.1")
            response = self.web.get("/check/api", {"X-Mete-Cost": cost})
            self.assertTrue(response.status != 200 or self.left("api", "127.0.0.1") <= before - 3, cost)

    def test_the_gateways_query(self):
        self.start({"api": conf.policy("20/1h")})
        self.assertEqual(self.web.get("/check/api?cost=8").status, 200)
        self.assertEqual(self.left("api", "127.0.0.1"), 12)
        self.assertEqual(self.web.get("/check/api?cost=13&deny_status=403").status, 403)
        self.assertEqual(self.web.get("/check/api?cost=13").status, 429)

    def test_the_query_of_the_clients_own_address_counts_for_nothing(self):
        self.start({"api": conf.policy("2/1h")})
        headers = {"X-Original-URI": "/?cost=0", "X-Forwarded-Uri": "/?cost=0&deny_status=599"}
        statuses = [self.web.get("/check/api", headers).status for _ in range(3)]
        self.assertEqual(statuses, [200, 200, 429])


class OtherSites(Case):
    """A page of another site cannot spend or reset by making a browser ask."""

    def test_cross_site_requests(self):
        self.start({"api": conf.policy("5/1h")})
        for headers in {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}:
            for verb in "take", "refund", "reset":
                for method in "GET", "POST":
                    response = self.web(method, f"/v1/{verb}?policy=api&key=k", headers,
                                        b"" if method == "POST" else None)
                    self.assertEqual(response.status, 403, (headers, verb, method))
        self.assertEqual(self.left("api", "k"), 5)

    def test_no_other_site_may_read(self):
        self.start({"api": conf.policy("5/1h")})
        for target in "/v1/peek?policy=api&key=k", "/v1/top", "/metrics", "/":
            response = self.web.get(target, {"Origin": "https://evil.example"})
            self.assertNotIn("Access-Control-Allow-Origin", response)


class Answers(Case):
    def test_the_configured_status(self):
        statuses = {"default": 429, "nginx": 403, "shed": 503}
        self.start({"default": conf.policy("1/1h"), "nginx": conf.policy("1/1h", deny_status=403),
                    "shed": conf.policy("1/1h", deny_status=503)})
        for policy, status in statuses.items():
            for number, method in enumerate(("GET", "HEAD", "POST")):
                responses = [self.web(method, f"/check/{policy}", {"X-Forwarded-For": f"192.0.2.{number}"},
                                      b"" if method == "POST" else None) for _ in "12"]
                self.assertEqual(responses[0].status, 200)
                response = responses[1]
                self.assertEqual((response.status, response.retry_after), (status, 3600))
                self.assertIn("RateLimit", response)
                if method != "HEAD" and response.body:
                    self.assertEqual(response.json["status"], status)

    def test_any_method_of_the_clients_request(self):
        """A gateway may pass the client's own method on."""
        self.start({"api": conf.policy("50/1h")})
        for method in "PUT", "DELETE", "PATCH", "OPTIONS":
            self.assertIn(self.web(method, "/check/api", {"Content-Length": "0"}).status, (200, 405))

    def test_no_such_policy(self):
        self.start({"api": conf.policy("1/1h")})
        self.assertEqual(self.web.get("/check/none").status, 404)
        self.assertEqual(self.web.get("/check/").status, 404)


class Batch(Case):
    def take(self, *requests):
        return self.web.post_json("/v1/take", {"requests": [dict(zip(("policy", "key", "cost"), request))
                                                            for request in requests]})

    def test_answers_in_order(self):
        self.start({"api": conf.policy("3/1h"), "two": conf.policy({"a": "1/1h", "b": "5/1h"})})
        response = self.take(("api", "k"), ("two", "k"), ("api", "k", 2), ("two", "k"), ("api", "k"), ("api", "other"))
        self.assertEqual(response.status, 200)
        answers = response.json["answers"]
        self.assertEqual([answer["allowed"] for answer in answers], [True, True, True, False, False, True])
        self.assertEqual([answer["remaining"] for answer in answers], [2, 0, 0, 0, 0, 2])
        self.assertEqual(self.left("two", "k"), 0)

    def test_all_are_checked_before_the_first_is_decided(self):
        self.start({"api": conf.policy("3/1h")})
        for wrong in ("none", "k"), ("api", "k", -1), ("api", "k", "1"), ("api",):
            response = self.take(("api", "k"), wrong)
            self.assertIn(response.status, (400, 404), wrong)
            self.assertEqual(response["Content-Type"], "application/problem+json")
            self.assertEqual(self.left("api", "k"), 3, wrong)

    def test_256_and_no_more(self):
        self.start({"api": conf.policy("1000/1h")}, bounds={"request_bytes_max": 1 << 20})
        self.assertEqual(self.take(*[("api", "k")] * 256).status, 200)
        self.assertEqual(self.left("api", "k"), 744)
        self.assertIn(self.take(*[("api", "k")] * 257).status, (400, 413))
        self.assertEqual(self.left("api", "k"), 744)

    def test_keys_in_base64(self):
        self.start({"api": conf.policy("3/1h")})
        self.assertEqual(self.web.post_json("/v1/take", {"policy": "api", "key_base64": "/wA="}).status, 200)
        self.assertEqual(self.left("api", b"\xff\x00"), 2)
        for wrong in "/wA", "/w=A", "/wB=", "/w A=", "*", "/wA==":
            self.assertEqual(self.web.post_json("/v1/take", {"policy": "api", "key_base64": wrong}).status, 400, wrong)

    def test_an_empty_batch(self):
        self.start({"api": conf.policy("3/1h")})
        self.assertIn(self.take().status, (200, 400))


if __name__ == "__main__":
    unittest.main()

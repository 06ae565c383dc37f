# SPDX-License-Identifier: Apache-2.0
"""The HTTP side of a real daemon: every path, every way to ask, and who may."""
import base64
import http.client
import json
import os
import socket
import tempfile
import time
import unittest

import structured_fields
from serving import Daemon

CONFIG = """
policies:
  api:
    limits: { perip: 5/1h }
  both:
    limits: { sec: 4/4h burst 4, day: 1/8h burst 1 }
  huge:
    limits: { huge: 1000000000/s burst 1000000000000000000 }
  old:
    limits: { a: 3/1h, b: 9/2h }
    headers: [draft-06, draft-07, x-ratelimit-delta, x-ratelimit-epoch]
  new:
    limits: { a: 3/1h }
    headers: [draft-10, draft-12-provisional]
  quiet:
    limits: { a: 1/1h }
    headers: off
    deny_status: 503
  gate:
    limits: { a: 2/1h }
    key: [method, path, "query:who", "header:X-Api-Key"]
    deny_status: 403
  queue:
    limits: { a: 1/1h burst 1 }
  pair:
    limits: { requests: { limit: 5/1h, cost: 1 }, units: 100/1h }
"""

USERS = """
users:
  - { name: default, policies: [api] }
  - { name: app, password: app-pw, policies: [api, gate] }
  - { name: root, password: "root:pw", policies: all, may_administer: true }
"""


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.fields = response.getheaders()
        self.body = response.read()
        self.will_close = response.will_close

    def __getitem__(self, name):
        found = [value for field, value in self.fields if field.lower() == name.lower()]
        return ", ".join(found) if found else None

    @property
    def json(self):
        """A whole line on a terminal."""
        assert self.body.endswith(b"}\n") and self.body.count(b"\n") == 1, self.body
        return json.loads(self.body)


class Case(unittest.TestCase):
    config = CONFIG

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = os.path.join(folder.name, "mete.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(cls.config)
        cls.daemon = Daemon("--config", path, "--resp", "off", "--http", "127.0.0.1:0", "--threads", "1", listeners=1)
        cls.addClassCleanup(cls.daemon.finish)
        cls.port = cls.daemon.port("http")

    def setUp(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self.addCleanup(self.connection.close)
        self.key = self.id().rsplit(".", 1)[1].replace("_", "-")

    def ask(self, method, target, body=None, **fields):
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        self.connection.request(method, target, body, headers)
        return Answer(self.connection.getresponse())

    def get(self, target, **fields):
        return self.ask("GET", target, **fields)

    def take(self, policy="api", **more):
        query = "".join(f"&{name}={value}" for name, value in more.items())
        return self.get(f"/v1/take?policy={policy}&key={self.key}{query}")

    def raw(self, data):
        """Everything that comes until the daemon closes."""
        with socket.create_connection(("127.0.0.1", self.port), 30) as stream:
            stream.sendall(data)
            received = b""
            while chunk := stream.recv(65536):
                received += chunk
        return received

    def expect_problem(self, answer, status, word):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer["Content-Type"], "application/problem+json")
        self.assertEqual(answer.json["status"], status)
        self.assertIn(word, answer.json["detail"])


class Deciding(Case):
    def test_the_members_of_an_answer(self):
        answer = self.take()
        self.assertEqual((answer.status, answer["Content-Type"]), (200, "application/json"))
        figures = {"limit": 5, "remaining": 4, "retry_after_ms": 0, "reset_after_ms": 720000}
        self.assertEqual(answer.json, {"allowed": True, **figures, "limits": [{"name": "perip", "allowed": True, **figures}]})
        self.assertEqual(answer["Cache-Control"], "no-store")
        self.assertRegex(answer["Date"], r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$")
        self.take(cost=4)
        denied = self.take()
        self.assertEqual(denied.status, 429)
        self.assertEqual(denied.json["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded")
        self.assertEqual(denied.json["violated-policies"], ["perip"])
        self.assertFalse(denied.json["allowed"])
        self.assertLessEqual(denied.json["retry_after_ms"], 720000)
        self.assertEqual(int(denied["Retry-After"]), -(-denied.json["retry_after_ms"] // 1000))

    def test_a_cost_that_can_never_pass(self):
        denied = self.take(cost=6)
        self.expect_problem(denied, 429, "waiting does not help")
        self.assertIsNone(denied["Retry-After"])
        self.assertIsNone(denied.json["retry_after_ms"])

    def test_a_peek_takes_nothing_and_no_is_an_answer(self):
        for cost, allowed in (5, True), (5, True), (6, False):
            answer = self.get(f"/v1/peek?policy=api&key=peek&cost={cost}")
            self.assertEqual((answer.status, answer.json["allowed"], answer.json["remaining"]), (200, allowed, 5))
            self.assertEqual(answer["RateLimit"], '"perip";r=5')

    def test_refund_and_reset(self):
        self.take(cost=5)
        answer = self.ask("POST", f"/v1/refund?policy=api&key={self.key}&cost=2")
        self.assertEqual((answer.status, answer.json["remaining"]), (200, 2))
        answer = self.ask("POST", "/v1/reset", {"policy": "api", "key": self.key})
        self.assertEqual((answer.status, answer.json["remaining"]), (200, 5))

    def test_reserve(self):
        first = self.get("/v1/reserve?policy=queue&key=r")
        self.assertEqual((first.status, first.json.get("wait_ms")), (200, None))
        second = self.get("/v1/reserve?policy=queue&key=r&wait_ms_max=3600000")
        self.assertEqual(second.status, 200)
        self.assertGreater(second.json["wait_ms"], 3500000)
        self.assertEqual(self.get("/v1/reserve?policy=queue&key=r&wait_ms_max=1000").status, 429)
        self.expect_problem(self.get("/v1/reserve?policy=both&key=r"), 400, "several limits")

    def test_a_limits_own_cost(self):
        answer = self.take("pair", cost=40)
        self.assertEqual([limit["remaining"] for limit in answer.json["limits"]], [4, 60])

    def test_keys_are_bytes(self):
        key = b"\xff\x00 +%&=\r\n"
        escaped = "".join(f"%{byte:02x}" for byte in key)
        coded = base64.b64encode(key).decode()
        asks = [lambda: self.get(f"/v1/take?policy=api&key={escaped}"),
                lambda: self.get("/v1/take?policy=api&key_base64=" + coded.replace("+", "%2B").replace("=", "%3d")),
                lambda: self.ask("POST", "/v1/take", {"policy": "api", "key_base64": coded}),
                lambda: self.ask("POST", "/v1/take?policy=api", {"requests": [{"key_base64": coded}]})]
        for count, ask in enumerate(asks[:3], 1):
            self.assertEqual(ask().json["remaining"], 5 - count)
        self.assertEqual(asks[3]().json["answers"][0]["remaining"], 1)
        answer = self.ask("POST", "/v1/take", {"policy": "api", "requests": [{"key_base64": coded}]})
        self.assertEqual(answer.json["answers"][0]["remaining"], 0)
        self.assertEqual(self.get("/v1/take?policy=api&key=a+b%20c").json["remaining"], 4)
        self.assertEqual(self.ask("POST", "/v1/take", {"policy": "api", "key": "a b c"}).json["remaining"], 3)
        self.assertEqual(self.ask("POST", "/v1/take", {"policy": "api", "key": "nul\0"}).json["remaining"], 4)
        self.assertEqual(self.get("/v1/take?policy=api&key=nul%00").json["remaining"], 3)
        self.assertEqual(self.get("/v1/take?policy=api&key=").json["remaining"], 4)

    def test_many_in_one_body(self):
        items = [{"policy": "api", "key": self.key}] * 6 + [{"policy": "both", "key": self.key, "cost": 1}] * 2
        answer = self.ask("POST", "/v1/take", {"requests": items})
        self.assertEqual(answer.status, 200)
        allowed = [each["allowed"] for each in answer.json["answers"]]
        self.assertEqual(allowed, [True] * 5 + [False, True, False])
        huge = [{"policy": "huge", "key": str(i)} for i in range(257)]
        self.assertEqual(len(self.ask("POST", "/v1/take", {"requests": huge[:256]}).json["answers"]), 256)
        self.expect_problem(self.ask("POST", "/v1/take", {"requests": huge}), 400, "at most 256")
        self.assertEqual(self.ask("POST", "/v1/take", {"requests": []}).json, {"answers": []})

    def test_many_are_checked_before_one_is_taken(self):
        good = {"policy": "api", "key": self.key}
        for bad, word in [({"policy": "api"}, "requests[1].key"), ({"policy": "x", "key": "k"}, "no policy 'x'"),
                          ({"policy": "api", "key": 5}, "requests[1].key"), (7, "requests[1]"),
                          ({"policy": "api", "key": "k", "cost": -1}, "requests[1].cost"),
                          ({"policy": "api", "key": "k", "deny_status": 403}, "requests[1].deny_status"),
                          ({"policy": "api", "key": "k", "cots": 1}, "requests[1].cots")]:
            answer = self.ask("POST", "/v1/take", {"requests": [good, bad]})
            self.assertIn(word, answer.json["detail"])
        self.assertEqual(self.take().json["remaining"], 4)

    def test_mistakes_are_named(self):
        for target, word in [("policy=api", "key is missing"), ("key=k", "policy is missing"),
                             ("policy=api&key=k&cost=x", "cost"), ("policy=api&key=k&cost=", "cost"),
                             ("policy=api&key=k&cost=18446744073709551616", "cost"), ("policy=api&key=k&cost=1.5", "cost"),
                             ("policy=api&key=k&key=l", "key is given twice"), ("policy=api&key=k&key_base64=aw==", "twice"),
                             ("policy=api&key_base64=a", "base64"), ("policy=api&key=%zz", "hexadecimal"),
                             ("policy=api&key=k&what=1", "'what'"), ("policy=api&key=k&deny_status=200", "400 to 599"),
                             ("policy=api&key=k&wait_ms_max=1", "/v1/reserve")]:
            self.expect_problem(self.get("/v1/take?" + target), 400, word)
        for body, word in [("{", "line 1"), ("[]", "object"), ('{"policy":"api","policy":"b"}', "duplicate"),
                           ('{"policy":"api","key":null}', "key"), ('{"policy":"api","key":"k","cost":1.0}', "cost"),
                           ('{"policy":"api","key":"\xff"}'.encode("latin-1"), "not JSON"), ("{} {}", "not JSON")]:
            answer = self.ask("POST", "/v1/take", body, Content_Type="application/json; charset=utf-8")
            self.expect_problem(answer, 400, word)
        self.expect_problem(self.ask("POST", "/v1/take", "policy=api&key=k",
                                     Content_Type="application/x-www-form-urlencoded"), 415, "application/json")
        self.expect_problem(self.get("/v1/take?policy=nobody&key=k"), 404, "'nobody'")

    def test_the_status_of_a_denial(self):
        self.take("quiet")
        denied = self.take("quiet")
        self.assertEqual((denied.status, denied.json["status"]), (503, 503))
        self.assertIsNotNone(denied["Retry-After"])
        self.assertIsNone(denied["RateLimit"])
        self.assertEqual(self.take("quiet", deny_status=418).status, 418)


class Fields(Case):
    def test_the_default_style_reads_back(self):
        answer = self.take("both")
        self.assertEqual(structured_fields.parse_list(answer["RateLimit-Policy"]),
                         [("sec", {"q": 4, "w": 14400}), ("day", {"q": 1, "w": 28800})])
        self.assertEqual(structured_fields.parse_list(answer["RateLimit"]),
                         [("sec", {"r": 3, "t": 3600}), ("day", {"r": 0, "t": 28800})])
        self.assertIsNone(answer["Retry-After"])

    def test_numbers_have_fifteen_digits(self):
        answer = self.take("huge")
        self.assertEqual(structured_fields.parse_list(answer["RateLimit-Policy"])[0][1]["q"], 10**15 - 1)
        self.assertEqual(structured_fields.parse_list(answer["RateLimit"])[0][1]["r"], 10**15 - 1)

    def test_older_styles_read_back(self):
        answer = self.take("old")
        self.assertEqual(structured_fields.parse_list(answer["RateLimit-Policy"]), [(3, {"w": 3600}), (9, {"w": 7200})])
        self.assertEqual(structured_fields.parse_dictionary(answer["RateLimit"]),
                         {"limit": 3, "remaining": 2, "reset": 1200})
        for name, value in ("Limit", 3), ("Remaining", 2), ("Reset", 1200):
            self.assertEqual(structured_fields.parse_item(answer["RateLimit-" + name]), (value, {}))
            self.assertEqual(answer["X-RateLimit-" + name], str(value))

    def test_two_drafts_share_a_list(self):
        answer = self.take("new")
        self.assertEqual(structured_fields.parse_list(answer["RateLimit"]),
                         [("a", {"r": 2, "t": 1200, "a": 2, "w": 1200})])

    def test_the_reader_is_strict(self):
        for bad in ["", "1,2", "1 , 2", "1,", '"a"; q=1', '"a";q=01', '"a";q=1;q=2', '"a', '"\\x"', "1.5", "-", ":a:",
                    ":aa==b:", ":cHsdsRa894==:", "token", "1234567890123456", '"a";Q=1', "?1"]:
            with self.assertRaises(ValueError, msg=bad):
                structured_fields.parse_list(bad)
        self.assertEqual(structured_fields.parse_list('"a\\"b";pk=:/wA=:;x'), [('a"b', {"pk": b"\xff\x00", "x": True})])


class Gateways(Case):
    def check(self, target="/check/gate", method="GET", **fields):
        return self.ask(method, target, **fields)

    def test_answers_are_short(self):
        for _ in range(2):
            answer = self.check(X_Api_Key=self.key)
            self.assertEqual((answer.status, answer.body, answer["Content-Type"]), (200, b"", None))
        denied = self.check(X_Api_Key=self.key)
        self.assertEqual((denied.status, denied["RateLimit"][:8]), (403, '"a";r=0;'))
        self.assertEqual(set(denied.json), {"type", "title", "status", "violated-policies"})
        self.assertIsNotNone(denied["Retry-After"])
        self.assertEqual(self.check("/check/gate?deny_status=429", X_Api_Key=self.key).status, 429)

    def test_the_parts_of_a_key(self):
        asks = [{}, {"method": "DELETE"}, {"X_Forwarded_Method": "PUT"}, {"X_Forwarded_Uri": "/a?b"},
                {"X_Original_URI": "/b"}, {"target": "/check/gate?who=me"}, {"X_Api_Key": "other"},
                {"target": "/check/gate?who=%20&cost=1&anything=goes"}]
        for ask in asks:
            ask = {"X_Api_Key": self.key, **ask}
            self.assertEqual([self.check(**ask).status for _ in "123"], [200, 200, 403], ask)
        self.assertEqual(self.check(X_Api_Key=self.key, X_Forwarded_Uri="/a?other").status, 403)
        self.expect_problem(self.check("/check/gate?who=a%1fb"), 400, "who")

    def test_a_client_cannot_make_itself_cheap(self):
        self.assertEqual(self.check(X_Api_Key=self.key, X_Mete_Cost="0").status, 200)
        self.assertEqual(self.check(X_Api_Key=self.key, X_Mete_Cost="2").status, 403)
        self.assertEqual(self.check(X_Api_Key=self.key, X_Mete_Cost="1").status, 200)
        self.assertEqual(self.check(X_Api_Key=self.key, X_Mete_Cost="0").status, 403)
        self.expect_problem(self.check(X_Mete_Cost="-1"), 400, "X-Mete-Cost")

    def test_the_query_is_the_gateways_own(self):
        self.assertEqual(self.check("/check/gate?cost=2", X_Api_Key=self.key).status, 200)
        self.assertEqual(self.check("/check/gate?cost=0", X_Api_Key=self.key).status, 200)
        self.assertEqual(self.check("/check/gate?cost=1", X_Api_Key=self.key).status, 403)

    def test_the_clients_own_login_and_origin_are_not_ours(self):
        answer = self.check(X_Api_Key=self.key, Authorization="Basic YTpi", Origin="https://app.example",
                            Sec_Fetch_Site="cross-site")
        self.assertEqual(answer.status, 200)

    def test_two_fields_for_the_clients_path(self):
        """A gateway sets one and passes on the other as its client sent it: they must agree."""
        same = {"X_Forwarded_Uri": "/a?x", "X_Original_URI": "/a?x"}
        self.assertEqual(self.check(X_Api_Key=self.key, **same).status, 200)
        other = {"X_Forwarded_Uri": "/random", "X_Original_URI": "/a"}
        self.expect_problem(self.check(X_Api_Key=self.key, **other), 400, "X-Original-URI")

    def test_the_clients_path_behind_the_policy(self):
        """What a gateway's prefix is put before is the client's: its query changes neither cost nor status."""
        for rest in "/", "/some/page?a=b", "/x?cost=1000000&deny_status=599", "/check/none", "//":
            statuses = [self.check("/check/gate" + rest, X_Api_Key=self.key).status for _ in range(3)]
            self.assertEqual(statuses, [200, 200, 403], rest)  # each path is a key of its own
        self.expect_problem(self.check("/check/none/x", X_Api_Key=self.key), 404, "'none'")

    def test_head_and_post(self):
        self.assertEqual(self.check(method="HEAD", X_Api_Key=self.key).status, 200)
        self.assertEqual(self.check(method="POST", body="anything", X_Api_Key=self.key).status, 200)
        self.expect_problem(self.check("/check/none"), 404, "'none'")
        self.expect_problem(self.check("/check/"), 404, "''")


class Looking(Case):
    def test_health(self):
        for path in "/healthz", "/readyz":
            answer = self.get(path)
            self.assertEqual((answer.status, answer.body), (200, b"ok\n"))

    def test_policies(self):
        listed = {each["name"]: each for each in self.get("/v1/policies").json["policies"]}
        self.assertEqual(len(listed), CONFIG.count("limits:"))
        self.assertEqual(listed["pair"]["limits"][0], {"name": "requests", "limit": "token_bucket 5/1h", "capacity": 5,
                                                       "window_s": 3600, "cost": 1})

    def test_top(self):
        for _ in range(50):
            self.get("/v1/take?policy=huge&key=busy")
            self.get("/v1/take?policy=api&key=%ff")
        self.assertGreater(self.get("/v1/stats").json["totals"]["allowed"], 0)
        top = self.get("/v1/top?count=1000").json
        allowed = {(each["policy"], each.get("key")): each for each in top["allowed"]}
        self.assertEqual(allowed["huge", "busy"]["count"], 50)
        odd = [each for each in top["denied"] if each.get("key_base64") == "/w=="]
        self.assertEqual([(each["count"], "key" in each) for each in odd], [(45, False)])
        self.assertLessEqual(len(self.get("/v1/top?count=1").json["allowed"]), 1)
        for query in "count=0", "count=1001", "count=x", "n=1":
            self.expect_problem(self.get("/v1/top?" + query), 400, "count=N")

    def test_figures(self):
        self.assertIn(b"mete_decisions_total{", self.get("/metrics").body)
        self.assertIn("policies", self.get("/v1/stats").json)

    def test_the_dashboard(self):
        page = self.get("/")
        self.assertEqual((page.status, page["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'self'", page["Content-Security-Policy"])
        self.assertEqual(page["X-Content-Type-Options"], "nosniff")
        for tags, status in (page["ETag"], 304), (f'"x", W/{page["ETag"]}', 304), ("*", 304), ('"x"', 200):
            answer = self.get("/", If_None_Match=tags)
            self.assertEqual((answer.status, answer["ETag"]), (status, page["ETag"]))
            self.assertEqual(answer.body, b"" if status == 304 else page.body)
        head = self.ask("HEAD", "/")
        self.assertEqual((head.status, head.body, head["Content-Length"]), (200, b"", str(len(page.body))))

    def test_paths_and_methods(self):
        self.expect_problem(self.get("/v1/nothing"), 404, "nothing at this path")
        self.expect_problem(self.get("/v1/take/"), 404, "nothing at this path")
        for method, path, allow in [("PUT", "/v1/take", "GET, HEAD, POST"), ("OPTIONS", "/v1/take", "GET, HEAD, POST"),
                                    ("POST", "/metrics", "GET, HEAD"), ("DELETE", "/", "GET, HEAD")]:
            answer = self.ask(method, path)
            self.expect_problem(answer, 405, "method")
            self.assertEqual(answer["Allow"], allow)
        self.assertEqual(self.get("http://any.example/v1/take?policy=huge&key=k").status, 200)


class Browsers(Case):
    """A page of another site must not spend, or give back, in its visitor's name."""

    def test_forms_and_images_of_other_sites(self):
        target = f"/v1/take?policy=huge&key={self.key}"
        for fields in [{"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}, {"Origin": "null"},
                       {"Origin": "https://evil.example"}, {"Origin": f"http://127.0.0.1:{self.port}.evil.example"}]:
            for path in target, target.replace("take", "reset"), target.replace("take", "refund"):
                self.expect_problem(self.get(path, **fields), 403, "another site")
            self.assertEqual(self.get(target.replace("take", "peek"), **fields).status, 200)
            self.assertEqual(self.get(target, X_Mete_Client="test", **fields).status, 200)
            self.assertEqual(self.ask("POST", "/v1/take", {"policy": "huge", "key": "k"}, **fields).status, 200)
        for fields in [{}, {"Sec_Fetch_Site": "same-origin"}, {"Sec_Fetch_Site": "none"},
                       {"Origin": f"http://127.0.0.1:{self.port}"}]:
            self.assertEqual(self.get(target, **fields).status, 200)


    def test_a_page_whose_name_was_made_to_lead_here(self):
        browser = {"User_Agent": "Mozilla/5.0 (X11; Linux x86_64)"}
        for path in "/v1/top", "/v1/stats", f"/v1/take?policy=huge&key={self.key}":
            self.expect_problem(self.get(path, Host=f"evil.example:{self.port}", **browser), 403, "not a name")
            self.expect_problem(self.get(path, Host="evil.example", Origin="http://evil.example"), 403, "not a name")
            for host in "127.0.0.1", f"localhost:{self.port}", "[::1]", "192.0.2.1:80":
                self.assertEqual(self.get(path, Host=host, **browser).status, 200)
            self.assertEqual(self.get(path, Host="mete.internal").status, 200)  # no browser


class Connections(Case):
    REQUEST = b"GET /v1/take?policy=huge&key=%s HTTP/1.%d\r\nHost: a\r\n%s\r\n"

    def test_pipelined_answers_keep_their_order(self):
        # Decoded keys wait for the batch, with a plain one between them, and others behind that answer at once.
        paths = [f"/v1/take?policy=api&key={self.key}%20", f"/v1/take?policy=api&key={self.key}",
                 f"/v1/take?policy=api&key=%20{self.key}", "/healthz", f"/v1/take?policy=both&key={self.key}", "/nothing",
                 "/readyz"] * 20
        data = "".join(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n" for path in paths)
        received = self.raw(data.encode() + self.REQUEST % (b"k", 1, b"Connection: close\r\n"))
        statuses = [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]
        expected = []
        for i in range(20):
            some = 200 if i < 5 else 429
            expected += [some, some, some, 200, 200 if i == 0 else 429, 404, 200]
        self.assertEqual(statuses, expected + [200])

    def test_keys_in_the_batch_stay_what_they_are(self):
        """No answer between them that would empty the batch."""
        keys = [f"{self.key}%20", self.key, f"%20{self.key}", f"{self.key}%21", self.key + "-"] * 6
        data = "".join(f"GET /v1/take?policy=api&key={key} HTTP/1.1\r\nHost: a\r\n\r\n" for key in keys)
        received = self.raw(data.encode() + self.REQUEST % (b"k", 1, b"Connection: close\r\n"))
        statuses = [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]
        self.assertEqual(statuses, [200] * 25 + [429] * 5 + [200])

    def test_when_a_connection_goes_on(self):
        for minor, fields, answers, said in [(1, b"", 2, None), (1, b"Connection: close\r\n", 1, b"close"), (0, b"", 1, b"close"),
                                             (0, b"Connection: keep-alive\r\n", 2, b"keep-alive")]:
            received = self.raw(self.REQUEST % (b"k", minor, fields) + self.REQUEST % (b"k", 1, b"Connection: close\r\n"))
            self.assertEqual(received.count(b"HTTP/1.1 200"), answers)
            first = received.split(b"\r\n\r\n")[0]
            self.assertEqual(b"Connection: " + said in first if said else b"Connection" not in first, True)

    def test_a_refusal_ends_the_connection(self):
        for request, status in [(b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
                                (b"GET /" + b"x" * 70000, 414), (b"GET / HTTP/1.1\r\nX: " + b"x" * 70000, 431),
                                (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n", 413),
                                (b"POST / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", 417)]:
            received = self.raw(self.REQUEST % (b"k", 1, b"") + request + b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertEqual([int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]], [200, status])
            self.assertIn(b"Connection: close", received)

    def test_bodies_in_chunks_and_pieces(self):
        body = json.dumps({"policy": "api", "key": self.key}).encode()
        chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0, len(body), 7))
        head = b"POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n"
        whole = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nT: x\r\n\r\n"
        self.assertIn(b'"remaining":4', self.raw(whole))
        with socket.create_connection(("127.0.0.1", self.port), 30) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(0, len(whole), 5):
                stream.sendall(whole[i:i + 5])
                time.sleep(0.001)
            self.assertIn(b'"remaining":3', stream.recv(65536))

    def test_the_body_is_asked_for(self):
        body = json.dumps({"policy": "api", "key": self.key}).encode()
        with socket.create_connection(("127.0.0.1", self.port), 30) as stream:
            stream.sendall(b"POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                           b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
            self.assertEqual(stream.recv(65536), b"HTTP/1.1 100 Continue\r\n\r\n")
            stream.sendall(body)
            self.assertTrue(stream.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n"))

    def test_head_has_no_body(self):
        received = self.raw(b"HEAD /v1/take?policy=api&key=%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % self.key.encode())
        head, body = received.split(b"\r\n\r\n", 1)
        self.assertEqual(body, b"")
        self.assertRegex(head, rb"Content-Length: [1-9]")
        self.assertEqual(self.take().json["remaining"], 3, "HEAD takes as GET does")


class Users(Case):
    config = CONFIG + USERS

    def as_user(self, word, target="/v1/take?policy=gate&key=k", scheme="Basic"):
        value = base64.b64encode(word.encode()).decode() if scheme.lower() == "basic" else word
        return self.get(target, Authorization=f"{scheme} {value}")

    def test_who_may_use_what(self):
        self.expect_problem(self.get("/v1/take?policy=gate&key=k"), 403, "user 'default' may not use policy 'gate'")
        self.assertEqual(self.as_user("app:app-pw").status, 200)
        self.assertEqual(self.as_user("app:app-pw", scheme="bearer").status, 200)
        self.expect_problem(self.as_user("app:app-pw", "/v1/take?policy=both&key=k"), 403, "both")
        self.assertEqual(self.get("/v1/take?policy=api&key=k").status, 200, "a login is of one request")

    def test_who_may_administer(self):
        for path in "/v1/top", "/v1/policies", "/v1/stats", "/metrics", "/v1/reset?policy=api&key=k", "/v1/refund?policy=api&key=k":
            self.expect_problem(self.get(path), 403, "may_administer")
            self.assertEqual(self.as_user("root:root:pw", path).status, 200, path)

    def test_a_gateway_that_logs_in(self):
        """On /check the field is the gateway's when it fits, else its client's and no matter."""
        self.expect_problem(self.get("/check/gate"), 403, "user 'default' may not use policy 'gate'")
        self.assertEqual(self.as_user("app:app-pw", "/check/gate").status, 200)
        self.expect_problem(self.as_user("client:of-the-app", "/check/gate"), 403, "'default'")
        self.assertEqual(self.as_user("client:of-the-app", "/check/api").status, 200)

    def test_bad_logins(self):
        for word, scheme in [("app:wrong", "Basic"), ("nobody:app-pw", "Basic"), ("app", "Basic"), ("app:app-pw", "Digest"),
                             ("app", "Bearer"), (":", "Bearer"), ("x:" + "y" * 600, "Bearer")]:
            answer = self.as_user(word, scheme=scheme)
            self.expect_problem(answer, 401, "Authorization")
            self.assertRegex(answer["WWW-Authenticate"], "^Basic realm=")
        self.assertEqual(self.get("/v1/take?policy=api&key=k", Authorization="Basic ***").status, 401)
        self.assertEqual(self.get("/healthz", Authorization="Basic ***").status, 200)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 to the letter (RFC 9112), byte by byte over a bare socket: what is served, and what is refused because
two readers could understand it in two ways."""
import re
import socket
import unittest

import conf
from daemon import serve
from resp import pairs
from web import exchange

TAKE = "/v1/take?policy=api&key="
CLOSE = "Connection: close\r\n"


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls, conf.config({"api": conf.policy("100/1h")}))
        cls.address = cls.daemon.address("http")
        cls.client = cls.daemon.resp()

    def statuses(self, data):
        """Of all the responses that come before the daemon closes."""
        received = exchange(self.address, data if isinstance(data, bytes) else data.encode("latin-1"))
        return [int(status) for status in re.findall(rb"(?:^|\n|\})HTTP/1\.1 (\d{3}) ", received)], received

    def left(self, key):
        return pairs(self.client("METE.PEEK", "api", key))["remaining"]

    def refused(self, head, *expected, key=None):
        """One error response, the connection closed, and the request that hides behind it not served."""
        key = key or self.id().rsplit(".", 1)[1]
        hidden = f"GET {TAKE}{key} HTTP/1.1\r\nHost: m\r\n{CLOSE}\r\n"
        with self.subTest(head=head):
            statuses, received = self.statuses(head + hidden)
            self.assertEqual(len(statuses), 1, received[:400])
            self.assertIn(statuses[0], expected or (400,))
            self.assertEqual(self.left(key), 100, "the hidden request was served")


class Served(Case):
    def test_one_request(self):
        statuses, received = self.statuses(f"GET {TAKE}one HTTP/1.1\r\nHost: m\r\n{CLOSE}\r\n")
        self.assertEqual(statuses, [200])
        self.assertRegex(received, rb"(?i)\r\nconnection: close\r\n")
        self.assertRegex(received, rb"(?i)\r\ndate: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT\r\n")

    def test_pipelined_in_order(self):
        costs = ["1", "101", "1"] * 3
        data = "".join(f"GET {TAKE}pipe&cost={cost} HTTP/1.1\r\nHost: m\r\n\r\n" for cost in costs)
        statuses, _ = self.statuses(data + f"GET /healthz HTTP/1.1\r\nHost: m\r\n{CLOSE}\r\n")
        self.assertEqual([status == 200 for status in statuses], [True, False, True] * 3 + [True])

    def test_split_at_every_byte(self):
        body = '{"policy": "api", "key": "split"}'
        data = (f"POST /v1/peek HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
        with socket.create_connection(self.address, 20) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(1, len(data)):
                stream.sendall(data[:at])
                stream.sendall(data[at:])
                received = b""
                while not re.search(rb"\}\s*$", received):
                    chunk = stream.recv(65536)
                    self.assertTrue(chunk, f"closed after a split at {at}")
                    received += chunk
                self.assertTrue(received.startswith(b"HTTP/1.1 200 "), (at, received[:300]))

    def test_http_1_0_is_closed_after_one(self):
        data = f"GET {TAKE}old HTTP/1.0\r\n\r\nGET {TAKE}old HTTP/1.0\r\n\r\n"
        statuses, _ = self.statuses(data)
        self.assertEqual(statuses, [200])

    def test_http_1_0_without_host_is_fine(self):
        self.assertEqual(self.statuses("GET /healthz HTTP/1.0\r\n\r\n")[0], [200])

    def test_absolute_form(self):
        """RFC 9112 section 3.2.2: a server MUST accept it."""
        self.assertEqual(self.statuses(f"GET http://m{TAKE}absolute HTTP/1.1\r\nHost: m\r\n{CLOSE}\r\n")[0], [200])
        self.assertEqual(self.left("absolute"), 99)

    def test_empty_lines_before_a_request(self):
        """RFC 9112 section 2.2: at least one is ignored."""
        self.assertEqual(self.statuses(f"\r\nGET /healthz HTTP/1.1\r\nHost: m\r\n{CLOSE}\r\n")[0], [200])

    def test_fields_in_any_case_and_with_blanks_around(self):
        body = '{"policy": "api", "key": "blanks"}'
        for length, status in (len(body) - 1, 400), (len(body), 200):
            data = (f"POST /v1/take HTTP/1.1\r\nhOST:m\r\ncontent-LENGTH: \t {length} \r\n"
                    f"CONTENT-type:\tapplication/json\r\n{CLOSE}\r\n")
            self.assertEqual(self.statuses(data + body[:length])[0], [status])

    def test_chunked_body(self):
        body = '{"policy": "api", "key": "chunked", "cost": 7}'
        chunks = f"5;ext=1\r\n{body[:5]}\r\n{len(body) - 5:X}\r\n{body[5:]}\r\n0\r\nTrailer: x\r\n\r\n"
        statuses, _ = self.statuses(f"POST /v1/take HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\n"
                                    f"Transfer-Encoding: chunked\r\n\r\n{chunks}"
                                    f"GET /healthz HTTP/1.1\r\nHost: m\r\n{CLOSE}\r\n")
        self.assertEqual(statuses, [200, 200])
        self.assertEqual(self.left("chunked"), 93)

    def test_methods(self):
        for method, expected in ("PUT", 405), ("DELETE", 405), ("NONSENSE", 501):
            data = f"{method} {TAKE}m HTTP/1.1\r\nHost: m\r\nContent-Length: 0\r\n{CLOSE}\r\n"
            statuses, received = self.statuses(data)
            self.assertIn(statuses, ([expected], [405]))
            if statuses == [405]:
                self.assertRegex(received, rb"(?i)\r\nallow: .*GET")
        self.assertEqual(self.left("m"), 100)

    def test_head_has_no_body(self):
        _, received = self.statuses(f"HEAD {TAKE}head HTTP/1.1\r\nHost: m\r\n{CLOSE}\r\n")
        self.assertTrue(received.endswith(b"\r\n\r\n"), received)
        self.assertRegex(received, rb"(?i)\r\ncontent-length: [1-9]")


class Refused(Case):
    def test_host(self):
        """RFC 9112 section 3.2: none, or more than one, or one that is not a host."""
        for hosts in "", "Host: a\r\nHost: a\r\n", "Host: a\r\nHost: b\r\n", "Host: a b\r\n":
            self.refused(f"GET /healthz HTTP/1.1\r\n{hosts}\r\n")

    def test_content_length(self):
        for value in "+1", "-1", "0x1", "1 1", "1, 2", "", "1a", "99999999999999999999999", "1.0", "٣":
            self.refused(f"POST {TAKE}cl HTTP/1.1\r\nHost: m\r\nContent-Length: {value}\r\n\r\n"
                         .encode().decode("latin-1"), 400, 413)

    def test_two_different_lengths(self):
        self.refused(f"POST {TAKE}two HTTP/1.1\r\nHost: m\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n")

    def test_length_and_chunked(self):
        """The classic of smuggling (RFC 9112 section 6.3)."""
        for fields in ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
                       "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"):
            self.refused(f"POST /v1/peek HTTP/1.1\r\nHost: m\r\n{fields}\r\n0\r\n\r\n")

    def test_other_transfer_encodings(self):
        for value in ("gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "xchunked", '"chunked"', "",
                      "identity", "\x0bchunked", "chunked;x"):
            self.refused(f"POST {TAKE}coding HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: {value}\r\n\r\n"
                         "0\r\n\r\n", 400, 501)

    def test_chunked_in_http_1_0(self):
        """RFC 9112 section 6.1: its framing is faulty."""
        self.refused("POST /v1/peek HTTP/1.0\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")

    def test_chunk_sizes(self):
        for size in "+5", "-5", "0x5", "g", "", " 5", "5 5", "fffffffffffffffff", "5\n", "5\r":
            self.refused("POST /v1/peek HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n"
                         f"{size}\r\nhello\r\n0\r\n\r\n", 400, 413)

    def test_chunk_without_its_end(self):
        self.refused("POST /v1/peek HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n")

    def test_field_names(self):
        """A blank before the colon, in front of the line, or in the name (sections 5.1 and 5.2)."""
        for line in "X : 1", " X: 1", "\tX: 1", "X Y: 1", ": 1", "X", "X\x00: 1", "X\x7f: 1", "(X): 1", "\xe9: 1":
            self.refused(f"GET /healthz HTTP/1.1\r\nHost: m\r\n{line}\r\n\r\n")

    def test_folded_lines(self):
        self.refused("GET /healthz HTTP/1.1\r\nHost: m\r\nX: 1\r\n 2\r\n\r\n")

    def test_field_values(self):
        for value in "a\x00b", "a\rb", "a\x01b", "a\x7fb":
            self.refused(f"GET /healthz HTTP/1.1\r\nHost: m\r\nX: {value}\r\n\r\n")

    def test_request_lines(self):
        for line in ("GET  /healthz HTTP/1.1", "GET /healthz  HTTP/1.1", "GET\t/healthz HTTP/1.1",
                     "GET /healthz HTTP/1.1 ", " GET /healthz HTTP/1.1", "GET /healthz", "GET /he althz HTTP/1.1",
                     "GET /healthz http/1.1",
                     "GET /healthz HTTP/1.11", "GET /healthz HTTP/01.1", "GET /healthz HTTP/1.",
                     "G(T /healthz HTTP/1.1", "GET healthz HTTP/1.1", "GET /he\x00lthz HTTP/1.1", "GET /h\xe9 HTTP/1.1",
                     "GET"):
            self.refused(f"{line}\r\nHost: m\r\n\r\n", 400, 505)

    def test_other_versions(self):
        for version in "HTTP/2.0", "HTTP/3.0", "HTTP/0.9":
            self.refused(f"GET /healthz {version}\r\nHost: m\r\n\r\n", 400, 505)

    def test_the_preface_of_http_2(self):
        self.refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 505)

    def test_too_large(self):
        self.refused("GET /healthz HTTP/1.1\r\nHost: m\r\nX: " + "x" * 70000 + "\r\n\r\n", 431, 400, 413)
        self.refused("GET /" + "x" * 70000 + " HTTP/1.1\r\nHost: m\r\n\r\n", 414, 431, 400)
        self.refused("POST /v1/take HTTP/1.1\r\nHost: m\r\nContent-Length: 70000\r\n\r\n", 413)

    def test_too_many_fields(self):
        self.refused("GET /healthz HTTP/1.1\r\nHost: m\r\n" + "X: 1\r\n" * 8000 + "\r\n", 431, 400, 413)

    def test_bad_escapes(self):
        for target in "/v1/take?policy=api&key=%", "/v1/take?policy=api&key=%1", "/v1/take?policy=api&key=%zz":
            self.assertEqual(self.statuses(f"GET {target} HTTP/1.1\r\nHost: m\r\n{CLOSE}\r\n")[0], [400])

    def test_json(self):
        for body in ("{", "[]", "null", '{"policy": "api"}', '{"policy": "api", "key": 1}',
                     '{"policy": "api", "key": "k"} x', '{"policy": "api", "key": "k", "cost": -1}',
                     '{"policy": "api", "key": "k", "cost": 1.5}',
                     '{"policy": "api", "key": "k", "cost": "1"}', '{"policy": "api", "key": "\\ud800"}',
                     '{"policy": "api", "key": "k", "key": "k2"}', '{"policy": "api", "key": "k", "cots": 1}', "\xff",
                     '{"policy": "api", "key": "k", "cost": 1e3}', "[" * 10000):
            with self.subTest(body=body[:60]):
                data = body.encode("latin-1")
                head = (f"POST /v1/take HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(data)}\r\n{CLOSE}\r\n")
                statuses, received = self.statuses(head.encode() + data)
                self.assertIn(statuses, ([400], [422]), received[:300])


if __name__ == "__main__":
    unittest.main()

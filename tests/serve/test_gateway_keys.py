# SPDX-License-Identifier: Apache-2.0
"""Public fault reports about other gateways' rate limiters, each with its scenario and the right outcome:
whose allowance a request spends.

The comment above a test has the report's number in our collection and where it was made.  Not here: reports about a
shared Redis store, replicas and peers, which a single daemon does not have.
"""
import unittest

import conf
from gateway import Case


class Keys(Case):
    # gw-003 https://github.com/traefik/traefik/issues/7129
    # Clients behind a proxy were blocked by what another one had spent.
    def test_gw_003_the_clients_address_at_the_configured_depth(self):
        for depth, clients in (1, ("192.0.2.1", "192.0.2.2")), (2, ("192.0.2.1, 10.0.0.7", "192.0.2.2, 10.0.0.7")):
            with self.subTest(depth=depth):
                self.start({"api": conf.policy("2/1m")}, client_address={"depth": depth})
                check = [self.web.get("/check/api", {"X-Forwarded-For": clients[0]}).status for _ in range(3)]
                self.assertEqual(check, [200, 200, 429])
                self.assertEqual(self.web.get("/check/api", {"X-Forwarded-For": clients[1]}).status, 200)
                # What the client itself puts in front changes nothing.
                forged = self.web.get("/check/api", {"X-Forwarded-For": "203.0.113.99, " + clients[0]})
                self.assertEqual(forged.status, 429)

    def test_gw_003_trusted_proxies(self):
        """The last address that is not a trusted proxy's."""
        self.start({"api": conf.policy("1/1m")},
                   client_address={"trusted_proxies": ["127.0.0.0/8", "10.0.0.0/8", "2001:db8:f::/48"]})
        for number, chain in enumerate(["{}", "{}, 10.1.2.3", "203.0.113.9, {}, 10.1.2.3, 2001:db8:f::1"]):
            address = f"192.0.2.{number}"
            statuses = [self.web.get("/check/api", {"X-Forwarded-For": chain.format(address)}).status for _ in "12"]
            self.assertEqual(statuses, [200, 429], chain)
            self.assertEqual(self.web.get("/check/api", {"X-Forwarded-For": address}).status, 429, chain)

    def test_gw_003_a_peer_that_is_not_trusted_is_itself_the_client(self):
        self.start({"api": conf.policy("1/1m")}, client_address={"trusted_proxies": ["10.0.0.0/8"]})
        statuses = [self.web.get("/check/api", {"X-Forwarded-For": f"192.0.2.{i}"}).status for i in range(3)]
        self.assertEqual(statuses, [200, 429, 429])

    # gw-038 https://github.com/mholt/caddy-ratelimit/issues/23
    # An IPv6 client that changes its address within its /64 had no limit at all.
    def test_gw_038_ipv6_is_grouped_by_prefix(self):
        self.start({"api": conf.policy("10/1h")})
        statuses = [self.web.get("/check/api", {"X-Forwarded-For": f"2001:db8:1:2:{i:x}::{i:x}"}).status
                    for i in range(1024)]
        self.assertEqual(statuses.count(200), 10)
        self.assertEqual(self.web.get("/check/api", {"X-Forwarded-For": "2001:db8:1:3::1"}).status, 200)

    def test_gw_038_one_spelling(self):
        self.start({"api": conf.policy("1/1h")}, client_address={"ipv6_prefix": 128})
        spellings = ["2001:db8::1", "2001:0DB8:0:0:0:0:0:1", "[2001:db8::1]", "2001:DB8:0::1", "2001:db8::0.0.0.1",
                     "[2001:db8::1]:4711"]
        statuses = [self.web.get("/check/api", {"X-Forwarded-For": text}).status for text in spellings]
        self.assertEqual(statuses, [200] + [429] * (len(spellings) - 1))
        self.assertEqual(self.web.get("/check/api", {"X-Forwarded-For": "2001:db8::2"}).status, 200)

    def test_gw_038_mapped_ipv4_is_ipv4(self):
        self.start({"api": conf.policy("1/1h")})
        statuses = [self.web.get("/check/api", {"X-Forwarded-For": text}).status
                    for text in ("192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "192.0.2.2")]
        self.assertEqual(statuses, [200, 429, 429, 200])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""What CL.THROTTLE and its cousins refuse, by naming the argument, and which keys they take: any bytes."""
import re
import unittest

import conf
from daemon import serve
from resp import ErrorReply, encode

I64_MAX = 2**63 - 1
NOT_PLAIN = ["", "x", "1.0", "1e3", "+1", " 1", "1 ", "0x10", "１", "1_000", "--1", "-", "1\x00", "\r\n",
             "99999999999999999999999", str(2**64), "NaN", "inf"]
# Where each argument stands, and a good value of it.
ARGUMENTS = {"max_burst": 0, "count": 1, "period": 2, "quantity": 3}
GOOD = ["4", "1", "1", "1"]


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls, test_clock=True)
        cls.client = cls.daemon.resp()

    def refused(self, reply, *words):
        self.assertIsInstance(reply, ErrorReply)
        for word in words:
            self.assertRegex(reply.lower(), word)
        return reply

    def with_one(self, name, value):
        arguments = list(GOOD)
        arguments[ARGUMENTS[name]] = value
        return arguments

    def check(self, name, value, pattern=None):
        for command in "CL.THROTTLE", "RL.THROTTLE":
            with self.subTest(command=command, argument=name, value=value):
                key = f"refused:{name}:{value}"
                reply = self.client(command, key, *self.with_one(name, value))
                self.refused(reply, pattern or name.replace("_", "[ _-]?"))
                self.assertEqual(self.client("EXISTS", key), 0, "an error must not write")

    def test_zero_count(self):
        self.check("count", "0")

    def test_zero_period(self):
        self.check("period", "0")

    def test_negative_burst(self):
        self.check("max_burst", "-1")

    def test_negative_count(self):
        self.check("count", "-1")

    def test_negative_period(self):
        self.check("period", "-60")

    def test_negative_quantity(self):
        self.check("quantity", "-1")

    def test_the_lowest_number(self):
        for name in ARGUMENTS:
            self.check(name, str(-2**63))

    def test_anything_but_a_plain_decimal_integer(self):
        for name in ARGUMENTS:
            for value in NOT_PLAIN:
                self.check(name, value)

    def test_burst_that_overflows(self):
        """burst + 1, and (burst + 1) times the unit, must not wrap."""
        for burst in I64_MAX, I64_MAX - 1, 2**62:
            self.check("max_burst", str(burst), "burst")

    def test_period_that_overflows(self):
        """2^63 - 1 s are 2.9e11 years; a rate below one per ten years is refused."""
        for period in I64_MAX, 2**40:
            self.check("period", str(period), "period|rate|count")

    def test_rate_above_one_per_nanosecond(self):
        self.check("count", str(10**9 + 1), "count|rate|period")
        self.check("count", str(I64_MAX), "count|rate|period")

    def test_highest_rate_and_longest_period(self):
        self.assertEqual(self.client("CL.THROTTLE", "highest", 0, 10**9, 1, 1), [0, 1, 0, -1, 1])
        self.assertEqual(self.client("CL.THROTTLE", "longest", 0, 1, 315576000, 1), [0, 1, 0, -1, 315576000])

    def test_largest_quantity_is_never_allowed(self):
        self.assertEqual(self.client("CL.THROTTLE", "largest", 4, 1, 1, I64_MAX), [1, 5, 5, -1, 0])

    def test_one_above_the_capacity(self):
        self.assertEqual(self.client("CL.THROTTLE", "above", 4, 1, 1, 6), [1, 5, 5, -1, 0])
        self.assertEqual(self.client("CL.THROTTLE", "above", 4, 1, 1, 5), [0, 5, 0, -1, 5])

    def test_number_of_arguments(self):
        for command in "CL.THROTTLE", "RL.THROTTLE":
            for arguments in [], ["key"], ["key", "4"], ["key", "4", "1"], ["key", *GOOD, "1"]:
                with self.subTest(command=command, arguments=arguments):
                    self.refused(self.client(command, *arguments), "number of arguments|usage")
            self.assertEqual(self.client(command, "key:" + command, *GOOD[:3]), [0, 5, 4, -1, 1])

    def test_gcra_words(self):
        self.refused(self.client("GCRA", "key", "4", "1", "1", "TOKENS"), "tokens|number of arguments|syntax")
        self.refused(self.client("GCRA", "key", "4", "1", "1", "TOKEN", "1"), "syntax|token|number of arguments")
        self.refused(self.client("GCRA", "key", "4", "1", "1", "TOKENS", "-1"), "token")
        self.refused(self.client("GCRA", "key", "4", "1", "1", "TOKENS", "x"), "token")
        self.refused(self.client("GCRA", "key", "-1", "1", "1"), "burst")
        self.refused(self.client("GCRA", "key", "1", "1", "0"), "period")
        self.assertEqual(self.client("GCRA", "key", "4", "1", "1", "tokens", "2"), [0, 5, 3, -1, 2])

    def test_the_connection_goes_on_after_an_error(self):
        replies = self.client.pipeline([("CL.THROTTLE", "goes on", "x", 1, 1), ("PING",),
                                        ("CL.THROTTLE", "goes on", 4, 1, 1)])
        self.refused(replies[0], "burst")
        self.assertEqual(replies[1:], ["PONG", [0, 5, 4, -1, 1]])

    def test_an_error_is_one_line(self):
        """What the client sent comes back escaped or not at all: never as a line of its own."""
        reply = self.client("CL.THROTTLE", "key", "1\r\n+OK\r\n", 1, 1)
        self.refused(reply, "burst")
        self.assertEqual(self.client("PING"), "PONG")


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls, test_clock=True)
        cls.client = cls.daemon.resp()

    def own(self, key):
        """The key has an allowance of its own."""
        self.assertEqual(self.client("CL.THROTTLE", key, 1, 1, 60), [0, 2, 1, -1, 60], key[:80])
        self.assertEqual(self.client("CL.THROTTLE", key, 1, 1, 60), [0, 2, 0, -1, 120], key[:80])
        self.assertEqual(self.client("EXISTS", key), 1)
        self.assertEqual(self.client("DEL", key), 1)
        self.assertEqual(self.client("EXISTS", key), 0)

    def test_not_utf8(self):
        self.own(b"\xff\xfe\x80\xc0")

    def test_empty(self):
        self.own(b"")

    def test_with_nul(self):
        self.own(b"nul\x00b")
        self.client("CL.THROTTLE", b"nul\x00b", 0, 1, 60)
        self.assertEqual(self.client("CL.THROTTLE", b"nul\x00c", 0, 1, 60)[0], 0, "not cut at the NUL")
        self.assertEqual(self.client("CL.THROTTLE", b"nul", 0, 1, 60)[0], 0)

    def test_with_crlf(self):
        self.own(b"a\r\n$1\r\nb\r\n")

    def test_every_single_byte(self):
        keys = [bytes([byte]) for byte in range(256)]
        replies = self.client.pipeline([("CL.THROTTLE", key, 0, 1, 60) for key in keys])
        self.assertEqual([reply[0] for reply in replies], [0] * 256)

    def test_64_kib(self):
        """Long keys that differ in their last byte only; the largest request stays below the default bound."""
        self.own(b"k" * (60 * 1024))
        self.client("CL.THROTTLE", b"k" * 60000 + b"a", 0, 1, 60)
        self.assertEqual(self.client("CL.THROTTLE", b"k" * 60000 + b"b", 0, 1, 60)[0], 0)

    def test_64_kib_and_more_where_the_bound_allows_it(self):
        daemon = serve(self, conf.config({"api": conf.policy("1/1h")}, bounds={"request_bytes_max": 1 << 20}))
        client = daemon.resp()
        for size in 65535, 65536, 65537, 1000000:
            key = b"k" * size
            self.assertEqual(client("CL.THROTTLE", key, 0, 1, 60), [0, 1, 0, -1, 60], size)
            self.assertEqual(client("CL.THROTTLE", key, 0, 1, 60)[0], 1, size)
            self.assertEqual(client("METE.TAKE", "api", key)[1], 1, size)
            self.assertEqual(client("METE.TAKE", "api", key)[1], 0, size)

    def test_above_the_bound_is_refused_and_others_are_served(self):
        with self.daemon.resp() as long:
            long.raw(encode("CL.THROTTLE", b"k" * 70000, 0, 1, 60))
            self.assertIsInstance(long.read(), ErrorReply)
            self.assertTrue(long.is_closed())
        self.assertEqual(self.client("PING"), "PONG")

    def test_split_at_every_byte(self):
        data = encode("CL.THROTTLE", b"s\r\n", 1000, 1000, 60)
        for at in range(1, len(data)):
            with self.subTest(at=at):
                self.client.split(data, at)
                reply = self.client.read()
                self.assertEqual(reply[:3], [0, 1001, 1001 - at])

    def test_byte_by_byte(self):
        for byte in encode("CL.THROTTLE", b"slow\x00", 0, 1, 60):
            self.client.raw(bytes([byte]))
        self.assertEqual(self.client.read(), [0, 1, 0, -1, 60])


class PeekAndReset(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls, test_clock=True)
        cls.client = cls.daemon.resp()

    def test_a_peek_writes_nothing(self):
        """Not even a key that is full."""
        self.assertEqual(self.client("CL.THROTTLE", "peeked", 4, 1, 1, 0), [0, 5, 5, -1, 0])
        self.assertEqual(self.client("EXISTS", "peeked"), 0)
        self.assertEqual(self.client("DEL", "peeked"), 0)
        self.client("CL.THROTTLE", "peeked", 4, 1, 1, 3)
        for _ in range(5):
            self.assertEqual(self.client("CL.THROTTLE", "peeked", 4, 1, 1, 0), [0, 5, 2, -1, 3])

    def test_a_peek_takes_no_place_in_the_store(self):
        before = keys_inserted(self.daemon)
        self.client.pipeline([("CL.THROTTLE", f"peek:{i}", 4, 1, 1, 0) for i in range(100)])
        self.assertEqual(keys_inserted(self.daemon), before)
        self.client.pipeline([("CL.THROTTLE", f"peek:{i}", 4, 1, 1, 1) for i in range(100)])
        self.assertEqual(keys_inserted(self.daemon), before + 100)

    def test_a_denial_writes_nothing(self):
        self.client("CL.THROTTLE", "denied", 4, 1, 1, 5)
        for _ in range(5):
            self.assertEqual(self.client("CL.THROTTLE", "denied", 4, 1, 1, 5), [1, 5, 0, 5, 5])

    def test_del_forgets(self):
        self.client("CL.THROTTLE", "deleted", 0, 1, 60)
        self.assertEqual(self.client("CL.THROTTLE", "deleted", 0, 1, 60)[0], 1)
        self.assertEqual(self.client("DEL", "deleted"), 1)
        self.assertEqual(self.client("CL.THROTTLE", "deleted", 0, 1, 60), [0, 1, 0, -1, 60])

    def test_del_and_exists_of_several(self):
        for key in "one", "two":
            self.client("CL.THROTTLE", key, 0, 1, 60)
        self.assertEqual(self.client("EXISTS", "one", "two", "three", "one"), 3)
        self.assertEqual(self.client("DEL", "one", "two", "three"), 2)
        self.assertEqual(self.client("EXISTS", "one", "two"), 0)
        self.assertIsInstance(self.client("DEL"), ErrorReply)
        self.assertIsInstance(self.client("EXISTS"), ErrorReply)

    def test_a_refilled_key_does_not_exist(self):
        self.daemon.clock_s(1000)
        self.client("CL.THROTTLE", "refilled", 4, 1, 1, 2)
        self.daemon.clock_s("1001.999")
        self.assertEqual(self.client("EXISTS", "refilled"), 1)
        self.daemon.clock_s(1002)
        self.assertEqual(self.client("EXISTS", "refilled"), 0)


def keys_inserted(daemon):
    with daemon.web() as web:
        text = web.get("/metrics").body.decode()
    return sum(map(int, re.findall(r"^mete_store_keys_inserted_total\{[^}]*\} (\d+)$", text, re.MULTILINE)))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""CL.THROTTLE with many limits in one pipeline: each request is decided by its own limit and cost.

A loop remembers the bytes of the last limit.  So the limits here resemble each other: their bytes are alike, or the
same ones split at other places."""

import random
import socket
import time
import unittest

from serving import Daemon

# (max_burst, count, period, quantity or None)
LIMITS = [("15", "30", "60", None), ("15", "30", "60", "1"), ("15", "30", "60", "2"), ("15", "30", "6", "0"),
          ("1", "530", "60", None), ("153", "0060", "1", None), ("1", "5", "30", "60"), ("15", "30", "61", None),
          ("9", "1", "1", None), ("9", "11", "1", None), ("91", "1", "1", None), ("9" * 6, "10", "1", "7")]
# As one argument these are the bytes of several: an error, whatever came before.
TORN = [("15\r\n$2\r\n30", "60", "1", None), ("15", "30\r\n$2\r\n60", "1", None)]


def encode(words, is_inline):
    if is_inline:
        return (" ".join(words) + "\r\n").encode()
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words)


def expected(limit):
    """The first three numbers of the reply on a fresh key; None: an error."""
    burst, count, period, quantity = limit
    if not all(text.isdigit() and (text == "0" or text[0] != "0") for text in (burst, count, period)):
        return None
    capacity, cost = int(burst) + 1, int(quantity or "1")
    return (0, capacity, capacity - cost) if cost <= capacity else (1, capacity, capacity)


class Pipeline(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon("--resp", "127.0.0.1:0", "--http", "off", "--threads", "1", listeners=1)
        self.addCleanup(self.daemon.finish)
        self.connection = socket.create_connection(("127.0.0.1", self.daemon.port("resp")))
        self.addCleanup(self.connection.close)
        self.replies = self.connection.makefile("rb")
        self.addCleanup(self.replies.close)

    def read(self):
        line = self.replies.readline().decode()
        if line.startswith("-"):
            return None
        self.assertEqual(line, "*5\r\n")
        return tuple(int(self.replies.readline()[1:]) for _ in range(5))[:3]

    def test_each_request_has_its_own_limit(self):
        seed = time.time_ns()
        print("seed", seed)
        draw = random.Random(seed)
        sent = []
        for number in range(3000):
            limit = draw.choice(LIMITS + TORN)
            words = ["CL.THROTTLE", f"key{number}", *(word for word in limit if word is not None)]
            sent.append((limit, encode(words, is_inline=limit not in TORN and draw.random() < 0.3)))
        for start in range(0, len(sent), 100):
            self.connection.sendall(b"".join(request for _, request in sent[start:start + 100]))
            for limit, _ in sent[start:start + 100]:
                self.assertEqual(self.read(), expected(limit), limit)

    def test_the_same_limit_on_one_key_is_spent(self):
        self.connection.sendall(encode(["CL.THROTTLE", "one", "4", "1", "3600"], False) * 7)
        self.assertEqual([self.read() for _ in range(7)],
                         [(0, 5, 4), (0, 5, 3), (0, 5, 2), (0, 5, 1), (0, 5, 0), (1, 5, 0), (1, 5, 0)])


if __name__ == "__main__":
    unittest.main()

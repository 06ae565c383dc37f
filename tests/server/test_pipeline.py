# SPDX-License-Identifier: Apache-2.0
"""Long pipelines: replies keep the order of requests, whoever answers them; a client that reads late gets all of them."""
import random
import socket
import sys
import threading
import unittest

from serving import Daemon

# COMMAND DOCS is 14 bytes and its reply some 8 KB: the replies to one buffer of requests are far more than may
# wait (1 MiB), and all requests are more than are kept unread.
LATE = 12000


class Pipeline(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon("--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--threads", "1", listeners=2)
        self.addCleanup(self.daemon.finish)

    def connect(self, protocol):
        stream = socket.create_connection(("127.0.0.1", self.daemon.port(protocol)), 30)
        self.addCleanup(stream.close)
        return stream

    def receive(self, stream, ending):
        received = bytearray()
        while not received.endswith(ending):
            chunk = stream.recv(1 << 16)
            self.assertTrue(chunk, bytes(received[-200:]))
            received += chunk
        return bytes(received)

    def test_order_over_resp(self):
        """Takes are decided in batches, everything else at once: each reply names its request all the same."""
        rng = random.Random(5)
        requests, expected = [], []
        for i in range(3000):
            kind = rng.choice("tttpeu")
            if kind == "t":  # a limit of its own says which take it is
                requests.append(b"CL.THROTTLE k%d %d 1 3600\r\n" % (i, i))
                expected.append(b"*5\r\n:0\r\n:%d\r\n:%d\r\n:-1\r\n" % (i + 1, i))
            elif kind == "p":
                requests.append(b"PING %d\r\n" % i)
                expected.append(b"$%d\r\n%d\r\n" % (len(str(i)), i))
            elif kind == "e":
                requests.append(b"CL.THROTTLE k %d x 3600\r\n" % i)
                expected.append(b"-ERR count_per_period: 'x' is not")
            else:
                requests.append(b"NONE%d\r\n" % i)
                expected.append(b"-ERR unknown command 'NONE%d'" % i)
        stream = self.connect("resp")
        stream.sendall(b"".join(requests) + b"ECHO end-of-test\r\n")
        replies = self.receive(stream, b"end-of-test\r\n")
        at = 0
        for reply in expected:
            found = replies.find(reply, at)
            self.assertGreaterEqual(found, 0, (reply, replies[at:at + 100]))
            self.assertLess(found - at, 100, (reply, replies[at:found][:200]))
            at = found + len(reply)

    def test_order_over_http(self):
        """Takes of one limit are batched, peeks are not, and a wrong path is neither."""
        stream = self.connect("http")
        requests, statuses = [], []
        for i in range(300):
            path, status = [("/v1/take?policy=example&key=k%d" % i, b"200"), ("/v1/peek?policy=example&key=p", b"200"),
                            ("/none", b"404")][i % 3]
            requests.append(b"GET %s HTTP/1.1\r\nHost: m\r\n\r\n" % path.encode())
            statuses.append(status)
        stream.sendall(b"".join(requests) + b"GET /healthz HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n")
        received = b""
        while chunk := stream.recv(1 << 16):
            received += chunk
        lines = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
        self.assertEqual(lines[:-1], statuses)
        self.assertEqual(lines[-1], b"200")

    def test_a_client_that_reads_late(self):
        """More is asked than may wait to be read: the daemon stops reading, and goes on where it stopped."""
        stream = self.connect("resp")
        stream.settimeout(20)
        sender = threading.Thread(target=stream.sendall, args=(b"COMMAND DOCS\r\n" * LATE + b"ECHO end-of-test\r\n",))
        sender.start()
        self.assertEqual(self.count(stream, b"$4\r\nauth\r\n", b"end-of-test\r\n"), LATE)
        sender.join()

    def count(self, stream, what, ending):
        """How often it is in what comes, up to the ending; nothing of it is kept."""
        found, rest = 0, b""
        while not rest.endswith(ending):
            chunk = stream.recv(1 << 20)
            self.assertTrue(chunk, rest[-200:])
            found += (rest + chunk).count(what)
            rest = (rest + chunk)[1 - len(what):] if len(what) > len(ending) else (rest + chunk)[-len(ending):]
            found -= rest.count(what)
        return found + rest.count(what)

    def test_more_requests_than_a_buffer_holds_while_nothing_is_read(self):
        """Beyond request_bytes_max, too: what waits is no request that is too large."""
        stream = self.connect("resp")
        count = 60000
        stream.sendall(b"ECHO 0123456789012345678901234567890123456789\r\n" * count + b"ECHO end-of-test\r\n")
        self.assertEqual(self.receive(stream, b"end-of-test\r\n").count(b"$40\r\n"), count)


if __name__ == "__main__":
    sys.exit(unittest.main())

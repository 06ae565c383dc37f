# SPDX-License-Identifier: Apache-2.0
"""Clients that never finish what they begin, or never begin: they are given up in time, and others are served."""
import re
import select
import signal
import socket
import threading
import time
import unittest

from faults import MIB, Case
from resp import encode


class NotFinishing(Case):
    def test_a_line_that_never_ends(self):
        """What is larger than a request may be is refused, however slowly it comes."""
        self.start(request_bytes_max=65536)
        stream = self.connect()
        try:
            for _ in range(100):
                stream.sendall(b"x" * 1000)
        except (ConnectionResetError, BrokenPipeError):
            pass
        self.assert_ends(stream)
        self.grew_at_most(8 * MIB)
        self.others_are_served()

    def test_a_request_that_stops_half_way(self):
        """It is closed after the request timeout, over both protocols, and the log or a counter says so."""
        self.start(request_timeout_ms=300)
        unfinished = [("resp", b"*5\r\n$11\r\nCL.THRO"), ("resp", b"PIN"), ("http", b"GET /v1/ta"),
                      ("http", b"POST /v1/take HTTP/1.1\r\nHost: m\r\nContent-Length: 10\r\n\r\n{")]
        begun = time.monotonic()
        streams = [self.connect(protocol) for protocol, _ in unfinished]
        for stream, (_, data) in zip(streams, unfinished):
            stream.sendall(data)
        for stream in streams:
            self.assert_ends(stream)
        self.assertLess(time.monotonic() - begun, 5)
        timeouts = re.search(rb"(?m)^mete_timeouts_total (\d+)$", self.web.get("/metrics").body)
        self.assertEqual(int(timeouts.group(1)), len(unfinished))
        self.others_are_served()

    def test_a_byte_now_and_then(self):
        """Each byte does not buy more time (slow loris)."""
        self.start(request_timeout_ms=500)
        for protocol in "resp", "http":
            stream = self.connect(protocol)
            begun = time.monotonic()
            try:
                for byte in b"GET /v1/take?policy=api&key=" + b"k" * 1000:
                    stream.sendall(bytes([byte]))
                    readable, _, _ = select.select([stream], [], [], 0.05)
                    if readable and stream.recv(4096) == b"":
                        break
                else:
                    self.fail("it was never closed")
            except (ConnectionResetError, BrokenPipeError):
                pass
            self.assertLess(time.monotonic() - begun, 5, protocol)
        self.others_are_served()

    def test_idle_connections_end(self):
        self.start(idle_timeout_ms=400)
        streams = [self.connect(protocol) for protocol in ("resp", "http")]
        for stream in streams:
            self.assert_ends(stream)

    def test_who_reads_slowly_is_not_idle(self):
        """It sends nothing, and what it asked for still comes; one that does not read is closed."""
        self.start(idle_timeout_ms=1200)
        command, size = encode("ECHO", b"x" * 60000), 60000 + len("$60000\r\n\r\n")
        count = 150
        reader, other = (self.narrow() for _ in range(2))
        sender = threading.Thread(target=reader.sendall, args=(command * count,))
        sender.start()
        _, is_stuck = self.send_until_stuck(other, command, 1 << 30)
        self.assertTrue(is_stuck)
        received, begun = 0, time.monotonic()
        while received < count * size:
            if time.monotonic() - begun < 6:
                time.sleep(0.02)
            data = reader.recv(20000)
            self.assertNotEqual(data, b"", f"closed after {received} of {count * size} bytes")
            received += len(data)
        sender.join()
        other.setblocking(True)
        self.assert_ends(other)

    def test_a_daemon_that_was_stopped_is_slow_itself(self):
        """What its clients sent meanwhile is answered, though the times have passed."""
        self.start(request_timeout_ms=1000, idle_timeout_ms=2000)
        half, idle = self.daemon.resp(), self.daemon.resp()
        half.raw(b"*1\r\n$4\r\nPI")
        self.assertEqual(idle("PING"), "PONG")
        time.sleep(0.1)
        self.daemon.signal(signal.SIGSTOP)
        time.sleep(3.2)
        half.raw(b"NG\r\n")
        idle.send("PING")
        self.daemon.signal(signal.SIGCONT)
        self.assertEqual([half.read(), idle.read()], ["PONG", "PONG"])

    def narrow(self):
        stream = socket.socket()
        self.addCleanup(stream.close)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        stream.settimeout(20)
        stream.connect(self.daemon.address("resp"))
        return stream

    def assert_ends(self, stream):
        """The daemon closes; what it says before does not matter here."""
        stream.settimeout(10)
        try:
            while stream.recv(65536):
                pass
        except ConnectionResetError:
            pass


if __name__ == "__main__":
    unittest.main()

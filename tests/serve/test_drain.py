# SPDX-License-Identifier: Apache-2.0
"""The end by SIGTERM: every request that was sent before is answered, then the connections are closed."""
import os
import re
import select
import signal
import socket
import time
import unittest

import conf
from daemon import folder, serve
from faults import MIB
from resp import encode, pairs


class Ending(unittest.TestCase):
    def test_no_request_is_lost(self):
        """Also none of those that wait in the kernel's buffers."""
        requests = {"resp": (encode("CL.THROTTLE", "end", 999999, 1, 3600), b"\r\n:1000000\r\n", 5000),
                    "http": (b"GET /v1/take?policy=api&key=end HTTP/1.1\r\nHost: m\r\n\r\n", b"HTTP/1.1 ", 1000)}
        daemon = serve(self, conf.config({"api": conf.policy("100/1h")}), threads=2)
        peers = [(protocol, self.connect(daemon, protocol)) for protocol in requests for _ in range(8)]
        for protocol, stream in peers:
            stream.sendall(requests[protocol][0] * requests[protocol][2])
        daemon.signal(signal.SIGTERM)
        for protocol, stream in peers:
            self.assertEqual(receive(stream).count(requests[protocol][1]), requests[protocol][2], protocol)
        self.assertEqual(daemon.process.wait(20), 0)

    def test_what_was_charged_was_answered(self):
        """With more replies than may wait unsent: a command is answered all the same.  HTTP may close before a request
        that it has not begun (RFC 9112 section 9.6), but then the last response says so and no more is charged."""
        store = {"path": os.path.join(folder(self), "store"), "keys_max": 10000}
        limit = "fixed_window 1000000/365d"
        daemon = serve(self, conf.config({"api": conf.policy(limit), "http": conf.policy(limit)}, store=store),
                       threads=2)
        command, count = encode("METE.TAKE", "api", "k"), 8000
        target, requests = b"GET /v1/take?policy=http&key=k HTTP/1.1\r\nHost: m\r\n\r\n", 5000
        resp = [self.connect(daemon, "resp") for _ in range(3)]
        http = [self.connect(daemon, "http") for _ in range(3)]
        for stream in resp:
            stream.sendall(command * count)
        for stream in http:
            stream.sendall(target * requests)
        daemon.signal(signal.SIGTERM)
        answered = 0
        for stream in resp:
            self.assertEqual(receive(stream).count(b"allowed\r\n:1\r\n"), count)
        for stream in http:
            received = receive(stream)
            own = received.count(b"HTTP/1.1 200 ")
            answered += own
            if own < requests:
                self.assertRegex(received[received.rfind(b"HTTP/1.1 "):], rb"(?i)\r\nconnection: close\r\n")
        self.assertEqual(daemon.process.wait(20), 0)
        daemon.restart()
        with daemon.resp() as client:
            self.assertEqual(pairs(client("METE.PEEK", "api", "k"))["remaining"], 1000000 - len(resp) * count)
            self.assertEqual(pairs(client("METE.PEEK", "http", "k"))["remaining"], 1000000 - answered)

    def connect(self, daemon, protocol):
        stream = socket.create_connection(daemon.address(protocol), 20)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MIB)
        self.addCleanup(stream.close)
        return stream

    def test_nobody_new_is_taken(self):
        daemon = serve(self)
        address = daemon.address("resp")
        daemon.terminate()
        with self.assertRaises(OSError):
            socket.create_connection(address, 2)

    def test_idle_clients_do_not_hold_it_up(self):
        daemon = serve(self)
        with daemon.resp() as client, daemon.web() as web:
            client("PING")
            web.get("/healthz")
            begun = time.monotonic()
            self.assertEqual(daemon.terminate(), 0)
            self.assertLess(time.monotonic() - begun, 5)
            self.assertTrue(client.is_closed())

    def test_a_client_that_does_not_read_is_given_up(self):
        daemon = serve(self, conf.config({"api": conf.policy("3/1h")}, bounds={"drain_timeout_ms": 500}))
        stream = socket.create_connection(daemon.address("resp"), 20)
        self.addCleanup(stream.close)
        stream.setblocking(False)
        data = encode("ECHO", b"x" * 10000) * 100
        while select.select([], [stream], [], 0.5)[1]:
            stream.send(data)
        begun = time.monotonic()
        self.assertEqual(daemon.terminate(), 0)
        self.assertLess(time.monotonic() - begun, 8)

    def test_signals_until_the_last_connection_ends(self):
        """Whatever loop it is of: a loop without connections is gone by then, and the one that handles signals may be."""
        for turn in range(2):
            daemon = serve(self, conf.config({"api": conf.policy("3/1h")}, bounds={"drain_timeout_ms": 3000}), threads=2)
            by_loop = by_loops(daemon, 24)
            self.assertEqual(len(by_loop), 2)
            for client in by_loop[turn]:
                client.raw(b"*1\r\n$4\r\nPI")
            daemon.signal(signal.SIGTERM)
            daemon.await_line("draining")
            time.sleep(1.5)
            for number in signal.SIGHUP, signal.SIGTERM, signal.SIGINT:
                daemon.signal(number)
            time.sleep(0.2)
            by_loop[turn][0].raw(b"NG\r\n")
            self.assertEqual(by_loop[turn][0].read(), "PONG")
            self.assertEqual(daemon.process.wait(20), 0)

    def test_sigint_ends_it_as_well(self):
        daemon = serve(self)
        daemon.signal(signal.SIGINT)
        self.assertEqual(daemon.process.wait(20), 0)


def by_loops(daemon, count):
    """Connections in one list per loop: CLIENT LIST names those of a loop."""
    clients = [daemon.resp() for _ in range(count)]
    loops = {}
    for client in clients:
        ids = frozenset(re.findall(rb"^id=(\d+)", client("CLIENT", "LIST"), re.M))
        loops.setdefault(ids, []).append(client)
    return list(loops.values())


def receive(stream):
    """All until the daemon closes."""
    received = bytearray()
    while chunk := stream.recv(1 << 20):
        received += chunk
    return bytes(received)


if __name__ == "__main__":
    unittest.main()

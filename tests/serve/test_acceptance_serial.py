# SPDX-License-Identifier: Apache-2.0
"""Eight connections ask for one key at once: of 1,000 units exactly 1,000 are given, round after round, over both
protocols.  The clock is the real one and one unit comes back per second, so a round must be over within that
second to say anything; one that is not (the machine was busy) may give one unit more for each second, and is repeated.
"""
import re
import selectors
import socket
import time
import unittest

import conf
from daemon import SANITIZED, SCALE, serve
from resp import encode

CONNECTIONS = 8
UNITS = 1000
ROUNDS = (100 if SANITIZED else 400) * SCALE
SECONDS_MAX = 240 * SCALE


class Peer:
    """One connection: a request to send, and bytes that come back, until `expected` replies are there."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, 20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)

    def begin(self, data, count):
        self.unsent = memoryview(data)
        self.received = bytearray()
        self.count = count

    def send(self):
        try:
            self.unsent = self.unsent[self.socket.send(self.unsent):]
        except BlockingIOError:
            pass

    def receive(self):
        try:
            chunk = self.socket.recv(1 << 20)
        except BlockingIOError:
            return
        if not chunk:
            raise AssertionError("the daemon closed a connection")
        self.received += chunk


def run_round(peers, data, count, ends):
    """Sends the same bytes on all connections at once; returns what each received and how long it took."""
    with selectors.DefaultSelector() as selector:
        for peer in peers:
            peer.begin(data, count)
        begun = time.monotonic()
        for peer in peers:
            peer.send()
            selector.register(peer.socket, selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsent else 0), peer)
        waiting = len(peers)
        while waiting:
            ready = selector.select(20)
            if not ready:
                raise AssertionError("no answer for 20 s")
            for key, events in ready:
                peer = key.data
                if events & selectors.EVENT_WRITE and peer.unsent:
                    peer.send()
                    if not peer.unsent:
                        selector.modify(peer.socket, selectors.EVENT_READ, peer)
                if events & selectors.EVENT_READ:
                    peer.receive()
                    if ends(peer):
                        selector.unregister(peer.socket)
                        waiting -= 1
        return [bytes(peer.received) for peer in peers], time.monotonic() - begun


class ExactlyTheBurst(unittest.TestCase):
    def accept(self, protocol, make, count, ends, look):
        daemon = serve(self, conf.config({"api": conf.policy(f"1/s burst {UNITS}")}), threads=2)
        peers = [Peer(daemon.address(protocol)) for _ in range(CONNECTIONS)]
        for peer in peers:
            self.addCleanup(peer.socket.close)
        conclusive = rounds = 0
        end = time.monotonic() + SECONDS_MAX
        while conclusive < ROUNDS:
            self.assertLess(time.monotonic(), end, f"{conclusive} of {rounds} rounds were over within a second")
            replies, seconds = run_round(peers, make(f"round:{rounds}") * count, count, ends)
            rounds += 1
            allowed, denied = map(sum, zip(*(look(reply) for reply in replies)))
            self.assertEqual(allowed + denied, CONNECTIONS * count)
            if seconds < 1:
                conclusive += 1
                self.assertEqual(allowed, UNITS, f"round {rounds}, {seconds:.3f} s")
            else:
                self.assertTrue(UNITS <= allowed <= UNITS + int(seconds) + 1, f"{allowed} in {seconds:.3f} s")
        print(f"{protocol}: {rounds} rounds, {conclusive} conclusive, all of exactly {UNITS}")

    def test_resp(self):
        count = 200
        allowed, denied = re.compile(rb"\*5\r\n:0\r\n:1000\r\n"), re.compile(rb"\*5\r\n:1\r\n:1000\r\n:0\r\n:1\r\n")
        self.accept("resp", lambda key: encode("CL.THROTTLE", key, UNITS - 1, 1, 1), count,
                    lambda peer: peer.received.count(b"\n") >= 6 * count,
                    lambda reply: (len(allowed.findall(reply)), len(denied.findall(reply))))

    def test_resp_policy(self):
        """METE.TAKE in RESP2: what is counted is the first value of the reply, 1 or 0."""
        count = 200
        with serve(self, conf.config({"api": conf.policy("1/s burst 5")})).resp() as client:
            client.send("METE.TAKE", "api", "shape")
            lines = shape(client)
        self.assertGreater(lines, 1)
        self.accept("resp", lambda key: encode("METE.TAKE", "api", key), count,
                    lambda peer: peer.received.count(b"\n") >= lines * count,
                    lambda reply: (reply.count(b"allowed\r\n:1\r\n"), reply.count(b"allowed\r\n:0\r\n")))

    def test_http(self):
        count = 150

        def make(key):
            return f"GET /v1/take?policy=api&key={key} HTTP/1.1\r\nHost: mete\r\n\r\n".encode()

        def ends(peer):
            return peer.received.count(b"HTTP/1.1 ") >= count and last_is_whole(peer.received)

        self.accept("http", make, count, ends,
                    lambda reply: (reply.count(b"HTTP/1.1 200 "), reply.count(b"HTTP/1.1 429 ")))


def shape(client):
    """The number of lines of one reply."""
    client.socket.settimeout(0.5)
    lines = 0
    try:
        while True:
            client.line()
            lines += 1
    except TimeoutError:
        return lines


def last_is_whole(received):
    """The last response in the buffer has all the bytes that its Content-Length says."""
    at = received.rfind(b"HTTP/1.1 ")
    head = received.find(b"\r\n\r\n", at)
    if head < 0:
        return False
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", received[at:head + 2])
    return length is not None and len(received) >= head + 4 + int(length.group(1))


if __name__ == "__main__":
    unittest.main()

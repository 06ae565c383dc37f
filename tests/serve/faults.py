# SPDX-License-Identifier: Apache-2.0
"""What the tests of bad clients and exhausted resources share."""
import select
import socket
import time
import unittest

import conf
from daemon import SANITIZED, serve

MIB = 1 << 20
# A shadow of every allocation and a quarantine of freed ones: sanitizer builds say nothing about memory.
MEMORY_FACTOR = 20 if SANITIZED else 1


class Case(unittest.TestCase):
    """A daemon of two loops, clients on both that must go on being served, and how much memory it had before."""

    def start(self, wrapper=(), **bounds):
        sections = {"bounds": bounds} if bounds else {}
        self.daemon = serve(self, conf.config({"api": conf.policy("3/1h")}, **sections), threads=2, wrapper=wrapper)
        self.others = [self.daemon.resp() for _ in range(8)]  # on both loops, most likely
        self.web = self.daemon.web()
        self.others_are_served()
        self.memory = self.daemon.rss_bytes()

    def others_are_served(self, within=5):
        begun = time.monotonic()
        for client in self.others:
            self.assertEqual(client("PING"), "PONG")
        self.assertEqual(self.web.get("/healthz").status, 200)
        self.assertLess(time.monotonic() - begun, within)

    def grew_at_most(self, limit):
        growth = self.daemon.rss_bytes() - self.memory
        self.assertLess(growth, limit * MEMORY_FACTOR, f"{growth / MIB:.1f} MiB more memory than before")

    def connect(self, protocol="resp"):
        stream = socket.create_connection(self.daemon.address(protocol), 20)
        self.addCleanup(stream.close)
        return stream

    def send_until_stuck(self, stream, data, total, patience=1.0):
        """Sends data again and again without reading; returns how many bytes went, and whether it got stuck."""
        stream.setblocking(False)
        sent = at = 0
        while sent < total:
            _, writable, _ = select.select([], [stream], [], patience)
            if not writable:
                return sent, True
            try:
                count = stream.send(data[at:])
            except (ConnectionResetError, BrokenPipeError):
                return sent, True
            sent += count
            at = (at + count) % len(data)
        return sent, False

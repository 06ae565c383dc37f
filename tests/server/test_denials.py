# SPDX-License-Identifier: Apache-2.0
"""log.keys: denials are lines with their keys, and only then; a flood of them is cut, and says so."""
import os
import socket
import sys
import tempfile
import unittest

from serving import Daemon, wait_until

CONFIG = """listen:
  - resp: 127.0.0.1:0
log: {{ keys: {keys} }}
policies:
  a: {{ limits: {{ m: 1/1h }} }}
"""
PER_SECOND = 100  # METE__DENIALS_PER_S


class Denials(unittest.TestCase):
    def serve(self, keys):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "mete.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(keys=keys))
        daemon = Daemon("--config", path, "--threads", "1", listeners=1)
        self.addCleanup(daemon.finish)
        return daemon

    def ask(self, daemon, command, times=1):
        with socket.create_connection(("127.0.0.1", daemon.port("resp"))) as client:
            client.sendall(command * times + b"PING\r\n")
            replies = b""
            while not replies.endswith(b"+PONG\r\n"):
                replies += client.recv(65536)

    def denied(self, daemon):
        return [line for line in daemon.lines if 'event="denied"' in line]

    def test_keys_are_asked_for(self):
        daemon = self.serve("true")
        self.ask(daemon, b"METE.TAKE a key-one\r\n", 2)
        self.ask(daemon, b"*5\r\n$11\r\nCL.THROTTLE\r\n$3\r\na\"b\r\n$1\r\n0\r\n$1\r\n1\r\n$2\r\n60\r\n", 2)
        wait_until(lambda: len(self.denied(daemon)) == 2)
        first, second = self.denied(daemon)
        self.assertIn("policy=a key=key-one retry_after_ms=", first)
        self.assertIn(r'policy="" key="a\"b" retry_after_ms=', second)

    def test_no_line_shows_a_key_otherwise(self):
        daemon = self.serve("false")
        self.ask(daemon, b"METE.TAKE a key-one\r\n", 3)
        self.assertFalse(daemon.said("key-one"))

    def test_a_flood_is_cut(self):
        daemon = self.serve("true")
        self.ask(daemon, b"METE.TAKE a k\r\n", 5001)
        def told():  # the first line of each second counts what was left out before
            self.ask(daemon, b"METE.TAKE a k\r\n")
            lines = self.denied(daemon)
            return len(lines) + sum(int(line.rsplit("suppressed=", 1)[1]) for line in lines) >= 5000

        wait_until(told)
        self.assertLess(len(self.denied(daemon)), 40 * PER_SECOND)


if __name__ == "__main__":
    sys.exit(unittest.main())

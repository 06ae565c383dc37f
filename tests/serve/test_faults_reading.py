# SPDX-License-Identifier: Apache-2.0
"""Clients that send and do not read, or read slowly: memory stays bounded and others are served."""
import select
import socket
import unittest

from daemon import SCALE
from faults import MEMORY_FACTOR, MIB, Case
from resp import encode


class NotReading(Case):
    def test_a_gigabyte_of_commands_and_no_reading(self):
        """The daemon stops reading when its replies are not read: the kernel's buffers fill, not its memory."""
        self.start()
        stream = self.connect()
        data = encode("CL.THROTTLE", "flood", 15, 30, 60) * 20000
        sent, is_stuck = self.send_until_stuck(stream, data, 1 << 30)
        self.assertTrue(is_stuck, "a gigabyte of commands was swallowed")
        self.grew_at_most(32 * MIB)
        self.others_are_served()
        print(f"stuck after {sent / MIB:.1f} MiB")

    def test_a_gigabyte_of_large_replies(self):
        """Few bytes in, many out: ECHO and INFO."""
        self.start()
        stream = self.connect()
        data = encode("ECHO", b"x" * 60000) * 50 + encode("COMMAND") * 500
        _, is_stuck = self.send_until_stuck(stream, data, 1 << 30)
        self.assertTrue(is_stuck)
        self.grew_at_most(32 * MIB)
        self.others_are_served()

    def test_a_gigabyte_over_http(self):
        self.start()
        stream = self.connect("http")
        data = b"GET /v1/take?policy=api&key=flood HTTP/1.1\r\nHost: m\r\n\r\n" * 10000
        _, is_stuck = self.send_until_stuck(stream, data, 1 << 30)
        self.assertTrue(is_stuck)
        self.grew_at_most(32 * MIB)
        self.others_are_served()

    def test_thirty_of_them(self):
        self.start()
        data = encode("CL.THROTTLE", "flood", 15, 30, 60) * 20000
        for _ in range(30):
            self.send_until_stuck(self.connect(), data, 1 << 30, patience=0.01)
        self.grew_at_most(30 * 3 * MIB)
        self.others_are_served()

    def test_after_reading_again_every_reply_comes(self):
        self.start()
        stream = self.connect()
        commands = 100000
        data = memoryview(encode("PING") * commands)
        sent, stuck_at = 0, None
        stream.setblocking(False)
        received = bytearray()
        while len(received) < commands * 7:
            readable, writable, _ = select.select([stream] if stuck_at is not None else [],
                                                  [stream] if sent < len(data) else [], [], 0.3)
            if not readable and not writable and stuck_at is not None:
                self.fail(f"{len(received)} of {commands * 7} bytes came")
            if not writable or sent == len(data):
                stuck_at = sent
            if writable:
                sent += stream.send(data[sent:])
            if readable:
                received += stream.recv(1 << 20)
        self.assertEqual(bytes(received), b"+PONG\r\n" * commands)

    def test_a_slow_reader_gets_all_it_asked_for(self):
        """A pipeline of 64 MiB (a gigabyte with METE_TEST_SCALE 16) that is read in small pieces."""
        self.start()
        total = min(1 << 30, 64 * MIB * SCALE)
        command = encode("CL.THROTTLE", "slow", 999, 1, 3600)
        commands = total // len(command)
        data = command * 20000
        stream = self.connect()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        stream.setblocking(False)
        sent = at = replies = 0
        peak = 0
        while replies < 6 * commands:
            readable, writable, _ = select.select([stream], [stream] if sent < commands * len(command) else [], [], 20)
            self.assertTrue(readable or writable, "nothing moves any more")
            if writable:
                piece = data[at:at + min(len(data) - at, commands * len(command) - sent)]
                count = stream.send(piece)
                sent, at = sent + count, (at + count) % len(data)
            if readable:
                replies += stream.recv(32768).count(b"\n")
            if replies % 997 == 0:
                peak = max(peak, self.daemon.rss_bytes())
        self.assertLess(peak - self.memory, 32 * MIB * MEMORY_FACTOR)
        self.others_are_served()


if __name__ == "__main__":
    unittest.main()

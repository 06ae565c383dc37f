# SPDX-License-Identifier: Apache-2.0
"""Many connections, too many of them, and file descriptors that run out: others are served, and the log says it."""
import re
import resource
import unittest

from daemon import SCALE, needs, wait_until
from faults import MIB, Case
from resp import Resp, encode


class Connections(Case):
    def test_many_idle_connections(self):
        """2,000; 10,000 with METE_TEST_SCALE 5."""
        count = min(10000, 2000 * SCALE)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertGreaterEqual(hard, count + 200, "the hard limit of file descriptors is too low for this test")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 200), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.start(connections_max=count + 100)
        self.daemon.limit(resource.RLIMIT_NOFILE, min(count + 300, hard))
        idle = [self.connect("resp" if i % 2 else "http") for i in range(count)]
        self.others_are_served()
        self.grew_at_most(count * 20 * 1024)
        for stream in idle[:: count // 20]:
            is_resp = stream.getpeername()[1] == self.daemon.address("resp")[1]
            stream.sendall(encode("PING") if is_resp else b"GET /healthz HTTP/1.1\r\nHost: m\r\n\r\n")
            self.assertRegex(stream.recv(100), rb"^(\+PONG|HTTP/1\.1 200)")
        print(f"{count} connections: {(self.daemon.rss_bytes() - self.memory) / count / 1024:.1f} KiB each")
        for stream in idle:
            stream.close()
        wait_until(lambda: self.daemon.fd_count() < 100, 10, "the descriptors are not given back")

    def test_more_than_connections_max(self):
        """What is above the bound is refused at once, and says so; room that comes back is used."""
        self.start(connections_max=20)
        since = len(self.daemon.lines)
        refused = accepted = 0
        streams = []
        for _ in range(40):
            client = Resp(self.daemon.address("resp"), timeout=5)
            streams.append(client)
            try:
                accepted += client("PING") == "PONG"
            except (EOFError, ConnectionResetError, BrokenPipeError):
                refused += 1
        self.assertEqual(accepted, 20 - len(self.others) - 1)
        self.assertGreater(refused, 0)
        self.daemon.await_line("connection", since)
        self.others_are_served()
        for client in streams:
            client.close()

        def is_served():
            try:
                with self.daemon.resp() as client:
                    return client("PING") == "PONG"
            except (EOFError, OSError):
                return False
        wait_until(is_served, 5, "no connection is taken after others have left")

    def test_fewer_open_files_than_connections(self):
        """What the limit of open files leaves is the bound: more are refused in order, and the log says why."""
        self.start(wrapper=[needs("prlimit"), "--nofile=200:200"])
        self.daemon.await_line(r"level=warn.*open_files=200")
        since = len(self.daemon.lines)
        streams = [self.connect() for _ in range(250)]
        self.daemon.await_line(r"level=warn.*(refused|connections)", since)
        self.others_are_served()
        self.assertLess(self.daemon.fd_count(), 200)
        served = sum(self.is_served(stream) for stream in streams)
        self.assertTrue(20 <= served < 200, served)
        with self.daemon.web() as web:
            self.assertRaises(OSError, web.get, "/healthz")
        for stream in streams:
            stream.close()
        wait_until(lambda: self.daemon.fd_count() < 100, 10, "the descriptors are not given back")
        with self.daemon.resp() as client:
            self.assertEqual(client("PING"), "PONG")
        refused = re.search(rb"(?m)^mete_connections_refused_total (\d+)$", self.web.get("/metrics").body)
        self.assertGreaterEqual(int(refused.group(1)), 250 - served)

    def is_served(self, stream):
        try:
            stream.sendall(b"PING\r\n")
            return stream.recv(100) == b"+PONG\r\n"
        except (ConnectionResetError, BrokenPipeError):
            return False

    def test_connections_that_come_and_go(self):
        """No descriptor and no memory stays behind."""
        self.start()
        descriptors = self.daemon.fd_count()
        for round_number in range(2):
            for _ in range(500 * SCALE):
                with self.daemon.resp() as client:
                    client("CL.THROTTLE", "come", 15, 30, 60)
                self.connect("http").close()
            if round_number == 0:
                self.memory = self.daemon.rss_bytes()
        self.grew_at_most(2 * MIB)
        wait_until(lambda: self.daemon.fd_count() <= descriptors, 10, "descriptors stay open")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The daemon's log when nobody reads it, the reader goes away, or there is none: clients are served all the same."""

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest

from serving import WAIT_S, catches, wait_until

PING, PONG = b"PING\r\n", b"+PONG\r\n"


class Log(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        # Socket files tell where the daemon listens when its log cannot.
        self.address = os.path.join(self.folder, "resp.sock")

    def serve(self, form="logfmt", **options):
        config = os.path.join(self.folder, "mete.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"log": {"level": "debug", "format": form}, "policies": {"p": {"limits": {"l": "5/s"}}}}, file)
        daemon = subprocess.Popen([os.environ["METE_BIN"], "serve", "--config", config, "--http", "off", "--resp",
                                   f"unix:{self.address}"], stdin=subprocess.DEVNULL, **options)
        self.addCleanup(self.end, daemon)
        wait_until(lambda: os.path.exists(self.address) or daemon.poll() is not None)
        wait_until(lambda: catches(daemon.pid, signal.SIGTERM) and catches(daemon.pid, signal.SIGHUP))
        return daemon

    def end(self, daemon):
        daemon.terminate()
        try:
            self.assertEqual(daemon.wait(WAIT_S), 0)
        finally:
            daemon.kill()

    def ask(self):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(WAIT_S)
            client.connect(self.address)
            client.sendall(PING)
            self.assertEqual(client.recv(100), PONG)

    def reload_many(self, daemon, times):
        """Each writes a line."""
        for _ in range(times):
            daemon.send_signal(signal.SIGHUP)
            self.ask()

    def test_lines_are_whole_in_both_forms(self):
        for form in ("logfmt", "json"):
            read, write = os.pipe()
            daemon = self.serve(form, stderr=write)
            os.close(write)
            self.ask()
            self.end(daemon)
            with os.fdopen(read, encoding="utf-8") as log:
                lines = log.read().splitlines()
            self.assertGreater(len(lines), 1)
            for line in lines:
                if form == "json":
                    event = json.loads(line)
                    self.assertEqual(list(event)[:3], ["time", "level", "event"])
                else:
                    self.assertRegex(line, r'^time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=[a-z]+ event="')

    def test_nobody_reads_it(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        daemon = self.serve(stderr=write)
        os.close(write)
        self.reload_many(daemon, 200)
        os.set_blocking(read, False)
        held = os.read(read, 1 << 20)
        self.assertLessEqual(len(held), 4096)
        # What was lost is told once there is room.
        later = b""

        def is_told():
            nonlocal later
            self.reload_many(daemon, 1)
            try:
                later += os.read(read, 1 << 20)
            except BlockingIOError:
                pass
            return re.search(rb" lost=\d+\n", later)
        wait_until(is_told)

    def test_the_reader_goes_away(self):
        read, write = os.pipe()
        daemon = self.serve(stderr=write)
        os.close(write)
        os.close(read)
        self.reload_many(daemon, 5)
        self.assertIsNone(daemon.poll())

    def test_there_is_none(self):
        """No connection may become the log because it got its number."""
        daemon = self.serve(preexec_fn=lambda: os.close(2))
        self.assertEqual(os.readlink(f"/proc/{daemon.pid}/fd/2"), "/dev/null")
        self.reload_many(daemon, 5)

    def test_the_disk_is_full(self):
        with open("/dev/full", "wb") as full:
            daemon = self.serve(stderr=full)
        self.reload_many(daemon, 5)


if __name__ == "__main__":
    unittest.main()

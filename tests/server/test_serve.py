# SPDX-License-Identifier: Apache-2.0
"""The command line of mete serve, and what it says when it cannot start."""

import json
import os
import tempfile
import time
import unittest
import urllib.request

import serving

METE = os.environ["METE_BIN"]
PROCESSORS = os.sysconf("SC_NPROCESSORS_ONLN")


class Serve(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mete-serve-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, text):
        path = os.path.join(self.folder, "mete.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "policies: {a: {limits: {b: 5/1h}}}\n")
        return path

    def start(self, *arguments, listeners=1):
        daemon = serving.Daemon(*arguments, listeners=listeners)
        self.addCleanup(daemon.finish)
        serving.wait_until(lambda: serving.catches(daemon.process.pid, 15))
        return daemon

    def loops(self, *arguments):
        daemon = self.start("--resp", "off", "--http", "127.0.0.1:0", *arguments)
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port('http')}/v1/stats", timeout=60) as answer:
            return json.load(answer)["threads"]

    def test_threads(self):
        config = "--config", self.write(f"threads: {PROCESSORS + 3}\n")
        self.assertEqual(self.loops(*config), PROCESSORS + 3)
        self.assertEqual(self.loops(*config, "--threads", str(PROCESSORS + 1)), PROCESSORS + 1)
        self.assertEqual(self.loops(*config, "--threads", "0"), PROCESSORS)
        self.assertEqual(self.loops(), PROCESSORS)

    def test_an_address_in_use(self):
        daemon = self.start("--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", listeners=2)
        path = os.path.join(self.folder, "socket")
        self.start("--resp", "unix:" + path, "--http", "127.0.0.1:0")
        for protocol, other in ("resp", "http"), ("http", "resp"):
            for address in f"127.0.0.1:{daemon.port(protocol)}", "unix:" + path:
                run = serving.run(METE, "serve", f"--{protocol}", address, f"--{other}", "off")
                self.assertEqual(run.returncode, 3)
                self.assertEqual(run.stderr.splitlines()[-1], f"mete serve: listen: {address}: Address already in use; "
                                                              f"choose another with --{protocol}")

    def test_a_file_that_goes_away(self):
        """Told once each time; what was read from it stays."""
        path = self.write("")
        daemon = self.start("--config", path, "--resp", "off", "--http", "127.0.0.1:0")

        def told():
            return sum('event="a file is gone: what was read from it stays"' in line and f"file={path}" in line and
                       "level=warn" in line for line in daemon.lines)

        for times in 1, 2:
            os.rename(path, path + ".away")
            serving.wait_until(lambda: told() == times)
            time.sleep(1.5)  # more than one look
            self.assertEqual(told(), times)
            self.write("# again\n" * times)
            serving.wait_until(lambda: sum("configuration taken" in line for line in daemon.lines) == times)
        self.assertEqual(told(), 2)
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port('http')}/v1/take?policy=a&key=k", timeout=60) as answer:
            self.assertEqual(answer.status, 200)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""mete_load and mete_echo as programs: what is counted, and that a stall cannot hide."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time
import unittest

BENCH = pathlib.Path(os.environ["METE_BUILD_DIR"]) / "bench"
PING = b"*1\r\n$4\r\nPING\r\n"


def load(*arguments):
    return subprocess.run([BENCH / "mete_load", *arguments], capture_output=True, text=True, timeout=60, check=False)


def measure(*arguments):
    done = load("--json", *arguments)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Echo:
    """mete_echo on a port of its own choice, or on a Unix socket."""

    def __init__(self, request_bytes, reply, address="127.0.0.1:0"):
        command = [BENCH / "mete_echo", "--listen", address, "--request-bytes", str(request_bytes), "--reply", reply]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        port = self.process.stdout.readline().split()[-1]
        self.address = address if "/" in address else f"127.0.0.1:{port}"

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


class Script:
    """A server of one connection: calls talk(connection) in a thread."""

    def __init__(self, talk):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.run, args=(talk,))

    def run(self, talk):
        connection, _ = self.listener.accept()
        with connection:
            try:
                talk(connection)
            except ConnectionError:
                pass

    def __enter__(self):
        self.thread.start()
        return self.address

    def __exit__(self, *_):
        self.listener.close()
        self.thread.join()


class Counting(unittest.TestCase):
    def test_every_request_is_answered_once(self):
        with Echo(len(PING), r"+PONG\r\n") as address:
            for pipeline in (1, 7, 4096):
                for requests in (1, 10, 20001):
                    got = measure("--connect", address, "--resp", "PING", "--pipeline", str(pipeline), "--requests",
                                  str(requests), "--connections", "3", "--keys", "1000")
                    self.assertEqual((got["replies"], got["ok"], got["lost"]), (requests, requests, 0))

    def test_unix_socket_and_http(self):
        request = len("GET /take?key=00 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/echo.sock"
            with Echo(request, r"HTTP/1.1 429 No\r\nContent-Length: 2\r\n\r\n{}", path):
                got = measure("--connect", path, "--http", "/take?key=%k", "--keys", "100", "--requests", "500")
        self.assertEqual((got["replies"], got["denied"]), (500, 500))

    def test_replies_larger_than_a_socket_holds(self):
        with Echo(len(PING), "+" + "x" * 4000 + r"\r\n") as address:
            got = measure("--connect", address, "--resp", "PING", "--pipeline", "4096", "--requests", "20000",
                          "--connections", "2")
        self.assertEqual(got["replies"], 20000)

    def test_closed_loop_by_time(self):
        with Echo(len(PING), r"+PONG\r\n") as address:
            got = measure("--connect", address, "--resp", "PING", "--seconds", "0.3", "--warmup", "0.1")
        self.assertGreater(got["replies"], 100)
        self.assertAlmostEqual(got["elapsed_s"], 0.3, places=3)
        self.assertAlmostEqual(got["requests_per_s"], got["replies"] / got["elapsed_s"], delta=1)
        latency = list(got["latency_us"].values())
        self.assertEqual(latency, sorted(latency))

    def test_open_loop_keeps_its_rate(self):
        with Echo(len(PING), r"+PONG\r\n") as address:
            for spacing, slack in (["--fixed"], 1), ([], 300):
                got = measure("--connect", address, "--resp", "PING", "--rate", "5000", "--seconds", "0.5",
                              "--warmup", "0", "--keys", "1000", *spacing)
                self.assertEqual(got["lost"], 0)
                self.assertAlmostEqual(got["replies"], 2500, delta=slack)  # 300 is 6 deviations of Poisson


class Stalls(unittest.TestCase):
    STALL_S = 0.4

    def stall_once(self, connection):
        """Answers at once, but for one pause in the middle."""
        pause_at = time.monotonic() + 0.4
        rest = 0
        while True:
            data = connection.recv(65536)
            if not data:
                return
            if pause_at is not None and time.monotonic() >= pause_at:
                time.sleep(self.STALL_S)
                pause_at = None
            count, rest = divmod(rest + len(data), len(PING))
            connection.sendall(b"+PONG\r\n" * count)

    def test_open_loop_sees_what_a_closed_loop_hides(self):
        common = ("--resp", "PING", "--connections", "1", "--seconds", "1", "--warmup", "0")
        with Script(self.stall_once) as address:
            closed = measure("--connect", address, *common)
        with Script(self.stall_once) as address:
            opened = measure("--connect", address, *common, "--rate", "1000", "--fixed")
        # One request of a closed loop waited; of the open loop, all that were due meanwhile: 40 of 100.
        self.assertGreaterEqual(closed["latency_us"]["max"], self.STALL_S * 1e6)
        self.assertGreaterEqual(opened["latency_us"]["p90"], 0.5 * self.STALL_S * 1e6)
        self.assertLess(closed["latency_us"]["p50"], opened["latency_us"]["p90"])
        self.assertEqual(opened["replies"], 1000)

    def test_what_never_comes_is_lost(self):
        def answer_some(connection):
            connection.recv(65536)
            connection.sendall(b"+PONG\r\n")
            while connection.recv(65536):
                pass

        with Script(answer_some) as address:
            got = measure("--connect", address, "--resp", "PING", "--connections", "1", "--rate", "2000", "--fixed",
                          "--seconds", "1", "--warmup", "0")
        self.assertAlmostEqual(got["replies"] + got["lost"], 2000, delta=1)
        self.assertEqual(got["replies"], 1)


class Refusals(unittest.TestCase):
    def refused(self, status, text, *arguments):
        done = load(*arguments)
        self.assertEqual((done.returncode, text in done.stderr), (status, True), done.stderr)

    def test_options(self):
        to = ("--connect", "127.0.0.1:1", "--resp", "PING")
        self.refused(2, "--connect is missing", "--resp", "PING")
        self.refused(2, "--resp or --http is missing", "--connect", "127.0.0.1:1")
        self.refused(2, "--pipeline: '0'", *to, "--pipeline", "0")
        self.refused(2, "--pipeline: '4097'", *to, "--pipeline", "4097")
        self.refused(2, "--keys: '-1'", *to, "--keys", "-1")
        self.refused(2, "--rate: 'nan'", *to, "--rate", "nan")
        self.refused(2, "--seconds: 0", *to, "--seconds", "0")
        self.refused(2, "exclude", *to, "--requests", "1", "--rate", "1")
        self.refused(2, "'more'", *to, "more")
        self.refused(2, "--nonsense", *to, "--nonsense")

    def test_addresses(self):
        self.refused(1, "refused", "--connect", "127.0.0.1:1", "--resp", "PING")
        self.refused(1, "neither", "--connect", "localhost", "--resp", "PING")
        self.refused(1, "longer", "--connect", "/" + "x" * 200, "--resp", "PING")

    def test_servers_that_do_not_answer_as_they_should(self):
        def reply(data):
            def talk(connection):
                connection.recv(65536)
                connection.sendall(data)
                connection.recv(65536)
            return talk

        arguments = ("--resp", "PING", "--connections", "1", "--requests", "2")
        for data, text in ((b"", "closed"), (b"hello\r\n", "no reply"), (b"+A\r\n+B\r\n", "more replies")):
            with Script(reply(data) if data else lambda connection: connection.recv(65536)) as address:
                self.refused(1, text, "--connect", address, *arguments)

    def test_errors_fail_the_run(self):
        with Echo(len(PING), r"-ERR no\r\n") as address:
            done = load("--connect", address, "--resp", "PING", "--requests", "10")
        self.assertEqual(done.returncode, 1)
        self.assertIn("10 errors", done.stdout)


if __name__ == "__main__":
    unittest.main()

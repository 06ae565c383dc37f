# SPDX-License-Identifier: Apache-2.0
"""redis-cli and redis-benchmark, as they are, and wrk for HTTP."""
import re
import subprocess
import unittest

import conf
from daemon import needs, serve


def run(program, *arguments, stdin="", seconds=60):
    return subprocess.run([needs(program), *map(str, arguments)], input=stdin, capture_output=True, text=True,
                          timeout=seconds, check=False)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls, conf.config({"api": conf.policy("3/1h")}))
        host, port = cls.daemon.address("resp")
        cls.where = ["-h", host, "-p", port]


class RedisCli(Case):
    def cli(self, *arguments, **options):
        result = run("redis-cli", *self.where, *arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_ping(self):
        self.assertEqual(self.cli("ping"), "PONG\n")

    def test_throttle(self):
        self.assertEqual(self.cli("CL.THROTTLE", "cli", 15, 30, 60), "0\n16\n15\n-1\n2\n")

    def test_throttle_in_resp3(self):
        self.assertEqual(self.cli("-3", "CL.THROTTLE", "cli3", 15, 30, 60), "0\n16\n15\n-1\n2\n")

    def test_take(self):
        for left in 2, 1, 0:
            output = self.cli("METE.TAKE", "api", "cli")
            self.assertRegex(output, rf"remaining\n{left}\n")
            self.assertRegex(output, r"allowed\n1\n")
        self.assertRegex(self.cli("METE.TAKE", "api", "cli"), r"allowed\n0\n")
        self.assertRegex(self.cli("-3", "METE.PEEK", "api", "cli"), r"allowed")

    def test_commands_from_standard_input(self):
        output = self.cli(stdin="PING\nCL.THROTTLE stdin 0 1 60\nDEL stdin\nEXISTS stdin\n")
        self.assertEqual(output.split(), ["PONG", "0", "1", "0", "-1", "60", "1", "0"])

    def test_an_error_is_shown(self):
        output = self.cli("CL.THROTTLE", "cli", 4, 0, 60)
        self.assertIn("count", output)

    def test_pipe(self):
        """Mass insertion: redis-cli --pipe counts the replies and ends with an ECHO of its own."""
        output = self.cli("--pipe", stdin="".join(f"CL.THROTTLE pipe:{i} 0 1 60\r\n" for i in range(1000)))
        self.assertRegex(output, r"errors: 0, replies: 1000")

    def test_latency(self):
        """It runs until it is told to stop; a short raw run is enough."""
        result = run("timeout", 2, needs("redis-cli"), *self.where, "--raw", "--latency", "-i", "1")
        self.assertRegex(result.stdout, r"^\d+ \d+ [\d.]+ \d+")

    def test_info_and_client_list(self):
        self.assertIn("redis_version:", self.cli("INFO"))
        self.assertIn("id=", self.cli("CLIENT", "LIST"))


class RedisBenchmark(Case):
    def benchmark(self, *arguments):
        result = run("redis-benchmark", *self.where, "-q", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"requests per second")
        self.assertNotIn("Error", result.stdout + result.stderr)
        return result.stdout

    def test_ping(self):
        """Both forms: inline and as an array."""
        output = self.benchmark("-t", "ping", "-n", 20000)
        self.assertRegex(output, r"PING_INLINE: [\d.]+ requests")
        self.assertRegex(output, r"PING_MBULK: [\d.]+ requests")

    def test_throttle(self):
        self.benchmark("-n", 20000, "-c", 50, "CL.THROTTLE", "bench", 15, 30, 60)

    def test_random_keys_in_a_pipeline(self):
        self.benchmark("-n", 50000, "-P", 16, "-r", 100000, "CL.THROTTLE", "bench:__rand_int__", 15, 30, 60)
        self.benchmark("-n", 50000, "-P", 64, "--threads", 2, "-r", 100000, "METE.TAKE", "api", "b:__rand_int__")

    def test_every_unit_is_counted(self):
        """With one key and no refill worth speaking of, what was asked for is what was spent."""
        self.benchmark("-n", 3000, "-c", 10, "CL.THROTTLE", "counted", 9999, 1, 3600)
        with self.daemon.resp() as client:
            self.assertEqual(client("CL.THROTTLE", "counted", 9999, 1, 3600, 0)[2], 7000)


class Wrk(Case):
    def test_take(self):
        result = run("wrk", "-t1", "-c8", "-d1s", self.daemon.url("/v1/take?policy=api&key=wrk"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("Socket errors", result.stdout)
        requests = int(re.search(r"(\d+) requests in", result.stdout).group(1))
        denied = re.search(r"Non-2xx or 3xx responses: (\d+)", result.stdout)
        self.assertEqual(int(denied.group(1)), requests - 3, result.stdout)


if __name__ == "__main__":
    unittest.main()

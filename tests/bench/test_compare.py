# SPDX-License-Identifier: Apache-2.0
"""bench/serve/compare.py: what it concludes from samples, and one measurement for real."""

import argparse
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(os.environ["METE_SOURCE_DIR"]) / "bench/serve"))
import compare  # noqa: E402
import servers  # noqa: E402


def bench_of(samples, farm=None, **options):
    bench = compare.Bench(argparse.Namespace(**options), farm)
    bench.samples = samples
    return bench


def verdicts(samples):
    bench = bench_of(samples)
    bench.judge_all()
    return {what: (value, verdict) for what, value, _, _, _, verdict, _ in bench.verdicts}


class Judging(unittest.TestCase):
    def test_ratios_are_taken_within_a_round(self):
        # The machine was half as fast in the second round: the ratio of medians would be another.
        got = verdicts({"mete, pipeline 64": [3.1e6, 1.5e6, 3.2e6], "redis INCR, pipeline 64": [1e6, 0.5e6, 1e6]})
        self.assertEqual(got, {"CL.THROTTLE / redis INCR, pipeline 64": (3.1, "ok")})

    def test_bounds_at_the_bound_and_beside_it(self):
        for rate, verdict in ((1.1, "ok"), (1.099, "MISS")):
            got = verdicts({"mete, pipeline 1": [rate], "redis INCR, pipeline 1": [1.0]})
            self.assertEqual(got["CL.THROTTLE / redis INCR, pipeline 1"][1], verdict)
        for micros, verdict in ((100, "ok"), (101, "MISS")):
            got = verdicts({"mete, open loop, p99 us": [micros], "redis INCR, open loop, p99 us": [100]})
            self.assertEqual(got["CL.THROTTLE / redis INCR, p99 at half the peak"][1], verdict)

    def test_every_requirement_is_judged(self):
        rates = {f"{name}, pipeline {pipeline}": [1.0]
                 for name in ("mete", "echo", "redis INCR", "redis EVALSHA") for pipeline in (1, 16, 64)}
        waits = {f"{name}, open loop, {quantile} us": [1.0]
                 for name in ("mete", "redis INCR") for quantile in ("p99", "p99.9")}
        rest = {"mete, HTTP, wrk": [1.0], "nginx, HTTP, wrk": [1.0], "mete, memory, full, MiB": [1.0],
                "redis EVALSHA, memory, full, MiB": [1.0]}
        got = verdicts(rates | waits | rest)
        self.assertEqual(len(got), 11)
        for what, (_, verdict) in got.items():  # as fast as the opponent: enough beside echo, and for latencies
            self.assertEqual(verdict, "ok" if "echo" in what or "half the peak" in what else "MISS", what)

    def test_processor_time_gives_a_ratio_of_its_own(self):
        rates = {"mete, pipeline 1": [1.0], "redis INCR, pipeline 1": [1.0]}
        bench = bench_of(rates | {"mete, pipeline 1, server ns": [4000.0], "redis INCR, pipeline 1, server ns": [6000.0]})
        bench.judge_all()
        self.assertEqual(bench.verdicts[0][-2:], ("MISS", 1.5))

    def test_an_idle_server_is_told(self):
        bench = bench_of({"echo, pipeline 1": [100000.0], "echo, pipeline 1, server ns": [4000.0]})
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            bench.print()
        self.assertIn("note: echo, pipeline 1: the server used 40% of its processor", printed.getvalue())


class Measuring(unittest.TestCase):
    def test_the_echo_server(self):
        cpu = min(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as folder, \
                servers.Farm(os.environ["METE_BUILD_DIR"], folder, cpu) as farm:
            bench = bench_of({}, farm, seconds=0.2, client_cpu=max(os.sched_getaffinity(0)))
            echo = farm.echo()
            bench.resp_rate("echo", echo, servers.THROTTLE, 16)
            self.assertGreater(echo.rss_mib(), 0.1)
            pid = echo.process.pid
        self.assertGreater(bench.samples["echo, pipeline 16"][0], 1000)
        self.assertGreater(bench.samples["echo, pipeline 16, server ns"][0], 1)
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_a_server_that_does_not_start_is_told(self):
        with tempfile.TemporaryDirectory() as folder, servers.Farm("/nowhere", folder, 0) as farm:
            with self.assertRaisesRegex(servers.Failure, "echo does not answer.*mete_echo"):
                farm.echo()


if __name__ == "__main__":
    unittest.main()

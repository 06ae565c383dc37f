#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `mete serve` side by side with redis-server, nginx and a bare echo server.

Every server has one processor and the client the other; the rounds of all servers alternate, and a ratio
is taken within a round.  "by cpu" is the same ratio by the processor time that the servers used per request: what the
rates would be if nobody else took processor time, here or from the client.  redis-cell is not compared: Debian has no package of it."""

import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

from servers import HERE, KEY, THROTTLE, Failure, Farm, bucket_template, need

PIPELINES = (1, 16, 64)
KEYS = 1000000
CONNECTIONS = 50
TARGET = "/v1/take?policy=example&key=%k"
SATURATED = 0.9  # of its processor; below that a rate says little about the server

# (measured, against, pipeline, at least)
RATES = [
    ("mete", "redis INCR", 64, 3.0),
    ("mete", "redis EVALSHA", 64, 25.0),
    ("mete", "echo", 64, 0.3),
    ("mete", "redis INCR", 16, 2.0),
    ("mete", "echo", 16, 0.65),
    ("mete", "redis INCR", 1, 1.1),
    ("mete", "echo", 1, 0.88),
]


class Bench:
    """One run: its settings, and what was measured: samples[name] is a list with a value per round."""

    def __init__(self, options, farm):
        self.options, self.farm = options, farm
        self.samples = {}
        self.verdicts = []

    def note(self, name, value):
        self.samples.setdefault(name, []).append(value)

    def median(self, name):
        return statistics.median(self.samples[name])

    def load(self, address, *arguments):
        command = [need("taskset"), "-c", str(self.options.client_cpu), str(self.farm.build / "bench/mete_load"),
                   "--connect", address, "--json", "--keys", str(KEYS), "--connections", str(CONNECTIONS), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def timed(self):
        return ["--seconds", str(self.options.seconds), "--warmup", "0.3"]

    def resp_rate(self, name, server, template, pipeline):
        before = server.cpu_ns()
        got = self.load(server.address, "--resp", template, "--pipeline", str(pipeline), *self.timed())
        replies = got["ok"] + got["denied"] + got["errors"]
        if replies == 0:
            raise Failure(f"{name}, pipeline {pipeline}: not one reply in {self.options.seconds} s")
        label = f"{name}, pipeline {pipeline}"
        self.note(label, got["requests_per_s"])
        self.note(label + ", server ns", (server.cpu_ns() - before) / replies)
        self.note(label + ", client ns", got["client_ns_per_request"])

    def resp(self, cases):
        for name, server, template in cases:
            progress(f"{name}: all keys once")
            self.load(server.address, "--resp", template, "--pipeline", "64", "--requests", str(KEYS))
        for number in range(self.options.rounds):
            for pipeline in PIPELINES:
                for name, server, template in cases:
                    progress(f"round {number + 1}: {name}, pipeline {pipeline}")
                    self.resp_rate(name, server, template, pipeline)

    def open_loop(self, cases):
        """At half of each server's own peak, requests one by one."""
        for number in range(self.options.rounds):
            for name, server, template in cases:
                progress(f"round {number + 1}: {name}, open loop")
                rate = self.median(f"{name}, pipeline 1") / 2
                got = self.load(server.address, "--resp", template, "--rate", f"{rate:.0f}", *self.timed())
                for quantile in ("p50", "p99", "p99.9", "max"):
                    self.note(f"{name}, open loop, {quantile} us", got["latency_us"][quantile])
                self.note(f"{name}, open loop, lost", got["lost"])

    def http(self, servers):
        for number in range(self.options.rounds):
            for server in servers:
                progress(f"round {number + 1}: {server.name}, HTTP")
                self.wrk(server)
                got = self.load(server.http, "--http", TARGET, *self.timed())
                self.note(f"{server.name}, HTTP, mete_load", got["requests_per_s"])

    def wrk(self, server):
        before, used = server.cpu_ns(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [need("taskset"), "-c", str(self.options.client_cpu), need("wrk"), "-t1", f"-c{CONNECTIONS}",
                   f"-d{max(1, round(self.options.seconds))}s", "-s", str(HERE / "keys.lua"), f"http://{server.http}/"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
        total = re.search(r"(\d+) requests in", done.stdout)
        if done.returncode != 0 or found is None or "Socket errors" in done.stdout:
            raise Failure(f"wrk on {server.name}: {done.stdout} {done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        client_s = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        label = f"{server.name}, HTTP, wrk"
        self.note(label, float(found.group(1)))
        self.note(label + ", server ns", (server.cpu_ns() - before) / int(total.group(1)))
        self.note(label + ", client ns", client_s * 1e9 / int(total.group(1)))

    def memory(self):
        for name, start in (("redis EVALSHA", lambda: self.farm.redis("memory")), ("mete", self.farm.mete)):
            progress(f"{name}, memory of {KEYS} keys")
            server = start()
            # A unit in 1,000 s: no key is forgotten before all are there.
            template = f"CL.THROTTLE {KEY} 15 1 1000" if name == "mete" else bucket_template(server, "0.001")
            empty = server.rss_mib()
            self.load(server.address, "--resp", template, "--pipeline", "64", "--requests", str(KEYS))
            self.note(f"{name}, memory, empty, MiB", empty)
            self.note(f"{name}, memory, full, MiB", server.rss_mib())
            if name != "mete" and server.ask("DBSIZE") != f":{KEYS}":
                raise Failure(f"redis-server holds {server.ask('DBSIZE')} keys and not {KEYS}")
            self.farm.stop(server)

    # --- what is told ---

    def judge(self, what, values, least=None, most=None, by_cpu=None):
        value = statistics.median(values)
        is_ok = value >= least if least is not None else value <= most
        bound = f">= {least:g}" if least is not None else f"<= {most:g}"
        self.verdicts.append((what, value, min(values), max(values), bound, "ok" if is_ok else "MISS",
                              statistics.median(by_cpu) if by_cpu else None))

    def ratios(self, above, below):
        if above not in self.samples or below not in self.samples:
            return None
        return [a / b for a, b in zip(self.samples[above], self.samples[below])]

    def judge_rate(self, what, measured, against, least):
        values = self.ratios(measured, against)
        if values:
            self.judge(what, values, least=least, by_cpu=self.ratios(against + ", server ns", measured + ", server ns"))

    def judge_all(self):
        for measured, against, pipeline, least in RATES:
            self.judge_rate(f"CL.THROTTLE / {against}, pipeline {pipeline}", f"{measured}, pipeline {pipeline}",
                            f"{against}, pipeline {pipeline}", least)
        for quantile in ("p99", "p99.9"):
            values = self.ratios(f"mete, open loop, {quantile} us", f"redis INCR, open loop, {quantile} us")
            if values:
                self.judge(f"CL.THROTTLE / redis INCR, {quantile} at half the peak", values, most=1)
        self.judge_rate("/v1/take / nginx limit_req, wrk", "mete, HTTP, wrk", "nginx, HTTP, wrk", 1.1)
        values = self.ratios("mete, memory, full, MiB", "redis EVALSHA, memory, full, MiB")
        if values:
            self.judge("memory of a million keys / redis EVALSHA", values, most=1 / 6)

    def print(self):
        print(f"\n{'measured':<42} {'median':>12} {'min .. max':>26}")
        for name, values in self.samples.items():
            digits = 0 if statistics.median(values) >= 1000 else 1
            spread = f"{min(values):,.{digits}f} .. {max(values):,.{digits}f}"
            print(f"{name:<42} {statistics.median(values):>12,.{digits}f} {spread:>26}")
        print(f"\n{'required':<50} {'median':>7} {'min .. max':>16}  {'must be':<11} {'':<4}  by cpu")
        for what, value, low, high, bound, verdict, by_cpu in self.verdicts:
            cpu = f"{by_cpu:.3f}" if by_cpu is not None else ""
            print(f"{what:<50} {value:>7.3f} {f'{low:.3f} .. {high:.3f}':>16}  {bound:<11} {verdict:<4}  {cpu}".rstrip())
        self.print_doubts()

    def print_doubts(self):
        """A server that was not busy was not measured: the client or the machine was."""
        for name, values in list(self.samples.items()):
            busy = name + ", server ns"
            if busy in self.samples and self.median(busy) * statistics.median(values) / 1e9 < SATURATED:
                share = self.median(busy) * statistics.median(values) / 1e9
                print(f"note: {name}: the server used {share:.0%} of its processor")


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(bench):
    farm, parts = bench.farm, bench.options.only
    if "resp" in parts or "open" in parts:
        incr, script = farm.redis("incr"), farm.redis("evalsha")
        cases = [
            ("echo", farm.echo(), THROTTLE),
            ("redis INCR", incr, f"INCR {KEY}"),
            ("redis EVALSHA", script, bucket_template(script)),
            ("mete", farm.mete(), THROTTLE),
        ]
        bench.resp(cases)
        if "open" in parts:
            bench.open_loop([case for case in cases if case[0] in ("redis INCR", "mete")])
    if "http" in parts:
        bench.http([farm.nginx(), farm.mete()])
    if "memory" in parts:
        bench.memory()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=HERE.parents[1] / "build/release", help="folder with mete and bench/")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of one measurement")
    parser.add_argument("--only", default="resp,open,http,memory", help="parts, separated by commas")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--client-cpu", type=int, default=1)
    parser.add_argument("--json", help="file for all samples")
    options = parser.parse_args()
    options.only = options.only.split(",")
    unknown = set(options.only) - {"resp", "open", "http", "memory"}
    if unknown:
        parser.error(f"--only: no such part: {', '.join(sorted(unknown))}")
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds and --seconds must be above 0")
    return options


def main():
    options = arguments()
    if not {options.server_cpu, options.client_cpu} <= os.sched_getaffinity(0) or \
            options.server_cpu == options.client_cpu:
        raise Failure("two processors are needed: --server-cpu and --client-cpu")
    with tempfile.TemporaryDirectory(prefix="mete-bench-") as folder:
        os.chmod(folder, 0o755)  # nginx's worker may be another user
        with Farm(options.build, folder, options.server_cpu) as farm:
            bench = Bench(options, farm)
            measure(bench)
    progress("")
    bench.judge_all()
    bench.print()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(bench.samples, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"compare.py: {failure}")

# SPDX-License-Identifier: Apache-2.0
"""mete stress: exactly the burst passes, with threads, processes and both.

METE_TEST_SCALE multiplies the time of each run; 10 is the full acceptance test
(10 s and 400 rounds or more each).
"""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

METE = os.environ["METE_BIN"]
# The thread sanitizer replaces 16-byte swaps by a lock inside one process, so
# that processes over one file are not safe in such a build (and only there).
ONE_PROCESS = "thread" in os.environ.get("METE_SANITIZE", "")
one_store_for_all = unittest.skipIf(ONE_PROCESS, "the thread sanitizer's 16-byte swap does not work between processes")
SCALE = int(os.environ.get("METE_TEST_SCALE", "1"))
SECONDS = SCALE
ROUNDS = max(100, 40 * SCALE)


def stress(*arguments, **options):
    command = [METE, "stress", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **options)


class ExactBurst(unittest.TestCase):
    def check(self, *arguments, burst=1000, callers=8, **options):
        run = stress("--json", "--seconds", SECONDS, "--rounds", ROUNDS, "--burst", burst, "--callers", callers,
                     *arguments, **options)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        report = json.loads(run.stdout)
        self.assertTrue(report["passed"])
        self.assertIsNone(report["first_deviation"])
        self.assertGreaterEqual(report["conclusive"], ROUNDS)
        self.assertEqual(report["exact"], report["conclusive"])
        self.assertEqual(report["rounds"], report["conclusive"] + report["inconclusive"])
        self.assertEqual((report["burst"], report["callers"]), (burst, callers))
        self.assertGreaterEqual(report["elapsed_ns"], SECONDS * 10**9)
        # Every caller asks until it is denied once: the burst passes and each is
        # denied.  (In an inconclusive round a unit more may have passed.)
        if report["inconclusive"] == 0:
            self.assertEqual(report["decisions"], report["rounds"] * (burst + callers))
        return report

    def test_threads(self):
        self.assertEqual(self.check()["mode"], "threads")

    @one_store_for_all
    def test_processes(self):
        self.assertEqual(self.check("--mode", "processes")["mode"], "processes")

    @one_store_for_all
    def test_mixed(self):
        self.assertEqual(self.check("--mode", "mixed")["mode"], "mixed")

    def test_64_callers_and_burst_1(self):
        self.check(burst=1, callers=64)

    def test_64_callers(self):
        self.check(callers=64)

    @one_store_for_all
    def test_64_processes_and_burst_1(self):
        self.check("--mode", "processes", burst=1, callers=64)

    def test_one_caller(self):
        self.check(callers=1)


class EveryAlgorithm(unittest.TestCase):
    def test_exact_with_each(self):
        for mode in ("threads",) if ONE_PROCESS else ("threads", "mixed"):
            for algorithm in "leaky_bucket", "fixed_window", "sliding_window", "sliding_log":
                with self.subTest(algorithm=algorithm, mode=mode):
                    run = stress("--json", "--seconds", 0, "--rounds", 100, "--algorithm", algorithm, "--mode", mode)
                    self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                    report = json.loads(run.stdout)
                    self.assertGreaterEqual(report["exact"], 100)
                    self.assertTrue(report["limit"].startswith(algorithm), report["limit"])

    def test_a_window_keeps_the_rate(self):
        run = stress("--json", "--seconds", 0, "--algorithm", "sliding_window", "--burst", 50, "--rate", "10/s")
        self.assertEqual(json.loads(run.stdout)["limit"], "sliding_window 50/5s")


class Stores(unittest.TestCase):
    @one_store_for_all
    def test_a_temporary_file_is_removed(self):
        for algorithm in "token_bucket", "sliding_log":
            with tempfile.TemporaryDirectory() as folder:
                environment = dict(os.environ, TMPDIR=folder)
                run = stress("--mode", "mixed", "--seconds", 0, "--algorithm", algorithm, env=environment)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                self.assertEqual(os.listdir(folder), [])

    @one_store_for_all
    def test_a_named_file_is_kept_and_used_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "store")
            for mode in "processes", "threads":
                run = stress("--mode", mode, "--store", path, "--seconds", 0)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                self.assertTrue(os.path.exists(path))

    def test_an_interrupt_cleans_up(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([METE, "stress", "--mode", "processes", "--seconds", "60"],
                                       env=dict(os.environ, TMPDIR=folder), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            # The folder is made first; the signal may come at any time after.
            while not os.listdir(folder):
                time.sleep(0.01)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 3)
            self.assertIn("interrupted", errors)
            self.assertEqual(os.listdir(folder), [])

    def test_a_killed_worker_ends_the_run(self):
        process = subprocess.Popen([METE, "stress", "--mode", "processes", "--seconds", "60"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        children = []
        while len(children) < 8:
            time.sleep(0.05)
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                children = [int(child) for child in file.read().split()]
        os.kill(children[3], signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3)
        self.assertIn("worker process ended", errors)


class Errors(unittest.TestCase):
    def refused(self, status, word, *arguments):
        run = stress(*arguments)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        self.assertIn(word, run.stderr)
        self.assertEqual(run.stdout, "")

    def test_usage(self):
        self.refused(2, "--mode", "--mode", "fibers")
        self.refused(2, "--store", "--mode", "processes", "--store", "memory")
        self.refused(2, "--callers", "--callers", "0")
        self.refused(2, "--callers", "--callers", "1025")
        self.refused(2, "--burst", "--burst", "0")
        self.refused(2, "--rounds: 99 is outside 100..", "--rounds", "99")
        self.refused(2, "--rate", "--rate", "1/fortnight")
        self.refused(2, "--rate", "--rate", "0/s")
        self.refused(2, "--rate", "--algorithm", "fixed_window", "--rate", "1/month calendar")
        self.refused(2, "--algorithm", "--algorithm", "hope")
        self.refused(2, "--burst", "--algorithm", "sliding_log", "--burst", "1048576")
        self.refused(2, "--hurry", "--hurry")

    def test_missing_folder(self):
        self.refused(3, "/nowhere/at/all", "--store", "/nowhere/at/all/store")

    def test_too_fast_a_rate_is_not_a_pass(self):
        run = stress("--rate", "1000000000/s", "--seconds", 0, "--burst", 5, "--callers", 2)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("0 conclusive rounds", run.stderr)

    def test_text_report(self):
        run = stress("--seconds", 0, "--burst", 7)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("first deviation  none", run.stdout)
        self.assertIn("exactly 7", run.stdout)


if __name__ == "__main__":
    unittest.main()

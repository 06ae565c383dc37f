# SPDX-License-Identifier: Apache-2.0
"""mete bench: that it measures what it says and judges as it says.  How fast
mete is, is not tested here: other programs run at the same time."""
import json
import os
import subprocess
import tempfile
import unittest

METE = os.environ["METE_BIN"]


def bench(*arguments, **options):
    command = [METE, "bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = bench("--quick", "--runs", 3, "--keys", "2000,5000", "--json")
        cls.report = json.loads(cls.run_.stdout)
        cls.series = {series["name"]: series for series in cls.report["series"]}

    def test_exit_status_is_0_also_for_misses(self):
        self.assertEqual(self.run_.returncode, 0, self.run_.stderr)

    def test_everything_was_measured(self):
        names = " | ".join(check["name"] for check in self.report["checks"])
        for row in ("hot key, admitted / (clock + hash + swap)", "hot key, denied / (clock + hash + swap)",
                    "hot key, admitted / opponent", "hot key, denied / opponent", "mete_take - mete_allow, admitted",
                    "mete_take - mete_allow, denied", "2000 keys, single", "5000 keys, single",
                    "2000 keys, batches of 16", "5000 keys, batches of 32", "5000 keys, batches of 64"):
            self.assertIn(row, names)
        if len(os.sched_getaffinity(0)) >= 2:
            self.assertIn("throughput of 2 threads / 1", names)
            self.assertIn("admitted, 2 threads / opponent", names)

    def test_samples_are_plausible(self):
        for series in self.report["series"]:
            self.assertLessEqual(series["min"], series["median"])
            self.assertLessEqual(series["median"], series["max"])
            # No processor reads a clock in a tenth of a nanosecond: less was never run.
            self.assertGreater(series["median"], 0.1, series["name"])
        parts = [series for name, series in self.series.items() if name.startswith(("clock (", "hash of", "16-byte"))]
        floor = self.series["clock + hash + swap"]
        self.assertGreaterEqual(floor["max"], sum(part["min"] for part in parts) * 0.999)
        self.assertLessEqual(floor["min"], sum(part["max"] for part in parts) * 1.001)

    def test_checks_judge_their_series(self):
        for check in self.report["checks"]:
            bound = check.get("at_most", check.get("at_least"))
            met = check["median"] <= bound if "at_most" in check else check["median"] >= bound
            self.assertEqual(check["ok"], met, check)
            measured, reference = self.series[check["measured"]], self.series[check["reference"]]
            if "mete_take -" in check["name"]:
                low, high = measured["min"] - reference["max"], measured["max"] - reference["min"]
            else:
                low, high = measured["min"] / reference["max"], measured["max"] / reference["min"]
            slack = 1e-4 * (abs(low) + abs(high) + 1)
            self.assertTrue(low - slack <= check["median"] <= high + slack, check)
        self.assertEqual(self.report["misses"], sum(not check["ok"] for check in self.report["checks"]))

    def test_says_where(self):
        self.assertIn("CPUs", self.report["machine"])
        self.assertTrue(self.report["clock"])
        self.assertEqual(self.report["runs"], 3)


class Options(unittest.TestCase):
    def test_only(self):
        report = json.loads(bench("--quick", "--runs", 1, "--only", "keys", "--keys", 1000, "--json").stdout)
        self.assertTrue(report["series"])
        for series in report["series"]:
            self.assertTrue(series["name"].startswith("1000 keys"), series["name"])

    def test_with_one_run_a_ratio_is_the_quotient(self):
        report = json.loads(bench("--quick", "--runs", 1, "--only", "keys", "--keys", 1000, "--json").stdout)
        series = {series["name"]: series["median"] for series in report["series"]}
        for check in report["checks"]:
            ratio = series[check["measured"]] / series[check["reference"]]
            self.assertAlmostEqual(check["median"], ratio, delta=1e-4 * ratio)

    def test_table_and_check(self):
        run = bench("--quick", "--runs", 1, "--keys", 1000, "--only", "hot", "--check")
        misses = run.stdout.count(" MISS\n")
        self.assertEqual(run.returncode, 1 if misses else 0, run.stdout + run.stderr)
        self.assertEqual(misses + run.stdout.count(" ok\n"), 9 if len(os.sched_getaffinity(0)) >= 2 else 7)
        self.assertIn("machine  ", run.stdout)
        self.assertIn("clock    ", run.stdout)

    def test_usage(self):
        for *arguments, word in (("--keys", "999", "--keys"), ("--keys", "1000,", "--keys"),
                                 ("--keys", "1000;2000", "--keys"), ("--keys", "1000,1001,1002,1003,1004", "--keys"),
                                 ("--runs", "0", "--runs"), ("--runs", "100", "--runs"),
                                 ("--only", "luck", "--only"), ("--only", "replay", "--replay"),
                                 ("--fast", "--fast")):
            run = bench(*arguments)
            self.assertEqual(run.returncode, 2, (arguments, run.stdout))
            self.assertIn(word, run.stderr)


class Replay(unittest.TestCase):
    def test_a_log_made_from_a_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            sample = os.path.join(folder, "sample.log")
            with open(sample, "w", encoding="ascii") as file:
                for i in range(200):
                    file.write(f'192.0.2.{i % 50} - - [{28 + i // 100}/Feb/2024:10:{i % 60:02}:00 +0000] '
                               f'"GET /{i} HTTP/1.1" 200 123 "-" "test"\n')
            before = sorted(os.listdir(folder))
            run = bench("--only", "replay", "--runs", 1, "--replay", sample, "--replay-bytes", 2000000, "--json",
                        env=dict(os.environ, TMPDIR=folder))
            self.assertEqual(run.returncode, 0, run.stderr)
            names = [check["name"] for check in json.loads(run.stdout)["checks"]]
            self.assertEqual(names, ["replay of a combined log (MB/s)",
                                     "replay, peak memory, long log / a tenth of it"])
            self.assertEqual(sorted(os.listdir(folder)), before)

    def test_a_sample_that_is_too_short(self):
        with tempfile.TemporaryDirectory() as folder:
            sample = os.path.join(folder, "short.log")
            with open(sample, "w", encoding="ascii") as file:
                file.write('192.0.2.1 - - [28/Feb/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 123 "-" "test"\n')
            run = bench("--only", "replay", "--replay", sample)
            self.assertEqual(run.returncode, 3, run.stdout)
            self.assertIn("too short", run.stderr)

    def test_a_sample_that_is_missing_or_cut_off(self):
        with tempfile.TemporaryDirectory() as folder:
            sample = os.path.join(folder, "cut.log")
            with open(sample, "w", encoding="ascii") as file:
                file.write("192.0.2.1 - - [28/Feb/2024:10:00:00 +0000] \"GET / HT")
            for path in sample, sample + ".none":
                run = bench("--only", "replay", "--replay", path)
                self.assertEqual(run.returncode, 3, run.stdout)
                self.assertIn("sample", run.stderr)


if __name__ == "__main__":
    unittest.main()

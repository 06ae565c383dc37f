# SPDX-License-Identifier: Apache-2.0
"""`mete replay` against the independent reader and model beside this file.

Real logs are looked for in $METE_SHARED/data, or in ../shared/data beside the
checkout, and are announced when absent.  The project's sample and the logs made
by synthetic.py are always decided.  Every total must be equal.
METE_TEST_SCALE multiplies the number of random limits.  METE_TEST_SEED repeats a run.
"""

import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

import model
import reader
import synthetic

NS = 10**9
TOTAL_MAX = 2**63 - 1  # the largest whole number the JSON output holds: only units can come to more
HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("METE_SOURCE_DIR", HERE.parent.parent))
SHARED = pathlib.Path(os.environ.get("METE_SHARED") or SOURCE.parent / "shared") / "data"
SCALE = int(os.environ.get("METE_TEST_SCALE", "1"))
SEED = int(os.environ.get("METE_TEST_SEED", random.SystemRandom().randrange(2**32)))

UNIT_LIMITS = (
    "1/s burst 5", "10/1m", "100/1h burst 20", "7/1m burst 3", "gcra 1000000000/s", "token_bucket 1/d",
    "leaky_bucket 2/s burst 4", "leaky_bucket 30/1m", "leaky_bucket 11/7s burst 2",
    "fixed_window 5/1s", "fixed_window 20/1m", "fixed_window 1000000/1d",
    "fixed_window 1/10s anchored", "fixed_window 7/10s anchored", "fixed_window 100/1h anchored",
    "fixed_window 30/day calendar", "fixed_window 100/day calendar zone Europe/Berlin",
    "fixed_window 10/day calendar zone Asia/Kathmandu", "fixed_window 200/week calendar zone America/New_York",
    "fixed_window 50/month calendar zone Pacific/Auckland", "fixed_window 300/year calendar",
    "sliding_window 3/1s", "sliding_window 10/1m", "sliding_window 60/1h", "sliding_window 7/11s",
    "sliding_log 1/1s", "sliding_log 5/1m", "sliding_log 1000/1h",
)
COST_LIMITS = (
    "7000/1s burst 9000", "100000/1m burst 20000", "4096/1s burst 4096", "50/s", "token_bucket 999999/1h",
    "leaky_bucket 5000/1s burst 14000", "leaky_bucket 1234567/7m",
    "fixed_window 10000/1s", "fixed_window 200000/1m", "fixed_window 123456/1m anchored",
    "fixed_window 7000000/day calendar zone America/Sao_Paulo",
    "sliding_window 20000/1s", "sliding_window 250000/1m", "sliding_window 2000000/1h",
    "sliding_log 9000/1s", "sliding_log 100000/1m", "sliding_log 1000000/1h",
)
EDGE_LIMITS = (
    "300/1s", "301/1s burst 600", "1/s burst 300", "leaky_bucket 7/13s burst 350", "fixed_window 303/4s",
    "fixed_window 1000/3s anchored", "fixed_window 1000/10s anchored", "fixed_window 600/1s anchored",
    "fixed_window 2/5s anchored", "fixed_window 1000/day calendar zone Europe/Berlin",
    "sliding_window 400/5s", "sliding_window 1000/7s", "sliding_log 400/5s", "sliding_log 1000/7s",
)
REAL_LOGS = (  # name, fields, lines, requests, keys, most requests of a key, limits; the counts are the publisher's
    ("elastic_apache_combined.log.gz", {}, 10000, 10000, 1753, 482, UNIT_LIMITS),
    ("erddap_nginx_combined_broken.log.gz", {}, 16275, 10479, 917, 4650, UNIT_LIMITS),
    ("nasa_19950801.tsv.gz", {"key": "host", "time": "time"}, 30969, 30969, 2365, 364, UNIT_LIMITS),
    ("azure_llm_2023_conv.csv.gz", {"key": "-", "time": "TIMESTAMP", "cost": "ContextTokens"},
     19366, 19366, 1, 19366, COST_LIMITS),
    ("azure_llm_2023_conv.csv.gz", {"key": "-", "time": "TIMESTAMP", "cost": "GeneratedTokens"},
     19366, 19366, 1, 19366, COST_LIMITS),
)


def run_mete(arguments, stdin=None):
    """The JSON object that mete replay prints."""
    command = [os.environ["METE_BIN"], "replay", "--json", *map(str, arguments)]
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def field_arguments(fields):
    return [word for name, value in fields.items() for word in ("--" + name, value)]


class ReplayCase(unittest.TestCase):
    def compare(self, files, fields, limits, stdin=None):
        """Decides the files both ways; stdin, when given, is what the one file holds."""
        read = [list(reader.read(path, **fields)) for path in files]
        entries = [entry for part in read for entry in part]
        names = [str(path) for path in files] if stdin is None else ["-"]
        for limit in limits:
            with self.subTest(files=[os.path.basename(f) for f in files], fields=fields, limit=limit, seed=SEED):
                expected = model.Replay(limit).feed(entries)
                got = run_mete([*names, "--limit", limit, *field_arguments(fields)], stdin)
                totals = {name: min(total, TOTAL_MAX) for name, total in expected.totals().items()}
                self.assertEqual({name: got.get(name) for name in totals}, totals)
                self.check_whole(got, expected)
                self.check_lines(got)
                self.check_worst(got, expected)
                self.check_skipped(got, list(zip(names, read)))
        return entries

    def check_whole(self, got, expected):
        """Nothing was forgotten, and the span is that of the requests alone."""
        self.assertEqual((got["keys_complete"], got["keys_evicted"], got["requests_of_other_keys"]), (True, 0, 0))
        span = got["span"] or {}
        self.assertEqual((span.get("first_ns"), span.get("last_ns")), (expected.first_ns, expected.last_ns))

    def check_lines(self, got):
        """Every line is a request, skipped, empty or a header; only quoted rows take several."""
        for file in got["files"]:
            told = file["requests"] + file["skipped"] + file["empty"] + (file["format"] in ("csv", "tsv"))
            if file["format"] == "csv":
                self.assertLessEqual(told, file["lines"])
            else:
                self.assertEqual(told, file["lines"])
        self.assertEqual(sum(file["empty"] for file in got["files"]), got["empty_lines"])

    def check_skipped(self, got, files):
        """The reasons add up, and the lines they name are lines that were skipped."""
        reasons = got["skipped_reasons"].values()
        self.assertEqual(sum(reason["count"] for reason in reasons), got["skipped"])
        named = {(line["file"], line["line"]) for reason in reasons for line in reason["first"]}
        skipped = [(name, entry[0]) for name, entries in files for entry in entries if len(entry) == 2]
        self.assertEqual(named - set(skipped), set())
        self.assertEqual(set(skipped[:1]) - named, set())

    def check_worst(self, got, expected):
        """The worst keys: those denied most, each with its own counts."""
        worst = got["worst"]
        most = sorted(expected.denied_of.values(), reverse=True)
        self.assertEqual([row["denied"] for row in worst], most[:len(worst)])
        self.assertEqual(bool(worst), bool(most))
        for row in worst:
            key = row["key"].encode("utf-8", "surrogateescape")
            self.assertEqual(row["denied"], expected.denied_of[key], row)
            self.assertEqual(row["requests"], expected.requests_of[key], row)


class RealLogs(ReplayCase):
    def test_real_logs(self):
        absent = [name for name, *_ in REAL_LOGS if not (SHARED / name).exists()]
        if absent:
            print(f"replay: the real logs are absent ({SHARED}): {sorted(set(absent))}; "
                  "only the sample and the synthetic logs are decided", flush=True)
        for name, fields, lines, requests, keys, busiest, limits in REAL_LOGS:
            if name not in absent:
                entries = self.compare([SHARED / name], fields, limits)
                found = model.Replay("1/s").feed(entries)
                self.assertEqual((len(entries), found.requests, len(found.states), max(found.requests_of.values())),
                                 (lines, requests, keys, busiest), name)

    def test_sample(self):
        sample = SOURCE / "examples" / "sample.log"
        entries = self.compare([sample], {}, UNIT_LIMITS)
        self.assertGreater(len(entries), 0)


class SyntheticLogs(ReplayCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.random = random.Random(SEED)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def file(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def test_log_plain_gzip_and_standard_input(self):
        content = synthetic.access_log(self.random, 3000, 200)
        plain = self.file("access.log", content)
        entries = self.compare([plain], {}, UNIT_LIMITS)
        self.assertGreater(sum(len(entry) == 2 for entry in entries), 20)
        middle = len(content) // 3
        packed = gzip.compress(content[:middle]) + gzip.compress(content[middle:])
        for stdin in (content, packed):
            self.compare([plain], {}, ("5/1m", "sliding_log 3/10s"), stdin)
        self.compare([self.file("access.log.gz", packed)], {}, ("5/1m", "sliding_log 3/10s"))

    def test_log_that_begins_broken(self):
        for broken in synthetic.BROKEN_LOG_LINES[:3]:
            content = broken + b"\n" + synthetic.access_log(self.random, 20, 5)
            self.compare([self.file("broken.log", content)], {}, ("2/1m",))

    def test_one_key_for_all(self):
        path = self.file("one.log", synthetic.access_log(self.random, 500, 50))
        self.compare([path], {"key": "-"}, ("1/1s burst 20", "fixed_window 30/1m", "sliding_log 9/5s"))

    def test_several_files_in_order(self):
        first = self.file("first.log", synthetic.access_log(self.random, 300, 20))
        second = self.file("second.log.gz", gzip.compress(synthetic.access_log(self.random, 300, 20)))
        self.compare([first, second], {}, ("10/1h", "sliding_window 20/1h"))
        self.compare([second, first], {}, ("10/1h", "sliding_window 20/1h"))

    def test_empty_files(self):
        for content in (b"", b"\n", b"\r\n\n", gzip.compress(b"")):
            self.compare([self.file("empty.log", content)], {}, ("1/s",))

    def test_many_keys_with_time_going_back(self):
        """A key that has decayed must be remembered when an older request of it follows."""
        path = self.file("many.log", synthetic.access_log(self.random, 12000, 9000))
        self.compare([path], {}, ("2/10s", "fixed_window 2/1m", "sliding_window 2/30s", "sliding_log 2/30s",
                                  "fixed_window 2/1m anchored"))

    def test_csv(self):
        path = self.file("rows.csv", synthetic.csv_rows(self.random, 2000))
        self.compare([path], {"key": "client, or name", "time": "when", "cost": "units"}, UNIT_LIMITS)
        self.compare([path], {"key": "-", "time": "when", "cost": "units"}, ("40/s burst 100",))

    def test_tsv(self):
        path = self.file("rows.tsv", synthetic.tsv_rows(self.random, 2000))
        self.compare([path], {"key": "client", "time": "when", "cost": "units"}, UNIT_LIMITS)

    def test_json_lines(self):
        path = self.file("rows.jsonl", synthetic.json_lines(self.random, 2000))
        self.compare([path], {"key": "key", "time": "when", "cost": "units"}, UNIT_LIMITS)

    def test_within_nanoseconds_of_an_edge(self):
        path = self.file("edges.csv", synthetic.edge_rows(self.random, 4000))
        self.compare([path], {"key": "client", "time": "when", "cost": "units"}, EDGE_LIMITS)

    def test_random_limits(self):
        path = self.file("random.jsonl", synthetic.json_lines(self.random, 1000))
        limits = [self.random_limit() for _ in range(60 * SCALE)]
        self.compare([path], {"key": "key", "time": "when", "cost": "units"}, limits)

    def random_limit(self):
        count = self.random.choice((1, 2, 3, 7, 10, 97, self.random.randint(1, 1000)))
        period = self.random.choice(("s", "10s", "1m", "7m", "h", f"{self.random.randint(10**6, 10**12)}ns"))
        kind = self.random.choice(("", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"))
        end = ""
        if kind in ("", "leaky_bucket") and self.random.random() < 0.5:
            end = f" burst {self.random.randint(1, 200)}"
        elif kind == "fixed_window" and self.random.random() < 0.5:
            end = " anchored"
        return f"{kind} {count}/{period}{end}".strip()


class TheReaderItself(unittest.TestCase):
    def entries(self, content):
        with tempfile.NamedTemporaryFile() as f:
            f.write(content)
            f.flush()
            return list(reader.read(f.name))

    def test_broken_lines_are_skipped_each_with_its_number(self):
        entries = self.entries(b"\n".join(synthetic.BROKEN_LOG_LINES))
        self.assertEqual([entry[0] for entry in entries], list(range(1, len(synthetic.BROKEN_LOG_LINES) + 1)))
        self.assertEqual([entry for entry in entries if len(entry) != 2], [])

    def test_odd_lines_are_requests(self):
        entries = self.entries(b"\r\n\n".join(synthetic.ODD_LOG_LINES))
        self.assertEqual([entry[0] for entry in entries], list(range(1, 2 * len(synthetic.ODD_LOG_LINES), 2)))
        self.assertEqual([entry for entry in entries if len(entry) != 4], [])
        self.assertEqual({entry[2] for entry in entries},
                         {0, (synthetic.START + 1) * NS, (synthetic.START + 2) * NS, reader.TIME_MAX_NS})

    def test_times_are_exact(self):
        for text, time_ns in (("1700000000.123456789", 1700000000123456789), ("4102444800", reader.TIME_MAX_NS),
                              ("2023-11-16 18:15:46.6805900", 1700158546680590000),
                              ("2023-11-16T18:15:46.680590001Z", 1700158546680590001),
                              ("2023-11-16T20:15:46+02:00", 1700158546000000000)):
            self.assertEqual(reader.field_time(text), time_ns)


class TheModelItself(unittest.TestCase):
    """Known answers, worked out by hand, and the buckets against plain fractions."""

    def verdicts(self, limit, requests):
        state = model.make(model.parse_limit(limit))
        return "".join("01"[state.take(int(t * NS), n)] for t, n in requests)

    def test_bucket(self):
        self.assertEqual(self.verdicts("1/s burst 2", [(5, 1), (5, 1), (5, 1), (5.9, 1), (6, 1), (4, 1), (7, 1)]),
                         "1100101")
        self.assertEqual(self.verdicts("leaky_bucket 1/s burst 2", [(5, 3), (5, 2), (5, 0), (7, 2)]), "0111")

    def test_fixed_window_lets_twice_its_count_pass(self):
        burst = [(59.9, 1)] * 101 + [(60.1, 1)] * 101
        self.assertEqual(self.verdicts("fixed_window 100/1m", burst), ("1" * 100 + "0") * 2)
        for other in ("100/1m", "sliding_log 100/1m", "sliding_window 100/1m"):
            self.assertEqual(self.verdicts(other, burst).count("1"), 100, other)

    def test_windows(self):
        self.assertEqual(self.verdicts("fixed_window 1/10s anchored", [(9, 1), (10, 1), (18.9, 1), (19, 1)]), "1001")
        self.assertEqual(self.verdicts("fixed_window 1/1m", [(70, 1), (59, 1), (119.9, 1), (120, 1)]), "1001")
        berlin = "fixed_window 1/day calendar zone Europe/Berlin"  # 2024-03-31 has 23 hours there
        midnight = 1711839600
        self.assertEqual(self.verdicts(berlin, [(midnight - 1, 1), (midnight, 1), (midnight + 23 * 3600 - 1, 1),
                                                (midnight + 23 * 3600, 1)]), "1101")

    def test_sliding_window_estimate(self):
        # 84 in the window before weigh 63 after a quarter; 27 more make 90.
        requests = [(0, 84)] + [(75, 1)] * 28
        self.assertEqual(self.verdicts("sliding_window 90/1m", requests), "1" * 28 + "0")

    def test_sliding_log(self):
        self.assertEqual(self.verdicts("sliding_log 2/10s", [(1, 1), (2, 1), (10.9, 1), (11, 1), (5, 1), (12, 1)]),
                         "110101")

    def test_bucket_is_within_a_nanosecond_of_fractions(self):
        rng = random.Random(SEED)
        for _ in range(200):
            count, period, burst = rng.randint(1, 50), rng.randint(50, 10**6), rng.randint(1, 20)
            limit = model.Limit("token_bucket", count, period, burst, "epoch", "UTC")
            state, full, now = model.make(limit), Fraction(0), 10**18
            for _ in range(100):
                now += rng.choice((0, 1, rng.randint(0, 2 * period)))
                n = rng.randint(1, burst)
                owed = max(Fraction(0), full - now) * count / period
                spare = burst - owed - n  # in units; one nanosecond earns count/period
                if state.take(now, n):
                    self.assertGreaterEqual(spare, 0, (limit, SEED))
                    full = max(full, Fraction(now)) + Fraction(n * period, count)
                else:
                    self.assertLess(spare, Fraction(count, period), (limit, SEED))


if __name__ == "__main__":
    if "METE_BIN" not in os.environ:
        sys.exit("METE_BIN is not set: the path of the program to test")
    print(f"replay: METE_TEST_SEED={SEED}", flush=True)
    unittest.main(verbosity=1)

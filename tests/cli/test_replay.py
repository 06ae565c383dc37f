# SPDX-License-Identifier: Apache-2.0
"""`mete replay` from the outside: errors first, then formats, then the report.

What it decides is checked against an independent model in tests/replay/.
"""

import gzip
import json
import os
import pathlib
import pty
import resource
import subprocess
import sys
import tempfile
import unittest

SCALE = int(os.environ.get("METE_TEST_SCALE", "1"))
START = "29/Feb/2024:00:00:%02d +0000"


def line(address="192.0.2.1", second=0, rest='"GET / HTTP/1.1" 200 10 "-" "agent"'):
    return f"{address} - - [{START % second}] {rest}\n".encode()


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, content, name="access.log"):
        path = os.path.join(self.folder.name, name)
        pathlib.Path(path).write_bytes(content)
        return path

    def run_replay(self, *arguments, stdin=None):
        done = subprocess.run([os.environ["METE_BIN"], "replay", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, input=stdin if stdin is not None else b"", timeout=60)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def report(self, *arguments, stdin=None):
        """The JSON object of a run that must end well and without a word."""
        code, out, err = self.run_replay("--json", *arguments, stdin=stdin)
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def totals(self, *arguments, stdin=None):
        report = self.report(*arguments, stdin=stdin)
        return tuple(report[name] for name in ("requests", "allowed", "denied", "skipped", "keys"))

    def reasons(self, *arguments, stdin=None):
        report = self.report(*arguments, stdin=stdin)
        return {name: (row["count"], [place["line"] for place in row["first"]])
                for name, row in report["skipped_reasons"].items()}

    def refused(self, code, sentence, *arguments, stdin=None):
        got = self.run_replay(*arguments, stdin=stdin)
        self.assertEqual(got, (code, "", f"mete replay: {sentence}\n"))


class Usage(Case):
    def test_options(self):
        log = self.file(line())
        self.refused(2, "missing FILE... (see 'mete help replay')", "--limit", "1/s")
        self.refused(2, "missing --limit (see 'mete help replay')", log)
        self.refused(2, "--limit: needs a value (TEXT)", log, "--limit")
        self.refused(2, "unknown option '--limits'; did you mean '--limit'? (see 'mete help replay')", log,
                     "--limits", "1/s")
        self.refused(2, "--top: 'ten' is not a whole number", log, "--limit", "1/s", "--top=ten")
        self.refused(2, "--top: 100001 is outside 0..100000", log, "--limit", "1/s", "--top=100001")
        self.refused(2, "--keys-max: 0 is outside 1..1000000000", log, "--limit", "1/s", "--keys-max", "0")
        self.refused(2, "--json: takes no value", log, "--limit", "1/s", "--json=1")
        self.refused(2, "--format: 'clf' is none of auto, common, combined, json, csv, tsv", log, "--limit", "1/s",
                     "--format", "clf")

    def test_limits(self):
        log = self.file(line())
        for limit in ("", "x", "10", "0/s", "10/fortnight", "10/s burst", "10/s burst x"):
            code, out, err = self.run_replay(log, "--limit", limit)
            self.assertEqual((code, out), (2, ""), limit)
            self.assertTrue(err.startswith(f"mete replay: --limit '{limit}': "), err)
            self.assertEqual(err.count("\n"), 1, err)

    def test_fields(self):
        log = self.file(line())
        table = self.file(b"time,ip\n1,a\n", "rows.csv")
        self.refused(2, f"{log}: --key: the combined log format has no field 'host', but address, ident, user, time, "
                        "method, path, status, bytes, referer, agent", log, "--limit", "1/s", "--key", "host")
        self.refused(2, f"{table}: --cost: there is no field 'size' in the header: 'time', 'ip'", table, "--limit",
                     "1/s", "--cost", "size")

    def test_a_field_that_no_json_line_has(self):
        rows = self.file(b'not JSON\n{"time": 1, "ip": "a", "in": {"a": 1}}\n{"time": 2, "ip": "b"}\n', "rows.json")
        log = self.file(line())
        for option, field in (("--key", "user"), ("--key", "in.b"), ("--time", "when"), ("--cost", "size")):
            sentence = f"{option}: no line has a field '{field}', so all were skipped"
            code, out, err = self.run_replay(rows, "--limit", "1/s", option, field, "--json")
            self.assertEqual((code, err), (3, f"mete replay: {rows}: {sentence}\n"))
            report = json.loads(out)
            self.assertEqual((report["requests"], report["skipped"]), (0, 3))
            self.assertEqual(report["files"][0]["error"], sentence)
            self.assertEqual(self.run_replay(rows, "--limit", "1/s", option, field, "--quiet")[::2], (code, err))
        # The other files are read; a field that one line has is there.
        code, out, err = self.run_replay(rows, log, "--limit", "1/s", "--key", "user", "--json")
        self.assertEqual((code, json.loads(out)["requests"]), (3, 1))
        for option, field in (("--key", "in.a"), ("--cost", "in.a"), ("--time", "in.a")):
            self.assertEqual(self.report(rows, "--limit", "1/s", option, field)["requests"], 1, option)
        # Nor is a field absent that is empty everywhere, or when no line is an object.
        nobody = self.file(b'{"time": 1, "user": ""}\n{"time": 2, "user": null}\n', "nobody.json")
        self.assertEqual(self.totals(nobody, "--limit", "1/s", "--key", "user"), (0, 0, 0, 2, 0))
        self.assertEqual(self.totals(self.file(b"x\n" * 3), "--limit", "1/s", "--key", "a", "--time", "b", "--format",
                                     "json"), (0, 0, 0, 3, 0))


class Files(Case):
    def test_files_that_cannot_be_opened(self):
        log = self.file(line())
        missing = os.path.join(self.folder.name, "missing")
        self.refused(3, f"{missing}: No such file or directory", log, missing, "--limit", "1/s")
        self.refused(3, f"{self.folder.name}: it is a directory, not a file", self.folder.name, "--limit", "1/s")

    def test_standard_input_that_is_a_directory(self):
        folder = os.open(self.folder.name, os.O_RDONLY)
        done = subprocess.run([os.environ["METE_BIN"], "replay", "-", "--limit", "1/s", "--quiet"], stdin=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
        os.close(folder)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr, b"mete replay: -: cannot be read: Is a directory\n")

    def test_gzip_that_is_cut_short(self):
        content = b"".join(line(f"192.0.2.{i % 200}", i % 60) for i in range(20000))
        packed = gzip.compress(content)
        for cut in (len(packed) - 1, len(packed) // 2, 12, 3):
            log = self.file(packed[:cut], "cut.gz")
            code, out, err = self.run_replay(log, "--limit", "1/s", "--json")
            self.assertEqual(code, 3)
            self.assertIn("the gzip data is cut short", err)
            report = json.loads(out)
            self.assertEqual(report["files"][0]["error"], "the gzip data is cut short")
            self.assertGreaterEqual(report["requests"], 5000 if cut > 1000 else 0)
            self.assertLessEqual(report["requests"], 20000)

    def test_gzip_that_is_damaged(self):
        packed = bytearray(gzip.compress(b"".join(line(second=i % 60) for i in range(3000))))
        packed[-8] ^= 1  # the check sum
        log = self.file(bytes(packed), "damaged.gz")
        code, out, err = self.run_replay(log, "--limit", "1/s", "--json")
        self.assertEqual((code, json.loads(out)["requests"]), (3, 3000))
        self.assertEqual(err, f"mete replay: {log}: after line 3000: the gzip data is damaged: incorrect data check\n")

    def test_gzip_with_something_behind_it(self):
        packed = gzip.compress(line())
        self.assertEqual(self.totals(self.file(packed + b"\0" * 1000), "--limit", "1/s")[0], 1)
        code, out, err = self.run_replay(self.file(packed + b"rubbish"), "--limit", "1/s", "--json")
        self.assertEqual((code, json.loads(out)["requests"]), (3, 1))
        self.assertIn("the gzip data is damaged", err)

    def test_gzip_of_several_members_cut_anywhere(self):
        content = b"".join(line(f"192.0.2.{i}", i % 60) for i in range(100))
        for cut in (0, 1, 777, len(content)):
            packed = gzip.compress(content[:cut]) + gzip.compress(b"") + gzip.compress(content[cut:])
            self.assertEqual(self.totals(self.file(packed), "--limit", "1/s"), (100, 100, 0, 0, 100))
            self.assertEqual(self.totals("-", "--limit", "1/s", stdin=packed), (100, 100, 0, 0, 100))

    def test_one_broken_file_does_not_stop_the_others(self):
        broken = self.file(b"no log\n", "broken")
        log = self.file(line())
        code, out, err = self.run_replay(broken, log, "--limit", "1/s", "--json")
        self.assertEqual((code, json.loads(out)["requests"]), (3, 1))
        self.assertEqual(err, f"mete replay: {broken}: the format cannot be told from the first lines; "
                              "name it with --format\n")

    def test_a_format_that_cannot_be_told_can_be_named(self):
        log = self.file(b"no log\n" * 7)
        self.assertEqual(self.totals(log, "--limit", "1/s", "--format", "common"), (0, 0, 0, 7, 0))

    def test_a_file_that_could_not_be_read_is_not_called_empty(self):
        log = self.file(line())
        cut = self.file(gzip.compress(line())[:3], "cut.gz")
        for path, arguments in ((log, ("--format", "json")), (self.file(b"no log\n", "broken"), ()), (cut, ())):
            code, out, err = self.run_replay(path, "--limit", "1/s", *arguments)
            self.assertEqual((code, err.count("\n")), (3, 1), err)
            self.assertIn(f"{path}: not read\n", out)
            self.assertNotIn("empty", out)
            code, out, _ = self.run_replay(path, "--limit", "1/s", "--json", *arguments)
            report = json.loads(out)
            self.assertEqual((code, report["format"], report["files"][0]["format"]), (3, "unknown", "unknown"))

    def test_any_number_of_empty_lines_may_come_first(self):
        for count in (1, 1000, 2**18 - 1, 2**18, 2**18 + 1, 2**21):
            for start in (b"", b"\xef\xbb\xbf"):
                log = self.file(start + b"\n" * count + line() + b"broken\n")
                report = self.report(log, "--limit", "1/s")
                self.assertEqual((report["requests"], report["empty_lines"]), (1, count))
                self.assertEqual(report["skipped_reasons"]["no_address"]["first"][0]["line"], count + 2)
            self.assertEqual(self.totals(self.file(b"\r\n" * count), "--limit", "1/s"), (0, 0, 0, 0, 0))
        rows = self.file(b"\n" * 2**19 + b"ip,time\n\na,1\n")
        self.assertEqual((self.report(rows, "--limit", "1/s")["requests"]), 1)

    def test_files_that_are_not_the_oldest_first(self):
        late = self.file(line(second=30) + line(second=40), "late.log")
        early = self.file(line(second=9) + line(second=10), "early.log")
        middle = self.file(line(second=29) + line(second=29), "middle.log")
        empty = self.file(b"", "empty.log")
        note = f"note: {early} begins 31 seconds before {late} ends: give the oldest file first\n"
        two = f"note: {early} begins 31 seconds before {late} ends, and 1 more file does so: give the oldest file first\n"
        for names, wanted, count in (((early, empty, middle, late), None, 0), ((late, empty, early), note, 1),
                                     ((middle, late, early, middle), two, 2), ((early, early), None, 1)):
            for arguments in ((), ("--quiet",)):
                code, out, err = self.run_replay(*names, "--limit", "1/s", *arguments)
                self.assertEqual((code, err), (0, ""))
                self.assertEqual("give the oldest file first" in out, count > 0, out)
                self.assertIn(wanted or "", out)
            self.assertEqual(self.report(*names, "--limit", "1/s")["files_out_of_order"], count)
        # A file may begin in the very second in which the one before ends.
        self.assertEqual(self.report(self.file(line(second=40)), "--limit", "1/s")["files_out_of_order"], 0)
        touching = self.file(line(second=40), "touching.log")
        self.assertEqual(self.report(late, touching, "--limit", "1/s")["files_out_of_order"], 0)

    def test_empty_files(self):
        for content in (b"", b"\n", b"\r\n\n", gzip.compress(b"")):
            log = self.file(content)
            self.assertEqual(self.totals(log, "--limit", "1/s"), (0, 0, 0, 0, 0))
            code, out, err = self.run_replay(log, "--limit", "1/s")
            self.assertEqual((code, err), (0, ""))
            self.assertIn(f"{log}: empty: it holds no requests\n", out)

    def test_output_that_cannot_be_written(self):
        log = self.file(line())
        for form in ("--json", "--quiet"):
            with open("/dev/full", "w") as full:
                done = subprocess.run([os.environ["METE_BIN"], "replay", log, "--limit", "1/s", form], stdout=full,
                                      stderr=subprocess.PIPE, timeout=30)
            self.assertEqual(done.returncode, 3)
            self.assertIn(b"standard output cannot be written", done.stderr)


class Lines(Case):
    def test_reasons_and_line_numbers(self):
        content = b'tail of a line"\n' + line() + b"\n" + b"\0\0\0" + line() + line(second=99) + b"x" * 20 + b"\n" + \
            line(rest='""') + b"\r\n" + line().replace(b"29/Feb/2024", b"28/Feb/1969") + line()
        self.assertEqual(self.reasons(self.file(content), "--limit", "1/s"), {
            "no_address": (2, [4, 6]), "no_time": (1, [1]), "bad_time": (1, [5]), "no_request": (1, [7]),
            "time_range": (1, [9])})

    def test_only_the_first_lines_are_named_and_all_are_counted(self):
        content = line() + b"broken\n" * 1000
        count, first = self.reasons(self.file(content), "--limit", "1/s")["no_address"]
        self.assertEqual((count, first), (1000, [2, 3, 4, 5, 6]))

    def test_line_ends_and_a_torn_last_line(self):
        content = line("a") + line("b").replace(b"\n", b"\r\n") + line("c")[:-1]
        self.assertEqual(self.totals(self.file(content), "--limit", "1/s"), (3, 3, 0, 0, 3))
        for cut, requests in ((30, 1), (len(line("b")) - 5, 2)):
            content = line("a") + line("b")[:cut]
            self.assertEqual(self.totals(self.file(content), "--limit", "1/s")[:4],
                             (requests, requests, 0, 2 - requests))

    def test_bytes_that_are_not_utf8(self):
        content = line() + line("\udcff\udcfe".encode("utf-8", "surrogateescape").decode("latin1")) + \
            b'\xff\xfe - - [29/Feb/2024:00:00:01 +0000] "\xc3\x28\n'
        self.assertEqual(self.totals(self.file(content), "--limit", "1/s"), (3, 3, 0, 0, 3))

    def test_the_longest_line(self):
        longest = line()[:-1] + b" " * (1024 * 1024 - len(line()) + 1)
        for extra, end, fits in ((b"", b"\n", 1), (b"", b"\r\n", 1), (b"x", b"\n", 0), (b"x", b"\r\n", 0),
                                 (b"x", b"", 0)):
            content = line("other") + longest + extra + end
            report = self.report(self.file(content), "--limit", "1/s")
            self.assertEqual((report["requests"], report["skipped"]), (1 + fits, 1 - fits))
            self.assertEqual(list(report["skipped_reasons"]), [] if fits else ["too_long"])

    @unittest.skipIf(os.environ.get("METE_SANITIZE"), "a sanitizer needs more address space than this allows")
    def test_a_line_without_an_end_takes_no_memory(self):
        line_bytes = 100 * 1024 * 1024
        log = self.file(line())
        with open(log, "ab") as f:
            for _ in range(100):
                f.write(b"x" * (line_bytes // 100))
            f.write(b"\n" + line())
        done = subprocess.run(
            [os.environ["METE_BIN"], "replay", log, "--limit", "1/s", "--keys-max", "1000", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (line_bytes, line_bytes)))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        report = json.loads(done.stdout)
        self.assertEqual((report["requests"], report["skipped_reasons"]["too_long"]["first"][0]["line"]), (2, 2))

    def test_bytes_that_come_one_by_one(self):
        content = line("a") + line("b")
        process = subprocess.Popen([os.environ["METE_BIN"], "replay", "-", "--limit", "1/s", "--json"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for i in range(len(content)):
            process.stdin.write(content[i:i + 1])
            process.stdin.flush()
        out, _ = process.communicate(timeout=30)
        self.assertEqual(json.loads(out)["requests"], 2)


class Formats(Case):
    def test_common(self):
        log = self.file(line(rest='"GET / HTTP/1.1" 200 10'))
        self.assertEqual(self.report(log, "--limit", "1/s")["format"], "common")

    def test_json_lines(self):
        rows = b'{"ts": 1709164800.5, "remote_ip": "a", "size": 3}\n{"ts": 1709164800, "remote_ip": "b", "size": "x"}\n'
        report = self.report(self.file(rows), "--limit", "5/s", "--cost", "size")
        self.assertEqual((report["format"], report["requests"], report["skipped"]), ("json", 1, 1))
        self.assertEqual((report["files"][0]["key"], report["files"][0]["time"]), ("remote_ip", "ts"))
        self.assertEqual(report["span"]["first_ns"], 1709164800500000000)
        self.assertEqual(report["units_allowed"], 3)

    def test_csv_quotes_over_lines(self):
        rows = (b'ip,note,time\r\na,"two\r\nlines, ""quoted""",1709164800\r\n"b\nc",x,1709164801\r\n'
                b'd,"never closed,1709164802\ne,x,1709164803\n')
        report = self.report(self.file(rows), "--limit", "1/s")
        self.assertEqual((report["format"], report["requests"], report["keys"]), ("csv", 3, 3))
        self.assertEqual(self.reasons(self.file(rows), "--limit", "1/s"), {"open_quote": (1, [6])})
        self.assertEqual(report["files"][0]["lines"], 7)

    def test_a_stray_quote_loses_one_line(self):
        rows = b"ip,time\n" + b'"x,1\n' + b"a,1709164800\n" * 300 + b'"y"z,1\n' + b"a,1709164800\n"
        self.assertEqual(self.reasons(self.file(rows), "--limit", "1/s"),
                         {"open_quote": (1, [2]), "bad_quotes": (1, [303])})

    def test_stray_quotes_do_not_take_forever(self):
        rows = b"ip,time\n" + b'a"b,"1\n' * (20000 * SCALE)
        self.assertEqual(self.report(self.file(rows), "--limit", "1/s")["skipped"], 20000 * SCALE)

    def test_tsv_and_a_byte_order_mark(self):
        report = self.report(self.file(b'\xef\xbb\xbftime\tclient\n1709164800\t"a\n'), "--limit", "1/s")
        self.assertEqual((report["format"], report["requests"]), ("tsv", 1))
        self.assertEqual(report["files"][0]["time"], "time")

    def test_no_field_for_a_key(self):
        rows = self.file(b"TIMESTAMP,ContextTokens\n2023-11-16 18:15:46.6805900,374\n2023-11-16 18:15:46.6805901,374\n")
        report = self.report(rows, "--limit", "374/s", "--cost", "ContextTokens")
        self.assertEqual((report["keys"], report["allowed"], report["denied"]), (1, 1, 1))
        self.assertEqual((report["files"][0]["key"], report["worst"][0]["key"]), (None, ""))
        code, out, _ = self.run_replay(rows, "--limit", "1/s")
        self.assertIn("no field has the name of a key, so all requests share one, as with --key -", out)
        self.assertIn("(all)\n", out)

    def test_no_field_for_a_time(self):
        rows = self.file(b"ip,size\na,1\n")
        code, out, err = self.run_replay(rows, "--limit", "1/s")
        self.assertEqual(code, 3)
        self.assertEqual(err, f"mete replay: {rows}: read as csv, but no field of its header has the name of a time "
                              "('ip', 'size'); name it with --time, or the format with --format\n")

    def test_every_field_of_a_combined_log_is_a_key(self):
        log = self.file(line(rest='"GET /a?b HTTP/1.1" 200 10 "from" "agent"') + line(second=1, rest='"G'))
        for field, key in (("address", "192.0.2.1"), ("ident", "-"), ("user", "-"), ("method", "GET"), ("path", "/a"),
                           ("status", "200"), ("bytes", "10"), ("referer", "from"), ("agent", "agent"), ("-", "")):
            report = self.report(log, "--limit", "1/1d", "--key", field, "--cost", "bytes")
            self.assertEqual((report["requests"], report["worst"][0]["key"]), (1, key))
            self.assertEqual(report["denied_forever"], 1)

    def test_files_of_different_formats(self):
        log = self.file(line("a"))
        rows = self.file(b"time,ip\n1709164800,a\n", "rows.csv")
        report = self.report(log, rows, "--limit", "1/1h")
        self.assertEqual((report["format"], report["allowed"], report["denied"]), ("mixed", 1, 1))
        self.assertEqual([row["format"] for row in report["files"]], ["combined", "csv"])


class Decisions(Case):
    def test_each_request_is_decided_at_its_own_time(self):
        content = b"".join(line(second=second) for second in (0, 0, 0, 5, 5, 3, 10, 10))
        report = self.report(self.file(content), "--limit", "2/10s")
        self.assertEqual((report["allowed"], report["denied"]), (4, 4))
        self.assertEqual((report["steps_back"], report["step_back_max_ns"]), (1, 2000000000))
        self.assertEqual(report["span"]["last"], "2024-02-29T00:00:10Z")

    def test_time_zones(self):
        content = line() + line().replace(b"29/Feb/2024:00:00:00 +0000", b"28/Feb/2024:16:30:00 -0730")
        self.assertEqual(self.totals(self.file(content), "--limit", "1/1s")[1:3], (1, 1))

    def test_several_limits_are_all_or_nothing(self):
        content = b"".join(line(second=second) for second in (0, 0, 1, 2, 3, 4))
        report = self.report(self.file(content), "--limit", "1/s", "--limit", "fixed_window 3/1h")
        self.assertEqual((report["allowed"], report["denied"]), (3, 3))
        self.assertEqual(len(report["limits"]), 2)
        self.assertEqual(self.totals(self.file(content), "--limit", "1/s")[1:3], (5, 1))

    def test_costs(self):
        content = b"".join(line(rest=f'"GET / HTTP/1.1" 200 {size}') for size in ("7", "-", "4", "3", "0", "11", "x"))
        report = self.report(self.file(content), "--limit", "10/1h", "--cost", "bytes")
        self.assertEqual((report["allowed"], report["denied"], report["skipped"]), (3, 2, 2))
        self.assertEqual((report["units_allowed"], report["units_denied"], report["denied_forever"]), (10, 15, 1))

    def test_more_keys_than_are_counted(self):
        content = b"".join(line(f"192.0.2.{i}") for i in range(200)) * 2
        report = self.report(self.file(content), "--limit", "1/1h", "--keys-max", "100")
        self.assertEqual((report["requests"], report["keys"], report["keys_complete"]), (400, 100, False))
        self.assertEqual(report["requests_of_other_keys"], 200)
        code, out, _ = self.run_replay(self.file(content), "--limit", "1/1h", "--keys-max", "100")
        self.assertIn("keys      more than 100\n", out)
        self.assertIn("note: only 100 keys are counted one by one; 200 requests were of others (--keys-max)\n", out)

    def test_long_and_many_keys_in_one_batch(self):
        long_paths = [f"/{i:03d}" + "x" * 300000 for i in range(40)]
        content = b"".join(line(rest=f'"GET {path} HTTP/1.1" 200 1') for path in long_paths)
        report = self.report(self.file(content * 2), "--limit", "1/1h", "--key", "path", "--top", "1")
        self.assertEqual((report["allowed"], report["denied"], report["keys"]), (40, 40, 40))
        self.assertEqual(report["worst"][0]["key"], long_paths[0])


    @unittest.skipIf(os.environ.get("METE_SANITIZE"), "a sanitizer needs more address space than this allows")
    def test_keys_that_memory_cannot_hold(self):
        log = self.file(line())
        done = subprocess.run(
            [os.environ["METE_BIN"], "replay", log, "--limit", "1/s", "--keys-max", "1000000000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)))
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertRegex(done.stderr, rb"\Amete replay: keys_max: no memory[^\n]*\n\Z")


class Report(Case):
    def test_for_people(self):
        content = b"broken\n" + line("a") * 3 + line("b", 1) * 2 + line("c", 2)
        log = self.file(content)
        code, out, err = self.run_replay(log, "--limit", "60/1m burst 1", "--top", "1")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines(), [
            f"{log}: combined, 7 lines; key: address; time: time",
            "limit: token_bucket 60/1m burst 1: 60 requests per 1 minute, at most 1 at one instant (token bucket)",
            "",
            "requests  6",
            "allowed   3 (50.00 %)",
            "denied    3 (50.00 %)",
            "skipped   1 lines",
            "keys      3",
            "span      2024-02-29T00:00:00Z .. 2024-02-29T00:00:02Z, 2 seconds",
            "skipped 1: no client address at the start: line 1",
            "",
            "      denied      allowed  key",
            "           2            1  a",
        ])

    def test_quiet(self):
        log = self.file(b"broken\n" + line() * 2)
        code, out, err = self.run_replay(log, "--limit", "1/s", "--quiet")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([row.split()[0] for row in out.splitlines()],
                         ["requests", "allowed", "denied", "skipped", "keys", "span"])

    def test_notes_are_told_when_quiet(self):
        """A figure that is not what one may take it for is never printed without a word."""
        log = self.file(b"".join(line(f"192.0.2.{i % 250}", i % 60) for i in range(50000)) +
                        b"".join(line(f"{i}", i % 60) for i in range(50000)))
        for arguments in ((), ("--quiet",)):
            code, out, err = self.run_replay(log, "--limit", "1/1d", "--keys-max", "100", *arguments)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, r"note: the store forgot \d+ keys to make room: a larger --keys-max is more exact\n")
            self.assertIn("note: only 100 keys are counted one by one;", out)
            out = self.run_replay(log, "--limit", "1/1d", "--cost", "bytes", *arguments)[1]
            self.assertIn("note: requests that cost more than the limit ever lets pass: 100000\n", out)
        rows = self.file(b"time,size\n1,1\n")
        self.assertIn(f"note: {rows}: no field has the name of a key, so all requests share one\n",
                      self.run_replay(rows, "--limit", "1/s", "--quiet")[1])

    def test_empty_lines_are_counted(self):
        log = self.file(b"\n" + line() + b"\r\n" + b" \n" + line() + b"\n")
        report = self.report(log, "--limit", "1/s")
        self.assertEqual((report["requests"], report["skipped"], report["empty_lines"]), (2, 1, 3))
        self.assertEqual((report["files"][0]["empty"], report["files"][0]["lines"]), (3, 6))
        self.assertIn("skipped   1 lines, and 3 empty\n", self.run_replay(log, "--limit", "1/s", "--quiet")[1])
        self.assertIn("skipped   0 lines\n", self.run_replay(self.file(line()), "--limit", "1/s")[1])

    def test_json_has_what_is_promised(self):
        report = self.report(self.file(line() * 2 + b"x\n"), "--limit", "1/s")
        for name in ("requests", "allowed", "denied", "skipped", "keys"):
            self.assertIs(type(report[name]), int, name)
        for name in ("skipped_reasons", "worst", "limit", "format", "span", "files"):
            self.assertIn(name, report)
        self.assertEqual(report["requests"], report["allowed"] + report["denied"])
        self.assertEqual(report["worst"], [{"key": "192.0.2.1", "requests": 2, "allowed": 1, "denied": 1}])

    def test_keys_are_harmless_on_a_terminal(self):
        rows = [{"time": 1, "ip": "\x1b[2J\u202e\n\u00e9"}] * 2
        log = self.file("".join(json.dumps(row) + "\n" for row in rows).encode())
        _, out, _ = self.run_replay(log, "--limit", "1/s")
        self.assertTrue(out.isascii())
        self.assertNotIn("\x1b", out)
        self.assertIn("\\x1b[2J\\xe2\\x80\\xae\\x0a\\xc3\\xa9\n", out)
        self.assertEqual(self.report(log, "--limit", "1/s")["worst"][0]["key"], rows[0]["ip"])

    def test_a_key_that_is_not_utf8_is_escaped_in_json(self):
        log = self.file(b'\xff\xfe - - [29/Feb/2024:00:00:01 +0000] "GET /\n' * 2)
        self.assertEqual(self.report(log, "--limit", "1/s")["worst"][0]["key"], "\\xff\\xfe")

    def test_progress_is_for_terminals(self):
        log = self.file(line() * 100000)
        for arguments, shown in (((), True), (("--quiet",), False), (("--json",), True)):
            output = self.on_terminal([os.environ["METE_BIN"], "replay", log, "--limit", "1/s", *arguments])
            self.assertEqual(b"%" in output and b"MiB" in output, shown, arguments)
        self.assertEqual(self.run_replay(log, "--limit", "1/s")[2], "")

    def on_terminal(self, command):
        """What the command writes to standard error when that is a terminal."""
        here, there = pty.openpty()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=there)
        os.close(there)
        output = b""
        while True:
            try:
                piece = os.read(here, 65536)
            except OSError:  # a terminal nobody writes to any more
                break
            if not piece:
                break
            output += piece
        os.close(here)
        self.assertEqual(process.wait(timeout=30), 0)
        return output

    def test_the_sample(self):
        sample = pathlib.Path(os.environ["METE_SOURCE_DIR"]) / "examples" / "sample.log"
        made = subprocess.run([sys.executable, sample.parent / "make_sample.py"], stdout=subprocess.PIPE, check=True)
        self.assertEqual(made.stdout, sample.read_bytes())
        report = self.report(str(sample), "--limit", "60/1m burst 20")
        self.assertEqual(report["worst"][0]["key"], "2001:db8:bad::5")
        self.assertGreater(report["skipped"], 0)
        self.assertEqual(report["requests"] + report["skipped"] + report["empty_lines"], report["files"][0]["lines"])


if __name__ == "__main__":
    if "METE_BIN" not in os.environ:
        sys.exit("METE_BIN is not set: the path of the program to test")
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""mete config: check, explain and schema; and the sample and the page that tell of the file."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from certificate import make_certificate

METE = os.environ["METE_BIN"]
SOURCE = pathlib.Path(os.environ["METE_SOURCE_DIR"])
SAMPLE = SOURCE / "examples" / "mete.yaml"


def config(*words):
    return subprocess.run([METE, "config", *words], capture_output=True, text=True, timeout=60)


class Sample(unittest.TestCase):
    def test_is_right(self):
        run = config("check", str(SAMPLE))
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertTrue(run.stdout.endswith("\nOK\n"))

    def test_shows_defaults(self):
        """What it says outside of policies is what holds without it."""
        sample = json.loads(config("check", "--json", str(SAMPLE)).stdout)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("policies: {a: {limits: {b: 1/s}}}\n")
            file.flush()
            least = json.loads(config("check", "--json", file.name).stdout)
        for key in ("listen", "store", "users", "login_required"):
            self.assertEqual(sample[key], least[key], key)

    def test_has_every_key(self):
        keys = set(re.findall(r"^\| `(\w+)` \|", config("schema").stdout, flags=re.M))
        text = SAMPLE.read_text(encoding="utf-8")
        missing = {key for key in keys if not re.search(rf"\b{key}:", text)}
        self.assertEqual(missing - {"password", "password_sha256"}, set())
        for name in ("password", "password_sha256"):
            self.assertIn(name, text)

    def test_comments_are_right(self):
        """The parts that are left out are right too, when they are put in."""
        lines = []
        block = False
        for line in SAMPLE.read_text(encoding="utf-8").splitlines():
            match = re.match(r"( *)# (.*)$", line)
            starts = match and re.match(r"(tls|users|trusted_proxies):|- resp:", match[2])
            block = bool(match) and (block or bool(starts))
            lines.append(match[1] + match[2] if block and match else line)
        with tempfile.TemporaryDirectory() as folder:
            password = os.path.join(folder, "password")
            pathlib.Path(password).write_text("secret\n", encoding="utf-8")
            file = os.path.join(folder, "mete.yaml")
            text = "\n".join(lines).replace("/etc/mete/gateway.password", password) + "\n"
            certificate, key = make_certificate(folder, "server")
            for named, made in (("server.pem", certificate), ("clients.pem", certificate), ("server.key", key)):
                text = text.replace("/etc/mete/" + named, made)
            self.assertGreater(text.count("\ntls:") + text.count("\nusers:") + text.count("  trusted_proxies:"), 2)
            pathlib.Path(file).write_text(text, encoding="utf-8")
            run = config("check", "--json", file)
            self.assertEqual(run.returncode, 0, run.stderr)
            told = json.loads(run.stdout)
            self.assertEqual(told["users"], ["default", "gateway"])
            self.assertEqual(len(told["listen"]), 3)


class Shown(unittest.TestCase):
    def overrides(self, *items):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("policies: {a: {limits: {b: 5/s}, plans: {p: {b: 6/s}}, overrides: [%s]}}\n" % ", ".join(items))
            file.flush()
            return re.search(r"overrides: (.*)\n", config("check", file.name).stdout)[1]

    def test_one_and_more(self):
        keys, prefixes = ["{key: a, plan: p}", "{key: b, plan: p}"], ["{prefix: x, plan: p}", "{prefix: y, plan: p}"]
        self.assertEqual(self.overrides(*keys[:1]), "1 key, 0 prefixes")
        self.assertEqual(self.overrides(*keys, *prefixes[:1]), "2 keys, 1 prefix")
        self.assertEqual(self.overrides(*prefixes), "0 keys, 2 prefixes")


class Reference(unittest.TestCase):
    def test_page_is_what_the_program_says(self):
        page = (SOURCE / "docs" / "configuration.md").read_text(encoding="utf-8")
        self.assertTrue(page.endswith("\n\n" + config("schema").stdout), "put in the output of 'mete config schema'")

    def test_examples_of_the_page(self):
        page = (SOURCE / "docs" / "configuration.md").read_text(encoding="utf-8")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(re.search(r"```yaml\n(.*?)```", page, flags=re.S)[1])
            file.flush()
            run = config("check", file.name)
        self.assertEqual((run.returncode, run.stderr), (0, ""))


class Explain(unittest.TestCase):
    def explain(self, key, policy="api"):
        run = config("explain", "--json", str(SAMPLE), policy, key)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_plans(self):
        for key, plan, override in (
            ("bob", "default", None),
            ("alice", "gold", {"kind": "key", "text": "alice"}),
            ("partner:7", "partner", {"kind": "prefix", "text": "partner:"}),
            ("partner:trial:7", "default", {"kind": "prefix", "text": "partner:trial:"}),
        ):
            told = self.explain(key)
            self.assertEqual((told["plan"], told["override"]), (plan, override), key)

    def test_numbers(self):
        per_second, per_day = self.explain("bob")["limits"]
        self.assertEqual(per_second["limit"], "token_bucket 10/1s burst 20")
        self.assertEqual((per_second["count"], per_second["period_ns"], per_second["capacity"]), (10, 10**9, 20))
        self.assertEqual((per_second["refill_ns"], per_second["cost"]), (2 * 10**9, 1))
        self.assertEqual((per_second["cost_is_fixed"], per_day["cost_is_fixed"]), (False, True))
        self.assertEqual((per_second["header_quota"], per_second["header_window"]), (20, 2))
        self.assertTrue(per_day["period_is_mean"])
        gold = self.explain("alice")["limits"]
        self.assertEqual((gold[0]["capacity"], gold[1]["count"]), (200, 1000000))
        login = self.explain("x", "login")
        self.assertEqual((login["deny_status"], login["headers"]), (403, ["draft-10"]))

    def test_text(self):
        run = config("explain", str(SAMPLE), "api", "a\x1b\xe9")
        self.assertEqual(run.returncode, 0)
        self.assertIn("key      'a\\x1b\\xc3\\xa9'\n", run.stdout)
        self.assertIn("plan     default: no override is for this key\n", run.stdout)
        self.assertIn("10 requests per 1 second, at most 20 at one instant (token bucket)\n", run.stdout)
        self.assertIn("full again 2 seconds after all of it was spent\n", run.stdout)
        self.assertIn("headers  draft-10\n", run.stdout)
        self.assertIn("HTTP 429 with Retry-After", run.stdout)

    def test_a_dry_run_denies_nothing(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("policies: {a: {limits: {b: 1/s}, dry_run: true, on_full: deny}}\n")
            file.flush()
            run = config("explain", file.name, "a", "x")
        self.assertIn("\ndenied   nothing: a dry run only counts what it would deny; full: deny\n", run.stdout)
        self.assertNotIn("Retry-After", run.stdout)

    def test_unknown_policy(self):
        run = config("explain", str(SAMPLE), "nothing", "x")
        self.assertEqual(run.returncode, 2)
        self.assertIn("has no policy 'nothing'", run.stderr)


class Commands(unittest.TestCase):
    def test_usage(self):
        self.assertEqual(config().returncode, 2)
        self.assertEqual(config("nothing").returncode, 2)
        self.assertIn("unknown command 'nothing'", config("nothing").stderr)
        self.assertEqual(config("check").returncode, 2)
        self.assertEqual(config("check", "a", "b").returncode, 2)
        self.assertEqual(config("explain", "a", "b").returncode, 2)
        self.assertEqual(config("--help").returncode, 0)
        for name in ("check", "explain", "schema"):
            self.assertIn(f"Usage: mete config {name}", config(name, "--help").stdout)
        run = subprocess.run([METE, "help", "config"], capture_output=True, text=True, timeout=60)
        self.assertIn("explain FILE POLICY KEY", run.stdout)

    def test_no_file(self):
        for words in (("check", "/nowhere"), ("explain", "/nowhere", "a", "b")):
            run = config(*words)
            self.assertEqual(run.returncode, 3)
            self.assertEqual(run.stderr, "/nowhere: cannot be opened: No such file or directory\n")

    def warnings(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            run = config("check", "--json", file.name)
            plain = config("check", file.name)
        self.assertEqual(run.returncode, 0, run.stderr)
        told = json.loads(run.stdout)["warnings"]
        self.assertEqual(plain.stderr, "".join(f"mete config check: warning: {line}\n" for line in told))
        self.assertEqual(plain.returncode, 0)
        return told

    def test_warnings(self):
        policy = "policies: {a: {limits: {b: 5/s}}}\n"
        for address in ("127.0.0.1:1", "127.9.9.9:1", "localhost:1", "'[::1]:1'", "unix:/a", "fd:a"):
            self.assertEqual(self.warnings(policy + f"listen: [{{resp: {address}}}]\n"), [], address)
        for address in ("0.0.0.0:1", "'[::]:1'", "'[::2]:1'", "example.com:1", "192.0.2.1:1"):
            told = self.warnings(policy + f"listen: [{{http: {address}}}]\n")
            self.assertEqual(len(told), 1, address)
            self.assertIn("without logging in", told[0])
        told = self.warnings(policy + "listen: [{resp: '0.0.0.0:1'}]\nusers: [{name: u, policies: all, password: p}]\n")
        self.assertEqual(told, ["listen: passwords travel to 0.0.0.0:1 in plain text; set tls: true"])
        told = self.warnings("policies: {a: {limits: {b: 5/s}, plans: {p: {b: 6/s}}}}\n")
        self.assertEqual(told, ["policies: 'a' has plans but no overrides: no key is on them"])
        told = self.warnings("store: {log_units_max: 9}\npolicies: {a: {limits: {b: sliding_log 5/s}}}\n")
        self.assertEqual(len(told), 1)
        self.assertEqual(len(self.warnings("threads: 1\n")), 1)


class Tls(unittest.TestCase):
    """What makes mete serve fail makes check fail, with the same sentence."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.certificate, self.key = make_certificate(self.folder, "one")
        self.file = os.path.join(self.folder, "mete.yaml")

    def write(self, certificate, key, client_ca=None):
        listener = "unix:" + os.path.join(self.folder, "socket")
        more = f", client_ca: {client_ca}" if client_ca else ""
        pathlib.Path(self.file).write_text(f"listen: [{{resp: '{listener}', tls: true}}]\n"
                                           f"tls: {{certificate: {certificate}, key: {key}{more}}}\n"
                                           "policies: {a: {limits: {b: 1/s}}}\n", encoding="utf-8")

    def refused(self, *files):
        self.write(*files)
        run = config("check", self.file)
        self.assertEqual((run.returncode, run.stdout), (3, ""))
        self.assertTrue(run.stderr.startswith(f"{self.file}: tls: "), run.stderr)
        sentence = run.stderr[len(f"{self.file}: tls: "):]
        told = json.loads(config("check", "--json", self.file).stdout)
        self.assertEqual((told["ok"], told["faults"]), (False, [run.stderr.rstrip("\n")]))
        served = subprocess.run([METE, "serve", "--config", self.file], capture_output=True, text=True, timeout=60)
        self.assertEqual(served.returncode, 3)
        self.assertTrue(served.stderr.endswith(f"mete serve: {sentence}"), (served.stderr, sentence))
        return sentence

    def test_right(self):
        self.write(self.certificate, self.key, self.certificate)
        run = config("check", self.file)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_wrong(self):
        _, other = make_certificate(self.folder, "other")
        self.assertIn("is not that of the certificate", self.refused(self.certificate, other))
        self.assertIn("No such file", self.refused("/nowhere/c", self.key))
        self.assertIn("No such file", self.refused(self.certificate, "/nowhere/k"))
        self.assertIn("No such file", self.refused(self.certificate, self.key, "/nowhere/ca"))
        self.assertIn("no usable PEM", self.refused(self.key, self.key))
        self.assertIn("no usable PEM certificate", self.refused(self.certificate, self.key, self.key))


if __name__ == "__main__":
    unittest.main()

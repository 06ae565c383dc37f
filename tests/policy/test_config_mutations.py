# SPDX-License-Identifier: Apache-2.0
"""No field of a configuration, left out, misspelt, emptied or zeroed, lets a limit vanish without a word."""
import concurrent.futures
import copy
import itertools
import json
import os
import re
import subprocess
import tempfile
import unittest

from certificate import make_certificate

METE = os.environ["METE_BIN"]


def config(*words):
    return subprocess.run([METE, "config", *words], capture_output=True, text=True, timeout=60)


class Text(str):
    """Written in quotes."""


def emit(value, indent=0):
    """A dict, list or leaf as YAML in block style."""
    pad = "  " * indent
    if isinstance(value, dict):
        if not value:
            return " {}\n"
        lines = "\n" if indent else ""
        return lines + "".join(f"{pad}{name}:{emit(item, indent + 1)}" for name, item in value.items())
    if isinstance(value, list):
        return " []\n" if not value else "\n" + "".join(f"{pad}-{emit(item, indent + 1)}" for item in value)
    if value is None:
        return "\n"
    return f" {json.dumps(value)}\n" if isinstance(value, Text) else f" {value}\n"


FULL = {
    "listen": [
        {"resp": "127.0.0.1:6379", "tls": "true"},
        {"http": "unix:/run/mete.sock", "unix_mode": "0660"},
    ],
    "threads": "2",
    "store": {"path": "memory", "keys_max": "5000", "log_units_max": "100000", "on_full": "evict"},
    "tls": {},  # files that are made for the tests
    "users": [
        {"name": "default", "policies": "none", "may_bring_limits": "false", "may_administer": "false"},
        {
            "name": "gateway",
            "password": "secret",
            "certificate_name": "gw",
            "policies": ["api"],
            "may_bring_limits": "true",
            "may_administer": "true",
        },
    ],
    "client_address": {
        "header": "X-Forwarded-For",
        "depth": "1",
        "trusted_proxies": ["10.0.0.0/8", Text("2001:db8::/32")],
        "ipv6_prefix": "64",
    },
    "bounds": {
        "connections_max": "100",
        "request_bytes_max": "64KiB",
        "output_bytes_max": "1MiB",
        "idle_timeout": "5m",
        "request_timeout": "10s",
        "drain_timeout": "10s",
    },
    "log": {"format": "json", "level": "warn", "keys": "true"},
    "policies": {
        "api": {
            "limits": {
                "per_second": "10/s burst 20",
                "per_day": {"limit": "fixed_window 10000/day calendar zone UTC", "cost": "1"},
            },
            "cost": "2",
            "dry_run": "false",
            "on_full": "deny",
            "on_store_failure": "allow",
            "headers": ["draft-10", "x-ratelimit-delta"],
            "deny_status": "403",
            "key": ["client_address", Text("header:X-Api-Key")],
            "plans": {"gold": {"per_second": "100/s burst 50", "per_day": {"limit": "5/s", "cost": "3"}}},
            "overrides": [{"key": "alice", "plan": "gold"}, {"prefix": Text("gold:"), "plan": "gold"}],
        },
        "login": {"limits": {"attempts": "sliding_log 5/10m"}},
    },
}


def paths_of(value, path=()):
    """Every place in the tree, the root excepted."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield path + (name,)
        yield from paths_of(item, path + (name,))


def parent_of(tree, path):
    for name in path[:-1]:
        tree = tree[name]
    return tree


def canonical(text):
    """A limit as mete writes it."""
    run = subprocess.run([METE, "limit", "--json", text], capture_output=True, text=True, timeout=60)
    return json.loads(run.stdout)["limit"]


class Mutations(unittest.TestCase):
    """Of a file that uses every key."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.numbers = itertools.count()
        cls.limits = {}
        certificate, key = make_certificate(cls.folder.name, "tls")
        FULL["tls"] = {"certificate": certificate, "key": key, "client_ca": certificate}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, tree):
        name = os.path.join(self.folder.name, f"{next(self.numbers)}.yaml")
        with open(name, "w", encoding="utf-8") as file:
            file.write(emit(tree))
        run = config("check", "--json", name)
        run.file = name
        return run

    def check_all(self, mutants):
        """(path, tree) pairs, some at a time: (path, tree, run) in their order."""
        mutants = list(mutants)
        with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
            runs = list(pool.map(self.check, (tree for _, tree in mutants)))
        return [(path, tree, run) for (path, tree), run in zip(mutants, runs)]

    def assert_loud(self, run, path):
        self.assertEqual(run.returncode, 3, path)
        self.assertRegex(run.stderr, rf"^{re.escape(run.file)}:\d+:\d+: \S", path)
        told = json.loads(run.stdout)
        self.assertFalse(told["ok"])
        self.assertEqual(told["faults"], run.stderr.splitlines())

    def limit_of(self, text):
        if text not in self.limits:
            self.limits[text] = canonical(text)
        return self.limits[text]

    def assert_still_limits(self, run, tree, path):
        """Each policy that is left has each limit that is left, with its figures, in each plan."""
        found = {policy["name"]: policy for policy in json.loads(run.stdout)["policies"]}
        self.assertEqual(list(found), list(tree.get("policies", {})), path)
        for name, policy in tree.get("policies", {}).items():
            own = {}
            for limit_name, limit in policy["limits"].items():
                limit = limit if isinstance(limit, dict) else {"limit": limit}
                own[limit_name] = {"limit": self.limit_of(limit["limit"])}
                if "cost" in limit:
                    own[limit_name]["cost"] = int(limit["cost"])
            self.assertEqual(found[name]["limits"], own, path)
            self.assertEqual(list(found[name]["plans"]), list(policy.get("plans", {})), path)
            for plan_name, plan in policy.get("plans", {}).items():
                expected = copy.deepcopy(own)
                for limit_name, limit in plan.items():
                    limit = limit if isinstance(limit, dict) else {"limit": limit}
                    expected[limit_name]["limit"] = self.limit_of(limit["limit"])
                    if "cost" in limit:
                        expected[limit_name]["cost"] = int(limit["cost"])
                self.assertEqual(found[name]["plans"][plan_name], expected, path)
            overrides = policy.get("overrides", [])
            self.assertEqual(found[name]["override_keys"], sum("key" in item for item in overrides), path)
            self.assertEqual(found[name]["override_prefixes"], sum("prefix" in item for item in overrides), path)

    def test_whole(self):
        run = self.check(FULL)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_still_limits(run, FULL, "whole")
        api = json.loads(run.stdout)["policies"][0]
        self.assertEqual((api["cost"], api["on_full"], api["on_store_failure"]), (2, "deny", "allow"))
        self.assertEqual((api["headers"], api["deny_status"]), ("draft-10, x-ratelimit-delta", 403))
        self.assertEqual(api["key"], "client_address, header:X-Api-Key")

    def test_every_key_is_used(self):
        """FULL has each key of the reference, so that the mutations reach all of them."""
        used = set()
        for path in paths_of(FULL):
            used.add(path[-1])
        keys = re.findall(r"^\| `(\w+)` \|", config("schema").stdout, flags=re.M)
        self.assertGreater(len(keys), 50)
        self.assertEqual(set(keys) - used - {"password_sha256", "password_file"}, set())

    def test_left_out(self):
        def mutants():
            for path in paths_of(FULL):
                tree = copy.deepcopy(FULL)
                del parent_of(tree, path)[path[-1]]
                yield path, tree

        loud = 0
        for path, tree, run in self.check_all(mutants()):
            if run.returncode == 0:
                self.assert_still_limits(run, tree, path)
            else:
                self.assert_loud(run, path)
                loud += 1
        self.assertGreater(loud, 10)

    def test_renamed(self):
        """A key that is misspelt is told, and names of the file's own stay what they are."""
        free = {("policies",), ("policies", "api", "limits"), ("policies", "api", "plans"),
                ("policies", "login", "limits")}

        def mutants():
            for path in paths_of(FULL):
                tree = copy.deepcopy(FULL)
                parent = parent_of(tree, path)
                if not isinstance(parent, dict) or path[:-1] in free:
                    continue
                renamed = {name + ("x" if name == path[-1] else ""): item for name, item in parent.items()}
                parent.clear()
                parent.update(renamed)
                yield path, tree

        tried = self.check_all(mutants())
        self.assertGreater(len(tried), 50)
        for path, _, run in tried:
            self.assert_loud(run, path)

    def test_emptied(self):
        def mutants():
            for path in paths_of(FULL):
                value = parent_of(FULL, path)[path[-1]]
                for nothing in (None, {} if isinstance(value, dict) else []):
                    tree = copy.deepcopy(FULL)
                    parent_of(tree, path)[path[-1]] = nothing
                    yield (path, nothing), tree

        for (path, nothing), tree, run in self.check_all(mutants()):
            section = len(path) == 1 and path[0] in ("store", "client_address", "bounds", "log")
            if section and nothing == {}:
                self.assertEqual(run.returncode, 0, path)
                self.assert_still_limits(run, tree, path)
            else:
                self.assert_loud(run, (path, nothing))

    def test_zeroed(self):
        """Zero is never "unlimited"."""
        may_be_zero = {"threads", "idle_timeout", "drain_timeout"}

        def mutants():
            for path in paths_of(FULL):
                tree = copy.deepcopy(FULL)
                value = parent_of(tree, path)[path[-1]]
                if isinstance(value, str) and re.match(r"\d+[A-Za-z]*$", value) and path[-1] not in may_be_zero:
                    parent_of(tree, path)[path[-1]] = "0"
                    yield path, tree

        tried = self.check_all(mutants())
        self.assertGreater(len(tried), 10)
        for path, _, run in tried:
            self.assert_loud(run, path)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""mete take, peek and top against a daemon, and against what is none."""

import json
import os
import pty
import re
import select
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import serving

METE = os.environ["METE_BIN"]
CONFIG = """
threads: 2
listen: [{resp: '127.0.0.1:0'}, {http: '127.0.0.1:0'}, {http: 'unix:%s/http'}]
policies:
  api:
    limits: {second: 5/1h burst 5, hour: sliding_window 20/1h}
  login:
    limits: {hour: 3/1h burst 3}
  trial:
    limits: {hour: 1/1h burst 1}
    dry_run: true
users:
  - {name: default, policies: [api, login, trial]}
  - {name: ops, password: "a:b ü", policies: all, may_administer: true}
"""


def run(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "METE_USER"}
    return subprocess.run([METE, *arguments], capture_output=True, timeout=60, env={**environment, **variables})


class Asking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mete-ask-")
        cls.addClassCleanup(cls.folder.cleanup)
        path = os.path.join(cls.folder.name, "mete.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG % cls.folder.name)
        cls.daemon = serving.Daemon("--config", path, listeners=2)
        cls.addClassCleanup(cls.daemon.finish)
        cls.address = "127.0.0.1:%d" % cls.daemon.port("http")

    def ask(self, *arguments, address=None, **variables):
        return run(*arguments, "--connect", address or self.address, **variables)

    def assert_run(self, result, code, out=None, error=None):
        shown = (result.returncode, result.stdout, result.stderr)
        self.assertEqual(result.returncode, code, shown)
        if out is not None:
            self.assertRegex(result.stdout.decode(), out)
        if error is not None:
            self.assertRegex(result.stderr.decode(), error)
            self.assertEqual(result.stdout, b"")
        else:
            self.assertEqual(result.stderr, b"", shown)

    def test_take_until_denied(self):
        for left in [2, 1, 0]:
            self.assert_run(self.ask("take", "login", "ada"), 0, r"\Aallowed\n  hour: %d of 3 left, full in " % left)
        self.assert_run(self.ask("take", "login", "ada"), 1,
                        r"\Adenied: retry after 1[12]\d\d(\.\d+)? s\n  hour: 0 of 3 left, passes in 1[12]\d\d")
        self.assert_run(self.ask("peek", "login", "ada"), 1, r"\Adenied")

    def test_peek_takes_nothing(self):
        for _ in range(5):
            self.assert_run(self.ask("peek", "login", "bea"), 0, r"\Aallowed\n  hour: 3 of 3 left, full in 0 s\n\Z")

    def test_all_limits_are_told(self):
        self.assert_run(self.ask("take", "api", "eve", "--cost", "4"), 0,
                        r"\Aallowed\n  second: 1 of 5 left, .*\n  hour: 16 of 20 left, .*\n\Z")
        self.assert_run(self.ask("take", "api", "eve", "--cost=2"), 1, r"second: 1 of 5 left, passes in .*\n  hour: 16")
        self.assert_run(self.ask("take", "api", "eve", "--cost", "6"), 1,
                        r"\Adenied: the cost is more than the limit ever holds\n  second: 1 of 5 left, never passes")

    def test_dry_run(self):
        self.assert_run(self.ask("take", "trial", "x"), 0, r"\Aallowed\n")
        self.assert_run(self.ask("take", "trial", "x"), 0, r"\Aallowed: dry run, else denied\n")

    def test_json(self):
        result = self.ask("take", "login", "cid", "--json", "--cost", "4")
        self.assertEqual(result.returncode, 1)
        answer = json.loads(result.stdout)
        self.assertEqual((answer["allowed"], answer["remaining"], answer["limit"]), (False, 3, 3))
        self.assertIsNone(answer["retry_after_ms"])

    def test_keys_are_bytes(self):
        for key in [b"", b"\xff\xfe", "ключ".encode(), b'"\\', b"a b&c=d#", b"\x01\x1b[31m", b"k" * 3000]:
            self.assert_run(self.ask(b"take", b"login", key), 0, r"\Aallowed\n  hour: 2 of 3 left")
        # the same key as one that came in base64
        self.assert_run(self.ask("peek", "login", b"\xff\xfe"), 0, r"2 of 3 left")

    def test_unix_socket(self):
        self.assert_run(self.ask("peek", "login", "u", address="unix:" + self.folder.name + "/http"), 0, r"\Aallowed")

    def test_users(self):
        self.assert_run(self.ask("top", "--json"), 3, error=r"\Amete top: user 'default' may not do this")
        self.assert_run(self.ask("top", "--json", METE_USER="ops:wrong"), 3, error=r"\Amete top: ")
        self.assert_run(self.ask("top", "--json", METE_USER="ops:a:b ü"), 0, r"\A\{")
        self.assert_run(self.ask("top", "--json", "--user", "ops:a:b ü", METE_USER="ops:wrong"), 0, r"\A\{")

    def test_who_has_not_logged_in_is_told_how(self):
        path = os.path.join(self.folder.name, "locked.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("listen: [{http: '127.0.0.1:0'}]\npolicies: {api: {limits: {a: 5/1h}}}\n"
                       "users: [{name: ops, password: secret, policies: all}]\n")
        daemon = serving.Daemon("--config", path, listeners=1)
        self.addCleanup(daemon.finish)
        address = "127.0.0.1:%d" % daemon.port("http")
        hint = r"; log in with --user NAME:PASSWORD or METE_USER\n\Z"
        for command in ["take", "api", "k"], ["top", "--json"]:
            self.assert_run(self.ask(*command, address=address), 3, error=r"\Amete " + command[0] + ": .+" + hint)
            self.assert_run(self.ask(*command, address=address, METE_USER=""), 3, error=hint)
        self.assertNotIn(b"log in with", self.ask("take", "api", "k", address=address, METE_USER="ops:wrong").stderr)
        self.assert_run(self.ask("take", "api", "k", address=address, METE_USER="ops:secret"), 0, r"\Aallowed")

    def test_users_have_passwords(self):
        self.assert_run(self.ask("take", "api", "k", METE_USER="ops"), 2,
                        error=r"\Amete take: METE_USER: NAME:PASSWORD expected\n\Z")
        self.assert_run(self.ask("top", "--once", "--user", "ops"), 2,
                        error=r"\Amete top: --user: NAME:PASSWORD expected\n\Z")

    def test_usage(self):
        for arguments, error in [(["take"], "missing POLICY KEY"), (["take", "api"], "missing KEY"),
                                 (["peek", "a", "b", "c"], "too many arguments"),
                                 (["take", "api", "k", "--cost", "-1"], "not a whole number"),
                                 (["take", "nix", "k"], "there is no policy 'nix'"),
                                 (["top", "--interval", "0"], "outside 1..3600")]:
            self.assert_run(self.ask(*arguments), 2, error=error)
        for address in ["", "unix:", "1:2:3", "[::1", "host:", "a b:80", "h:80\r\nX: y", "unix:" + "x" * 200, "h/x"]:
            self.assert_run(self.ask("take", "api", "k", address=address or "[]x"), 2, error=r"--connect: ")

    def test_what_is_no_daemon(self):
        resp = "127.0.0.1:%d" % self.daemon.port("resp")
        self.assert_run(self.ask("take", "api", "k", address=resp), 3, error="does not speak HTTP: is it the RESP")
        self.assert_run(self.ask("take", "api", "k", address="127.0.0.1:1"), 3, error="cannot reach 127.0.0.1:1: .*serve")
        self.assert_run(self.ask("take", "api", "k", address="unix:/nowhere/x"), 3, error="cannot reach unix:/nowhere/x")
        for answer, error in [(b"", "does not speak HTTP"), (b"HTTP/1.1 200 OK\r\n", "does not speak HTTP"),
                              (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "is not whole"),
                              (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "is no mete daemon: status 200"),
                              (b"HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\n<ht>", "is no mete daemon: status 500"),
                              (b"HTTP/1.1 403 No\r\ncontent-length: 17\r\n\r\n" b'{"detail": "out"}', "mete take: out; log in")]:
            self.assert_run(self.ask("take", "api", "k", address=pretender(answer)), 3, error=error)

    def test_top_plain(self):
        for key in [b"\x1b[2J\x07", "名前".encode(), "a\u202eb\u0085".encode(), b"\\x1b"]:
            for _ in range(4):
                self.ask(b"take", b"login", key)
        for _ in range(3):
            self.ask("take", "trial", "")
        result = self.ask("top", "--count", "100", METE_USER="ops:a:b ü")
        self.assert_run(result, 0, r"\Amete \d+\.\d+\.\d+ at 127\.0\.0\.1:\d+, up \d+ s\n")
        text = result.stdout.decode()
        self.assertNotRegex(text, r"[^\n\x20-\x7e\u0400-\u04ff\u3000-\u9fff]")
        for shown in [r"\\x1b\[2J\\x07", "名前", r"a\\xe2\\x80\\xaeb\\xc2\\x85", r"\\x5cx1b"]:
            self.assertRegex(text, r"(?m)^ +1 +login +%s$" % shown)  # denied once each
        self.assertRegex(text, r"(?m)^login +\d+(\.\d)? +\d+(\.\d)? +0 +\d+ +\d+%$")
        denied, allowed = text.split("\nmost denied keys")[1].split("\nmost allowed keys\n")
        self.assertRegex(denied, r"(?m)^ +2 +trial +\(empty\) \(would deny\)$")
        self.assertRegex(allowed, r"(?m)^ +1 +trial +\(empty\)$")
        self.assertNotRegex(text, r"login.*would deny")
        self.assertIn("; 1 connection; ", text)

    def test_top_json(self):
        both = json.loads(self.ask("top", "--json", "--count", "2", METE_USER="ops:a:b ü").stdout)
        self.assertEqual({policy["name"] for policy in both["stats"]["policies"]}, {"api", "login", "trial"})
        self.assertLessEqual(len(both["top"]["allowed"]), 2)

    def test_top_live(self):
        """On a terminal: frames follow each other, and the screen is given back."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        process = subprocess.Popen([METE, "top", "--interval", "1", "--connect", self.address], stdout=slave,
                                   stderr=slave, stdin=slave, env={**os.environ, "METE_USER": "ops:a:b ü"})
        os.close(slave)
        seen = read_until(master, lambda text: text.count(b"\x1b[2J") >= 3)
        self.assertTrue(seen.startswith(b"\x1b[?1049h"), seen[:80])
        process.terminate()
        seen += read_until(master, lambda text: b"\x1b[?1049l" in text)
        self.assertTrue(seen.endswith(b"\x1b[?25h\x1b[?1049l"))
        self.assertEqual(process.wait(30), 0)
        for frame in re.split(rb"\x1b\[2J", seen)[1:]:
            self.assertLessEqual(frame.count(b"\r\n"), 24)  # a terminal of unknown size


def read_until(fd, is_enough, within_s=30):
    text, end = b"", time.monotonic() + within_s
    while not is_enough(text):
        if time.monotonic() > end:
            raise AssertionError(text)
        if select.select([fd], [], [], 0.2)[0]:
            try:
                text += os.read(fd, 65536)
            except OSError:  # the other side is closed
                break
    return text


def pretender(answer):
    """The address of a server that gives one answer to whatever comes."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        with server:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return "127.0.0.1:%d" % server.getsockname()[1]


if __name__ == "__main__":
    unittest.main()

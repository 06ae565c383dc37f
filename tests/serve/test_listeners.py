# SPDX-License-Identifier: Apache-2.0
"""Where the daemon listens: Unix sockets and their permissions, IPv6, none at all, and addresses that cannot be had."""
import json
import os
import signal
import socket
import stat
import subprocess
import unittest

import conf
from daemon import METE, folder, needs, serve, wait_until
from resp import Resp
from web import Web

API = {"api": conf.policy("5/1h")}


class UnixSockets(unittest.TestCase):
    def setUp(self):
        self.place = folder(self)
        self.resp = os.path.join(self.place, "resp.sock")
        self.http = os.path.join(self.place, "http.sock")

    def start(self, **settings):
        daemon = serve(self, conf.config(API, listen=[{"resp": "unix:" + self.resp, **settings},
                                                      {"http": "unix:" + self.http}]), listeners=False)
        wait_until(lambda: os.path.exists(self.http) and daemon.addresses("http"))
        return daemon

    def test_both_protocols(self):
        daemon = self.start()
        self.assertEqual(daemon.addresses("resp"), ["unix:" + self.resp])
        with Resp(self.resp) as client, Web(self.http) as web:
            self.assertEqual(client("CL.THROTTLE", "k", 4, 1, 60), [0, 5, 4, -1, 60])
            self.assertEqual(web.take("api", "k").status, 200)

    def test_others_may_not_connect_unless_told_so(self):
        self.start(unix_mode=660)
        self.assertEqual(stat.S_IMODE(os.stat(self.http).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.resp).st_mode), 0o660)

    def test_the_peers_forwarded_address_is_believed(self):
        """Who may open the socket is a proxy of this machine."""
        self.start()
        with Web(self.http) as web:
            for address in "192.0.2.1", "192.0.2.2":
                statuses = [web.get("/check/api", {"X-Forwarded-For": address}).status for _ in range(6)]
                self.assertEqual(statuses, [200] * 5 + [429])

    def test_a_socket_that_was_left_behind_is_taken_over(self):
        daemon = self.start()
        daemon.kill()
        self.assertTrue(os.path.exists(self.resp))
        daemon.restart()
        wait_until(lambda: daemon.addresses("http"))
        with Resp(self.resp) as client:
            self.assertEqual(client("PING"), "PONG")

    def test_a_socket_in_use_is_not_taken(self):
        self.start()
        run = subprocess.run([METE, "serve", "--resp", "unix:" + self.resp, "--http", "off"], capture_output=True,
                             text=True, timeout=60, check=False)
        self.assertGreater(run.returncode, 0)
        self.assertIn("resp.sock", run.stderr)
        with Resp(self.resp) as client:
            self.assertEqual(client("PING"), "PONG")

    def test_a_file_that_is_no_socket_is_left_alone(self):
        with open(self.resp, "w", encoding="ascii") as file:
            file.write("mine")
        run = subprocess.run([METE, "serve", "--resp", "unix:" + self.resp, "--http", "off"], capture_output=True,
                             text=True, timeout=60, check=False)
        self.assertGreater(run.returncode, 0)
        self.assertIn("resp.sock", run.stderr)
        with open(self.resp, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")

    def test_the_socket_goes_at_the_end(self):
        daemon = self.start()
        self.assertEqual(daemon.terminate(), 0)
        self.assertFalse(os.path.exists(self.resp))


    def test_the_socket_of_the_daemon_that_follows_stays(self):
        """It listens while the first one still finishes its connections."""
        settings = {"listen": [{"resp": "unix:" + self.resp}], "bounds": {"drain_timeout_ms": 2000}}
        first, second = (conf.config(API, **settings) for _ in range(2))
        first = serve(self, first, listeners=False)
        wait_until(lambda: first.addresses("resp"))
        with Resp(self.resp) as held:
            held.raw(b"*1\r\n$4\r\nPI")
            first.signal(signal.SIGTERM)
            first.await_line("draining")
            wait_until(self.is_refused)
            second = serve(self, second, listeners=False)
            wait_until(lambda: second.addresses("resp"))
            self.assertEqual(first.process.wait(20), 0)
        with Resp(self.resp) as client:
            self.assertEqual(client("PING"), "PONG")

    def is_refused(self):
        try:
            Resp(self.resp).close()
            return False
        except ConnectionRefusedError:
            return True


class Addresses(unittest.TestCase):
    def test_two_listeners_of_one_daemon(self):
        """However the address is written: connections must not go to one or the other by chance."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        for other in f"127.0.0.1:{port}", f"localhost:{port}", f"0.0.0.0:{port}":
            run = subprocess.run([METE, "serve", "--resp", f"127.0.0.1:{port}", "--http", other], capture_output=True,
                                 text=True, timeout=60, check=False)
            self.assertGreater(run.returncode, 0)
            self.assertRegex(run.stderr, "already in use|is already listened on")

    def test_ipv6(self):
        daemon = serve(self, listeners=False, args=["--resp", "[::1]:0", "--http", "[::1]:0"])
        address = wait_until(lambda: daemon.addresses("resp"))[0]
        self.assertRegex(address, r"^\[::1\]:\d+$")
        with socket.create_connection(("::1", int(address.rsplit(":", 1)[1])), 10) as stream:
            stream.sendall(b"PING\r\n")
            self.assertEqual(stream.recv(100), b"+PONG\r\n")

    def test_one_protocol_alone(self):
        daemon = serve(self, listeners=False, args=["--resp", "127.0.0.1:0", "--http", "off"])
        wait_until(lambda: daemon.addresses("resp"))
        self.assertEqual(daemon.resp()("PING"), "PONG")
        self.assertEqual(daemon.addresses("http"), [])

    def test_an_address_in_use(self):
        daemon = serve(self)
        host, port = daemon.address("resp")
        run = self.run_briefly("--resp", f"{host}:{port}", "--http", "off")
        self.assertGreater(run.returncode, 0)
        self.assertIn(str(port), run.stderr)

    def test_addresses_that_are_none(self):
        for address in ("", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", ":::1", "[::1]",
                        "300.1.1.1:1", "unix:", "unix:" + "x" * 200, "fd:none"):
            with self.subTest(address=address):
                run = self.run_briefly("--resp", address, "--http", "off")
                self.assertGreater(run.returncode, 0)
                self.assertTrue(run.stderr.strip())

    def test_words_that_are_not_known(self):
        for words in (["--nonsense"], ["--threads", "x"], ["--threads", "-1"], ["--config"],
                      ["--config", "/nowhere/x.yaml"]):
            with self.subTest(words=words):
                run = self.run_briefly("--resp", "127.0.0.1:0", "--http", "off", *words)
                self.assertGreater(run.returncode, 0)
                self.assertIn(words[-1].lstrip("-"), run.stderr)


    def run_briefly(self, *words):
        """What is wrong is found at once; a daemon that serves all the same is ended, with status 0."""
        return subprocess.run([needs("timeout"), "--preserve-status", "3", METE, "serve", *words], capture_output=True,
                              text=True, timeout=60, check=False)


class Logs(unittest.TestCase):
    SECRET = "very-secret-key"

    def use(self, daemon):
        """Allowed, denied, wrong and broken requests, all with the key in them."""
        with daemon.resp() as client, daemon.web() as web:
            for _ in range(7):
                client("METE.TAKE", "api", self.SECRET)
                web.take("api", self.SECRET)
            client("METE.TAKE", "none", self.SECRET)
            client("METE.TAKE", "api", self.SECRET, "COST", "x")
            client(self.SECRET, "x")
            client("AUTH", self.SECRET, self.SECRET)
            web.take("none", self.SECRET)
            web.get("/" + self.SECRET, {"Authorization": self.SECRET})
            client.raw(f"*1\r\n:{self.SECRET}\r\n".encode())
            client.read()
        with daemon.resp() as client:
            client.raw(f'"{self.SECRET}\r\n'.encode())
            client.read()
        daemon.signal(signal.SIGHUP)
        self.assertEqual(daemon.terminate(), 0)
        daemon.reader.join(10)

    def test_keys_and_passwords_are_not_logged(self):
        daemon = serve(self, conf.config(API, log={"level": "debug"}))
        self.use(daemon)
        self.assertNotIn(self.SECRET, "\n".join(daemon.lines))

    def test_every_line_is_logfmt(self):
        daemon = serve(self, conf.config(API, log={"level": "debug"}))
        self.use(daemon)
        value = r'(?:"(?:[^"\\\x00-\x1f]|\\.)*"|[^\s"=]*)'
        for line in daemon.lines:
            self.assertRegex(line, rf"^time=\S+Z level=(debug|info|warn|error) event={value}( [a-z0-9_]+={value})*$")

    def test_every_line_is_json(self):
        daemon = serve(self, conf.config(API, log={"level": "debug", "format": "json"}), listeners=False,
                       args=["--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        wait_until(lambda: len(daemon.lines) >= 2)
        self.assertEqual(daemon.terminate(), 0)
        daemon.reader.join(10)
        for line in daemon.lines:
            fields = json.loads(line)
            self.assertLessEqual({"time", "level", "event"}, set(fields))
            self.assertNotIn(self.SECRET, line)


if __name__ == "__main__":
    unittest.main()

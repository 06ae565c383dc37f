# SPDX-License-Identifier: Apache-2.0
"""A reload and who is connected: rights change at once, and what cannot change while the daemon runs is refused."""
import os
import signal
import socket
import threading
import time
import unittest

import conf
from daemon import NOT_RELOADED, RELOADED, SANITIZED, folder, serve, wait_until
from resp import ErrorReply, encode, pairs

API = {"api": conf.policy("5/1h"), "other": conf.policy("5/1h")}


class Case(unittest.TestCase):
    def hangup(self, config, pattern=RELOADED):
        since = len(self.daemon.lines)
        self.daemon.write(config)
        self.daemon.signal(signal.SIGHUP)
        return self.daemon.await_line(pattern, since)


class Rights(Case):
    def start(self, **users):
        self.daemon = serve(self, conf.config(API, users=users))
        self.client = self.daemon.resp()

    def code(self, *command):
        reply = self.client(*command)
        return reply.code if isinstance(reply, ErrorReply) else "OK"

    def test_a_right_that_is_taken_away(self):
        self.start(app=conf.user(password="pw", policies="all", may_bring_limits=True))
        self.client("AUTH", "app", "pw")
        self.assertEqual(self.code("METE.TAKE", "other", "k"), "OK")
        self.assertEqual(self.code("CL.THROTTLE", "k", 4, 1, 60), "OK")
        self.hangup(conf.config(API, users={"app": conf.user(password="pw", policies=["api"])}))
        wait_until(lambda: self.code("METE.TAKE", "other", "k") == "NOPERM")
        self.assertEqual(self.code("METE.TAKE", "api", "k"), "OK")
        self.assertEqual(self.code("CL.THROTTLE", "k", 4, 1, 60), "NOPERM")

    def test_a_user_that_goes_is_logged_out(self):
        self.start(app=conf.user(password="pw", policies="all"), root=conf.user(password="r", policies="all"))
        self.client("AUTH", "app", "pw")
        self.hangup(conf.config(API, users={"root": conf.user(password="r", policies="all")}))
        wait_until(lambda: self.code("METE.TAKE", "api", "k") == "NOAUTH")
        self.assertEqual(self.code("AUTH", "app", "pw"), "WRONGPASS")
        self.assertEqual(self.code("AUTH", "root", "r"), "OK")

    def test_another_order_of_policies(self):
        """Rights are by name, whatever the place in the file."""
        self.start(app=conf.user(password="pw", policies=["other"]))
        self.client("AUTH", "app", "pw")
        self.hangup(conf.config({"aaa": conf.policy("5/1h"), "other": conf.policy("6/1h"), "api": conf.policy("5/1h")},
                                users={"app": conf.user(password="pw", policies=["other"])}))
        wait_until(lambda: pairs(self.client("METE.PEEK", "other", "k"))["limit"] == 6)
        self.assertEqual((self.code("METE.TAKE", "aaa", "k"), self.code("METE.TAKE", "api", "k")), ("NOPERM", "NOPERM"))

    def test_users_appear(self):
        """Until then everybody may do everything; then all must log in."""
        self.daemon = serve(self, conf.config(API))
        self.client = self.daemon.resp()
        self.assertEqual(self.code("METE.TAKE", "api", "k"), "OK")
        self.hangup(conf.config(API, users={"app": conf.user(password="pw", policies="all")}))
        wait_until(lambda: self.code("METE.TAKE", "api", "k") == "NOAUTH")


class Fixed(Case):
    """The store is made once: a file that asks for another one is not taken, rather than half of it."""

    def test_the_store(self):
        store = {"path": os.path.join(folder(self), "store"), "keys_max": 10000}
        for change in {"keys_max": 20000}, {"path": os.path.join(folder(self), "another")}:
            with self.subTest(change=change):
                self.daemon = serve(self, conf.config(API, store=store))
                self.hangup(conf.config({"api": conf.policy("9/1h"), "other": conf.policy("5/1h")},
                                        store={**store, **change}), NOT_RELOADED + ".*store|restart")
                with self.daemon.resp() as client:
                    self.assertEqual(pairs(client("METE.PEEK", "api", "k"))["limit"], 5)
                self.assertEqual(self.daemon.terminate(), 0)

    def test_bounds_change_for_those_who_are_connected(self):
        self.daemon = serve(self, conf.config(API))
        with self.daemon.resp() as client:
            client("PING")
            self.hangup(conf.config(API, bounds={"request_bytes_max": 1024}))
            wait_until(lambda: self.is_refused(2000))
            self.assertEqual(client("PING"), "PONG")

    def test_higher_bounds_are_those_of_who_is_connected(self):
        """Replies above the old bound wait until they are read, and requests above it are taken."""
        self.daemon = serve(self, conf.config(API, bounds={"output_bytes_max": 4096, "request_bytes_max": 1024}))
        with self.daemon.resp() as client, self.daemon.resp() as other:
            client("PING")
            other("PING")
            self.hangup(conf.config(API, bounds={"output_bytes_max": 1 << 27, "request_bytes_max": 1 << 20}))
            wait_until(lambda: not self.is_refused(2000))
            count, command = 200, encode("PING", "x" * 100000)
            sender = threading.Thread(target=client.raw, args=(command * count,))
            sender.start()
            time.sleep(1)
            self.assertEqual(other("PING"), "PONG")
            for _ in range(count):
                self.assertEqual(len(client.read()), 100000)
            sender.join()

    def test_a_bound_becomes_lower_in_the_middle_of_a_request(self):
        body = b'{"policy":"api","key":"k"}'
        for pad, status in ((b" " * 3000, b"413"), (b"", b"431")):
            with self.subTest(status=status):
                self.daemon = serve(self, conf.config(API), threads=1)
                with socket.create_connection(self.daemon.address("http"), 20) as stream:
                    field = b"" if pad else b"X-Pad: " + b"p" * 3000 + b"\r\n"
                    stream.sendall(b"POST /v1/take HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\n" + field +
                                   b"Content-Length: %d\r\n\r\n" % len(body + pad) + body[:5])
                    self.hangup(conf.config(API, bounds={"request_bytes_max": 1024}))
                    wait_until(lambda: self.is_refused(2000))
                    stream.sendall(body[5:] + pad)
                    self.assertEqual(stream.recv(65536).split()[1], status)
                self.assertEqual(self.daemon.terminate(), 0)

    def test_a_thousand_policies_are_taken_at_once(self):
        """Connections are not kept waiting by what a reload looks up."""
        plans = ", ".join(f"q{i}: {{a: {i + 2}/s}}" for i in range(45))
        policies = "".join(f"  p{i}: {{limits: {{a: 1/s}}, plans: {{{plans}}}}}\n" for i in range(1000))
        self.daemon = serve(self, "policies:\n" + policies)
        begun = time.monotonic()
        self.hangup("log: {keys: true}\npolicies:\n" + policies)
        self.assertLess(time.monotonic() - begun, 20 if SANITIZED else 3)

    def test_many_reloads_take_no_more_memory(self):
        self.daemon = serve(self, conf.config(API))
        before = 0
        for turn in range(100):
            self.hangup(conf.config({"api": conf.policy(f"{5 + turn % 7}/1h"), f"p{turn % 5}": conf.policy("9/1h")}))
            if turn == 30:
                before = self.daemon.rss_bytes()
        self.assertLess(self.daemon.rss_bytes() - before, (4 << 20) * (20 if SANITIZED else 1))

    def is_refused(self, size):
        with self.daemon.resp() as client:
            return isinstance(client("PING", "x" * size), ErrorReply)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""mete under a service manager of the test's own: messages that it gets, sockets that it hands over."""

import fcntl
import os
import signal
import socket
import tempfile
import unittest

from serving import Daemon, WAIT_S, run, wait_until

PING, PONG = b"PING\r\n", b"+PONG\r\n"


def ask(address, bytes_out=PING, family=socket.AF_INET):
    with socket.socket(family) as client:
        client.settimeout(WAIT_S)
        client.connect(address)
        client.sendall(bytes_out)
        return client.recv(100)


class Messages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.config = os.path.join(self.folder, "mete.yaml")
        self.write("policies: {example: {limits: {steady: 5/1m}}}\n")

    def write(self, text):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)

    def manager(self, name):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.settimeout(WAIT_S)
        manager.bind(name.replace("@", "\0", 1) if name.startswith("@") else name)
        return manager

    def serve(self, name):
        daemon = Daemon("--config", self.config, "--resp", "127.0.0.1:0", "--http", "off", listeners=1,
                        env={**os.environ, "NOTIFY_SOCKET": name})
        self.addCleanup(daemon.finish)
        return daemon

    def test_a_life_in_messages(self):
        name = os.path.join(self.folder, "notify")
        manager = self.manager(name)
        daemon = self.serve(name)
        self.assertEqual(manager.recv(1000), b"READY=1")
        self.assertEqual(ask(("127.0.0.1", daemon.port("resp"))), PONG)
        daemon.process.send_signal(signal.SIGHUP)
        self.assertEqual(manager.recv(1000).split(b"\n")[0], b"RELOADING=1")
        self.assertEqual(manager.recv(1000), b"READY=1")
        daemon.process.terminate()
        self.assertEqual(manager.recv(1000), b"STOPPING=1")
        self.assertEqual(daemon.process.wait(WAIT_S), 0)

    def test_a_bad_configuration_ends_a_reload_too(self):
        name = f"@mete-test-{os.getpid()}"
        manager = self.manager(name)
        daemon = self.serve(name)
        self.assertEqual(manager.recv(1000), b"READY=1")
        self.write("policies: 7\n")
        daemon.process.send_signal(signal.SIGHUP)
        self.assertEqual(manager.recv(1000).split(b"\n")[0], b"RELOADING=1")
        self.assertEqual(manager.recv(1000), b"READY=1")
        wait_until(lambda: daemon.said("the old one stays"))
        self.assertEqual(ask(("127.0.0.1", daemon.port("resp"))), PONG)

    def test_it_is_not_ready_when_it_cannot_serve(self):
        name = os.path.join(self.folder, "notify")
        manager = self.manager(name)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = run(os.environ["METE_BIN"], "serve", "--config", self.config, "--http", "off", "--resp",
                       f"127.0.0.1:{taken.getsockname()[1]}", env={**os.environ, "NOTIFY_SOCKET": name})
        self.assertNotEqual(done.returncode, 0)
        manager.setblocking(False)
        self.assertRaises(BlockingIOError, manager.recv, 1000)

    def test_a_manager_that_is_gone(self):
        daemon = self.serve(os.path.join(self.folder, "nobody"))
        self.assertEqual(ask(("127.0.0.1", daemon.port("resp"))), PONG)


class Activation(unittest.TestCase):
    def sockets(self, *families):
        """Listening sockets, as systemd would hold them."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        held = []
        for family in families:
            one = socket.socket(family)
            self.addCleanup(one.close)
            one.bind(("127.0.0.1", 0) if family == socket.AF_INET else os.path.join(folder.name, "socket"))
            one.listen()
            held.append(one)
        return held

    @staticmethod
    def hand_over(held, names, pid_off=0):
        """Options that make the sockets descriptors 3, 4, ... of a child with LISTEN_PID."""
        def in_child():
            above = [fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, 64) for one in held]
            for number, copy in enumerate(above):
                os.dup2(copy, 3 + number)
            os.environ.update(LISTEN_PID=str(os.getpid() + pid_off), LISTEN_FDS=str(len(held)))
            if names is not None:
                os.environ["LISTEN_FDNAMES"] = names
        return {"preexec_fn": in_child, "close_fds": False}

    def serve(self, held, names, *arguments):
        daemon = Daemon(*arguments, **self.hand_over(held, names))
        self.addCleanup(daemon.finish)
        return daemon

    def test_by_number_from_the_configuration(self):
        """As docs/systemd.md says; both sockets of a unit have its name."""
        held = self.sockets(socket.AF_INET, socket.AF_INET)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
            config.write('listen:\n  - resp: "fd:0"\n  - http: "fd:1"\npolicies: {p: {limits: {l: 5/s}}}\n')
            config.flush()
            daemon = self.serve(held, "mete.socket:mete.socket", "--config", config.name, "--threads", "2")
            wait_until(lambda: len(daemon.addresses()) == 2)
        for _ in range(10):
            self.assertEqual(ask(held[0].getsockname()), PONG)
        answer = ask(held[1].getsockname(), b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(answer.split(b"\r\n")[0], b"HTTP/1.1 200 OK")

    def test_by_name(self):
        held = self.sockets(socket.AF_UNIX, socket.AF_INET)
        self.serve(held, "local:resp", "--resp", "fd:resp", "--http", "off")
        self.assertEqual(ask(held[1].getsockname()), PONG)

    def test_a_unix_socket(self):
        held = self.sockets(socket.AF_UNIX)
        self.serve(held, "local", "--resp", "fd:local", "--http", "off")
        self.assertEqual(ask(held[0].getsockname(), family=socket.AF_UNIX), PONG)

    def test_clients_wait_while_it_restarts(self):
        held = self.sockets(socket.AF_INET)
        address = held[0].getsockname()
        first = Daemon("--resp", "fd:0", "--http", "off", **self.hand_over(held, None))
        self.assertEqual(ask(address), PONG)
        self.assertEqual(first.end(), 0)
        with socket.create_connection(address, WAIT_S) as waiting:
            waiting.sendall(PING)
            self.serve(held, None, "--resp", "fd:0", "--http", "off")
            self.assertEqual(waiting.recv(100), PONG)

    def refused(self, held, names, address, pid_off=0):
        done = run(os.environ["METE_BIN"], "serve", "--http", "off", "--resp", address,
                   **self.hand_over(held, names, pid_off))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(address, done.stderr)

    def test_sockets_that_are_not_there(self):
        held = self.sockets(socket.AF_INET)
        self.refused(held, "resp", "fd:http")
        self.refused(held, "resp", "fd:1")
        self.refused(held, "resp", "fd:resp", pid_off=1)
        self.refused([], None, "fd:0")


if __name__ == "__main__":
    unittest.main()

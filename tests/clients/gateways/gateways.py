# SPDX-License-Identifier: Apache-2.0
"""Caddy, Traefik and Envoy in front of an application, each asking /check/POLICY of mete first."""

import base64
import http.client
import http.server
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap  # noqa: E402

WAIT_S = 30
PORTS_TRIED = 3  # a free one may be taken before the gateway has it
LIMIT = 20  # of the policy "gateway"
# Clients with addresses of their own: the whole of 127.0.0.0/8 is this machine.
addresses = (f"127.{int(time.time()) % 200 + 20}.{high}.{low}" for high in itertools.count() for low in range(1, 255))


class Application(http.server.BaseHTTPRequestHandler):
    """Tells what of a request it got."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        told = json.dumps({"method": self.command, "path": self.path, "body": body.decode(),
                           "ratelimit": self.headers.get("RateLimit"),
                           "authorization": self.headers.get("Authorization")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told if self.command != "HEAD" else b"")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *arguments):
        pass


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def needed(name):
    value = os.environ.get(name)
    if not value:
        sys.exit(f"{name} is not set: run tests/clients/run")
    return value


def program(name):
    found = shutil.which(name, path=needed("METE_CLIENTS_BIN"))
    if found is None:
        raise AssertionError(f"{name} is not in {needed('METE_CLIENTS_BIN')}")
    return found


class Gateway:
    """The tests of every gateway; the classes below start one each."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.application = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Application)
        cls.application.daemon_threads = True
        threading.Thread(target=cls.application.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.application.server_close)
        cls.addClassCleanup(cls.application.shutdown)
        cls.log = open(os.path.join(cls.directory, "log"), "w+", encoding="utf-8")
        cls.addClassCleanup(cls.log.close)
        home = {**os.environ, "HOME": cls.directory, "XDG_DATA_HOME": cls.directory, "XDG_CONFIG_HOME": cls.directory}
        for _ in range(PORTS_TRIED):
            cls.port = free_port()
            cls.process = subprocess.Popen(cls.command(), cwd=cls.directory, env=home, stdin=subprocess.DEVNULL,
                                           stdout=cls.log, stderr=subprocess.STDOUT)
            cls.addClassCleanup(cls.end, cls.process)
            if cls.is_up():
                return
        cls.log.seek(0)
        raise AssertionError(f"the gateway did not come up:\n{cls.log.read()[-4000:]}")

    @classmethod
    def configuration(cls, *names):
        """Writes the files with what is known only now; the path of the first."""
        mete = needed("METE_OPEN_HTTP")
        application = "127.0.0.1:%d" % cls.application.server_address[1]
        values = {"METE": mete, "METE_HOST": mete.split(":")[0], "METE_PORT": mete.split(":")[1], "PORT": cls.port,
                  "APPLICATION": application, "APPLICATION_PORT": application.split(":")[1],
                  "DIRECTORY": cls.directory, "LOCKED": needed("METE_LOCKED_HTTP"),
                  "LOGIN": base64.b64encode(b"client:p@ss/word:1").decode()}
        for name in names:
            text = (HERE / name).read_text(encoding="utf-8")
            for key, value in values.items():
                text = text.replace(f"@{key}@", str(value))
            Path(cls.directory, name).write_text(text, encoding="utf-8")
        return os.path.join(cls.directory, names[0])

    @classmethod
    def is_up(cls):
        """After some time; False when it has ended, as it does when its port was taken meanwhile."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and cls.process.poll() is None:
            try:
                if cls.ask("/", next(addresses)).status == 200:
                    return True
            except OSError:
                pass
            time.sleep(0.05)
        return False

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(WAIT_S)
        finally:
            process.kill()
            process.wait()

    @classmethod
    def ask(cls, path, address, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", cls.port, WAIT_S, source_address=(address, 0))
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def test_allowed_reaches_the_application(self):
        answer = self.ask("/some/page?a=b%20c", next(addresses))
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json()["path"], "/some/page?a=b%20c")
        self.assertRegex(answer.json()["ratelimit"], r'^"all";r=19;t=\d+$')

    def test_every_method_and_its_body_pass(self):
        address = next(addresses)
        for method, body in (("POST", "x=1"), ("PUT", "y" * 100_000), ("DELETE", None), ("GET", None)):
            answer = self.ask("/thing", address, method, body)
            self.assertEqual((answer.status, answer.json()["method"]), (200, method))
            self.assertEqual(answer.json()["body"], body or "")
        self.assertEqual(self.ask("/thing", address, "HEAD").status, 200)
        # Five requests were five units.
        self.assertIn(f"r={LIMIT - 6};", self.ask("/", address).json()["ratelimit"])

    def test_denied_with_the_answer_of_mete(self):
        address = next(addresses)
        answers = [self.ask("/", address) for _ in range(LIMIT + 2)]
        self.assertEqual([answer.status for answer in answers], [200] * LIMIT + [429] * 2)
        denied = answers[-1]
        self.assertTrue(0 < int(denied.headers["Retry-After"]) <= 86400, denied.headers["Retry-After"])
        self.assertEqual(denied.headers["RateLimit-Policy"], '"all";q=20;w=86400')
        self.assertRegex(denied.headers["RateLimit"], r'^"all";r=0;t=\d+$')
        self.assertEqual(denied.headers["X-RateLimit-Remaining"], "0")
        self.assertEqual(denied.headers["Content-Type"], "application/problem+json")
        self.assertEqual((denied.json()["status"], denied.json()["violated-policies"]), (429, ["all"]))

    def test_a_denied_post_leaves_the_connection_in_step(self):
        address = next(addresses)
        for _ in range(LIMIT):
            self.ask("/", address)
        for _ in range(3):
            self.assertEqual(self.ask("/", address, "POST", "z" * 50_000).status, 429)
        self.assertEqual(self.ask("/", next(addresses)).status, 200)

    def test_each_address_has_its_own_units(self):
        first, second = next(addresses), next(addresses)
        for _ in range(LIMIT):
            self.ask("/", first)
        self.assertEqual(self.ask("/", first).status, 429)
        self.assertEqual(self.ask("/", second).status, 200)

    def test_a_client_cannot_pass_for_another(self):
        address = next(addresses)
        for i in range(LIMIT):
            self.ask("/", address, X_Forwarded_For=f"192.0.2.{i}", X_Real_IP=f"192.0.2.{i}",
                     Forwarded=f"for=192.0.2.{i}")
        self.assertEqual(self.ask("/", address, X_Forwarded_For="192.0.2.200").status, 429)

    def test_what_clients_send_for_the_application_is_no_login(self):
        login = "Basic bm9ib2R5Om5vdGhpbmc="
        answer = self.ask("/", next(addresses), Authorization=login, Cookie="a=b")
        self.assertEqual((answer.status, answer.json()["authorization"]), (200, login))

    def test_together_exactly_the_limit_passes(self):
        for _ in range(3):
            address = next(addresses)
            with ThreadPoolExecutor(8) as pool:
                statuses = list(pool.map(lambda _, address=address: self.ask("/", address).status, range(60)))
            self.assertEqual((statuses.count(200), statuses.count(429)), (LIMIT, 60 - LIMIT))


class KeyedGateway(Gateway):
    """Those that tell mete the path and all the fields."""

    def test_key_of_a_header_and_the_path(self):
        address, user = next(addresses), f"user-{time.time_ns()}"
        for path, who in (("/keyed/a", user), ("/keyed/b", user), ("/keyed/a", user + "-2")):
            statuses = [self.ask(f"{path}?n={n}", address, X_User=who).status for n in range(4)]
            self.assertEqual(statuses, [200, 200, 200, 429], (path, who))


class CaddyTest(KeyedGateway, unittest.TestCase):
    @classmethod
    def command(cls):
        return [program("caddy"), "run", "--adapter", "caddyfile", "--config", cls.configuration("Caddyfile")]

    def test_gateway_logs_in_where_everybody_must(self):
        address, login = next(addresses), "Bearer of:the-application"
        statuses = [self.ask("/locked/", address, Authorization=login).status for _ in range(101)]
        self.assertEqual(statuses, [200] * 100 + [429])
        answer = self.ask("/locked/", next(addresses), Authorization=login)
        self.assertEqual(answer.json()["authorization"], login)


class TraefikTest(KeyedGateway, unittest.TestCase):
    @classmethod
    def command(cls):
        return [program("traefik"), f"--configFile={cls.configuration('traefik.yaml', 'traefik_routes.yaml')}"]


class EnvoyTest(Gateway, unittest.TestCase):
    @classmethod
    def command(cls):
        return [program("envoy"), "--config-path", cls.configuration("envoy.yaml"), "--concurrency", "2",
                "--use-dynamic-base-id", "--log-level", "warning"]

    def test_allowed_tells_the_client_what_remains(self):
        answer = self.ask("/", next(addresses))
        self.assertEqual(answer.headers["X-RateLimit-Remaining"], "19")
        self.assertRegex(answer.headers["RateLimit"], r'^"all";r=19;t=\d+$')


if __name__ == "__main__":
    sys.exit(tap.main(is_with_class=True))

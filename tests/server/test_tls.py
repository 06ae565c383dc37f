# SPDX-License-Identifier: Apache-2.0
"""TLS and mutual TLS of a running daemon, by Python's ssl, curl and redis-cli: both protocols, certificates that
change while connections live, and clients that do not belong here."""

import http.client
import json
import os
import shutil
import socket
import ssl
import tempfile
import unittest

from serving import Daemon, WAIT_S, run, wait_until

SUBJECT_ALT_NAME = "subjectAltName=DNS:localhost,IP:127.0.0.1"


def needs(program):
    if shutil.which(program) is None:
        raise AssertionError(f"{program} is not installed: run tools/install-deps test")
    return program


def openssl(*arguments, cwd):
    done = run(needs("openssl"), *arguments, cwd=cwd)
    if done.returncode != 0:
        raise AssertionError(f"openssl {' '.join(arguments)}: {done.stderr}")


def make_identity(folder, name, issuer=None, extensions=()):
    """NAME.pem and NAME.key, signed by an issuer made before, or by itself."""
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/O=mete/CN={name}"]
    if issuer is not None:
        openssl(*[word for word in words if word not in ("-x509", "-days", "2")], cwd=folder)
        with open(os.path.join(folder, "extensions"), "w", encoding="utf-8") as file:
            file.write("basicConstraints=CA:FALSE\n" + "".join(f"{line}\n" for line in extensions))
        openssl("x509", "-req", "-in", f"{name}.pem", "-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key",
                "-CAcreateserial", "-days", "2", "-extfile", "extensions", "-out", f"{name}.pem", cwd=folder)
    else:
        openssl(*words, cwd=folder)


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.made = kept.name
        make_identity(cls.made, "authority")
        make_identity(cls.made, "stranger")
        for name in ("server", "renewed"):
            make_identity(cls.made, name, "authority", [SUBJECT_ALT_NAME, "extendedKeyUsage=serverAuth"])
        for name, issuer in (("alice", "authority"), ("bob", "authority"), ("mallory", "stranger")):
            make_identity(cls.made, name, issuer, ["extendedKeyUsage=clientAuth"])

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.use("server")

    def made_file(self, name):
        return os.path.join(self.made, name)

    def use(self, certificate, key=None):
        """Puts them where the daemon looks, each at once."""
        for source, name in ((f"{certificate}.pem", "now.pem"), (f"{key or certificate}.key", "now.key")):
            new = os.path.join(self.folder, name + ".new")
            shutil.copy(self.made_file(source), new)
            os.replace(new, os.path.join(self.folder, name))

    def serve(self, is_mutual=False, **more):
        tls = {"certificate": os.path.join(self.folder, "now.pem"), "key": os.path.join(self.folder, "now.key")}
        if is_mutual:
            tls["client_ca"] = self.made_file("authority.pem")
        listen = [{"resp": "127.0.0.1:0", "tls": True}, {"http": "127.0.0.1:0", "tls": True}]
        config = {"tls": tls, "listen": listen, "log": {"level": "debug"},
                  "policies": {"example": {"limits": {"steady": "3/1h"}}}, **more}
        path = os.path.join(self.folder, "mete.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(config).replace('"1s"', "1s"))
        daemon = Daemon("--config", path, "--threads", "2", listeners=2)
        self.addCleanup(daemon.finish)
        return daemon

    def context(self, client=None, version=None):
        context = ssl.create_default_context(cafile=self.made_file("authority.pem"))
        if client is not None:
            context.load_cert_chain(self.made_file(f"{client}.pem"), self.made_file(f"{client}.key"))
        if version is not None:
            context.minimum_version = context.maximum_version = version
        return context

    def connect(self, port, **options):
        plain = socket.create_connection(("127.0.0.1", port), WAIT_S)
        self.addCleanup(plain.close)
        client = self.context(**options).wrap_socket(plain, server_hostname="localhost")
        self.addCleanup(client.close)
        return client

    def ask(self, client, command, answer):
        client.sendall(command)
        self.assertEqual(read_exactly(client, len(answer)), answer)

    def expect_refused(self, port, **options):
        """Since TLS 1.3 a client learns only after its handshake that it is not let in."""
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            client = self.connect(port, **options)
            client.sendall(b"PING\r\n")
            if client.recv(100) == b"":
                raise ConnectionError("closed")

    # --- one way ------------------------------------------------------------------------

    def test_both_versions(self):
        port = self.serve().port("resp")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            client = self.connect(port, version=version)
            self.ask(client, b"PING\r\n", b"+PONG\r\n")
            self.assertEqual(client.getpeercert()["subject"][1][0], ("commonName", "server"))
            client.unwrap()

    def test_a_long_pipeline(self):
        client = self.connect(self.serve().port("resp"))
        count = 20000
        # More than fits on the way back, so it is sent while answers are read.
        payload = b"x" * 50
        request = b"*2\r\n$4\r\nECHO\r\n$50\r\n" + payload + b"\r\n"
        answer = b"$50\r\n" + payload + b"\r\n"
        for _ in range(count // 100):
            self.ask(client, request * 100, answer * 100)

    def test_a_handshake_byte_by_byte(self):
        port = self.serve().port("resp")
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = self.context().wrap_bio(into, out, server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", port), WAIT_S) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def until_done(call):
                while True:
                    try:
                        return call()
                    except ssl.SSLWantReadError:
                        for byte in out.read():
                            plain.sendall(bytes([byte]))
                        into.write(plain.recv(65536))
            until_done(client.do_handshake)
            client.write(b"PING\r\n")
            self.assertEqual(until_done(lambda: client.read(100)), b"+PONG\r\n")

    def test_what_is_no_tls(self):
        daemon = self.serve()
        port = daemon.port("resp")
        for bytes_out in (b"PING\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello", os.urandom(300)):
            with socket.create_connection(("127.0.0.1", port), WAIT_S) as plain:
                plain.sendall(bytes_out)
                plain.shutdown(socket.SHUT_WR)
                answer = b""
                while piece := plain.recv(1000):
                    answer += piece
                self.assertNotIn(b"PONG", answer)
        wait_until(lambda: daemon.said("wrong version number"))
        self.ask(self.connect(port), b"PING\r\n", b"+PONG\r\n")

    def test_what_begins_and_does_not_end(self):
        """A handshake or a record, a byte now and then: as slow as a request may be, and no slower."""
        daemon = self.serve(bounds={"request_timeout": "1s"})
        port = daemon.port("resp")
        client = self.connect(port)
        self.ask(client, b"PING\r\n", b"+PONG\r\n")
        quiet = self.connect(port)
        with socket.create_connection(("127.0.0.1", port), WAIT_S) as handshake:
            self.expect_ended(handshake, b"\x16\x03\x01\x01\x00" + b"\x01" * 250)
        with socket.socket(fileno=os.dup(client.fileno())) as record:
            self.expect_ended(record, b"\x17\x03\x03\x01\x00" + b"x" * 250)
        self.ask(quiet, b"PING\r\n", b"+PONG\r\n")

    def expect_ended(self, stream, data):
        stream.settimeout(0.2)
        for i in range(len(data)):
            try:
                stream.sendall(data[i:i + 1])
                if stream.recv(100) == b"":
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
        self.fail("it was kept")

    def test_who_closes_after_its_requests_gets_all_replies(self):
        """The close comes with them, and more replies than may wait."""
        daemon = self.serve(bounds={"output_bytes_max": 4096})
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = self.context().wrap_bio(received, sent, server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", daemon.port("resp")), WAIT_S) as stream:
            while True:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    stream.sendall(sent.read())
                    received.write(stream.recv(65536))
            client.write(b"ECHO 0123456789\r\n" * 3000)
            with self.assertRaises(ssl.SSLWantReadError):
                client.unwrap()
            stream.sendall(sent.read())
            replies = b""
            while piece := stream.recv(65536):
                received.write(piece)
                try:
                    while text := client.read(65536):
                        replies += text
                except ssl.SSLError:  # no more, or the end
                    pass
        self.assertEqual(replies, b"$10\r\n0123456789\r\n" * 3000)

    def test_an_old_version_is_refused(self):
        port = self.serve().port("resp")
        done = run(needs("openssl"), "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_1", "-cipher",
                   "ALL:@SECLEVEL=0", input="")
        self.assertNotEqual(done.returncode, 0)

    def test_who_goes_away_in_the_middle(self):
        port = self.serve().port("resp")
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = self.context().wrap_bio(into, out, server_hostname="localhost")
        self.assertRaises(ssl.SSLWantReadError, client.do_handshake)
        hello = out.read()
        for end in range(0, len(hello), 40):
            with socket.create_connection(("127.0.0.1", port), WAIT_S) as plain:
                plain.sendall(hello[:end])
        self.ask(self.connect(port), b"PING\r\n", b"+PONG\r\n")

    def test_redis_cli(self):
        port = self.serve().port("resp")
        done = run(needs("redis-cli"), "-h", "127.0.0.1", "-p", str(port), "--tls", "--cacert",
                   self.made_file("authority.pem"), "METE.TAKE", "example", "me")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\d")
        self.assertNotIn("ERR", done.stdout)

    # --- HTTP ---------------------------------------------------------------------------

    def curl(self, port, path, *words):
        done = run(needs("curl"), "--silent", "--show-error", "--max-time", str(WAIT_S), "--output", os.devnull,
                   "--write-out", "%{http_code} %{http_version}", "--cacert", self.made_file("authority.pem"), *words,
                   f"https://localhost:{port}{path}", "--ipv4")
        return done.returncode, done.stdout

    def test_curl(self):
        """It offers HTTP/2 and 1.1 by ALPN."""
        port = self.serve().port("http")
        self.assertEqual(self.curl(port, "/healthz"), (0, "200 1.1"))
        answers = [self.curl(port, "/v1/take?policy=example&key=me")[1] for _ in range(4)]
        self.assertEqual(answers, ["200 1.1"] * 3 + ["429 1.1"])

    def test_http_with_keep_alive(self):
        port = self.serve().port("http")
        client = http.client.HTTPSConnection("localhost", port, timeout=WAIT_S, context=self.context())
        self.addCleanup(client.close)
        statuses = []
        for _ in range(4):
            client.request("POST", "/v1/take?policy=example&key=me")
            answer = client.getresponse()
            answer.read()
            statuses.append(answer.status)
            first = client.sock if len(statuses) == 1 else first
            self.assertIs(client.sock, first)
        self.assertEqual(statuses, [200, 200, 200, 429])

    # --- mutual -------------------------------------------------------------------------

    def serve_mutual(self):
        return self.serve(is_mutual=True, users=[{"name": "alice", "certificate_name": "alice", "policies": "all"}])

    def test_who_shows_a_certificate(self):
        port = self.serve_mutual().port("resp")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            client = self.connect(port, client="alice", version=version)
            client.sendall(b"METE.PEEK example me\r\n")
            self.assertNotEqual(read_exactly(client, 1), b"-")

    def test_who_shows_none_or_a_wrong_one(self):
        daemon = self.serve_mutual()
        port = daemon.port("resp")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            self.expect_refused(port, version=version)
            self.expect_refused(port, version=version, client="mallory")
        wait_until(lambda: daemon.said("peer did not return a certificate"))
        wait_until(lambda: daemon.said("unable to get local issuer certificate"))

    def test_a_certificate_of_no_user_must_log_in(self):
        client = self.connect(self.serve_mutual().port("resp"), client="bob")
        client.sendall(b"METE.PEEK example me\r\n")
        self.assertEqual(read_exactly(client, 7), b"-NOAUTH")

    def test_curl_with_a_certificate(self):
        port = self.serve_mutual().port("http")
        words = ["--cert", self.made_file("alice.pem"), "--key", self.made_file("alice.key")]
        self.assertEqual(self.curl(port, "/v1/take?policy=example&key=me", *words), (0, "200 1.1"))
        status, said = self.curl(port, "/healthz")
        self.assertNotEqual(status, 0)
        self.assertTrue(said.startswith("000"), said)

    # --- reload -------------------------------------------------------------------------

    def common_name(self, client):
        return client.getpeercert()["subject"][1][0][1]

    def test_a_new_certificate(self):
        daemon = self.serve()
        port = daemon.port("resp")
        old = self.connect(port)
        self.ask(old, b"PING\r\n", b"+PONG\r\n")
        self.use("renewed")
        daemon.reload("configuration taken")
        young = self.connect(port)
        self.assertEqual((self.common_name(old), self.common_name(young)), ("server", "renewed"))
        for client in (old, young):
            self.ask(client, b"PING\r\n", b"+PONG\r\n")

    def test_a_certificate_that_changes_without_a_signal(self):
        daemon = self.serve()
        port = daemon.port("resp")
        # What changes before the daemon first looks at its files goes unnoticed, so it is changed again.
        for _ in range(WAIT_S // 3):
            self.use("renewed")
            try:
                wait_until(lambda: self.common_name(self.connect(port)) == "renewed", seconds=3)
                break
            except AssertionError:
                pass
        self.assertEqual(self.common_name(self.connect(port)), "renewed")

    def test_a_key_that_does_not_fit_changes_nothing(self):
        daemon = self.serve()
        port = daemon.port("resp")
        self.use("renewed", key="alice")
        daemon.reload("the old one stays")
        self.assertTrue(daemon.said("now.key' is not that of the certificate in"))
        client = self.connect(port)
        self.assertEqual(self.common_name(client), "server")
        self.use("renewed")
        daemon.reload("configuration taken")
        self.assertEqual(self.common_name(self.connect(port)), "renewed")
        self.ask(client, b"PING\r\n", b"+PONG\r\n")

    def test_listeners_with_tls_keep_their_certificate(self):
        daemon = self.serve()
        with open(os.path.join(self.folder, "mete.yaml"), "w", encoding="utf-8") as file:
            json.dump({"policies": {"example": {"limits": {"steady": "3/1h"}}}}, file)
        daemon.reload("the old one stays")
        self.assertTrue(daemon.said("tls: a listener with TLS needs the certificate"))
        self.ask(self.connect(daemon.port("resp")), b"PING\r\n", b"+PONG\r\n")

    def test_it_does_not_start_with_a_wrong_key(self):
        self.use("server", key="alice")
        config = os.path.join(self.folder, "mete.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"tls": {"certificate": os.path.join(self.folder, "now.pem"),
                               "key": os.path.join(self.folder, "now.key")}}, file)
        done = run(os.environ["METE_BIN"], "serve", "--config", config, "--resp", "127.0.0.1:0", "--http", "off")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("now.key' is not that of the certificate in", done.stderr)


def read_exactly(client, count):
    answer = b""
    while len(answer) < count:
        piece = client.recv(count - len(answer))
        if piece == b"":
            raise AssertionError(f"closed after {answer!r}")
        answer += piece
    return answer


if __name__ == "__main__":
    unittest.main()

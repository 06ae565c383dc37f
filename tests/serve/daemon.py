# SPDX-License-Identifier: Apache-2.0
"""A running `mete serve` for a test: its start, its log, its clock and its end.

    daemon = serve(self, config, test_clock=True)
    client = daemon.resp()
    daemon.clock_s("9.5")

The daemon listens on ports that the kernel chose and says them in its log.  It ends with the test: by SIGTERM, and
then its exit status must be 0 and its log free of sanitizer reports.  It dies when the test program dies.
"""
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from fractions import Fraction

import conf
from resp import Resp
from web import Web

METE = os.environ["METE_BIN"]
SCALE = int(os.environ.get("METE_TEST_SCALE", "1"))
SANITIZED = bool(os.environ.get("METE_SANITIZE", ""))
START_SECONDS = 30  # a sanitizer build on a busy machine
RELOADED = 'event="configuration taken"'  # what the log says
NOT_RELOADED = r"level=(warn|error).*configuration not taken"
LOGFMT = re.compile(r'([a-z_0-9]+)=(?:"((?:[^"\\]|\\.)*)"|([^ "]*))')


def folder(case):
    """A new folder that goes when the test, or the class, is over."""
    path = tempfile.mkdtemp(prefix="mete-serve-")
    on_end(case, shutil.rmtree, path, ignore_errors=True)
    return path


def on_end(case, function, *arguments, **named):
    add = case.addClassCleanup if isinstance(case, type) else case.addCleanup
    add(function, *arguments, **named)


def needs(program):
    """The path of a program; without it the test fails and says what is missing."""
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin:/usr/local/sbin")
    if path is None:
        raise AssertionError(f"{program} is not installed: run tools/install-deps test")
    return path


def wait_until(true, seconds=10, what="it did not happen in time"):
    end = time.monotonic() + seconds
    while True:
        value = true()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(what() if callable(what) else what)
        time.sleep(0.01)


def parse_logfmt(line):
    return {name: quoted if quoted else plain for name, quoted, plain in LOGFMT.findall(line)}


def serve(case, config=None, **options):
    """Starts a daemon that ends with the test or the test class."""
    daemon = Daemon(config, **options)
    on_end(case, daemon.finish)
    return daemon


class Daemon:
    def __init__(self, config=None, *, test_clock=False, args=(), listeners=True, threads=None, wrapper=()):
        self.folder = tempfile.mkdtemp(prefix="mete-serve-")
        self.config_path = os.path.join(self.folder, "mete.yaml")
        self.clock_client = None
        self.clients = []
        self.ended = False
        # With no clients of its own left behind, the daemon must not outlive a test program that is killed.
        self.command = [*wrapper, needs("setpriv"), "--pdeathsig", "KILL", METE, "serve"]
        if config is not None:
            self.write(config)
            self.command += ["--config", self.config_path]
        if listeners:
            self.command += ["--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        if threads is not None:
            self.command += ["--threads", str(threads)]
        if test_clock:
            self.command += ["--test-clock"]
        self.command += args
        self.expected = ("resp", "http") if listeners else ()
        self.start()

    def write(self, config):
        """Replaces the configuration file at once, as a careful administrator does."""
        text = config if isinstance(config, str) else conf.text(config)
        with open(self.config_path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(self.config_path + ".new", self.config_path)

    def start(self):
        self.lines = []
        self.clock_client = None
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, cwd=self.folder)
        self.reader = threading.Thread(target=self.read_log, args=(self.process.stderr,), daemon=True)
        self.reader.start()
        try:
            self.await_listeners()
        except BaseException:
            self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def read_log(self, stream):
        for line in stream:
            self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
        stream.close()

    def await_listeners(self):
        def all_listen():
            if self.process.poll() is not None:
                self.reader.join(5)
                raise AssertionError(f"the daemon ended with {self.process.returncode}:\n{self.log()}")
            return all(self.addresses(protocol) for protocol in self.expected)
        wait_until(all_listen, START_SECONDS, lambda: "the daemon does not listen:\n" + self.log())

    def log(self):
        return "\n".join(self.lines[-60:])

    def events(self, name=None):
        """Lines of the log as dictionaries, those of an event when it is named."""
        parsed = [parse_logfmt(line) for line in list(self.lines)]
        return [line for line in parsed if name is None or line.get("event") == name]

    def await_line(self, pattern, since=0, seconds=10):
        """The first line of the log from line `since` on that the pattern is found in."""
        def found():
            return next((line for line in self.lines[since:] if re.search(pattern, line)), None)
        return wait_until(found, seconds, lambda: f"no line like {pattern!r} in the log:\n{self.log()}")

    def addresses(self, protocol):
        return [line["address"] for line in self.events("listening") if line.get("protocol") == protocol]

    def address(self, protocol):
        host, port = self.addresses(protocol)[0].rsplit(":", 1)
        return host, int(port)

    def resp(self, **options):
        return self.own(Resp(self.address("resp"), **options))

    def web(self, **options):
        return self.own(Web(self.address("http"), **options))

    def own(self, client):
        """The client is closed with the daemon, at the latest."""
        self.clients.append(client)
        return client

    def url(self, path):
        host, port = self.address("http")
        return f"http://{host}:{port}{path}"

    def clock_s(self, seconds):
        """Sets the test clock to an exact number of seconds: an int, a Fraction or a decimal text."""
        nanoseconds = Fraction(seconds) * 10**9
        assert nanoseconds.denominator == 1, seconds
        if self.clock_client is None:
            self.clock_client = self.resp()
        reply = self.clock_client("METE.CLOCK", "SET", int(nanoseconds))
        assert reply == nanoseconds, reply

    def limit(self, what, soft):
        """Sets a soft resource limit of the running daemon (resource.RLIMIT_...)."""
        _, hard = resource.prlimit(self.process.pid, what)
        resource.prlimit(self.process.pid, what, (soft, hard))

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024

    def fd_count(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def signal(self, number):
        self.process.send_signal(number)

    def terminate(self, seconds=20):
        """SIGTERM; returns the exit status."""
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def close_clients(self):
        for client in self.clients:
            client.close()
        self.clients = []

    def kill(self):
        """SIGKILL; its clients find out by themselves."""
        self.ended = True
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def restart(self):
        self.close_clients()
        self.ended = False
        self.start()

    def finish(self):
        """The end of every test: a clean exit, and nothing that a sanitizer found."""
        try:
            self.close_clients()
            if self.process.poll() is None:
                try:
                    status = self.terminate()
                except subprocess.TimeoutExpired:
                    self.kill()
                    raise AssertionError("SIGTERM did not end the daemon:\n" + self.log()) from None
                self.reader.join(5)
                if status != 0:
                    raise AssertionError(f"the daemon ended with {status}:\n{self.log()}")
            elif not self.ended and self.process.returncode != 0:
                self.reader.join(5)
                raise AssertionError(f"the daemon died with {self.process.returncode}:\n{self.log()}")
            if any("Sanitizer" in line or "runtime error:" in line for line in self.lines):
                raise AssertionError("a sanitizer reports:\n" + self.log())
        finally:
            self.kill()
            self.close_clients()
            shutil.rmtree(self.folder, ignore_errors=True)

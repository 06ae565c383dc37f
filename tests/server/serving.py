# SPDX-License-Identifier: Apache-2.0
"""A running `mete serve` for tests of its surroundings: TLS and the service manager."""

import os
import re
import signal
import subprocess
import threading
import time

WAIT_S = 30  # a sanitizer build on a busy machine


class Daemon:
    """Ends with the test (add finish to its cleanups): by SIGTERM, with status 0."""

    def __init__(self, *arguments, listeners=0, **options):
        self.process = subprocess.Popen([os.environ["METE_BIN"], "serve", *arguments], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, **options)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        try:
            wait_until(lambda: len(self.addresses()) >= listeners or self.process.poll() is not None)
        except BaseException:
            self.process.kill()
            raise

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def said(self, text):
        return any(text in line for line in self.lines)

    def addresses(self):
        """[(protocol, port)] in the order of the configuration."""
        found = (re.search(r'event="listening" protocol=(\w+) address=\S*:(\d+)', line) for line in list(self.lines))
        return [(match.group(1), int(match.group(2))) for match in found if match]

    def port(self, protocol):
        return next(port for name, port in self.addresses() if name == protocol)

    def reload(self, what_it_says):
        wait_until(lambda: catches(self.process.pid, signal.SIGHUP))
        seen = sum(what_it_says in line for line in self.lines)
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: sum(what_it_says in line for line in self.lines) > seen)

    def end(self):
        """The status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            self.reader.join(WAIT_S)
            self.process.stderr.close()
        return self.process.returncode

    def finish(self):
        log = self.lines
        status = self.end()
        if status != 0 or any("Sanitizer" in line for line in log):
            raise AssertionError(f"mete serve ended with status {status}:\n" + "\n".join(log))


def wait_until(is_so, seconds=WAIT_S):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.01)


def catches(pid, number):
    """A daemon listens a moment before it handles signals; until then they would end it (proc(5), SigCgt)."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        caught = next(line.split()[1] for line in status if line.startswith("SigCgt:"))
    return int(caught, 16) >> (number - 1) & 1 == 1


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, **options)

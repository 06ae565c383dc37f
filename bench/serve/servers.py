# SPDX-License-Identifier: Apache-2.0
"""The servers that are measured, each a process pinned to one processor."""

import pathlib
import shutil
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
START_S = 10

KEY = "key:000000%k"  # 16 bytes
THROTTLE = f"CL.THROTTLE {KEY} 15 30 60"
THROTTLE_REPLY = r"*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n"


class Failure(Exception):
    """A measurement that cannot be made, with the reason."""


def need(program):
    path = shutil.which(program, path="/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin")
    if path is None:
        raise Failure(f"{program} is missing; tools/install-deps bench installs it")
    return path


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def encode(words):
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        parts.append(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()))
    return b"".join(parts)


class Server:
    """A running server.  Its address answers when the constructor returns."""

    def __init__(self, name, command, port, cpu, log):
        self.name = name
        self.address = f"127.0.0.1:{port}"
        self.log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [need("taskset"), "-c", str(cpu), *map(str, command)], stdout=output, stderr=output,
                stdin=subprocess.DEVNULL)
        self.wait(port)

    def wait(self, port):
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        self.stop()
        raise Failure(f"{self.name} does not answer; its output: {pathlib.Path(self.log).read_text()[-2000:]}")

    def processes(self):
        """This process and its children (nginx has a worker)."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [self.process.pid, *map(int, children.split())]

    def cpu_ns(self):
        """Processor time of all threads so far."""
        return sum(int(path.read_text().split()[0]) for pid in self.processes()
                   for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))

    def rss_mib(self):
        total = 0
        for pid in self.processes():
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            total += int(status.split("VmRSS:")[1].split()[0])
        return total / 1024

    def ask(self, *words):
        """One RESP command; the first line of the reply."""
        host, port = self.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(encode(words))
            with connection.makefile("rb") as replies:
                line = replies.readline().decode().rstrip()
                return replies.readline().decode().rstrip() if line.startswith("$") else line

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=START_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Farm:
    """Starts servers by name and stops them all in the end."""

    def __init__(self, build, folder, cpu):
        self.build, self.folder, self.cpu = pathlib.Path(build), pathlib.Path(folder), cpu
        self.servers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.stop()

    def start(self, name, command, port):
        log = self.folder / f"{name}-{len(self.servers)}.log"
        server = Server(name, command, port, self.cpu, log)
        self.servers.append(server)
        return server

    def stop(self, server):
        server.stop()
        self.servers.remove(server)

    def echo(self):
        port = free_port()
        request = encode(THROTTLE.replace("%k", "000000").split())
        return self.start("echo", [self.build / "bench/mete_echo", "--listen", f"127.0.0.1:{port}", "--request-bytes",
                                   len(request), "--reply", THROTTLE_REPLY], port)

    def redis(self, name):
        port = free_port()
        return self.start(name, [need("redis-server"), "--bind", "127.0.0.1", "--port", port, "--save", "",
                                 "--appendonly", "no", "--dir", self.folder], port)

    def mete(self):
        """The daemon, with its RESP and HTTP addresses."""
        port, http = free_port(), free_port()
        server = self.start("mete", [self.build / "mete", "serve", "--resp", f"127.0.0.1:{port}", "--http",
                                     f"127.0.0.1:{http}", "--threads", "1"], port)
        server.http = f"127.0.0.1:{http}"
        return server

    def nginx(self):
        port = free_port()
        folder = self.folder / "nginx"
        folder.mkdir()
        text = (HERE / "nginx.conf").read_text()
        text = text.replace("@FOLDER@", str(folder)).replace("@ADDRESS@", f"127.0.0.1:{port}")
        (folder / "nginx.conf").write_text(text)
        server = self.start("nginx", [need("nginx"), "-p", folder, "-c", folder / "nginx.conf"], port)
        server.http = server.address
        return server


def bucket_template(redis, per_second="0.5"):
    """Loads the script; the command that runs it: the same limit as THROTTLE, unless it says otherwise."""
    sha = redis.ask("SCRIPT", "LOAD", (HERE / "bucket.lua").read_text())
    if len(sha) != 40:
        raise Failure(f"redis-server does not take the script: {sha}")
    return f"EVALSHA {sha} 1 {KEY} 16 {per_second} 1"

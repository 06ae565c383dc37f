# SPDX-License-Identifier: Apache-2.0
"""redis-py: run by the newest one of the registry and by the one that Debian brings."""

import asyncio
import functools
import os
import signal
import sys
import threading
import time
import unittest
from pathlib import Path

import redis
import redis.asyncio

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

USER, PASSWORD = "client", "p@ss/word:1"
RUN = f"{os.getpid()}-{time.time_ns()}"
PATIENCE_S = 20
# RESP3 came with redis-py 5.
PROTOCOLS = [2, 3] if int(redis.__version__.split(".")[0]) >= 5 else [None]


def place(name):
    address = os.environ.get(f"METE_{name}_RESP")
    if not address:
        sys.exit(f"METE_{name}_RESP is not set: run tests/clients/run")
    host, port = address.split(":")
    return {"host": host, "port": int(port), "socket_timeout": PATIENCE_S}


def options(protocol, **more):
    return {**place("OPEN"), **({} if protocol is None else {"protocol": protocol}), **more}


def throttle(client, *arguments):
    return client.execute_command("CL.THROTTLE", *arguments)


def fields(reply):
    """Of a decision: a map in RESP3, names and values by turns in RESP2."""
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2])
    return {name.decode(): value for name, value in pairs}


def stop(pid):
    """Returns when each thread of the process has stopped."""
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + PATIENCE_S
    # The state stands behind the name, which may hold anything.
    while any(path.read_text().rpartition(") ")[2][0] != "T" for path in Path(f"/proc/{pid}/task").glob("*/stat")):
        if time.monotonic() > end:
            raise AssertionError("the daemon did not stop")
        time.sleep(0.001)


def each_protocol(**more):
    """The test gets a client and a function that makes keys of its own, once for each protocol."""

    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for protocol in PROTOCOLS:
                with self.subTest(protocol=protocol), redis.Redis(**options(protocol, **more)) as client:
                    test(self, client, lambda name: f"{RUN}/{self.id()}/{protocol}/{name}")
        return run

    return decorate


class RedisPyTest(unittest.TestCase):
    @each_protocol(client_name="shop-7")
    def test_small_commands(self, client, _):
        self.assertTrue(client.ping())
        self.assertIn(client.client_getname(), ("shop-7", b"shop-7"))
        self.assertEqual(client.echo("a\r\nb"), b"a\r\nb")
        self.assertIn("mete_version", client.info())
        self.assertGreater(client.client_id(), 0)
        self.assertLess(abs(client.time()[0] - time.time()), 60)
        self.assertTrue(any(each["name"] == "shop-7" for each in client.client_list()))
        self.assertGreater(client.command_count(), 20)
        self.assertIn("cl.throttle", {name.lower() for name in client.command()})
        self.assertIsInstance(client.config_get("*"), dict)

    @each_protocol()
    def test_throttle(self, client, key):
        self.assertEqual(throttle(client, key("a"), 15, 30, 60), [0, 16, 15, -1, 2])
        for i in range(5):
            self.assertEqual(throttle(client, key("b"), 4, 1, 3600)[:4], [0, 5, 4 - i, -1])
        limited, _, remaining, retry, reset = throttle(client, key("b"), 4, 1, 3600)
        self.assertEqual((limited, remaining), (1, 0))
        self.assertTrue(3540 < retry <= 3600 and reset >= retry, (retry, reset))

    @each_protocol()
    def test_take(self, client, key):
        taken = fields(client.execute_command("METE.TAKE", "hundred", key("a"), "COST", 40))
        self.assertEqual((taken["allowed"], taken["limit"], taken["remaining"]), (True, 100, 60))
        denied = fields(client.execute_command("METE.TAKE", "hundred", key("a"), "COST", 61))
        self.assertFalse(denied["allowed"])
        self.assertGreater(denied["retry_after_ms"], 0)

    @each_protocol()
    def test_errors_name_the_argument(self, client, _):
        for bad, named in (((-1, 1, 1), "burst"), ((1, 0, 1), "count"), ((1, 1, "1.5"), "period")):
            with self.assertRaisesRegex(redis.ResponseError, named):
                throttle(client, "a", *bad)
        with self.assertRaisesRegex(redis.ResponseError, "unknown command"):
            client.get("a")
        self.assertTrue(client.ping())

    def test_login(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol=protocol):
                locked = options(protocol, **place("LOCKED"), retry=None)
                with redis.Redis(**locked, username=USER, password=PASSWORD) as client:
                    self.assertEqual(throttle(client, f"{RUN}/login/{protocol}", 1, 1, 3600)[0], 0)
                with redis.Redis(**locked, username=USER, password="wrong") as client:
                    with self.assertRaisesRegex((redis.ResponseError, redis.ConnectionError), "invalid username"):
                        client.ping()
                with redis.Redis(**locked) as client, self.assertRaises(redis.exceptions.AuthenticationError):
                    client.ping()
                with redis.Redis(**locked, username="other", password="nothing to see") as client:
                    with self.assertRaises(redis.exceptions.NoPermissionError):
                        client.execute_command("METE.TAKE", "hundred", "a")

    def test_login_by_url(self):
        where = place("LOCKED")
        with redis.Redis.from_url(f"redis://{USER}:p%40ss%2Fword%3A1@{where['host']}:{where['port']}/0") as client:
            self.assertTrue(client.ping())

    @each_protocol()
    def test_pipeline_with_an_error(self, client, key):
        pipe = client.pipeline(transaction=False)
        for i in range(1001):
            throttle(pipe, key("a"), 998, 1, 0 if i == 500 else 86400)
        replies = pipe.execute(raise_on_error=False)
        self.assertRegex(str(replies.pop(500)), "period")
        for i, reply in enumerate(replies):
            self.assertEqual(reply[:3], [0, 999, 998 - i] if i < 999 else [1, 999, 0])

    @each_protocol()
    def test_transaction_is_refused(self, client, key):
        pipe = client.pipeline()  # with MULTI, unless told otherwise
        throttle(pipe, key("a"), 9, 1, 60)
        with self.assertRaises(redis.ResponseError):
            pipe.execute()
        self.assertEqual(client.echo("in step"), b"in step")

    @each_protocol()
    def test_keys_are_bytes(self, client, key):
        for end in (b"\r\n", b"\0", b"\xff\xfe\x80", b"$3\r\nabc\r\n"):
            name = key("").encode() + end
            self.assertEqual(throttle(client, name, 1, 1, 86400)[2], 1)
            self.assertEqual(throttle(client, name, 1, 1, 86400)[2], 0)
            self.assertEqual((client.exists(name), client.delete(name), client.exists(name)), (1, 1, 0))

    @each_protocol(socket_timeout=0.2, retry=None, max_connections=1)
    def test_timeout_leaves_no_reply_behind(self, client, _):
        pid = int(os.environ["METE_OPEN_PID"])
        self.assertTrue(client.ping())
        try:
            stop(pid)
            with self.assertRaises(redis.TimeoutError):
                client.echo("late")
        finally:
            os.kill(pid, signal.SIGCONT)
        patient = redis.Redis(connection_pool=client.connection_pool)
        client.connection_pool.connection_kwargs["socket_timeout"] = PATIENCE_S
        for i in range(20):
            self.assertEqual(patient.echo(f"word-{i}"), f"word-{i}".encode())

    @each_protocol()
    def test_threads_share_a_pool(self, client, key):
        passed = []

        def ask():
            passed.extend(throttle(client, key("a"), 99, 1, 86400)[0] == 0 for _ in range(10))

        threads = [threading.Thread(target=ask) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual((len(passed), sum(passed)), (320, 100))

    def test_asyncio_exactly_a_thousand_pass(self):
        async def count(client, key):
            passed = 0
            while (await throttle(client, key, 999, 1, 86400))[0] == 0:
                passed += 1
            return passed

        async def race(protocol, key):
            clients = [redis.asyncio.Redis(**options(protocol), max_connections=1) for _ in range(8)]
            passed = await asyncio.gather(*(count(client, key) for client in clients))
            for client in clients:
                await (client.aclose() if hasattr(client, "aclose") else client.close())
            return sum(passed)

        for protocol in PROTOCOLS:
            for turn in range(3):
                with self.subTest(protocol=protocol, turn=turn):
                    self.assertEqual(asyncio.run(race(protocol, f"{RUN}/asyncio/{protocol}/{turn}")), 1000)


if __name__ == "__main__":
    sys.exit(tap.main())

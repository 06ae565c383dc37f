# SPDX-License-Identifier: Apache-2.0
"""The store file: what was spent survives kill -9 under load, restarts and a full disk; nobody gains by it."""
import os
import resource
import signal
import subprocess
import threading
import time
import unittest

import conf
from daemon import METE, NOT_RELOADED, RELOADED, SANITIZED, folder, needs, serve, wait_until
from resp import ErrorReply, encode, pairs

POLICIES = {"bucket": "2000/10h burst 2000", "window": "fixed_window 2000/365d", "sliding": "sliding_window 2000/365d",
            "log": "sliding_log 2000/365d"}
CAPACITY = 2000
KEYS = [f"key:{i}" for i in range(4)]
BATCH = 50
# What writing to a full disk is like: it fails, and nothing else happens.
FULL_DISK = [needs("prlimit"), "--fsize=1048576", needs("env"), "--ignore-signal=XFSZ"]


class Kill(unittest.TestCase):
    def load(self, daemon, allowed, unknown, lock, stop):
        """Takes over and over; counts what was allowed, and what was asked without an answer."""
        try:
            client = daemon.resp()
        except OSError:
            return
        asked, received = [], 0
        try:
            for turn in range(10**9):
                if stop.is_set():
                    return
                wanted = [(policy, KEYS[(turn + i) % len(KEYS)]) for i in range(BATCH) for policy in POLICIES]
                asked, received = wanted, 0
                client.raw(b"".join(encode("METE.TAKE", policy, key) for policy, key in wanted))
                for name in wanted:
                    reply = pairs(client.read())
                    received += 1
                    with lock:
                        allowed[name] += reply["allowed"]
        except (EOFError, OSError):
            with lock:
                for name in asked[received:]:
                    unknown[name] += 1
        finally:
            client.close()

    def test_no_key_gains_by_kill_9(self):
        place = folder(self)
        daemon = serve(self, conf.config({name: conf.policy(limit) for name, limit in POLICIES.items()},
                                         store={"path": os.path.join(place, "store"), "keys_max": 100000}), threads=2)
        names = [(policy, key) for policy in POLICIES for key in KEYS]
        allowed, unknown = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        lock, stop = threading.Lock(), threading.Event()
        for round_number in range(3):
            threads = [threading.Thread(target=self.load, args=(daemon, allowed, unknown, lock, stop))
                       for _ in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(0.05 + 0.1 * round_number)
            daemon.kill()
            for thread in threads:
                thread.join()
            killed = time.monotonic()
            daemon.restart()
            self.is_quick_again(daemon, killed)
        with daemon.resp() as client:
            for policy, key in names:
                replies = client.pipeline([("METE.TAKE", policy, key)] * (CAPACITY + 20))
                allowed[policy, key] += sum(pairs(reply)["allowed"] for reply in replies)
        for name in names:
            refilled = 2 if name[0] == "bucket" else 0  # one in 18 s
            with self.subTest(name=name):
                self.assertLessEqual(allowed[name], CAPACITY + refilled, "a key gained by being killed")
                self.assertGreaterEqual(allowed[name], CAPACITY - unknown[name])
        self.assertGreater(sum(unknown.values()), 0, "nothing was under way when it was killed")

    def is_quick_again(self, daemon, killed):
        """p99 is as always within a second of the restart."""
        times = []
        with daemon.resp() as client:
            for i in range(300):
                begun = time.monotonic()
                client("METE.PEEK", "bucket", f"quick:{i}")
                times.append(time.monotonic() - begun)
        times.sort()
        if not SANITIZED:
            self.assertLess(times[len(times) * 99 // 100], 0.1)
            self.assertLess(time.monotonic() - killed, 10)

    def test_a_clean_end_loses_nothing(self):
        place = folder(self)
        daemon = serve(self, conf.config({"api": conf.policy("fixed_window 1000/365d")},
                                         store={"path": os.path.join(place, "store"), "keys_max": 10000}))
        with daemon.resp() as client:
            client.pipeline([("METE.TAKE", "api", "k")] * 123)
            client.pipeline([("CL.THROTTLE", "own", 99, 1, 360000)] * 45)
        self.assertEqual(daemon.terminate(), 0)
        daemon.restart()
        with daemon.resp() as client:
            self.assertEqual(pairs(client("METE.PEEK", "api", "k"))["remaining"], 877)
            self.assertEqual(client("CL.THROTTLE", "own", 99, 1, 360000, 0)[2], 55)

    def test_the_command_line_names_the_file(self):
        path = os.path.join(folder(self), "given")
        daemon = serve(self, args=["--store", path])
        with daemon.resp() as client:
            client("CL.THROTTLE", "k", 0, 1, 86400)
        self.assertEqual(daemon.terminate(), 0)
        self.assertTrue(os.path.exists(path))
        daemon.restart()
        with daemon.resp() as client:
            self.assertEqual(client("CL.THROTTLE", "k", 0, 1, 86400)[0], 1)

    def test_memory_forgets(self):
        daemon = serve(self, args=["--store", "memory"])
        with daemon.resp() as client:
            client("CL.THROTTLE", "k", 0, 1, 86400)
        daemon.terminate()
        daemon.restart()
        with daemon.resp() as client:
            self.assertEqual(client("CL.THROTTLE", "k", 0, 1, 86400)[0], 0)


class Refused(unittest.TestCase):
    """A file that cannot be used: the daemon does not start, says which and why, and leaves it as it is."""

    def refused(self, path, *wrapper):
        run = subprocess.run([*wrapper, METE, "serve", "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0",
                              "--store", path], capture_output=True, text=True, timeout=60, check=False)
        self.assertGreater(run.returncode, 0, f"ended with {run.returncode}: {run.stderr}")
        self.assertIn(os.path.basename(path), run.stdout + run.stderr)
        return run.stdout + run.stderr

    def test_a_foreign_file(self):
        path = os.path.join(folder(self), "notes.txt")
        with open(path, "wb") as file:
            file.write(b"my notes\n" * 1000)
        self.refused(path)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"my notes\n" * 1000)

    def test_a_truncated_store(self):
        path = os.path.join(folder(self), "store")
        daemon = serve(self, args=["--store", path])
        daemon.terminate()
        size = os.path.getsize(path)
        os.truncate(path, size // 2)
        self.refused(path)
        self.assertEqual(os.path.getsize(path), size // 2)

    def test_no_such_folder(self):
        self.refused(os.path.join(folder(self), "none", "store"))

    def test_disk_full(self):
        """The file has all its room from the beginning, so a full disk is found at the start and not later."""
        self.refused(os.path.join(folder(self), "store"), *FULL_DISK)

    def test_a_limit_of_the_file_size_is_as_a_full_disk(self):
        """Not a death by SIGXFSZ, which says nothing."""
        self.refused(os.path.join(folder(self), "store"), needs("prlimit"), "--fsize=1048576")


class Reload(unittest.TestCase):
    def test_disk_full_at_a_reload(self):
        """A policy that needs another file cannot be had: the old configuration stays, all are served."""
        place = folder(self)
        store = {"path": os.path.join(place, "store"), "keys_max": 10000}
        daemon = serve(self, conf.config({"api": conf.policy("5/1h")}, store=store),
                       wrapper=[needs("env"), "--ignore-signal=XFSZ"])
        with daemon.resp() as client:
            client("METE.TAKE", "api", "k")
            daemon.limit(resource.RLIMIT_FSIZE, 4096)
            daemon.write(conf.config({"api": conf.policy("50/1h"), "log": conf.policy("sliding_log 1000/1h")},
                                     store=store))
            since = len(daemon.lines)
            daemon.signal(signal.SIGHUP)
            daemon.await_line(NOT_RELOADED, since)
            reply = pairs(client("METE.TAKE", "api", "k"))
            self.assertEqual((reply["limit"], reply["remaining"]), (5, 3))
            daemon.limit(resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
            since = len(daemon.lines)
            daemon.signal(signal.SIGHUP)
            daemon.await_line(RELOADED, since)
            wait_until(lambda: not isinstance(client("METE.PEEK", "log", "k"), ErrorReply))
            self.assertEqual(pairs(client("METE.TAKE", "log", "k"))["remaining"], 999)


if __name__ == "__main__":
    unittest.main()

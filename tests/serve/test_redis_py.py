# SPDX-License-Identifier: Apache-2.0
"""python3-redis, as Debian packages it, which is for the system's own interpreter."""
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"
if "METE_TEST_SYSTEM_PYTHON" not in os.environ:
    os.environ["METE_TEST_SYSTEM_PYTHON"] = "1"
    if not os.access(SYSTEM_PYTHON, os.X_OK):
        sys.exit(f"{SYSTEM_PYTHON} is missing: run tools/install-deps test")
    os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])

import unittest

try:
    import redis
except ImportError:
    sys.exit(f"python3-redis is missing ({SYSTEM_PYTHON} cannot import redis): run tools/install-deps test")

import conf
from daemon import serve


class RedisPy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls, conf.config({"api": conf.policy("3/1h")}))

    def connect(self, **options):
        host, port = self.daemon.address("resp")
        client = redis.Redis(host=host, port=port, socket_timeout=20, **options)
        self.addCleanup(client.close)
        return client

    def test_throttle(self):
        client = self.connect()
        self.assertEqual(client.execute_command("CL.THROTTLE", "py", 15, 30, 60), [0, 16, 15, -1, 2])

    def test_binary_key(self):
        client = self.connect()
        self.assertEqual(client.execute_command("CL.THROTTLE", b"\xff\x00\r\n", 0, 1, 60), [0, 1, 0, -1, 60])
        self.assertEqual(client.exists(b"\xff\x00\r\n"), 1)
        self.assertEqual(client.delete(b"\xff\x00\r\n"), 1)

    def test_ping_time_info(self):
        client = self.connect(decode_responses=True)
        self.assertTrue(client.ping())
        self.assertEqual(len(client.time()), 2)
        self.assertIn("redis_version", client.info())
        self.assertEqual(client.echo("x"), "x")

    def test_client_name_and_list(self):
        client = self.connect(client_name="worker", single_connection_client=True)
        self.assertEqual(client.client_getname(), "worker")
        self.assertIn("worker", [entry["name"] for entry in client.client_list()])
        self.assertGreater(client.client_id(), 0)

    def test_database_0_and_another(self):
        self.assertTrue(self.connect(db=0).ping())
        with self.assertRaises(redis.ResponseError):
            self.connect(db=1).ping()

    def test_pipeline_without_a_transaction(self):
        pipeline = self.connect().pipeline(transaction=False)
        for _ in range(5):
            pipeline.execute_command("METE.TAKE", "api", "py")
        replies = [dict(zip(reply[::2], reply[1::2])) for reply in pipeline.execute()]
        self.assertEqual([reply[b"allowed"] for reply in replies], [1, 1, 1, 0, 0])

    def test_an_error_is_a_response_error(self):
        with self.assertRaisesRegex(redis.ResponseError, "count"):
            self.connect().execute_command("CL.THROTTLE", "py", 4, 0, 60)

    def test_health_check_and_pool(self):
        client = self.connect(health_check_interval=1, max_connections=4)
        for _ in range(10):
            self.assertTrue(client.ping())

    def test_config_get(self):
        self.assertIsInstance(self.connect().config_get("save"), dict)


class Login(unittest.TestCase):
    def test_password_and_user(self):
        daemon = serve(self, conf.config({"api": conf.policy("3/1h")}, users={
            "app": conf.user(password="s3cret", policies="all", may_bring_limits=True)}))
        host, port = daemon.address("resp")
        with redis.Redis(host=host, port=port, username="app", password="s3cret") as client:
            self.assertTrue(client.ping())
        with redis.Redis(host=host, port=port, username="app", password="wrong") as client:
            with self.assertRaises((redis.AuthenticationError, redis.ResponseError)):
                client.ping()
        with redis.Redis(host=host, port=port) as client:
            with self.assertRaises((redis.AuthenticationError, redis.ResponseError)):
                client.ping()


if __name__ == "__main__":
    unittest.main()

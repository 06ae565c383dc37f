# SPDX-License-Identifier: Apache-2.0
"""What Redis clients send before their first real command, in both protocols, and what breaks the protocol."""
import re
import time
import unittest

import conf
from daemon import serve
from resp import ErrorReply, Simple, encode, pairs, plain
from web import exchange


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls)

    def setUp(self):
        self.client = self.daemon.resp()
        self.addCleanup(self.client.close)

    def refused(self, reply, pattern="."):
        self.assertIsInstance(reply, ErrorReply)
        self.assertRegex(reply, pattern)


class Hello(Case):
    FIELDS = {"server", "version", "proto", "id", "mode", "role", "modules"}

    def test_hello_2_is_an_array(self):
        reply = self.client("HELLO", 2)
        self.assertIsInstance(reply, list)
        fields = pairs(reply)
        self.assertLessEqual(self.FIELDS, set(fields))
        self.assertEqual((fields["proto"], fields["mode"], fields["role"], fields["modules"]),
                         (2, "standalone", "master", []))

    def test_hello_3_is_a_map(self):
        reply = self.client("HELLO", "3")
        self.assertIsInstance(reply, dict)
        self.assertEqual(pairs(reply)["proto"], 3)
        self.assertGreater(pairs(reply)["id"], 0)

    def test_hello_alone_keeps_the_protocol(self):
        self.assertEqual(pairs(self.client("HELLO"))["proto"], 2)
        self.client("HELLO", 3)
        self.assertEqual(pairs(self.client("HELLO"))["proto"], 3)
        self.client("HELLO", 2)
        self.assertIsInstance(self.client("HELLO"), list)

    def test_the_version_can_be_read_by_clients(self):
        """Clients compare it with numbers such as 6.0.0."""
        self.assertRegex(pairs(self.client("HELLO", 3))["version"], r"^\d+\.\d+\.\d+$")

    def test_unknown_protocols(self):
        for version in "1", "4", "0", "-2":
            with self.subTest(version=version):
                self.refused(self.client("HELLO", version), "^NOPROTO")
        self.refused(self.client("HELLO", "x"))
        self.assertEqual(pairs(self.client("HELLO"))["proto"], 2)

    def test_setname(self):
        self.client("HELLO", 3, "SETNAME", "worker-1")
        self.assertEqual(self.client("CLIENT", "GETNAME"), b"worker-1")

    def test_auth_without_users(self):
        """As in Redis: the default user needs no password, and takes any one with AUTH."""
        reply = self.client("HELLO", 3, "AUTH", "default", "x")
        self.assertTrue(isinstance(reply, ErrorReply) or pairs(reply)["proto"] == 3)
        self.refused(self.client("HELLO", 3, "AUTH", "nobody", "x"), "^WRONGPASS")

    def test_syntax(self):
        for words in ("SETNAME",), ("AUTH", "default"), ("WHAT",):
            with self.subTest(words=words):
                self.refused(self.client("HELLO", 3, *words))
        self.assertEqual(pairs(self.client("HELLO"))["proto"], 2, "a HELLO that failed changes nothing")

    def test_throttle_replies_are_arrays_in_both(self):
        for version in 2, 3:
            self.client("HELLO", version)
            self.assertEqual(self.client("CL.THROTTLE", f"hello{version}", 4, 1, 60), [0, 5, 4, -1, 60])


class Login(unittest.TestCase):
    """With users, and none of them the default, nothing is served before somebody logs in."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls, conf.config({"api": conf.policy("5/1h")}, users={
            "app": conf.user(password="open sesame", policies="all", may_bring_limits=True),
        }))

    def setUp(self):
        self.client = self.daemon.resp()
        self.addCleanup(self.client.close)

    def test_locked_until_auth(self):
        for command in ("PING",), ("CL.THROTTLE", "k", 1, 1, 1), ("METE.TAKE", "api", "k"), ("INFO",), ("CLIENT", "ID"):
            self.assertEqual(self.client(*command).code, "NOAUTH")
        self.assertEqual(self.client("AUTH", "app", "open sesame"), "OK")
        self.assertEqual(self.client("PING"), "PONG")

    def test_hello_with_auth_and_setname(self):
        self.assertEqual(self.client("HELLO", 3).code, "NOAUTH")
        reply = self.client("HELLO", 3, "AUTH", "app", "open sesame", "SETNAME", "w")
        self.assertEqual(pairs(reply)["proto"], 3)
        self.assertEqual(self.client("CLIENT", "GETNAME"), b"w")

    def test_hello_with_a_wrong_password_changes_nothing(self):
        self.assertEqual(self.client("HELLO", 3, "AUTH", "app", "open").code, "WRONGPASS")
        self.assertEqual(self.client("PING").code, "NOAUTH")
        self.client("AUTH", "app", "open sesame")
        self.assertIsInstance(self.client("HELLO"), list)

    def test_wrong_password(self):
        for password in "", "open sesam", "open sesamee", "Open sesame", "open sesame\x00":
            with self.subTest(password=password):
                self.assertEqual(self.client("AUTH", "app", password).code, "WRONGPASS")
        for words in ("nobody", "open sesame"), ("", "open sesame"), ("default", "open"), ("open",), ("",):
            with self.subTest(words=words):
                self.assertIn(self.client("AUTH", *words).code, ("WRONGPASS", "ERR"))
        self.assertEqual(self.client("PING").code, "NOAUTH")

    def test_a_password_alone_says_who(self):
        """redis://:password@host: clients send AUTH PASSWORD, or HELLO 3 AUTH default PASSWORD."""
        self.assertEqual(self.client("AUTH", "open sesame"), "OK")
        self.assertRegex(self.client("CLIENT", "INFO").decode(), "user=app")
        self.client("RESET")
        self.assertEqual(pairs(self.client("HELLO", 3, "AUTH", "default", "open sesame"))["proto"], 3)
        self.assertEqual(self.client("PING"), "PONG")

    def test_reset_logs_out(self):
        self.client("AUTH", "app", "open sesame")
        self.assertEqual(self.client("RESET"), "RESET")
        self.assertEqual(self.client("PING").code, "NOAUTH")


class Clients(Case):
    def test_setname_and_getname(self):
        self.assertIn(self.client("CLIENT", "GETNAME"), (None, b""))
        self.assertEqual(self.client("CLIENT", "SETNAME", "a-name"), "OK")
        self.assertEqual(self.client("CLIENT", "GETNAME"), b"a-name")
        self.refused(self.client("CLIENT", "SETNAME", "with space"))
        self.refused(self.client("CLIENT", "SETNAME", "with\nnewline"))
        self.assertEqual(self.client("CLIENT", "GETNAME"), b"a-name")

    def test_setinfo(self):
        self.assertEqual(self.client("CLIENT", "SETINFO", "LIB-NAME", "redis-py"), "OK")
        self.assertEqual(self.client("CLIENT", "SETINFO", "lib-ver", "5.0.1"), "OK")
        self.refused(self.client("CLIENT", "SETINFO", "what", "1"))

    def test_id(self):
        first, second = self.daemon.resp(), self.daemon.resp()
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        ids = [client("CLIENT", "ID") for client in (self.client, first, second)]
        self.assertEqual(len(set(ids)), 3)
        self.assertTrue(all(isinstance(number, int) and number > 0 for number in ids))

    def test_list(self):
        self.client("CLIENT", "SETNAME", "listed")
        mine = self.client("CLIENT", "ID")
        lines = plain(self.client("CLIENT", "LIST")).strip().split("\n")
        fields = [dict(word.split("=", 1) for word in line.split(" ")) for line in lines]
        own = [line for line in fields if line["id"] == str(mine)]
        self.assertEqual(len(own), 1, lines)
        self.assertEqual(own[0]["name"], "listed")
        self.assertRegex(own[0]["addr"], r"^127\.0\.0\.1:\d+$")

    def test_unknown_subcommand(self):
        self.refused(self.client("CLIENT", "NONSENSE"))
        self.refused(self.client("CLIENT"))


class Commands(Case):
    KNOWN = ("ping", "hello", "cl.throttle", "rl.throttle", "gcra", "mete.take", "del", "exists", "auth", "client")

    def test_count_and_list_agree(self):
        count = self.client("COMMAND", "COUNT")
        self.assertEqual(len(self.client("COMMAND")), count)
        self.assertGreaterEqual(count, len(self.KNOWN))

    def test_info(self):
        """Name, arity, flags, first key, last key, step: what cluster clients route by."""
        ping, throttle, unknown = self.client("COMMAND", "INFO", "ping", "CL.THROTTLE", "nonsense")[:3]
        self.assertEqual(plain(ping)[0], "ping")
        name, arity, flags, first, last, step = plain(throttle)[:6]
        self.assertEqual(name, "cl.throttle")
        self.assertIn(arity, (-5, -4))
        self.assertIn("write", flags)
        self.assertEqual((first, last, step), (1, 1, 1))
        self.assertIsNone(unknown)

    def test_docs(self):
        docs = pairs(self.client("COMMAND", "DOCS", "cl.throttle", "mete.take"))
        self.assertEqual(set(docs), {"cl.throttle", "mete.take"})
        self.assertIn("summary", pairs_of(docs["cl.throttle"]))
        self.assertGreaterEqual(len(pairs(self.client("COMMAND", "DOCS"))), len(self.KNOWN))

    def test_docs_in_resp3(self):
        self.client("HELLO", 3)
        self.assertIsInstance(self.client("COMMAND", "DOCS", "ping"), dict)

    def test_every_command_knows_its_own_arity(self):
        """Too many and too few arguments are errors that name the command, by the table that COMMAND shows."""
        for entry in plain(self.client("COMMAND")):
            name, arity = entry[0], entry[1]
            with self.subTest(command=name, arity=arity), self.daemon.resp() as client:
                if arity > 1:
                    self.refused(client(name, *["x"] * arity), "number of arguments")
                if abs(arity) > 1:
                    self.refused(client(name, *["x"] * (abs(arity) - 2)), "number of arguments")


def pairs_of(reply):
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


class Everyday(Case):
    def test_ping(self):
        self.assertEqual(self.client("PING"), Simple("PONG"))
        self.assertEqual(self.client("ping", "hello"), b"hello")
        self.refused(self.client("PING", "a", "b"), "wrong number of arguments")

    def test_echo(self):
        self.assertEqual(self.client("ECHO", b"\x00\r\n\xff"), b"\x00\r\n\xff")

    def test_select(self):
        self.assertEqual(self.client("SELECT", "0"), "OK")
        self.refused(self.client("SELECT", "1"))
        self.refused(self.client("SELECT", "x"))

    def test_time(self):
        seconds, microseconds = map(int, self.client("TIME"))
        self.assertLess(abs(seconds - time.time()), 5)
        self.assertTrue(0 <= microseconds < 10**6)

    def test_config_get(self):
        """redis-benchmark asks for save and appendonly; all that is wanted is a map."""
        for name in "save", "appendonly", "*", "nonsense":
            pairs(self.client("CONFIG", "GET", name))
        self.client("HELLO", 3)
        self.assertIsInstance(self.client("CONFIG", "GET", "save"), dict)
        self.refused(self.client("CONFIG", "NONSENSE"))

    def test_info(self):
        text = plain(self.client("INFO"))
        self.assertRegex(text, r"(?m)^# Server\r$")
        self.assertRegex(text, r"(?m)^redis_version:\d+\.\d+\.\d+\r$")
        self.assertRegex(text, r"(?m)^connected_clients:\d+\r$")
        for line in text.split("\r\n"):
            self.assertTrue(line == "" or line.startswith("#") or re.fullmatch(r"[A-Za-z0-9_.-]+:.*", line), line)
        self.assertIn("# Server", plain(self.client("INFO", "server")))

    def test_reset(self):
        self.client("HELLO", 3, "SETNAME", "x")
        self.assertEqual(self.client("RESET"), Simple("RESET"))
        self.assertEqual(pairs(self.client("HELLO"))["proto"], 2)
        self.assertIn(self.client("CLIENT", "GETNAME"), (None, b""))

    def test_quit(self):
        self.client.raw(encode("PING") + encode("QUIT") + encode("PING"))
        self.assertEqual([self.client.read(), self.client.read()], ["PONG", "OK"])
        self.assertTrue(self.client.is_closed(), "nothing after QUIT is answered")

    def test_unknown_command(self):
        self.refused(self.client("NONSENSE", "a"), "^ERR unknown command")
        self.refused(self.client("NON\r\nSENSE", "a\r\nb"), "^ERR unknown command")
        self.refused(self.client(b""), "^ERR")
        self.assertEqual(self.client("PING"), "PONG")

    def test_names_in_any_case(self):
        self.assertEqual(self.client("pInG"), "PONG")
        self.assertEqual(self.client("Cl.ThRoTtLe", "case", 4, 1, 60)[:2], [0, 5])


class Inline(Case):
    def test_ping(self):
        self.client.raw(b"PING\r\n")
        self.assertEqual(self.client.read(), "PONG")

    def test_line_feed_alone(self):
        self.client.raw(b"ping\n")
        self.assertEqual(self.client.read(), "PONG")

    def test_throttle(self):
        self.client.raw(b"CL.THROTTLE inline  4 1 60\r\n")
        self.assertEqual(self.client.read(), [0, 5, 4, -1, 60])

    def test_quotes_are_refused(self):
        """Rather than taken as part of a key."""
        for line in b'ECHO "a b"\r\n', b"ECHO 'a'\r\n", b'ECHO "a\r\n', b"ECHO a\x00b\r\n":
            with self.subTest(line=line), self.daemon.resp() as client:
                client.raw(line)
                self.refused(client.read(), "inline")

    def test_empty_lines_are_nothing(self):
        self.client.raw(b"\r\n\r\n\nPING\r\n")
        self.assertEqual(self.client.read(), "PONG")

    def test_between_commands_of_the_other_form(self):
        self.client.raw(encode("PING") + b"PING\r\n" + encode("PING"))
        self.assertEqual([self.client.read() for _ in range(3)], ["PONG"] * 3)


class HalfClosed(Case):
    """A client that says all and then closes its side, as `printf ... | nc` does, gets all replies."""

    def test_resp(self):
        received = exchange(self.daemon.address("resp"), encode("PING") * 2000 + b"ECHO end\r\n", finish=True)
        self.assertEqual(received, b"+PONG\r\n" * 2000 + b"$3\r\nend\r\n")

    def test_http(self):
        received = exchange(self.daemon.address("http"), b"GET /healthz HTTP/1.1\r\nHost: m\r\n\r\n" * 200,
                            finish=True)
        self.assertEqual(received.count(b"HTTP/1.1 200 "), 200)

    def test_in_the_middle_of_a_request(self):
        self.assertEqual(exchange(self.daemon.address("resp"), encode("PING") + b"*1\r\n$4\r\nPI", finish=True),
                         b"+PONG\r\n")


class Broken(Case):
    """A peer that does not speak the protocol gets one error, and the connection is closed."""

    def breaks(self, data, pattern="^ERR Protocol error"):
        with self.subTest(data=data[:40]), self.daemon.resp() as client:
            client.raw(data)
            self.refused(client.read(), pattern)
            self.assertTrue(client.is_closed())

    def test_wrong_type_in_a_command(self):
        for element in b":1\r\n", b"+PING\r\n", b"*1\r\n", b"x\r\n":
            self.breaks(b"*1\r\n" + element)

    def test_lengths(self):
        for length in b"-1", b"x", b"1x", b"", b"99999999999999999999", b"-99", b"+4", b"536870913":
            self.breaks(b"*1\r\n$" + length + b"\r\nPING\r\n")

    def test_counts(self):
        for count in b"x", b"1x", b"99999999999999999999", b"2147483648", b"1048577":
            self.breaks(b"*" + count + b"\r\n")

    def test_more_arguments_than_are_taken(self):
        """By every command: they are read, the error comes in its turn, and the connection goes on."""
        names = [plain(name) for name in self.client("COMMAND", "LIST")]
        for name in names + ["METE.CLOCK", "no.such.command"]:
            for count in 33, 34, 1023:
                arguments = ["ALLOWED"] * (count - 3) + ["COUNT", "5"]
                with self.subTest(name=name, count=count):
                    self.refused(self.client(name, *arguments), "^ERR (at most 31 arguments|unknown command)")
        self.assertEqual(self.client("METE.TOP", *["DENIED"] * 28, "COUNT", "5"), [])
        self.breaks(encode("PING", *["x"] * 1024))

    def test_string_without_its_end(self):
        self.breaks(b"*1\r\n$4\r\nPINGxx\r\n")

    def test_empty_commands_are_nothing(self):
        self.client.raw(b"*0\r\n*-1\r\n" + encode("PING"))
        self.assertEqual(self.client.read(), "PONG")

    def test_the_replies_before_are_sent(self):
        with self.daemon.resp() as client:
            client.raw(encode("PING") * 3 + b"*1\r\n:1\r\n" + encode("PING"))
            self.assertEqual([client.read() for _ in range(3)], ["PONG"] * 3)
            self.refused(client.read(), "^ERR Protocol error")
            self.assertTrue(client.is_closed())

    def test_a_line_without_an_end(self):
        self.breaks(b"A" * 70000, "^ERR")

    def test_http_to_the_wrong_port(self):
        """Commands smuggled in the body of a web page's request are not run."""
        with self.daemon.resp() as client:
            client.raw(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nCL.THROTTLE smuggled 0 1 60\r\n")
            rest = client.file.read()
            self.assertNotIn(b"*5", rest)
        self.assertEqual(self.client("EXISTS", "smuggled"), 0)


if __name__ == "__main__":
    unittest.main()

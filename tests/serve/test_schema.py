# SPDX-License-Identifier: Apache-2.0
"""The check of replies against their schemas says no to what does not fit."""
import unittest

import schema
from resp import ErrorReply, Simple


class Schema(unittest.TestCase):
    def test_every_command_has_one(self):
        self.assertGreater(len(schema.schemas()), 20)

    def test_what_fits(self):
        for command, reply in (("CL.THROTTLE", [0, 16, 15, -1, 2]), ("ping", Simple("PONG")), ("PING", b"x"),
                               ("GCRA", ErrorReply("ERR no")), ("NONE", ErrorReply("ERR unknown")), ("DEL", 3)):
            schema.check((command,), reply)

    def test_what_does_not(self):
        for command, reply in (("CL.THROTTLE", [0, 16, 15, -1]), ("CL.THROTTLE", [2, 16, 15, -1, 2]),
                               ("CL.THROTTLE", [0, 16, -1, -1, 2]), ("CL.THROTTLE", [0, 16, 15, -2, 2]),
                               ("PING", Simple("PING")), ("DEL", -1), ("DEL", b"1"), ("METE.TAKE", [b"allowed", 1]),
                               ("METE.TAKE", {b"allowed": True}), ("NONE", 1)):
            with self.subTest(command=command, reply=reply), self.assertRaises(AssertionError):
                schema.check((command,), reply)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The program's frame: help, version, unknown words, and an output that cannot be written."""

import os
import re
import subprocess
import sys
import unittest


def mete(*arguments, stdout=subprocess.PIPE):
    done = subprocess.run([os.environ["METE_BIN"], *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=30)
    return done.returncode, done.stdout, done.stderr


class Frame(unittest.TestCase):
    def test_nothing_is_a_usage_error_with_the_help(self):
        code, out, err = mete()
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(err, mete("help")[1])

    def test_unknown_words(self):
        for arguments in (("nonsense",), ("help", "nonsense"), ("--help", "nonsense")):
            self.assertEqual(mete(*arguments), (2, "", "mete: unknown command 'nonsense' (see 'mete help')\n"))
        self.assertEqual(mete("foo")[2], "mete: unknown command 'foo' (see 'mete help')\n")

    def test_near_misses(self):
        for said, meant in (("sevre", "serve"), ("tak", "take"), ("tpo", "top"), ("configs", "config"),
                            ("--versions", "--version")):
            self.assertEqual(mete(said), (2, "", f"mete: unknown command '{said}'; did you mean '{meant}'? "
                                                 "(see 'mete help')\n"))
        self.assertEqual(mete("config", "xcheck", "x")[2],
                         "mete config: unknown command 'xcheck'; did you mean 'check'? (see 'mete help config')\n")

    def test_every_hint_leads_to_a_page(self):
        for arguments in (("config", "explain", "x"), ("config", "check", "--frob"), ("take", "--frob"), ("limit",)):
            code, out, err = mete(*arguments)
            self.assertEqual((code, out), (2, ""))
            page = re.search(r"\(see 'mete (help .*)'\)\n\Z", err)[1].split()
            self.assertTrue(mete(*page)[1].startswith(f"Usage: mete {' '.join(page[1:])} "), page)
        self.assertEqual(mete("help", "config", "xcheck")[0], 2)

    def test_what_is_missing(self):
        for given in range(3):
            _, _, err = mete("config", "explain", *["x"] * given)
            missing = " ".join(["FILE", "POLICY", "KEY"][given:])
            self.assertEqual(err, f"mete config explain: missing {missing} (see 'mete help config explain')\n")
        self.assertIn(" missing KEY ", mete("take", "api")[2])

    def test_help_lists_every_command_and_each_has_its_own(self):
        code, out, err = mete("help")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(mete("--help"), (code, out, err))
        names = [line.split()[0] for line in out.split("Commands:\n")[1].split("\n\n")[0].splitlines()]
        self.assertLessEqual({"limit", "replay", "stress", "bench", "help"}, set(names))
        for name in set(names) - {"help"}:
            code, text, err = mete("help", name)
            self.assertEqual((code, err), (0, ""), name)
            self.assertTrue(text.startswith(f"Usage: mete {name}"), text)
            self.assertIn("\n  --help ", text)
            self.assertEqual(mete(name, "--help"), (0, text, ""))

    def test_help_fits_a_terminal(self):
        for arguments in (("help",), ("help", "replay")):
            for line in mete(*arguments)[1].splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_version(self):
        code, out, err = mete("--version")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\Amete \d+\.\d+\.\d+\n\Z")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            code, _, err = mete("help", stdout=full)
        self.assertEqual((code, err), (3, "mete: standard output cannot be written: No space left on device\n"))


if __name__ == "__main__":
    if "METE_BIN" not in os.environ:
        sys.exit("METE_BIN is not set: the path of the program to test")
    unittest.main()

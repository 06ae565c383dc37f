# SPDX-License-Identifier: Apache-2.0
"""The parser that the header tests trust is as strict as RFC 9651: its own examples, and what it must refuse."""
import unittest
from decimal import Decimal

import sf


class Lists(unittest.TestCase):
    def test_canonical(self):
        for text, value in [('"a";q=100;w=60, "b";r=0', [("a", [("q", 100), ("w", 60)]), ("b", [("r", 0)])]),
                            ("sugar, tea", [(sf.Token("sugar"), []), (sf.Token("tea"), [])]),
                            ('"x";pk=:/wA=:', [("x", [("pk", b"\xff\x00")])]),
                            (r'"a\"b\\";ok', [('a"b\\', [("ok", True)])]),
                            ("1.5, -7, ?0, @1659578233", [(Decimal("1.5"), []), (-7, []), (False, []),
                                                          (sf.Date(1659578233), [])]),
                            ("(1 2);a, 3", [([(1, []), (2, [])], [("a", True)]), (3, [])])]:
            with self.subTest(text=text):
                self.assertEqual(sf.parse_list(text), value)
                self.assertEqual(sf.serialise_list(value), text)

    def test_legal_but_not_canonical(self):
        for text in '"a"; q=1', '"a" ,"b"', ' "a"', '"a"\t,\t"b"', "007":
            with self.subTest(text=text):
                self.assertNotEqual(sf.serialise_list(sf.parse_list(text)), text)

    def test_of_two_parameters_the_last_counts(self):
        self.assertEqual(sf.parse_list("1;a=1;b=2;a=3"), [(1, [("b", 2), ("a", 3)])])

    def test_refused(self):
        for text in ['"a",', ",", '"a" "b"', '"a', 'a"', '"é"', '"a\x7f"', '"a\tb"', r'"\x"', '"a";Q=1', '"a";=1',
                     '"a" ;q=1', "1234567890123456", "1.2345", "1.", "-", "--1", "1234567890123.1", ":a b:", ":a",
                     "(1 2", "(1,2)",
                     "?2", "@1.5", '"a";q=', "+1", "'a'", "\n"]:
            with self.subTest(text=text), self.assertRaises(ValueError):
                sf.parse_list(text)

    def test_not_serialised(self):
        for member in [(10**15, []), ("a", [("Q", 1)])]:
            with self.assertRaises(ValueError):
                sf.serialise_list([member])


class Dictionaries(unittest.TestCase):
    def test_canonical(self):
        text = "limit=100, remaining=50, ok, reset=5;x"
        value = sf.parse_dictionary(text)
        self.assertEqual(list(value), ["limit", "remaining", "ok", "reset"])
        self.assertEqual(value["ok"], (True, []))
        self.assertEqual(sf.serialise_dictionary(value), text)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The worked examples of CL.THROTTLE, with a clock that the test moves: redis-cell's answers where they are right,
and the right ones where that answer is a known fault (times cut to 0, remaining above the limit).

Each row: the time in seconds, the arguments after the key, the reply.
"""
import random
import unittest
from fractions import Fraction

from daemon import SCALE, serve
from model import Throttle

EXAMPLES = {
    # redis-cell's README.
    "A": [("0", "15 30 60", "0 16 15 -1 2")],
    # redis-cell's unit test it_rate_limits.
    "B": [("0", "4 1 1 6", "1 5 5 -1 0"),  # more than can ever pass: no time to wait for
          ("0", "4 1 1 1", "0 5 4 -1 1"),
          ("0", "4 1 1 1", "0 5 3 -1 2"),
          ("0", "4 1 1 1", "0 5 2 -1 3"),
          ("0", "4 1 1 1", "0 5 1 -1 4"),
          ("0", "4 1 1 1", "0 5 0 -1 5"),
          ("0", "4 1 1 1", "1 5 0 1 5"),
          ("3", "4 1 1 1", "0 5 2 -1 3"),
          ("3.1", "4 1 1 1", "0 5 1 -1 4"),  # 3.9 s, up
          ("4", "4 1 1 1", "0 5 1 -1 4"),
          ("8", "4 1 1 1", "0 5 4 -1 1"),
          ("9.5", "4 1 1 1", "0 5 4 -1 1"),
          ("9.5", "4 1 1 0", "0 5 4 -1 1"),  # a peek
          ("9.5", "4 1 1 2", "0 5 2 -1 3"),
          ("9.5", "4 1 1 5", "1 5 2 3 3")],
    # redis-cell's end-to-end test; 0.5 ms before the end it says "limited, retry after 0".
    "C": [("0", "0 1 2 1", "0 1 0 -1 2"),
          ("0", "0 1 2 1", "1 1 0 2 2"),
          ("1.9995", "0 1 2 1", "1 1 0 1 1"),
          ("2", "0 1 2 1", "0 1 0 -1 2")],
    # 1 ms a unit: redis-cell says "limited, retry after 0".
    "D": [("0", "0 1000 1 1", "0 1 0 -1 1"),
          ("0.0004", "0 1000 1 1", "1 1 0 1 1"),
          ("0.001", "0 1000 1 1", "0 1 0 -1 1")],
    # 100 us a unit: redis-cell says reset 0 and retry 0.
    "E": [("0", "9 10000 1 1", f"0 10 {left} -1 1") for left in range(9, -1, -1)] + [
        ("0", "9 10000 1 1", "1 10 0 1 1")],
    # redis-cell says that 6024 of 6001 remain.
    "F1": [("0", "6000 6000 1 1", "0 6001 6000 -1 1")],
    # redis-cell says that 2^63 - 1 remain.
    "F2": [("0", "9 2000000 1 1", "0 10 9 -1 1")],
    # A third of a second a unit.
    "G": [("0", "2 3 1 1", "0 3 2 -1 1"),
          ("0", "2 3 1 1", "0 3 1 -1 1"),
          ("0", "2 3 1 1", "0 3 0 -1 1"),
          ("0", "2 3 1 1", "1 3 0 1 1"),
          ("0.34", "2 3 1 1", "0 3 0 -1 1")],
    # Another burst on a live key: what it owes stays.
    "H": [("0", "9 10 10 10", "0 10 0 -1 10"),
          ("0", "19 10 10 1", "0 20 9 -1 11"),
          ("0", "4 10 10 1", "1 5 0 7 11")],
    # One a day.
    "I": [("0", "0 1 86400 1", "0 1 0 -1 86400"),
          ("0.5", "0 1 86400 1", "1 1 0 86400 86400")],
    # 8.571428571... s a unit.
    "J": [("0", "6 7 60 7", "0 7 0 -1 60"),
          ("0", "6 7 60 1", "1 7 0 9 60")],
}


def numbers(text):
    return [int(word) for word in text.split()]


class WorkedExamples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = serve(cls, test_clock=True)
        cls.client = cls.daemon.resp()

    def show(self, name, command=("CL.THROTTLE",), spell=str.split):
        key = f"{command[0]}:{name}"
        for at, arguments, reply in EXAMPLES[name]:
            with self.subTest(example=name, at=at, arguments=arguments):
                self.daemon.clock_s(at)
                self.assertEqual(self.client(*command, key, *spell(arguments)), numbers(reply))

    def test_A_readme(self):
        self.show("A")

    def test_B_unit_table(self):
        self.show("B")

    def test_C_half_a_millisecond_before_the_end_is_one_second(self):
        self.show("C")

    def test_D_a_wait_below_a_millisecond_is_one_second(self):
        self.show("D")

    def test_E_a_reset_below_a_millisecond_is_one_second(self):
        self.show("E")

    def test_F1_remaining_is_never_above_the_limit(self):
        self.show("F1")

    def test_F2_half_a_microsecond_a_unit(self):
        self.show("F2")

    def test_G_a_third_of_a_second(self):
        self.show("G")

    def test_H_another_burst_on_a_live_key(self):
        self.show("H")

    def test_I_one_a_day(self):
        self.show("I")

    def test_J_a_seventh_of_a_minute(self):
        self.show("J")

    def test_rl_throttle_answers_the_same(self):
        for name in EXAMPLES:
            self.show(name, ("RL.THROTTLE",))

    def test_gcra_answers_the_same(self):
        """GCRA key max-burst tokens-per-period period [TOKENS count]; it has no peek."""
        def spell(arguments):
            burst, count, period, *quantity = arguments.split()
            return [burst, count, period, *(["TOKENS", *quantity] if quantity else [])]
        for name in EXAMPLES:
            if all(numbers(arguments)[3:] != [0] for _, arguments, _ in EXAMPLES[name]):
                self.show(name, ("GCRA",), spell)

    def test_the_model_gives_the_same(self):
        """What the other tests compare with is right itself."""
        for name, rows in EXAMPLES.items():
            key = Throttle()
            for at, arguments, reply in rows:
                with self.subTest(example=name, at=at, arguments=arguments):
                    self.assertEqual(key(Fraction(at), *numbers(arguments)), numbers(reply))


class Histories(unittest.TestCase):
    """Random histories of keys with a limit each, whose unit is a whole number of nanoseconds or a third of one:
    there everything is exact."""

    def test_every_reply_is_the_models(self):
        daemon = serve(self, test_clock=True)
        client = daemon.resp()
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        for number in range(60 * SCALE):
            burst = chance.choice([0, 1, 4, chance.randrange(1000)])
            count, period = chance.choice([(1, 1), (3, 1), (10, 60), (1, 86400), (1000, 1), (30, 60), (7, 7),
                                           (10**9, 1), (1, chance.randrange(1, 10**4))])
            unit_ns = Fraction(period * 10**9, count)
            key, model = f"history:{number}", Throttle()
            now_ns = chance.randrange(10**15)
            for _ in range(25):
                now_ns += chance.choice([0, 1, int(unit_ns), chance.randrange(int(unit_ns * (burst + 2)) + 1)])
                quantity = chance.choice([0, 1, 1, 1, burst, burst + 1, burst + 2, chance.randrange(burst + 3)])
                self.assertEqual(client("METE.CLOCK", "SET", now_ns), now_ns)
                expected = model(Fraction(now_ns, 10**9), burst, count, period, quantity)
                self.assertEqual(client("CL.THROTTLE", key, burst, count, period, quantity), expected,
                                 f"seed {seed}, history {number}, at {now_ns} ns: {burst} {count} {period} {quantity}")


class RealClock(unittest.TestCase):
    """The examples that need no clock: their commands come in one write, and are over before the next second."""

    def test_examples_at_one_instant(self):
        daemon = serve(self)
        client = daemon.resp()
        for name in "A", "E", "F1", "F2", "G", "H", "I", "J":
            rows = [row for row in EXAMPLES[name] if row[0] == "0"]
            if name in ("E", "F2"):
                rows = rows[:1]  # more would have to come within microseconds
            replies = client.pipeline([("CL.THROTTLE", f"real:{name}", *arguments.split()) for _, arguments, _ in rows])
            with self.subTest(example=name):
                self.assertEqual(replies, [numbers(reply) for _, _, reply in rows])

    def test_without_a_configuration_file(self):
        """The unit table up to its first pause."""
        daemon = serve(self)
        client = daemon.resp()
        rows = [row for row in EXAMPLES["B"] if row[0] == "0"]
        replies = client.pipeline([("cl.throttle", "bare", *arguments.split()) for _, arguments, _ in rows])
        self.assertEqual(replies, [numbers(reply) for _, _, reply in rows])


if __name__ == "__main__":
    unittest.main()

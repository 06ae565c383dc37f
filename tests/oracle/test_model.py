# SPDX-License-Identifier: Apache-2.0
"""The model itself, by values computed by hand."""
import unittest
from datetime import datetime, timezone

from model import NEVER, PERIOD_MAX, TEN_YEARS, TIME_MAX, Decision, Key, Limit
from rule_bucket import unit_ticks

SECOND = 10**9
MINUTE = 60 * SECOND


class Buckets(unittest.TestCase):
    def test_token_bucket_refills_one_per_second(self):
        key = Key(Limit("token_bucket", 1, SECOND, 3))
        self.assertEqual(key.take(0, 3), Decision(True, 3, 0, 0, 0, 3 * SECOND))
        self.assertEqual(key.take(SECOND // 2, 1), Decision(False, 3, 0, 0, SECOND // 2, 5 * SECOND // 2))
        self.assertEqual(key.peek(SECOND, 1), Decision(True, 3, 1, 0, 0, 2 * SECOND))
        self.assertEqual(key.take(SECOND, 4).retry, NEVER)
        self.assertEqual(key.reserve(SECOND, 2, SECOND), Decision(True, 3, 0, SECOND, 0, 4 * SECOND))
        self.assertEqual(key.refund(SECOND, 2), Decision(True, 3, 1, 0, 0, 2 * SECOND))
        self.assertEqual(key.peek(0, 1), Decision(False, 3, 0, 0, SECOND, 3 * SECOND))

    def test_three_per_ten_nanoseconds_is_exact(self):
        key = Key(Limit("token_bucket", 3, 10, 3))
        self.assertEqual(key.take(1, 3).reset, 10)
        self.assertEqual(key.take(1, 1).retry, 4)  # 10/3 ns, told as 4
        self.assertEqual(key.take(1, 2).retry, 7)

    def test_seven_per_second_is_strict_by_less_than_one_nanosecond(self):
        key, true = Key(Limit("token_bucket", 7, SECOND)), Key(Limit("token_bucket", 7, SECOND), rational=True)
        # At most floor(3e9 / 7) = 428571428 ticks, in steps of 1e8 for a grid of 10 ns: 1 ns is 2.8 ticks.
        self.assertEqual(key.take(1, 6).remaining, 0)
        self.assertEqual(key.state, 3 + 6 * 4 * 10**8)
        self.assertEqual(key.take(1, 1), Decision(False, 7, 0, 0, 1, 857142858))
        self.assertTrue(key.take(2, 1).allowed)
        self.assertTrue(true.take(1, 7).allowed)

    def test_seven_per_second_is_exact_on_its_grid(self):
        key = Key(Limit("token_bucket", 7, SECOND))
        self.assertEqual(key.take(10, 6), Decision(True, 7, 1, 0, 0, 857142858))
        self.assertEqual(key.state, 28 + 6 * 4 * 10**8)
        self.assertEqual(key.take(10, 1), Decision(True, 7, 0, 0, 0, SECOND))

    def test_ticks_per_unit(self):
        for (p, c), want in (((SECOND, 1), (SECOND, 1)), ((10, 3), (10, 1)), ((SECOND, 7), (4 * 10**8, 10)),
                             ((60 * SECOND, 97), (18 * 10**8, 10**2)), ((5, 4), (3, 10)),
                             ((SECOND + 7, 11), (272727274, None)), ((SECOND + 7, SECOND), (3, None))):
            self.assertEqual(unit_ticks(p, c), want, (p, c))

    def test_leaky_bucket_queues_at_the_drain_rate(self):
        key = Key(Limit("leaky_bucket", 1, SECOND, 3))
        waits = [key.reserve(0, 1, 10 * SECOND).wait for _ in range(3)]
        self.assertEqual(waits, [0, SECOND, 2 * SECOND])
        self.assertEqual(key.reserve(0, 1, 10 * SECOND).retry, SECOND)
        self.assertEqual(key.reserve(0, 1, 0).retry, 3 * SECOND)

    def test_change_of_limit_keeps_what_is_owed(self):
        key = Key(Limit("token_bucket", 1, SECOND, 10))
        key.take(0, 8)
        key.set_limit(Limit("token_bucket", 1, SECOND, 5), SECOND)
        self.assertEqual(key.peek(SECOND, 1), Decision(False, 5, 0, 0, 3 * SECOND, 7 * SECOND))
        key.set_limit(Limit("token_bucket", 1, MINUTE, 5), SECOND)
        self.assertEqual(key.peek(SECOND, 1).reset, 5 * MINUTE)


class Windows(unittest.TestCase):
    def test_fixed_window(self):
        key = Key(Limit("fixed_window", 10, MINUTE))
        self.assertEqual(key.take(90 * SECOND, 10), Decision(True, 10, 0, 0, 0, 30 * SECOND))
        self.assertEqual(key.take(100 * SECOND, 1), Decision(False, 10, 0, 0, 20 * SECOND, 20 * SECOND))
        self.assertEqual(key.reserve(100 * SECOND, 4, MINUTE), Decision(True, 10, 0, 20 * SECOND, 0, 80 * SECOND))
        self.assertEqual(key.take(110 * SECOND, 6).retry, 10 * SECOND)
        self.assertEqual(key.take(110 * SECOND, 7).retry, 70 * SECOND)
        self.assertEqual(key.take(120 * SECOND, 6).remaining, 0)

    def test_anchored_window_starts_at_the_first_charge_rounded_up(self):
        key = Key(Limit("fixed_window", 15, MINUTE, alignment="first"))
        self.assertEqual(key.take(1001, 15).reset, MINUTE + 7)  # grain 8 ns: it starts at 1008
        self.assertEqual(key.take(1002, 1).retry, MINUTE + 6)
        # At the end a new window may begin at once; only a booked one waits for the next multiple of 8.
        self.assertEqual(key.reserve(1002, 1, 0).retry, MINUTE + 6)

    def test_sliding_window_example(self):
        key = Key(Limit("sliding_window", 100, MINUTE))
        key.take(10 * SECOND, 80)
        key.take(70 * SECOND, 10)
        self.assertEqual(key.take(75 * SECOND, 20), Decision(True, 100, 10, 0, 0, 105 * SECOND))
        # 30 + 11 + 80 * left / 60 s <= 100 when left <= 44.25 s
        self.assertEqual(key.take(75 * SECOND, 11).retry, 3 * SECOND // 4)

    def test_sliding_log(self):
        key = Key(Limit("sliding_log", 3, 10))
        key.take(5, 2)
        key.take(8, 1)
        self.assertEqual(key.take(9, 1), Decision(False, 3, 0, 0, 6, 9))
        self.assertEqual(key.take(9, 3).retry, 9)
        self.assertEqual(key.take(15, 2), Decision(True, 3, 0, 0, 0, 10))
        self.assertEqual(key.take(4, 1), Decision(False, 3, 0, 0, 3, 10))  # judged at 15


    def test_a_booking_that_a_refund_emptied_still_has_to_begin(self):
        for algorithm in ("fixed_window", "sliding_window", "sliding_log"):
            key = Key(Limit(algorithm, 5, 10))
            key.take(0, 5)
            wait = key.reserve(0, 5, 100).wait
            # The sliding counter waits until the last unit of the window before has faded.
            self.assertEqual(wait, 20 if algorithm == "sliding_window" else 10)
            key.refund(wait, 5)
            key.refund(wait - 10, 5)
            self.assertEqual(key.peek(0, 0), Decision(True, 5, 0, 0, 0, wait), algorithm)

    def test_nothing_is_added_later_than_ten_years_after_the_last_time(self):
        key = Key(Limit("sliding_log", 1, TEN_YEARS))
        self.assertEqual(key.take(TIME_MAX, 1).allowed, True)
        self.assertEqual(key.reserve(TIME_MAX, 1, NEVER).wait, TEN_YEARS)
        self.assertEqual(key.reserve(TIME_MAX, 1, NEVER).retry, NEVER)
        self.assertEqual(key.take(TIME_MAX, 1).retry, NEVER)


class Changes(unittest.TestCase):
    LOG = Limit("sliding_log", 10, MINUTE)
    WINDOW = Limit("fixed_window", 10, MINUTE)

    def changed(self, limits, taken, t=0):
        """A key that took under the first limit at 0, then saw a change every 10 s and was not used."""
        key = Key(limits[0])
        key.take(0, taken)
        for i, limit in enumerate(limits[1:]):
            key.set_limit(limit, (i + 1) * 10 * SECOND)
        return key.peek(t or len(limits) * 10 * SECOND, 0)

    def test_several_changes_are_walked_through(self):
        some, few = self.WINDOW._replace(count=9), self.WINDOW._replace(count=3)
        self.assertEqual(self.changed((self.WINDOW, few, some), 8).remaining, 6)
        self.assertEqual(self.changed((self.LOG, few, some), 8).remaining, 6)
        self.assertEqual(self.changed((self.LOG, few, self.LOG._replace(count=9)), 8).remaining, 6)

    def test_a_lower_count_of_a_log_drops_none(self):
        few = self.LOG._replace(count=3)
        self.assertEqual(self.changed((self.LOG, few, self.LOG._replace(count=9)), 8).remaining, 1)
        self.assertEqual(self.changed((self.LOG, few), 8), Decision(True, 3, 0, 0, 0, 40 * SECOND))

    def test_coming_back_owes_the_larger_of_two(self):
        # As if it had stayed: 8.  Walked through: 3.
        self.assertEqual(self.changed((self.WINDOW, self.WINDOW._replace(count=3), self.WINDOW), 8).remaining, 2)
        # As if it had stayed: 7 of 10 after 30 s.  Walked through 10 s of a tenth of the rate: 7.9.
        bucket = Limit("token_bucket", 10, 100 * SECOND)
        self.assertEqual(self.changed((bucket, bucket._replace(period_ns=1000 * SECOND), bucket), 10).remaining, 2)

    def test_what_is_over_under_the_old_period_stays_over(self):
        short = self.LOG._replace(period_ns=5 * SECOND)
        self.assertEqual(self.changed((short, self.LOG), 8).remaining, 10)
        self.assertEqual(self.changed((self.LOG, self.LOG._replace(period_ns=2 * MINUTE)), 8).remaining, 2)

    def test_a_log_keeps_its_last(self):
        key = Key(self.LOG)
        key.take(0, 10)
        self.assertEqual(key.reserve(0, 1, MINUTE).wait, MINUTE)
        key.set_limit(self.WINDOW, 0)
        key.reset()
        key.set_limit(self.LOG._replace(count=20), 0)
        self.assertEqual(key.take(1, 1).remaining, 19)
        self.assertEqual(key.peek(2, 0).reset, MINUTE)
        self.assertEqual(key.peek(MINUTE + 2, 0).reset, MINUTE - 2)

    def test_a_forgotten_limit_is_settled_straight(self):
        limits = [self.LOG] + [self.WINDOW._replace(count=3 + i) for i in range(9)]
        self.assertEqual(self.changed(limits[:9], 8, 20 * SECOND).remaining, 7)  # 3 under the first, then 3 of 10
        self.assertEqual(self.changed(limits, 8, 20 * SECOND).remaining, 3)      # 8 of 11
        self.assertEqual(self.changed(limits, 8).remaining, 11)


class Calendar(unittest.TestCase):
    def reset(self, unit, zone, text):
        t = int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()) * SECOND
        return Key(Limit("fixed_window", 5, 0, 0, unit, zone)).take(t, 1).reset // SECOND

    def test_units(self):
        self.assertEqual(self.reset("month", "", "2028-02-01T00:00:00"), 29 * 86400)
        self.assertEqual(self.reset("week", "", "2026-11-30T00:00:00"), 7 * 86400)
        self.assertEqual(self.reset("year", "", "2027-12-31T23:59:59"), 1)
        self.assertEqual(self.reset("day", "Europe/Berlin", "2026-10-24T22:00:00"), 25 * 3600)
        self.assertEqual(self.reset("day", "Europe/Berlin", "2026-03-28T23:00:00"), 23 * 3600)
        self.assertEqual(self.reset("hour", "Asia/Kathmandu", "2026-01-01T00:15:00"), 3600)
        self.assertEqual(self.reset("hour", "Europe/Berlin", "2026-10-25T00:00:00"), 3600)

    def test_clocks_put_back_at_midnight(self):
        # Havana, 2026-11-01: 1:00 becomes 0:00.  The day begins the first time and has 25 hours; the hour comes twice.
        self.assertEqual(self.reset("day", "America/Havana", "2026-11-01T04:00:00"), 25 * 3600)
        self.assertEqual(self.reset("day", "America/Havana", "2026-11-01T05:00:00"), 24 * 3600)
        self.assertEqual(self.reset("hour", "America/Havana", "2026-11-01T04:00:00"), 3600)
        self.assertEqual(self.reset("hour", "America/Havana", "2026-11-01T04:59:59"), 1)

    def test_half_an_hour_of_summer_time(self):
        # Lord Howe, 2026-04-04T15:00Z: 2:00 becomes 1:30.  Both pieces of the hour from 1 are windows of their own.
        self.assertEqual(self.reset("hour", "Australia/Lord_Howe", "2026-04-04T14:00:00"), 3600)
        self.assertEqual(self.reset("hour", "Australia/Lord_Howe", "2026-04-04T15:00:00"), 1800)
        # 2026-10-03T15:30Z: 2:00 becomes 2:30, and the hour from 2 has 30 minutes.
        self.assertEqual(self.reset("hour", "Australia/Lord_Howe", "2026-10-03T15:30:00"), 1800)

    def test_a_day_that_is_skipped(self):
        self.assertEqual(self.reset("day", "Pacific/Apia", "2011-12-30T09:59:59"), 1)
        self.assertEqual(self.reset("day", "Pacific/Apia", "2011-12-30T10:00:00"), 24 * 3600)


class Check(unittest.TestCase):
    def test_bounds(self):
        for want, limit in (("ok", ("token_bucket", 1, TEN_YEARS)), ("erange", ("token_bucket", 1, TEN_YEARS + 1)),
                            ("ok", ("token_bucket", 5, 5)), ("erange", ("token_bucket", 6, 5)),
                            ("ok", ("token_bucket", 15, PERIOD_MAX, 1)),
                            ("erange", ("token_bucket", 15, PERIOD_MAX + 1, 1)),
                            ("ok", ("token_bucket", 1, 1, 2**64 - 1 - TIME_MAX - TEN_YEARS)),
                            ("erange", ("token_bucket", 1, 1, 2**64 - TIME_MAX - TEN_YEARS)),
                            ("ok", ("sliding_window", 32767, SECOND)), ("erange", ("sliding_window", 32768, SECOND)),
                            ("ok", ("sliding_window", 2097151, 60 * MINUTE)),
                            ("erange", ("sliding_window", 2097152, 60 * MINUTE)),
                            ("ok", ("sliding_log", 1048575, SECOND)), ("erange", ("sliding_log", 1048576, SECOND)),
                            ("einval", ("sliding_log", 5, SECOND, 5)), ("einval", ("token_bucket", 0, 1)),
                            ("ok", ("fixed_window", 2**30 - 1, 0, 0, "month")),
                            ("erange", ("fixed_window", 2**30, 0, 0, "month")),
                            ("einval", ("fixed_window", 1, 0, 0, "month", "Nowhere/Land"))):
            self.assertEqual(Limit(*limit).check(), want, limit)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Fixed windows on calendar units of a time zone, by Python's own zoneinfo."""
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from rule import SECOND
from rule_window import FixedWindow

UNITS = ("minute", "hour", "day", "week", "month", "year")


def floor_to(unit, local):
    if unit == "minute":
        return local.replace(second=0, microsecond=0)
    if unit == "hour":
        return local.replace(minute=0, second=0, microsecond=0)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    if unit == "year":
        return day.replace(month=1, day=1)
    return day


def next_of(unit, start):
    if unit == "month":
        return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
    if unit == "year":
        return start.replace(year=start.year + 1)
    return start + {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1),
                    "week": timedelta(days=7)}[unit]


@lru_cache(maxsize=None)
def zone_of(name):
    return ZoneInfo(name) if name else timezone.utc


def wall(zone, second):
    return datetime.fromtimestamp(second, zone).replace(tzinfo=None, fold=0)


def instants(zone, naive):
    """The moments at which the zone's clock on the wall shows naive, or passes it in a jump."""
    found = [int(naive.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1)]
    real = sorted({s for s in found if wall(zone, s) == naive})
    if real:
        return real
    low, high = min(found) - 1, max(found)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wall(zone, middle) < naive else (low, middle)
    return [high]


@lru_cache(maxsize=65536)
def window_of(unit, zone_name, second):
    """[start, end) in seconds of the unit that holds the second.

    A boundary is every moment at which the clock on the wall shows, or jumps over,
    the first moment of a unit.  So an hour that is lived twice is two windows.
    """
    zone = zone_of(zone_name)
    floor = floor_to(unit, wall(zone, second))
    boundaries = []
    for _ in range(3):
        boundaries += instants(zone, floor)
        floor = next_of(unit, floor)
    return max(s for s in boundaries if s <= second), min(s for s in boundaries if s > second)


class CalendarWindow(FixedWindow):
    def _window(self, t):
        start, end = window_of(self.limit.alignment, self.limit.time_zone, t // SECOND)
        return start * SECOND, end * SECOND

    def place(self, t):
        return self._window(t)[0]

    def end(self, start):
        return self._window(start)[1]

    def book(self, state, t, n, wait_max):
        """'Calendar windows are not booked ahead: reserve is take.'"""
        retry = self.retry(state, t, n)
        return 0, retry, (None if retry else self.charge(state, t, n))

# SPDX-License-Identifier: Apache-2.0
"""Fixed windows on calendar units of a time zone, by Python's own zoneinfo.

The rules where clocks are changed stand on top of src/limiter/calendar.h; the
sentences in quotes are from there.  The changes of a zone's clocks are found by
asking zoneinfo, not by reading its files.
"""
from bisect import bisect_right
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from rule import SECOND
from rule_window import FixedWindow

UNITS = ("minute", "hour", "day", "week", "month", "year")
CLOCK_UNITS = {"minute": 60, "hour": 3600}
DAY = 86400
BLOCK = 64 * DAY   # changes of clocks are looked up in pieces of this length
LOOK = DAY // 4    # two changes nearer than this that undo each other would be missed
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@lru_cache(maxsize=None)
def zone_of(name):
    return ZoneInfo(name) if name else timezone.utc


def offset_at(zone, second):
    return (EPOCH + timedelta(seconds=second)).astimezone(zone).utcoffset() // timedelta(seconds=1)


@lru_cache(maxsize=65536)
def spans_of_block(name, block):
    """[(first second, offset)] of one piece of time; the first one may have begun before."""
    zone, low = zone_of(name), block * BLOCK
    spans = [(low, offset_at(zone, low))]
    for high in range(low + LOOK, low + BLOCK + 1, LOOK):
        before, after = spans[-1][1], offset_at(zone, high)
        if before == after:
            continue
        left, right = high - LOOK, high
        while right - left > 1:
            middle = (left + right) // 2
            left, right = (middle, right) if offset_at(zone, middle) == before else (left, middle)
        spans.append((right, after))
    return tuple(spans)


@lru_cache(maxsize=65536)
def spans_around(name, block):
    """[(first second, offset)] of the pieces before, at and after the block, without breaks that change nothing."""
    spans = []
    for span in (span for each in (block - 1, block, block + 1) for span in spans_of_block(name, each)):
        if not spans or span[1] != spans[-1][1]:
            spans.append(span)
    return spans


def spans_near(name, second):
    return spans_around(name, second // BLOCK)


def changes_near(name, second):
    """Moments at which clocks are changed, at least one that is none."""
    return [moment for moment, _ in spans_near(name, second)]


def local_day(name, second):
    """The day that clocks show, as days since 1970."""
    spans = spans_near(name, second)
    return (second + spans[bisect_right(spans, (second, DAY * 2)) - 1][1]) // DAY


@lru_cache(maxsize=65536)
def begin_of_day(name, day):
    """'The first moment at which local clocks show [its] first midnight or later'."""
    spans = spans_near(name, day * DAY)
    ends = [moment for moment, _ in spans[1:]] + [spans[-1][0] + 3 * BLOCK]
    return next(max(moment, day * DAY - offset) for (moment, offset), end in zip(spans, ends)
                if day * DAY - offset < end)


def first_days(unit, day):
    """First days of the units before, at and after the day, and of the one after that."""
    if unit == "day":
        return [day + i for i in range(-1, 3)]
    if unit == "week":
        monday = day - (day + 3) % 7  # 1970-01-01 was a Thursday
        return [monday + 7 * i for i in range(-1, 3)]
    when = date(1970, 1, 1) + timedelta(days=day)
    months = [(when.year + i) * 12 if unit == "year" else when.year * 12 + when.month - 1 + i for i in range(-1, 3)]
    return [(date(m // 12, m % 12 + 1, 1) - date(1970, 1, 1)).days for m in months]


def clock_window(name, length, second):
    """'Minutes and hours are what local clocks show, and a new one begins each time clocks are put back'."""
    spans = spans_near(name, second)
    here = bisect_right(spans, (second, DAY * 2)) - 1

    def continues(i):
        """Whether the unit shown before span i is still shown in it, further on."""
        (moment, offset), before = spans[i], spans[i - 1][1]
        return offset > before and (moment - 1 + before) // length == (moment + offset) // length

    first = last = here
    shown = (second + spans[here][1]) // length
    start, end = shown * length - spans[here][1], (shown + 1) * length - spans[here][1]
    while start < spans[first][0] and continues(first):
        first -= 1
        start = shown * length - spans[first][1]
    while last + 1 < len(spans) and end > spans[last + 1][0] and continues(last + 1):
        last += 1
        end = (shown + 1) * length - spans[last][1]
    if last + 1 < len(spans):
        end = min(end, spans[last + 1][0])
    return max(start, spans[first][0]), end


@lru_cache(maxsize=65536)
def window_of(unit, name, second):
    """[start, end) in seconds of the unit that holds the second."""
    if unit in CLOCK_UNITS:
        return clock_window(name, CLOCK_UNITS[unit], second)
    # "A day that is skipped whole has no window": it begins when the next one does.
    begins = [begin_of_day(name, day) for day in first_days(unit, local_day(name, second))]
    return max(s for s in begins if s <= second), min(s for s in begins if s > second)


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

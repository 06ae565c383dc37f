# SPDX-License-Identifier: Apache-2.0
"""Calendar windows and zone offsets against Python's zoneinfo.

The model here knows the rules of src/limiter/calendar.h but none of its ways: it
writes out all windows of a zone from 1969 to 2101 as one list.  The changes of
clocks are found by asking zoneinfo, not by reading the files.

METE_TEST_SEED repeats a run; METE_TEST_SCALE multiplies the random part.
"""
import os
import random
import subprocess
import sys
import tempfile
import zoneinfo
from bisect import bisect_right
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

DAY = 86400
FROM = -366 * DAY  # 1968-12-31, before any window that is asked for
TO = 4133980800 + 400 * DAY  # beyond the year that has begun at 2101-01-01, UTC, in the east
END = 4133980800
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FIRST_DAY = (date(1969, 1, 1) - date(1970, 1, 1)).days
LAST_DAY = (date(2102, 1, 4) - date(1970, 1, 1)).days

# Each has something that the others lack.
ODD_ZONES = [
    "Africa/Monrovia",  # an offset of -0:44:30, and a change inside an hour
    "Africa/Casablanca",  # changes with the moon, listed to 2087
    "Africa/Cairo",  # summer begins at a midnight
    "America/Havana",  # midnight comes twice
    "America/Nuuk",  # a rule with a negative time
    "America/Sao_Paulo",  # midnight is skipped; the evening comes twice
    "America/St_Johns",  # back from 0:01 to 23:01, and two hours at once
    "Antarctica/Troll",  # two hours of summer time
    "Asia/Beirut",  # midnight is skipped
    "Asia/Gaza",  # a rule that counts 50 hours from a Thursday
    "Asia/Kathmandu",  # :45
    "Australia/Lord_Howe",  # half an hour of summer time
    "Europe/Berlin",
    "Europe/Dublin",  # winter time is the exception
    "Pacific/Apia",  # skipped a day
    "Pacific/Chatham",  # :45 in the south
    "Pacific/Kwajalein",  # skipped a day
    "UTC",
]


def offset_at(zone, second):
    moment = (EPOCH + timedelta(seconds=second)).astimezone(zone)
    return moment.utcoffset() // timedelta(seconds=1)


class Model:
    """All windows of one zone."""

    def __init__(self, zone):
        self.zone = zone
        self.steps = self._find_steps()
        self.moments = [at for at, _ in self.steps]
        self.starts = self._unit_starts(self._day_starts())

    def offset(self, second):
        return self.steps[max(0, bisect_right(self.moments, second) - 1)][1]

    def _find_steps(self):
        """(moment, offset), found by looking twice a day and halving where they differ."""
        steps = [(FROM, offset_at(self.zone, FROM))]
        for second in range(FROM, TO, DAY // 2):
            known = steps[-1][1]
            offset = offset_at(self.zone, second)
            if offset == known:
                continue
            low, high = second - DAY // 2, second
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset_at(self.zone, middle) == known else (low, middle)
            steps.append((high, offset))
        return steps

    def _day_starts(self):
        """For each day the first moment at which clocks show its midnight or later."""
        starts = []
        index = 0
        ends = self.moments[1:] + [TO]
        for day in range(FIRST_DAY, LAST_DAY):
            # Moments only grow with the day, so the index never goes back.
            while day * DAY - self.steps[index][1] >= ends[index]:
                index += 1
            starts.append(max(self.moments[index], day * DAY - self.steps[index][1]))
        return starts

    @staticmethod
    def _unit_starts(day_starts):
        units = {"day": [], "week": [], "month": [], "year": []}
        for day, start in zip(range(FIRST_DAY, LAST_DAY), day_starts):
            when = date(1970, 1, 1) + timedelta(days=day)
            begins = {"day": True, "week": when.weekday() == 0, "month": when.day == 1,
                      "year": when.month == when.day == 1}
            for unit, starts in units.items():
                # A unit that begins when the next one does is skipped.
                if begins[unit] and (not starts or starts[-1] < start):
                    starts.append(start)
        return units

    def _is_clock_boundary(self, unit_s, second):
        before, now = self.offset(second - 1), self.offset(second)
        return (second - 1 + before) // unit_s != (second + now) // unit_s or now < before

    def _clock_window(self, unit_s, second):
        near = range(bisect_right(self.moments, second - unit_s - 1) - 1, bisect_right(self.moments, second + unit_s))
        places = set()
        for moment, offset in (self.steps[max(0, i)] for i in near):
            places.add(moment)
            floor = second - (second + offset) % unit_s
            places.update(floor + i * unit_s for i in range(-2, 4))
        bounds = sorted(place for place in places if self._is_clock_boundary(unit_s, place))
        index = bisect_right(bounds, second)
        return bounds[index - 1], bounds[index]

    def window(self, unit, second):
        if unit in ("minute", "hour"):
            return self._clock_window(60 if unit == "minute" else 3600, second)
        starts = self.starts[unit]
        index = bisect_right(starts, second)
        return starts[index - 1], starts[index]


UNITS = ("minute", "hour", "day", "week", "month", "year")


class Checks:
    """Questions to the driver and the answers they must get."""

    def __init__(self, driver, environment):
        self.driver = driver
        self.environment = environment
        self.questions = []
        self.expected = []

    def open(self, name):
        self.questions.append(name)
        self.expected.append(None)

    def window(self, model, unit, second):
        if 0 <= second < END:
            self.questions.append(f"{unit} {second}")
            self.expected.append("%d %d" % model.window(unit, second))

    def offset(self, zone, second):
        self.questions.append(f"offset {second}")
        self.expected.append(str(offset_at(zone, second)))

    def run(self):
        done = subprocess.run([self.driver], input="\n".join(self.questions) + "\n", env=self.environment, text=True,
                              stdout=subprocess.PIPE, check=False)
        answers = done.stdout.split("\n")
        zone = ""
        for question, expected, answer in zip(self.questions, self.expected, answers):
            zone = question if expected is None else zone
            if expected is not None and answer != expected:
                sys.exit(f"{zone}: {question}: expected {expected}, got {answer or 'nothing'}")
        if done.returncode != 0 or len(answers) != len(self.questions) + 1:
            sys.exit(f"{self.driver}: status {done.returncode}, {len(answers) - 1} of {len(self.questions)} answers")
        return len(self.questions)


def check_model(checks, model, draw, times):
    for moment in model.moments[1:]:
        for second in (moment - 1, moment, moment + 1):
            for unit in UNITS:
                checks.window(model, unit, second)
    for _ in range(times):
        second = draw.randrange(END)
        for unit in UNITS:
            checks.window(model, unit, second)


def check_every_window(checks, model):
    """The first and the last second of each day, week, month and year."""
    for unit, starts in model.starts.items():
        for start, end in zip(starts, starts[1:]):
            checks.window(model, unit, start)
            checks.window(model, unit, end - 1)


def check_tiling(driver, environment, name, model, unit, unit_s):
    """Steps through the windows beside each change: no gap, no overlap, none too long."""
    for moment in model.moments[1:]:
        if not 3 * DAY < moment < END - 3 * DAY:
            continue
        seconds = range(moment - 3 * unit_s, moment + 3 * unit_s, max(1, unit_s // 7))
        text = "".join(f"{unit} {second}\n" for second in seconds)
        lines = subprocess.run([driver], input=f"{name}\n{text}", env=environment, text=True, check=True,
                               stdout=subprocess.PIPE).stdout.split("\n")[1:-1]
        spans = [tuple(map(int, line.split())) for line in lines]
        assert len(spans) == len(seconds)
        for second, (start, end) in zip(seconds, spans):
            assert start <= second < end <= start + unit_s, (name, unit, second, start, end)
        kinds = sorted(set(spans))
        assert all(left[1] == right[0] for left, right in zip(kinds, kinds[1:])), (name, unit, moment, kinds)


def check_offsets(checks, names, draw, times):
    for name in names:
        zone = zoneinfo.ZoneInfo(name)
        checks.open(name)
        for _ in range(times):
            checks.offset(zone, draw.randrange(FROM, END))


def slim_folder(folder):
    """The same zones as small files, whose footers must say what the lists do not."""
    source = next((path for path in (Path(p) / "tzdata.zi" for p in zoneinfo.TZPATH) if path.exists()), None)
    if source is None:
        sys.exit("tzdata.zi is missing: install tzdata")
    zic = next((path for path in ("/usr/sbin/zic", "/usr/bin/zic") if os.path.exists(path)), None)
    if zic is None:
        sys.exit("zic is missing: install libc-bin")
    subprocess.run([zic, "-b", "slim", "-d", folder, source], check=True)


def check_slim(driver, environment, names, draw):
    with tempfile.TemporaryDirectory() as folder:
        slim_folder(folder)
        checks = Checks(driver, dict(environment, TZDIR=folder))
        for name in names:
            with open(Path(folder) / name, "rb") as file:
                zone = zoneinfo.ZoneInfo.from_file(file)
            checks.open(name)
            check_model(checks, Model(zone), draw, 100)
        return checks.run()


def main():
    seed = int(os.environ.get("METE_TEST_SEED") or random.randrange(1 << 32))
    scale = int(os.environ.get("METE_TEST_SCALE") or 1)
    driver = os.path.join(os.environ["METE_BUILD_DIR"], "tests", "calendar_driver")
    environment = {key: value for key, value in os.environ.items() if key != "TZDIR"}
    draw = random.Random(seed)
    print(f"seed {seed}", flush=True)

    known = sorted(zoneinfo.available_timezones())
    assert len(known) > 400, "the time zones are missing: install tzdata"
    others = draw.sample([name for name in known if name not in ODD_ZONES], min(len(known) - 20, 8 * scale))
    checks = Checks(driver, environment)
    models = {name: Model(zoneinfo.ZoneInfo(name)) for name in ODD_ZONES}
    for name, model in models.items():
        checks.open(name)
        check_model(checks, model, draw, 300 * scale)
    for name in ("Pacific/Apia", draw.choice(ODD_ZONES)):
        checks.open(name)
        check_every_window(checks, models[name])
    for name in others:
        checks.open(name)
        check_model(checks, Model(zoneinfo.ZoneInfo(name)), draw, 100)
    check_offsets(checks, known, draw, 20 * scale)
    print(f"{checks.run()} answers, {len(known)} zones", flush=True)

    for name in ("Australia/Lord_Howe", "Africa/Monrovia", "America/St_Johns"):
        check_tiling(driver, environment, name, models[name], "hour", 3600)
        check_tiling(driver, environment, name, models[name], "minute", 60)
    print(f"{check_slim(driver, environment, ODD_ZONES[:: 1 if scale > 1 else 3], draw)} answers from small files")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""An independent reader of access logs: the yardstick for `mete replay`.

Written from the documented rules, not from the C reader:

* A log line is a request when its address (the first field, not empty), its
  [time] and the first character of its request can be read.  Whatever is cut
  off after that does not matter.
* A row of JSON lines, CSV or TSV is a request when the named key, time and
  cost fields can be read.  Other fields, also missing ones, do not matter.
* Everything else is skipped with a reason.  A line that holds nothing but its
  line end is neither a request nor skipped.
* Times are exact: no number passes through a float.

Everything is bytes until a key: a log need not be valid UTF-8.
"""

import csv
import datetime
import gzip
import io
import json
import re
from fractions import Fraction

TIME_MAX_NS = 4102444800 * 10**9  # 2100-01-01T00:00:00Z, the latest time a limiter accepts
COST_MAX = 2**64 - 1
NS = 10**9
EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
MONTHS = {name: i + 1 for i, name in enumerate(
    b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())}

CLF_LINE = re.compile(
    rb"([^ ]+) [^\[]*"
    rb"\[(\d\d)/([A-Z][a-z][a-z])/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)\] +"
    rb'"[^"]', re.DOTALL)
ISO_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):?(\d\d))?")
DECIMAL_TIME = re.compile(r"\d+(?:\.\d+)?")
WHOLE = re.compile(r"\d+")


class Unreadable(Exception):
    """Why a line is not a request."""


def read(path, key=None, time=None, cost=None):
    """Yields (line, key, time_ns, cost) for a request, (line, reason) for a skipped line.

    key "-" is one key for all.  The format is seen from the first line.
    """
    with open_plain(path) as lines:
        first = lines.readline()
        parse, header_lines = choose_format(first, key, time, cost)
        number = 1
        line = first
        while line:
            text = strip_line_end(line)
            if text and number > header_lines:
                try:
                    yield (number, *parse(text))
                except Unreadable as reason:
                    yield (number, str(reason))
            line = lines.readline()
            number += 1


def open_plain(path):
    """Opens a file, through gzip when it begins as gzip does."""
    with open(path, "rb") as f:
        magic = f.read(2)
    return gzip.open(path, "rb") if magic == b"\x1f\x8b" else open(path, "rb")


def strip_line_end(line):
    if line.endswith(b"\n"):
        line = line[:-1]
    return line[:-1] if line.endswith(b"\r") else line


def choose_format(first, key, time, cost):
    """Returns (line parser, number of header lines)."""
    text = strip_line_end(first)
    if text.lstrip().startswith(b"{"):
        return json_parser(key, time, cost), 0
    if CLF_LINE.match(text) or time is None:
        return clf_parser(key), 0
    separator = "\t" if b"\t" in text else ","
    return row_parser(text.decode(), separator, key, time, cost), 1


# --- logs ------------------------------------------------------------------

def clf_parser(key):
    def parse(text):
        match = CLF_LINE.match(text)
        if not match:
            raise Unreadable(why_not_clf(text))
        return (b"" if key == "-" else match[1]), clf_time(match), 1
    return parse


def clf_time(match):
    day, month, year, hour, minute, second, sign, zone_hour, zone_minute = match.groups()[1:]
    offset = int(zone_hour) * 3600 + int(zone_minute) * 60
    if month not in MONTHS or int(zone_hour) > 23 or int(zone_minute) > 59:
        raise Unreadable("time")
    seconds = civil_seconds(int(year), MONTHS[month], int(day), int(hour), int(minute), int(second))
    return checked_time((seconds - offset if sign == b"+" else seconds + offset) * NS)


def why_not_clf(text):
    if text.startswith(b" "):
        return "address"
    if not re.match(rb"[^ ]+ [^\[]*\[[^\]]*\] ", text):
        return "time"
    return "request"


# --- rows with named fields --------------------------------------------------

def json_parser(key, time, cost):
    def parse(text):
        try:
            row = json.loads(text, parse_float=str, parse_int=str, parse_constant=not_json)
        except ValueError as error:
            raise Unreadable("not JSON") from error
        if not isinstance(row, dict):
            raise Unreadable("not an object")
        return from_fields(lambda name: row.get(name), key, time, cost)
    return parse


def not_json(name):
    raise ValueError(name)


def row_parser(header, separator, key, time, cost):
    def split(line):
        if separator == "\t":
            return line.split("\t")
        return next(csv.reader(io.StringIO(line, newline=""), strict=True))
    places = {name: i for i, name in enumerate(split(header))}

    def parse(text):
        try:
            row = split(text.decode("utf-8", "surrogateescape"))
        except (csv.Error, StopIteration) as error:
            raise Unreadable("quotes") from error

        def field(name):
            place = places[name]  # an unknown name is a fault of the caller
            return row[place] if place < len(row) else None
        return from_fields(field, key, time, cost)
    return parse


def from_fields(field, key, time, cost):
    if key == "-":
        key_bytes = b""
    else:
        value = field(key)
        if not isinstance(value, str) or value == "":
            raise Unreadable("key")
        key_bytes = value.encode("utf-8", "surrogateescape")
    return key_bytes, field_time(field(time)), 1 if cost is None else field_cost(field(cost))


def field_time(value):
    """Unix seconds as a decimal number, or ISO 8601; without a zone it is UTC."""
    if not isinstance(value, str):
        raise Unreadable("time")
    if DECIMAL_TIME.fullmatch(value):
        return checked_time(int(Fraction(value) * NS // 1))
    match = ISO_TIME.fullmatch(value)
    if not match:
        raise Unreadable("time")
    year, month, day, hour, minute, second, fraction, sign, zone_hour, zone_minute = match.groups()
    seconds = civil_seconds(int(year), int(month), int(day), int(hour), int(minute), int(second))
    if sign:
        offset = int(zone_hour) * 3600 + int(zone_minute) * 60
        seconds += -offset if sign == "+" else offset
    return checked_time(seconds * NS + int(((fraction or "") + "0" * 9)[:9]))


def field_cost(value):
    if not isinstance(value, str) or not WHOLE.fullmatch(value) or int(value) > COST_MAX:
        raise Unreadable("cost")
    return int(value)


# --- time --------------------------------------------------------------------

def civil_seconds(year, month, day, hour, minute, second):
    if hour > 23 or minute > 59 or second > 59:
        raise Unreadable("time")
    try:
        days = datetime.date(year, month, day).toordinal() - EPOCH_DAY
    except ValueError as error:
        raise Unreadable("time") from error
    return days * 86400 + hour * 3600 + minute * 60 + second


def checked_time(time_ns):
    if not 0 <= time_ns <= TIME_MAX_NS:
        raise Unreadable("time")
    return time_ns

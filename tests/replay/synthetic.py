# SPDX-License-Identifier: Apache-2.0
"""Small logs made on the spot, with everything that goes wrong in real ones.

Each maker takes a random.Random and returns bytes.  Times stand still, go on
and go back; some go back by hours, far past the point where a key has decayed.
"""

import datetime
import json

START = 1709164800  # 2024-02-29T00:00:00Z: a leap day, and a month's end is near
NS = 10**9

BROKEN_LOG_LINES = (
    b' 200 1043 "-" "Mozilla/5.0 (KHTML, like Gecko)"',  # the tail of a line that was cut
    b" ",
    b"no log line at all",
    b"192.0.2.1",
    b"192.0.2.1 - - ",
    b"192.0.2.1 - - [",
    b"192.0.2.1 - - [29/Feb/2024:00:00:0",
    b"192.0.2.1 - - [29/Feb/2024:00:00:01 +0000]",
    b'192.0.2.1 - - [29/Feb/2024:00:00:01 +0000] ',
    b'192.0.2.1 - - [29/Feb/2024:00:00:01 +0000] "',
    b'192.0.2.1 - - [29/Feb/2024:00:00:01 +0000] "" 400 0 "-" "-"',
    b'192.0.2.1 - - [30/Feb/2024:00:00:01 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [29/Feb/2023:00:00:01 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [29/Fib/2024:00:00:01 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [29/Feb/2024:24:00:01 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [29/Feb/2024:00:60:01 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [29/Feb/2024:00:00:01] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [29-02-2024 00:00:01 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [31/Dec/1969:23:59:59 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/Jan/1970:00:00:00 +0100] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - [01/Jan/2100:00:00:01 +0000] "GET / HTTP/1.1" 200 1',
    b'192.0.2.1 - - 29/Feb/2024:00:00:01 +0000 "GET / HTTP/1.1" 200 1',
    b"192.0.2.1 - - [29/Feb/2024:00:00:01 +0000] GET / HTTP/1.1 200 1",
    b' - - [29/Feb/2024:00:00:01 +0000] "GET / HTTP/1.1" 200 1',
    b"\x00\x00\x00\x00\x00\x00",
    b"\xff\xfe\x80 \x00",
)

ODD_LOG_LINES = (  # requests all the same
    b'192.0.2.2 - John Smith [29/Feb/2024:00:00:01 +0000] "GET / HTTP/1.1" 200 1 "-" "-"',
    b'192.0.2.2 - - [29/Feb/2024:00:00:01 +0000] "G',
    b'192.0.2.2 - - [29/Feb/2024:00:00:01 +0000] "GET /\\"quoted\\" HTTP/1.1" 200 1 "-" "no closing quote',
    b'192.0.2.2 - - [29/Feb/2024:00:00:02 +0000] "\\x16\\x03\\x01" 400 0 "-" "-"',
    b'192.0.2.2 - - [29/Feb/2024:00:00:02 +0000] "-" 408 0 "-" "-"',
    b'192.0.2.2 - - [29/Feb/2024:00:00:02 +0000] "GET / HTTP/1.1" 200 - "-" "\xff\xfe not \x00 text"',
    b'::1 - - [29/Feb/2024:00:00:02 +0000] "GET / HTTP/1.1" 200 1 "-" "-"',
    b'2001:db8::1 - - [29/Feb/2024:00:00:02 +0000] "GET / HTTP/1.1" 200 1 "-" "-"',
    b'2001:db8::1 - - [28/Feb/2024:16:30:02 -0730] "GET / HTTP/1.1" 200 1 "-" "-"',
    b'2001:db8::1 - - [29/Feb/2024:05:45:02 +0545] "GET / HTTP/1.1" 200 1 "-" "-"',
    b'192.0.2.2 - - [01/Jan/1970:00:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"',
    b'192.0.2.3 - - [01/Jan/2100:00:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"',
    b'client.example.org - - [29/Feb/2024:00:00:02 +0000] "GET / HTTP/1.1" 200 1 "-" "-"',
    b'192.0.2.2 - - [29/Feb/2024:00:00:02 +0000] "GET /' + b"x" * 100000 + b' HTTP/1.1" 200 1 "-" "-"',
)


def access_log(random, lines, keys):
    """A combined log with broken and odd lines, empty lines, CRLF here and there, a torn last line."""
    out = []
    for second in moments(random, lines, START, 1):
        zone = random.choice((0, 0, 0, 60, 120, -450, 345, 840, -720))
        out.append(log_line(address(random, keys), second, zone))
        if random.random() < 0.05:
            out.append(random.choice((b"",) + BROKEN_LOG_LINES + ODD_LOG_LINES))
    out[1:1] = BROKEN_LOG_LINES + (b"", b"") + ODD_LOG_LINES
    ends = (b"\n", b"\n", b"\r\n")
    torn = b'192.0.2.9 - - [29/Feb/2024:00:00:01 +0000] "GE'
    return b"".join(line + random.choice(ends) for line in out) + torn


def log_line(address, second, zone_minutes):
    zone = datetime.timezone(datetime.timedelta(minutes=zone_minutes))
    when = datetime.datetime.fromtimestamp(second, zone)
    month = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()[when.month - 1]
    stamp = f"{when:%d}/{month}/{when:%Y:%H:%M:%S %z}"
    return f'{address} - - [{stamp}] "GET /{second % 97} HTTP/1.1" 200 {second % 1009} "-" "agent/1.0"'.encode()


def address(random, keys):
    """Some keys are asked for far more often than others."""
    n = int(keys * random.random() ** 3)
    return f"10.1.{n // 256}.{n % 256}" if n % 3 else f"2001:db8::{n:x}"


def moments(random, n, start, unit):
    """n times, whole multiples of unit: standing still, going on, going back."""
    now = start
    for _ in range(n):
        now += unit * random.choice((0, 0, 0, 1, 1, 2, 5))
        back = random.choice((0,) * 8 + (1, 30)) * unit
        if random.random() < 0.002:
            now += random.choice((60, 3600, 90000)) * unit
        if random.random() < 0.002:
            back = 7200 * unit
        yield now - back


def csv_rows(random, lines):
    """Quoted fields, doubled quotes, CRLF, empty and short rows, costs right and wrong."""
    out = [b'id,"client, or name",when,units,note']
    for i, time_ns in enumerate(moments(random, lines, START * NS, 250_000_000)):
        name = random.choice(("a", '"a"', '"b, with a comma"', '"c ""quoted"""', "d e", '"\u00e9"'))
        out.append(f'{i},{name},{iso(time_ns, random)},{cost(random)},"x, ""y"""'.encode())
    out[1:1] = [
        b"", b"0", b"0,a", b"0,a,", b"0,a,2024-02-29T00:00:00Z", b"0,a,2024-02-29T00:00:00Z,",
        b"0,a,2024-02-29T00:00:00Z,-1", b"0,a,2024-02-29T00:00:00Z,1.5", b"0,a,2024-02-29T00:00:00Z,many",
        b"0,a,2024-02-29T00:00:00Z,18446744073709551615", b"0,a,2024-02-29T00:00:00Z,18446744073709551616",
        b"0,a,2024-02-30T00:00:00Z,1", b"0,a,2024-02-29T25:00:00Z,1", b"0,a,yesterday,1",
        b"0,a,2024-02-29T00:00:00Z,1", b"0,a,2024-02-29T00:00:00Z,1,", b'0,a,2024-02-29T00:00:00Z,1,"x"',
    ]
    return b"".join(line + random.choice((b"\n", b"\r\n")) for line in out)[:-1]


def iso(time_ns, random):
    """One of the ways to write a moment."""
    when = datetime.datetime.fromtimestamp(time_ns // NS, datetime.timezone.utc)
    fraction = f"{time_ns % NS:09d}"
    return random.choice((
        f"{when:%Y-%m-%d %H:%M:%S}.{fraction[:7]}", f"{when:%Y-%m-%dT%H:%M:%S}.{fraction}Z",
        f"{when + datetime.timedelta(hours=2):%Y-%m-%dT%H:%M:%S}.{fraction[:3]}+02:00",
        f"{time_ns // NS}.{fraction}"))


def cost(random):
    return random.choice((0, 1, 1, 1, 2, 3, 7, 20))


def json_lines(random, lines):
    """Nested and escaped neighbours, keys with escapes, times as numbers and text, broken rows."""
    out = []
    for time_ns in moments(random, lines, START * NS, 100_000_001):
        key = random.choice(("a", "b \"quoted\"", "tab\tkey", "\u00e9", "\U0001f600", "back\\slash"))
        row = {"other": {"key": "wrong", "list": [1, {"when": 5}, "}"]}, "key": key, "units": cost(random),
               "text": 'a "key": "wrong" \\', "when": "@"}
        when = f"{time_ns // NS}.{time_ns % NS:09d}"
        text = json.dumps(row, ensure_ascii=random.random() < 0.5)
        out.append(text.replace('"@"', when if random.random() < 0.5 else f'"{iso(time_ns, random)}"').encode())
    good = b'{"key": "a", "when": 1709164800, "units": 1'
    out[1:1] = [
        b"", good + b"}", good + b', "more": null}', good, good + b', "more": }', b"[1, 2]", b"3", b"null", b"{}",
        b"not json", b'{"key": "a", "units": 1}', b'{"when": 1709164800, "units": 1}',
        b'{"key": "a", "when": 1709164800}', b'{"key": "a", "when": "soon", "units": 1}',
        b'{"key": "a", "when": null, "units": 1}', b'{"key": null, "when": 1709164800, "units": 1}',
        b'{"key": "a", "when": 1709164800, "units": -1}', b'{"key": "a", "when": 1709164800, "units": 1.5}',
        b'{"key": "a", "when": 1709164800, "units": 18446744073709551616}', b'{"key": "a", "when',
    ]
    return b"\n".join(out) + b'\n{"key": "a", "when": 17091'


def tsv_rows(random, lines):
    out = [b"when\tclient\tunits"]
    for second in moments(random, lines, START, 1):
        out.append(f"{second}\t{address(random, 40)}\t{cost(random)}".encode())
    return b"\n".join(out) + b"\n"


def edge_rows(random, lines):
    """Times within nanoseconds of whole seconds: where windows end and buckets have just refilled."""
    out = [b"when,client,units"]
    for second in moments(random, lines, START, 1):
        time_ns = second * NS + random.choice((0, 0, -1, 1, 2, -7, 7, -511, 511, 512, random.randint(-600, 600)))
        client, units = random.randint(0, 1), random.choice((1, 30, 300, 300))
        out.append(f"{time_ns // NS}.{time_ns % NS:09d},{client},{units}".encode())
    return b"\n".join(out) + b"\n"

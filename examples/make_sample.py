# SPDX-License-Identifier: Apache-2.0
"""Makes sample.log: one hour of an invented site, in the combined log format.

    python3 examples/make_sample.py > examples/sample.log

The same bytes at every run.  All addresses are of the ranges reserved for
documentation (RFC 5737, RFC 3849).  Among ordinary visitors there are

* 203.0.113.7    tries passwords, some each second, for ten minutes
* 203.0.113.66   scrapes the catalogue in bursts of forty
* 2001:db8:bad::5  asks as fast as it can, for one minute

and some lines are broken the way real ones are: cut, joined, or orphaned.
"""

import datetime
import random
import sys

START = datetime.datetime(2026, 3, 2, 9, 0, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
HOUR_S = 3600
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
PAGES = ("/", "/news", "/catalogue", "/catalogue/chairs", "/catalogue/tables?page=2", "/about", "/contact",
         "/static/site.css", "/static/site.js", "/img/logo.png")
AGENTS = ("Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0",
          "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/145.0 Safari/537.36",
          "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/1")


def main():
    rng = random.Random(20260302)
    lines = [line for _, line in sorted(visitors(rng) + guesser(rng) + scraper(rng) + flooder(rng),
                                        key=lambda entry: entry[0])]
    break_some(lines)
    sys.stdout.buffer.write("\n".join(lines).encode() + b"\n")


def entry(second, address, request, status, size, agent, referer="-"):
    when = START + datetime.timedelta(seconds=second)
    stamp = f"{when:%d}/{MONTHS[when.month - 1]}/{when:%Y:%H:%M:%S} +0100"
    return second, f'{address} - - [{stamp}] "{request} HTTP/1.1" {status} {size} "{referer}" "{agent}"'


def visitors(rng):
    """Sixty people, each looking at some pages with pauses."""
    out = []
    for n in range(60):
        address = f"198.51.100.{n + 1}" if n % 4 else f"2001:db8:1::{n + 1:x}"
        agent = rng.choice(AGENTS)
        second = rng.randrange(HOUR_S)
        for _ in range(rng.randint(3, 25)):
            page = rng.choice(PAGES)
            cached = page.startswith(("/static", "/img")) and rng.random() < 0.4
            out.append(entry(second, address, "GET " + page, 304 if cached else 200,
                             "-" if cached else rng.randint(300, 40000), agent, "https://shop.example/"))
            second += rng.choice((0, 0, 1, 2, 9, 30, 70))
            if second >= HOUR_S:
                break
    return out


def guesser(rng):
    return [entry(600 + second, "203.0.113.7", "POST /login", 401, 512, "python-requests/2.32")
            for second in range(600) for _ in range(rng.choice((0, 1, 1, 2)))]


def scraper(rng):
    out = []
    for start in range(1500, 3300, 300):
        for page in range(40):
            out.append(entry(start + page // 20, "203.0.113.66", f"GET /catalogue/item/{page + rng.randrange(900)}",
                             200, rng.randint(8000, 20000), "Scrapy/2.13 (+https://scrapy.org)"))
    return out


def flooder(rng):
    return [entry(2400 + second, "2001:db8:bad::5", f"GET /search?q={rng.randrange(10**6)}", 200, 900,
                  "Go-http-client/1.1")
            for second in range(60) for _ in range(10)]


def break_some(lines):
    """What crashes, full disks and careless rotation do to a log."""
    lines.insert(0, ' 200 5120 "https://shop.example/" "Mozilla/5.0 (X11; Linux x86_64)"')
    lines[400] = lines[400][:40]
    lines[800] = lines[800][:30] + lines[801]
    lines.insert(1200, ' "Scrapy/2.13 (+https://scrapy.org)"')
    lines.insert(1500, '198.51.100.9 - - [02/Mar/2026:09:61:00 +0100] "GET / HTTP/1.1" 200 1 "-" "-"')
    lines[1600] = lines[1600][:lines[1600].rindex('"')]
    lines.insert(1700, "")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each public fault report has its test, and README.md's table names them all.

The reports lie in cases/library.jsonl of the folder METE_SHARED, else of
../shared beside the checkout.  Without that folder the table alone is checked
against the tests, and the output says so.
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("METE_SOURCE_DIR", os.path.dirname(os.path.dirname(HERE)))


def tests_of_sources():
    """test name -> file, of every test that is both written and run."""
    found = {}
    for name in sorted(os.listdir(HERE)):
        if not name.endswith("_test.c"):
            continue
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            text = file.read()
        run = set(re.findall(r"cmocka_unit_test\((case_\w+)\)", text))
        for test in re.findall(r"^static void (case_\d{3}_\w+)\(void \*\*state\)", text, re.MULTILINE):
            if test not in run:
                sys.exit(f"{name}: {test} is never run")
            found[test] = name
    return found


def rows_of_readme():
    """[(id, kind, test, file)] of the table."""
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (\d+) \| ([\w-]+) \| `(\w+)` \| (\S+) \|$", file.read(), re.MULTILINE)
    return [(int(number), kind, test, name) for number, kind, test, name in rows]


def reports():
    shared = os.environ.get("METE_SHARED") or os.path.join(os.path.dirname(os.path.abspath(SOURCE)), "shared")
    path = os.path.join(shared, "cases", "library.jsonl")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def problems(tests, rows, cases):
    for number, kind, test, name in rows:
        if tests.get(test) != name:
            yield f"README.md: {test} is not in {name}"
        if not test.startswith(f"case_{number:03}_{kind.replace('-', '_')}"):
            yield f"README.md: {test} does not carry {number} {kind}"
    listed = {test for _, _, test, _ in rows}
    covered = {number for number, _, _, _ in rows}
    for test in tests:
        if test not in listed and int(test[5:8]) not in covered:
            yield f"README.md: {test} is missing"
    for case in cases or []:
        number, kind = case["id"], case["kind"]
        row = next((row for row in rows if row[0] == number), None)
        if row is None or row[1] != kind:
            yield f"report {number} ({kind}) has no test"
            continue
        with open(os.path.join(HERE, row[3]), encoding="utf-8") as file:
            if f"Source: {case['url']} " not in file.read():
                yield f"report {number}: {row[3]} does not name {case['url']}"


def main():
    tests, rows, cases = tests_of_sources(), rows_of_readme(), reports()
    if cases is None:
        print("cases/library.jsonl not found: only the table was checked")
    found = list(problems(tests, rows, cases))
    for problem in found:
        print(problem)
    print(f"{len(rows)} rows, {len(tests)} tests, {len(cases or [])} reports, {len(found)} problems")
    return 1 if found or not rows else 0


if __name__ == "__main__":
    sys.exit(main())

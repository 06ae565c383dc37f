# SPDX-License-Identifier: Apache-2.0
"""Breaks the code on purpose, one line at a time, and looks whether a test notices.

A mutant is (name, file, old text, new text, test, why).  The old text must occur
exactly once in the file, so that the table cannot go stale unseen.  The tree is
copied to a temporary folder and built there; for each mutant the test must fail,
by whatever way: a failed check, a crash, a wrong status, no end in time.  A build
that fails notices nothing.  Before that the test must pass on the copy as it is.

    mutants.py --all                  every mutant
    mutants.py --only NAME...         these
    mutants.py --only NAME --test T   is it noticed by other tests?  (may be repeated)
    mutants.py --list                 the table

A test is named as for ctest; a Python test may be given arguments.  One that begins
with "mete " is a command line: it must exit 0 on the copy as it is and 1 on the mutant.
"""
import argparse
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import mutants_algorithm
import mutants_base
import mutants_cli
import mutants_concurrent
import mutants_file
import mutants_limiter
import mutants_seeing
import mutants_server
import mutants_zone

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("METE_SOURCE_DIR") or os.path.dirname(os.path.dirname(HERE))
TEST_TIMEOUT_S = 60
TABLES = (mutants_concurrent, mutants_algorithm, mutants_limiter, mutants_file, mutants_base, mutants_zone, mutants_cli,
          mutants_seeing, mutants_server)


class Mutant(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    test: str
    why: str


class Result(NamedTuple):
    mutant: Mutant
    noticed_by: str  # "" when it survived
    problem: str     # why nothing can be said: a build or a test of the unbroken tree failed
    seconds: float


def table():
    return [Mutant(*row) for module in TABLES for row in module.MUTANTS]


def problems_of_table(mutants):
    """Sentences about entries that cannot mean what they say."""
    names = set()
    for mutant in mutants:
        if mutant.name in names:
            yield f"{mutant.name}: the name occurs twice"
        names.add(mutant.name)
        try:
            with open(os.path.join(SOURCE, mutant.file), encoding="utf-8") as file:
                times = file.read().count(mutant.old)
        except FileNotFoundError:
            yield f"{mutant.name}: there is no {mutant.file}"
            continue
        if times != 1:
            yield f"{mutant.name}: the old text occurs {times} times in {mutant.file}"
        if mutant.old == mutant.new:
            yield f"{mutant.name}: changes nothing"


class Tree:
    """A copy of the project with one build of it."""

    def __init__(self, folder):
        self.source = os.path.join(folder, "source")
        self.build_dir = os.path.join(folder, "build")
        self.environment = dict(os.environ, METE_TEST_SCALE="1", METE_TEST_SEED="1", CCACHE_BASEDIR=folder,
                                CCACHE_NOHASHDIR="1")
        self.seconds = {}  # test -> what it takes on the tree as it is; None when it fails there
        shutil.copytree(SOURCE, self.source, ignore=shutil.ignore_patterns(".git", "build", "__pycache__"))

    def call(self, *command):
        return subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False)

    def configure(self):
        """Optimised little: the builds are most of the time."""
        options = ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1"]
        if shutil.which("ccache"):
            options.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        done = self.call("cmake", "-S", self.source, "-B", self.build_dir, *options)
        if done.returncode != 0:
            sys.exit(f"the copy cannot be configured:\n{done.stdout}")

    def targets_of(self, test):
        if test.startswith("mete "):
            return ["mete_program"]
        room, name = test.split()[0].split("/")
        if name.startswith("test_"):
            files = os.listdir(os.path.join(self.source, "tests", room))
            return ["mete_program"] + [file[:-2] for file in files if file.endswith("_driver.c")]
        return [f"{name}_fuzz" if room == "fuzz" else f"test_{room}_{name}"]

    def build(self, test):
        """"" or what the compiler said."""
        done = self.call("cmake", "--build", self.build_dir, "-j", str(os.cpu_count() or 1), "--target",
                         *self.targets_of(test))
        return "" if done.returncode == 0 else done.stdout[-2000:]

    def command_of(self, test):
        if test.startswith("mete "):
            return [os.path.join(self.build_dir, "mete"), *shlex.split(test)[1:]]
        name, *arguments = test.split()
        room, program = name.split("/")
        if program.startswith("test_"):
            return [sys.executable, os.path.join(self.source, "tests", f"{name}.py"), *arguments]
        if room == "fuzz":
            return [os.path.join(self.build_dir, "tests", f"{name}_fuzz"),
                    os.path.join(self.source, "tests/fuzz/corpus", program)]
        return [os.path.join(self.build_dir, "tests", name)]

    def run(self, test, timeout_s):
        """(passed, word): of a test that is built.  Ends all processes of one that does not end."""
        environment = dict(self.environment, METE_BIN=os.path.join(self.build_dir, "mete"), METE_SANITIZE="",
                           METE_BUILD_DIR=self.build_dir, METE_SOURCE_DIR=self.source)
        with subprocess.Popen(self.command_of(test), env=environment, cwd=self.build_dir, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True) as process:
            try:
                status = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return False, "timeout"
        if test.startswith("mete ") and status not in (0, 1):
            sys.exit(f"{test} exits {status}")
        return status == 0, "failure"

    def is_passed_unbroken(self, test):
        if test not in self.seconds:
            problem = self.build(test)
            start = time.monotonic()
            passed = not problem and self.run(test, TEST_TIMEOUT_S)[0]
            self.seconds[test] = time.monotonic() - start if passed else None
        return self.seconds[test] is not None

    def is_passed(self, test):
        """(passed, word), given some times as long as it takes on the unbroken tree."""
        return self.run(test, 10 + 3 * self.seconds[test])

    def replace(self, file, old, new):
        path = os.path.join(self.source, file)
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text.replace(old, new))
        return text

    def restore(self, file, text):
        with open(os.path.join(self.source, file), "w", encoding="utf-8") as stream:
            stream.write(text)


def try_mutant(tree, mutant, tests):
    """Runs the tests in turn until one notices."""
    start = time.monotonic()
    good = [test for test in tests if tree.is_passed_unbroken(test)]
    if not good:
        return Result(mutant, "", f"the unbroken tree fails {', '.join(tests)}", time.monotonic() - start)
    start = time.monotonic()
    problem = ""
    noticed_by = ""
    text = tree.replace(mutant.file, mutant.old, mutant.new)
    for test in good:
        problem = tree.build(test)
        if problem:
            break
        passed, word = tree.is_passed(test)
        if not passed:
            noticed_by = test + (" (timeout)" if word == "timeout" else "")
            break
    tree.restore(mutant.file, text)
    return Result(mutant, noticed_by, problem, time.monotonic() - start)


def print_result(result):
    verdict = result.noticed_by or ("CANNOT TELL" if result.problem else f"SURVIVED {result.mutant.test}")
    print(f"{result.mutant.name:<38} {verdict:<44} {result.seconds:6.1f} s", flush=True)
    if result.problem:
        print(f"    {result.problem}")
    elif not result.noticed_by:
        print(f"    {result.mutant.file}: {result.mutant.why}")


def run(mutants, tests=(), seconds=None, at_least=0):
    """Prints the table; 0 when every mutant that was tried was noticed."""
    start = time.monotonic()
    results = []
    with tempfile.TemporaryDirectory(prefix="mete-mutants-") as folder:
        tree = Tree(folder)
        tree.configure()
        for mutant in mutants:
            if seconds is not None and len(results) >= at_least and time.monotonic() - start > seconds:
                break
            results.append(try_mutant(tree, mutant, tests or (mutant.test,)))
            print_result(results[-1])
    survived = sum(not result.noticed_by and not result.problem for result in results)
    unknown = sum(bool(result.problem) for result in results)
    print(f"{len(results)} of {len(table())} mutants tried, {len(results) - survived - unknown} noticed, "
          f"{survived} survived, {unknown} could not be told, {time.monotonic() - start:.0f} s")
    return 1 if survived or unknown or not results else 0


def some(mutants, seed):
    """The most important ones first, then the others as the seed has it."""
    important = [mutant for mutant in mutants if mutant.name in mutants_concurrent.ALWAYS]
    others = [mutant for mutant in mutants if mutant not in important]
    random.Random(seed).shuffle(others)
    return important + others


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Breaks the code and looks whether a test notices.")
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these; a part of a name is enough")
    parser.add_argument("--test", action="append", default=[], help="try these tests instead of the table's")
    parser.add_argument("--seconds", type=int, default=60, help="begin no other mutant after this (default 60)")
    parser.add_argument("--seed", type=int, help="which mutants (default: another choice each day)")
    parser.add_argument("--list", action="store_true", help="print the table and end")
    options = parser.parse_args(arguments)
    mutants = table()
    problems = list(problems_of_table(mutants))
    if problems:
        print("\n".join(problems))
        return 1
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name:<38} {mutant.file:<32} {mutant.test}\n    {mutant.why}")
        return 0
    if options.all or options.only:
        chosen = [mutant for mutant in mutants if options.all or any(part in mutant.name for part in options.only)]
        return run(chosen, options.test)
    seed = options.seed if options.seed is not None else int(time.time()) // 86400
    print(f"seed {seed}")
    return run(some(mutants, seed), options.test, options.seconds, len(mutants_concurrent.ALWAYS))


if __name__ == "__main__":
    sys.exit(main())

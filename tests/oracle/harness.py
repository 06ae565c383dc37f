# SPDX-License-Identifier: Apache-2.0
"""Steps of a history, what the model says to them, and what the library says.

A Step is one operation of oracle_driver.c.  World applies steps to the model.
Driver sends the same steps to the library.  differences() compares.
"""
import atexit
import glob
import os
import shutil
import struct
import subprocess
import tempfile
from typing import NamedTuple, Optional

from model import ALGORITHMS, ALIGNMENTS, BUCKETS, TIME_MAX, Decision, Key, Limit, carry, rule_of

NOW = 2**64 - 1
ERANGE = -2
STATUS = {"ok": 0, "einval": -1, "erange": ERANGE}
OPERATION = struct.Struct("<BBBBIQQQ")
LIMIT = struct.Struct("<IIQQQ40s")
REPLY = struct.Struct("<iiQQQQQQQQ")
HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("METE_BUILD_DIR", "")
SOURCE = os.environ.get("METE_SOURCE_DIR") or os.path.dirname(os.path.dirname(HERE))


class Step(NamedTuple):
    code: str
    t: int = 0
    n: int = 0
    wait: int = 0
    key: int = 0
    slot: int = 0
    dry: int = 0
    extra: int = 0
    limit: Optional[Limit] = None

    def pack(self):
        head = OPERATION.pack(ord(self.code), self.key, self.slot, self.dry, self.extra, self.t, self.n, self.wait)
        if self.limit is None:
            return head
        lim = self.limit
        return head + LIMIT.pack(ALGORITHMS.index(lim.algorithm), ALIGNMENTS.index(lim.alignment), lim.count,
                                 lim.period_ns, lim.burst, lim.time_zone.encode())

    def text(self):
        names = {"N": "new", "L": "limit", "M": "set_limit", "K": "clock", "t": "take", "p": "peek", "r": "reserve",
                 "f": "refund", "x": "reset", "c": "convert", "b": "batch"}
        parts = [names[self.code]]
        if self.code in "tprfxc":
            parts.append(f"key {self.key} limit {self.slot}")
        if self.code in "tprf":
            parts.append(f"t={self.t} n={self.n}" + (f" wait_max={self.wait}" if self.code == "r" else ""))
        elif self.code in "NKc":
            parts.append(f"t={self.t}" + (f" to limit {self.extra}" if self.code == "c" else ""))
        elif self.limit:
            parts.append(f"{self.slot}: {self.limit}")
        return " ".join(parts) + (" (on a copy)" if self.dry else "")


class Expected(NamedTuple):
    status: int = 0
    decision: Optional[Decision] = None
    word: Optional[int] = None       # buckets in word mode: F in ticks
    idle: Optional[bool] = None
    unchanged: Optional[bool] = None  # word mode: the step must leave the word as it was


class World:
    """The model behind the steps: limits by slot, keys by number, one clock."""

    def __init__(self, mode):
        self.mode = mode
        self.limits = {}
        self.keys = {}
        self.clock = 0

    def is_clear(self, step):
        """Whether the rule book says what the step means."""
        if step.code == "M":
            return all(key.may_change() for key in self.keys.values())
        return step.code not in "tprf" or self._is_clear_time(self.time_of(step), step)

    def _is_clear_time(self, t, step):
        return t > TIME_MAX or self.key_of(step).clear_time(t) == t

    def time_of(self, step):
        return self.clock if step.t == NOW and self.mode == "store" else step.t

    def key_of(self, step):
        name = step.key if self.mode == "word" else (step.slot, step.key)
        if name not in self.keys:
            self.keys[name] = Key(self.limits[step.slot])
        if self.mode == "store":
            self.keys[name].now = self.clock
        return self.keys[name]

    def apply(self, step):
        code = step.code
        if code in "tprf":
            return self._decide(step)
        if code == "N":
            self.keys.clear()
            self.clock = step.t
        elif code == "K":
            self.clock = step.t
        elif code == "L":
            self.limits[step.slot] = step.limit
            return Expected(STATUS[step.limit.check()])
        elif code == "M":
            self.limits[step.slot] = step.limit
            for (slot, _), key in self.keys.items():
                if slot == step.slot:
                    key.set_limit(step.limit, self.clock)
        elif code == "x":
            self.key_of(step).reset()
        elif code == "c":
            return self._convert(step)
        return Expected()

    def _convert(self, step):
        key = self.key_of(step)
        rule = rule_of(self.limits[step.extra])
        key.state = carry(key.rule, rule, key.state, step.t)
        key.rule = rule
        return Expected(word=self._word(key))

    def _word(self, key):
        return key.state if key.rule.limit.algorithm in BUCKETS else None

    def _decide(self, step):
        t = self.time_of(step)
        if t > TIME_MAX:
            return Expected(ERANGE)
        key = self.key_of(step)
        if step.dry:
            key = key.copy()
        before = key.state
        if step.code == "t":
            decision = key.take(t, step.n)
        elif step.code == "p":
            decision = key.peek(t, step.n)
        elif step.code == "r":
            decision = key.reserve(t, step.n, step.wait)
        else:
            decision = key.refund(t, step.n)
        if self.mode != "word":
            return Expected(0, decision)
        idle = key.rule.show(key.state, t)[1] == 0
        return Expected(0, decision, self._word(key), idle, key.state == before)


class Reply(NamedTuple):
    status: int
    check: int
    decision: Decision
    word: int
    idle: bool


def decode(raw):
    """Replies as (status, check, Decision, word, idle)."""
    out = []
    for status, check, allowed, limit, remaining, wait, retry, reset, word, idle in REPLY.iter_unpack(raw):
        out.append(Reply(status, check, Decision(bool(allowed), limit, remaining, wait, retry, reset), word,
                         bool(idle)))
    return out


class Driver:
    """Runs steps through oracle_driver."""

    def __init__(self):
        built = [os.path.join(BUILD, "tests", "oracle_driver")] if BUILD else []
        built = [path for path in built if os.access(path, os.X_OK)]
        self.path = os.environ.get("METE_ORACLE_DRIVER") or (built[0] if built else self._build())

    @staticmethod
    def _build():
        """Outside a build: compiled with the library's sources, for running a test by hand."""
        directory = tempfile.mkdtemp(prefix="mete-oracle-")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        path = os.path.join(directory, "oracle_driver")
        sources = [file for room in ("base", "algorithm", "table", "limiter")
                   for file in sorted(glob.glob(os.path.join(SOURCE, "src", room, "*.c")))]
        machine = ["-mcx16"] if os.uname().machine == "x86_64" else []
        include = ["-I", os.path.join(SOURCE, "include"), "-I", os.path.join(SOURCE, "src")]
        subprocess.run([os.environ.get("METE_CC", "cc"), "-std=gnu17", "-O2", *machine, *include,
                        os.path.join(HERE, "oracle_driver.c"), *sources, "-pthread", "-o", path], check=True)
        return path

    def run(self, mode, steps):
        done = subprocess.run([self.path, mode], input=b"".join([s.pack() for s in steps]), stdout=subprocess.PIPE,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"oracle_driver {mode} ended with status {done.returncode}")
        return decode(done.stdout)


def difference(step, expected, reply, word_before):
    """None, or a sentence: what the library said and what the model says."""
    if reply.status != expected.status:
        return f"status {reply.status}, expected {expected.status}"
    if step.code in "LM" and reply.check != expected.status:
        return f"mete_limit_check said {reply.check}, expected {expected.status}"
    if expected.status != 0:
        return None
    if expected.decision is not None and reply.decision != expected.decision:
        return f"got {tuple(reply.decision)}, expected {tuple(expected.decision)}"
    if expected.word is not None and reply.word != expected.word:
        return f"word {reply.word}, expected {expected.word}"
    if expected.idle is not None and reply.idle != expected.idle:
        return f"idle {reply.idle}, expected {expected.idle}"
    if expected.unchanged and not step.dry and reply.word != word_before:
        return f"the word changed from {word_before} to {reply.word}; nothing was taken or given back"
    return None


def first_difference(steps, expected, replies):
    """(index, sentence) of the first step that differs, or None."""
    if len(replies) != len(steps):
        return len(steps) - 1, f"{len(replies)} replies to {len(steps)} steps"
    words = {}
    for i, (step, want, reply) in enumerate(zip(steps, expected, replies)):
        sentence = difference(step, want, reply, words.get(step.key, 0))
        if sentence:
            return i, sentence
        if step.code == "N":
            words.clear()
        elif step.code in "tprfc" and not step.dry and reply.status == 0:
            words[step.key] = reply.word
    return None


def judge(driver, mode, steps):
    """Runs a history on its own."""
    world, expected = World(mode), []
    for step in steps:
        if not world.is_clear(step):
            return None
        expected.append(world.apply(step))
    return first_difference(steps, expected, driver.run(mode, steps))


def is_whole(mode, steps):
    """Whether limits are made before use, words are used under their own limit and batches have all their takes."""
    made, under, left = set(), {}, 0
    for step in steps:
        if left and step.code != "t":
            return False
        left = step.extra if step.code == "b" else max(0, left - 1)
        if step.code == "L":
            made.add(step.slot)
        elif step.code not in "NKb":
            if step.slot not in made or step.code == "c" and step.extra not in made:
                return False
            if mode == "word" and under.setdefault(step.key, step.slot) != step.slot:
                return False
            if step.code == "c":
                under[step.key] = step.extra
    return not left and bool(steps) and steps[0].code == "N"


def shrink(driver, mode, steps):
    """A history from which no step can be left out without losing the difference."""
    def fails(candidate):
        if not is_whole(mode, candidate):
            return False
        try:
            return judge(driver, mode, candidate) is not None
        except (RuntimeError, KeyError):
            return False

    found = judge(driver, mode, steps)
    if found is None:
        return steps
    steps = steps[:found[0] + 1] if fails(steps[:found[0] + 1]) else steps
    size = max(1, len(steps) // 2)
    while size:
        before, i = len(steps), 0
        while i < len(steps):
            candidate = steps[:i] + steps[i + size:]
            if fails(candidate):
                steps = candidate
            else:
                i += size
        # What a later step needed may have become free by its removal: go over it until nothing changes.
        if size > 1 or len(steps) == before:
            size //= 2
    return steps


def describe(driver, mode, steps):
    """A failing history as readable lines."""
    world = World(mode)
    lines = []
    for step, reply in zip(steps, driver.run(mode, steps)):
        want = world.apply(step)
        lines.append("  " + step.text())
        if step.code in "tprf":
            lines.append(f"      library {reply.status} {tuple(reply.decision)}")
            if want.decision is not None:
                lines.append(f"      model   {want.status} {tuple(want.decision)}")
    found = judge(driver, mode, steps)
    return "\n".join(lines + [f"  difference: {found[1]}" if found else "  no difference when run alone"])

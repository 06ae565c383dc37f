# SPDX-License-Identifier: Apache-2.0
"""Random histories: the library and the independent model, decision for decision.

METE_TEST_SCALE multiplies the work, METE_TEST_SEED chooses the histories,
METE_TEST_JOBS the processes (2).  `test_oracle.py ALGORITHM...` runs only these.
A difference is shrunk to the shortest history that still shows it.
"""
import os
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from harness import STATUS, Driver, Step, describe, first_difference, judge, shrink
from history import Walk, any_limit, random_limit
from model import ALGORITHMS, BUCKETS, TIME_MAX, Key, Limit
from plain import PLAIN
from rule_bucket import TokenBucket

CHUNK = 40          # histories that share one run of the driver
ENOUGH = 3          # differences after which a process stops looking
ENOTSUP = -9
STEPS = 150         # at least, per history
CHUNKS_DEFAULT = 5  # per process and algorithm: a few seconds

driver = None


def modes_of(algorithm):
    return ("store",) if algorithm == "sliding_log" else ("word", "word", "store")


def rational_difference(walk):
    """Buckets: what is told against the true fractions: never generous, at most 1 ns strict.

    The true key follows what was admitted, so an error that adds up would show.
    """
    if walk.mode != "word" or walk.algorithm not in BUCKETS:
        return None
    key = Key(walk.steps[1].limit, rational=True)
    rule = key.rule
    for step, expected in zip(walk.steps, walk.expected):
        if step.code == "c":
            return None
        if step.code not in "trf" or step.dry or step.n == 0 or expected.status:
            continue
        got, t = expected.decision, step.t
        if step.code == "f":
            if not expected.unchanged:
                key.state = max(0, key.state - step.n * rule.unit)
            continue
        if step.n <= rule.capacity:
            sentence = against_truth(rule, key, step, got)
            if sentence:
                return f"{walk.limit} {step.text()}: {sentence}"
        if got.allowed:
            key.state = rule.charge(key.state, t, step.n)
    return None


def against_truth(rule, key, step, got):
    if step.code == "t":
        true = key.peek(step.t, step.n)
    else:
        true = key.copy().reserve(step.t, step.n, step.wait)
    if got.allowed and not true.allowed:
        return f"admitted, the true bucket denies for {true.retry} ns"
    if not got.allowed and not true.retry <= got.retry <= true.retry + 1:
        return f"retry_after {got.retry}, truly {true.retry}"
    if got.allowed and not true.wait <= got.wait <= true.wait + 1:
        return f"wait {got.wait}, truly {true.wait}"
    state = rule.charge(key.state, step.t, step.n) if got.allowed else key.state
    remaining, reset = rule.show(state, step.t)
    stricter = rule.show(state, step.t - 1)[0]
    if not stricter <= got.remaining <= remaining:
        return f"remaining {got.remaining}, truly {remaining}"
    if not reset <= got.reset <= reset + 1:
        return f"reset_after {got.reset}, truly {reset}"
    return None


def plain_difference(seed, algorithm):
    """The model against the textbook, on small limits."""
    rng = random.Random(seed)
    count = rng.randint(1, 12)
    limit = Limit(algorithm, count, rng.randint(count, 300), rng.choice((0, 1, 5, 20)) if algorithm in BUCKETS else 0)
    key, plain = Key(limit, rational=algorithm in BUCKETS), PLAIN[algorithm](limit)
    t = rng.choice((0, rng.randint(0, 10**19 // 4)))
    for _ in range(30):
        n = rng.randint(1, count + 2)
        mine, theirs = key.take(t, n), plain.take(t, n)
        if mine != theirs:
            return f"{limit} t={t} n={n}: model {tuple(mine)}, textbook {tuple(theirs)}"
        t += rng.choice((0, 0, 1, rng.randint(0, limit.period_ns // 2 + 1), rng.randint(0, 3 * limit.period_ns)))
    return None


def grid_difference(seed, algorithm):
    """'At times that are multiples of G everything below is exact': as the true fractions say."""
    if algorithm not in BUCKETS:
        return None
    rng = random.Random(seed)
    limit = random_limit(rng, algorithm, "word")
    key, true = Key(limit), Key(limit, rational=True)
    grid = key.rule.grid
    if grid is None:
        return None
    t = rng.randint(0, TIME_MAX // grid) * grid
    for _ in range(20):
        n = rng.choice((1, 2, limit.count, key.peek(t, 0).remaining, key.rule.capacity))
        wait = rng.choice((0, rng.randint(0, limit.period_ns)))
        mine, truly = key.reserve(t, n, wait), true.reserve(t, n, wait)
        if mine != truly:
            return f"{limit} on the grid of {grid} ns, t={t} n={n} wait_max={wait}: {tuple(mine)}, truly {tuple(truly)}"
        if rng.random() < 0.2 and key.refund(t, n) != true.refund(t, n):
            return f"{limit} on the grid of {grid} ns, t={t} refund {n}"
        t = min(TIME_MAX // grid, t // grid + rng.choice((0, 1, rng.randint(0, limit.period_ns // grid + 1)))) * grid
    return None


def run_chunk(algorithm, mode, seeds, steps=STEPS):
    """Returns (decisions compared, [readable differences])."""
    walks = [Walk(seed, algorithm, mode, steps, changes=i % 2 == 1) for i, seed in enumerate(seeds)]
    replies = driver.run(mode, [step for walk in walks for step in walk.steps])
    compared, found, at = 0, [], 0
    for seed, walk in zip(seeds, walks):
        mine = replies[at:at + len(walk.steps)]
        at += len(walk.steps)
        compared += sum(1 for e in walk.expected if e.decision is not None)
        if len(found) < ENOUGH and first_difference(walk.steps, walk.expected, mine):
            small = shrink(driver, mode, walk.steps)
            found.append(f"{algorithm} {mode} seed {seed}: the library differs\n" + describe(driver, mode, small))
        for at_step, limit, step, retry, t, decision in walk.broken[:1]:
            small = [s.text() for s in walk.steps[:at_step + 1] if not s.dry][-6:]
            found.append(f"{algorithm} {mode} seed {seed}: {limit}: retry_after {retry} of '{step.text()}' is not "
                         f"exact: at {t} {tuple(decision)}\n  " + "\n  ".join(small))
        sentence = (rational_difference(walk) or plain_difference(seed, algorithm)
                    or grid_difference(seed, algorithm))
        if sentence:
            found.append(f"{algorithm} {mode} seed {seed}: {sentence}")
    return compared, found


def check_limits(seed, number):
    """Which limits there are: mete_limit_check and mete_profile_init against the documented ranges."""
    rng = random.Random(seed)
    limits = [any_limit(rng) for _ in range(number)]
    found = []
    for limit, reply in zip(limits, driver.run("word", [Step("L", limit=limit) for limit in limits])):
        want = STATUS[limit.check()]
        plain = not limit.is_calendar() and limit.algorithm != "sliding_log"
        init = want if plain or want else ENOTSUP
        if reply.check != want or (plain or not want) and reply.status != init:
            found.append(f"{limit}: mete_limit_check {reply.check}, mete_profile_init {reply.status}, expected {want}")
    return number, found


def canary():
    """A model that is wrong by one tick per unit must be found out, in a history of few steps."""
    walk = Walk(1, "token_bucket", "word", STEPS)
    right = TokenBucket.charge
    try:
        TokenBucket.charge = lambda self, full_at, t, n: right(self, full_at, t, n) + 1
        small = shrink(driver, "word", walk.steps)
        seen = judge(driver, "word", small)
    finally:
        TokenBucket.charge = right
    return [] if seen and len(small) <= 5 else ["canary: a wrong model was not found out"]


def work(algorithm, seed, chunks):
    global driver
    driver = driver or Driver()
    if algorithm == "limits":
        compared, found = check_limits(seed, chunks * 1000)
        return compared, found + canary()
    rng = random.Random(seed)
    compared, found = 0, []
    for i in range(chunks):
        modes = modes_of(algorithm)
        # Now and then few long histories instead of many short ones: errors that add up need time.
        seeds = [rng.getrandbits(48) for _ in range(CHUNK if i % 5 else CHUNK // 10)]
        n, new = run_chunk(algorithm, modes[i % len(modes)], seeds, STEPS if i % 5 else STEPS * 10)
        compared += n
        found += new
        if len(found) >= ENOUGH:
            break
    return compared, found


def main():
    scale = int(os.environ.get("METE_TEST_SCALE", "1"))
    seed = int(os.environ.get("METE_TEST_SEED", "0")) or time.time_ns() % 10**9
    jobs = int(os.environ.get("METE_TEST_JOBS", "2"))
    names = sys.argv[1:] or ("limits",) + ALGORITHMS
    print(f"seed {seed} scale {scale} processes {jobs}", flush=True)
    os.environ.setdefault("METE_ORACLE_DRIVER", Driver().path)
    bad = 0
    with ProcessPoolExecutor(jobs) as pool:
        for name in names:
            began = time.monotonic()
            runs = [pool.submit(work, name, f"{seed} {name} {i}", CHUNKS_DEFAULT * scale) for i in range(jobs)]
            results = [run.result() for run in runs]
            found = [f for _, fs in results for f in fs]
            bad += len(found)
            print(f"{name}: {sum(n for n, _ in results)} compared, {len(found)} differences, "
                  f"{time.monotonic() - began:.1f} s", flush=True)
            for sentence in found[:5]:
                print(sentence)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

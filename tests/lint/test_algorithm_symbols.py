# SPDX-License-Identifier: Apache-2.0
"""The algorithms are pure: their objects call nothing but memcpy and its kin,
128-bit arithmetic of the compiler, and functions of base and algorithm."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["METE_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["METE_SOURCE_DIR"])
COMPILER = os.environ["METE_CC"]

FROM_LIBC = {"memcpy", "memset", "memcmp"}
FROM_COMPILER = re.compile(r"__u?(div|mod)ti3|__udivmodti4|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_")
FROM_INSTRUMENTATION = re.compile(r"__(asan|ubsan|tsan|gcov|sanitizer|sancov)_\w+")


def symbols(obj, *options):
    out = subprocess.run(["nm", "--format=posix", *options, str(obj)], check=True, capture_output=True, text=True)
    return {line.split()[0] for line in out.stdout.splitlines() if line and not line.endswith(":")}


def objects(room):
    """The objects of a room; exactly one for each of its sources."""
    found = sorted((BUILD / "src" / "CMakeFiles" / f"mete_{room}.dir").rglob("*.o"))
    names = {path.name.removesuffix(".o") for path in found}
    sources = {path.name for path in (SOURCE / "src" / room).glob("*.c")}
    if not sources or not sources <= names:
        sys.exit(f"no object for {sorted(sources - names)} of src/{room} in {BUILD}")
    return [path for path in found if path.name.removesuffix(".o") in sources]


def impure(obj, ours):
    """What obj needs and may not."""
    needed = symbols(obj, "--undefined-only")
    return sorted(
        name
        for name in needed
        if name not in FROM_LIBC
        and name not in ours
        and not FROM_COMPILER.fullmatch(name)
        and not FROM_INSTRUMENTATION.fullmatch(name)
    )


def check_the_check(folder):
    """An object that takes memory and reads the clock must be found impure."""
    source = pathlib.Path(folder) / "impure.c"
    source.write_text(
        "#include <stdlib.h>\n#include <time.h>\n"
        "void *take(struct timespec *t) { clock_gettime(CLOCK_MONOTONIC, t); return malloc(3); }\n"
    )
    obj = source.with_suffix(".o")
    subprocess.run([COMPILER, "-c", str(source), "-o", str(obj)], check=True)
    if impure(obj, set()) != ["clock_gettime", "malloc"]:
        sys.exit(f"an impure object was not recognised: {impure(obj, set())}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_the_check(folder)

    ours = set()
    for obj in objects("base") + objects("algorithm"):
        ours |= {name for name in symbols(obj, "--defined-only") if re.match(r"mete_", name)}
    failed = False
    for obj in objects("algorithm"):
        wrong = impure(obj, ours)
        if wrong:
            print(f"{obj.name} needs {', '.join(wrong)}")
            failed = True
    print(f"{len(objects('algorithm'))} objects of algorithm")
    return 1 if failed else 0


sys.exit(main())

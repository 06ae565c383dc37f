# SPDX-License-Identifier: Apache-2.0
"""The shared library exports the functions that the public headers declare,
no other name, has the right soname and needs libc alone."""

import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ["METE_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["METE_SOURCE_DIR"])

LIBC = re.compile(r"libc\.so\.6|ld-linux[-\w.]*\.so\.\d+")
INSTRUMENTATION = re.compile(r"lib(asan|ubsan|tsan|gcc_s|m)\.so\.\d+")


def declared():
    """Names behind METE_API in include/mete/*.h."""
    names = set()
    for header in (SOURCE / "include" / "mete").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        for declaration in re.findall(r"^METE_API\b([^;]*);", text, flags=re.M):
            names.add(re.search(r"(\w+)\s*\(", declaration).group(1))
    return names


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    names = set()
    for line in run("nm", "--dynamic", "--defined-only", "--format=posix", str(library)).splitlines():
        name, kind = line.split()[:2]
        if kind != "A":  # the version's own node
            names.add(name.split("@")[0])
    return names


def dynamic(library, tag):
    return re.findall(rf"\({tag}\).*\[(.*?)\]", run("readelf", "--dynamic", "--wide", str(library)))


def main():
    library = BUILD / "libmete.so"
    want, have = declared(), exported(library)
    problems = []
    if len(want) < 10:
        problems.append(f"only {len(want)} declarations were found: this test no longer reads the headers")
    if want - have:
        problems.append(f"declared, not exported: {', '.join(sorted(want - have))}")
    if have - want:
        problems.append(f"exported, not declared: {', '.join(sorted(have - want))}")
    if dynamic(library, "SONAME") != ["libmete.so.0"]:
        problems.append(f"soname is {dynamic(library, 'SONAME')}")

    allowed = LIBC if not os.environ["METE_SANITIZE"] else re.compile(f"{LIBC.pattern}|{INSTRUMENTATION.pattern}")
    extra = [name for name in dynamic(library, "NEEDED") if not allowed.fullmatch(name)]
    if extra:
        problems.append(f"needs more than libc: {', '.join(extra)}")
    for problem in problems:
        print(problem)
    print(f"{len(have)} exported functions")
    return 1 if problems else 0


sys.exit(main())

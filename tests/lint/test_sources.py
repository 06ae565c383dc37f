# SPDX-License-Identifier: Apache-2.0
"""Rules of the sources that a compiler does not check."""

import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ["METE_SOURCE_DIR"])

LIBRARY = ("src/base/", "src/algorithm/", "src/table/", "src/limiter/")
# Rooms that make no system call have no use for errno.
WITHOUT_SYSTEM = ("src/algorithm/", "src/table/")
CODE = re.compile(r"\.(c|h|py|sh|cmake)$|(^|/)(CMakeLists\.txt|Makefile)$|^tools/[\w-]+$|^\.ci/run$")
NO_LICENCE_LINE = {"tools/codespell-ignore"}

# Written so that this file does not match itself.
STAY_OUT = [
    (re.compile(r"<<<<<<[<] |>>>>>>[>] "), "a conflict left behind"),
    (re.compile(r"\b(TOD[O]|FIXM[E]|MEANWHIL[E])\b"), "finish it or leave it out"),
]


def files():
    """(name, text) of each text file of the project."""
    for path in sorted(SOURCE.rglob("*")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith((".git/", "build/")) or "__pycache__" in name or "/corpus/" in name:
            continue
        if not path.is_file() or path.is_symlink():
            continue
        try:
            yield name, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def without_comments(text):
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment.group().count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def problems_of(name, text):
    for pattern, why in STAY_OUT:
        for match in pattern.finditer(text):
            yield line_of(text, match.start()), f"'{match.group()}': {why}"
    if text and not text.endswith("\n"):
        yield line_of(text, len(text)), "no newline at the end"
    if not CODE.search(name) or name in NO_LICENCE_LINE:
        return

    if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.splitlines()[:2]):
        yield 1, "no licence line"
    for match in re.finditer(r"[ \t]+$", text, flags=re.M):
        yield line_of(text, match.start()), "blanks at the end of the line"
    if name.endswith((".c", ".h")):
        yield from problems_of_c(name, text)


def problems_of_c(name, text):
    if "\t" in text:
        yield line_of(text, text.index("\t")), "a tab"
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > 120:
            yield number, f"{len(line)} columns"
    # An include that climbs would get around the rooms.
    for match in re.finditer(r'^\s*#\s*include\s*[<"][^>"]*\.\./', text, flags=re.M):
        yield line_of(text, match.start()), "an include with .. in it"
    if name.startswith(LIBRARY):
        code = without_comments(text)
        for match in re.finditer(r"\b(float|double|(strtod|printf|setlocale)(?=\())\b", code):
            yield line_of(code, match.start()), f"{match.group()} in the library"
        for match in re.finditer(r"\berrno\b", code if name.startswith(WITHOUT_SYSTEM) else ""):
            yield line_of(code, match.start()), "errno in a room that makes no system call"


def check_the_check():
    """Each rule must find what it is for."""
    head = "/* SPDX-License-Identifier: Apache-2.0 */\n"
    broken = [
        ("src/base/a.c", "int a;\n"),
        ("src/base/a.c", head + "int a; \n"),
        ("src/base/a.c", head + "int a;"),
        ("src/base/a.c", head + "\tint a;\n"),
        ("src/base/a.c", head + "int " + "a" * 120 + ";\n"),
        ("src/base/a.c", head + '#include "../table/cell.h"\n'),
        ("src/table/a.c", head + "double a;\n"),
        ("src/table/a.c", head + "int a = errno;\n"),
        ("docs/a.md", "TO" + "DO\n"),
    ]
    for name, text in broken:
        if len(list(problems_of(name, text))) != 1:
            sys.exit(f"a broken file was not recognised: {name}: {text!r}: {list(problems_of(name, text))}")
    fine = head + '/* no float here, and no "double" */\nconst char *a = "errno";\n'
    if list(problems_of("src/base/a.c", fine)):
        sys.exit(f"a fine file was refused: {list(problems_of('src/base/a.c', fine))}")


def main():
    check_the_check()
    count = 0
    failed = 0
    for name, text in files():
        count += 1
        for line, problem in problems_of(name, text):
            print(f"{name}:{line}: {problem}")
            failed += 1
    print(f"{count} files, {failed} problems")
    return 1 if failed or count == 0 else 0


sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Each public header compiles alone as C99 and as C++17, its initialisers work
in both, and a C++ program can link every function."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["METE_BUILD_DIR"])
INCLUDE = pathlib.Path(os.environ["METE_SOURCE_DIR"]) / "include"
INSTRUMENTATION = os.environ["METE_CFLAGS"].split()

# Not -Wshadow: in C++ it dislikes mete_store_stats, a struct and a function of one
# name, as POSIX has them in stat.
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
DIALECTS = [("c", "-std=c99"), ("c", "-std=c11"), ("c++", "-std=c++17"), ("c++", "-std=c++20")]
COMPILERS = {
    "gcc": {"c": "gcc", "c++": "g++"},
    "clang": {"c": "clang", "c++": "clang++"},
}


def compiles(compiler, language, standard, text):
    """None, or what the compiler said."""
    command = [compiler, "-x", language, standard, *STRICT, "-fsyntax-only", "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    return None if result.returncode == 0 else result.stderr


def names(pattern):
    """(header, name) for each match of pattern in a public header."""
    found = []
    for header in sorted((INCLUDE / "mete").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        found += [(f"mete/{header.name}", name) for name in re.findall(pattern, text, flags=re.M)]
    return found


def initialisers():
    """A function that uses every _INIT macro for the struct it is named after."""
    lines = [f"#include <{header}>" for header, _ in names(r"^#define (METE_\w+)_INIT\b")]
    lines.append("void all(void);\nvoid all(void)\n{")
    for number, (_, name) in enumerate(names(r"^#define (METE_\w+)_INIT\b")):
        lines.append(f"    struct {name.lower()} v{number} = {name}_INIT;\n    (void)v{number};")
    return "\n".join(lines + ["}\n"])


def check_compile(problems):
    compilers = [pair for name, pair in COMPILERS.items() if shutil.which(pair["c"]) and shutil.which(pair["c++"])]
    if COMPILERS["gcc"] not in compilers:
        problems.append("gcc and g++ are needed")
    headers = sorted((INCLUDE / "mete").glob("*.h"))
    if not headers:
        problems.append(f"no headers in {INCLUDE}")
    for pair in compilers:
        for language, standard in DIALECTS:
            for header in headers:
                # Twice: the guard must hold.
                said = compiles(pair[language], language, standard, f"#include <mete/{header.name}>\n" * 2)
                if said:
                    problems.append(f"{header.name} as {standard} by {pair[language]}:\n{said}")
            said = compiles(pair[language], language, standard, initialisers())
            if said:
                problems.append(f"the initialisers as {standard} by {pair[language]}:\n{said}")
    if compiles("gcc", "c", "-std=c99", "int f(void) { int a[] = {1, 2}; return a[0]; } int f();;\n") is None:
        problems.append("a stray semicolon was not refused: the flags are not strict")


def check_link(problems, folder):
    """Without extern "C" around a declaration the C++ name would not be found."""
    declared = names(r"^METE_API\b[^;(]*?(\w+)\s*\(")
    lines = [f"#include <{header}>" for header in sorted({header for header, _ in declared})]
    lines.append("#include <cstdio>\nint main()\n{\n    unsigned n = 0;")
    for _, name in declared:
        lines.append(f"    n += reinterpret_cast<void *>(&{name}) != nullptr;")
    lines.append('    std::printf("%u\\n", n);\n}\n')
    program = pathlib.Path(folder) / "all"
    command = ["g++", "-x", "c++", "-std=c++17", f"-I{INCLUDE}", "-Wno-address", *INSTRUMENTATION, "-",
               "-o", str(program), f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lmete"]
    result = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True)
    if result.returncode != 0:
        problems.append(f"linking from C++:\n{result.stderr}")
        return
    count = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    if int(count) != len(declared) or len(declared) < 10:
        problems.append(f"{count.strip()} of {len(declared)} functions were linked")


def main():
    problems = []
    check_compile(problems)
    with tempfile.TemporaryDirectory() as folder:
        check_link(problems, folder)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())

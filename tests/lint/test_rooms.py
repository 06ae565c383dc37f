# SPDX-License-Identifier: Apache-2.0
"""A room's files compile with headers of the rooms they may include, and do not
compile with any other: tried with the compile commands of this build."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["METE_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["METE_SOURCE_DIR"])

ALLOWED = {
    "base": {"base"},
    "algorithm": {"base", "algorithm"},
    "table": {"base", "table"},
    "limiter": {"base", "algorithm", "table", "limiter"},
    "wire": {"base", "wire"},
    "policy": {"base", "policy"},
    "server": {"base", "wire", "policy", "server"},
    "cli": {"base", "algorithm", "table", "limiter", "wire", "policy", "server", "cli", "bench"},
}
FOLDERS = {room: SOURCE / "src" / room for room in ALLOWED} | {"bench": SOURCE / "bench"}


def command_of(room):
    """The compiler and flags of a file of this room, without the file itself."""
    with open(BUILD / "compile_commands.json", encoding="utf-8") as file:
        entries = json.load(file)
    target = f"mete_{room}.dir"
    for entry in entries:
        if target in entry["command"]:
            words = shlex.split(entry["command"])
            return words[: words.index("-o")]
    sys.exit(f"no compile command of room {room} in {BUILD}")


def compiles(command, header, folder):
    """In a folder of its own: next to a header, its name alone would be enough."""
    source = folder / "include.c"
    source.write_text(f'#include "{header}"\n')
    result = subprocess.run([*command, "-fsyntax-only", str(source)], cwd=folder, capture_output=True, text=True)
    if result.returncode != 0 and f"{header}: No such file" not in result.stderr and "not found" not in result.stderr:
        sys.exit(f"failed in another way than by a missing header:\n{result.stderr}")
    return result.returncode == 0


def try_all(folder):
    problems = []
    tried = 0
    for room, allowed in ALLOWED.items():
        command = command_of(room)
        for other, home in FOLDERS.items():
            headers = sorted(home.glob("*.h"))
            if not headers:
                problems.append(f"{home} has no header to try")
                continue
            header = f"{other}/{headers[0].name}"
            tried += 1
            if compiles(command, header, folder) != (other in allowed):
                problems.append(f"room {room}: #include \"{header}\" " + ("fails" if other in allowed else "compiles"))
        if not compiles(command, "mete/mete.h", folder):
            problems.append(f"room {room} does not find mete/mete.h")
    print(f"{tried} includes tried")
    return problems


def main():
    with tempfile.TemporaryDirectory() as name:
        problems = try_all(pathlib.Path(name))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())

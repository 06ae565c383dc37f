# SPDX-License-Identifier: Apache-2.0
"""The build for machines without a 16-byte compare-and-swap (METE_PAIR_LOCKED):
the library compiled anew in that way, and fallback/stress.c run with it, plainly
and, where the compiler can, under the thread sanitizer.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("METE_SOURCE_DIR", Path(__file__).resolve().parents[2]))
CC = os.environ.get("METE_CC") or os.environ.get("CC") or "cc"
ROOMS = ("base", "algorithm", "table", "limiter")


def sources():
    found = [str(path) for room in ROOMS for path in sorted((SOURCE / "src" / room).glob("*.c"))]
    assert len(found) > 20, found
    return found


def build(program, flags):
    """The warnings of the project count here too: no other build sees this code."""
    command = [CC, "-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-DMETE_PAIR_LOCKED=1", *flags,
               f"-I{SOURCE / 'src'}", f"-I{SOURCE / 'include'}",
               str(SOURCE / "tests/store/fallback/stress.c"), *sources(), "-lpthread", "-o", str(program)]
    subprocess.run(command, check=True)


def can_sanitize(folder):
    empty = Path(folder) / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    program = Path(folder) / "empty"
    made = subprocess.run([CC, "-fsanitize=thread", str(empty), "-o", str(program)], capture_output=True)
    return made.returncode == 0 and subprocess.run([str(program)], capture_output=True).returncode == 0


def run(folder, name, flags):
    program = Path(folder) / name
    build(program, flags)
    result = subprocess.run([str(program), str(Path(folder) / "store")], capture_output=True, text=True, timeout=300,
                            env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"})
    print(f"{name}: {result.stdout.strip()}")
    if result.returncode != 0:
        sys.exit(f"{name}: status {result.returncode}\n{result.stderr[:4000]}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "plain", [])
        if can_sanitize(folder):
            run(folder, "thread_sanitizer", ["-fsanitize=thread"])
        else:
            print(f"{CC} has no thread sanitizer here: the plain build only")


if __name__ == "__main__":
    main()

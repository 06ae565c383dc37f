# SPDX-License-Identifier: Apache-2.0
"""Installs into an empty prefix, moves it, and builds an outside program against
it: by find_package and by pkg-config, shared and static."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["METE_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["METE_SOURCE_DIR"])
COMPILER = os.environ["METE_CC"]
# What a sanitized or counted static library asks of whoever links it.
INSTRUMENTATION = os.environ["METE_CFLAGS"].split()
CONSUMER = SOURCE / "tests" / "package"

INSTALLED = [
    r"include/mete/algorithm\.h",
    r"include/mete/mete\.h",
    r"include/mete/queue\.h",
    r"lib/[\w-]*/?libmete\.a",
    r"lib/[\w-]*/?libmete\.so",
    r"lib/[\w-]*/?libmete\.so\.0",
    r"lib/[\w-]*/?libmete\.so\.0\.1\.0",
    r"lib/[\w-]*/?pkgconfig/mete\.pc",
    r"lib/[\w-]*/?cmake/mete/mete-config\.cmake",
    r"lib/[\w-]*/?cmake/mete/mete-config-version\.cmake",
    r"lib/[\w-]*/?cmake/mete/mete-targets\.cmake",
    r"lib/[\w-]*/?cmake/mete/mete-targets-\w+\.cmake",
    r"bin/mete",
    r"lib/systemd/system/mete\.service",
    r"lib/systemd/system/mete\.socket",
    r"lib/sysusers\.d/mete\.conf",
    r"share/man/man1/mete\.1",
    r"share/doc/mete/LICENSE",
] + [re.escape(f"share/doc/mete/{path.relative_to(SOURCE).as_posix()}")
     for pattern in ("docs/*.md", "examples/*.*") for path in SOURCE.glob(pattern)]


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {result.returncode}\n{result.stdout}")
    return result.stdout


def install(folder):
    """The prefix, moved after the installation: nothing in it may hold its old name."""
    run("cmake", "--install", str(BUILD), "--prefix", str(folder / "first"))
    prefix = (folder / "first").rename(folder / "moved")
    have = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if not path.is_dir()}
    for pattern in INSTALLED:
        matches = {name for name in have if re.fullmatch(pattern, name)}
        if len(matches) != 1:
            sys.exit(f"installed for {pattern}: {sorted(matches)}, of {sorted(have)}")
        have -= matches
    if have:
        sys.exit(f"installed, but in no list: {sorted(have)}")
    for path in prefix.rglob("*"):
        if path.suffix in (".cmake", ".pc") and str(folder) in path.read_text():
            sys.exit(f"{path.name} holds the path it was installed to")
    return prefix


def check_program(program, shared, library_dir):
    """It runs, and takes the library from where it should."""
    needs = "libmete.so.0" in run("readelf", "--dynamic", str(program))
    if needs != shared:
        sys.exit(f"{program.name} {'needs' if needs else 'does not need'} libmete.so.0")
    said = run(str(program), env={**os.environ, "LD_LIBRARY_PATH": str(library_dir)})
    if said != "mete 0.1.0\n":
        sys.exit(f"{program.name} said {said!r}")


def by_find_package(folder, prefix, library_dir):
    tree = folder / "consumer"
    run("cmake", "-S", str(CONSUMER), "-B", str(tree), f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={COMPILER}", f"-DCMAKE_C_FLAGS={' '.join(INSTRUMENTATION)}")
    run("cmake", "--build", str(tree))
    check_program(tree / "consumer_shared", True, library_dir)
    check_program(tree / "consumer_static", False, library_dir)

    newer = folder / "newer"
    newer.mkdir()
    text = (CONSUMER / "CMakeLists.txt").read_text().replace("find_package(mete 0.1 ", "find_package(mete 0.2 ")
    (newer / "CMakeLists.txt").write_text(text)
    shutil.copy(CONSUMER / "consumer.c", newer)
    wrong = subprocess.run(["cmake", "-S", str(newer), "-B", str(newer / "build"), f"-DCMAKE_PREFIX_PATH={prefix}"],
                           capture_output=True, text=True)
    if wrong.returncode == 0 or "0.1.0" not in wrong.stderr:
        sys.exit("a consumer that asks for 0.2 was given 0.1.0")


def by_pkg_config(folder, prefix, library_dir):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library_dir / "pkgconfig")}

    def flags(*options):
        return run("pkg-config", *options, "mete", env=environment).split()

    if flags("--modversion") != ["0.1.0"]:
        sys.exit(f"pkg-config says version {flags('--modversion')}")
    source = str(CONSUMER / "consumer.c")
    shared = folder / "pc_shared"
    run(COMPILER, source, *INSTRUMENTATION, *flags("--cflags", "--libs"), "-o", str(shared))
    check_program(shared, True, library_dir)

    static = folder / "pc_static"
    libs = ["-l:libmete.a" if word == "-lmete" else word for word in flags("--static", "--cflags", "--libs")]
    run(COMPILER, source, *INSTRUMENTATION, *libs, "-o", str(static))
    check_program(static, False, library_dir)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = install(folder)
        library_dir = next(prefix.rglob("libmete.a")).parent
        by_find_package(folder, prefix, library_dir)
        by_pkg_config(folder, prefix, library_dir)
        program = str(prefix / "bin" / "mete")
        sample = str(prefix / "share" / "doc" / "mete" / "examples" / "mete.yaml")
        if not run(program, "config", "check", sample).endswith("\nOK\n"):
            sys.exit("the installed sample is not right")
        if "'mete config schema'" not in run(program, "serve", "--help"):
            sys.exit("serve --help names no reference that is installed")
        version = run(str(prefix / "bin" / "mete"), "--version")
        if "0.1.0" not in version:
            sys.exit(f"the installed program says {version!r}")
    return 0


sys.exit(main())

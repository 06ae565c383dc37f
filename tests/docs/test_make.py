# SPDX-License-Identifier: Apache-2.0
"""What make says around a program: that it is built, once; what went wrong; and nothing else."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["METE_SOURCE_DIR"])
# Stands for cmake: "builds" a program that says its arguments.
CMAKE = """#!/bin/sh
case "$*" in
*--build*) test -z "$FAULT" || { echo "a.c:1: error"; exit 7; } ;;
*) mkdir -p build/release; touch build/release/CMakeCache.txt; exit ;;
esac
test ! -x build/release/mete || { echo "ninja: no work to do."; exit; }
printf '#!/bin/sh\\necho "$@"\\n' >build/release/mete
chmod +x build/release/mete
"""


class Make(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copy(SOURCE / "Makefile", self.folder)
        (self.folder / "bin").mkdir()
        for name, text in (("bin/cmake", CMAKE), ("tools/install-deps", "#!/bin/sh\n")):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)

    def make(self, target, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        environment["PATH"] = f"{self.folder / 'bin'}:{environment['PATH']}"
        return subprocess.run(["make", target], cwd=self.folder, env={**environment, **variables}, capture_output=True,
                              text=True, timeout=60)

    def test_building_is_told_once(self):
        run = self.make("run")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(run.stdout.startswith("serve --config examples/mete.yaml "), run.stdout)
        self.assertEqual(run.stderr, "building mete, once: this takes a while ...\n")
        again = self.make("run")
        self.assertEqual((again.returncode, again.stdout, again.stderr), (0, run.stdout, ""))

    def test_a_build_that_fails(self):
        self.make("run")
        run = self.make("run", FAULT="1")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertTrue(run.stderr.startswith("a.c:1: error\n"), run.stderr)


if __name__ == "__main__":
    unittest.main()

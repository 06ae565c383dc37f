# SPDX-License-Identifier: Apache-2.0
"""The README's examples are what it says: the program is examples/hello.c and
prints what is shown, the replay prints what is shown, every limit is readable."""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["METE_SOURCE_DIR"]
BUILD = os.environ["METE_BUILD_DIR"]
METE = os.environ["METE_BIN"]


def text_of(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


README = text_of("README.md")


def blocks(kind):
    return [text for name, text in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S) if name == kind]


def run(*command):
    return subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=True).stdout


class Readme(unittest.TestCase):
    def test_program(self):
        code = blocks("c")[0]
        path = os.path.join(SOURCE, "examples", "hello.c")
        self.assertTrue(text_of("examples", "hello.c").endswith(code))
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "hello")
            sanitize = os.environ.get("METE_SANITIZE", "")
            flags = ["-fsanitize=" + sanitize] if sanitize else []
            run(os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", *flags,
                "-I" + os.path.join(SOURCE, "include"), path, os.path.join(BUILD, "libmete.a"), "-lpthread",
                "-o", program)
            self.assertEqual(run(program), blocks("")[0])

    def test_replay(self):
        command = next(line for block in blocks("sh") for line in block.splitlines() if line.startswith("mete replay"))
        words = re.findall(r'"([^"]*)"|(\S+)', command)
        arguments = [quoted or plain for quoted, plain in words][1:]
        self.assertEqual(run(METE, *arguments), blocks("")[2])

    def test_server(self):
        """The commands of 'As a server', on free ports, and the answer that is shown."""
        serve, redis, curl = next(block for block in blocks("sh") if "mete serve" in block).splitlines()
        arguments = re.sub(r":\d+", ":0", serve).split()[1:]
        process = subprocess.Popen([METE, *arguments], stderr=subprocess.PIPE, text=True)
        try:
            ports = {}
            while len(ports) < 2:
                found = re.search(r"protocol=(\w+) address=127.0.0.1:(\d+)", process.stderr.readline())
                ports[found[1]] = found[2]
            redis = redis.replace("6379", ports["resp"])
            self.assertEqual(run(*redis.split()).split(), ["0", "16", "15", "-1", "2"])
            curl = shlex.split(curl.replace("8080", ports["http"]))
            answers = [run(curl[0], "-s", *curl[1:]).replace("\r", "") for _ in range(6)]
            for line in blocks("http")[0].splitlines():
                self.assertIn(line + "\n", answers[0])
            self.assertIn("HTTP/1.1 429 Too Many Requests\n", answers[5])
            self.assertIn("Retry-After: 6\n", answers[5])
        finally:
            process.terminate()
            process.stderr.close()
            self.assertEqual(process.wait(30), 0)

    def test_limits(self):
        section = README[README.index("## Limits"):README.index("| algorithm")]
        limits = re.findall(r"`([^`\n]+/[^`\n]+)`", section)
        self.assertGreater(len(limits), 6)
        for limit in limits:
            run(METE, "limit", limit)

    def test_links(self):
        for target in re.findall(r"\]\(([^)]+)\)", README):
            self.assertTrue(os.path.exists(os.path.join(SOURCE, target)), target)


if __name__ == "__main__":
    sys.exit(unittest.main())

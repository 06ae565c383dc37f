# SPDX-License-Identifier: Apache-2.0
"""File descriptors that are gone although the daemon has fewer connections than it may have: as when the whole system
has none left, or its limit was lowered while it ran."""
import os
import resource
import time
import unittest

from daemon import wait_until
from faults import Case


class Descriptors(Case):
    def test_file_descriptors_run_out(self):
        """Those who are in are served, the log says why others are not, the processor is not kept busy with trying, and
        when descriptors come back new clients are served."""
        self.start()
        since = len(self.daemon.lines)
        self.daemon.limit(resource.RLIMIT_NOFILE, self.daemon.fd_count() + 10)
        streams = [self.connect() for _ in range(60)]
        self.daemon.await_line(r"level=(warn|error).*(descriptor|EMFILE|too many open files|refused)", since)
        self.others_are_served()
        before = self.cpu_seconds()
        time.sleep(1)
        self.assertLess(self.cpu_seconds() - before, 0.5, "it spins")
        self.assertLess(len(self.daemon.lines) - since, 30, "it floods the log")
        self.others_are_served()
        for stream in streams:
            stream.close()

        def is_served():
            try:
                with self.daemon.resp(timeout=2) as client:
                    return client("PING") == "PONG"
            except (EOFError, OSError):
                return False
        wait_until(is_served, 10, "no connection is taken after descriptors came back")

    def cpu_seconds(self):
        with open(f"/proc/{self.daemon.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    unittest.main()

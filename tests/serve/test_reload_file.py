# SPDX-License-Identifier: Apache-2.0
"""A configuration file that changes is read again without a signal."""
import os
import unittest

import conf
from daemon import serve, wait_until
from resp import pairs


class Noticed(unittest.TestCase):
    def start(self, policies):
        self.daemon = serve(self, conf.config(policies))
        self.client = self.daemon.resp()

    def peek(self, policy):
        return pairs(self.client("METE.PEEK", policy, "k"))

    def test_a_file_that_was_replaced_or_written_in_place(self):
        self.start({"api": conf.policy("5/1h")})
        self.client("METE.TAKE", "api", "k", "COST", 2)
        self.daemon.write(conf.config({"api": conf.policy("50/1h burst 8")}))
        wait_until(lambda: self.peek("api")["limit"] == 8, 10, "a file that was replaced is not noticed")
        self.daemon.write(conf.config({"api": conf.policy("50/1h burst 9")}))
        wait_until(lambda: self.peek("api")["limit"] == 9, 10, "nor the next one")
        with open(self.daemon.config_path, "w", encoding="utf-8") as file:
            file.write(conf.text(conf.config({"api": conf.policy("50/1h burst 10")})))
        wait_until(lambda: self.peek("api")["limit"] == 10, 10, "a file that was written in place is not noticed")
        self.assertGreaterEqual(self.peek("api")["remaining"], 8)

    def test_a_link_that_points_elsewhere_is_noticed(self):
        """As Kubernetes changes a mounted ConfigMap: the file stays a link, and a folder's link is replaced."""
        self.start({"api": conf.policy("5/1h")})
        place = self.daemon.folder
        for version, limit in ("v1", "5/1h"), ("v2", "7/1h"):
            os.mkdir(os.path.join(place, version))
            with open(os.path.join(place, version, "mete.yaml"), "w", encoding="utf-8") as file:
                file.write(conf.text(conf.config({"api": conf.policy(limit)})))
        self.assertEqual(self.daemon.terminate(), 0)
        os.remove(self.daemon.config_path)
        os.symlink("v1", os.path.join(place, "data"))
        os.symlink("data/mete.yaml", self.daemon.config_path)
        self.daemon.restart()
        self.client = self.daemon.resp()
        self.assertEqual(self.peek("api")["limit"], 5)
        os.symlink("v2", os.path.join(place, "new"))
        os.replace(os.path.join(place, "new"), os.path.join(place, "data"))
        wait_until(lambda: self.peek("api")["limit"] == 7, 10, "another folder is not noticed")


if __name__ == "__main__":
    unittest.main()

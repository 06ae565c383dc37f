# SPDX-License-Identifier: Apache-2.0
"""What the tests of gateways' fault reports share."""
import unittest

import conf
from daemon import serve


class Case(unittest.TestCase):
    def start(self, policies, **options):
        test_clock = options.pop("test_clock", True)
        args = {name: options.pop(name) for name in ("threads", "args") if name in options}
        self.daemon = serve(self, conf.config(policies, **options), test_clock=test_clock, **args)
        self.client = self.daemon.resp()
        self.web = self.daemon.web()

    def at(self, seconds):
        self.daemon.clock_s(seconds)

    def passed(self, *arguments, **named):
        response = self.web.take(*arguments, **named)
        self.assertIn(response.status, (200, 429))
        return response.status == 200

    def metrics(self):
        return self.web.get("/metrics").body.decode()

    def decisions(self, policy, outcome):
        """A counter of decisions by its labels, whatever their order."""
        total = 0
        for line in self.metrics().splitlines():
            if f'policy="{policy}"' in line and f'outcome="{outcome}"' in line and "decisions" in line:
                total += int(line.rsplit(" ", 1)[1])
        return total

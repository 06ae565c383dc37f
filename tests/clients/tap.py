# SPDX-License-Identifier: Apache-2.0
"""unittest with the results as TAP lines, "ok 1 - name" or "not ok 1 - name", in place of dots."""

import sys
import unittest


class Result(unittest.TestResult):
    is_with_class = False
    is_bad = False

    def startTest(self, test):
        super().startTest(test)
        self.wrong = ""

    def addError(self, test, error):
        super().addError(test, error)
        self.wrong += self._exc_info_to_string(error, test)
        if not isinstance(test, unittest.TestCase):  # what prepares a class or a module
            self.say(test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.wrong += self._exc_info_to_string(error, test)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.wrong += f"{subtest}:\n{self._exc_info_to_string(error, test)}"

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.wrong += f"skipped, which no test here may be: {reason}\n"

    def stopTest(self, test):
        super().stopTest(test)
        self.say(test)

    def say(self, test):
        name = str(test).split(" ", 1)[0].removeprefix("test_").replace("_", " ")
        if self.is_with_class and isinstance(test, unittest.TestCase):
            name = f"{type(test).__name__.removesuffix('Test')}: {name}"
        for line in self.wrong.splitlines():
            print(f"# {line}")
        print(f"{'not ok' if self.wrong else 'ok'} {max(self.testsRun, 1)} - {name}", flush=True)
        self.is_bad = self.is_bad or bool(self.wrong)
        self.wrong = ""


def main(is_with_class=False):
    result = Result()
    result.is_with_class = is_with_class
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]).run(result)
    return 1 if result.is_bad or result.testsRun == 0 else 0

# SPDX-License-Identifier: Apache-2.0
"""Some mutants, other ones each day, within about a minute; all with METE_TEST_SCALE=10.

METE_TEST_SEED chooses them.  mutants.py says what a mutant is.
"""
import os
import sys

import mutants

SCALE = int(os.environ.get("METE_TEST_SCALE", "1"))
SEED = os.environ.get("METE_TEST_SEED")


def main():
    if os.environ.get("METE_SANITIZE"):
        # The copy is built without sanitizers in any case: once is enough.
        print("mutants are tried by the build without sanitizers only")
        return 0
    if SCALE >= 10:
        return mutants.main(["--all"])
    return mutants.main(["--seconds", str(50 * SCALE)] + (["--seed", SEED] if SEED else []))


sys.exit(main())

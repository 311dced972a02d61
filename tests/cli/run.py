"""Tests of the command line as a user types it: exit statuses, what is printed where, files that are written.

Usage: run.py TINYORT [NAME...], from the root of the tree; a NAME is a file of tests (hostile) or one of them
(test_names). Works on models/digits.onnx and on small models made here.
"""

import importlib
import signal
import sys
import tempfile
from pathlib import Path

from suite import Skipped, Suite

sys.dont_write_bytecode = True
FILES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("run", "suite"))


def main():
    suite, names = Suite(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background hands on that it is ignored
    for file in FILES:
        for name, test in sorted(vars(importlib.import_module(file)).items()):
            if not name.startswith("test_") or (names and file not in names and name not in names):
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    test(suite, Path(folder))
                except Skipped as reason:
                    suite.skip(f"{file}.{name}: {reason}")
                except Exception as error:  # the others are worth running all the same
                    suite.check(False, f"{file}.{name} ended with {error!r} in line {error.__traceback__.tb_next.tb_lineno}")
    print(f"cli: {suite.passed} passed, {suite.failed} failed" + (f", {suite.skipped} skipped" if suite.skipped else ""))
    sys.exit(1 if suite.failed or not suite.passed else 0)


if __name__ == "__main__":
    main()

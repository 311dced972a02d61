"""Checks of a command line that has one more provider, on one model: what tests/layouts and tests/segments share."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path


class Checks:
    """Counts what holds and prints what does not, as `NAME: FAILED: ...`."""

    def __init__(self, name, tinyort, chain, folder):
        self.name, self.tinyort, self.chain, self.scratch = name, tinyort, chain, Path(folder)
        self.model = str(self.scratch / "model.onnx")
        self.passed = self.failed = 0

    def check(self, condition, text):
        self.passed += bool(condition)
        self.failed += not condition
        if not condition:
            print(f"{self.name}: FAILED: {text}")

    def run(self, command, *options, chain=None, status=0):
        """Runs tinyort on the model and the chain, which a saved plan brings itself; its exit status must be this, unless it is None."""
        model = [] if "--plan" in options else [self.model, "--ep", chain or self.chain]
        done = subprocess.run([self.tinyort, command, *model, *options], capture_output=True, text=True)
        self.check(status in (None, done.returncode), f"{command} {options}: exit status {done.returncode}, not {status}: {done.stderr}")
        return done

    def plan(self, *options, **how):
        return json.loads(self.run("plan", "--json", *options, **how).stdout)


def main(name, chain, write_model, tests):
    """Runs the tests with the tinyort that the command line names, and prints the sum."""
    with tempfile.TemporaryDirectory() as folder:
        t = Checks(name, sys.argv[1], chain, folder)
        write_model(t.model)
        for test in tests:
            test(t)
    print(f"{name}: {t.passed} passed, {t.failed} failed")
    sys.exit(t.failed != 0)

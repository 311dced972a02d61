"""Tests run.py itself on a stand-in for tinyort: that it sees crashes, wrong results, unlisted skips and outdated lists.

Usage: run_test.py. The stand-in reports of each case what the case's name says, and dies at one that is called
crash, or at the end after one that is called leak.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

STAND_IN = """#!{python}
import json, os, sys
leaks = False
for folder in sys.argv[1:]:
    name = folder.split("/")[-1].split("-")[0]
    if name == "crash":
        os.abort()
    if name == "leak":
        name, leaks = "PASS", True
    if name in ("PASS", "FAIL", "NO_OP"):
        outcome = name if name != "NO_OP" else "SKIP"
        code = name if outcome == "SKIP" else ""
        report = {{"case": folder, "outcome": outcome, "code": code, "reason": "", "nodes": []}}
        print(json.dumps(report), flush=True)
sys.exit(23 if leaks else 0)
"""

# what it is, names of the cases, the list, the last line, whether the run succeeds
CASES = [
    ("all pass", ["PASS-1", "PASS-2"], "* cpu=yes", "2 passed, 0 failed, 0 skipped", True),
    ("a wrong result fails", ["PASS-1", "FAIL-1"], "* cpu=yes", "1 passed, 1 failed, 0 skipped", False),
    ("a listed skip is one", ["PASS-1", "NO_OP-1"], "* cpu=yes\nnode/NO_OP-1 cpu=NO_OP", "1 passed, 0 failed, 1 skipped", True),
    ("an unlisted skip fails", ["PASS-1", "NO_OP-1"], "* cpu=yes", "1 passed, 1 failed, 0 skipped", False),
    ("so does one for another reason", ["PASS-1", "NO_OP-1"], "* cpu=yes\nnode/NO* cpu=NO_TYPE", "1 passed, 1 failed, 0 skipped", False),
    ("a pass where a skip is listed fails", ["PASS-1"], "* cpu=NO_OP", "0 passed, 1 failed, 0 skipped", False),
    ("a case that is not listed fails", ["PASS-1", "PASS-2"], "node/PASS-1 cpu=yes", "1 passed, 1 failed, 0 skipped", False),
    ("a line for no case fails", ["PASS-1"], "* cpu=yes\nnode/gone cpu=yes", "1 passed, 1 failed, 0 skipped", False),
    ("a crash is its case's alone", ["PASS-1", "crash-1", "PASS-2"], "* cpu=yes", "2 passed, 1 failed, 0 skipped", False),
    ("crashes in a row too", ["crash-1", "crash-2", "PASS-2"], "* cpu=yes", "1 passed, 2 failed, 0 skipped", False),
    ("a process that ends out of order fails", ["leak-1", "PASS-1"], "* cpu=yes", "1 passed, 1 failed, 0 skipped", False),
    ("no case at all fails", [], "", "0 passed, 0 failed, 0 skipped", False),
]


def run(folder, names, text):
    stand_in, expected = folder / "tinyort", folder / "expected.txt"
    stand_in.write_text(STAND_IN.format(python=sys.executable))
    stand_in.chmod(0o755)
    expected.write_text(text)
    cases = [{"name": n, "kind": "node", "folder": str(folder / n), "rtol": None, "atol": None} for n in names]
    (folder / "cases.json").write_text(json.dumps(cases))
    script = Path(__file__).with_name("run.py")
    command = [sys.executable, str(script), str(stand_in), str(folder), str(expected)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def main():
    passed = failed = 0
    for what, names, text, last, succeeds in CASES:
        with tempfile.TemporaryDirectory() as folder:
            done = run(Path(folder), names, text)
        good = done.stdout.strip().endswith("node: " + last) and (done.returncode == 0) == succeeds
        crashes = [line for line in done.stdout.splitlines() if "crashed" in line]
        good = good and len(crashes) == sum(name.startswith(("crash", "leak")) for name in names)
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"FAILED {what}: {done.stdout}{done.stderr}")
    print(f"node-runner: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

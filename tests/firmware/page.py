"""The page models/gesture-cortex-m4: each of its commands, in order, in a folder of its own, and that it prints what the page shows.

Usage: page.py TINYORT, from the root of the tree, by a Python with PyTorch, onnxscript and onnxruntime. Weights that PyTorch trains may differ in a digit from
machine to machine, so the share of right answers, times and shares are not compared; sizes, calls, names of steps and bits are.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "models/gesture-cortex-m4/README.md"
MEASURED = re.compile(r"\d+\.\d+ %|\bright: \S+|/dev/pts/\d+")  # of a run: trained weights, times, the number of a terminal


def blocks():
    """[(command, lines that the page shows)] of the page."""
    for block in re.findall(r"^```\n(.*?)^```$", PAGE.read_text(), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown.splitlines()


def plain(line):
    """A line without what differs from run to run, and without counts of a timer."""
    line = MEASURED.sub("*", re.sub(r"^( *\d+  \S+ +)\d+( +)", r"\1*\2", line))
    return re.sub(r"\d+ ticks|; \d+ frames were sent again", "* ticks", " ".join(line.split())).replace("stack* ticks", "stack")


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("gesture-cortex-m4", "digits-cortex-m4"):
            shutil.copytree(ROOT / "models" / name, Path(folder) / name, ignore=shutil.ignore_patterns("build"))
        bin = Path(folder) / "bin"
        bin.mkdir()
        (bin / "tinyort").symlink_to(Path(sys.argv[1]).resolve())
        (bin / "python").symlink_to(sys.executable)
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{bin}:{os.environ['PATH']}"}
        options = {"cwd": Path(folder) / "gesture-cortex-m4", "env": environment, "text": True}
        port, board = None, None
        for command, shown in blocks():
            if command == "make emulate":
                board = subprocess.Popen(command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **options)
                said, status = board.stdout.readline(), 0
                port = re.search(r"/dev/pts/\d+", said)
            else:
                command = re.sub(r"/dev/pts/\d+", port[0] if port else "", command)
                done = subprocess.run(command, shell=True, capture_output=True, **options)
                said, status = done.stdout + done.stderr, done.returncode
            lines = {plain(line) for line in said.splitlines()}
            lacks = [line for line in shown if plain(line) not in lines]
            failed += bool(status or lacks)
            passed += not (status or lacks)
            if status or lacks:
                print(f"FAILED {command}: status {status}; not said: {lacks}; said: {said[-1500:]}")
        if board:
            os.killpg(board.pid, 9)
            board.wait()
    print(f"firmware-page: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()

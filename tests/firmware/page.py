"""Pages of models on boards: each of their commands, in order, in a folder of its own, and that it prints what the page shows.

Usage: page.py TINYORT PAGE, from the root of the tree; PAGE is a folder of models/:
  gesture-cortex-m4    by a Python with PyTorch and onnxscript. Weights that PyTorch trains may differ in a digit from machine to machine, so the share of right answers,
                       times and shares are not compared; sizes, calls, names of steps and bits are.
  quantized-cortex-m4  by a Python with numpy, onnx and scikit-learn. Its models are those of the tree, so all is compared: answers, instructions and bytes in its table
                       too, and the outputs of the board with those of `tinyort run`, by their hash.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/embed"))
import boards  # noqa: E402

MEASURED = re.compile(r"\d+\.\d+ %|\bright: \S+|/dev/pts/\d+")  # of a run: trained weights, times, the number of a terminal
RANGES = re.compile(r"^unit .*")  # the head of a table as wide as its contents
MODELS = {"digits": ("../digits.onnx", (1, 1, 8, 8)), "gesture": ("../gesture-cortex-m4/gesture.onnx", (1, 3, 64)), "sounds": ("sounds.onnx", (1, 1, 49, 10))}


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, condition, text):
        self.passed += bool(condition)
        self.failed += not condition
        if not condition:
            print(f"FAILED {text}")


def blocks(page):
    """[(command, lines that the page shows)] of the page."""
    for block in re.findall(r"^```\n(.*?)^```$", page, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown.splitlines()


def plain(line):
    """A line without what differs from run to run, and without counts of a timer."""
    line = MEASURED.sub("*", re.sub(r"^( *\d+  \S+ +)\d+( +)", r"\1*\2", RANGES.sub("unit", line)))
    return re.sub(r"\d+ ticks|; \d+ frames were sent again", "* ticks", " ".join(line.split())).replace("stack* ticks", "stack")


def run_page(tally, page, options):
    """Runs the commands; returns what each has said."""
    port, board, told = None, None, {}
    for command, shown in blocks(page):
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
        tally.check(not status and not lacks, f"{command}: status {status}; not said: {lacks}; said: {said[-1500:]}")
        told[command] = said
    if board:
        os.killpg(board.pid, 9)
        board.wait()
    return told


# ---- quantized-cortex-m4 --------------------------------------------------------------------------------------------------------------------------


def figures(said):
    """What `make run` tells, by name: the first number of a line, or the hash."""
    return {line.split()[0]: line.split()[1] for line in said.splitlines() if len(line.split()) > 1}


def row(name, plain_told, told):
    """The row of the page's table."""
    kinds = [{key: f"{int(value):,}" for key, value in kind.items() if key != "outputs"} for kind in (plain_told, told)]
    forms = ("{right}", "{arena}", "{weights} + {code}", "{instructions}")
    return f"| {name} | " + " | ".join(" → ".join(form.format(**kind) for kind in kinds) for form in forms) + " |"


def hash_of(data):
    """FNV-1a, as main.c computes it."""
    found = 2166136261
    for byte in data:
        found = (found ^ byte) * 16777619 & 0xFFFFFFFF
    return f"{found:x}"


def host_hash(tinyort, model, chain, samples, folder):
    """That of the outputs which `tinyort run` gives for one sample after the other."""

    def outputs(i):
        np.save(folder / f"{i}.npy", samples[i])
        words = [tinyort, "run", model, "--ep", chain, "--input", folder / f"{i}.npy", "--save", folder / str(i)]
        subprocess.run(words, check=True, capture_output=True)
        return np.load(folder / str(i) / "output_0.npy").tobytes()

    folder.mkdir()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return hash_of(b"".join(pool.map(outputs, range(len(samples)))))


def check_figures(tally, tinyort, page, told, folder):
    for name, (model, shape) in MODELS.items():
        runs = [figures(told.get(f"make run NET={name}/{kind}", "")) for kind in ("float", "int8")]
        if not all(runs):
            tally.check(False, f"{name} did not run")
            continue
        expected = row(name, *runs)
        tally.check(expected in page.splitlines(), f"the table lacks: {expected}")
        samples = np.fromfile(folder / name / "test.raw", "<f4").reshape(-1, *shape)
        for file, chain, run in ((model, "firmware:target=cortex-m4", runs[0]), (f"{name}/int8.onnx", "cpu", runs[1])):
            found = host_hash(tinyort, folder / file, chain, samples, folder / name / chain.partition(":")[0])
            tally.check(found == run["outputs"], f"{name}: {file} on {chain} has other bits than the board: {found}, {run['outputs']}")


def main():
    tinyort, name = Path(sys.argv[1]).resolve(), sys.argv[2]
    lack = boards.missing(boards.TARGETS["cortex-m4"])
    if lack:
        print(f"skipped: the page {name} ({lack} is not installed: make setup-embed)")
        return 0
    page, tally = (ROOT / "models" / name / "README.md").read_text(), Tally()
    with tempfile.TemporaryDirectory() as temporary:
        made = shutil.ignore_patterns("build", "net", "*.elf", "*.npy", "*.raw", "float", "int8", "int8.onnx")
        shutil.copytree(ROOT / "models", Path(temporary) / "models", ignore=made)
        folder, bin = Path(temporary) / "models" / name, Path(temporary) / "bin"
        bin.mkdir()
        (bin / "tinyort").symlink_to(tinyort)
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{bin}:{os.environ['PATH']}"}
        told = run_page(tally, page, {"cwd": folder, "env": environment, "text": True})
        if name == "quantized-cortex-m4":
            check_figures(tally, tinyort, page, told, folder)
    print(f"firmware-page {name}: {tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())

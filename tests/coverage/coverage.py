"""How many branches of what reads and writes models and saved plans the tests take: every source of loader/ and runtime/core/saved/.

Usage: coverage.py BUILD CASES LEAST, where BUILD has tests/unit, tests/replay and tinyort with clang's counters, and CASES is the folder
of ONNX's backend cases. Runs the unit tests, the corpora of the fuzzers, the backend cases and the tests of the command line; prints
lines and branches of each file and of all, and fails where fewer than LEAST percent of all branches are taken. A condition has two branches, true and false, and each
must have been taken somewhere. What protoc-c generates is not counted; nothing else is left out. BUILD/uncovered.txt gets a line for
each branch that is not taken.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import counters

FOLDERS = ("loader", "runtime/core/saved")


def run_tests(build, cases):
    python = [sys.executable, "-W", "ignore"]
    commands = (
        [build / "tests/unit", "--jobs", "2"],
        ["tests/fuzz/replay.sh", build / "tests", "load_and_plan:models", "load_and_run:models", "saved_plan:plans", "tensor_file:tensors"],
        [*python, "tests/node/run.py", build / "tinyort", cases, "tests/node/expected.txt"],
        [*python, "tests/cli/run.py", build / "tinyort"],
    )
    profiles = build / "profiles"
    profiles.mkdir(exist_ok=True)
    return counters.run(commands, profiles, "%m")  # a file for each program, to which its processes add


def branches_of(file):
    """{place: [times true, times false]}. Inline functions are there once for each source that includes them."""
    branches = {}
    for *place, true, false, _, _, _ in file["branches"]:
        taken = branches.setdefault(tuple(place), [0, 0])
        taken[0] += true
        taken[1] += false
    return branches


def uncovered(path, branches):
    text = path.read_text().splitlines()
    for (line, column, last, end), taken in sorted(branches.items()):
        condition = text[line - 1][column - 1 : end - 1 if last == line else None]
        for count, way in zip(taken, ("true", "false")):
            if not count:
                yield f"{path}:{line}:{column}: never {way}: {condition}\n"


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def main():
    build, cases, least = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    failed = run_tests(build, cases)
    sums = [0, 0, 0, 0]
    missed = []
    row = "{:<36} {:>6} {:>6.1f} % {:>9} {:>6.1f} %"
    print(f"{'file':<36} {'lines':>15} {'branches':>18}")
    for file in sorted(counters.export(build / "profiles", build / "tests/unit", build / "tinyort"), key=lambda file: file["filename"]):
        path = Path(file["filename"])
        path = path.relative_to(Path.cwd()) if path.is_absolute() and path.is_relative_to(Path.cwd()) else path
        if str(path.parent) not in FOLDERS:
            continue
        lines, branches = file["summary"]["lines"], branches_of(file)
        mine = [lines["count"], lines["covered"], 2 * len(branches), sum((t > 0) + (f > 0) for t, f in branches.values())]
        print(row.format(str(path), mine[0], percent(mine[1], mine[0]), mine[2], percent(mine[3], mine[2])))
        sums = [a + b for a, b in zip(sums, mine)]
        missed += uncovered(path, branches)
    taken = percent(sums[3], sums[2])
    print(row.format("all", sums[0], percent(sums[1], sums[0]), sums[2], taken))
    (build / "uncovered.txt").write_text("".join(missed))
    if taken < least:
        print(f"FAILED: {sums[3]} of {sums[2]} branches are taken, fewer than {least:g} %; the others are in {build / 'uncovered.txt'}")
    failed += taken < least
    print(f"coverage: {0 if failed else 1} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

"""Which lines of the CUDA provider its tests run on the simulated device: kernels and host code, every file of kernels/cuda.

Usage: coverage.py FOLDER TINYORT, where FOLDER holds the programs kernels, provider and library_rows, and in coverage/ a shared object that
clang++ built with counters. A line is covered when every region of code on it has run, so the second half of
`if (code) return code;` counts too; the instances of a template count together. A line that is not covered fails, unless
uncovered.txt has it with a reason; an entry there that is covered, or is no line of its file, fails as well. Whatever the list
says, a file below 95 % fails.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import counters

LEAST_PERCENT = 95
HERE = Path("tests/cuda")
SOURCES = Path("kernels/cuda")


def run_tests(folder, tinyort):
    """Runs the tests on the library with counters; the number that failed, whose output is printed."""
    commands = (
        [folder / "kernels", "--once", "cudasim"],
        [folder / "provider", HERE / "probing.expected"],
        [folder / "library_rows"],
        [sys.executable, "-W", "ignore", HERE / "claims.py", tinyort],
        [sys.executable, "-W", "ignore", HERE / "quantize.py", tinyort],
        [sys.executable, HERE / "networks.py", tinyort],
    )
    counted = folder / "coverage"
    return counters.run(commands, counted, "%p", LD_LIBRARY_PATH=str(counted))


def read_counts(library):
    """{file under SOURCES: {line: has all of it run}}, of the lines that hold code."""
    root = Path.cwd()
    counts = {}
    for file in counters.export(library.parent, library):
        path = Path(file["filename"])
        path = path.relative_to(root) if path.is_relative_to(root) else path
        if path.parent == SOURCES:
            counts[path] = lines_of(file["segments"])
    return counts


def lines_of(segments):
    """Segments are where the count changes: [line, column, count, has a count, begins a region, is between regions]."""
    lines = {}
    for (line, _, count, counted, entry, gap), (end, *_) in zip(segments, segments[1:] + [[0]]):
        if not counted or gap:
            continue
        if entry:
            lines[line] = lines.get(line, True) and count > 0
        for inner in range(line + 1, end):
            lines[inner] = count > 0
        if end > line:
            lines.setdefault(end, count > 0)
    return lines


def is_decided_by_compiler(text):
    """A condition of `if constexpr` never runs."""
    return text.lstrip("} ").removeprefix("else ").startswith("if constexpr")


def read_reasons():
    """{(file, text of the line): reason} of uncovered.txt: `FILE: TEXT`, and under it the reason, indented."""
    reasons, key = {}, None
    for line in (HERE / "uncovered.txt").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith(" "):
            reasons[key] = line.strip()
        else:
            name, _, text = line.partition(": ")
            key = (SOURCES / name, text.strip())
            reasons[key] = ""
    return reasons


def main():
    folder, tinyort = Path(sys.argv[1]), sys.argv[2]
    failed = run_tests(folder, tinyort)
    passed = 0
    reasons = read_reasons()
    unused = set(reasons)
    counts = read_counts(folder / "coverage" / "libtinyort-cudasim.so")
    print(f"{'file':<34} {'lines':>6} {'covered':>8} {'percent':>8}")
    problems = []
    for path in sorted([*SOURCES.glob("*.c"), *SOURCES.glob("*.cu")]):
        if path not in counts:
            print(f"FAILED: no line of {path} is counted")
            failed += 1
    for path, lines in sorted(counts.items()):
        text = path.read_text().splitlines()
        lines = {number: covered for number, covered in lines.items() if not is_decided_by_compiler(text[number - 1])}
        missed = [number for number, covered in sorted(lines.items()) if not covered]
        percent = 100 * (len(lines) - len(missed)) / len(lines)
        print(f"{str(path):<34} {len(lines):>6} {len(lines) - len(missed):>8} {percent:>8.1f}")
        good = percent >= LEAST_PERCENT
        for number in missed:
            key = (path, text[number - 1].strip())
            unused.discard(key)
            problems.append(f"{path}:{number}: {key[1]}" + (f"\n    {reasons[key]}" if reasons.get(key) else ""))
            good = good and bool(reasons.get(key))
        passed, failed = passed + good, failed + (not good)
    if problems:
        print("not covered:")
    for problem in problems:
        print(f"  {problem}")
    for path, text in sorted(unused):
        print(f"FAILED: uncovered.txt has a line that is covered, or is not there: {path}: {text}")
    failed += len(unused)
    print(f"cuda-coverage: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()

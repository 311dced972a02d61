"""Runs the commands that the pages show and holds what they print against what is shown; and the words and figures of the pages
that a machine can look up.

What differs from machine to machine is put out of the way first, on both sides: the processor's name and threads, and whatever a
provider says that did not open. Bytes of host memory, which follow from the sizes of structs and the number of threads, are right
within a quarter. A command on the simulated device is skipped where there is none beside TINYORT, and that is counted.

Usage: commands.py TINYORT, from the root of the tree. Prints `readme-commands: N passed, N failed, N skipped`.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = ("README.md", "runtime/README.md", "runtime/cli/README.md", "kernels/cpu/README.md")
LONGEST = 170  # lines of README.md
WIDTH = 120  # characters: the examples are as a terminal of this width shows them


def examples(readme):
    """(command, what it shows) of each block that begins with `$ tinyort`."""
    for block in re.findall(r"^```\n(\$ tinyort .*?)^```$", readme, re.M | re.S):
        command, shown = block.split("\n", 1)
        yield command[len("$ tinyort ") :], shown


def rounded(text):
    """Numbers of four decimals and more to three digits, since sums are rounded by instruction set."""
    return re.sub(r"\d\.\d{4,}(?:e-?\d+)?", lambda number: f"{float(number[0]):.3g}", text)


def settled(text):
    """Without what depends on the machine."""
    text = rounded(re.sub(r"\s*- cuda did not open: .*", " - cuda did not open", text, flags=re.S))
    text = re.sub(r"(cpu .*?\s)(\S.*), x86-64-v\d(?: with \w+)?, \d+ threads?", r"\1PROCESSOR", text)
    return [line.rstrip() for line in text.strip().splitlines()]


def is_alike(found, shown):
    """Equal lines; of the host's memory bytes may differ by a quarter, or 2 kB."""
    if found == shown:
        return True
    bytes_of = r"(\d[\d.]*) ([kMG]?B)\b"
    if not re.match(r"host memory: |cpu ", shown) or re.sub(bytes_of, "BYTES", found) != re.sub(bytes_of, "BYTES", shown):
        return False
    unit = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
    sizes = [[float(number) * unit[name] for number, name in re.findall(bytes_of, line)] for line in (found, shown)]
    return all(abs(a - b) <= max(b / 4, 2048) for a, b in zip(*sizes))


def told(tinyort, command):
    arguments = shlex.split(command)
    if arguments[0] == "plan":
        arguments += ["--width", str(WIDTH)]
    done = subprocess.run([tinyort, *arguments], capture_output=True, text=True)
    placement = [] if arguments[0] == "plan" else done.stderr.splitlines()[-1:]
    return done.stdout + "\n".join(placement)


class Checks:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, condition, text):
        self.passed += bool(condition)
        self.failed += not condition
        if not condition:
            print(f"FAILED {text}")


def check_examples(checks, tinyort, page, readme):
    simulated = Path(tinyort).with_name("libtinyort-cudasim.so").exists()
    for command, shown in examples(readme):
        if "cudasim" in command and not simulated:
            checks.skipped += 1
            print(f"skipped (no simulated device in this build): tinyort {command}")
            continue
        found, expected = settled(told(tinyort, command)), settled(shown)
        same = len(found) == len(expected) and all(map(is_alike, found, expected))
        checks.check(same, f"{page} shows something else for: tinyort {command}")
        for line in [] if same else [f"-{a}" for a in expected if a not in found] + [f"+{b}" for b in found if b not in expected]:
            print(line)


def check_lesson(checks, tinyort, page, text):
    """Commands that stand for themselves: each ends with 0, one after the other in a folder that has the models."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "models").symlink_to(Path("models").resolve())
        for command in re.findall(r"^tinyort (.*)$", "".join(re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)), re.M):
            if "cudasim" in command and not Path(tinyort).with_name("libtinyort-cudasim.so").exists():
                checks.skipped += 1
                print(f"skipped (no simulated device in this build): tinyort {command}")
                continue
            done = subprocess.run([Path(tinyort).resolve(), *shlex.split(command)], capture_output=True, text=True, cwd=folder)
            checks.check(done.returncode == 0, f"{page}: tinyort {command} ends with {done.returncode}: {done.stderr}")


def check_words(checks, tinyort, readme):
    """Targets, files, codes and options that the pages name exist."""
    makefile = "".join(path.read_text() for path in [Path("Makefile"), *Path("tests").glob("*/*.mk"), *Path("kernels").glob("*/*.mk")])
    for target in sorted(set(re.findall(r"(?:`|^)make ([a-z][a-z-]+)", readme, re.M))):
        checks.check(re.search(rf"^(\.PHONY:.*\b)?{target}\b.*", makefile, re.M), f"make {target} is not a target")
    for path in sorted(set(re.findall(r"`((?:runtime|loader|ops|kernels|models|tests)/[\w./]*)`", readme))):
        checks.check(Path(path).exists() or re.search(rf"^\d+\. `{path}`: ", readme, re.M), f"{path} is not there, and no step adds it")
    header = "".join(path.read_text() for path in [*Path("runtime").rglob("*.h"), *Path("ops/extra").glob("tinyort*.h")])
    for name in sorted(set(re.findall(r"\b(?:tort_\w+|TORT_\w+)\b", readme))):
        checks.check(name in header, f"{name} is in no header")
    for code in sorted(set(re.findall(r"`(NO_[A-Z]+|PROVIDER_DOWN|UPSTREAM|PINNED|DISABLED)`", readme))):
        checks.check(f"TORT_{code}" in header, f"{code} is not a verdict")
    helps = "".join(
        subprocess.run([tinyort, command, "--help"], capture_output=True, text=True).stdout
        for command in ("run", "plan", "test", "bench", "compare", "extract", "reduce", "compile", "quantize", "convert", "validate", "providers", "inspect")
    )
    named = re.sub(r"^(\| `\w+` \|) `--[^|]*", r"\1", readme, flags=re.M)  # without the old names in the table of options that have new ones
    for option in sorted(set(re.findall(r"`(--[a-z-]+)", named))):
        checks.check(option in helps, f"{option} is in no --help")
    providers = json.loads(subprocess.run([tinyort, "providers", "--json"], capture_output=True, text=True).stdout)["providers"]
    keys = {provider["name"]: set(provider["options"]) for provider in providers}
    for name, key in sorted(set(re.findall(r"^\| `(cuda|cpu):(\w+)=", readme, re.M))):
        checks.check(key in keys[name], f"{name} has no option {key}")
    for name in ("cuda", "cpu"):
        shown = set(re.findall(rf"^\| `{name}:(\w+)=", readme, re.M))
        checks.check(keys[name] <= shown, f"options of {name} that no page tells of: {keys[name] - shown}")


def lines_of_code(path):
    """Lines that are neither blank nor comment alone."""
    text = re.sub(r"/\*.*?\*/", "", Path(path).read_text(), flags=re.S)
    return sum(bool(line.strip()) for line in text.splitlines())


def check_figures(checks, readme):
    """Figures of lines: "about N lines (`a.c`, `b.c`)" is right within a tenth."""
    for figure, files in re.findall(r"about (\d+)\s+lines(?: of code)?\s+\(([^)]*)\)", readme):
        found = sum(lines_of_code(path) for path in re.findall(r"`([\w/.]+)`", files))
        checks.check(abs(found - int(figure)) <= int(figure) / 10, f"{files}: {found} lines, a page says about {figure}")


def check_links(checks, page, text):
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        checks.check((Path(page).parent / link).exists(), f"{page} links to {link}, which is not there")


def main():
    checks = Checks()
    texts = {page: Path(page).read_text() for page in PAGES}
    for page, text in texts.items():
        check_examples(checks, sys.argv[1], page, text)
        check_lesson(checks, sys.argv[1], page, text)
        check_links(checks, page, text)
    everything = "\n".join(texts.values())
    check_words(checks, sys.argv[1], everything)
    check_figures(checks, everything)
    lines = len(texts["README.md"].splitlines())
    checks.check(lines <= LONGEST, f"README.md has {lines} lines, at most {LONGEST} are read")
    print(f"readme-commands: {checks.passed} passed, {checks.failed} failed, {checks.skipped} skipped")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())

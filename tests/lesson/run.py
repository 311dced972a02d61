"""Runs the commands of models/lesson/README.md in their order, and holds what they print, and how they end, against the page.

A block ```console has commands, each behind "$ ", and below each what a terminal of 120 columns shows. They run in a scratch folder
that has the folders of the tree. A command ends with 0, unless the next one is `echo $?`, which shows how it ended. Behind the block
that shows models/lesson/tanh.patch, tinyort-lesson has the provider with that patch. What is printed must be what the page shows,
but for what differs from machine to machine: `without_machine` and `is_alike`, and nothing else. A block about cudasim is skipped
where the simulated device is not built, and that is counted.

Usage: run.py [--write] TINYORT LESSON EXERCISE, the programs in the three parts of the lesson, from the root of the tree. Prints
`lesson: N passed, N failed[, N skipped]`. With --write the page gets what was printed, where it differs.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("readme", "cli")]
from commands import WIDTH, check_links, is_alike, rounded  # noqa: E402
from suite import Skipped, Suite, visible  # noqa: E402

PAGE = "models/lesson/README.md"
FOLDERS = ("kernels", "models", "runtime", "tests")
MAKE = "models/lesson/make.py"
PATCH = "models/lesson/tanh.patch"
# "AMD EPYC, x86-64-v4 with VNNI, 2 threads; in the memory of engine" behind the figures of the line for cpu; it may go on in the next line.
PROCESSOR = r"^(cpu(?: +(?:\?|[\d.]+(?: [kMG]?B)?))+ +)\S[^,]*,[^,]*,\s+\d+\s+threads?(?:;\s+in\s+the\s+memory\s+of\s+(\w+))?"


def without_machine(command, text):
    """Lines, without the name of the processor and its threads, the last digits of sums, and the times of `bench`."""
    text = re.sub(PROCESSOR, r"\1PROCESSOR \2", rounded(text), flags=re.M)
    if command.startswith("tinyort bench "):
        text = re.sub(r"^(\(copy\) +\d+) .*", r"\1 TIMES", re.sub(" +", " ", text), flags=re.M)
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def sections(page):
    """(block of the page, programs, [(command, what it shows)]) of each ```console."""
    changed = page.index(f"$ cat {PATCH}\n")
    for block in re.finditer(r"^```console\n(.*?)^```$", page, re.M | re.S):
        parts = re.split(r"^\$ (.*)\n", block[1], flags=re.M)
        assert not parts[0], f"a block begins with a command, not with {parts[0]!r}"
        yield block[1], block.start() > changed, list(zip(parts[1::2], parts[2::2]))


class Lesson:
    def __init__(self, programs, folder):
        self.suite = Suite("sh")
        self.programs, self.folder, self.status = programs, folder, 0
        self.simulated = Path(programs[0]).with_name("libtinyort-cudasim.so").exists()
        for name in FOLDERS:
            Path(folder, name).symlink_to(Path(name).resolve())

    def run(self, command, exercise):
        """What a terminal shows of the command; self.status becomes its exit status."""
        tinyort, before, after = (str(Path(program).resolve().parent) for program in self.programs)
        path = [tinyort, after if exercise else before, os.environ["PATH"]]
        script = f"cd {self.folder}; (exit {self.status}); {command}"
        settings = {"PATH": ":".join(path), "LC_ALL": "C", "NO_COLOR": "1", "TINYORT_DISABLE": None}
        self.status, seen = self.suite.terminal("-c", script, columns=WIDTH, **settings)
        return visible(seen).decode()

    def check(self, command, shown, found, next_command):
        expected, got = without_machine(command, shown), without_machine(command, found)
        same = len(expected) == len(got) and all(map(is_alike, got, expected))
        self.suite.check(same, f"{PAGE} shows something else for: {command}")
        for line in [] if same else [f"-{a}" for a in expected if a not in got] + [f"+{b}" for b in got if b not in expected]:
            print(line)
        if next_command != "echo $?":
            self.suite.check(self.status == 0, f"{PAGE}: {command} ends with {self.status}")
        return shown if same else "".join(f"{line.rstrip()}\n" for line in found.splitlines())

    def block(self, text, exercise, commands):
        """The block as it should be."""
        if "cudasim" in text and not self.simulated:
            self.suite.skip(f"no simulated device in this build: {commands[0][0]} ...")
            return text
        made = ""
        for i, (command, shown) in enumerate(commands):
            found = self.run(command, exercise)
            made += f"$ {command}\n" + self.check(command, shown, found, commands[i + 1][0] if i + 1 < len(commands) else "")
        return made


def check_models(suite, folder):
    """The models are what make.py makes."""
    done = subprocess.run([sys.executable, MAKE, folder], capture_output=True, text=True)
    suite.check(done.returncode == 0, f"{MAKE}: {done.stderr}")
    made, there = ({path.name: path.read_bytes() for path in Path(place).glob("*.onnx")} for place in (folder, "models/lesson"))
    suite.check(made == there and made, f"{MAKE} makes other files than those beside it")


def check_patch(suite):
    """git takes the patch of the exercise; an archive of the sources has no git, and `patch` has taken it for the build."""
    if Path(".git").exists():
        done = subprocess.run(["git", "apply", "--check", PATCH], capture_output=True, text=True)
        suite.check(done.returncode == 0, f"git apply {PATCH}: {done.stderr}")


def check_words(suite, page):
    """Links, files, functions of files, and conditions of cuda that the page names are there; each part has a command."""
    check_links(suite, PAGE, page)
    for path in sorted(set(re.findall(r"`((?:runtime|kernels|models|tests)/[\w./]*)`", page))):
        suite.check(Path(path).exists(), f"{PAGE} names {path}, which is not there")
    for name, path in re.findall(r"`(\w+)` in `([\w/]+\.c)`", page):
        suite.check(re.search(rf"^\w.*\b{name}\(", Path(path).read_text(), re.M), f"{PAGE}: {path} has no function {name}")
    conditions = "".join(path.read_text() for path in Path("kernels/cuda").glob("*.c"))
    for code in re.findall(r"^\| `([A-Z_]+)` \|", page, re.M):
        suite.check(f'"{code}"' in conditions, f"{PAGE}: {code} is no condition of cuda")
    for part in re.findall(r"^## \d.*?(?=^## |\Z)", page, re.M | re.S):
        suite.check("```console\n" in part, f"{PAGE} has a part without a command: {part.splitlines()[0]}")


def main():
    write = sys.argv[1] == "--write"
    page = written = Path(PAGE).read_text()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as made:
        lesson = Lesson(sys.argv[1 + write :], folder)
        check_models(lesson.suite, made)
        check_words(lesson.suite, page)
        check_patch(lesson.suite)
        try:
            for text, exercise, commands in sections(page):
                written = written.replace(f"```console\n{text}```", f"```console\n{lesson.block(text, exercise, commands)}```", 1)
        except Skipped as reason:
            lesson.suite.skip(str(reason))
    if write:
        Path(PAGE).write_text(written)
    suite = lesson.suite
    print(f"lesson: {suite.passed} passed, {suite.failed} failed" + (f", {suite.skipped} skipped" if suite.skipped else ""))
    return suite.failed != 0


if __name__ == "__main__":
    sys.exit(main())

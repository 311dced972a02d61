"""Follows the pages that say how something is added: takes a copy of the tree, writes the files that a section shows, in its order, runs
its commands, counts the files, builds, and tries what was added.

A section is a list: "1. `FILE`: ..." with a block of code that is the file, or more of it, or "diff", a patch of it; a block "sh" has commands
for make. One more page is one more Recipe, with a function that tries what it added.

Usage: adding.py TINYORT_TREE FOLDER MAKE [OPTION]...: the copy is made in FOLDER, and removed at the end. The options go to make.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

# Objects that the tree has built already: make builds what the additions change, and no more.
OBJECTS = ("runtime", "loader", "ops", "kernels", "cudasim")
LEFT_OUT = shutil.ignore_patterns("build", ".git", "__pycache__")


class Tree:
    """A copy of the tree, in which make builds."""

    def __init__(self, source, folder, make):
        self.source, self.root, self.make_command = source, folder, make
        self.passed = self.failed = 0
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder, symlinks=True, ignore=LEFT_OUT)
        for part in (Path("build/obj", name) for name in OBJECTS):
            if (source / part).exists():
                shutil.copytree(source / part, folder / part)
        flags = [path.relative_to(source) for path in (source / "build/obj").glob("*flags")]
        for file in flags:
            shutil.copy2(source / file, folder / file)

    def check(self, holds, text):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print(f"adding: FAILED: {text}")

    def run(self, *command, given=None, **environment):
        """What it prints; "" and a failure where it does not end well."""
        around = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        done = subprocess.run(command, input=given, cwd=self.root, env=around | environment, capture_output=True, text=True)
        self.check(done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout if done.returncode == 0 else ""

    def make(self, *targets):
        return self.run(*self.make_command, *targets)

    def touched(self):
        """Files that the copy has and the tree has not, or not so."""
        files = [path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file() and "build" not in path.relative_to(self.root).parts[:1]]
        return [file for file in files if not (self.source / file).exists() or (self.source / file).read_bytes() != (self.root / file).read_bytes()]


def section(page, title):
    text = page.read_text()
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not found:
        sys.exit(f"adding: {page} has no section '{title}'")
    return found[1]


def follow(tree, page, title):
    """Writes the files of a section and runs its commands."""
    file = None
    for name, language, block in re.findall(r"^\d+\. `([^`]+)`|^```(\w+)\n(.*?)^```$", section(tree.source / page, title), re.M | re.S):
        if name:
            file = tree.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
        elif language == "diff":
            tree.run("patch", "-s", "-p1", "--no-backup-if-mismatch", given=block)
        elif language == "sh":
            for command in block.splitlines():
                tree.make(*command.split()[1:])
        else:
            with open(file, "a") as out:
                out.write(block)


# ---- what the pages add -----------------------------------------------------------------------------------------------


def try_operator(tree):
    """Twice, on cpu and on the simulated device, and what the tests of the tree say of it."""
    sources = [file for file in tree.touched() if file.suffix in (".c", ".h", ".cu")]
    tree.run("clang-format", "--dry-run", "-Werror", *sources)
    tree.make("build/tinyort", "build/libtinyort-cudasim.so", "build/tests/unit", "build/tests/cuda/kernels")
    tree.run("build/tests/unit", "--filter", "*operator_cases/*")
    tree.run("build/tests/unit", "--filter", "cpu_kernels/*")
    tree.run("build/tests/cuda/kernels", "--only", "Twice", "cudasim", LD_LIBRARY_PATH="build")
    tree.check("Twice" in tree.run("build/tinyort", "ops"), "tinyort ops lists Twice")
    tree.check("Twice" in (tree.root / "ops/OPERATORS.md").read_text(), "OPERATORS.md lists Twice")
    x = np.random.default_rng(1).standard_normal((7, 33), dtype=np.float32)
    node = helper.make_node("Twice", ["x"], ["y"], "twice", domain="tinyort")
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name in "xy"]
    graph = helper.make_graph([node], "twice", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("tinyort", 1)], ir_version=8), tree.root / "build/twice.onnx")
    np.save(tree.root / "build/x.npy", x)
    for provider, kernel in (("cpu", "twice_vectors"), ("cudasim", "twice")):
        model = ("build/twice.onnx", "--ep", provider)
        tree.run("build/tinyort", "run", *model, "--input", "x=build/x.npy", "--save", "build")
        y = tree.root / "build/output_0.npy"
        tree.check(y.exists() and np.array_equal(np.load(y), x + x), f"{provider} computes Twice")
        y.unlink(missing_ok=True)
        plan = tree.run("build/tinyort", "plan", *model, "--json")
        kernels = [found["kernel"] for found in json.loads(plan)["nodes"]] if plan else []
        tree.check(kernels == [kernel], f"{provider} runs Twice by {kernel}, not {kernels}")


def try_with_tests(file):
    """The tests of the command line that the page shows, the sizes of the rooms, and the layers."""

    def try_it(tree):
        sources = [path for path in tree.touched() if path.suffix in (".c", ".h")]
        tree.run("clang-format", "--dry-run", "-Werror", *sources)
        tree.make("build/tinyort", "check-layers")
        tree.run(sys.executable, ".ci/check_sizes.py", ".")
        tree.run(sys.executable, "tests/cli/run.py", "build/tinyort", file, "test_help_fits_a_screen")

    return try_it


# What is added: sections in their order, the most files, and what tries it.
RECIPES = {
    "provider": ([("kernels/README.md", "Adding a provider")], 4, try_with_tests("abacus")),
    "command": ([("runtime/cli/README.md", "Adding a command")], 6, try_with_tests("counting")),
    "operator": ([("ops/README.md", "Adding an operator"), ("kernels/README.md", "Adding a kernel on cpu and cuda")], 8, try_operator),
}


def main():
    source, folder, *make = sys.argv[1:]
    passed = failed = 0
    for name, (sections, most, try_it) in RECIPES.items():
        tree = Tree(Path(source).resolve(), Path(folder).resolve() / name, make)
        for page, title in sections:
            follow(tree, page, title)
        files = tree.touched()
        tree.check(0 < len(files) <= most, f"adding: {name} touches {len(files)} files, at most {most}: {', '.join(map(str, files))}")
        try_it(tree)
        shutil.rmtree(tree.root)
        passed, failed = passed + tree.passed, failed + tree.failed
    print(f"adding: {passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()

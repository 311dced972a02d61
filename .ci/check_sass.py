"""Holds the machine code of CUDA kernels to budgets, shows what the inner loop of each kernel is made of, and, of one kernel, the
loop itself beside its source.

Usage: check_sass.py --budgets TABLE --compiler RELEASE [--only KERNEL | --all] FILE.sass...

A .sass file is what `nvdisasm -g` prints of one source for one architecture; FILE.ptxas beside it is what `ptxas -v` said.
sass.py tells how a loop is found and what is counted; the head of kernels/cuda/sass_budgets.txt, how budgets are written.
The figures are those of one compiler: of another's code the table is shown, and nothing is held to it."""

import argparse
import operator
import os
import re
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import sass

# ---- what is measured ----


class Measured(NamedTuple):
    name: str  # as in the source, without arguments: matmul<__half>
    architecture: str
    kernel: sass.Kernel
    figures: dict
    loop: sass.Loop  # or None


def plain_name(demangled):
    """`void scale<float, 4>(float*)` is scale<float, 4>."""
    depth = 0
    for at, letter in enumerate(demangled):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0 and not demangled.startswith("(anonymous", at):
            demangled = demangled[:at]
            break
    return re.sub(r"^(static )?void ", "", demangled)


def demangle(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, map(plain_name, done.stdout.splitlines())))


def read_files(paths):
    """(kernel, resources) of each kernel in the files."""
    found = []
    for path in paths:
        text = path.read_text()
        kernels, resources = sass.read_kernels(text), sass.read_resources(path.with_suffix(".ptxas").read_text())
        if missing := set(resources) - set(kernels):
            sys.exit(f"check-sass: {path}: no machine code of {', '.join(sorted(missing))}, of which ptxas tells")
        found += [(kernels[name], resources[name]) for name in resources]
    return found


def measure_all(found, budgets):
    names = demangle(sorted({kernel.name for kernel, _ in found}))
    measured = []
    for kernel, resources in found:
        name = names[kernel.name]
        given = facts(budgets, name, kernel.architecture)
        figures, loop = sass.measure(kernel, resources, given.get("threads"), given.get("dynamic shared", 0))
        measured.append(Measured(name, kernel.architecture, kernel, figures, loop))
    return sorted(measured, key=lambda one: (one.name, one.architecture))


# ---- budgets ----

COMPARISONS = {"<=": operator.le, ">=": operator.ge}
FACTS = ("threads", "dynamic shared", "empty")
MAX_EMPTY = 32  # instructions of a kernel that returns at once


class Requirement(NamedTuple):
    figure: str
    sign: str
    number: float

    def __str__(self):
        return f"{self.figure} {self.sign} {self.number:g}"


class Budget(NamedTuple):
    place: str  # file and line
    pattern: str
    architecture: str
    requirements: list

    def covers(self, name, architecture):
        return self.architecture in ("*", architecture) and matches(self.pattern, name)


def matches(pattern, name):
    """A pattern without < means all instances of a template."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.split("<")[0], pattern)


def read_requirement(place, text):
    parts = re.fullmatch(r"(.+?)\s*(<=|>=|=)\s*(\d+(?:\.\d+)?|inf)", text)
    known = sass.KERNEL_FIGURES + sass.LOOP_FIGURES
    if not parts or parts[1] not in (FACTS if parts[2] == "=" else known):
        sys.exit(f"check-sass: {place}: '{text}' is no FIGURE <= NUMBER, FIGURE >= NUMBER or FACT = NUMBER; figures are "
                 f"{', '.join(known)}; facts are {', '.join(FACTS)}")
    return Requirement(parts[1], parts[2], float(parts[3]))


def read_budgets(path):
    """The release of the compiler that the figures are of, and the lines of the table in their order."""
    release, budgets = None, []
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        line, place = line.split("#")[0].strip(), f"{path}:{number}"
        if line.startswith("compiler "):
            release = line.split()[1]
        elif line:
            columns = re.split(r"\s{2,}", line)
            if len(columns) != 3:
                sys.exit(f"check-sass: {place}: expected KERNEL, ARCHITECTURE and REQUIREMENTS, with two blanks or more between them")
            requirements = [read_requirement(place, text.strip()) for text in columns[2].split(",")]
            budgets.append(Budget(place, columns[0], columns[1], requirements))
    if not release or not budgets:
        sys.exit(f"check-sass: {path}: expected a line 'compiler RELEASE' and budgets")
    return release, budgets


def facts(budgets, name, architecture):
    covering = [budget for budget in budgets if budget.covers(name, architecture)]
    return {one.figure: int(one.number) for budget in reversed(covering) for one in budget.requirements if one.sign == "="}


def governing(budgets, one):
    """(budget, requirement) for each figure of a kernel: of the lines that name a figure, the first that covers the kernel."""
    decided = set()
    for budget in budgets:
        if budget.covers(one.name, one.architecture):
            for requirement in budget.requirements:
                if requirement.sign != "=" and (requirement.figure, requirement.sign) not in decided:
                    decided.add((requirement.figure, requirement.sign))
                    yield budget, requirement


def number(figure):
    return f"{figure:.1f}" if isinstance(figure, float) else f"{figure}"


def judge(measured, budgets):
    """What is worse than its budget, as (kernel, sentence); and for each requirement the figures that it decides about."""
    wrong, decided = [], {}
    for one in measured:
        if facts(budgets, one.name, one.architecture).get("empty"):
            if one.figures["instructions"] > MAX_EMPTY:
                wrong.append((one, f"has {one.figures['instructions']} instructions, and is said to be empty"))
            continue
        for budget, requirement in governing(budgets, one):
            figure = one.figures.get(requirement.figure)
            decided.setdefault((budget.place, requirement), []).append(figure)
            if figure is None:
                wrong.append((one, f"has no loop, or no such figure: {requirement} ({budget.place})"))
            elif not COMPARISONS[requirement.sign](round(figure, 1), requirement.number):
                wrong.append((one, f"{requirement.figure} is {number(figure)}, the budget {requirement.sign} {requirement.number:g} "
                                   f"({budget.place})"))
    return wrong, decided


def is_excepted(budgets, one, requirement):
    """True if the line that decides about this figure of a kernel is one of its architecture alone."""
    deciding = next(budget for budget in budgets if budget.covers(one.name, one.architecture)
                    and any((own.figure, own.sign) == (requirement.figure, requirement.sign) for own in budget.requirements))
    return deciding.architecture != "*"


def idle_budgets(budgets, measured, decided):
    """Lines that match no kernel, or decide nothing because lines before them do. A build for few architectures may have exceptions
    for all of them, which leave nothing to a line for the rest."""
    architectures = {one.architecture for one in measured}
    for budget in budgets:
        if budget.architecture != "*" and budget.architecture not in architectures:
            continue
        covered = [one for one in measured if budget.covers(one.name, one.architecture)]
        if not covered:
            yield f"{budget.place}: no kernel is named {budget.pattern}"
            continue
        for requirement in budget.requirements:
            if requirement.sign == "=" or (budget.place, requirement) in decided:
                continue
            if budget.architecture != "*" or not all(is_excepted(budgets, one, requirement) for one in covered):
                yield f"{budget.place}: {requirement} decides nothing: lines before it do"


def tighter(decided):
    """What the table could say today."""
    for (place, requirement), figures in decided.items():
        if None not in figures:
            worst = max(figures) if requirement.sign == "<=" else min(figures)
            if round(worst, 1) != requirement.number:
                yield f"{place}: {requirement} could be {requirement.sign} {round(worst, 1):g}"


# ---- what is shown ----


def by_width(name):
    return lambda figures: "/".join(str(figures[f"{name}.{bits}"]) for bits in sass.WIDTHS[1:])


def of_which(name, better):
    return lambda figures: f"{figures[name]} ({figures[better]})" if figures[name] else "0"


def per_tensor(figures):
    return f"{figures['per tensor']:.1f}" if figures["tensor"] else "-"


LOOP_COLUMNS = [("loop", "loop length"), ("tensor", "tensor"), ("per", per_tensor), ("FFMA", "FFMA"),
                ("LDGSTS (.128)", of_which("LDGSTS", "LDGSTS.128")), ("LDSM (.x4)", of_which("LDSM", "LDSM.x4")),
                ("LDG 16/32/64/128", by_width("LDG")), ("LDS 16/32/64/128", by_width("LDS")), ("STS 16/32/64/128", by_width("STS")),
                ("BAR", "BAR"), ("calls", "calls"), ("div", "divisions")]
KERNEL_COLUMNS = [("regs", "registers"), ("shared", "shared"), ("stack", "stack"), ("spills", "spills"), ("warps", "warps"),
                  ("code", "instructions")]


def cells(one):
    def cell(column):
        value = column(one.figures) if callable(column) else one.figures[column]
        return "-" if value is None else str(value)

    loop = [cell(column) for _, column in LOOP_COLUMNS] if one.loop else ["-"] * len(LOOP_COLUMNS)
    return [one.name, one.architecture] + [cell(column) for _, column in KERNEL_COLUMNS] + loop


def print_table(measured):
    """The first two columns to the left, the rest to the right."""
    rows = [["kernel", "arch"] + [title for title, _ in KERNEL_COLUMNS + LOOP_COLUMNS]] + [cells(one) for one in measured]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        left = [f"{cell:<{width}}" for cell, width in zip(row[:2], widths)]
        print("  ".join(left + [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:])]))


def source_line(source, texts):
    """file:line, and the text there if the file is of this tree."""
    path, number = os.path.relpath(source[0]), source[1]
    if path.startswith(".."):
        return f"{os.path.basename(path)}:{number}"
    if path not in texts:
        texts[path] = Path(path).read_text(errors="replace").splitlines() if os.path.isfile(path) else []
    text = texts[path][number - 1].strip() if number <= len(texts[path]) else ""
    return f"{path}:{number}  {text}"


NOTED = ("tensor", "calls", "divisions", "LDG.8", "LDG.16", "BAR")


def print_code(one):
    """Instructions, each line of source before what was made of it, and what a budget would rather not have behind it."""
    texts, source = {}, None
    labels = {one.kernel.code[at].address: label for label, at in one.kernel.labels.items() if at < len(one.kernel.code)}
    for instruction in one.loop.code:
        if label := labels.get(instruction.address):
            print(f"{label}:")
        if instruction.source and instruction.source != source:
            source = instruction.source
            print(f"// {source_line(source, texts)}")
        note = ", ".join(kind for kind in sass.kinds(one.kernel, instruction) if kind in NOTED)
        text = f"    {instruction.address:05x} {instruction.guard:>5} {instruction.opcode} {instruction.operands}"
        print(f"{text:<100} {note}".rstrip())


def print_loop(one):
    """All that is counted, what the loop is made of, and the loop."""
    print(f"\n{one.name} on {one.architecture}")
    for names in (sass.KERNEL_FIGURES, sass.LOOP_FIGURES):
        print("  " + ", ".join(f"{name} {number(one.figures[name])}" for name in names if one.figures.get(name)))
    if not one.loop:
        print("  no loop")
        return
    opcodes = Counter(instruction.opcode for instruction in one.loop.code)
    print("  " + ", ".join(f"{count} {opcode}" for opcode, count in opcodes.most_common(24)))
    print(f"  the inner loop, {len(one.loop.blocks)} blocks:\n")
    print_code(one)


# ---- the check ----


def report(measured, budgets, whole):
    """Prints what is wrong and what could be tighter; true if nothing is wrong."""
    wrong, decided = judge(measured, budgets)
    idle = list(idle_budgets(budgets, measured, decided)) if whole else []
    for one, sentence in wrong:
        print(f"FAILED: {one.name} on {one.architecture}: {sentence}")
    for sentence in idle:
        print(f"FAILED: {sentence}")
    for sentence in tighter(decided) if whole and not wrong else []:
        print(f"tighten: {sentence}")
    failed = len({(one.name, one.architecture) for one, _ in wrong})
    print(f"cuda-sass: {len(measured) - failed} passed, {failed + len(idle)} failed")
    return not wrong and not idle


def shown(measured, budgets, everything):
    """Kernels whose inner loop has a budget of its own, and those that fail; or all."""
    failing = {(one.name, one.architecture) for one, _ in judge(measured, budgets)[0]}
    loops = [budget for budget in budgets if any(one.figure in sass.LOOP_FIGURES for one in budget.requirements)]
    return [one for one in measured if everything or (one.name, one.architecture) in failing
            or any(budget.covers(one.name, one.architecture) for budget in loops)]


def main(arguments):
    release, budgets = read_budgets(arguments.budgets)
    found = read_files(arguments.files)
    measured = [one for one in measure_all(found, budgets) if not arguments.only or matches(arguments.only, one.name)]
    if not measured:
        sys.exit(f"check-sass: no kernel {arguments.only or ''} in {', '.join(map(str, arguments.files))}")
    print_table(shown(measured, budgets, arguments.all or arguments.only))
    for one in measured if arguments.only else []:
        print_loop(one)
    if arguments.compiler != release:
        print(f"skipped: {arguments.budgets} has the figures of ptxas {release}; this is the code of {arguments.compiler}")
        print("cuda-sass: 0 passed, 0 failed, 1 skipped")
        return True
    return report(measured, budgets, whole=not arguments.only)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="check-sass")
    parser.add_argument("--budgets", required=True)
    parser.add_argument("--compiler", required=True, help="the release of ptxas, 12.9")
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="+", type=Path)
    sys.exit(0 if main(parser.parse_args()) else 1)

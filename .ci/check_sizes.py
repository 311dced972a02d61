"""Measures how long functions and files are, and fails where the tree grows long-winded.

Usage: check_sizes.py ROOT [--longest N | --set-rooms]

Each room has at most the lines of its budget in .ci/rooms.txt, and every source of ROOMS is in a room; --set-rooms writes today's lines.
Half of all functions have at most 10 lines, nine in ten at most 25, none more than 60; no file has more than 600 lines.
Of the sources of C, C++ and CUDA a function is what begins in column 0 with a signature and ends with a brace in column 0
(members of C++ classes are not counted); both lines count. Prints the distribution for each folder, names what is too long.
"""

import ast
import re
import sys
from pathlib import Path

FOLDERS = ["runtime", "loader", "ops", "kernels", "models", "tests", ".ci"]
C_SUFFIXES = {".c", ".h", ".cpp", ".cu", ".cuh"}
ROOMS = ["runtime", "loader", "ops", "kernels"]
ROOM_SUFFIXES = C_SUFFIXES | {".pyi", ".py"}
MARGIN = 0.03  # of the lines that were counted
MEDIAN, NINE_IN_TEN, LONGEST, FILE_LINES = 10, 25, 60, 600


def c_functions(lines):
    """(first line, lines) of each function. The tree's format is relied on: braces of functions stand in column 0."""
    start, opened, comment, directive = None, None, False, False
    for number, line in enumerate(lines, 1):
        if opened:  # a function, or an initializer, a struct and the like
            if line.startswith("}") or (opened == "other" and line.endswith("};")):
                if opened == "function":
                    yield start, number - start + 1
                start, opened = None, None
        elif comment or directive or not line or line.startswith(("#", "/*", "//", "}")):
            start = None
        elif start or not line.startswith(" "):
            start = start or number
            opened, ends = what_begins("\n".join(lines[start - 1 : number]))
            if opened == "function" and ends:
                yield start, number - start + 1
            if ends:
                start, opened = None, None
        comment = not opened and (comment or line.startswith("/*")) and "*/" not in line
        directive = (directive or line.startswith("#")) and line.endswith("\\")


def what_begins(text):
    """What the text of a declaration so far opens: "function", "other" or None; and whether it ends in this line."""
    code = re.sub(r"(?s)/\*.*?\*/|//[^\n]*", "", text).rstrip()
    if re.match(r'(inline )?namespace\b|extern "C" \{', code):
        return None, True
    if code.endswith("{}") and "(" in code:
        return "function", True
    if code.endswith("{"):
        return "other" if re.search(r"=\s*\{$", code) or "(" not in code else "function", False
    return None, code.endswith((";", "}"))


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def measure(root):
    """Every function as (lines, path, first line), and the files as (lines, path)."""
    functions, files = [], []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root)
            if path.suffix not in C_SUFFIXES | {".py", ".sh"} or "build" in name.parts:
                continue
            text = path.read_text()
            lines = text.splitlines()
            found = [] if path.suffix == ".sh" else python_functions(text) if path.suffix == ".py" else c_functions(lines)
            functions += [(length, name, first) for first, length in found]
            files.append((len(lines), name))
    return functions, files


def share(lengths, most):
    """How many in a hundred are no longer."""
    return 100 * sum(length <= most for length in lengths) / len(lengths)


# ---- rooms ---------------------------------------------------------------------------------------------------------------


def read_rooms(path):
    """By room: counted lines, budget, reason."""
    rooms = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        words = line.split(None, 3)
        if words and not line.startswith("#"):
            rooms[words[0]] = (int(words[1]), int(words[2]), words[3] if len(words) > 3 else "")
    return rooms


def count_rooms(root, rooms):
    """Lines by room, that is by the longest folder of the list which holds the file; and the files that none holds."""
    lines, outside = dict.fromkeys(rooms, 0), []
    for folder in ROOMS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root)
            if path.suffix not in ROOM_SUFFIXES or "build" in name.parts:
                continue
            room = next((str(parent) for parent in name.parents if str(parent) in rooms), None)
            if room:
                lines[room] += len(path.read_text().splitlines())
            else:
                outside.append(str(name))
    return lines, outside


def check_rooms(root):
    """What is wrong with the rooms; prints the table."""
    rooms = read_rooms(root / ".ci/rooms.txt")
    lines, outside = count_rooms(root, rooms)
    wrong = ["%s: in no room of .ci/rooms.txt" % name for name in outside]
    if rooms:
        print("%-24s %8s %8s %8s" % ("room", "lines", "budget", "left"))
    for room, (counted, budget, reason) in rooms.items():
        print("%-24s %8d %8d %8d  %s" % (room, lines[room], budget, budget - lines[room], reason))
        if lines[room] > budget:
            wrong.append("%s: %d lines, its budget is %d: remove something, or raise it in .ci/rooms.txt with a reason" % (room, lines[room], budget))
        if budget > counted * (1 + MARGIN) and not reason:
            wrong.append("%s: a budget of %d for %d lines wants a reason in .ci/rooms.txt" % (room, budget, counted))
        if not lines[room]:
            wrong.append("%s: a room without a source" % room)
    if rooms:
        print("%-24s %8d %8d" % ("all", sum(lines.values()), sum(budget for _, budget, _ in rooms.values())))
    return wrong


def set_rooms(root):
    """Writes today's lines, and budgets without the reasons of before."""
    path = root / ".ci/rooms.txt"
    rooms = read_rooms(path)
    lines, _ = count_rooms(root, rooms)
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    rows = ["%-22s %7d %7d" % (room, lines[room], int(lines[room] * (1 + MARGIN))) for room in rooms]
    path.write_text("\n".join(head + rows) + "\n")


# ---- all -----------------------------------------------------------------------------------------------------------------


def row(title, lengths):
    lengths = sorted(lengths)
    return "%-9s %9d %8d %9.0f %%  %9.0f %% %8d" % (
        title, len(lengths), lengths[len(lengths) // 2], share(lengths, MEDIAN), share(lengths, NINE_IN_TEN), lengths[-1])


def main(root, longest):
    functions, files = measure(Path(root))
    if not functions:
        sys.exit("check-sizes: no sources under %s" % root)
    print("folder    functions   median   up to %d   up to %d  longest" % (MEDIAN, NINE_IN_TEN))
    for folder in FOLDERS:
        lengths = [length for length, path, _ in functions if path.parts[0] == folder]
        if lengths:
            print(row(folder, lengths))
    lengths = [length for length, _, _ in functions]
    print(row("all", lengths))
    for length, path, first in sorted(functions, reverse=True)[:longest]:
        print("%4d lines: %s:%d" % (length, path, first))

    wrong = check_rooms(Path(root))
    wrong += ["%s:%d: a function of %d lines, more than %d" % (path, first, length, LONGEST)
             for length, path, first in functions if length > LONGEST]
    wrong += ["%s: %d lines, more than %d" % (path, count, FILE_LINES) for count, path in files if count > FILE_LINES]
    if share(lengths, MEDIAN) < 50:
        wrong.append("more than half of all functions are longer than %d lines" % MEDIAN)
    if share(lengths, NINE_IN_TEN) < 90:
        wrong.append("more than a tenth of all functions are longer than %d lines" % NINE_IN_TEN)
    for text in wrong:
        print(text)
    print("sizes: %d passed, %d failed" % (max(len(files) - len(wrong), 0), len(wrong)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if "--set-rooms" in arguments:
        sys.exit(set_rooms(Path(arguments[0])))
    longest = int(arguments.pop()) if "--longest" in arguments else 0
    main(arguments[0], longest)

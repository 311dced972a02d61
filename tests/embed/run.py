"""Compiled models on emulated boards: whether they give the results of --ep firmware, and what they take.

Usage: run.py TINYORT MODELS WORK [--only NAME,...] [--target NAME,...] [--option=-O2,...] [--functions] [--json], from the root of the tree.
MODELS is the folder that models.py has written, WORK a folder for programs. The columns of the table, in bytes:
  code          functions and tables of NAME.c                   lib           what they pull in of libc, libm and libgcc
  weights       constant arrays of NAME_weights.c                arena         NAME_ARENA_BYTES
  stack         deepest stack below the call of NAME_run         instructions  of one call
  equal         `bits`: the outputs have the bits of --ep firmware
A model that `tinyort compile` refuses has a row with the reason. --functions adds the functions that instructions are spent in.
"""

import argparse
import json
import os
import re
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx

import boards
import models

OPTIONS = ("-O2", "-Os")
REFUSED = {"lstm_dyn"}  # models that do not compile: its LSTM quantizes during the run. The refusal of another one is a failure.
TEXT_COLUMNS = {"model": 26, "target": 10, "option": 6}  # name and width
NUMBER_COLUMNS = {"code": 6, "lib": 5, "weights": 8, "arena": 7, "stack": 6, "instructions": 13}
DIGITS = ("digits", Path("models/digits.onnx"), {"image": (1, 1, 8, 8)})
EXAMPLE = Path("models/digits-cortex-m4")
OTHER_MODEL = "ds_cnn_int8io"


class Model:
    def __init__(self, name, path, shapes):
        self.name, self.path, self.shapes = name, path, shapes
        graph = onnx.load(path).graph
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        for port in graph.input:
            for dim, size in zip(port.type.tensor_type.shape.dim, shapes.get(port.name, ())):
                dim.dim_value = size
        self.values = [(port.name, models.sample(port, rng)) for port in graph.input]


# ---- the table --------------------------------------------------------------------------------------------------------


class Report:
    """Rows as they come: as lines of a table, or together as JSON."""

    def __init__(self, as_json):
        self.rows, self.as_json = [], as_json
        self.passed = self.failed = self.skipped = 0
        self.line({name: name for name in (*TEXT_COLUMNS, *NUMBER_COLUMNS, "equal")})

    def line(self, row):
        if self.as_json:
            return
        texts = [f"{row.get(name, '-'):<{width}}" for name, width in TEXT_COLUMNS.items()]
        numbers = [f"{row.get(name, '-'):>{width}}" for name, width in NUMBER_COLUMNS.items()]
        print("  ".join([*texts, *numbers, row["equal"]]), flush=True)

    def add(self, row):
        self.rows.append(row)
        self.passed += row["passed"] is True
        self.failed += row["passed"] is False
        self.line(row)

    def refuse(self, name, targets, reason):
        wanted = name not in REFUSED
        kinds = dict.fromkeys(re.findall(r"firmware: \w+ ([^;]+)", reason))  # the same reason may be that of many nodes
        short = "; ".join(kinds).replace("firmware has no kernel", "no kernel") or reason
        self.rows.append({"model": name, "targets": targets, "refused": reason, "passed": False if wanted else None})
        self.failed += wanted
        self.skipped += not wanted
        if not self.as_json:
            print(f"{name:<{TEXT_COLUMNS['model']}}  {'FAILED: ' if wanted else ''}refused for {', '.join(targets)}: {short}", flush=True)

    def skip(self, name, lack):
        self.skipped += 1
        print(f"skipped: {name} ({lack} is not installed: make setup-embed)", file=sys.stderr if self.as_json else sys.stdout)

    def end(self):
        if self.as_json:
            print(json.dumps(self.rows, indent=1))
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        print(f"embed: {self.passed} passed, {self.failed} failed{skipped}", file=sys.stderr if self.as_json else sys.stdout)
        sys.exit(1 if self.failed or not self.passed else 0)


def print_functions(functions):
    total = sum(functions.values())
    for name, count in sorted(functions.items(), key=lambda item: -item[1]):
        if count * 100 >= total:
            print(f"    {count:13d}  {100 * count / total:5.1f} %  {name}")


# ---- one model --------------------------------------------------------------------------------------------------------


def measure(model, target, option, generated, work, expected, plugins, told):
    """A row of the table; told: by `tinyort compile --json`."""
    folder = work / f"{model.name}{option}" / target.name
    row = {"model": model.name, "target": target.name, "option": option}
    try:
        boards.build(target, option, generated, model.name, folder)
        found = boards.sizes(folder, model.name)
        stack, functions = boards.execute(target, folder, model.values, plugins[target.emulator[0]])
        row |= {"arena": told["arena_bytes"], "code": found["code"], "weights": found["weights"], "stack": stack, "instructions": sum(functions.values()), "functions": functions}
        if target.start:  # a static program of Linux has all that the C library's own start needs
            row["lib"] = found["lib"]
        boards.compare(boards.outputs(folder, expected), expected)
        whole = target.without_floats and model.name.endswith("io") and not told["float_steps"]
        floats = boards.float_routines(target, folder, model.name) if whole else []
        row["equal"] = f"FAILED: no step computes with floats, but the code calls {', '.join(floats)}" if floats else "bits"
        said = told["stack_bytes"]
        if not stack <= said <= 4 * stack + 256:
            row["equal"] = f"FAILED: the header says {said} bytes of stack, the board used {stack}"
    except boards.Failure as failure:
        row["equal"] = f"FAILED: {failure}"
    row["passed"] = not row["equal"].startswith("FAILED")
    return row


def start_model(report, pool, tinyort, model, targets, options, work, plugins, more):
    """Compiles the model for each target, with `more` options, and starts what measures it; returns its jobs."""
    jobs, refusals = [], {}
    for target in targets:
        generated = work / model.name / target.name
        try:
            told = boards.compile_model(tinyort, model.path, model.shapes, target, generated, *more)
            expected = boards.expected_outputs(tinyort, model.path, model.values, target, work / model.name / "host")
        except boards.Refusal as refusal:
            refusals.setdefault(str(refusal), []).append(target.name)
        except boards.Failure as failure:
            report.add({"model": model.name, "target": target.name, "equal": f"FAILED: {failure}", "passed": False})
        else:
            jobs += [pool.submit(measure, model, target, option, generated, work, expected, plugins, told) for option in options]
    for reason, names in refusals.items():
        report.refuse(model.name, ["all targets"] if len(names) == len(targets) else names, reason)
    return jobs


def choose(words, known, what):
    """The names in a list with commas; all of them for None."""
    chosen = words.split(",") if words else known
    unknown = [name for name in chosen if name not in known]
    if unknown:
        sys.exit(f"run.py: no {what} {', '.join(unknown)}; there are {', '.join(known)}")
    return chosen


def check_models(report, tinyort, arguments, targets, options):
    known = [DIGITS] + [(name, arguments.models / f"{name}.onnx", {}) for name in models.NAMES]
    chosen = choose(arguments.only, [name for name, _, _ in known], "model")
    plugins = boards.build_plugins(os.environ.get("CC", "cc"), targets, arguments.work)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for model in (Model(*row) for row in known if row[0] in chosen):
            more = ["--bands"] if arguments.bands else []
            jobs = start_model(report, pool, tinyort, model, targets, options, arguments.work, plugins, more)
            for row in (job.result() for job in jobs):
                report.add(row)
                if arguments.functions and not arguments.json:
                    print_functions(row.get("functions", {}))
            if jobs and model.name in REFUSED:
                print(f"{model.name} compiles now: take it out of REFUSED in tests/embed/run.py", file=sys.stderr)


# ---- other compilers --------------------------------------------------------------------------------------------------

# What a compiler sees that has the processor's intrinsics, and nothing of GCC; GCC itself does not know the pragma of others.
OTHER = '#pragma GCC diagnostic ignored "-Wunknown-pragmas"\n#undef __GNUC__\n'


def check_other_compiler(report, tinyort, arguments, target):
    """A model of 8 bits without what is in GCC's own words: assembly, attributes."""
    name, work = OTHER_MODEL, arguments.work / "other"
    model = Model(name, arguments.models / f"{name}.onnx", {})
    plugins = boards.build_plugins(os.environ.get("CC", "cc"), [target], work)
    told = boards.compile_model(tinyort, model.path, {}, target, work / name)
    expected = boards.expected_outputs(tinyort, model.path, model.values, target, work / "host")
    for source in (work / name / f"{name}.c", work / name / f"{name}_weights.c"):
        source.write_text(OTHER + source.read_text())
    row = measure(model, target, "-O2", work / name, work, expected, plugins, told)
    report.add(row | {"model": f"{name}, other C"})


# ---- the example ------------------------------------------------------------------------------------------------------


def check_example(report, tinyort, work):
    """`make run` of the example prints what its page shows."""
    block = re.search(r"^```\n\$ make run\n(.*?)^```$", (EXAMPLE / "README.md").read_text(), re.M | re.S)[1]
    shown = [line for line in block.splitlines() if not line.startswith("placement: ")]  # tinyort's, on the standard error
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS")}
    words = ["make", "--no-print-directory", "-C", EXAMPLE, f"TINYORT={tinyort}", f"BUILD={work / 'example'}", "run"]
    done = boards.run(*words, env=environment)
    same = done.returncode == 0 and done.stdout.splitlines() == shown
    told = "as its page shows" if same else f"FAILED: other than its page shows: {done.stdout} {done.stderr[:600]}"
    report.add({"model": str(EXAMPLE), "target": "cortex-m4", "option": "-O2", "equal": told, "passed": same})


def main():
    parser = argparse.ArgumentParser()
    for name in ("tinyort", "models", "work"):
        parser.add_argument(name, type=lambda path: Path(path).resolve())
    parser.add_argument("--only")
    parser.add_argument("--target")
    parser.add_argument("--option", default=",".join(OPTIONS))
    parser.add_argument("--bands", action="store_true")
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report, targets = Report(arguments.json), []
    for target in map(boards.TARGETS.get, choose(arguments.target, list(boards.TARGETS), "target")):
        lack = boards.missing(target)
        if lack:
            report.skip(target.name, lack)
        else:
            targets.append(target)
    check_models(report, arguments.tinyort, arguments, targets, arguments.option.split(","))
    cortex_m4 = boards.TARGETS["cortex-m4"]
    if arguments.only in (None, OTHER_MODEL) and not arguments.bands and cortex_m4 in targets:
        check_other_compiler(report, arguments.tinyort, arguments, cortex_m4)
    if not arguments.only and not arguments.bands and cortex_m4 in targets:
        check_example(report, arguments.tinyort, arguments.work)
    report.end()


if __name__ == "__main__":
    main()

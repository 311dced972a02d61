"""Rules for the C that `tinyort compile` prints: MISRA C 2012 as cppcheck's addon checks it, and a header that C and C++ take.

Usage: misra.py TINYORT [--all] [FOLDER], from the root of the tree. A few models are compiled for several targets, with and without bands, integers
at the ports and weights apart; --all: models of many operators, which takes minutes. A violation of a rule that kernels/firmware/MISRA.md has no row
for is a failure, and, of all models, a row that nothing violates. FOLDER: where the findings are written, a line each; none by default.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bands
import bytes as forms
import families
import integers
import numpy as np
import products
import rows as features
import run as firmware
import trees

PAGE = Path("kernels/firmware/MISRA.md")
CPPCHECK = "Cppcheck 2.10"  # others know other rules
FAMILIES = (families.network, families.moves, families.places, families.maps, families.pairs, families.reductions, families.recurrent, families.queries, families.images, families.scales)
WHOLE = (integers.chosen, integers.means, integers.resized, integers.normalized, integers.transposed)
BROKEN = ("syntaxError", "internalError", "unknownMacro", "preprocessorErrorDirective", "internalAstError")  # what cppcheck itself finds is another matter
C = ("-std=c99", "-std=c11")
CPP = ("-std=c++11", "-std=c++17", "-std=c++20")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")
MAIN = """\
#include "net.h"

#include <cstdio>
#include <cstring>

namespace {
alignas(NET_ARENA_ALIGN) unsigned char arena[NET_ARENA_BYTES];
NET_IN0_TYPE input[NET_IN0_SIZE];
NET_OUT0_TYPE whole[NET_OUT0_SIZE], stepped[NET_OUT0_SIZE];
const char *const names[] = {NET_STEP_NAMES};
} // namespace

int main() {
    for (int i = 0; i < NET_IN0_SIZE; i++) {
        input[i] = net_in0_quantize(static_cast<float>(i % 7 - 3));
    }
    int wrong = net_run(input, whole, arena) != NET_OK;
    net_state state{};
    state.in0 = input;
    state.out0 = stepped;
    state.arena_bytes = sizeof arena;
    int next = 1;
    while (next > 0) {
        next = net_step(&state, arena);
    }
    wrong += next != NET_OK || std::memcmp(whole, stepped, sizeof whole) != 0;
    wrong += sizeof names / sizeof names[0] != NET_STEPS || names[0][0] == '\\0';
    std::printf("%g\\n", static_cast<double>(net_out0_dequantize(whole[0])));
    return wrong;
}
"""


def few_models(folder):
    """Rows of a model, a target and options."""
    network = products.Network(folder, "product", np.uint8, 1).path
    return [(network, "cortex-m0plus", ("--io", "integer", "--weights", "bin")), (network, "cortex-m4", ("--io", "integer", "--bands"))]


def all_models(folder):
    """Rows that together print most of kernels/firmware/code."""
    rows = [(make(folder / f"{make.__name__}.onnx"), "generic", ()) for make in FAMILIES]
    for make in WHOLE:
        form = integers.Form(np.int8, 1)
        form.save(make.__name__, integers.SHAPE, make(form, "x"), folder)
        rows.append((folder / f"{make.__name__}.onnx", "generic", ()))
    rows += few_models(folder)
    for make in (trees.random_forest_three, trees.members, features.logistic_three, features.probable, features.prepared):
        rows.append((make(folder / f"{make.__name__}.onnx")[0], "cortex-m4", ()))
    for seed, make in enumerate((forms.convolutions, forms.depthwise, forms.elements)):
        rows += [(make(seed, np.int8).save(folder), target, ()) for target in ("cortex-m4", "cortex-m55")]
    return rows + [(bands.separable(np.int8).save(folder), target, ("--bands",)) for target in ("generic", "cortex-m55")]


def deviations():
    """Rules that the page has rows for."""
    return re.findall(r"^\| ([\d.]+(?:, [\d.]+)*) \|", PAGE.read_text(), re.M)


def findings(folder):
    """Lines "RULE FILE:LINE: SOURCE"."""
    words = ["cppcheck", "--addon=misra", "--std=c99", "--quiet", "--template={id} {file}:{line}"]  # without -D, it looks at the branches of all processors
    done = subprocess.run([*words, *(path.name for path in sorted(folder.glob("*.c")))], cwd=folder, capture_output=True, text=True, timeout=600)
    told = []
    for rule, name, line in re.findall(r"^misra-c2012-([\d.]+) (\S+):(\d+)$", done.stderr, re.M):
        told.append(f"{rule} {folder.name}/{name}:{line}: {(folder / name).read_text().splitlines()[int(line) - 1].strip()}")
    strange = [line for line in done.stderr.splitlines() if not re.match(r"\w[\w.-]* \S+:\d+$", line) or line.split()[0] in BROKEN]
    return told, strange + ([f"status {done.returncode}: {done.stdout}"] if done.returncode else [])


def check_rules(tally, tinyort, folder, full, report):
    version = firmware.run("cppcheck", "--version").stdout.strip()
    if version != CPPCHECK:
        tally.skip(f"MISRA C 2012 ({version}, the page is about {CPPCHECK})")
        return
    folders = []
    for number, (model, target, options) in enumerate((all_models if full else few_models)(folder)):
        folders.append(folder / f"{number}_{model.stem}_{target}")
        done = firmware.run(tinyort, "compile", model, "-o", folders[-1], "--name", "net", "--target", target, *options)
        tally.check(done.returncode == 0, f"compile {model.stem} for {target} {options}: {done.stderr}")
    known, counts, lines = {rule for row in deviations() for rule in row.split(", ")}, Counter(), []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for own, (told, strange) in zip(folders, pool.map(findings, folders), strict=True):
            tally.check(told and not strange, f"cppcheck of {own.name}: {strange}")
            lines += told
            counts.update(line.split()[0] for line in told)
            new = [line for line in told if line.split()[0] not in known]
            tally.check(not new, f"{PAGE} has no row for {len(new)} of {len(told)} findings: " + "; ".join(new[:20]))
    for rule in known if full else ():
        tally.check(rule in counts, f"{PAGE} has a row for {rule}, which nothing violates")
    if report:
        report.mkdir(parents=True, exist_ok=True)
        (report / "misra.txt").write_text("\n".join(lines) + "\n")


def check_header(tally, tinyort, folder):
    """The header by each compiler as C and C++; a program of C++ that links with the object of C."""
    model, out = products.Network(folder, "header", np.int8, 1).path, folder / "header"
    done = firmware.run(tinyort, "compile", model, "-o", out, "--name", "net", "--io", "integer")
    tally.check(done.returncode == 0, f"compile for C++: {done.stderr}")
    (out / "only.c").write_text('#include "net.h"\nint used(void);\nint used(void) {\n    return net_in0_quantize(0.0f);\n}\n')
    (out / "main.cpp").write_text(MAIN)
    for c, cpp in (("gcc", "g++"), ("clang", "clang++")):
        for standard in C:
            done = firmware.run(c, standard, *WARNINGS, "-c", "only.c", "-o", "only.o", cwd=out)
            tally.check(done.returncode == 0, f"the header by {c} {standard}: {done.stderr[:600]}")
        objects = [firmware.run(c, *C[:1], *WARNINGS, "-O1", "-ffp-contract=off", "-c", f"{name}.c", cwd=out) for name in ("net", "net_weights")]
        tally.check(all(done.returncode == 0 for done in objects), f"the model by {c}: {objects}")
        for standard in CPP:
            done = firmware.run(cpp, standard, *WARNINGS, "main.cpp", "net.o", "net_weights.o", "-lm", "-o", "program", cwd=out)
            tally.check(done.returncode == 0, f"a program of {cpp} {standard}: {done.stderr[:600]}")
            done = firmware.run(out / "program", cwd=out)
            tally.check(done.returncode == 0, f"a program of {cpp} {standard}: status {done.returncode}")


def main():
    tally, tinyort = firmware.Tally(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        check_header(tally, tinyort, Path(folder))
        words = [word for word in sys.argv[2:] if word != "--all"]
        check_rules(tally, tinyort, Path(folder), "--all" in sys.argv, Path(words[0]) if words else None)
    print(f"firmware-misra: {tally.passed} passed, {tally.failed} failed{f', {tally.skipped} skipped' if tally.skipped else ''}")
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()

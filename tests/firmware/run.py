"""Tests of `tinyort compile`: what it writes is compiled by gcc and clang without a warning, gives the bits of --ep firmware, and needs no library.

Usage: run.py TINYORT, from the root of the tree. Works on models/digits.onnx and on small models made here. Digits runs on emulated boards
too, where there are tools for them; tests/embed has more of both.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "embed"))
import boards  # noqa: E402
from families import MODELS, floats, save_model  # noqa: E402

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
NEEDED = {"memcpy", "memset", "memmove", "sqrtf", "sqrt", "floorf", "ceilf", "fmaf", "fmodf", "floor", "_GLOBAL_OFFSET_TABLE_"}  # all that a compiled model may call
FUSES = Path("/proc/cpuinfo").exists() and " fma " in Path("/proc/cpuinfo").read_text()  # x86-64 with a fused multiply-add
CONTRACTING = ("gcc", "-O3", "-std=gnu99", "-mfma") if FUSES else ("gcc", "-O0")  # GNU C makes one operation of a * b + c, where it may
BUILDS = [("gcc", "-O2"), CONTRACTING, ("clang", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")]
TARGETS = ("generic", "cortex-m4")  # whose loops differ in all that boards with other instructions differ in
BOARDS = ("cortex-m4", "riscv32", "cortex-a53")


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0

    def check(self, condition, text):
        self.passed += bool(condition)
        self.failed += not condition
        if not condition:
            print(f"FAILED {text}")

    def skip(self, text):
        self.skipped += 1
        print(f"skipped: {text}")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **options)


def inputs_of(path, shapes):
    rng = np.random.default_rng(4)
    graph = onnx.load(path).graph
    values = []
    for port in graph.input:
        kind = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        shape = shapes.get(port.name, [dim.dim_value for dim in port.type.tensor_type.shape.dim])
        values.append((port.name, (rng.standard_normal(shape) * (1 if kind == np.float32 else 50)).astype(kind)))
    return values


def expected_of(tally, tinyort, model, target, folder, values):
    """What --ep firmware gives for a target, every node of it; near to what the cpu's plain loops give."""
    words = []
    for name, value in values:
        np.save(folder / f"{name}.npy", value)
        words += ["--input", f"{name}={folder / name}.npy"]
    results = []
    for chain in (f"firmware:target={target}", "cpu:isa=plain"):
        done = run(tinyort, "run", model, "--ep", chain, *words, "--save", folder / chain)
        tally.check(done.returncode == 0, f"{model.name} on {chain}: {done.stderr}")
        results.append([np.load(path) for path in sorted((folder / chain).glob("output_*.npy"), key=lambda path: int(path.stem.split("_")[1]))])
    for own, other in zip(*results):
        tally.check(np.allclose(own, other, rtol=1e-4, atol=1e-5, equal_nan=True), f"{model.name}: an output of firmware of shape {own.shape} is away from cpu")
    return results[0]


def check_build(tally, folder, name, build, raw, expected):
    compiler, *flags = build
    where = f"{name} by {' '.join(build)}"
    made = [folder / f"{part}.c" for part in (f"{name}_main", name, f"{name}_weights")]
    done = run(compiler, *STRICT, *flags, "-o", folder / "program", *made, "-lm")
    tally.check(done.returncode == 0 and not done.stderr, f"{where}: {done.stderr[:600]}")
    done = run(folder / "program", *raw, cwd=folder)
    tally.check(done.returncode == 0, f"{where}: status {done.returncode}: {done.stderr[:600]}")
    for i, value in enumerate(expected):
        path = folder / f"output_{i}.raw"
        tally.check(path.exists() and path.read_bytes() == value.tobytes(), f"{where}: output {i} has other bits than --ep firmware")
        path.unlink(missing_ok=True)


def check_symbols(tally, folder, name):
    for part in (name, f"{name}_weights"):
        run("gcc", *STRICT, "-O2", "-c", folder / f"{part}.c", "-o", folder / f"{part}.o")
        lines = [line.split() for line in run("nm", folder / f"{part}.o").stdout.splitlines()]
        foreign = {line[-1] for line in lines if line[-2] == "U"} - NEEDED
        tally.check((lines or part.endswith("_weights")) and all(symbol.startswith((f"{name}_w", f"{name}_p")) for symbol in foreign), f"{part}.o calls {sorted(foreign)}")
        changing = [line for line in lines if line[-2] in "BbDdC"]
        tally.check(not changing, f"{part}.o has variables: {changing}")


def check_board(tally, target, generated, name, folder, values, expected):
    lack = boards.missing(target)
    if lack:
        tally.skip(f"{name} on {target.name} ({lack} is not installed: make setup-embed)")
        return
    try:
        boards.build(target, "-O2", generated, name, folder)
        boards.execute(target, folder, values)
        boards.compare(boards.outputs(folder, expected), expected)
        failure = ""
    except boards.Failure as error:
        failure = str(error)
    tally.check(not failure, f"{name} on {target.name}: {failure}")


def check_make(tally, target, out, name, raw, expected):
    """`make run` builds for the target, and runs on this machine or on the board that qemu emulates."""
    lack = None if target == "generic" else boards.missing(boards.TARGETS.get(target, boards.TARGETS["cortex-m4"]))
    if lack:
        tally.skip(f"make run of {name} for {target} ({lack} is not installed: make setup-embed)")
        return
    (out / "output_0.raw").unlink(missing_ok=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS")}
    files = " ".join(os.path.relpath(out / path, out) for path in raw)  # newlib's start takes 255 characters
    done = run("make", "-C", out, "run", f"ARGS={files}", env=environment)
    same = done.returncode == 0 and (out / "output_0.raw").read_bytes() == expected[0].tobytes()
    tally.check(same and "warning" not in done.stderr, f"make run of {name} for {target}: {done.stdout}{done.stderr}")


def check_makes(tally, tinyort, folder):
    """The digits on every target with a board; a program without its files says so."""
    model, shapes = Path("models/digits.onnx"), {"image": (1, 1, 8, 8)}
    for target in PROCESSORS:
        out, values = folder / "make" / target, inputs_of(model, shapes)
        done = run(tinyort, "compile", model, "-o", out, "--main", "--target", target, "--shape", "image=1x1x8x8")
        tally.check(done.returncode == 0, f"compile digits for {target}: {done.stderr}")
        (out / "image.raw").write_bytes(values[0][1].tobytes())
        check_make(tally, target, out, "digits", ["image.raw"], expected_of(tally, tinyort, model, target, out, values))
    done = run("make", "-C", folder / "generic" / "digits" / "out", "run")
    tally.check(done.returncode == 2 and "digits_main: expected 1 files, got 0" in done.stderr, f"make run without files: {done.stderr}")


def check_model(tally, tinyort, model, target, shapes, folder):
    name, out = model.stem, folder / "out"
    fixed = [word for key, shape in shapes.items() for word in ("--shape", f"{key}={'x'.join(map(str, shape))}")]
    done = run(tinyort, "compile", model, "-o", out, "--main", "--target", target, *fixed)
    tally.check(done.returncode == 0, f"compile {name} for {target}: {done.stderr}")
    values = inputs_of(model, shapes)
    expected = expected_of(tally, tinyort, model, target, folder, values)
    raw = []
    for key, value in values:
        raw.append(folder / f"{key}.raw")
        raw[-1].write_bytes(value.tobytes())
    for build in BUILDS:
        if shutil.which(build[0]):
            check_build(tally, out, name, build, raw, expected)
        else:
            tally.skip(f"{name} by {build[0]} (it is not installed)")
    check_symbols(tally, out, name)
    if name == "digits":
        for board in map(boards.TARGETS.get, BOARDS):
            check_board(tally, board, out, name, folder / board.name, values, expected)
    check_make(tally, target, out, name, raw, expected)


def check_apart(tally, tinyort, model, shapes, folder):
    """--weights bin: the same bits with the weights as a file, whose address the caller gives."""
    name, out, values = model.stem, folder / "apart" / model.stem, inputs_of(model, shapes)
    fixed = [word for key, shape in shapes.items() for word in ("--shape", f"{key}={'x'.join(map(str, shape))}")]
    done = run(tinyort, "compile", model, "-o", out, "--main", "--weights", "bin", *fixed)
    tally.check(done.returncode == 0, f"compile {name} with --weights bin: {done.stderr}")
    raw = []
    for key, value in values:
        raw.append(f"{key}.raw")
        (out / raw[-1]).write_bytes(value.tobytes())
    expected = expected_of(tally, tinyort, model, "generic", out, values)
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = run("make", "-C", out, "run", f"ARGS={' '.join(raw)}", "CFLAGS=-O1 -fsanitize=address,undefined -fno-sanitize-recover=all -Werror", env=environment)
    same = done.returncode == 0 and all((out / f"output_{i}.raw").read_bytes() == value.tobytes() for i, value in enumerate(expected))
    tally.check(same, f"make run of {name} with --weights bin: {done.stdout}{done.stderr}")
    header = (out / f"{name}.h").read_text()
    size = (out / f"{name}_weights.bin").stat().st_size
    tally.check(f"WEIGHTS_BYTES {size} " in header and not (out / f"{name}_weights.c").exists(), f"{name} with --weights bin: the header tells another size than {size}: {header}")


def check_names(tally):
    """Any two headers of code/ may meet in one model, so no name is in two of them, but for the forms of one loop, of which a target has one."""
    homes = {}
    for header in sorted(Path("kernels/firmware/code").glob("*.h")):
        family = re.sub("_(dsp|mve|plain|whole)$", "", header.stem)
        for name in re.findall(r"^static .*?\b(tinyort_\w+)\(", header.read_text(), re.M):
            homes.setdefault(name, set()).add(family)
    for name, families in homes.items():
        tally.check(len(families) == 1, f"{name} is a function of {' and '.join(sorted(families))}")
    tally.check(len(homes) > 100, f"kernels/firmware/code has {len(homes)} functions")


def check_functions(tally, folder):
    done = run("gcc", *STRICT, "-O2", "-Wno-unused-function", "-ffp-contract=off", "-I.", "tests/firmware/functions.c", "-o", folder / "functions", "-lm")
    tally.check(done.returncode == 0, f"tests/firmware/functions.c: {done.stderr[:600]}")
    done = run(folder / "functions")
    tally.check(done.returncode == 0, f"functions of floats: {done.stdout}")
    done = run("gcc", *STRICT, "-O2", "-ffp-contract=off", "-I.", "tests/firmware/whole.c", "-o", folder / "whole", "-lm")
    tally.check(done.returncode == 0, f"tests/firmware/whole.c: {done.stderr[:600]}")
    done = run(folder / "whole")
    tally.check(done.returncode == 0, f"whole numbers: {done.stdout}")


def check_refusal(tally, tinyort, model, status, said, out, *arguments):
    done = run(tinyort, "compile", model, "-o", out, *arguments)
    told = done.stdout + done.stderr
    tally.check(done.returncode == status, f"{model}: status {done.returncode}, expected {status}: {told}")
    tally.check(all(words in told for words in said), f"{model}: says nothing of {said}: {told}")
    tally.check(not out.exists(), f"{model}: something was written")


def check_refusals(tally, tinyort, folder):
    x, y = floats("x", [1, 4]), floats("y", [1, 4])
    out = folder / "refused"
    refused_node = save_model(folder / "refused_node.onnx", [helper.make_node("Relu", ["x"], ["h"], "before"), helper.make_node("Bernoulli", ["h"], ["y"], "dice")], [x], [y])
    check_refusal(tally, tinyort, refused_node, 4, ["dice", "Bernoulli", "(tinyort plan --ep firmware shows all)"], out)
    cube = save_model(folder / "cube.onnx", [helper.make_node("GlobalAveragePool", ["x"], ["y"], "cube")], [floats("x", [1, 1, 2, 2, 2, 2])], [floats("y", None)])
    check_refusal(tally, tinyort, cube, 4, ["cube", "GlobalAveragePool", "spatial axes"], out)
    words = helper.make_tensor_value_info("i", TensorProto.STRING, [4])
    strings = save_model(folder / "strings.onnx", [helper.make_node("Relu", ["x"], ["y"], "relu"), helper.make_node("Flatten", ["i"], ["j"], "flat")], [x, words], [y, helper.make_tensor_value_info("j", TensorProto.STRING, None)])
    check_refusal(tally, tinyort, strings, 4, ["'i'", "string", "C99"], out)
    check_refusal(tally, tinyort, "models/digits.onnx", 2, ["'image'", "--shape"], out)
    check_refusal(tally, tinyort, "models/digits.onnx", 2, ["--input-layout", "nhwc"], out, "--shape", "N=1", "--input-layout", "nhwc")
    check_refusal(tally, tinyort, "models/digits.onnx", 2, ["--name", "9"], out, "--shape", "N=1", "--name", "9x")


PROCESSORS = ("cortex-m0plus", "cortex-m3", "cortex-m7", "cortex-m23", "cortex-m33", "cortex-m55", "riscv32", "rv32imac", "cortex-a53")  # TARGETS are made for all models
OF_TARGETS = {"digits", "network", "products", "line", "windows", "dense", "activations"}  # have loops that differ by target


def check_dump(tally, tinyort, folder):
    """Weights of 4 bits, which firmware takes only folded: --dump shows what the other nodes make, in the bits of the outputs."""
    x, y = floats("x", [1, 4, 6, 6]), floats("y", [1, 4, 6, 6])
    scales = [numpy_helper.from_array(np.asarray(np.float32(0.05)), "s"), numpy_helper.from_array(np.asarray(np.int8(3)), "zero"), numpy_helper.from_array(np.asarray(np.array([0.01, 0.02, 0.03, 0.04], np.float32)), "ws"), helper.make_tensor("wz", TensorProto.INT4, [4], [0] * 4),
              helper.make_tensor("w", TensorProto.INT4, [4, 4, 3, 3], np.random.default_rng(1).integers(-8, 8, 144).tolist())]
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "zero"], ["xq"]), helper.make_node("DequantizeLinear", ["xq", "s", "zero"], ["xd"]),
             helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0), helper.make_node("Conv", ["xd", "wd"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("QuantizeLinear", ["c", "s", "zero"], ["cq"]), helper.make_node("DequantizeLinear", ["cq", "s", "zero"], ["y"])]
    model = save_model(folder / "dumped.onnx", nodes, [x], [y], weights=scales, opset=21)
    values = folder / "values"
    done = run(tinyort, "run", model, "--ep", "firmware", "--random", "1", "--dump", f"all={values}", "--save", folder / "outputs")
    tally.check(done.returncode == 0 and "folded and fused nodes are looked at as they are" in done.stderr, f"--dump: {done.stdout}{done.stderr}")
    tally.check((values / "cq.npy").exists() and (np.load(values / "y.npy") == np.load(folder / "outputs/output_0.npy")).all(), "the values of folded nodes")
    factor = np.float32(0.05) * (np.load(values / "cq.npy").astype(np.float32) - 3)
    tally.check(np.array_equal(factor, np.load(values / "y.npy")), "y is what its bytes say")


def main():
    tally, tinyort = Tally(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = [(Path("models/digits.onnx"), {"image": (1, 1, 8, 8)})]
        models += [(make(folder / f"{make.__name__}.onnx"), {}) for make in MODELS]
        for target in TARGETS:
            for model, shapes in models if target == TARGETS[0] else [row for row in models if row[0].stem in OF_TARGETS]:
                (folder / target / model.stem).mkdir(parents=True)
                check_model(tally, tinyort, model, target, shapes, folder / target / model.stem)
        check_makes(tally, tinyort, folder)
        for model, shapes in models:
            if model.stem in ("digits", "network", "integers", "recurrent"):
                check_apart(tally, tinyort, model, shapes, folder)
        check_names(tally)
        check_functions(tally, folder)
        check_refusals(tally, tinyort, folder)
        check_dump(tally, tinyort, folder)
    print(f"firmware: {tally.passed} passed, {tally.failed} failed" + (f", {tally.skipped} skipped" if tally.skipped else ""))
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()

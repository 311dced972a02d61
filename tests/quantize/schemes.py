"""What the schemes of `tinyort quantize` promise, on the models of run.py.

Usage: schemes.py TINYORT [WORD], from the root of the tree: with WORD those models alone whose name has it.
firmware: values are int8; `tinyort compile` takes the model, with whole numbers in all but the steps that FLOATS names; C of it, by gcc and by clang with sanitizers,
gives the bits of --ep cpu and of --ep firmware. tensorrt: each code is int8 with a zero point of 0, biases are float32, and onnxruntime gives what tinyort gives within
one level of the largest output. The scheme ort is run.py's.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from run import NETS, Case, Failed, run, session

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
BUILDS = (("gcc", "-O2"), ("clang", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"))
FLOATS = {  # operators that stay float32, and the conversions around them
    "words": {"Gather", "QuantizeLinear"},  # rows of a table that is not in 8 bits
    "boxes": {"Concat", "DequantizeLinear"},  # boxes and scores have scales of their own
    "old": {"ReduceSum", "DequantizeLinear", "QuantizeLinear"},  # no 8-bit form
}
REFUSED = {"body": "it has bodies (control flow)"}
JUDGED = 4  # samples


def call(*words, folder):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, cwd=folder)


def check_steps(case, model):
    """Steps that compute with floats are those of FLOATS."""
    done = call(case.tinyort, "compile", model, "--strict-integers", "-o", case.folder / "strict", folder=".")
    expected = FLOATS.get(case.name, set())
    found = set(re.findall(r"\((\w+)\)", done.stderr.partition("with floats: ")[2].partition("\n")[0]))
    if done.returncode != (4 if expected else 0) or found != expected:
        raise Failed(f"steps with floats: {sorted(found)}, expected {sorted(expected)}: {done.stderr.strip()[:300]}")


def check_bits(case, out, ports, expected):
    """The program that `compile --main` wrote, by each compiler, on the samples that made no ranges."""
    for compiler, *flags in BUILDS:
        if not shutil.which(compiler):
            print(f"skipped: {case.name} by {compiler} (it is not installed)")
            continue
        done = call(compiler, *STRICT, *flags, "-o", "program", "net_main.c", "net.c", "net_weights.c", "-lm", folder=out)
        if done.returncode or done.stderr:
            raise Failed(f"{compiler}: {done.stderr[:600]}")
        for i, sample in enumerate(case.samples[32 : 32 + JUDGED]):
            for port in ports:
                (out / f"{port}.raw").write_bytes(sample[port].tobytes())
            done = call(out / "program", *(f"{port}.raw" for port in ports), folder=out)
            if done.returncode:
                raise Failed(f"{compiler}: status {done.returncode}: {done.stderr[:600]}")
            for k, value in enumerate(expected[i]):
                if (out / f"output_{k}.raw").read_bytes() != value.tobytes():
                    raise Failed(f"{compiler} {' '.join(flags)}: output {k} of sample {i} has other bits than --ep cpu")


def check_firmware(case):
    model, out = case.folder / "firmware.onnx", case.folder / "c"
    is_open = any(dim.dim_param for port in onnx.load(case.model).graph.input for dim in port.type.tensor_type.shape.dim)
    case.quantize(model, "--scheme", "firmware", "--quick", *(["--shape", "N=1"] if is_open else []))
    if any(t.data_type == TensorProto.UINT8 for t in onnx.load(model).graph.initializer):
        raise Failed("a constant is uint8")
    if case.name in REFUSED:
        _, told = run(case.tinyort, "compile", model, "--main", "-o", out, expect=4)
        if REFUSED[case.name] not in told:
            raise Failed(f"refused, but not for {REFUSED[case.name]}: {told}")
        print(f"skipped: {case.name} as C ({REFUSED[case.name]})")
        return
    check_steps(case, model)
    run(case.tinyort, "compile", model, "--name", "net", "--main", "-o", out)
    expected = case.outputs(model, "cpu")
    for own, other in zip(expected, case.outputs(model, "firmware")):
        if any(a.tobytes() != b.tobytes() for a, b in zip(own, other)):
            raise Failed("--ep firmware has other bits than --ep cpu")
    check_bits(case, out, [port.name for port in onnx.load(model).graph.input], expected)


def check_codes(graph):
    """int8 without zero points, and no bias in int32."""
    constants = {t.name: t for t in graph.initializer}
    codes = [node for node in graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")]
    if not codes:
        raise Failed("nothing is in 8 bits")
    for node in codes:
        zero = constants[node.input[2]] if len(node.input) > 2 else None
        if zero is None or zero.data_type != TensorProto.INT8 or numpy_helper.to_array(zero).any():
            raise Failed(f"{node.output[0]}: its zero point is not 0 of int8")
    if any(t.data_type in (TensorProto.UINT8, TensorProto.INT32) for t in graph.initializer):
        raise Failed("a constant is uint8 or int32")


def check_tensorrt(case):
    model = case.folder / "tensorrt.onnx"
    case.quantize(model, "--scheme", "tensorrt", "--quick")
    onnx.checker.check_model(str(model), full_check=True)
    graph = onnx.load(model).graph
    check_codes(graph)
    peer, worst = session(model), 0.0
    for sample, ours in zip(case.samples[32:], case.outputs(model, "cpu")):
        for a, b in zip(peer.run(None, sample), ours):
            worst = max(worst, float(np.abs(a - b).max() / np.abs(a).max()))
    print(f"{case.name}, tensorrt: {100 * worst:.3f} % of the largest output from onnxruntime")
    if worst > 1 / 127:
        raise Failed(f"{100 * worst:.2f} % of the largest output from onnxruntime")


def main(tinyort, word=""):
    passed = failed = 0
    for name in NETS:
        if word not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            case = Case(tinyort, name, folder)
            for check in (check_firmware, check_tensorrt):
                try:
                    check(case)
                    passed += 1
                except Failed as failure:
                    failed += 1
                    print(f"FAILED {name}, {check.__name__}: {failure}")
    print(f"quantize-schemes: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve()), *sys.argv[2:3]))

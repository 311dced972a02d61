"""Runs models with bodies and holds their outputs against the same computed by numpy.

Usage: run.py TINYORT [--chain CHAIN]. Every model runs on cpu, and on the chain that is given too; with folding and without.
Then what must be refused, and how: loops that do not end, bodies that do not fit.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import models
import numpy as np
import onnx

ENDLESS = """
m (float[2] x) => (float[2] y) {
   y = Loop (, , x) <body = b (int64 i, bool c, float[2] v) => (bool k, float[2] w) {
      k = Constant <value = bool {1}> ()
      w = Neg(v)
   }>
}"""

CHANGES = """
m (int64 n, float[1] x) => (float[T,R] y) {
   go = Constant <value = bool {1}> ()
   last, y = Loop (n, go, x) <body = b (int64 i, bool c, float[A] v) => (bool k, float[B] w, float[B] s) {
      k = Identity(c)
      w = Concat <axis = 0> (v, v)
      s = Identity(w)
   }>
}"""

TOO_FEW = """
m (int64 n, float[1] x) => (float[1] y) {
   go = Constant <value = bool {1}> ()
   y = Loop (n, go, x, x) <body = b (int64 i, bool c, float[1] v) => (bool k, float[1] w) {
      k = Identity(c)
      w = Neg(v)
   }>
}"""

TOO_MANY = """
m (float[3,2] x, float[2] v) => (float[2] y, float[N] z) {
   y, z = Scan <num_scan_inputs = 1, body = b (float[2] u, float[2] part) => (float[2] w) { w = Add(u, part) }> (v, x)
}"""

AXES = """
m (float[3,2] x, float[2] v) => (float[2] y, float[N,M] z) {
   y, z = Scan <num_scan_inputs = 1, scan_output_axes = [0, 1],
                body = b (float[2] u, float[2] part) => (float[2] w, float[2] s) { w = Add(u, part) s = Neg(w) }> (v, x)
}"""

DIRECTIONS = """
m (float[3,2] x, float[2] v) => (float[2] y) {
   y = Scan <num_scan_inputs = 1, scan_input_directions = [-1],
             body = b (float[2] u, float[2] part) => (float[2] w) { w = Add(u, part) }> (v, x)
}"""

STATELESS = """
m (float[3,2] x) => (float[2] y) {
   y = Scan <num_scan_inputs = 1, body = b (float[2] u, float[2] part) => (float[2] w) { w = Add(u, part) }> (, x)
}"""

NO_CONDITION = """
m (float[1] x) => (float[1] y) {
   c = Constant <value = bool[0] {}> ()
   y = If (c) <then_branch = t () => (float[1] a) { a = Neg(x) }, else_branch = e () => (float[1] b) { b = Abs(x) }>
}"""

UNKNOWN = """
m (int64 n, float[1] x) => (float[A] y, float[B] z) {
   go = Constant <value = bool {1}> ()
   y, s = Loop (n, go, x) <body = b (int64 i, bool c, float[1] v) => (bool k, float[1] w, t) {
      k = Identity(c)
      w = Neg(v)
      t = Nobody(v)
   }>
   z = Neg(s)
}"""

TWO_INPUTS = """<ir_version: 10, opset_import: ["" : 22, "ai.onnx.preview" : 1]>
m (float[1,1,2,2] q) => (float[1,1,2,2] y) {
   y = ai.onnx.preview.FlexAttention <score_mod = s (float[1,1,2,2] x, float[1] z) => (float[1,1,2,2] w) { w = Add(x, z) }> (q, q, q)
}"""

TYPES = """
m (bool c, float[1] x) => (float[1] y) {
   y = If (c) <then_branch = t () => (float[1] a) { a = Neg(x) },
               else_branch = e () => (int64[1] b) { b = Cast <to = 7> (x) }>
}"""

# What is run, what goes in, the exit status, and words of the message.
REFUSED = {
    "endless": (ENDLESS, {"x": models.floats(2)}, ["--trip-limit", "1000"], 5, ["Loop_0", "1000 trips", "trip_limit"]),
    "changes": (CHANGES, {"n": models.integer(3), "x": models.floats(1)}, [], 5, ["Loop_1", "output 1", "changes in trip 1"]),
    "too_few": (TOO_FEW, {"n": models.integer(3), "x": models.floats(1)}, [], 3, ["Loop_1", "fewer values than the loop carries, 2"]),
    "too_many": (TOO_MANY, {"x": models.floats(3, 2), "v": models.floats(2)}, [], 3, ["Scan_0", "the node has 2 outputs", "its body makes 1"]),
    "axes": (AXES, {"x": models.floats(3, 2), "v": models.floats(2)}, [], 3, ["Scan_0", "scan_output_axes has 2", "each of the 1"]),
    "directions": (DIRECTIONS, {"x": models.floats(3, 2), "v": models.floats(2)}, [], 3, ["Scan_0", "scan_input_directions", "-1"]),
    "batches_too_long": (models.BATCHES, {"lengths": np.array([2, 3]), "s": models.floats(2, 3), "flat": models.floats(12),
                                          "shape": np.array([2, 2, 3])}, [], 5, ["Scan_1", "entry 1 is 3; expected 0 to 2"]),
    "batches_differ": (models.BATCHES, {"lengths": np.array([2, 2]), "s": models.floats(2, 3), "flat": models.floats(18),
                                        "shape": np.array([3, 2, 3])}, [], 5, ["Scan_1", "batches of 2 and 3"]),
    "stateless": (STATELESS, {"x": models.floats(3, 2)}, [], 3, ["Scan_0", "input 0 is missing"]),
    "no_condition": (NO_CONDITION, {"x": models.floats(1)}, [], 3, ["If_1", "cond has 0 elements"]),
    "unknown": (UNKNOWN, {"n": models.integer(3), "x": models.floats(1)}, [], 4, ["Nobody", "NO_OP"]),
    "two_inputs": (TWO_INPUTS, {"q": models.floats(1, 1, 2, 2)}, [], 3, ["FlexAttention", "score_mod has 2 inputs and 1 outputs"]),
    "types": (TYPES, {"c": np.array(True), "x": models.floats(1)}, [], 3, ["If_0", "tensor(float)", "tensor(int64)"]),
}


def run(tinyort, folder, model, inputs, *options):
    """Runs a model; the process, and its outputs in order."""
    folder = Path(folder)
    onnx.save(model, folder / "model.onnx")
    command = [tinyort, "run", str(folder / "model.onnx"), "--save", str(folder / "out"), *options]
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        command += ["--input", f"{name}={folder / name}.npy"]
    process = subprocess.run(command, capture_output=True, text=True)
    outputs = []
    for i, output in enumerate(model.graph.output):
        path = folder / "out" / f"output_{i}.npy"
        outputs.append(np.load(path) if path.exists() else None)
    return process, outputs


def difference(wanted, got):
    """What is wrong with an output; None: nothing."""
    wanted = np.asarray(wanted)
    if got is None:
        return "is missing"
    if wanted.shape != got.shape or wanted.dtype != got.dtype:
        return f"is {got.dtype} {got.shape}, expected {wanted.dtype} {wanted.shape}"
    if not np.allclose(wanted, got, rtol=1e-4, atol=1e-5):
        return f"differs by {np.abs(wanted - got).max()}"
    return None


def check_values(tinyort, name, chain):
    text, compute, inputs = models.CASES[name]
    model = models.model(text)
    wanted = compute(**inputs)
    with tempfile.TemporaryDirectory() as folder:
        process, outputs = run(tinyort, folder, model, inputs, "--ep", chain)
    if process.returncode:
        return [f"{name} on {chain}: {process.stderr.strip()}"]
    problems = [(i, difference(w, g)) for i, (w, g) in enumerate(zip(wanted, outputs))]
    return [f"{name} on {chain}: output {i} {problem}" for i, problem in problems if problem]


def check_refusal(tinyort, name):
    text, inputs, options, status, words = REFUSED[name]
    with tempfile.TemporaryDirectory() as folder:
        process, _ = run(tinyort, folder, models.model(text), inputs, *options)
    if process.returncode != status:
        return [f"{name}: exit status {process.returncode}, expected {status}: {process.stderr.strip()}"]
    return [f"{name}: no \"{word}\" in: {process.stderr.strip()}" for word in words if word not in process.stderr]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tinyort")
    parser.add_argument("--chain")
    options = parser.parse_args()
    passed, failed = 0, 0
    chains = ["cpu"] + ([options.chain] if options.chain else [])
    results = [check_values(options.tinyort, name, chain) for chain in chains for name in models.CASES]
    results += [check_refusal(options.tinyort, name) for name in REFUSED]
    for problems in results:
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems:
            print(f"FAILED {problem}")
    print(f"control: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()

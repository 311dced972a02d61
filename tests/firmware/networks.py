"""Tests of networks that PyTorch exports and onnxruntime quantizes, as `tinyort compile` makes firmware of them: not part of `make test`,
because it needs PyTorch.

Usage: networks.py TINYORT [--only NAME,...], from the root of the tree.

A static network of QuantizeLinear and DequantizeLinear computes with whole numbers alone (--strict-integers), and is held to the graph
computed in double, but for ties; one of floats, of quantized operators or of scales found during the run is held to onnxruntime without
its optimizations.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import double
import exports
import numpy as np
import onnx
import onnxruntime
import run as firmware

LATE = "onnxruntime quantizes no layers over time: these stay float"
FLOATS = {"anomaly": "the score is a mean of floats", **dict.fromkeys(exports.RECURRENT, LATE)}
REFUSED = {("gestures", "dynamic"): "DynamicQuantizeLSTM"}  # and the operator that firmware has not
# Whose results are others than those of onnxruntime in a part of the elements, and why.
OTHERS = {("segments", "qop_s8"): (0.01, "its Resize of int8 rounds down, where a cast of floats rounds towards zero")}
SEED = 50  # of the inputs, which are none that scales were found with
NEAR = 2e-6  # of the largest element: sums of floats in another order
STEPS = 0.02  # of the largest element: numbers near the middle between two steps that went the other way
SOURCES = ("net.c", "net_main.c", "net_weights.c")


class Trouble(Exception):
    pass


def succeed(*command, **options):
    done = firmware.run(*command, **options)
    if done.returncode or done.stderr:
        raise Trouble(f"{Path(command[0]).name}: status {done.returncode}: {done.stderr[:600]}")


def run_program(folder, feeds, expected):
    """The outputs of what was compiled into the folder, with the shapes of the expected ones."""
    for name, value in feeds.items():
        (folder / f"{name}.raw").write_bytes(value.tobytes())
    succeed("gcc", *firmware.STRICT, "-O2", "-o", "net", *SOURCES, "-lm", cwd=folder)
    succeed(folder / "net", *(f"{name}.raw" for name in feeds), cwd=folder)
    kinds = [np.float32 if value.dtype == np.float64 else value.dtype for value in expected]
    return [np.fromfile(folder / f"output_{i}.raw", kind).reshape(value.shape) for i, (kind, value) in enumerate(zip(kinds, expected))]


def compute(path, form, feeds):
    """What the outputs are, and how many numbers on the way are ties."""
    if form.startswith("qdq"):
        return double.compute(onnx.load(path), feeds)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds), 0


def compare(found, expected, ties, part):
    """How many elements differ, of how many; a Trouble where these are no ties, and more than a part of all."""
    count = 0
    for i, (own, other) in enumerate(zip(found, expected, strict=True)):
        away = np.abs(own.astype(np.float64) - other) / max(np.abs(other).max(), 1e-9)
        differ = int((away > NEAR).sum())
        if differ > part * other.size and not (ties and away.max() < STEPS):
            raise Trouble(f"{differ} of {other.size} elements of output {i} differ, by {away.max():.2g} of the largest; {ties} ties")
        count += differ
    return count


def refuse(name, form, told):
    """A refusal is one that is known, and has a cure."""
    error = told["error"]
    if REFUSED.get((name, form), "?") not in error["message"] or not error["cure"]:
        raise Trouble(f"refused: {error['message']}; cure: {error['cure']}")
    return f"refused: {error['cure']}"


def check(tinyort, name, form, path, folder):
    """Compiles and runs a model: what it takes, or why it is refused."""
    whole = form.startswith("qdq") and name not in FLOATS
    done = firmware.run(tinyort, "compile", path, "-o", folder, "--name", "net", "--main", "--json", *(["--strict-integers"] if whole else []))
    told = json.loads(done.stdout)
    if done.returncode:
        return refuse(name, form, told)
    if (name, form) in REFUSED:
        raise Trouble("compiles now: take it out of REFUSED")
    feeds = exports.values(exports.NETWORKS[name][1], SEED)
    expected, ties = compute(path, form, feeds)
    differ = compare(run_program(folder, feeds, expected), expected, ties, OTHERS.get((name, form), (0,))[0])
    return f"{told['calls']:6} {told['float_steps']:6} {told['arena_bytes']:8} {told['weight_bytes']:8} {ties:5} {differ:7}"


def check_network(tally, tinyort, name, folder):
    for (exporter, form), path in exports.export(name, folder).items():
        try:
            text = check(tinyort, name, form, path, folder / f"{path.stem}_c")
        except Trouble as trouble:
            text = f"FAILED: {trouble}"
        tally.check(not text.startswith("FAILED"), f"{name}, {exporter}, {form}")
        print(f"{name:12} {exporter:8} {form:16} {text}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tinyort", type=lambda path: Path(path).resolve())
    parser.add_argument("--only", default=",".join(exports.NETWORKS))
    arguments = parser.parse_args()
    tally = firmware.Tally()
    print(f"{'network':12} {'exporter':8} {'form':16} {'calls':>6} {'floats':>6} {'arena':>8} {'weights':>8} {'ties':>5} {'differ':>7}")
    for name in arguments.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            check_network(tally, arguments.tinyort, name, Path(folder))
    for name, why in FLOATS.items():
        print(f"with floats: {name}: {why}")
    print(f"firmware, networks: {tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()

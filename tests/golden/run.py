"""Golden plans: `tinyort plan --json` of small models against the files in this folder.

Usage: run.py TINYORT [--write]. A plan that changed on purpose is written anew with --write and reviewed as a diff. What differs
from machine to machine is left out: the processor's description, the path of the model, and what the library takes for itself.
"""

import difflib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
CPU = "cpu:threads=1:isa=v2"


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, *shape, dtype=np.float32):
    return numpy_helper.from_array(np.full(shape, 0.5, dtype), name)


def integers(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def model(nodes, inputs, outputs, weights, opset=17, domains=()):
    graph = helper.make_graph(nodes, "golden", inputs, outputs, weights)
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, 1) for domain in domains]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def residual_block():
    """Convolutions of every kind around a sum: which kernel takes which, and how buffers are reused."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c1", "s", "s", "s", "s"], ["n1"], "norm1"),
        node("Relu", ["n1"], ["r1"], "relu1"),
        node("Conv", ["r1", "w2"], ["c2"], "depthwise", pads=[1, 1, 1, 1], group=8),
        node("Add", ["c2", "r1"], ["a"], "add"),
        node("GlobalAveragePool", ["a"], ["g"], "pool"),
        node("Flatten", ["g"], ["f"], "flatten"),
        node("Gemm", ["f", "w3", "b3"], ["y"], "fc", transB=1),
    ]
    weights = [weight("w1", 8, 3, 3, 3), weight("b1", 8), weight("s", 8), weight("w2", 8, 1, 3, 3), weight("w3", 4, 8)]
    return model(nodes, [value("x", [1, 3, 8, 8])], [value("y", [1, 4])], weights + [weight("b3", 4)])


def shape_arithmetic():
    """A Reshape whose target is computed from shapes: with the batch open, nothing of it is left to run."""
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"], "shape"),
        node("Gather", ["shape", "zero"], ["batch"], "batch"),
        node("Mul", ["batch", "four"], ["rows"], "rows"),
        node("Concat", ["rows", "rest"], ["target"], "target", axis=0),
        node("Reshape", ["x", "target"], ["r"], "reshape"),
        node("MatMul", ["r", "w"], ["y"], "product"),
    ]
    weights = [integers("zero", 0), integers("four", 4), integers("rest", -1), weight("w", 6, 5)]
    return model(nodes, [value("x", ["batch", 4, 6])], [value("y", ["rows", 5])], weights)


def unknown_operator():
    """A node that nobody knows, and the one behind it."""
    nodes = [
        helper.make_node("Abs", ["x"], ["a"], "first"),
        helper.make_node("Mystery", ["a"], ["m"], "mystery", domain="my.domain"),
        helper.make_node("Neg", ["m"], ["y"], "last"),
    ]
    return model(nodes, [value("x", [2])], [value("y", [2])], [], domains=["my.domain"])


def unnamed_nodes():
    """Names that the core gives: unnamed nodes, and a name that stands twice."""
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Neg", ["a"], ["b"], "twice"),
        helper.make_node("Neg", ["b"], ["y"], "twice"),
    ]
    return model(nodes, [value("x", [2])], [value("y", [2])], [])


def half_block():
    """Halfs for a board: what a library takes and how much workspace it may have, what it refuses, and what without it."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "even", pads=[1, 1, 1, 1]),
        node("Conv", ["c1", "w2"], ["c2"], "uneven", auto_pad="SAME_UPPER", strides=[2, 2]),
        node("GlobalAveragePool", ["c2"], ["g"], "pool"),
        node("Flatten", ["g"], ["f"], "flatten"),
        node("Gemm", ["f", "w3", "b3"], ["y"], "fc", transB=1),
    ]
    shapes = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 8, 3, 3), "w3": (4, 8), "b3": (4,)}
    weights = [weight(name, *shape, dtype=np.float16) for name, shape in shapes.items()]
    half = TensorProto.FLOAT16
    return model(nodes, [value("x", [1, 3, 64, 64], half)], [value("y", [1, 4], half)], weights)


# name, model, options, exit status
CASES = [
    ("residual_block", residual_block, ["--ep", CPU], 0),
    ("shape_arithmetic", shape_arithmetic, ["--ep", CPU], 0),
    ("shape_arithmetic_batch_3", shape_arithmetic, ["--ep", CPU, "--shape", "x=3x4x6"], 0),
    ("unknown_operator", unknown_operator, ["--ep", CPU], 4),
    ("unnamed_nodes", unnamed_nodes, ["--ep", CPU], 0),
    ("half_block_sm_86", half_block, ["--ep", "cuda", "--target", "cuda:sm_86"], 0),
    ("half_block_sm_86_alone", half_block, ["--ep", "cuda:libraries=off", "--target", "cuda:sm_86"], 0),
    ("provider_down", unnamed_nodes, ["--ep", "cuda," + CPU], 0),
]


def plan_text(tinyort, path, options, status):
    environment = {**os.environ, "TINYORT_DISABLE": "" if "--target" in options else "cuda"}
    command = [tinyort, "plan", str(path), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != status:
        return f"status {done.returncode}, expected {status}: {done.stderr}"
    plan = json.loads(done.stdout)
    plan["model"]["path"] = Path(plan["model"]["path"]).name
    plan.pop("host_memory")
    for provider in plan["providers"]:
        provider.pop("description")
    return json.dumps(plan, indent=1) + "\n"


def main():
    tinyort, write = sys.argv[1], "--write" in sys.argv
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, build, options, status in CASES:
            path, golden = Path(folder) / f"{build.__name__}.onnx", HERE / f"{name}.json"
            onnx.save(build(), path)
            found = plan_text(tinyort, path, options, status)
            if write:
                golden.write_text(found)
            wanted = golden.read_text() if golden.exists() else ""
            same = found == wanted
            passed, failed = passed + same, failed + (not same)
            if not same:
                difference = difflib.unified_diff(wanted.splitlines(), found.splitlines(), str(golden), "found", lineterm="")
                print("\n".join(["FAILED " + name, *difference]))
    if failed:
        print("a plan that changed on purpose is written anew by: tests/golden/run.py TINYORT --write")
    print(f"golden: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()

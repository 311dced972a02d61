"""`tinyort reduce` on five kinds of networks of 500 nodes and more, each with one node that a provider computes wrongly.

Usage: run.py PROGRAM, from the root of the tree; PROGRAM is a command line with the provider of wrong_provider.c.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NODES, MAX_LEFT, HANGS = 500, 5, 60  # seconds
ODD = 37  # the extent that the faulty node alone has
WIDTH = 16
random = np.random.default_rng(3)


class Network:
    """Nodes one after the other, with a detour of the odd width in the middle."""

    def __init__(self, shape):
        self.nodes, self.weights, self.value, self.shape = [], [], "x", shape

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array((random.standard_normal(shape) / np.sqrt(max(1, shape[0]))).astype(np.float32), name))
        return name

    def numbers(self, *values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def add(self, op, *inputs, name=None, **attributes):
        """A node behind `inputs`; '' stands for the newest value, which the output then is."""
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [text or self.value for text in inputs], [output], name or f"{op}_{len(self.nodes)}", **attributes))
        self.value = output
        return output

    def fault(self, op):
        """Up to the odd width and back again."""
        self.add("MatMul", "", self.weight(WIDTH, ODD))
        self.add(op, "", name="planted")
        self.add("MatMul", "", self.weight(ODD, WIDTH))

    def save(self, path):
        graph = helper.make_graph(self.nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, None)], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def perceptron(op):
    n = Network([4, WIDTH])
    for i in range(170):
        n.add("Gemm", "", n.weight(WIDTH, WIDTH), n.weight(WIDTH))
        n.add("Relu", "")
        n.add("Add", "", n.weight(WIDTH))
        if i == 60:
            n.fault(op)
    return n


def transformer(op):
    n = Network([2, 8, WIDTH])
    for i in range(40):
        x = n.value
        q, k, v = (n.add("MatMul", x, n.weight(WIDTH, WIDTH)) for _ in range(3))
        k = n.add("Transpose", k, perm=[0, 2, 1])
        n.add("MatMul", q, k)
        n.add("Softmax", "", axis=-1)
        n.add("MatMul", "", v)
        x = n.add("Add", "", x)
        n.add("LayerNormalization", "", n.weight(WIDTH), n.weight(WIDTH))
        n.add("MatMul", "", n.weight(WIDTH, 2 * WIDTH))
        n.add("Sigmoid", "")
        n.add("MatMul", "", n.weight(2 * WIDTH, WIDTH))
        n.add("Add", "", x)
        if i == 33:
            n.fault(op)
    return n


def pictures(op):
    n = Network([1, WIDTH, 8, 8])
    for i in range(110):
        x = n.value
        n.add("Conv", "", n.weight(WIDTH, WIDTH, 3, 3), pads=[1] * 4)
        n.add("Relu", "")
        n.add("Mul", "", n.weight(1))
        n.add("Add", "", x)
        n.add("Tanh", "")
        if i == 5:
            n.add("Transpose", "", perm=[0, 2, 3, 1])
            n.fault(op)
            n.add("Transpose", "", perm=[0, 3, 1, 2])
    return n


def recurrent(op):
    """Steps of a network that were unrolled, which share their weights."""
    n = Network([3, WIDTH])
    w, r = n.weight(WIDTH, WIDTH), n.weight(WIDTH, WIDTH)
    for i in range(90):
        state = n.value
        gate = n.add("Sigmoid", n.add("MatMul", "x", w))
        n.add("MatMul", state, r)
        n.add("Tanh", "")
        n.add("Mul", "", gate)
        n.add("Add", "", state)
        if i == 88:
            n.fault(op)
    return n


def shapes(op):
    """With shape arithmetic and splits between the layers, which are folded or views."""
    n = Network([6, WIDTH])
    for i in range(65):
        x = n.value
        n.add("Gather", n.add("Shape", x), n.numbers(0), axis=0)
        rows = n.value
        n.add("Concat", rows, n.numbers(2), n.numbers(WIDTH // 2), axis=0)
        n.add("Reshape", x, n.value)
        n.add("Transpose", "", perm=[0, 2, 1])
        n.add("Reshape", "", n.numbers(0, WIDTH))
        n.add("MatMul", "", n.weight(WIDTH, WIDTH))
        n.add("Neg", "")
        if i == 40:
            n.fault(op)
    return n


def main():
    program, passed, failed = sys.argv[1], 0, 0

    def check(good, text):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        if not good:
            print(f"FAILED {text}")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for network, op in ((perceptron, "Tanh"), (transformer, "Relu"), (pictures, "Neg"), (recurrent, "Relu"), (shapes, "Tanh")):
            model, piece, label = folder / "model.onnx", folder / network.__name__ / "model.onnx", network.__name__
            made = network(op)
            made.save(model)
            check(len(made.nodes) >= NODES, f"{label} has {len(made.nodes)} nodes")
            chains = ("--ep", "cpu", "--ep", f"wrong:size={ODD},cpu")
            try:
                done = subprocess.run([program, "reduce", model, *chains, "-o", piece, "--json"], capture_output=True, text=True, timeout=HANGS)
            except subprocess.TimeoutExpired:
                check(False, f"{label}: not found in {HANGS} s")
                continue
            told = json.loads(done.stdout)
            left = told.get("nodes", [])
            check(done.returncode == 0 and 0 < len(left) <= MAX_LEFT and f"{op} 'planted'" in left, f"{label}: {done.returncode}, {len(left)} left: {left[:8]} {done.stderr}")
            if done.returncode:
                continue
            onnx.checker.check_model(onnx.load(piece), full_check=True)
            good = subprocess.run([program, "test", piece.parent, "--ep", "cpu"], capture_output=True, text=True)
            bad = subprocess.run([program, "test", piece.parent, "--ep", f"wrong:size={ODD},cpu"], capture_output=True, text=True)
            check((good.returncode, bad.returncode) == (0, 5), f"{label}: the piece as a test: {good.returncode} on cpu, {bad.returncode} on the wrong one: {good.stdout}{bad.stdout}")
        done = subprocess.run([program, "reduce", model, "--ep", "cpu", "--ep", "wrong:size=1000,cpu", "-o", folder / "none.onnx"], capture_output=True, text=True)
        check(done.returncode == 5 and "there is nothing to reduce" in done.stderr and not (folder / "none.onnx").exists(), f"nothing differs: {done.stderr}")
    print(f"reduce: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()

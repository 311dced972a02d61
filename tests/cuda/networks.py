"""Small networks of the families of ResNet, MobileNet, ViT and BERT on the simulated CUDA device, against cpu.

Usage: networks.py TINYORT. Every node but views and shapes must be on cudasim alone, and `tinyort compare` must find no value
that differs. The graphs have the operators and the order of the real networks; widths are small, weights are seeded.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Collects nodes and weights; every method returns the name of the value it makes."""

    def __init__(self, seed=3):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def weight(self, *shape, scale=None):
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]
        data = self.random.standard_normal(shape) * (scale or fan_in**-0.5)
        return self.constant(data.astype(np.float32))

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"{op}_{len(self.nodes)}", **attributes))
        return name

    def conv(self, x, channels, filters, kernel=3, stride=1, group=1):
        pad = kernel // 2
        x = self.node("Conv", x, self.weight(filters, channels // group, kernel, kernel), strides=[stride] * 2, pads=[pad] * 4, group=group)
        ones = np.ones(filters, np.float32)
        return self.node("BatchNormalization", x, *(self.constant(v) for v in (ones, 0.1 * ones, 0.2 * ones, 0.9 * ones)))

    def linear(self, x, size, out):
        return self.node("Add", self.node("MatMul", x, self.weight(size, out, scale=size**-0.5)), self.weight(out))

    def norm(self, x, size):
        return self.node("LayerNormalization", x, self.constant(np.ones(size, np.float32)), self.weight(size), axis=-1)

    def attention(self, x, batch, length, size, heads, mask=None):
        def split(value, perm):
            shape = self.constant(np.array([batch, length, heads, size // heads], np.int64))
            return self.node("Transpose", self.node("Reshape", value, shape), perm=perm)

        q, k, v = (self.linear(x, size, size) for _ in range(3))
        scores = self.node("MatMul", split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1]))
        scores = self.node("Div", scores, self.constant(np.float32((size // heads) ** 0.5)))
        if mask:
            scores = self.node("Add", scores, mask)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), split(v, [0, 2, 1, 3]))
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), self.constant(np.array([batch, length, size], np.int64)))
        return self.linear(joined, size, size)

    def encoder(self, x, batch, length, size, heads, mask=None):
        x = self.norm(self.node("Add", x, self.attention(x, batch, length, size, heads, mask)), size)
        inner = self.linear(x, size, 2 * size)
        gelu = self.node("Mul", inner, self.node("Add", self.node("Erf", self.node("Div", inner, self.constant(np.float32(2**0.5)))), self.constant(np.float32(1))))
        return self.norm(self.node("Add", x, self.linear(self.node("Mul", gelu, self.constant(np.float32(0.5))), 2 * size, size)), size)

    def classifier(self, x, channels):
        x = self.node("Flatten", self.node("GlobalAveragePool", x))
        return self.node("Softmax", self.node("Gemm", x, self.weight(10, channels), self.weight(10), transB=1), axis=1)

    def save(self, path, inputs, output):
        ports = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
        graph = helper.make_graph(self.nodes, "network", ports, [onnx.ValueInfoProto(name=output)], self.weights)
        graph.output[0].CopyFrom(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def resnet(path):
    g = Graph()
    x = g.node("Relu", g.conv("image", 3, 16, 7, 2))
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for channels, filters, stride in ((16, 16, 1), (16, 32, 2)):
        inner = g.node("Relu", g.conv(x, channels, 8, 1))
        inner = g.node("Relu", g.conv(inner, 8, 8, 3, stride))
        short = x if channels == filters else g.conv(x, channels, filters, 1, stride)
        x = g.node("Relu", g.node("Add", g.conv(inner, 8, filters, 1), short))
    g.save(path, [("image", TensorProto.FLOAT, [2, 3, 37, 37])], g.classifier(x, 32))


def mobilenet(path):
    g = Graph()
    low, high = g.constant(np.float32(0)), g.constant(np.float32(6))
    x = g.node("Clip", g.conv("image", 3, 8, 3, 2), low, high)
    for channels, filters, stride in ((8, 8, 1), (8, 16, 2)):
        inner = g.node("Clip", g.conv(x, channels, 4 * channels, 1), low, high)
        inner = g.node("Clip", g.conv(inner, 4 * channels, 4 * channels, 3, stride, 4 * channels), low, high)
        inner = g.conv(inner, 4 * channels, filters, 1)
        x = g.node("Add", x, inner) if channels == filters and stride == 1 else inner
    squeeze = g.node("HardSigmoid", g.conv(g.node("GlobalAveragePool", x), 16, 16, 1))
    x = g.node("HardSwish", g.node("Mul", x, squeeze))
    g.save(path, [("image", TensorProto.FLOAT, [1, 3, 33, 29])], g.classifier(x, 16))


def vit(path):
    g, batch, size = Graph(), 2, 24
    x = g.node("Conv", "image", g.weight(size, 3, 8, 8), g.weight(size), strides=[8, 8])
    x = g.node("Transpose", g.node("Reshape", x, g.constant(np.array([batch, size, 16], np.int64))), perm=[0, 2, 1])
    token = g.node("Expand", g.weight(1, 1, size), g.constant(np.array([batch, 1, size], np.int64)))
    x = g.node("Add", g.node("Concat", token, x, axis=1), g.weight(1, 17, size))
    x = g.encoder(x, batch, 17, size, 3)
    x = g.node("Gather", x, g.constant(np.int64(0)), axis=1)
    g.save(path, [("image", TensorProto.FLOAT, [batch, 3, 32, 32])], g.linear(x, size, 10))


def bert(path):
    g, batch, length, size = Graph(), 2, 11, 32
    words = g.node("Gather", g.weight(50, size, scale=1), "tokens", axis=0)
    places = g.node("Slice", g.weight(64, size, scale=1), *(g.constant(np.array([v], np.int64)) for v in (0, length, 0)))
    x = g.norm(g.node("Add", words, places), size)
    mask = g.node("Unsqueeze", g.node("Cast", "mask", to=TensorProto.FLOAT), g.constant(np.array([1, 2], np.int64)))
    mask = g.node("Mul", g.node("Sub", g.constant(np.float32(1)), mask), g.constant(np.float32(-10000)))
    for _ in range(2):
        x = g.encoder(x, batch, length, size, 4, mask)
    pooled = g.node("Tanh", g.linear(g.node("ReduceMean", x, axes=[1], keepdims=0), size, size))
    g.save(path, [("tokens", TensorProto.INT64, [batch, length]), ("mask", TensorProto.INT64, [batch, length])], pooled)


def check(tinyort, path):
    """What is wrong, or an empty text."""
    plan = subprocess.run([tinyort, "plan", path, "--ep", "cudasim", "--json"], capture_output=True, text=True)
    if plan.returncode:
        return plan.stderr.strip().splitlines()[0]
    elsewhere = {node["op"] for node in json.loads(plan.stdout)["nodes"] if node["provider"] not in ("cudasim", "host", "folded")}
    if elsewhere:
        return f"not on cudasim: {sorted(elsewhere)}"
    done = subprocess.run([tinyort, "compare", path, "--ep", "cpu", "--ep", "cudasim", "--random", "1"], capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for make in (resnet, mobilenet, vit, bert):
            path = Path(folder) / f"{make.__name__}.onnx"
            make(str(path))
            problem = check(sys.argv[1], path)
            passed, failed = passed + (not problem), failed + bool(problem)
            if problem:
                print(f"FAILED {make.__name__}: {problem}")
    print(f"cuda-networks: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

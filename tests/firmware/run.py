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

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
NEEDED = {"memcpy", "memset", "memmove", "sqrtf", "sqrt", "floorf", "ceilf", "fmaf", "fmodf", "floor", "_GLOBAL_OFFSET_TABLE_"}  # all that a compiled model may call
FUSES = Path("/proc/cpuinfo").exists() and " fma " in Path("/proc/cpuinfo").read_text()  # x86-64 with a fused multiply-add
CONTRACTING = ("gcc", "-O3", "-std=gnu99", "-mfma") if FUSES else ("gcc", "-O0")  # GNU C makes one operation of a * b + c, where it may
BUILDS = [("gcc", "-O2"), CONTRACTING, ("clang", "-O2"), ("gcc", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")]
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


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def weight(rng, name, *shape):
    return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)


def save_model(path, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def network(path):
    """Grouped, strided, dilated and padded windows, a residual, a clip, averages, and a product that is not transposed."""
    rng = np.random.default_rng(1)
    weights = [weight(rng, "w1", 8, 3, 3, 3), weight(rng, "b1", 8), weight(rng, "w2", 8, 1, 3, 5), weight(rng, "w3", 8, 4, 1, 1), weight(rng, "w4", 8, 5), weight(rng, "b4", 5)]
    weights += [numpy_helper.from_array(np.float32(value), name) for name, value in (("low", 0), ("high", 6))]
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "first", strides=[2, 1], pads=[1, 0, 0, 2]),
        helper.make_node("Clip", ["c1", "low", "high"], ["r1"], "six"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], "depthwise", group=8, dilations=[1, 2], auto_pad="SAME_UPPER"),
        helper.make_node("Conv", ["c2", "w3"], ["c3"], "pointwise", group=2),
        helper.make_node("Add", ["c3", "r1"], ["s"], "skip"),
        helper.make_node("Relu", ["s"], ["r3"], "relu"),
        helper.make_node("AveragePool", ["r3"], ["p"], "mean", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1),
        helper.make_node("MaxPool", ["p"], ["m"], "most", kernel_shape=[2, 2], pads=[0, 1, 0, 0]),
        helper.make_node("GlobalAveragePool", ["m"], ["g"], "all"),
        helper.make_node("Flatten", ["g"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "w4", "b4"], ["y"], "dense", alpha=0.5, beta=2.0),
    ]
    return save_model(path, nodes, [floats("x", [2, 3, 12, 11])], [floats("y", [2, 5])], weights)


def elements(path):
    """Broadcasts along several axes, an input as output, an output that is read again, a name that ends comments."""
    rng = np.random.default_rng(2)
    weights = [weight(rng, "row", 1, 1, 5), weight(rng, "column", 3, 1), weight(rng, "one", 1)]
    nodes = [
        helper.make_node("Mul", ["a", "row"], ["m"], "odd */ name ??/"),
        helper.make_node("Add", ["m", "b"], ["s"], "sum"),
        helper.make_node("Sub", ["column", "s"], ["d"], "minus"),
        helper.make_node("Div", ["d", "one"], ["q"], "scale"),
        helper.make_node("Clip", ["q", "least"], ["c"], "clip"),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
        helper.make_node("Reshape", ["a", "flat"], ["same"], "same"),
    ]
    weights += [numpy_helper.from_array(np.array([-1], np.int64), "flat"), numpy_helper.from_array(np.float32(-0.5), "least")]
    return save_model(path, nodes, [floats("a", [2, 3, 5]), floats("b", [2, 1, 1])], [floats("r", None), floats("s", None), floats("same", [30])], weights)


def products(path):
    """Batches of matrices, and a softmax along an inner axis."""
    rng = np.random.default_rng(3)
    weights = [weight(rng, "w", 4, 6), weight(rng, "bias", 6)]
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["p"], "project"),
        helper.make_node("Add", ["p", "bias"], ["h"], "bias"),
        helper.make_node("MatMul", ["h", "b"], ["s"], "scores"),
        helper.make_node("Softmax", ["s"], ["y"], "softmax", axis=1),
    ]
    return save_model(path, nodes, [floats("a", [2, 3, 4]), floats("b", [2, 6, 7])], [floats("y", [2, 3, 7])], weights)


def ports(path):
    """An input that nothing reads, outputs that are one value, a constant, another shape of an output, or read again."""
    weights = [weight(np.random.default_rng(5), "w", 3), numpy_helper.from_array(np.array([3, 2]), "shape")]
    nodes = [
        helper.make_node("Relu", ["x"], ["h"], "relu"),
        helper.make_node("Identity", ["h"], ["i"], "identity"),
        helper.make_node("Relu", ["w"], ["k"], "constant"),
        helper.make_node("Reshape", ["h", "shape"], ["t"], "reshape"),
        helper.make_node("Add", ["h", "h"], ["y"], "add"),
        helper.make_node("Mul", ["y", "y"], ["q"], "square"),
    ]
    return save_model(path, nodes, [floats("x", [2, 3]), floats("unused", [4])], [floats(name, None) for name in "hiktyq"], weights)


def integers(path):
    """Ports and views of other types than float32."""
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"], "flat"),
        helper.make_node("Relu", ["f"], ["y"], "relu"),
        helper.make_node("Flatten", ["i"], ["j"], "also_flat"),
    ]
    ints = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in (("i", [2, 2, 3]), ("j", None))]
    return save_model(path, nodes, [floats("x", [2, 3]), ints[0]], [floats("y", None), ints[1]])


def line(path):
    """Windows over one axis, padding that counts, a window at the edge of which some positions are missing."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["h"], "conv", pads=[1, 2], strides=[2]),
        helper.make_node("MaxPool", ["h"], ["m"], "most", kernel_shape=[2], ceil_mode=1, strides=[2]),
        helper.make_node("GlobalMaxPool", ["m"], ["g"], "all"),
        helper.make_node("AveragePool", ["m"], ["a"], "mean", kernel_shape=[3], count_include_pad=1, pads=[1, 1]),
    ]
    return save_model(path, nodes, [floats("x", [2, 3, 9])], [floats("g", None), floats("a", None)], [weight(np.random.default_rng(6), "w", 4, 3, 3)])


def windows(path):
    """Convolutions of each form: odd numbers of pixels and filters, groups, strides, padding beyond the image, one pixel, additions, weights that are computed."""
    rng = np.random.default_rng(7)
    kinds = [  # name, filters, channels of a filter, kernel, attributes
        ("point", 6, 5, (1, 1), {}),
        ("apart", 3, 5, (1, 1), {"strides": [2, 3]}),
        ("padded_point", 4, 5, (1, 1), {"pads": [0, 1, 0, 0]}),
        ("square", 7, 5, (3, 3), {"strides": [2, 2], "pads": [0, 0, 1, 1]}),
        ("depthwise", 5, 1, (3, 3), {"group": 5, "pads": [1, 1, 1, 1]}),
        ("halving", 5, 1, (3, 3), {"group": 5, "strides": [2, 2], "pads": [0, 1, 1, 0]}),
        ("twice", 10, 1, (2, 3), {"group": 5, "dilations": [3, 2], "pads": [6, 7, 8, 9]}),
        ("four", 20, 1, (3, 3), {"group": 5, "strides": [1, 2]}),
        ("all", 3, 5, (6, 7), {}),
        ("whole", 5, 1, (6, 7), {"group": 5}),
    ]
    weights = [weight(rng, f"{name}_w", filters, channels, *kernel) for name, filters, channels, kernel, _ in kinds]
    weights += [weight(rng, f"{name}_b", filters) for name, filters, *_ in kinds[::2]]
    given = {value.name for value in weights}
    nodes = [helper.make_node("Conv", [word for word in ("x", f"{name}_w", f"{name}_b") if word == "x" or word in given], [name], f"{name}_node", **more) for name, *_, more in kinds]
    nodes += [
        helper.make_node("Conv", ["pair", "groups_w"], ["groups"], "groups_node", group=2, kernel_shape=[3, 1]),
        helper.make_node("Conv", ["x", "depthwise_w"], ["inner"], "inner_node", group=5, pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["inner", "x"], ["sum"], "sum_node"),
        helper.make_node("Relu", ["sum"], ["relu"], "relu_node"),
        helper.make_node("Relu", ["point_w"], ["made"], "made_node"),
        helper.make_node("Add", ["made", "zero"], ["computed"], "computed_node"),
        helper.make_node("Conv", ["x", "computed"], ["open"], "open_node"),
    ]
    weights.append(weight(rng, "groups_w", 10, 3, 3, 1))
    names = [name for name, *_ in kinds] + ["groups", "relu", "open"]
    return save_model(path, nodes, [floats("x", [2, 5, 6, 7]), floats("pair", [1, 6, 5, 3]), floats("zero", [1, 1, 1, 1])], [floats(name, None) for name in names], weights)


def dense(path):
    """Products with a constant matrix of odd sizes: transposed, with a row or a column added, batches, a residual, one column."""
    rng = np.random.default_rng(8)
    weights = [weight(rng, "w", 9, 7), weight(rng, "row", 9), weight(rng, "column", 3, 1), weight(rng, "v", 7, 13), weight(rng, "one", 7, 1), weight(rng, "t", 3, 4)]
    nodes = [
        helper.make_node("Gemm", ["a", "w", "row"], ["y1"], "transposed", transB=1, alpha=1.5, beta=0.5),
        helper.make_node("Gemm", ["a", "v", "column"], ["y2"], "columns"),
        helper.make_node("Gemm", ["a", "t"], ["y3"], "across", transA=1),
        helper.make_node("MatMul", ["c", "v"], ["p"], "batches"),
        helper.make_node("Add", ["p", "z"], ["q"], "residual"),
        helper.make_node("Relu", ["q"], ["y4"], "relu"),
        helper.make_node("MatMul", ["c", "one"], ["y5"], "column_only"),
        helper.make_node("Gemm", ["a", "d"], ["y6"], "both", transA=1, transB=1),
        helper.make_node("Gemm", ["a", "e", "z1"], ["y7"], "strided", transB=1, alpha=0.5),
        helper.make_node("MatMul", ["f", "a"], ["y8"], "vector"),
        helper.make_node("MatMul", ["a", "g"], ["y9"], "single"),
    ]
    inputs = [floats("a", [3, 7]), floats("c", [2, 2, 3, 7]), floats("z", [2, 2, 3, 13]), floats("d", [6, 3]), floats("e", [5, 7]), floats("f", [3]), floats("g", [7]), floats("z1", [3, 5])]
    return save_model(path, nodes, inputs, [floats(f"y{i}", None) for i in range(1, 10)], weights)


# ---- families of operators ------------------------------------------------------------------------------------------------


def constant(name, values, kind=np.int64):
    return numpy_helper.from_array(np.array(values, kind), name)


def family(path, steps, inputs, weights=(), opset=20):
    """A model of independent nodes: (operator, names of inputs, attributes); outputs are o0, o1 ..."""
    nodes, outputs = [], []
    for i, (op, names, attributes) in enumerate(steps):
        made = [f"o{i}_{k}" for k in range(attributes.pop("outputs", 1))]
        nodes.append(helper.make_node(op, names.split(","), made, f"{op}_{i}", **attributes))
        outputs += made
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def whole(name, shape, kind=TensorProto.INT64):
    return helper.make_tensor_value_info(name, kind, shape)


def moves(path):
    """Boxes of floats, int64 and bytes, part by part too; pads; picks."""
    weights = [constant("starts", [1, -1]), constant("ends", [9, -5]), constant("axes", [1, 3]), constant("steps", [1, -2]), constant("pads", [0, 1, 2, 0, 0, 0, 1, 3])]
    weights += [constant("repeats", [1, 2, 1, 3]), constant("wide", [3, 2, 3, 4, 5]), constant("parts", [1, 3]), constant("picked", [[2, -1], [0, 2]]), constant("narrow", [3, 0], np.int32)]
    weights += [constant("seven", 7, np.float32), constant("shape", [2, 3])]
    steps = [
        ("Transpose", "x", {"perm": [0, 3, 1, 2]}),
        ("Transpose", "i", {}),
        ("Transpose", "b", {"perm": [1, 0]}),
        ("Slice", "x,starts,ends,axes,steps", {}),
        ("Concat", "x,x", {"axis": 2}),
        ("Concat", "i,i,i", {"axis": 1}),
        ("Split", "x,parts", {"axis": 2, "outputs": 2}),
        ("Expand", "x,wide", {}),
        ("Tile", "x,repeats", {}),
        ("DepthToSpace", "d", {"blocksize": 2}),
        ("DepthToSpace", "d", {"blocksize": 2, "mode": "CRD"}),
        ("SpaceToDepth", "d", {"blocksize": 2}),
        ("Pad", "x,pads,seven", {}),
        ("Pad", "x,pads", {"mode": "reflect"}),
        ("Pad", "i,picked_pads", {"mode": "edge"}),
        ("Gather", "x,picked", {"axis": 1}),
        ("Gather", "i,narrow", {"axis": 1}),
        ("GatherElements", "x,elements", {"axis": 2}),
        ("GatherElements", "i,narrow_elements", {"axis": 1}),
        ("OneHot", "i,seven_whole,off_on", {}),
        ("OneHot", "picked,seven_whole,off_on", {"axis": 0}),
        ("Trilu", "x", {}),
        ("Trilu", "i,one", {"upper": 0}),
        ("Trilu", "x,one", {"upper": 1}),
        ("Where", "b,row,i", {}),
        ("CastLike", "x,row", {}),
        ("Cast", "x", {"to": TensorProto.INT32}),
        ("Cast", "x", {"to": TensorProto.FLOAT}),
        ("Cast", "x", {"to": TensorProto.BOOL}),
        ("Cast", "i", {"to": TensorProto.FLOAT}),
        ("Cast", "b", {"to": TensorProto.INT64}),
        ("ConstantOfShape", "shape", {"value": helper.make_tensor("v", TensorProto.INT64, [1], [-5])}),
        ("Not", "b", {}),
        ("Dropout", "x", {"outputs": 2}),
    ]
    weights += [constant("one", 1), constant("seven_whole", 7), constant("off_on", [-1.5, 2.5], np.float32)]
    weights += [constant("elements", np.arange(24).reshape(2, 1, 4, 3) % 8 - 4), constant("narrow_elements", [[3], [-4], [1]], np.int32)]
    weights += [constant("picked_pads", [1, 0, 2, 1]), constant("row", [[5, 6, 7, 8]])]
    return family(path, steps, [floats("x", [2, 3, 4, 5]), floats("d", [1, 8, 2, 4]), whole("i", [3, 4]), whole("b", [3, 4], TensorProto.BOOL)], weights)


def maps(path):
    """Every function of one float, and fused activations."""
    rng = np.random.default_rng(7)
    plain = ["Exp", "Log", "Tanh", "Sigmoid", "Erf", "Softplus", "Softsign", "Mish", "Gelu", "HardSwish", "Neg", "Abs", "Reciprocal", "Sqrt", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Asin", "Acos", "Atan"]
    plain += ["HardSigmoid", "LeakyRelu", "Elu", "Selu", "Celu", "ThresholdedRelu", "LogSoftmax", "Hardmax"]
    steps = [(op, "x", {}) for op in plain] + [("Gelu", "x", {"approximate": "tanh"}), ("Elu", "x", {"alpha": 0.3}), ("Shrink", "x", {"lambd": 0.2, "bias": 0.1})]
    return family(path, steps, [floats("x", [3, 70])])


def pairs(path):
    """Functions of two operands that broadcast over five axes, of floats, int64 and bools; sums of several."""
    ops = ["Pow", "Mod", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]
    steps = [("Add", "x,y", {}), ("Div", "y,x", {})] + [(op, "x,y", {"fmod": 1} if op == "Mod" else {}) for op in ops]
    steps += [(op, "i,j", {}) for op in ("Add", "Sub", "Mul", "Div", "Mod", "Equal", "Less", "Greater", "Max")] + [(op, "a,b", {}) for op in ("And", "Or", "Xor")]
    steps += [(op, "i,j", {}) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")] + [("BitwiseNot", "i", {}), ("BitShift", "u,v", {"direction": "LEFT"}), ("BitShift", "u,v", {"direction": "RIGHT"})]
    steps += [("IsNaN", "x", {}), ("IsInf", "x", {"detect_negative": 0}), ("IsInf", "x", {})]
    steps += [(op, "x,y,z", {}) for op in ("Sum", "Mean", "Max", "Min")] + [("Pow", "x,two", {}), ("Pow", "s,half", {}), ("PRelu", "x,slope", {})]
    inputs = [floats("x", [2, 1, 3, 2, 4]), floats("y", [4, 1, 2, 1]), floats("z", [1]), floats("s", [9]), whole("i", [3, 4]), whole("j", [4]), whole("a", [3, 4], TensorProto.BOOL), whole("b", [4], TensorProto.BOOL)]
    inputs += [whole("u", [3, 4], TensorProto.UINT8), whole("v", [4], TensorProto.UINT8)]
    return family(path, steps, inputs, [constant("two", 2, np.float32), constant("half", 0.3, np.float32), constant("slope", [[0.1], [0.2]], np.float32)])


def reductions(path):
    """Reductions over axes at the end, in the middle, apart and of all; products by einsum; normalizations."""
    rng = np.random.default_rng(8)
    ops = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"]
    steps = [(op, f"x,{axes}" if axes else "x", {"keepdims": keep}) for i, op in enumerate(ops) for axes, keep in ((("end", 1), ("middle", 0), ("apart", 1), ("", 0))[i % 4],)]
    steps += [("ReduceMean", "x,apart", {}), ("ArgMax", "x", {"axis": 2, "select_last_index": 1}), ("ArgMin", "x", {"axis": -1, "keepdims": 0})]
    steps += [("TopK", "x,three", {"axis": 1, "outputs": 2}), ("TopK", "x,three", {"axis": -1, "largest": 0, "outputs": 2})]
    steps += [("Einsum", "x,q", {"equation": "bhid,bhjd->bhij"}), ("Einsum", "x,q", {"equation": "bhid,bhjd->hb"})]
    steps += [("LayerNormalization", "x,scale5,bias5", {}), ("LayerNormalization", "x,scale4", {"axis": 1}), ("InstanceNormalization", "x,c3,d3", {}), ("BatchNormalization", "x,c3,d3,d3,v3", {})]
    steps += [("GroupNormalization", "g,c6,c6", {"num_groups": 3}), ("LpNormalization", "x", {"axis": 1}), ("LpNormalization", "x", {"p": 1}), ("LRN", "g", {"size": 3})]
    weights = [constant("end", [3]), constant("three", [3]), constant("middle", [1, 2]), constant("apart", [0, 2]), weight(rng, "scale5", 5), weight(rng, "bias5", 5), weight(rng, "scale4", 4, 1), weight(rng, "c3", 3), weight(rng, "d3", 3)]
    weights += [weight(rng, "c6", 6), constant("v3", [0.5, 1.5, 2.5], np.float32)]
    return family(path, steps, [floats("x", [2, 3, 4, 5]), floats("q", [2, 3, 6, 5]), floats("g", [2, 6, 7])], weights, opset=21)


def losses(path):
    """Losses by class: reductions, weights, targets that are ignored, log probabilities that are an output."""
    weights = [constant("classes", [0, 4, 2]), constant("pixels", [[[0, 3, -7], [1, 4, 4]], [[2, 2, 0], [-7, 1, 3]]], np.int32), constant("heavy", [0.2, 0.7, 1.5, 0.1, 3], np.float32)]
    nll, sce = "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"
    steps = [(op, names, {"reduction": reduction}) for op in (nll, sce) for names in ("x,classes", "x,classes,heavy") for reduction in ("none", "sum", "mean")]
    steps += [(op, "p,pixels,heavy", {"ignore_index": -7, "reduction": reduction}) for op in (nll, sce) for reduction in ("none", "mean")]
    steps += [(sce, "x,classes", {"ignore_index": 4, "outputs": 2}), (sce, "p,pixels,heavy", {"ignore_index": -7, "reduction": "none", "outputs": 2})]
    return family(path, steps, [floats("x", [3, 5]), floats("p", [2, 5, 2, 3])], weights)


def recurrent(path):
    """LSTM, GRU and RNN: both directions, states, lengths, peepholes, batches first, and other functions."""
    rng = np.random.default_rng(9)
    size, hidden = 5, 4
    weights = [constant("lengths", [3, 6], np.int32)]
    for gates, d in ((1, 1), (3, 1), (4, 1), (3, 2), (4, 2)):
        weights += [weight(rng, f"w{gates}{d}", d, gates * hidden, size), weight(rng, f"r{gates}{d}", d, gates * hidden, hidden), weight(rng, f"b{gates}{d}", d, 2 * gates * hidden)]
    weights += [weight(rng, "p2", 2, 3 * hidden)]
    steps = [
        ("LSTM", "x,w41,r41,b41,,h1,h1", {"hidden_size": hidden, "outputs": 3}),
        ("LSTM", "x,w42,r42,,lengths,h2,h2,p2", {"hidden_size": hidden, "direction": "bidirectional", "outputs": 3, "clip": 0.8}),
        ("LSTM", "t,w41,r41,b41", {"hidden_size": hidden, "direction": "reverse", "layout": 1, "input_forget": 1, "outputs": 1, "activations": ["HardSigmoid", "Softsign", "Relu"]}),
        ("GRU", "x,w31,r31,b31,,h1", {"hidden_size": hidden, "outputs": 2}),
        ("GRU", "x,w32,r32,b32,lengths", {"hidden_size": hidden, "direction": "bidirectional", "linear_before_reset": 1, "outputs": 2}),
        ("RNN", "x,w11,r11,b11", {"hidden_size": hidden, "outputs": 2}),
    ]
    return family(path, steps, [floats("x", [6, 2, size]), floats("t", [2, 6, size]), floats("h1", [1, 2, hidden]), floats("h2", [2, 2, hidden])], weights)


def images(path):
    """Resizes, transposed convolutions, windows over three axes, products with batches along several axes."""
    rng = np.random.default_rng(10)
    weights = [weight(rng, "w", 4, 3, 3, 2), weight(rng, "b", 6), constant("twice", [1, 1, 2, 2], np.float32), constant("size", [1, 4, 3, 11]), constant("last", [1, 1, 1, 1.7], np.float32), constant("channels_last", [1, 9, 8, 6])]
    steps = [("ConvTranspose", "x,w,b", {"group": 2, "strides": [2, 3], "dilations": [1, 2], "pads": [1, 0, 0, 2], "output_padding": [1, 1]})]
    steps += [("Resize", "x,,twice", {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}), ("Resize", "x,,twice", {"mode": "linear"})]
    steps += [("Resize", "x,,,size", {"mode": "cubic", "antialias": 1}), ("Resize", "x,,last", {"mode": "linear", "coordinate_transformation_mode": "align_corners"}), ("Resize", "x,,,channels_last", {"mode": "linear"})]
    steps += [("Conv", "v,u", {"group": 2, "pads": [1, 0, 1, 0, 1, 2], "strides": [1, 2, 1], "dilations": [1, 1, 2]}), ("MaxPool", "v", {"kernel_shape": [2, 2, 2], "pads": [1, 0, 0, 0, 1, 1]})]
    steps += [("AveragePool", "v", {"kernel_shape": [2, 3, 2], "pads": [1, 1, 0, 0, 1, 1], "count_include_pad": 1, "ceil_mode": 1, "strides": [2, 2, 2]}), ("GlobalAveragePool", "v", {})]
    steps += [("MatMul", "p,q", {}), ("MatMul", "p,r", {}), ("MatMul", "s,r", {})]
    inputs = [floats("x", [1, 4, 5, 6]), floats("p", [2, 3, 4, 5]), floats("q", [2, 3, 5, 6]), floats("r", [1, 3, 5, 2]), floats("s", [2, 1, 4, 5]), floats("v", [2, 4, 3, 5, 6])]
    return family(path, steps, inputs, [*weights, weight(rng, "u", 6, 2, 2, 3, 2)])


def activations(path):
    """Activations that are fused into a convolution and a product."""
    rng = np.random.default_rng(11)
    nodes, outputs = [], []
    for i, op in enumerate(["Sigmoid", "HardSwish", "LeakyRelu", "HardSigmoid", "Gelu", "Tanh"]):
        nodes += [helper.make_node("Conv", ["x", "w"], [f"c{i}"], f"conv{i}"), helper.make_node(op, [f"c{i}"], [f"o{i}"], f"{op}_{i}")]
        nodes += [helper.make_node("MatMul", ["a", "v"], [f"m{i}"], f"product{i}"), helper.make_node(op, [f"m{i}"], [f"p{i}"], f"{op}_of_{i}")]
        outputs += [f"o{i}", f"p{i}"]
    nodes += [helper.make_node("Sigmoid", ["c0"], ["gate"], "gate"), helper.make_node("Mul", ["c0", "gate"], ["o"], "silu")]
    graph = helper.make_graph(nodes, "g", [floats("x", [1, 2, 4, 4]), floats("a", [3, 4])], [onnx.ValueInfoProto(name=name) for name in [*outputs, "o"]], [weight(rng, "w", 3, 2, 3, 3), weight(rng, "v", 4, 5)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8), path)
    return path


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
        family = re.sub("_(dsp|mve|plain)$", "", header.stem)
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


MODELS = (network, elements, products, ports, integers, line, windows, dense, moves, maps, pairs, reductions, losses, recurrent, images, activations)
PROCESSORS = ("cortex-m7", "cortex-m33", "cortex-m55", "riscv32", "cortex-a53")  # TARGETS are made for all models
OF_TARGETS = {"digits", "network", "products", "line", "windows", "dense", "activations"}  # have loops that differ by target


def check_dump(tally, tinyort, folder):
    """Nodes of 8-bit numbers, which firmware takes only joined: --dump shows what the joined ones make, in the bits of the outputs."""
    x, y = floats("x", [1, 4, 6, 6]), floats("y", [1, 4, 6, 6])
    scales = [numpy_helper.from_array(np.asarray(np.float32(0.05)), "s"), numpy_helper.from_array(np.asarray(np.int8(3)), "zero"), numpy_helper.from_array(np.asarray(np.array([0.01, 0.02, 0.03, 0.04], np.float32)), "ws"), numpy_helper.from_array(np.asarray(np.zeros(4, np.int8)), "wz"),
              numpy_helper.from_array(np.asarray(np.random.default_rng(1).integers(-127, 127, (4, 4, 3, 3), np.int8)), "w")]
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "zero"], ["xq"]), helper.make_node("DequantizeLinear", ["xq", "s", "zero"], ["xd"]),
             helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0), helper.make_node("Conv", ["xd", "wd"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("QuantizeLinear", ["c", "s", "zero"], ["cq"]), helper.make_node("DequantizeLinear", ["cq", "s", "zero"], ["y"])]
    model = save_model(folder / "dumped.onnx", nodes, [x], [y], weights=scales)
    values = folder / "values"
    done = run(tinyort, "run", model, "--ep", "firmware", "--random", "1", "--dump", f"all={values}", "--save", folder / "outputs")
    tally.check(done.returncode == 0 and "folded and fused nodes are looked at as they are" in done.stderr, f"--dump: {done.stdout}{done.stderr}")
    tally.check((values / "cq.npy").exists() and (np.load(values / "y.npy") == np.load(folder / "outputs/output_0.npy")).all(), "the values of joined nodes")
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

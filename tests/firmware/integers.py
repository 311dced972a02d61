"""Tests of what firmware computes in whole numbers between DequantizeLinear and QuantizeLinear: each form as quantizers write it, compiled with
--strict-integers, and held to the graph computed in double, but for ties.

Usage: integers.py TINYORT, from the root of the tree.
"""

import sys
import tempfile
from pathlib import Path

import double
import numpy as np
import onnx
import run as firmware
from onnx import TensorProto, helper, numpy_helper

TARGETS = ("generic", "cortex-m4", "cortex-m55")  # the three forms of the loops
BUILDS = (("clang", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"), ("gcc", "-O1"), ("gcc", "-O1"))  # one for each target: sanitizers are slow to build


class Form:
    """A graph that grows node by node; scales and zero points are random, and so are weights."""

    def __init__(self, kind, seed):
        self.rng, self.kind = np.random.default_rng(seed), kind
        self.nodes, self.weights = [], []

    def constant(self, value):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), f"c{len(self.weights)}"))
        return self.weights[-1].name

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, f"n{len(self.nodes)}_{op}", **attributes))
        return names[0] if outputs == 1 else names

    def quantize(self, x, scale=None, zero=None):
        """QuantizeLinear, then DequantizeLinear."""
        info = np.iinfo(self.kind)
        scale = self.rng.uniform(0.02, 0.06) if scale is None else scale
        zero = self.rng.integers(info.min + 100, info.max - 100) if zero is None else zero
        ends = self.constant(np.float32(scale)), self.constant(np.array(zero, self.kind))
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *ends), *ends)

    def weight(self, *shape, axis=0):
        values = self.rng.integers(-127, 128, shape).astype(np.int8)
        self.scales = self.rng.uniform(0.004, 0.01, shape[axis]).astype(np.float32)
        return self.node("DequantizeLinear", self.constant(values), self.constant(self.scales), self.constant(np.zeros(shape[axis], np.int8)), axis=axis)

    def bias(self, x_scale, groups=1):
        """Of the last weights: integers in steps of the scales of input and weights."""
        scales = np.tile(np.float32(x_scale) * self.scales, groups)
        values = self.rng.integers(-4000, 4000, len(scales)).astype(np.int32)
        return self.node("DequantizeLinear", self.constant(values), self.constant(scales), self.constant(np.zeros(len(scales), np.int32)), axis=0)

    def save(self, name, shape, outputs, folder):
        made = [helper.make_empty_tensor_value_info(output) for output in outputs]
        graph = helper.make_graph(self.nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], made, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, folder / f"{name}.onnx")
        return onnx.shape_inference.infer_shapes(model)


def floats(form, *shape):
    return form.constant(form.rng.normal(size=shape).astype(np.float32))


def sizes(form, *numbers):
    return form.constant(np.array(numbers, np.int64))


def silu(f, x):
    """Sigmoid and Mul, each with its own scale, and as one region."""
    v = f.quantize(x)
    own = f.quantize(f.node("Sigmoid", v), 1 / 255, np.iinfo(f.kind).min)
    return [f.quantize(f.node("Mul", v, own)), f.quantize(f.node("Mul", v, f.node("Sigmoid", v)))]


def functions(f, x):
    """GELU in five nodes with borders between, hard swish in four without, Erf, Exp, Div and Pow by a number, Mish."""
    v = f.quantize(x)
    erf = f.quantize(f.node("Erf", f.node("Div", v, f.constant(np.float32(1.41421356)))), 2 / 255)
    one = f.node("DequantizeLinear", f.constant(np.array(100, f.kind)), f.constant(np.float32(0.01)), f.constant(np.array(0, f.kind)))
    product = f.quantize(f.node("Mul", v, f.quantize(f.node("Add", erf, one), 2 / 255, np.iinfo(f.kind).min)))
    swish = f.node("Clip", f.node("Add", v, f.constant(np.float32(3))), f.constant(np.float32(0)), f.constant(np.float32(6)))
    swish = f.node("Div", f.node("Mul", v, swish), f.constant(np.float32(6)))
    square = f.node("Pow", v, f.constant(np.float32(2)))
    return [f.quantize(f.node("Mul", product, f.constant(np.float32(0.5)))), f.quantize(swish), f.quantize(f.node("Exp", f.node("Neg", square))), f.quantize(square, 0.2)]


def clamped(f, x):
    """Relu and Clip behind a product or a sum whose zero point is not the type's end."""
    v = f.quantize(x, 0.05)
    conv = f.node("Conv", v, f.weight(6, 4, 3, 3), f.bias(0.05), pads=[1, 1, 1, 1])
    total = f.node("Add", v, f.quantize(f.node("Tanh", v), 0.01))
    return [f.quantize(f.node("Relu", conv), 0.1), f.quantize(f.node("Clip", total, f.constant(np.float32(-1)), f.constant(np.float32(2))))]


def chosen(f, x):
    """Nodes that choose elements, with one scale and with two; parts of several scales; padding of a number."""
    v = f.quantize(x, 0.05, 101 if f.kind == np.uint8 else -3)
    a, b = f.node("Split", v, outputs=2, axis=1)
    pads = f.node("Pad", v, sizes(f, 0, 0, 1, 2, 0, 0, 0, 1), f.constant(np.float32(0.7)))
    moved = f.node("Transpose", f.node("Reshape", v, sizes(f, 1, 8, -1)), perm=[0, 2, 1])
    return [f.quantize(a, 0.05, 101 if f.kind == np.uint8 else -3), f.quantize(b), f.quantize(pads), f.quantize(moved), f.quantize(f.node("MaxPool", v, kernel_shape=[2, 2])),
            f.quantize(f.node("ReduceMax", v, axes=[3], keepdims=0)), f.quantize(f.node("Div", f.node("Flatten", f.quantize(x)), f.constant(np.float32(3.3))))]


def means(f, x):
    """Over pixels with and without their axes, over channels, over all; the index of the largest."""
    v = f.quantize(x)
    over = [f.quantize(f.node("ReduceMean", v, axes=axes, keepdims=keep), 0.02) for axes, keep in (([2, 3], 1), ([-1, -2], 0), ([1], 0), ([0, 1, 2, 3], 1), ([3], 0))]
    return [*over, f.node("ArgMax", v, axis=1), f.node("ArgMin", v, axis=-1, keepdims=0)]


def resized(f, x):
    v, none = f.quantize(x), ""
    scales = f.constant(np.array([1, 1, 2, 2], np.float32))
    up = dict(coordinate_transformation_mode="half_pixel")
    return [f.quantize(f.node("Resize", v, none, scales, mode="linear", **up)),
            f.quantize(f.node("Resize", v, none, none, sizes(f, 1, 4, 9, 5), mode="linear", coordinate_transformation_mode="align_corners")),
            f.quantize(f.node("Resize", v, none, none, sizes(f, 1, 4, 9, 13), mode="cubic", **up)),
            f.quantize(f.node("Resize", v, none, scales, mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")),
            f.quantize(f.node("Resize", v, none, f.constant(np.array([1, 1, 1, 3], np.float32)), mode="linear", **up))]


def normalized(f, x):
    """A row of equal elements is among those of x."""
    v = f.quantize(x, 0.03)
    layer = f.node("LayerNormalization", v, floats(f, 8), floats(f, 8), axis=-1)
    wide = f.node("LayerNormalization", v, floats(f, 6, 8), axis=2, epsilon=0.1)
    return [f.quantize(layer), f.quantize(wide), f.quantize(f.node("InstanceNormalization", v, floats(f, 4), floats(f, 4)))]


def transposed(f, x):
    """ConvTranspose of strides above and below the kernel, groups, paddings; with Relu."""
    v, outs = f.quantize(x, 0.05), []
    for w, attributes in (((4, 5, 3, 3), dict(strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])), ((4, 3, 2, 2), dict(strides=[2, 2])),
                          ((4, 2, 3, 4), dict(strides=[1, 3], group=2, pads=[0, 1, 1, 0])), ((4, 1, 2, 1), dict(strides=[3, 2], group=4))):
        weights = f.weight(*w, axis=1)
        bias = [f.bias(0.05, attributes.get("group", 1))] if w[1] > 1 else []
        outs.append(f.quantize(f.node("Relu", f.node("ConvTranspose", v, weights, *bias, **attributes)), 0.08))
    return outs


def products(f, x):
    """Two matrices that change, with axes of batches; a constant one with a bias; scores of attention."""
    v = f.quantize(x, 0.05)
    scores = f.quantize(f.node("MatMul", v, f.quantize(f.node("Transpose", v, perm=[0, 1, 3, 2]))), 0.2)
    softmax = f.quantize(f.node("Softmax", f.quantize(f.node("Mul", scores, f.constant(np.float32(0.35))), 0.07)), 1 / 255, np.iinfo(f.kind).min)
    dense = [f.node("Add", f.node("MatMul", v, f.weight(8, 5, axis=1)), f.bias(0.05)) for _ in range(2)]
    return [f.quantize(f.node("MatMul", softmax, v)), f.quantize(dense[0], 0.1), f.quantize(f.node("Relu", dense[1]), 0.1)]


FORMS = (silu, functions, clamped, chosen, means, resized, normalized, transposed, products)
SHAPE = (1, 4, 6, 8)


def check(tally, tinyort, make, kind, folder):
    name = f"{make.__name__}_{np.dtype(kind).name}"
    form = Form(kind, FORMS.index(make))
    model = form.save(name, SHAPE, make(form, "x"), folder)
    x = (form.rng.normal(size=SHAPE) * 2).astype(np.float32)
    x[0, 1, 2] = 0.5
    np.save(folder / "x.npy", x)
    (folder / "x.raw").write_bytes(x.tobytes())
    expected, ties = double.compute(model, {"x": x})
    for target, build in zip(TARGETS, BUILDS, strict=True):
        out = folder / f"{name}_{target}"
        done = firmware.run(tinyort, "run", folder / f"{name}.onnx", "--ep", f"firmware:target={target}", "--strict", "--input", folder / "x.npy", "--save", out)
        tally.check(done.returncode == 0, f"{name} for {target}: {done.stderr[:600]}")
        found = [np.load(out / f"output_{i}.npy") for i in range(len(expected))]
        for i, (own, other) in enumerate(zip(found, expected, strict=True)):
            away = ~np.isclose(own, other, rtol=1e-6, atol=1e-6)
            tally.check(own.shape == other.shape and away.sum() <= ties, f"{name} for {target}: output {i} differs from double in {away.sum()} of {own.size}, {ties} ties")
        done = firmware.run(tinyort, "compile", folder / f"{name}.onnx", "-o", out / "c", "--main", "--target", target, "--strict-integers")
        tally.check(done.returncode == 0, f"compile {name} for {target}: {done.stderr[:600]}")
        firmware.check_build(tally, out / "c", name, build, [folder / "x.raw"], found)


def check_refusal(tally, tinyort, folder):
    """What does compute with floats is told, and refused if asked for."""
    form = Form(np.int8, 1)
    v = form.quantize(form.node("Relu", form.quantize("x")))
    form.save("floats", SHAPE, [form.node("Add", v, form.node("CumSum", v, form.constant(np.int64(2))))], folder)
    words = ["compile", folder / "floats.onnx", "-o", folder / "floats"]
    done = firmware.run(tinyort, *words)
    tally.check(done.returncode == 0 and "               n5_CumSum (CumSum)\n" in done.stdout, f"compile floats: {done.stdout}{done.stderr}")
    done = firmware.run(tinyort, *words, "--strict-integers")
    tally.check(done.returncode == 4 and "n5_CumSum (CumSum)" in done.stderr, f"compile floats --strict-integers: status {done.returncode}: {done.stderr}")


def check_extremes(tally, tinyort, folder):
    """What whole numbers do not take is left to floats: far strides, a variance below 0."""
    form = Form(np.int8, 2)
    v = form.quantize("x")
    made = {"a stride of 65": form.node("ConvTranspose", v, form.weight(4, 2, 1, 1, axis=1), strides=[65, 1]), "(InstanceNormalization)": form.node("InstanceNormalization", v, floats(form, 4), floats(form, 4), epsilon=-1.0)}
    for said, value in made.items():
        form.save("extreme", SHAPE, [form.quantize(value)], folder)
        done = firmware.run(tinyort, "compile", folder / "extreme.onnx", "-o", folder / "extreme", "--strict-integers")
        tally.check(done.returncode == 4 and said in done.stderr, f"compile extreme --strict-integers: status {done.returncode}: {done.stderr}")


def main():
    tally, tinyort = firmware.Tally(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        for make in FORMS:
            for kind in (np.int8, np.uint8):
                check(tally, tinyort, make, kind, Path(name))
        check_refusal(tally, tinyort, Path(name))
        check_extremes(tally, tinyort, Path(name))
    print(f"firmware, integers: {tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()

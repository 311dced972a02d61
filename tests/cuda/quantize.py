"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear of the CUDA provider against numpy and ml_dtypes, bit for bit.

Usage: quantize.py TINYORT [PROVIDER], cudasim by default. Each kind of scale (of a tensor, of an axis) is a model with a node for each pair of
types, run on that provider alone. A NaN of floats may have any bits. Images between convolutions with channels last are quantized as
they lie: the plan converts nothing between them.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 25, 12
TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float16): TensorProto.FLOAT16,
    np.dtype(ml_dtypes.bfloat16): TensorProto.BFLOAT16,
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.uint8): TensorProto.UINT8,
}
FLOATS = [np.dtype(t) for t in (np.float32, np.float16, ml_dtypes.bfloat16)]
STORED = [np.dtype(t) for t in (np.int8, np.uint8)]
# shape of x, axis (None: one scale). Rows of whole packs, of none, and scales that are neighbours.
FORMS = [((3, 5, 37), None), ((3, 4, 32), 1), ((3, 7, 5), 1), ((3, 5, 24), 2), ((41,), 0)]


class Model:
    """Nodes side by side; what each makes is compared with what it should."""

    def __init__(self):
        self.nodes, self.inputs, self.expected = [], {}, []

    def input(self, array):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = array
        return name

    def node(self, op, arrays, expected, domain="", **attributes):
        """expected: an output that is None is absent."""
        names = ["" if array is None else self.input(array) for array in arrays]
        made = ["" if value is None else f"y{len(self.expected) + i}" for i, value in enumerate(expected)]
        self.nodes.append(helper.make_node(op, names, made, domain=domain, **attributes))
        self.expected += [(f"{op} {domain} {', '.join('-' if a is None else f'{a.dtype}{list(a.shape)}' for a in arrays)} {attributes}", name, value) for name, value in zip(made, expected)]

    def check(self, tinyort, provider, folder):
        """Yields what is wrong with each output: an empty text for nothing."""
        self.expected = [entry for entry in self.expected if entry[1]]
        values = [helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape) for name, array in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "quantize", values, [helper.make_empty_tensor_value_info(name) for _, name, _ in self.expected])
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        (folder / "quantize.onnx").write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString())
        command = [tinyort, "run", folder / "quantize.onnx", "--ep", provider, "--save", folder]
        for name, array in self.inputs.items():
            np.save(folder / f"{name}.npy", bits_of(array))
            command += ["--input", f"{name}={folder / name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            yield done.stderr.strip()
            return
        for i, (text, _, value) in enumerate(self.expected):
            found = np.load(folder / f"output_{i}.npy").view(bits_of(value).dtype)
            same = (found == bits_of(value)) | ((value != value) & (found.view(value.dtype) != found.view(value.dtype)))
            at = tuple(np.argwhere(~same)[0]) if not same.all() else ()
            yield "" if same.all() else f"{text}: {(~same).sum()} of {same.size} differ, the first at {at}: {found[at]}, expected {bits_of(value)[at]}"


def bits_of(array):
    """The array as .npy holds it: types that numpy has not are their bits."""
    return array.view({1: np.uint8, 2: np.uint16}[array.dtype.itemsize]) if array.dtype.kind == "V" else array


def spread(numbers, shape, axis):
    """Scales or zero points beside the elements to which they belong."""
    return numbers if axis is None else np.broadcast_to(numbers.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)


def quantized(x, scale, zero, stored, precision):
    with np.errstate(all="ignore"):
        quotient = (x.astype(np.float32) / scale.astype(np.float32)).astype(precision).astype(np.float32)
    info = np.iinfo(stored)
    rounded = np.rint(quotient.astype(np.float64)) + (0 if zero is None else zero.astype(np.float64))
    return np.where(np.isnan(rounded), info.min, np.clip(rounded, info.min, info.max)).astype(stored)


def dequantized(x, scale, zero, dtype):
    with np.errstate(all="ignore"):
        return ((x.astype(np.float32) - (0 if zero is None else zero.astype(np.float32))) * scale.astype(np.float32)).astype(dtype)


def dynamically(x):
    """y, its scale and its zero point, as the operator is defined; a range of 0 has scale 1, and NaN is not in the range."""
    low, high = (np.float32(f(np.append(x[~np.isnan(x)], np.float32(0)))) for f in (np.min, np.max))
    scale = (high - low) / np.float32(255) if high > low else np.float32(1)
    zero = np.uint8(np.clip(np.rint(-low / scale), 0, 255)) if scale > 0 else np.uint8(0)
    return quantized(x, scale if scale > 0 else np.float32(1), zero, np.dtype(np.uint8), np.float32), scale, zero


def numbers(random, dtype, shape):
    """Elements of a stored type."""
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max + 1, shape).astype(dtype)


def operands(random, shape, axis, dtype, stored):
    """x and scales in dtype, and zero points: many quotients are ties, some are out of range or not finite."""
    count = () if axis is None else shape[axis]
    scale = np.asarray(np.exp2(random.integers(-6, 3, count)) * np.where(random.random(count) < 0.5, 1, 1.375)).astype(dtype)
    halves = random.integers(-600, 600, shape) / 2
    x = np.where(random.random(shape) < 0.5, halves, halves * random.random(shape)) * spread(scale, shape, axis).astype(np.float64)
    x.flat[:: x.size // 7] = [np.nan, np.inf, -np.inf, 1e30, -1e30, -0.0, 6e-8, 3e-42][: len(x.flat[:: x.size // 7])]
    return x.astype(dtype), scale, numbers(random, stored, count)


def by_scale(shape, axis):
    """Both operators, of all types, with zero points and without."""
    model, random = Model(), np.random.default_rng(7)
    place = {} if axis is None else {"axis": axis}
    for dtype, stored, shifted in itertools.product(FLOATS, STORED, (True, False)):
        x, scale, zero = operands(random, shape, axis, dtype, stored)
        around = (spread(scale, shape, axis), spread(zero, shape, axis) if shifted else None)
        rest = [scale, zero] if shifted else [scale]
        kept = place if shifted else {**place, "output_dtype": TYPES[stored]}
        model.node("QuantizeLinear", [x, *rest], [quantized(x, *around, stored, dtype)], **kept)
        model.node("QuantizeLinear", [x, *rest], [quantized(x, *around, stored, np.float32)], **kept, precision=TensorProto.FLOAT)
        codes = numbers(random, stored, shape)
        model.node("DequantizeLinear", [codes, *rest], [dequantized(codes, *around, dtype)], **place)
        if dtype != ml_dtypes.bfloat16 and shifted:
            given = {"axis": 0 if axis is None else axis}
            model.node("QuantizeLinear", [x, *rest], [quantized(x, *around, stored, np.float32)], "com.microsoft", **given)
            model.node("DequantizeLinear", [codes, *rest], [dequantized(codes, *around, dtype)], "com.microsoft", **given)
    return model


def by_range():
    model, random = Model(), np.random.default_rng(8)
    for low, high, count in ((-1, 3, 5001), (1, 2, 64), (-7, -2, 33), (-1e-45, 1e-45, 12), (-3e38, 3e38, 12), (0, 0, 5), (0, 1, 300000)):
        x = random.uniform(low, high, count).astype(np.float32)
        x[3] = np.nan
        y, scale, zero = dynamically(x)
        for absent in (None, 1, 2):
            model.node("DynamicQuantizeLinear", [x], [None if i == absent else np.asarray(value) for i, value in enumerate((y, scale, zero))])
    return model


def converted_between(tinyort, provider, folder):
    """Images of halves that are quantized between two convolutions, whose values the plan converts but for the first and the last."""
    weights = [numpy_helper.from_array(np.ones((16, 16, 3, 3), np.float16), "w"), numpy_helper.from_array(np.float16(0.5), "s"), numpy_helper.from_array(np.int8(3), "z")]
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("QuantizeLinear", ["a", "s", "z"], ["b"]), helper.make_node("DequantizeLinear", ["b", "s", "z"], ["c"]), helper.make_node("Conv", ["c", "w"], ["y"])]
    graph = helper.make_graph(nodes, "images", [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [1, 16, 9, 9])], [helper.make_empty_tensor_value_info(name) for name in ("b", "y")], weights)
    path = folder / "images.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())
    done = subprocess.run([tinyort, "plan", path, "--ep", provider, "--json"], capture_output=True, text=True, check=True)
    values = sorted(step["value"] for step in json.loads(done.stdout)["conversions"])
    np.save(folder / "x.npy", np.random.default_rng(9).integers(-3, 4, (1, 16, 9, 9)).astype(np.float16))
    same = subprocess.run([tinyort, "compare", path, "--ep", "cpu", "--ep", provider, "--input", f"x={folder / 'x.npy'}"], capture_output=True, text=True)
    return (f"converts {values}" if values != ["b", "x", "y"] else "") + (same.stdout if same.returncode else "")


def main():
    tinyort, provider = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cudasim"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = [by_scale(*form) for form in FORMS] + [by_range()]
        problems = [problem for model in models for problem in model.check(tinyort, provider, folder)]
        problems.append(converted_between(tinyort, provider, folder))
    failed = sum(map(bool, problems))
    print("".join(f"FAILED: {problem}\n" for problem in problems if problem) + f"cuda-quantize: {len(problems) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

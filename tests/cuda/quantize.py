"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear of the CUDA provider against numpy and ml_dtypes, bit for bit.

Usage: quantize.py TINYORT [PROVIDER], cudasim by default. Each kind of scale (of a tensor, of an axis, of blocks) is a model with a node for each pair of
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

OPSET, IR_VERSION = 28, 14
FLOATS = [np.dtype(t) for t in (np.float32, np.float16, ml_dtypes.bfloat16)]
BYTES = [np.dtype(t) for t in (np.int8, np.uint8)]
E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
TYPES = {dtype: getattr(TensorProto, name) for dtype, name in zip(FLOATS + BYTES + [np.dtype(np.int32), E8M0], ("FLOAT", "FLOAT16", "BFLOAT16", "INT8", "UINT8", "INT32", "FLOAT8E8M0"))}
# Types of few bits, and of 16, that only the general kernels take: the number of bits of each.
SHORT = {np.dtype(t): bits for t, bits in ((ml_dtypes.int4, 4), (ml_dtypes.uint4, 4), (ml_dtypes.int2, 2), (ml_dtypes.uint2, 2), (ml_dtypes.float4_e2m1fn, 4), (ml_dtypes.float6_e2m3fn, 6), (ml_dtypes.float6_e3m2fn, 6))}
WHOLE = [np.dtype(t) for t in (np.int16, np.uint16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz)]
RARE = WHOLE + list(SHORT)
TYPES |= {dtype: getattr(TensorProto, dtype.name.upper().replace("_", "").replace("FN", "")) for dtype in SHORT}
TYPES |= {dtype: getattr(TensorProto, dtype.name.upper().replace("_", "")) for dtype in WHOLE}
# shape of x, axis (None: one scale), block (None: a scale for each index). Rows of whole packs, of none, and scales that are neighbours.
FORMS = [((3, 5, 37), None, None), ((3, 4, 32), 1, None), ((3, 7, 5), 1, None), ((3, 5, 24), 2, None), ((41,), 0, None)]
BLOCKS = [((3, 5, 37), 2, 16), ((3, 7, 5), 1, 3), ((2, 8, 8), 0, 9)]


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
    if array.dtype.isbuiltin == 1:
        return array
    bits = SHORT.get(array.dtype, 8 * array.dtype.itemsize)
    return array.view({1: np.uint8, 2: np.uint16}[array.dtype.itemsize]) & (2**bits - 1)


def is_integer(dtype):
    return dtype.kind in "iu" or "int" in dtype.name


def counts(shape, axis, block):
    """Shape of the scales."""
    if axis is None:
        return ()
    return (shape[axis],) if block is None else tuple(-(-size // block) if d == axis else size for d, size in enumerate(shape))


def spread(numbers, shape, axis, block):
    """Scales or zero points beside the elements to which they belong."""
    if axis is None:
        return numbers
    if block is not None:
        return np.repeat(numbers, block, axis).take(range(shape[axis]), axis)
    return np.broadcast_to(numbers.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)


def quantized(x, scale, zero, stored, precision, saturate=True):
    with np.errstate(all="ignore"):
        quotient = (x.astype(np.float32) / scale.astype(np.float32)).astype(precision).astype(np.float32)
        if not is_integer(stored):
            moved = quotient + (0 if zero is None else zero.astype(np.float32))
            largest = float(ml_dtypes.finfo(stored).max)
            return (np.clip(moved, -largest, largest) if saturate else moved).astype(stored)
    info = ml_dtypes.iinfo(stored)
    rounded = np.rint(quotient.astype(np.float64)) + (0 if zero is None else zero.astype(np.float64))
    return np.where(np.isnan(rounded), info.min, np.clip(rounded, info.min, info.max)).astype(np.int32).astype(stored)


def dequantized(x, scale, zero, dtype):
    wide = np.float64 if x.dtype == np.int32 else np.float32
    with np.errstate(all="ignore"):
        return ((x.astype(wide) - (0 if zero is None else zero.astype(wide))) * scale.astype(wide)).astype(dtype)


def dynamically(x):
    """y, its scale and its zero point, as the operator is defined; a range of 0 has scale 1, and NaN is not in the range."""
    low, high = (np.float32(f(np.append(x[~np.isnan(x)], np.float32(0)))) for f in (np.min, np.max))
    scale = (high - low) / np.float32(255) if high > low else np.float32(1)
    zero = np.uint8(np.clip(np.rint(-low / scale), 0, 255)) if scale > 0 else np.uint8(0)
    return quantized(x, scale if scale > 0 else np.float32(1), zero, np.dtype(np.uint8), np.float32), scale, zero


def numbers(random, dtype, shape):
    """Elements of a stored type: any bits."""
    if is_integer(dtype):
        info = ml_dtypes.iinfo(dtype)
        return random.integers(info.min, info.max + 1, shape).astype(dtype)
    return np.asarray(random.integers(0, 2 ** SHORT.get(dtype, 8), shape)).astype(np.uint8).view(dtype)


def operands(random, form, dtype, stored, scale_type=None):
    """x and scales, in dtype, and zero points: many quotients are ties, some are out of range or not finite."""
    shape, count = form[0], counts(*form)
    scale = np.asarray(np.exp2(random.integers(-6, 3, count)) * np.where(random.random(count) < 0.5, 1, 1.375)).astype(scale_type or dtype)
    if scale_type == np.int32:
        scale = np.asarray(random.integers(1, 4, count)).astype(np.int32)
    most = 600 if is_integer(stored) else 8
    halves = random.integers(-most, most, shape) / 2
    x = np.where(random.random(shape) < 0.5, halves, halves * random.random(shape)) * spread(scale, *form).astype(np.float64)
    if dtype == np.int32:
        return random.integers(-900, 900, shape).astype(np.int32), scale, numbers(random, stored, count)
    at = range(0, x.size, x.size // 7)
    x.flat[at] = [np.nan, np.inf, -np.inf, 1e30, -1e30, -0.0, 6e-8, 3e-42][: len(at)]
    return x.astype(dtype), scale, numbers(random, stored, count)


def placed(form):
    return {name: value for name, value in zip(("axis", "block_size"), form[1:]) if value is not None}


def by_scale(form):
    """Both operators between floats and bytes, with zero points and without."""
    model, random, place = Model(), np.random.default_rng(7), placed(form)
    for dtype, stored, shifted in itertools.product(FLOATS, BYTES, (True, False)):
        x, scale, zero = operands(random, form, dtype, stored)
        around = (spread(scale, *form), spread(zero, *form) if shifted else None)
        rest = [scale, zero] if shifted else [scale]
        kept = place if shifted else {**place, "output_dtype": TYPES[stored]}
        model.node("QuantizeLinear", [x, *rest], [quantized(x, *around, stored, dtype)], **kept)
        model.node("QuantizeLinear", [x, *rest], [quantized(x, *around, stored, np.float32)], **kept, precision=TensorProto.FLOAT)
        codes = numbers(random, stored, form[0])
        model.node("DequantizeLinear", [codes, *rest], [dequantized(codes, *around, dtype)], **place)
        if dtype != ml_dtypes.bfloat16 and shifted and "block_size" not in place:
            given = {"axis": 0, **place}
            model.node("QuantizeLinear", [x, *rest], [quantized(x, *around, stored, np.float32)], "com.microsoft", **given)
            model.node("DequantizeLinear", [codes, *rest], [dequantized(codes, *around, dtype)], "com.microsoft", **given)
    return model


def by_type(form):
    """The types of the general kernels; scales, zero points and saturation come in turns."""
    model, random, place = Model(), np.random.default_rng(11), placed(form)
    scales = itertools.cycle([*FLOATS, E8M0, np.dtype(np.int32)])
    for i, (dtype, stored) in enumerate(itertools.product([*FLOATS, np.dtype(np.int32)], RARE + BYTES)):
        scale_type, shifted, saturate = next(scales), i % 3 > 0, i % 2 == 0
        x, scale, zero = operands(random, form, dtype, stored, scale_type)
        around = (spread(scale, *form), spread(zero, *form) if shifted else None)
        rest = [scale, zero] if shifted else [scale]
        kept = {**place, "saturate": int(saturate)} | ({} if shifted else {"output_dtype": TYPES[stored]})
        precision = scale_type if scale_type in FLOATS else np.float32
        model.node("QuantizeLinear", [x, *rest], [quantized(x, *around, stored, precision, saturate)], **kept)
        for given in FLOATS[: i % 4]:
            model.node("QuantizeLinear", [x, *rest], [quantized(x, *around, stored, given, saturate)], **kept, precision=TYPES[given])
        if dtype in FLOATS and scale_type != np.int32:
            codes = numbers(random, stored, form[0])
            model.node("DequantizeLinear", [codes, *rest], [dequantized(codes, *around, dtype)], **place, output_dtype=TYPES[dtype])
    for dtype, shifted in itertools.product(FLOATS, (True, False)):
        scale = operands(random, form, dtype, np.dtype(np.int8))[1]
        codes, zero = (random.integers(-(2**31), 2**31, shape).astype(np.int32) for shape in (form[0], scale.shape))
        codes.flat[::2] >>= 20
        zero = np.asarray(zero)
        around = (spread(scale, *form), spread(zero, *form) if shifted else None)
        model.node("DequantizeLinear", [codes, scale, zero][: 2 + shifted], [dequantized(codes, *around, dtype)], **place)
    # Just above the middle of two halves, where a float lies upon it.
    codes, scale = np.array([(2049 << 13) + 1], np.int32), np.asarray(np.float16(2**-13))
    model.node("DequantizeLinear", [codes, scale], [np.array([2050], np.float16)])
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
        models = [by_scale(form) for form in FORMS + BLOCKS] + [by_type(form) for form in FORMS + BLOCKS] + [by_range()]
        problems = [problem for model in models for problem in model.check(tinyort, provider, folder)]
        problems.append(converted_between(tinyort, provider, folder))
    failed = sum(map(bool, problems))
    print("".join(f"FAILED: {problem}\n" for problem in problems if problem) + f"cuda-quantize: {len(problems) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

"""Models that people write: functions of onnxscript, graphs of spox and of ndonnx, compared with onnxruntime by compare.py.

    handwritten.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]
"""

import ndonnx
import numpy
import onnx
import spox
import spox.opset.ai.onnx.v21 as op21
from compare import arguments, chosen, run_cases
from onnxscript import FLOAT, INT64, STRING, script
from onnxscript import opset18 as op
from onnxscript.values import Opset

SEED = 9
OURS = Opset("tests.functions", 1)


def values(*shape, seed=SEED, scale=1.0):
    return (scale * numpy.random.default_rng(seed).normal(size=shape)).astype(numpy.float32)


# ---- onnxscript: control flow in Python's words, functions that call functions with attributes ----


@script(OURS, default_opset=op)
def scaled(x, factor: float = 0.5):
    return x * op.Constant(value_float=factor)


@script(OURS, default_opset=op)
def swish(x, beta: float = 1.0):
    return x * op.Sigmoid(scaled(x, factor=beta))


@script(OURS, default_opset=op)
def normalized(x, epsilon: float = 1e-5):
    mean = op.ReduceMean(x, op.Constant(value_ints=[-1]))
    centred = x - mean
    variance = op.ReduceMean(centred * centred, op.Constant(value_ints=[-1]))
    return centred / op.Sqrt(variance + op.Constant(value_float=epsilon))


@script(default_opset=op)
def calls_functions(x: FLOAT["N", 6]) -> FLOAT["N", 6]:
    return normalized(swish(x, beta=1.5)) + swish(normalized(x, epsilon=1e-3))


@script(default_opset=op)
def sums_until(x: FLOAT["N", 3], limit: FLOAT[1]) -> FLOAT[3]:
    total = op.ReduceSum(x * 0.0, op.Constant(value_ints=[0]), keepdims=0)
    going = op.Cast(op.Constant(value_int=1), to=9)
    i = op.Constant(value_int=0)
    while going:
        total = total + op.Gather(x, i, axis=0)
        i = i + 1
        going = op.And(i < op.Squeeze(op.Gather(op.Shape(x), op.Constant(value_ints=[0]))), op.Squeeze(op.ReduceSum(op.Abs(total)) < limit))
    return total


@script(default_opset=op)
def polynomial(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:
    y = op.Identity(x)
    for i in range(n):
        y = y * x + op.Cast(i, to=1)
    return y


@script(default_opset=op)
def chooses(x: FLOAT["N"]) -> FLOAT["N"]:
    if op.ReduceSum(x, keepdims=0) > 0.0:
        y = op.Relu(x)
    else:
        y = op.Exp(op.Clip(x, -3.0, 0.0))
    return y


@script(default_opset=op)
def collects(x: FLOAT["N"], n: INT64):
    parts = op.SequenceEmpty()
    for i in range(n):
        parts = op.SequenceInsert(parts, x * op.Cast(i, to=1))
    return op.ConcatFromSequence(parts, axis=0, new_axis=1), op.SequenceLength(parts)


@script(default_opset=op)
def normalizes_text(words: STRING["N"]) -> STRING["N"]:
    return op.StringNormalizer(words, case_change_action="UPPER", stopwords=["THE", "OF"], is_case_sensitive=0, locale="C.UTF-8")


# ---- spox: graphs out of typed constructors, with inlined models and subgraphs ----


def argument(name, kind, *shape):
    return spox.argument(spox.Tensor(kind, shape))


def spox_newton():
    """A Loop with a body of captured values."""
    a, trips = argument("a", numpy.float32, "N"), argument("n", numpy.int64, 1)
    half = op21.const(numpy.float32(0.5))
    (root,) = op21.loop(trips, op21.const(numpy.array([True])), [a], body=lambda i, going, x: [op21.identity(going), op21.mul(half, op21.add(x, op21.div(a, x)))])
    return {"a": a, "n": trips}, {"root": root}


def spox_conditions():
    x = argument("x", numpy.float32, "N", 4)
    (picked,) = op21.if_(op21.greater(op21.reduce_sum(x, keepdims=False), op21.const(numpy.float32(0))),
                         then_branch=lambda: [op21.softmax(x, axis=1)], else_branch=lambda: [op21.neg(x)])
    top, index = op21.top_k(picked, op21.const(numpy.array([2], numpy.int64)))
    return {"x": x}, {"top": top, "index": index}


def spox_quantized():
    x = argument("x", numpy.float32, "N", 6)
    bytes_of, scale, zero = op21.dynamic_quantize_linear(x)
    product = op21.matmul_integer(bytes_of, op21.const(numpy.arange(-9, 9, dtype=numpy.int8).reshape(6, 3)), zero)
    return {"x": x}, {"y": op21.mul(op21.cast(product, to=numpy.float32), scale), "bytes": bytes_of}


def spox_text():
    x = argument("x", numpy.str_, "N")
    parts, length = op21.string_split(x, delimiter=" ")
    return {"x": x}, {"parts": parts, "length": length, "twice": op21.string_concat(x, x)}


# ---- ndonnx: NumPy's words ----


def array(kind, *shape):
    return ndonnx.argument(shape=shape, dtype=kind)


def ndonnx_statistics():
    x = array(ndonnx.float32, "N", 4)
    centred = x - ndonnx.mean(x, axis=0, keepdims=True)
    return {"x": x}, {"std": ndonnx.sqrt(ndonnx.mean(centred**2, axis=0)), "order": ndonnx.argsort(x, axis=0), "largest": ndonnx.max(x, axis=1)}


def ndonnx_missing():
    """Numbers that may be missing: a pair of tensors each."""
    x = array(ndonnx.nfloat32, "N")
    return {"x": x}, {"filled": ndonnx.extensions.fill_null(x * 2.0 + 1.0, ndonnx.asarray(-1.0, dtype=ndonnx.float32))}


def ndonnx_text():
    x = array(ndonnx.utf8, "N")
    return {"x": x}, {"same": x == "b", "joined": x + "!"}


def ndonnx_dates():
    x = array(ndonnx.int64, "N")
    return {"x": x}, {"week": x // 7 % 2, "bits": (x << 3) ^ 5, "unique": ndonnx.unique_values(x), "picked": ndonnx.where(x > 4, x, -x)}


def write_script(function, path):
    model = function.to_model_proto() if hasattr(function, "to_model_proto") else function
    onnx.save(model, path)


def write_spox(make, path):
    onnx.save(spox.build(*make()), path)


def write_ndonnx(make, path):
    onnx.save(ndonnx.build(*make()), path)


def entry(tool, what, *runs):
    write = {"onnxscript": write_script, "spox": write_spox, "ndonnx": write_ndonnx}[tool]
    return {"tool": tool, "what": what, "write": write, "runs": runs}


def count(n):
    return numpy.array(n, numpy.int64)


def words(*text):
    return numpy.array(text, object)


def null(*bits):
    return numpy.array(bits, bool)


HANDWRITTEN = {
    "calls_functions": entry("onnxscript", calls_functions, {"x": values(4, 6)}, {"x": values(1, 6)}),
    "sums_until": entry("onnxscript", sums_until, *({"x": values(8, 3), "limit": numpy.array([limit], numpy.float32)} for limit in (2, 100))),
    "polynomial": entry("onnxscript", polynomial, {"x": values(5), "n": count(4)}, {"x": values(2), "n": count(0)}),
    "chooses": entry("onnxscript", chooses, {"x": values(5) + 1}, {"x": values(7) - 1}),
    "collects": entry("onnxscript", collects, {"x": values(5), "n": count(3)}, {"x": values(2), "n": count(1)}),
    "normalizes_text": entry("onnxscript", normalizes_text, {"words": words("the", "End", "of", "Días")}),
    "spox_newton": entry("spox", spox_newton, {"a": values(4) ** 2 + 1, "n": count([6])}, {"a": values(2) ** 2 + 1, "n": count([0])}),
    "spox_conditions": entry("spox", spox_conditions, {"x": values(3, 4) + 1}, {"x": values(2, 4) - 1}),
    "spox_quantized": entry("spox", spox_quantized, {"x": values(5, 6)}, {"x": values(1, 6)}),
    "spox_text": entry("spox", spox_text, {"x": words("a b c", "one  two", "x", "Überall hier")}),
    "ndonnx_statistics": entry("ndonnx", ndonnx_statistics, {"x": values(6, 4)}, {"x": values(1, 4)}),
    "ndonnx_missing": entry("ndonnx", ndonnx_missing, {"x_values": values(4), "x_null": null(0, 1, 0, 1)}),
    "ndonnx_text": entry("ndonnx", ndonnx_text, {"x": words("a", "b", "", "b")}),
    "ndonnx_dates": entry("ndonnx", ndonnx_dates, {"x": numpy.array([3, 9, 3, 14, -8], numpy.int64)}),
}


def case_of(folder, name, entry):
    path = folder / f"{name}.onnx"
    return {"label": f"{name} ({entry['tool']})", "architecture": "", "exporter": entry["tool"], "package": entry["tool"], "path": path,
            "export": lambda: entry["write"](entry["what"], path), "runs": entry["runs"]}


def main():
    options = arguments().parse_args()
    run_cases(options, [case_of(options.folder, name, entry) for name, entry in chosen(options, HANDWRITTEN).items()])


if __name__ == "__main__":
    main()

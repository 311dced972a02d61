"""Networks that onnxruntime has quantized: every 8-bit tensor against the graph in double, outputs against onnxruntime, and what is told.

Usage: networks.py TINYORT [--thorough]. Each network is quantized with QuantizeLinear and DequantizeLinear around float operators and
with operators on 8-bit numbers, by tensor and by channel, as uint8 and int8. All 8-bit tensors of a run are kept; each must be
what its node makes, in double, of those that the run itself has before it, so that no error hides behind an earlier one. Then
products that are left in float32 must be told by every command, with the reason.
"""

import json
import logging
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from cases import conv, erf, softmax
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

sys.path[:0] = [str(Path(__file__).parents[1] / "embed"), str(Path(__file__).parents[1])]
import models
from saturation import unsaturated

U8, S8, U16 = QuantType.QUInt8, QuantType.QInt8, QuantType.QUInt16
QDQ, OPERATORS = QuantFormat.QDQ, QuantFormat.QOperator
VARIANTS = {  # form, activations, weights, by channel
    "qdq_u8_s8_channels": (QDQ, U8, S8, True),
    "qdq_s8_s8": (QDQ, S8, S8, False),
    "qdq_u8_u8": (QDQ, U8, U8, False),
    "operators_u8_u8": (OPERATORS, U8, U8, False),
    "operators_s8_s8_channels": (OPERATORS, S8, S8, True),
}
NETWORKS = ("resnet8", "ds_cnn", "transformer", "autoencoder")
THOROUGH = NETWORKS + ("mobilenet_v1_025_96",)
TIE, FLOAT_TIE = 1e-4, 1e-2  # steps: of what integers make, and of what float32 makes on the way


# ---- the graph in double ---------------------------------------------------------------------------------------------


def along(numbers, axis, rank):
    numbers = np.asarray(numbers, np.float64)
    return numbers.reshape([-1 if d == axis % rank else 1 for d in range(rank)]) if numbers.size > 1 else numbers.reshape(())


def real(x, scale, zero, axis=1):
    return (x.astype(np.float64) - along(zero, axis, x.ndim)) * along(scale, axis, x.ndim)


def layer_norm(x, scale, bias=0.0, axis=-1, epsilon=1e-5, **_):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * scale + bias


def convolve(x, w, b=0.0, group=1, strides=(1, 1), pads=(0, 0, 0, 0), **_):
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    return conv(x, w, b, group, strides)


OPERATIONS = {
    "Conv": convolve,
    "Gemm": lambda a, b, c=0.0, transA=0, transB=0, alpha=1.0, beta=1.0: alpha * ((a.T if transA else a) @ (b.T if transB else b)) + beta * c,
    "MatMul": np.matmul,
    "Add": np.add,
    "Mul": np.multiply,
    "Relu": lambda x: np.maximum(x, 0),
    "Erf": erf,
    "GlobalAveragePool": lambda x, **_: x.mean((2, 3), keepdims=True),
    "Flatten": lambda x, axis=1: x.reshape(int(np.prod(x.shape[:axis])), -1),
    "Reshape": lambda x, to, **_: x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(to)]),
    "Transpose": lambda x, perm: x.transpose(perm),
    "Softmax": lambda x, axis=-1, **_: np.moveaxis(softmax(np.moveaxis(x, axis, -1)), -1, axis),
    "ReduceMean": lambda x, axes=None, keepdims=1: x.mean(tuple(axes), keepdims=bool(keepdims)),
    "LayerNormalization": layer_norm,
}
# Of operators on 8-bit numbers: the float operator, the inputs that are operands, that of the result's scale, that of a bias.
LINEAR = {
    "QLinearConv": ("Conv", (0, 3), 6, 8),
    "QLinearMatMul": ("MatMul", (0, 3), 6, None),
    "QGemm": ("Gemm", (0, 3), 7, 6),
    "QLinearAdd": ("Add", (0, 3), 6, None),
    "QLinearMul": ("Mul", (0, 3), 6, None),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", (0,), 3, None),
    "QLinearSoftmax": ("Softmax", (0,), 3, None),
}


def weight_axis(node, operand):
    """The axis of the scales of weights: filters, or columns."""
    if node.op_type == "QLinearConv":
        return 0
    trans = next((a.i for a in node.attribute if a.name == "transB"), 0)
    return 0 if node.op_type == "QGemm" and trans else -1


class Evaluator:
    def __init__(self, model, feeds, made):
        self.values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer} | feeds
        self.made = made  # 8-bit tensors of the run
        self.steps = {}  # what they should be before rounding
        for node in model.graph.node:
            self.evaluate(node)

    def evaluate(self, node):
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        inputs = [self.values[name] if name else None for name in node.input]
        if node.op_type == "DequantizeLinear":
            result = real(inputs[0], inputs[1], inputs[2] if len(inputs) > 2 else 0, attributes.get("axis", 1))
        elif node.op_type == "QuantizeLinear":
            result = self.quantized(node, inputs[0], inputs[1], inputs[2])
        elif node.op_type in LINEAR:
            result = self.linear(node, inputs, attributes)
        elif inputs[0].dtype.kind in "iu" and node.output[0] in self.made:
            result = self.made[node.output[0]]  # bytes that are moved
        else:
            floats = [x if x is None or x.dtype.kind in "iu" and x.dtype != np.int32 else x.astype(np.float64) for x in inputs]
            result = OPERATIONS[node.op_type](*floats, **attributes)
        self.values[node.output[0]] = result

    def quantized(self, node, x, scale, zero):
        name = node.output[0]
        self.steps[name] = x / along(scale, 1, x.ndim) + along(zero, 1, x.ndim)
        return self.made[name]

    def linear(self, node, inputs, attributes):
        op, operands, scale, bias = LINEAR[node.op_type]
        reals = [real(inputs[i], inputs[i + 1], inputs[i + 2], weight_axis(node, i)) for i in operands]
        if bias is not None and bias < len(inputs) and inputs[bias] is not None:
            step = inputs[operands[0] + 1].astype(np.float64) * inputs[operands[1] + 1].astype(np.float64)
            reals.append(inputs[bias].astype(np.float64) * step)
        attributes.pop("opset", None)
        return self.quantized(node, OPERATIONS[op](*reals, **attributes), inputs[scale], inputs[scale + 1])


# ---- runs ------------------------------------------------------------------------------------------------------------


class Failed(Exception):
    pass


def command(tinyort, *arguments, expected=0):
    done = subprocess.run([tinyort, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != expected:
        raise Failed(f"{' '.join(map(str, arguments))}: exit status {done.returncode}, expected {expected}: {done.stderr.strip()[:400]}")
    return done


def with_all_bytes(model):
    """The model with all its 8-bit tensors as outputs, behind its own."""
    names = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear" or node.op_type in LINEAR]
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    own = {output.name for output in model.graph.output}
    copy.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names if name not in own)
    return copy, [output.name for output in copy.graph.output]


def check_bytes(evaluator, made, exact):
    for name, steps in evaluator.steps.items():
        ends = np.iinfo(made[name].dtype)
        tie = TIE if name in exact else FLOAT_TIE
        away = np.abs(made[name].astype(np.float64) - np.clip(steps, ends.min, ends.max))
        if away.max() > 0.5 + tie:
            raise Failed(f"{name}: {np.count_nonzero(away > 0.5 + tie)} of {away.size} bytes, by up to {away.max():.5f} steps of 0.5")


class Runner:
    def __init__(self, tinyort, folder):
        self.tinyort, self.folder, self.counts = tinyort, Path(folder), Counter()
        self.chains = [chain for chain in ("cpu", "cpu:isa=plain", "cpu:isa=v2", "cpu:isa=v3", "cudasim,cpu", "firmware,cpu")
                       if not subprocess.run([tinyort, "providers", "--ep", chain, "--require", chain.split(",")[0].split(":")[0]], capture_output=True).returncode]

    def run(self, path, names, feeds, *options):
        given = [word for name, array in feeds.items() for word in ("--input", f"{name}={self.folder / name}.npy")]
        command(self.tinyort, "run", path, *given, *options, "--save", self.folder / "saved")
        return {name: np.load(self.folder / "saved" / f"output_{i}.npy") for i, name in enumerate(names)}

    def integers(self, path, chain):
        """Names of the 8-bit tensors that a unit makes which multiplies, sums or maps integers."""
        plan = json.loads(command(self.tinyort, "plan", path, "--ep", chain, "--json").stdout)
        return {node["name"] for node in plan["nodes"] if node["op"] in LINEAR or node["op"] == "ByteTable"}

    def network(self, name, variant, thorough):
        form, activations, weights, channels = VARIANTS[variant]
        source, path, wide = self.folder / f"{name}.onnx", self.folder / "m.onnx", self.folder / "wide.onnx"
        float_model = models.NETWORKS[name][0]()
        onnx.save(float_model, source)
        quantize_static(source, path, models.Samples(float_model), quant_format=form, activation_type=activations, weight_type=weights, per_channel=channels)
        model = onnx.load(path)
        more, names = with_all_bytes(model)
        onnx.save(more, wide)
        random = np.random.default_rng(5)
        feeds = {port.name: models.sample(port, random) for port in model.graph.input}
        for key, array in feeds.items():
            np.save(self.folder / f"{key}.npy", array)
        makers = {node.output[0]: node.name for node in model.graph.node}
        for chain in self.chains:
            for options in ((), ("--no-fusion",)):
                made = self.run(wide, names, feeds, "--ep", chain, *options)
                joined = set() if options else self.integers(wide, chain)
                check_bytes(Evaluator(model, feeds, made), made, {n for n in made if makers.get(n) in joined})
                self.counts["passed"] += 1
        self.compare_with_onnxruntime(model, feeds, self.run(wide, names, feeds, "--ep", "cpu"))

    def compare_with_onnxruntime(self, model, feeds, made):
        """Unoptimized, with products that do not saturate; a byte that is another one moves what comes after it."""
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in made.items()}
        session = onnxruntime.InferenceSession(unsaturated(model, types).SerializeToString(), options, providers=["CPUExecutionProvider"])
        output = model.graph.output[0].name
        (wanted,) = session.run([output], feeds)
        worst = np.abs(made[output] - wanted).max() / max(np.abs(wanted).max(), 1e-6)
        if worst > 0.05:
            raise Failed(f"the output differs from onnxruntime's by {worst:.3g} of its range")
        self.counts["passed"] += 1


# ---- what is told ----------------------------------------------------------------------------------------------------


def check_told(runner, folder):
    """Products in float32 have node, reason, cure and bytes in every command; --strict-integers refuses them."""
    tinyort, network = runner.tinyort, models.NETWORKS["resnet8"][0]()
    onnx.save(network, folder / "f.onnx")
    for name, kinds in {"u8": (U8, U8), "s8": (S8, S8), "u16": (U16, S8)}.items():
        quantize_static(folder / "f.onnx", folder / f"{name}.onnx", models.Samples(network), quant_format=QDQ, activation_type=kinds[0], weight_type=kinds[1])
    told = [
        ("s8", "cpu", (), 0, "", ""),
        ("s8", "cpu", ("--no-fusion",), 10, "DISABLED", "fusions are switched off"),
        ("u8", "firmware", (), 10, "NO_ATTR", "weights have a zero point other than 128"),
        ("u16", "cpu", (), 10, "NO_ATTR", "not int8 or uint8"),
        ("s8", "cudasim,cpu", (), 0, "", ""),
        ("u16", "cudasim,cpu", (), 10, "", ""),
    ]
    for name, chain, options, count, code, words in told:
        given = (folder / f"{name}.onnx", "--ep", chain, *options)
        result = command(tinyort, "plan", *given, "--json")
        precision = json.loads(result.stdout)["precision"]
        entries = precision["float32"]
        if precision["products"] != 10 or len(entries) != count or any(not e["message"] or e["bytes"] <= 0 for e in entries):
            raise Failed(f"{name} on {chain}: {precision['products']} products, {entries[:2]}")
        if any(code not in e["code"] or words not in e["message"] for e in entries):
            raise Failed(f"{name} on {chain}: {entries[0]}, expected {code} {words}")
        line = f"{count} of 10 products of 8-bit numbers in float32: conv_0"
        for call in (("plan", *given), ("run", *given, "--random", "1"), ("bench", *given, "--repeat", "1")):
            if (line in command(tinyort, *call).stderr) != (count > 0):
                raise Failed(f"{call[0]} of {name} on {chain} does not say, or says: {line}")
        command(tinyort, "run", *given, "--random", "1", "--strict-integers", expected=4 if count else 0)
        runner.counts["passed"] += 1
    compiled = command(tinyort, "compile", folder / "u8.onnx", "-o", folder / "c")
    if compiled.stdout.count("weights have a zero point") != 10 or "10 of 10 products" not in compiled.stderr:
        raise Failed(f"compile says {compiled.stdout} {compiled.stderr}")
    refused = command(tinyort, "compile", folder / "u8.onnx", "-o", folder / "d", "--strict-integers", expected=4)
    if "10 products of 8-bit numbers in float32" not in refused.stderr or (folder / "d").exists():
        raise Failed(f"compile --strict-integers says {refused.stderr}")
    saved = command(tinyort, "plan", folder / "u16.onnx", "-o", folder / "u16.plan")
    again = command(tinyort, "plan", "--plan", folder / "u16.plan")
    if saved.stderr != again.stderr:
        raise Failed(f"a saved plan says {again.stderr}, the model {saved.stderr}")
    runner.counts["passed"] += 1


def main():
    thorough = "--thorough" in sys.argv
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(sys.argv[1], folder)
        jobs = [(f"{name} {variant}", lambda n=name, v=variant: runner.network(n, v, thorough))
                for i, name in enumerate(THOROUGH if thorough else NETWORKS) for k, variant in enumerate(VARIANTS) if thorough or name != "autoencoder" or k % 2 == 0]
        for title, job in [*jobs, ("what is told", lambda: check_told(runner, Path(folder)))]:
            try:
                job()
            except Failed as why:
                print(f"FAILED {title}: {why}")
                runner.counts["failed"] += 1
    print(f"quantized-networks: {runner.counts['passed']} passed, {runner.counts['failed']} failed")
    sys.exit(1 if runner.counts["failed"] or not runner.counts["passed"] else 0)


if __name__ == "__main__":
    main()

"""Tests of firmware's kernels on 8-bit tensors: every target gives exactly the bytes of the cpu's plain loops, on this machine, compiled, and on its board.

Usage: bytes.py TINYORT, from the root of the tree.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import run as firmware
from run import boards

TARGETS = ("generic", "cortex-m3", "riscv32", "cortex-m4", "cortex-m55")  # the forms of the loops
# Boards that differ in their code; test-embed has all of them.
BOARDS = {"generic": ("cortex-a53",), "cortex-m3": ("cortex-m0plus", "rv32imac"), "riscv32": ("riscv32",), "cortex-m4": ("cortex-m4",), "cortex-m55": ("cortex-m55",)}
BUILDS = [("gcc", "-O2"), ("clang", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")]


class Graph:
    """A graph whose nodes each have an output of the model."""

    def __init__(self, name, seed, zero_type):
        self.name, self.rng, self.type = name, np.random.default_rng(seed), zero_type
        self.inputs, self.weights, self.nodes, self.outputs = [], [], [], []

    def input(self, name, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(self.type)), shape))
        return name

    def constant(self, value):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), f"c{len(self.weights)}"))
        return self.weights[-1].name

    def scale(self, low=0.01, high=0.2):
        return self.constant(np.float32(self.rng.uniform(low, high)))

    def zero(self):
        info = np.iinfo(self.type)
        return self.constant(np.array(self.rng.integers(info.min, info.max + 1), self.type))

    def bytes(self, *shape, kind=np.int8):
        info = np.iinfo(kind)
        return self.constant(self.rng.integers(max(info.min, -127), info.max + 1, shape).astype(kind))

    def node(self, op, inputs, domain="", **attributes):
        name = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, domain=domain, **attributes))
        self.outputs.append(name)
        return name

    def save(self, folder):
        outputs = [onnx.ValueInfoProto(name=name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "g", self.inputs, outputs, self.weights)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        path = folder / f"{self.name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path

    def conv(self, x, channels, filters, kernel, group=1, per_channel=True, weights=np.int8, bias=True, scale=0.002, **attributes):
        w = self.bytes(filters, channels // group, *kernel, kind=weights)
        scales = self.rng.uniform(0.5, 2, filters if per_channel else ()).astype(np.float32) * np.float32(scale)
        zeros = np.full(np.shape(scales), 128 if weights == np.uint8 else 0, weights)
        inputs = [x, self.scale(), self.zero(), w, self.constant(scales), self.constant(zeros), self.scale(0.5, 1), self.zero()]
        if bias:
            inputs.append(self.constant(self.rng.integers(-20000, 20000, filters).astype(np.int32)))
        return self.node("QLinearConv", inputs, group=group, kernel_shape=kernel, **attributes)


def convolutions(seed, kind):
    """Odd numbers of pixels, filters and channels; pads, strides, dilations, groups; one axis; a window larger than the image."""
    g = Graph(f"convolutions_{np.dtype(kind).name}", seed, kind)
    for channels in (1, 3, 5, 16):
        x = g.input(f"x{channels}", 1, channels, 7, 9)
        g.conv(x, channels, 7, (3, 3), pads=[1, 1, 1, 1])
        g.conv(x, channels, 16, (1, 1), per_channel=False)
        g.conv(x, channels, 5, (2, 4), strides=[2, 1], pads=[0, 3, 1, 0], weights=np.uint8)
    g.conv(g.input("two", 2, 8, 5, 5), 8, 12, (3, 3), dilations=[2, 1], pads=[2, 0, 2, 0], bias=False)
    g.conv(g.input("grouped", 1, 12, 5, 4), 12, 6, (3, 3), group=3, pads=[1, 1, 1, 1])
    g.conv(g.input("line", 1, 4, 11), 4, 9, (5,), pads=[2, 2], strides=[2])
    g.conv(g.input("small", 1, 16, 2, 2), 16, 3, (5, 5), pads=[2, 2, 2, 2])
    g.conv("x16", 16, 4, (1, 1), strides=[2, 2])
    g.conv("x16", 16, 4, (1, 1), pads=[0, 0, 0, 1])
    return g


def depthwise(seed, kind):
    """Numbers of channels for each form of the loops, kernels of width 3 and others, wide and narrow pads."""
    g = Graph(f"depthwise_{np.dtype(kind).name}", seed, kind)
    for channels in (2, 5, 8, 16, 19, 24, 29, 40):
        x = g.input(f"x{channels}", 1, channels, 6, 7)
        g.conv(x, channels, channels, (3, 3), group=channels, pads=[1, 1, 1, 1], scale=0.01)
        g.conv(x, channels, channels, (3, 3), group=channels, strides=[2, 2], pads=[0, 0, 1, 1], scale=0.01)
        g.conv(x, channels, channels, (5, 2), group=channels, dilations=[1, 2], pads=[2, 1, 2, 1], scale=0.01)
    g.conv(g.input("two", 2, 16, 4, 4), 16, 16, (3, 6), group=16, pads=[1, 3, 1, 2], scale=0.01)
    return g


def products(seed, kind):
    """QGemm and QLinearMatMul with constant and with changing matrices; lengths that are no multiple of words or vectors."""
    g = Graph(f"products_{np.dtype(kind).name}", seed, kind)
    for length, filters in ((5, 3), (16, 4), (39, 10), (64, 9)):
        x = g.input(f"x{length}", 3, length)
        scales = g.constant(g.rng.uniform(0.001, 0.01, filters).astype(np.float32))
        bias = g.constant(g.rng.integers(-3000, 3000, filters).astype(np.int32))
        zeros = g.constant(np.zeros(filters, np.int8))
        g.node("QGemm", [x, g.scale(), g.zero(), g.bytes(filters, length), scales, zeros, bias, g.scale(0.5, 1), g.zero()], "com.microsoft", transB=1)
        g.node("QLinearMatMul", [x, g.scale(), g.zero(), g.bytes(length, filters), scales, zeros, g.scale(0.5, 1), g.zero()])
    a, b = g.input("a", 2, 3, 12), g.input("b", 2, 12, 5)
    g.node("QLinearMatMul", [a, g.scale(), g.zero(), b, g.scale(), g.zero(), g.scale(5, 6), g.zero()])
    return g


def wide(seed, kind):
    """Sums beyond 2^24, whose products no multiplication of floats gives exactly, and scales that leave the range of bytes."""
    g = Graph(f"wide_{np.dtype(kind).name}", seed, kind)
    x = g.input("x", 1, 200, 3, 3)
    w = g.constant(np.full((6, 200, 3, 3), 127, np.int8))
    bias = g.constant(np.array([2**30, -(2**30), 16777217, 5, -7, 33554433], np.int32))
    zero = g.constant(np.array(0, np.int8))
    for scale in (2e-9, 3e-6, 2e3):
        g.node("QLinearConv", [x, g.constant(np.float32(1)), g.zero(), w, g.constant(np.float32(scale)), zero, g.constant(np.float32(0.37)), g.zero(), bias])
    a, b = g.input("a", 5, 7), g.input("b", 5, 7)
    for low, high in ((1e-6, 2e-6), (1e6, 2e6)):
        for op in ("QLinearAdd", "QLinearMul"):
            g.node(op, [a, g.scale(low, high), g.zero(), b, g.scale(low, high), g.zero(), g.scale(), g.zero()], "com.microsoft")
    return g


def elements(seed, kind):
    """Sums and products that broadcast, pools, tables, a softmax, and the borders to floats."""
    g = Graph(f"elements_{np.dtype(kind).name}", seed, kind)
    a, b, row = g.input("a", 2, 8, 5, 6), g.input("b", 2, 8, 5, 6), g.input("row", 6)
    for op in ("QLinearAdd", "QLinearMul"):
        for other in (b, row, a):
            g.node(op, [a, g.scale(), g.zero(), other, g.scale(), g.zero(), g.scale(), g.zero()], "com.microsoft")
    g.node("QLinearGlobalAveragePool", [a, g.scale(), g.zero(), g.scale(), g.zero()], "com.microsoft")
    g.node("MaxPool", [a], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    for words in ({"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}, {"kernel_shape": [2, 3], "pads": [1, 1, 0, 2], "count_include_pad": 1}, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}):
        g.node("QLinearAveragePool", [a, g.scale(), g.zero(), g.scale(), g.zero()], "com.microsoft", **words)
    scale, zero = g.scale(), g.zero()
    for axis, parts in ((1, (a, b)), (1, (a, b, a)), (3, (b, a)), (0, (a, a, b, b)), (2, (a,))):
        g.node("QLinearConcat", [scale, zero, *(word for part in parts for word in (part, g.scale(), g.zero()))], "com.microsoft", axis=axis)
    g.node("QLinearConcat", [scale, zero, a, scale, zero, b, g.scale(), g.zero()], "com.microsoft", axis=1)
    g.node("MaxPool", [a], kernel_shape=[2, 2], dilations=[2, 3])
    one = np.float32(1 / 256)
    g.node("QLinearSoftmax", [g.input("scores", 3, 10, 2), g.scale(), g.zero(), g.constant(one), g.constant(np.array(np.iinfo(kind).min, kind))], "com.microsoft", axis=1, opset=13)
    scale, zero = g.scale(), g.zero()
    floats = g.node("DequantizeLinear", [a, scale, zero])
    g.node("QuantizeLinear", [floats, g.scale(), g.zero()])
    g.node("QLinearSigmoid", [a, g.scale(), g.zero(), g.scale(), g.zero()], "com.microsoft")
    return g


def chain(name, seed, kind, channels, height, width, layers):
    """Layers one after the other, (filters, kernel, stride), 0 filters for a depthwise one: each output may lie over its input."""
    g = Graph(f"{name}_{np.dtype(kind).name}", seed, kind)
    x = g.input("x", 1, channels, height, width)
    for filters, kernel, stride in layers:
        half = kernel // 2
        pads = [half] * 4 if stride == 1 else [0, 0, half, half]
        group = 1 if filters else channels
        filters = filters or channels
        x = g.conv(x, channels, filters, (kernel, kernel), group=group, strides=[stride, stride], pads=pads, scale=0.002 if group == 1 else 0.01)
        channels = filters
    g.outputs = [x]
    return g


def growing(seed, kind):
    return chain("growing", seed, kind, 8, 12, 12, [(16, 1, 1), (0, 3, 2), (32, 1, 1), (0, 3, 1), (8, 1, 1), (0, 5, 1)])


def odd(seed, kind):
    return chain("odd", seed, kind, 8, 13, 11, [(24, 3, 1), (8, 3, 2), (40, 3, 1), (8, 1, 1), (3, 1, 2), (5, 3, 1)])


def flat(seed, kind):
    return chain("flat", seed, kind, 16, 25, 5, [(16, 1, 1), (0, 3, 1), (16, 1, 1), (0, 3, 1), (16, 3, 1), (16, 5, 1)])


def inputs_of(graph):
    info = np.iinfo(graph.type)
    for port in graph.inputs:
        shape = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
        yield port.name, graph.rng.integers(info.min, info.max + 1, shape).astype(graph.type)


def run_chain(tally, tinyort, model, chain, folder):
    words = [word for path in sorted(folder.glob("in_*.npy")) for word in ("--input", f"{path.stem[3:]}={path}")]
    out = folder / chain.replace(":", "_")
    done = firmware.run(tinyort, "run", model, "--ep", chain, *words, "--save", out)
    tally.check(done.returncode == 0, f"{model.name} on {chain}: {done.stderr[:600]}")
    return [np.load(path) for path in sorted(out.glob("output_*.npy"), key=lambda path: int(path.stem.split("_")[1]))]


def check_target(tally, tinyort, model, names, target, folder, values, plain):
    expected = run_chain(tally, tinyort, model, f"firmware:target={target}", folder)
    for name, own, other in zip(names, expected, plain, strict=True):
        tally.check(own.tobytes() == other.tobytes(), f"{model.name} on {target}: {name} differs from the cpu's plain loops in {(own != other).sum()} of {own.size}")
    out = folder / target
    done = firmware.run(tinyort, "compile", model, "-o", out, "--main", "--target", target)
    tally.check(done.returncode == 0, f"compile {model.name} for {target}: {done.stderr[:600]}")
    raw = []
    for name, value in values:
        raw.append(folder / f"{name}.raw")
        raw[-1].write_bytes(value.tobytes())
    for build in BUILDS[int(target != "generic"):]:  # the sanitizers see what a compiler alone does
        if shutil.which(build[0]):
            firmware.check_build(tally, out, model.stem, build, raw, expected)
        else:
            tally.skip(f"{model.stem} by {build[0]} (it is not installed)")
    if target == "cortex-m3":
        check_whole(tally, out, model.stem)
    for board in BOARDS[target]:
        firmware.check_board(tally, boards.TARGETS[board], out, model.stem, folder / board, values, expected)


def check_whole(tally, out, name):
    """Without a unit of floats, integers alone: no function of the compiler's library computes with floats, where callers have none."""
    if "float" in (out / f"{name}.h").read_text():
        return
    for target in map(boards.TARGETS.get, BOARDS["cortex-m3"]):
        if not shutil.which(target.compiler):
            tally.skip(f"functions of {name} for {target.name} ({target.compiler} is not installed)")
            continue
        done = firmware.run(target.compiler, *target.flags, "-O2", "-c", out / f"{name}.c", "-o", out / "whole.o")
        called = firmware.run(f"{target.tools}nm", "-u", out / "whole.o").stdout.split()
        soft = [symbol for symbol in called if re.match(r"__(aeabi_[fd]|aeabi_u?[il]2[fd]|\w*[sdx]f\d?$|\w*[sd]i$)", symbol) and not re.match(r"__(u?(div|mod)[sd]i3|muldi3|clz|ashl|ashr|lshr)", symbol)]
        tally.check(done.returncode == 0 and not soft, f"{name} for {target.name} calls {soft}: {done.stderr[:300]}")


def check_layout(tally, tinyort, model, folder, values, expected):
    """Inputs with the channels last, as --input-layout nhwc takes them, give the same outputs."""
    out, raw = folder / "nhwc", folder / "nhwc.raw"
    done = firmware.run(tinyort, "compile", model, "-o", out, "--main", "--input-layout", "nhwc")
    tally.check(done.returncode == 0, f"compile {model.name} with --input-layout nhwc: {done.stderr[:600]}")
    raw.write_bytes(values[0][1].transpose(0, 2, 3, 1).tobytes())
    firmware.check_build(tally, out, model.stem, BUILDS[0], [raw], expected)


def with_borders(graph, folder):
    """The same model with floats as input and output; returns its path, and scale and zero point of both."""
    borders = [(0.043, 5), (0.021, 7)]
    for i, (scale, zero) in enumerate(borders):
        graph.weights += [numpy_helper.from_array(np.array(scale, np.float32), f"scale{i}"), numpy_helper.from_array(np.array(zero, graph.type), f"zero{i}")]
    shape = [dim.dim_value for dim in graph.inputs[0].type.tensor_type.shape.dim]
    graph.nodes.insert(0, helper.make_node("QuantizeLinear", ["floats", "scale0", "zero0"], [graph.inputs[0].name]))
    graph.nodes.append(helper.make_node("DequantizeLinear", [graph.outputs[0], "scale1", "zero1"], ["results"]))
    graph.inputs, graph.outputs, graph.name = [helper.make_tensor_value_info("floats", TensorProto.FLOAT, shape)], ["results"], graph.name + "_borders"
    return graph.save(folder), borders


def check_integers(tally, tinyort, graph, folder, values, expected):
    """--io integer leaves QuantizeLinear and DequantizeLinear at the ports to callers: the outputs are those of the model without them."""
    model, borders = with_borders(graph, folder)
    for i, words in enumerate(([], ["--input-layout", "nhwc"], ["--bands"], ["--input-layout", "nhwc", "--bands"])):
        out, raw = folder / f"integer{i}", folder / f"integer{i}.raw"
        done = firmware.run(tinyort, "compile", model, "-o", out, "--main", "--io", "integer", *words)
        tally.check(done.returncode == 0, f"compile {model.name} with --io integer {' '.join(words)}: {done.stderr[:600]}")
        value = values[0][1]
        raw.write_bytes((value.transpose(0, 2, 3, 1) if "nhwc" in words else value).tobytes())
        for build in BUILDS:
            firmware.check_build(tally, out, model.stem, build, [raw], expected)
        header = (out / f"{model.stem}.h").read_text()
        for port, (scale, zero) in zip(("IN0", "OUT0"), borders, strict=True):
            found = re.search(rf"{port}_SCALE (\S+)f .*\n#define \w+{port}_ZERO \((-?\d+)\)\n", header)
            same = found and np.float32(found[1]) == np.float32(scale) and int(found[2]) == zero
            tally.check(same, f"{model.name}: scale and zero point of {port} are not in the header: {header}")
    done = firmware.run(tinyort, "compile", "models/digits.onnx", "--shape", "N=1", "-o", folder / "none", "--io", "integer")
    tally.check(done.returncode == 2 and "'image' is float" in done.stderr, f"digits with --io integer: status {done.returncode}: {done.stderr[:600]}")


def check_symbols(tally, tinyort, folder):
    """Tables that are packed before shapes are known: a sigmoid needs none, a softmax the length of its lanes, and goes to the cpu without."""
    g = Graph("symbolic", 9, np.int8)
    x = g.input("x", "N", 10)
    g.node("QLinearSigmoid", [x, g.scale(), g.zero(), g.scale(), g.zero()], "com.microsoft")
    g.node("QLinearSoftmax", [x, g.scale(), g.zero(), g.constant(np.float32(1 / 256)), g.constant(np.int8(-128))], "com.microsoft", axis=-1, opset=13)
    model = g.save(folder)
    np.save(folder / "in_x.npy", g.rng.integers(-128, 128, (3, 10)).astype(np.int8))
    chains = [run_chain(tally, tinyort, model, chain, folder) for chain in ("firmware,cpu", "cpu:isa=plain")]
    tally.check(all(a.tobytes() == b.tobytes() for a, b in zip(*chains, strict=True)), "symbolic: firmware differs from the cpu's plain loops")


def check_overflow(tally, tinyort, folder):
    """A filter whose sums leave 32 bits on the way is refused, where bytes of uint8 are taken as they are, not less 128."""
    g = Graph("overflow", 0, np.uint8)
    one, zero = g.constant(np.float32(1)), g.constant(np.array(0, np.int8))
    high, bias = g.constant(np.array(255, np.uint8)), g.constant(np.full(4, 400000 - 2**31, np.int32))
    weights = g.constant(np.full((4, 1, 3, 3), 127, np.int8))
    g.node("QLinearConv", [g.input("x", 1, 4, 5, 5), one, high, weights, one, zero, one, high, bias], group=4)
    model = g.save(folder)
    for target, status in (("generic", 0), ("cortex-m4", 1)):
        done = firmware.run(tinyort, "compile", model, "-o", folder / target, "--target", target)
        same = bool(done.returncode) == bool(status) and ("its sums reach" in done.stderr) == bool(status)
        tally.check(same, f"overflow on {target}: status {done.returncode}: {done.stderr[:600]}")


def main():
    tally, tinyort = firmware.Tally(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        for seed, make in enumerate((convolutions, depthwise, products, wide, elements, growing, odd, flat)):
            for kind in (np.int8, np.uint8):
                graph = make(seed, kind)
                folder = Path(name) / graph.name
                folder.mkdir()
                model, values = graph.save(folder), list(inputs_of(graph))
                for port, value in values:
                    np.save(folder / f"in_{port}.npy", value)
                names = [f"{node.name} ({node.op_type})" for node in graph.nodes if node.output[0] in graph.outputs]
                plain = run_chain(tally, tinyort, model, "cpu:isa=plain", folder)
                fast = run_chain(tally, tinyort, model, "cpu", folder)
                tally.check(all(a.tobytes() == b.tobytes() for a, b in zip(plain, fast, strict=True)), f"{model.name}: cpu differs from its plain loops")
                if make is growing:
                    check_layout(tally, tinyort, model, folder, values, plain)
                    check_integers(tally, tinyort, make(seed, kind), folder, values, plain)
                for target in TARGETS:
                    check_target(tally, tinyort, model, names, target, folder, values, plain)
        check_symbols(tally, tinyort, Path(name))
        check_overflow(tally, tinyort, Path(name))
    print(f"firmware, bytes: {tally.passed} passed, {tally.failed} failed" + (f", {tally.skipped} skipped" if tally.skipped else ""))
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()

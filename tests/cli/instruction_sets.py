"""8-bit results have one meaning: the same bytes on every instruction set of this processor, and by the plain loops."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SETS = ("plain", "v2", "v3", "v3_vnni", "v4", "v4_vnni", "v4_amx", "neon", "neon_dot", "rvv")
EVERY_PAIR = np.arange(65536)
random = np.random.default_rng(5)


def scale():
    """Of few digits, so that many sums lie half-way between two bytes, where one rounding more or less decides."""
    return np.float32(random.integers(1, 200) / 1000)


def zero(kind):
    return np.array(random.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1), kind)


def linear(kind):
    return [np.array(scale()), zero(kind)]


def spread(kind, shape):
    return random.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape).astype(kind)


def pair(op, kind):
    """All pairs of bytes, with scales and zero points drawn for each case."""
    a, b = (EVERY_PAIR // 256).astype(np.uint8).view(kind), (EVERY_PAIR % 256).astype(np.uint8).view(kind)
    return f"{op} of {kind.__name__}", [(op, "com.microsoft", {}, [a, *linear(kind), b, *linear(kind), *linear(kind)])]


def one_byte(op, kind, **attributes):
    x = np.arange(256).astype(np.uint8).view(kind)
    return f"{op} of {kind.__name__}", [(op, "com.microsoft", attributes, [x, *linear(kind), *linear(kind)])]


def added(kind):
    """DequantizeLinear, Add, QuantizeLinear, which a fusion makes QLinearAdd."""
    a, b = (EVERY_PAIR // 256).astype(np.uint8).view(kind), (EVERY_PAIR % 256).astype(np.uint8).view(kind)
    nodes = [("DequantizeLinear", "", {}, [a, *linear(kind)]), ("DequantizeLinear", "", {}, [b, *linear(kind)]),
             ("Add", "", {}, ["y0", "y1"]), ("QuantizeLinear", "", {}, ["y2", *linear(kind)])]
    return f"fused sums of {kind.__name__}", nodes


def products(kind):
    weights = linear(np.int8)[:1] + [np.array(0, np.int8)]
    conv = ("QLinearConv", "", {"pads": [1, 1, 1, 1]}, [spread(kind, (1, 19, 13, 11)), *linear(kind), spread(np.int8, (21, 19, 3, 3)),
            *weights, np.array(np.float32(2)), zero(kind), spread(np.int16, (21,)).astype(np.int32)])
    dense = ("QLinearMatMul", "", {}, [spread(kind, (7, 61)), *linear(kind), spread(np.int8, (61, 37)), *weights, np.array(np.float32(3)),
             zero(kind)])
    return [(f"{node[0]} of {kind.__name__}", [node]) for node in (conv, dense)]


def cases():
    for kind in (np.uint8, np.int8):
        for _ in range(4):
            yield pair("QLinearAdd", kind)
            yield pair("QLinearMul", kind)
            yield added(kind)
        yield one_byte("QLinearSigmoid", kind)
        yield one_byte("QLinearLeakyRelu", kind, alpha=0.1)
        yield from products(kind)
        floats = random.normal(0, 3, 4099).astype(np.float32)
        yield f"QuantizeLinear to {kind.__name__}", [("QuantizeLinear", "", {}, [floats, *linear(kind)])]


def save(path, nodes):
    """Arrays of more than one element are inputs but for weights; returns the options that give them."""
    made, weights, inputs, given = [], [], [], []
    for i, (op, domain, attributes, operands) in enumerate(nodes):
        names = []
        for j, operand in enumerate(operands):
            names.append(operand if isinstance(operand, str) else f"n{i}_{j}")
            if isinstance(operand, str):
                continue
            if j == 0 or (operand.size == 65536 and j == 3):
                inputs.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(operand.dtype), operand.shape))
                np.save(path.parent / f"{names[-1]}.npy", operand)
                given += ["--input", f"{names[-1]}={path.parent / names[-1]}.npy"]
            else:
                weights.append(numpy_helper.from_array(operand, names[-1]))
        made.append(helper.make_node(op, names, [f"y{i}"], f"node{i}", domain=domain, **attributes))
    output = helper.make_tensor_value_info(f"y{len(nodes) - 1}", TensorProto.UNDEFINED, None)
    output.type.Clear()
    graph = helper.make_graph(made, "g", inputs, [output], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10), path)
    return given


def test_bytes_are_the_same(suite, folder):
    sets = [name for name in SETS if suite.run("providers", "--ep", f"cpu:isa={name}", "--require", "cpu").status == 0]
    suite.check("plain" in sets and len(sets) > 1, f"instruction sets {sets}")
    for text, nodes in cases():
        given, results = save(folder / "m.onnx", nodes), {}
        for name in sets:
            out = folder / name
            suite.expect(0, "placement", "run", folder / "m.onnx", *given, "--ep", f"cpu:isa={name}:threads=1", "--save", out)
            results[name] = np.load(out / "output_0.npy")
        for name in sets[1:]:
            different = np.count_nonzero(results[name] != results["plain"])
            suite.check(different == 0, f"{text}: {different} bytes at isa={name} are not those of the plain loops")

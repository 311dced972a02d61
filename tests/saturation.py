"""Where onnxruntime's products of 8-bit numbers are not products, and the same model in a form of which they are.

On x86-64 without VNNI, from AVX2 on, onnxruntime multiplies by an int8 operand with VPMADDUBSW, which adds two products in 16 bits and
saturates there: 255 * 127 + 255 * 127 is 32,767, not 64,770 (its documentation says so of the option session.x64quantprecision). tinyort
saturates nowhere, so onnxruntime is no oracle for these operators; but it multiplies two uint8 operands exactly, and a - z is the
same number where both are 128 more. `unsaturated` makes that of a model: equal by definition, exact everywhere.

    saturation.py       runs each operator both ways, and shows which of them saturate on this processor

So seen with onnxruntime 1.31.1: all of OPERATORS saturate on an AMD EPYC of Zen 3 (AVX2) and under `qemu-x86_64 -cpu Haswell`, none under
`qemu-x86_64 -cpu Nehalem` (SSE4.2). MatMulNBits of 4 and 8 bits is exact on that EPYC. No processor with VNNI was tried.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

INT8, UINT8, INT32 = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32
MICROSOFT = "com.microsoft"

# Of each operator: the inputs that are multiplied, with the inputs that are their zero points; where the output is of 8 bits too, the
# input that is its zero point.
OPERATORS = {
    ("", "MatMulInteger"): ({0: 2, 1: 3}, None),
    ("", "QLinearMatMul"): ({0: 2, 3: 5}, 7),
    ("", "ConvInteger"): ({0: 2, 1: 3}, None),
    ("", "QLinearConv"): ({0: 2, 3: 5}, 7),
    (MICROSOFT, "QLinearConv"): ({0: 2, 3: 5}, 7),
    (MICROSOFT, "MatMulIntegerToFloat"): ({0: 4, 1: 5}, None),
    (MICROSOFT, "DynamicQuantizeMatMul"): ({1: 3}, None),
    (MICROSOFT, "QGemm"): ({0: 2, 3: 5}, 8),
    (MICROSOFT, "QAttention"): ({0: 6, 1: 7}, None),
    (MICROSOFT, "DynamicQuantizeLSTM"): ({1: 9, 2: 11}, None),
}


class _Rewriter:
    """One graph: `types` are element types by name, as far as they are known; what is not an initializer is shifted by nodes."""

    def __init__(self, graph, types):
        self.graph, self.nodes, self.shifted = graph, [], {}
        self.initializers = {tensor.name: tensor for tensor in graph.initializer}
        self.types = {name: tensor.data_type for name, tensor in self.initializers.items()} | types

    def shift(self, name):
        """The name of the same tensor in uint8, 128 more."""
        if name not in self.shifted:
            self.shifted[name] = f"{name}_as_uint8"
            if name in self.initializers:
                array = numpy_helper.to_array(self.initializers[name])
                self.constant(self.shifted[name], (array.astype(np.int32) + 128).astype(np.uint8))
            else:
                self.convert(name, self.shifted[name], "Add", UINT8)
        return self.shifted[name]

    def constant(self, name, array):
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))

    def convert(self, source, target, operator, number):
        self.constant(f"{target}_128", np.array(128, np.int32))
        self.nodes += [helper.make_node("Cast", [source], [f"{target}_wide"], to=INT32),
                       helper.make_node(operator, [f"{target}_wide", f"{target}_128"], [f"{target}_moved"]),
                       helper.make_node("Cast", [f"{target}_moved"], [target], to=number)]

    def is_int8(self, node, *indices):
        return any(self.types.get(node.input[i]) == INT8 for i in indices if i < len(node.input))

    def rewrite(self, node, operands, output_zero):
        signed = [operand for operand, zero in operands.items() if self.is_int8(node, operand, zero)]
        for operand in signed:
            node.input[operand] = self.shift(node.input[operand])
            self.shift_zero(node, operands[operand])
        made = node.output[0]
        is_signed = signed and output_zero is not None and self.is_int8(node, output_zero)
        if is_signed:
            node.input[output_zero] = self.shift(node.input[output_zero])
            node.output[0] = self.shifted[made] = f"{made}_as_uint8"
        self.nodes.append(node)
        if is_signed:
            self.convert(node.output[0], made, "Sub", INT8)

    def shift_zero(self, node, index):
        """An absent zero point is 0."""
        node.input.extend([""] * (index + 1 - len(node.input)))
        if node.input[index]:
            node.input[index] = self.shift(node.input[index])
        else:
            node.input[index] = f"{node.output[0]}_zero_{index}"
            self.constant(node.input[index], np.array(128, np.uint8))


def has_operators(model):
    return any((node.domain, node.op_type) in OPERATORS for node in model.graph.node)


def unsaturated(model, types=None):
    """The model itself where it has none of OPERATORS, or a copy; `types` of tensors that are not initializers, by name."""
    if not has_operators(model):
        return model
    copy = type(model)()
    copy.CopyFrom(model)
    rewriter, nodes = _Rewriter(copy.graph, types or {}), list(copy.graph.node)
    del copy.graph.node[:]
    for node in nodes:
        if (node.domain, node.op_type) in OPERATORS:
            rewriter.rewrite(node, *OPERATORS[node.domain, node.op_type])
        else:
            rewriter.nodes.append(node)
    copy.graph.node.extend(rewriter.nodes)
    return copy


# ---- does it saturate here? ----

def _samples():
    """(key, inputs by name in the order of the node) of each operator: products of 255 and 127, so that every pair saturates."""
    one, zero, negative = np.float32(1), np.uint8(0), np.int8(0)
    a, b = np.full((2, 16), 255, np.uint8), np.full((16, 16), 127, np.int8)
    x, w = np.full((1, 16, 5, 5), 255, np.uint8), np.full((4, 16, 3, 3), 127, np.int8)
    signed_x, unsigned_w = np.full(x.shape, 127, np.int8), np.full(w.shape, 255, np.uint8)
    scale = np.float32(40000)
    qconv = (x, one, zero, w, one, negative, scale, zero)
    yield ("", "MatMulInteger"), (a, b), {}
    yield ("", "QLinearMatMul"), (a, one, zero, b, one, negative, scale, zero), {}
    yield ("", "ConvInteger"), (signed_x, unsigned_w), {}
    yield ("", "QLinearConv"), qconv, {}
    yield (MICROSOFT, "QLinearConv"), qconv, {}
    yield (MICROSOFT, "MatMulIntegerToFloat"), (a, b, one, one), {}
    yield (MICROSOFT, "DynamicQuantizeMatMul"), (np.linspace(0, 1, 32, dtype=np.float32).reshape(2, 16), b, one), {}
    yield (MICROSOFT, "QGemm"), (a, one, zero, b, one, negative, None, scale, zero), {}
    qkv = np.tile(b, (1, 3))
    yield (MICROSOFT, "QAttention"), (np.tile(a, (1, 2, 1)).reshape(1, 4, 16), qkv, np.zeros(48, np.float32), np.float32(1e-5), one,
                                      None, zero, negative), {"num_heads": 2}
    w = np.full((1, 16, 64), 127, np.int8)
    size = np.full(1, 1e-5, np.float32)
    yield (MICROSOFT, "DynamicQuantizeLSTM"), (np.full((3, 1, 16), 100, np.float32), w, w, None, None, None, None, None, size,
                                               np.zeros(1, np.int8), size, np.zeros(1, np.int8)), {"hidden_size": 16}


def _model(key, arrays, attributes):
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(arrays)]
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in zip(names, arrays) if name]
    node = helper.make_node(key[1], names, ["y"], domain=key[0], **attributes)
    graph = helper.make_graph([node], "saturation", [], [helper.make_empty_tensor_value_info("y")], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)], ir_version=8)


def main():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    print(f"onnxruntime {onnxruntime.__version__}")
    for key, arrays, attributes in _samples():
        model = _model(key, arrays, attributes)
        got, exact = (onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {})[0]
                      for m in (model, unsaturated(model)))
        same = np.allclose(got, exact, rtol=1e-5)
        print(f"{'.'.join(filter(None, key)):<40}{'exact' if same else 'saturates'}   {got.ravel()[0]} {exact.ravel()[0]}")


if __name__ == "__main__":
    main()

"""A graph with QuantizeLinear and DequantizeLinear computed in double, by onnx's reference of its operators: what integers are held to."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

TIE = 1e-4  # steps from the middle between two numbers, within which either is right


def constants_of(graph):
    found = {weight.name: numpy_helper.to_array(weight) for weight in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return found


class Widened:
    """The model with double in place of float, and each border written as arithmetic."""

    def __init__(self, model):
        self.model = onnx.ModelProto.FromString(model.SerializeToString())
        graph = self.model.graph
        self.constants, self.made, self.steps = constants_of(graph), [], []
        # ONNX wants the scales of Resize in float.
        floats = {name for node in graph.node if node.op_type == "Resize" for name in node.input[1:]}
        nodes = [new for node in graph.node for new in self.widen(node, floats)]
        for weight in graph.initializer:
            if weight.data_type == TensorProto.FLOAT and weight.name not in floats:
                weight.CopyFrom(numpy_helper.from_array(self.constants[weight.name].astype(np.float64), weight.name))
        for port in (*graph.input, *graph.output):
            if port.type.tensor_type.elem_type == TensorProto.FLOAT:
                port.type.tensor_type.elem_type = TensorProto.DOUBLE
        del graph.node[:], graph.value_info[:]
        graph.node.extend(nodes)
        graph.initializer.extend(self.made)

    def constant(self, value):
        self.made.append(numpy_helper.from_array(np.asarray(value), f"double_{len(self.made)}"))
        return self.made[-1].name

    def widen(self, node, floats):
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            return self.border(node)
        if node.op_type == "ConvTranspose":
            return self.by_group(node)
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            if node.op_type == "Constant" and attribute.t.data_type == TensorProto.FLOAT and node.output[0] not in floats:
                attribute.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(attribute.t).astype(np.float64)))
        return [node]

    def by_group(self, node):
        """The reference has no groups of ConvTranspose that are right."""
        groups = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
        out = node.output[0]
        parts = [[f"{out}_{i}_{g}" for g in range(groups)] for i in range(len(node.input))]
        nodes = [helper.make_node("Split", [name], parts[i], axis=int(i == 0)) for i, name in enumerate(node.input)]
        for g in range(groups):
            nodes.append(helper.make_node("ConvTranspose", [part[g] for part in parts], [f"{out}_of_{g}"]))
            nodes[-1].attribute.extend(attribute for attribute in node.attribute if attribute.name != "group")
        return [*nodes, helper.make_node("Concat", [f"{out}_of_{g}" for g in range(groups)], [out], axis=1)]

    def border(self, node):
        scale = self.constants[node.input[1]].astype(np.float64)
        zero = self.constants[node.input[2]] if len(node.input) > 2 else np.uint8(0)
        out, make = node.output[0], helper.make_node
        if scale.size > 1:
            axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
            shape = [1] * self.constants[node.input[0]].ndim
            shape[axis] = -1
            scale, zero = scale.reshape(shape), zero.reshape(shape)
        if node.op_type == "DequantizeLinear":
            less = [make("Cast", [node.input[0]], [f"{out}_w"], to=TensorProto.DOUBLE), make("Sub", [f"{out}_w", self.constant(zero.astype(np.float64))], [f"{out}_l"])]
            return [*less, make("Mul", [f"{out}_l", self.constant(scale)], [out])]
        self.steps.append(f"{out}_s")
        ends = [self.constant(np.float64(end)) for end in (np.iinfo(zero.dtype).min, np.iinfo(zero.dtype).max)]
        return [make("Div", [node.input[0], self.constant(scale)], [f"{out}_s"]), make("Round", [f"{out}_s"], [f"{out}_r"]),
                make("Add", [f"{out}_r", self.constant(zero.astype(np.float64))], [f"{out}_z"]), make("Clip", [f"{out}_z", *ends], [f"{out}_c"]),
                make("Cast", [f"{out}_c"], [out], to=helper.np_dtype_to_tensor_dtype(zero.dtype))]


def compute(model, feeds):
    """The outputs, and whether a number on the way was as near to the middle between two steps as TIE."""
    widened = Widened(model)
    count = len(widened.model.graph.output)
    widened.model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in widened.steps)
    found = ReferenceEvaluator(widened.model).run(None, {name: value.astype(np.float64) for name, value in feeds.items()})
    ties = sum(int((np.abs(np.abs(steps - np.floor(steps)) - 0.5) < TIE).sum()) for steps in found[count:])
    return found[:count], ties

"""Small models for the tests, each as bytes; all are valid for onnxruntime, too."""

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

value = helper.make_tensor_value_info


def build(inputs, outputs, nodes, initializers=(), opsets=(("", 18),), metadata=None, **model):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in initializers])
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
    proto = helper.make_model(graph, opset_imports=imports, ir_version=8, **model)
    helper.set_model_props(proto, metadata or {})
    return proto.SerializeToString()


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def two():
    """x float [n, 3] and k int64 scalar; y = relu(x), z = k."""
    return build(
        [value("x", T.FLOAT, ["n", 3]), value("k", T.INT64, [])],
        [value("y", T.FLOAT, ["n", 3]), value("z", T.INT64, [])],
        [node("Relu", "x", "y"), node("Identity", "k", "z")],
        metadata={"author": "nobody", "labels": "a,b"},
        producer_name="maker",
        producer_version="2",
        domain="there",
        model_version=7,
        doc_string="a model",
    )


def declared():
    """Outputs of shapes that the file declares and no inference finds: a sum of names, a name, a number."""
    return build(
        [value("x", T.FLOAT, ["n", 3]), value("p", T.FLOAT, ["past", 3]), value("s", T.INT64, [2])],
        [value("y", T.FLOAT, ["n + past", 3]), value("z", T.INT64, [2, "found"]), value("w", T.FLOAT, ["rows", 6])],
        [node("Concat", "x p", "y", axis=0), node("NonZero", "x", "z"), node("Reshape", "x s", "w")],
    )


def product(rows=64, inner=64, columns=64):
    """y = x @ w, w constant."""
    w = np.arange(inner * columns, dtype=np.float32).reshape(inner, columns) % 7 - 3
    return build(
        [value("x", T.FLOAT, [rows, inner])], [value("y", T.FLOAT, [rows, columns])],
        [node("MatMul", "x w", "y")], [("w", w)],
    )  # fmt: skip


def identity(type_number, shape=("n",)):
    return build([value("x", type_number, shape)], [value("y", type_number, shape)], [node("Identity", "x", "y")])


def reshape():
    """y = reshape(x, s), which a wrong s makes fail while it runs."""
    return build(
        [value("x", T.FLOAT, [1]), value("s", T.INT64, ["r"])], [value("y", T.FLOAT, None)],
        [node("Reshape", "x s", "y")],
    )  # fmt: skip


def sequence():
    """x seq(tensor(float)); y = their concatenation, q = x."""
    port = helper.make_tensor_sequence_value_info
    return build(
        [port("x", T.FLOAT, None)], [value("y", T.FLOAT, None), port("q", T.FLOAT, None)],
        [node("ConcatFromSequence", "x", "y", axis=0), node("Identity", "x", "q")],
    )  # fmt: skip


def maps():
    """y: seq(map(int64, float)) of x float [2, 3]; t: seq(map(string, float))."""
    proto = onnx.load_from_string(build(
        [value("x", T.FLOAT, [2, 3])], [],
        [node("ZipMap", "x", "y", domain="ai.onnx.ml", classlabels_int64s=[5, 6, 7]),
         node("ZipMap", "x", "t", domain="ai.onnx.ml", classlabels_strings=["a", "b", "c"])],
        opsets=(("", 18), ("ai.onnx.ml", 3)),
    ))  # fmt: skip
    for name, key in (("y", T.INT64), ("t", T.STRING)):
        output = proto.graph.output.add(name=name)
        output.type.sequence_type.elem_type.map_type.key_type = key
        output.type.sequence_type.elem_type.map_type.value_type.tensor_type.elem_type = T.FLOAT
    return proto.SerializeToString()


def from_map():
    """y = the values of x, a map(string, float), by the keys a and b."""
    proto = onnx.load_from_string(build(
        [], [value("y", T.FLOAT, [1, 2])],
        [node("DictVectorizer", "x", "y", domain="ai.onnx.ml", string_vocabulary=["a", "b"])],
        opsets=(("", 18), ("ai.onnx.ml", 3)),
    ))  # fmt: skip
    entry = proto.graph.input.add(name="x")
    entry.type.map_type.key_type = T.STRING
    entry.type.map_type.value_type.tensor_type.elem_type = T.FLOAT
    return proto.SerializeToString()


def unknown_operator():
    return build([value("x", T.FLOAT, [1])], [value("y", T.FLOAT, [1])], [node("Nope", "x", "y")])


def dangling():
    return build([value("x", T.FLOAT, [1])], [value("y", T.FLOAT, [1])], [node("Add", "x q", "y")])


def wrong_type():
    return build([value("x", T.UINT64, [1])], [value("y", T.UINT64, [1])], [node("Neg", "x", "y")])

"""Writes a chain of products with a gigabyte (10^9 bytes) of float32 weights.

Usage: make_model.py FORM OPERATOR PATH, where OPERATOR is MatMul, Gemm (weights transposed) or Conv (1x1), and FORM is
how the weights are stored:
  raw       raw_data in the model's file
  typed     float_data in the model's file
  external  one file beside the model, PATH.data
The file is written piece by piece, so that this takes no more memory than one weight.
"""

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

WEIGHTS = 20
ROWS, COLUMNS = 4096, 3052  # 50 MB each; odd and even products take their shapes in turn, so that they chain
MODEL_GRAPH, GRAPH_INITIALIZER = 7, 5  # field numbers of ModelProto and GraphProto


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, payload_size):
    """The head of a length-delimited field."""
    return varint(number << 3 | 2) + varint(payload_size)


def weight_data(index, shape):
    random = np.random.default_rng(index)
    return (random.random(shape, dtype=np.float32) - np.float32(0.5)) * np.float32(0.02)


def shape_of(index, operator):
    inner, outer = (ROWS, COLUMNS) if index % 2 == 0 else (COLUMNS, ROWS)
    return {"MatMul": (inner, outer), "Gemm": (outer, inner), "Conv": (outer, inner, 1, 1)}[operator]


def header_of(index, form, operator, location):
    """A weight without its data."""
    tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=shape_of(index, operator))
    if form == "external":
        tensor.data_location = TensorProto.EXTERNAL
        size = ROWS * COLUMNS * 4
        for key, value in (("location", location), ("offset", str(index * size)), ("length", str(size))):
            tensor.external_data.add(key=key, value=value)
    return tensor.SerializeToString()


def main():
    form, operator, path = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    data_path = path.with_name(path.name + ".data")
    attributes = {"transB": 1} if operator == "Gemm" else {}
    nodes = [
        helper.make_node(operator, [f"x{i}", f"w{i}"], [f"x{i + 1}"], name=f"product_{i}", **attributes)
        for i in range(WEIGHTS)
    ]
    shape = [1, ROWS, 1, 1] if operator == "Conv" else [1, ROWS]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x0", f"x{WEIGHTS}")]
    graph = helper.make_graph(nodes, "products", ports[:1], ports[1:]).SerializeToString()
    model = helper.make_model(helper.make_graph([], "", [], []), opset_imports=[helper.make_opsetid("", 17)])
    model.ClearField("graph")
    data_field = {"raw": 9, "typed": 4}.get(form)
    data_size = ROWS * COLUMNS * 4
    heads = []
    for i in range(WEIGHTS):
        head = header_of(i, form, operator, data_path.name)
        tail = field(data_field, data_size) if data_field else b""
        inline = data_size if data_field else 0
        heads.append(field(GRAPH_INITIALIZER, len(head) + len(tail) + inline) + head + tail)
    size = len(graph) + sum(map(len, heads)) + (WEIGHTS * data_size if data_field else 0)
    with open(path, "wb") as out, open(data_path if form == "external" else "/dev/null", "wb") as data:
        out.write(model.SerializeToString() + field(MODEL_GRAPH, size) + graph)
        for i, head in enumerate(heads):
            out.write(head)
            (out if data_field else data).write(weight_data(i, shape_of(i, operator)).tobytes())


main()

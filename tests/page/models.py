"""Models for the pages: models.py FOLDER writes large.onnx, of 2,000 nodes."""

import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper

nodes = []
for i in range(2000):
    past = f"v{max(0, i - 7 * (i % 3))}"
    nodes.append(helper.make_node("Add" if i % 2 else "Mul", [past, f"v{i}"], [f"v{i + 1}"], f"/model/layers.{i // 20}/block/node_{i}"))
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("v0", "v2000")]
graph = helper.make_graph(nodes, "large", ports[:1], ports[1:])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), Path(sys.argv[1]) / "large.onnx")

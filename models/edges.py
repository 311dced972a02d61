"""Makes models/edges.onnx: which way the strokes of a picture run, said in words. Made to be read about: on a GPU it falls back.

Four fixed filters (Sobel's, upright, level and the two diagonals) answer to strokes of their direction; the strongest answer's
name is looked up in a tensor of strings. No device holds strings, so that last node can only be on the host, whatever kernels a
provider gains: `tinyort plan models/edges.onnx --ep cuda,cpu` shows one node that fell back, its reason, and the copy it costs.

The input is `image`, float [1, 1, 8, 8] in 0..1, 1 is ink, as of models/digits.onnx; the outputs are `direction`, string [1], and
`strength`, float [1, 4]. Writes edges.onnx beside itself. Needs numpy and onnx; the same bytes everywhere.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NAMES = ["upright", "level", "rising", "falling"]  # strokes, as they are written


def filters():
    """[4, 1, 3, 3]: the gradient across the stroke, for each direction of NAMES."""
    across_upright = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], np.float32)
    across_rising = np.array([[-2, -1, 0], [-1, 0, 1], [0, 1, 2]], np.float32)
    kernels = [across_upright, across_upright.T, across_rising, np.fliplr(across_rising)]
    return np.stack(kernels)[:, np.newaxis].astype(np.float32)


def make():
    node = helper.make_node
    nodes = [
        node("Conv", ["image", "filters"], ["gradients"], name="filter", pads=[1, 1, 1, 1]),
        node("Abs", ["gradients"], ["answers"], name="magnitude"),
        node("GlobalAveragePool", ["answers"], ["means"], name="mean"),
        node("Flatten", ["means"], ["strength"], name="flatten"),
        node("ArgMax", ["strength"], ["strongest"], name="strongest", axis=1, keepdims=0),
        node("Gather", ["names", "strongest"], ["direction"], name="say"),
    ]
    names = helper.make_tensor("names", TensorProto.STRING, [len(NAMES)], NAMES)
    graph = helper.make_graph(
        nodes,
        "edges",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [
            helper.make_tensor_value_info("direction", TensorProto.STRING, [1]),
            helper.make_tensor_value_info("strength", TensorProto.FLOAT, [1, len(NAMES)]),
        ],
        [numpy_helper.from_array(filters(), "filters"), names],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.producer_name = "models/edges.py"
    onnx.checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    onnx.save(make(), Path(__file__).with_name("edges.onnx"))

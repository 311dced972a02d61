"""A small voice with random weights, with the inputs and the output that piper expects: write(path)."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP

WIDTH = 64
STRIDES = (8, 8, 4)  # of the upsamplings from frames to samples


class Graph:
    """Nodes and weights as they are added; every value is named by its number."""

    def __init__(self, seed):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(seed)

    def add(self, op, *inputs, name=None, **attributes):
        """A node; returns its output."""
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def constant(self, values):
        """A constant with the values."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weight(self, *shape, scale=1.0):
        """Random weights, smaller the more of them a product sums."""
        spread = scale / np.sqrt(np.prod(shape[1:]))
        return self.constant(self.random.normal(0, spread, shape).astype(np.float32))

    def convolution(self, x, inner, outer, size):
        """A convolution that keeps the length."""
        weights, bias = self.weight(outer, inner, size), self.weight(outer, scale=0.1)
        return self.add("Conv", x, weights, bias, pads=[size // 2, size // 2])


def encoded(graph):
    """A vector for each phoneme: [1, WIDTH, phonemes]."""
    x = graph.add("Gather", graph.weight(256, WIDTH, scale=8), "input")
    x = graph.add("Transpose", x, perm=[0, 2, 1])
    for _ in range(3):
        x = graph.add("Add", x, graph.add("Relu", graph.convolution(x, WIDTH, WIDTH, 5)))
    return x


def stretched(graph, x, length_scale):
    """Each vector as often as its phoneme lasts frames: [1, WIDTH, frames]."""
    logarithm = graph.add("Tanh", graph.convolution(x, WIDTH, 1, 3))
    lasts = graph.add("Ceil", graph.add("Mul", graph.add("Exp", logarithm), length_scale))
    ends = graph.add("CumSum", lasts, graph.constant(np.int64(2)))
    total = graph.add("ReduceSum", lasts, keepdims=0)
    frame = graph.add("Range", graph.constant(np.float32(0)), total, graph.constant(np.float32(1)))
    frame = graph.add("Unsqueeze", frame, graph.constant(np.array([1])))
    ended = graph.add("Less", frame, ends)
    begun = graph.add("Less", frame, graph.add("Sub", ends, lasts))
    path = graph.add("Cast", graph.add("Xor", ended, begun), to=TensorProto.FLOAT)
    return graph.add("MatMul", x, graph.add("Transpose", path, perm=[0, 2, 1]))


def upsampled(graph, x):
    """Samples of frames: [1, 1, samples] in -1..1."""
    width = WIDTH
    for stride in STRIDES:
        x = graph.add("LeakyRelu", x, alpha=0.1)
        kernel = graph.weight(width, width // 2, 2 * stride)
        x = graph.add("ConvTranspose", x, kernel, strides=[stride], pads=[stride // 2, stride // 2])
        width //= 2
        x = graph.add("Add", x, graph.convolution(graph.add("LeakyRelu", x, alpha=0.1), width, width, 7))
    return graph.add("Tanh", graph.convolution(x, width, 1, 7))


def model(seed=0):
    """The whole voice: noise as loud as the first of the scales, phonemes as long as the second says."""
    graph = Graph(seed)
    noise, length, _ = (graph.add("Gather", "scales", graph.constant(np.int64(i))) for i in range(3))
    frames = stretched(graph, encoded(graph), length)
    frames = graph.add("Add", frames, graph.add("Mul", graph.add("RandomNormalLike", frames), noise))
    graph.add("Unsqueeze", upsampled(graph, frames), graph.constant(np.array([1])), name="output")
    ports = [helper.make_tensor_value_info("input", TensorProto.INT64, [1, "phonemes"]),
             helper.make_tensor_value_info("input_lengths", TensorProto.INT64, [1]),
             helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3])]
    result = helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1, 1, "samples"])
    made = helper.make_graph(graph.nodes, "voice", ports, [result], graph.weights)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(path):
    """The model, and its description beside it."""
    onnx.save(model(), path)
    description = {"audio": {"sample_rate": 22050}, "espeak": {"voice": "en-us"}, "num_symbols": 256, "num_speakers": 1,
                   "phoneme_id_map": DEFAULT_PHONEME_ID_MAP}
    path.with_name(path.name + ".json").write_text(json.dumps(description))

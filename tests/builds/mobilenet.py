"""A small MobileNetV2: inverted residuals with depthwise convolutions, ReLU6, and a classifier. Its library has only its operators.

Usage: mobilenet.py write FOLDER          writes mobilenet.onnx, one.onnx with an operator more, and input.raw
       mobilenet.py compare A.npy B.raw   fails unless both have the same elements, bit by bit, and they differ among each other
"""
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self):
        self.random = numpy.random.default_rng(7)
        self.nodes, self.weights = [], []

    def weight(self, values):
        self.weights.append(numpy_helper.from_array(values, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def node(self, operator, inputs, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def conv(self, x, inputs, outputs, size=1, stride=1, group=1, norm=True, act=True):
        scale = numpy.sqrt(2 * group / (inputs * size * size))
        filters = (self.random.standard_normal((outputs, inputs // group, size, size)) * scale).astype(numpy.float32)
        x = self.node("Conv", [x, self.weight(filters)], group=group, kernel_shape=[size] * 2, pads=[size // 2] * 4, strides=[stride] * 2)
        if norm:
            around = [self.weight(self.random.uniform(low, 1.2, outputs).astype(numpy.float32)) for low in (0.8, -0.2, -0.2, 0.8)]
            x = self.node("BatchNormalization", [x, *around])
        if act:
            x = self.node("Clip", [x, self.weight(numpy.float32(0)), self.weight(numpy.float32(6))])
        return x

    def residual(self, x, inputs, outputs, stride):
        y = self.conv(x, inputs, inputs * 6)
        y = self.conv(y, inputs * 6, inputs * 6, size=3, stride=stride, group=inputs * 6)
        y = self.conv(y, inputs * 6, outputs, act=False)
        return self.node("Add", [x, y]) if stride == 1 and inputs == outputs else y


def mobilenet():
    network = Network()
    x = network.conv("image", 3, 16, size=3, stride=2)
    inputs = 16
    for outputs, stride in ((16, 1), (24, 2), (24, 1), (32, 2), (32, 1)):
        x = network.residual(x, inputs, outputs, stride)
        inputs = outputs
    x = network.conv(x, inputs, 64)
    x = network.node("Flatten", [network.node("GlobalAveragePool", [x])])
    weights = network.weight((network.random.standard_normal((10, 64)) / 8).astype(numpy.float32))
    network.node("Gemm", [x, weights, network.weight(numpy.zeros(10, numpy.float32))], transB=1)
    network.nodes[-1].output[0] = "scores"
    return network


def save(network, path):
    graph = helper.make_graph(network.nodes, "mobilenet", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 32, 32])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])], network.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def write(folder):
    network = mobilenet()
    save(network, folder / "mobilenet.onnx")
    network.random.random((1, 3, 32, 32), numpy.float32).tofile(folder / "input.raw")
    network.nodes[-1].output[0] = "logits"
    network.nodes.append(helper.make_node("Softmax", ["logits"], ["scores"]))
    save(network, folder / "one.onnx")


def main():
    if sys.argv[1] == "write":
        write(pathlib.Path(sys.argv[2]))
        return 0
    scores = numpy.load(sys.argv[2])
    same = scores.tobytes() == pathlib.Path(sys.argv[3]).read_bytes()
    return 0 if same and scores.std() > 1e-3 else 1


sys.exit(main())

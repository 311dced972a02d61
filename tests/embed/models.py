"""The networks that firmware is tested and measured with, with seeded weights, as ONNX files.

Usage: models.py FOLDER. Writes of each network NAME_fp32.onnx and, by onnxruntime's quantization,
  NAME_int8     QuantizeLinear and DequantizeLinear around float operators; int8, a scale for each channel of weights
  NAME_int8io   the same with int8 inputs and outputs, as firmware has them
  NAME_qop      QLinearConv and its like; uint8 activations (of the convolutional networks and the autoencoder)
  NAME_qopio    the same with uint8 inputs and outputs
  lstm_dyn      DynamicQuantizeLSTM
The first four networks have the shapes of MLPerf Tiny's.
"""

import logging
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

VARIANTS = ("fp32", "int8", "int8io", "qop", "qopio")
CALIBRATION_SAMPLES = 16


class Network:
    """A graph grown node by node. Weights are scaled so that activations keep their size."""

    def __init__(self, name, seed, **inputs):
        self.name, self.rng, self.nodes, self.weights = name, np.random.default_rng(seed), [], []
        self.inputs = [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in inputs.items()]

    def constant(self, array):
        name = f"constant_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def shape(self, *dims):
        return self.constant(np.array(dims, np.int64))

    def weight(self, shape, fan_in):
        return self.constant((self.rng.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32))

    def bias(self, *shape):
        return self.constant((self.rng.standard_normal(shape) * 0.1).astype(np.float32))

    def node(self, kind, *inputs, outputs=1, **attributes):
        """The name of its output, or the list of them."""
        name = f"{kind.lower()}_{len(self.nodes)}"
        names = [name] + [f"{name}_{i}" for i in range(1, outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name, **attributes))
        return name if outputs == 1 else names

    def conv(self, x, channels, filters, kernel, stride=1, pads=None, group=1, relu=True):
        height, width = kernel
        pads = pads or [(height - 1) // 2, (width - 1) // 2, height // 2, width // 2]
        weight = self.weight((filters, channels // group, height, width), channels // group * height * width)
        strides = stride if isinstance(stride, list) else [stride, stride]
        x = self.node("Conv", x, weight, self.bias(filters), kernel_shape=[height, width], strides=strides, pads=pads, group=group)
        return self.node("Relu", x) if relu else x

    def dense(self, x, features, units, relu=False):
        x = self.node("Gemm", x, self.weight((units, features), features), self.bias(units), transB=1)
        return self.node("Relu", x) if relu else x

    def classes(self, x, features, count):
        return self.node("Softmax", self.dense(x, features, count), axis=1)

    def pooled_classes(self, x, channels, count):
        return self.classes(self.node("Flatten", self.node("GlobalAveragePool", x), axis=1), channels, count)

    def model(self, **outputs):
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="models.py")
        onnx.checker.check_model(model, full_check=True)
        return onnx.shape_inference.infer_shapes(model)


# ---- the networks -----------------------------------------------------------------------------------------------------


def ds_cnn():
    """Keyword spotting: depthwise separable convolutions over 49 frames of 10 features."""
    net = Network("ds_cnn", 1, input=[1, 1, 49, 10])
    x = net.conv("input", 1, 64, (10, 4), 2, [4, 1, 5, 1])
    for _ in range(4):
        x = net.conv(x, 64, 64, (3, 3), group=64)
        x = net.conv(x, 64, 64, (1, 1))
    return net.model(**{net.pooled_classes(x, 64, 12): [1, 12]})


def mobilenet():
    """Person detection: MobileNet v1, a quarter as wide, on pictures of 96 x 96."""
    net = Network("mobilenet_v1_025_96", 2, input=[1, 3, 96, 96])
    halving = [0, 0, 1, 1]  # pads of a stride of 2, as TensorFlow's SAME has them
    blocks = [(8, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), *[(128, 128, 1)] * 5, (128, 256, 2), (256, 256, 1)]
    x = net.conv("input", 3, 8, (3, 3), 2, halving)
    for channels, filters, stride in blocks:
        x = net.conv(x, channels, channels, (3, 3), stride, halving if stride == 2 else None, group=channels)
        x = net.conv(x, channels, filters, (1, 1))
    return net.model(**{net.pooled_classes(x, 256, 2): [1, 2]})


def resnet8():
    """Image classification: three residual stages on pictures of 32 x 32."""
    net = Network("resnet8", 3, input=[1, 3, 32, 32])
    x, channels = net.conv("input", 3, 16, (3, 3)), 16
    for filters, stride in [(16, 1), (32, 2), (64, 2)]:
        pads = [0, 0, 1, 1] if stride == 2 else None
        y = net.conv(x, channels, filters, (3, 3), stride, pads)
        y = net.conv(y, filters, filters, (3, 3), relu=False)
        if stride == 2:
            x = net.conv(x, channels, filters, (1, 1), stride, [0, 0, 0, 0], relu=False)
        x, channels = net.node("Relu", net.node("Add", x, y)), filters
    return net.model(**{net.pooled_classes(x, 64, 10): [1, 10]})


def autoencoder():
    """Anomaly detection: ten dense layers."""
    net = Network("autoencoder", 4, input=[1, 640])
    x, features = "input", 640
    for units in [128] * 4 + [8] + [128] * 4:
        x, features = net.dense(x, features, units, relu=True), units
    return net.model(**{net.dense(x, features, 640): [1, 640]})


def lstm():
    """Classification of 25 frames of 10 features by the last state of an LSTM."""
    net, steps, width, hidden, count = Network("lstm", 5, input=[25, 1, 10]), 25, 10, 32, 12
    weights = net.weight((1, 4 * hidden, width), 2 * width), net.weight((1, 4 * hidden, hidden), 2 * hidden), net.bias(1, 8 * hidden)
    _, last, _ = net.node("LSTM", "input", *weights, outputs=3, hidden_size=hidden)
    return net.model(**{net.classes(net.node("Flatten", last, axis=2), hidden, count): [1, count]})


def voice_activity():
    """The probability of speech in 16 frames of 40 mel bands, heard after earlier ones: convolutions and a GRU with its state."""
    net, frames, hidden = Network("voice_activity", 7, input=[1, 1, 16, 40], state=[1, 1, 32]), 16, 32
    x = net.conv("input", 1, 8, (3, 3), [1, 2], [1, 1, 1, 1])
    x = net.conv(x, 8, 16, (3, 3), [1, 2], [1, 1, 1, 1])
    features = 16 * 10
    x = net.node("Reshape", net.node("Transpose", x, perm=[2, 0, 1, 3]), net.shape(frames, 1, features))
    weights = net.weight((1, 3 * hidden, features), 2 * features), net.weight((1, 3 * hidden, hidden), 2 * hidden), net.bias(1, 6 * hidden)
    _, state = net.node("GRU", x, *weights, "", "state", outputs=2, hidden_size=hidden, linear_before_reset=1)
    speech = net.node("Sigmoid", net.dense(net.node("Reshape", state, net.shape(1, hidden)), hidden, 1))
    return net.model(**{speech: [1, 1], state: [1, 1, hidden]})


class Transformer(Network):
    """An encoder of pre-normalized layers; GELU as exporters write it, by Erf."""

    steps, width, heads, inner = 16, 32, 2, 64

    def linear(self, x, features, units):
        return self.node("Add", self.node("MatMul", x, self.weight((features, units), 2 * features)), self.bias(units))

    def norm(self, x):
        scale = self.constant((1 + 0.1 * self.rng.standard_normal(self.width)).astype(np.float32))
        return self.node("LayerNormalization", x, scale, self.bias(self.width), axis=-1, epsilon=1e-5)

    def head_of(self, x, perm):
        heads = self.shape(1, self.steps, self.heads, self.width // self.heads)
        return self.node("Transpose", self.node("Reshape", self.linear(x, self.width, self.width), heads), perm=perm)

    def attention(self, x):
        query, key, value = (self.head_of(x, perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scale = self.constant(np.float32(1 / np.sqrt(self.width // self.heads)))
        scores = self.node("Mul", self.node("MatMul", query, key), scale)
        y = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        y = self.node("Reshape", self.node("Transpose", y, perm=[0, 2, 1, 3]), self.shape(1, self.steps, self.width))
        return self.linear(y, self.width, self.width)

    def gelu(self, x):
        erf = self.node("Erf", self.node("Mul", x, self.constant(np.float32(np.sqrt(0.5)))))
        x = self.node("Mul", x, self.node("Add", erf, self.constant(np.float32(1))))
        return self.node("Mul", x, self.constant(np.float32(0.5)))


def transformer():
    """Classification of 16 steps of 32 features by two layers with two heads."""
    net, count = Transformer("transformer", 6, input=[1, Transformer.steps, Transformer.width]), 4
    x = "input"
    for _ in range(2):
        x = net.node("Add", x, net.attention(net.norm(x)))
        y = net.gelu(net.linear(net.norm(x), net.width, net.inner))
        x = net.node("Add", x, net.linear(y, net.inner, net.width))
    mean = net.node("ReduceMean", net.norm(x), axes=[1], keepdims=0)
    return net.model(**{net.dense(mean, net.width, count): [1, count]})


# Each network with the variants that are made of it.
NETWORKS = {
    "ds_cnn": (ds_cnn, VARIANTS),
    "mobilenet_v1_025_96": (mobilenet, VARIANTS),
    "resnet8": (resnet8, VARIANTS),
    "autoencoder": (autoencoder, VARIANTS),
    "lstm": (lstm, ("fp32", "int8", "int8io", "dyn")),
    "transformer": (transformer, ("fp32", "int8", "int8io")),
    "voice_activity": (voice_activity, ("fp32", "int8", "int8io")),
}
NAMES = [f"{name}_{variant}" for name, (_, variants) in NETWORKS.items() for variant in variants]

# ---- quantization -----------------------------------------------------------------------------------------------------


def shape_of(port):
    return [dim.dim_value for dim in port.type.tensor_type.shape.dim]


def sample(port, rng):
    """A random tensor for an input: floats in -1..1, or all whole numbers that its type has."""
    kind = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
    if kind == np.float32:
        return rng.uniform(-1, 1, shape_of(port)).astype(kind)
    return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape_of(port), kind)


class Samples(CalibrationDataReader):
    def __init__(self, model):
        rng = np.random.default_rng(9)
        self.rows = iter([{port.name: sample(port, rng) for port in model.graph.input} for _ in range(CALIBRATION_SAMPLES)])

    def get_next(self):
        return next(self.rows, None)


def quantized_port(graph, port, node, name):
    """A port in place of a float one: the quantized tensor `name`, whose type is that of the node's zero point."""
    zero_point = next(weight for weight in graph.initializer if weight.name == node.input[2])
    return helper.make_tensor_value_info(name, zero_point.data_type, shape_of(port))


def with_integer_ports(model):
    """The model without QuantizeLinear after its inputs and DequantizeLinear before its outputs."""
    graph = model.graph
    for i, port in enumerate(list(graph.input)):
        readers = [node for node in graph.node if port.name in node.input]
        if [node.op_type for node in readers] == ["QuantizeLinear"]:
            graph.input[i].CopyFrom(quantized_port(graph, port, readers[0], readers[0].output[0]))
            graph.node.remove(readers[0])
    for i, port in enumerate(list(graph.output)):
        writers = [node for node in graph.node if port.name in node.output]
        if [node.op_type for node in writers] == ["DequantizeLinear"]:
            graph.output[i].CopyFrom(quantized_port(graph, port, writers[0], writers[0].input[0]))
            graph.node.remove(writers[0])
    ports = {port.name for port in (*graph.input, *graph.output)}
    for info in [info for info in graph.value_info if info.name in ports]:
        graph.value_info.remove(info)
    onnx.checker.check_model(model, full_check=True)
    return model


def write_variant(folder, name, variant):
    source, path = folder / f"{name}_fp32.onnx", folder / f"{name}_{variant}.onnx"
    if variant == "int8":
        kinds = dict(activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
        quantize_static(source, path, Samples(onnx.load(source)), quant_format=QuantFormat.QDQ, per_channel=True, **kinds)
    elif variant == "qop":
        kinds = dict(activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        quantize_static(source, path, Samples(onnx.load(source)), quant_format=QuantFormat.QOperator, **kinds)
    elif variant == "dyn":
        quantize_dynamic(source, path, weight_type=QuantType.QInt8)
    else:
        onnx.save(with_integer_ports(onnx.load(folder / f"{name}_{variant.removesuffix('io')}.onnx")), path)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.WARNING)  # the advice to pre-process models: these have shapes and nothing to fold
    for name, (make, variants) in NETWORKS.items():
        onnx.save(make(), folder / f"{name}_fp32.onnx")
        for variant in variants[1:]:
            write_variant(folder, name, variant)


if __name__ == "__main__":
    main()

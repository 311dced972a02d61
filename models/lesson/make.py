"""Makes the models of models/lesson/README.md, beside itself or in the folder that is given. Needs numpy and onnx.

train.onnx, eval.onnx: one small network, exported in training mode and for inference. It scales a picture, `image`, float
[1, 3, 16, 16] in 0..1, and runs two convolutions; `probabilities` of four classes, [1, 4], come out. It is not trained: its answers
mean nothing, and where its nodes run is what the lesson is about. The files differ in one attribute: BatchNormalization `norm` has
training_mode=1 in train.onnx, as an exporter writes it for a network that was not set to inference before (model.eval() in PyTorch),
and so asks for the statistics of the batch, which no GPU kernel of tinyort computes.

parts.onnx, parts_double.onnx: six operators that work element by element on `x` [1, 8], in float and in double; for the providers
of tests/fake_provider.c and tests/segments/engine_provider.c, which have few operators.

The same bytes everywhere.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE = 16  # of the picture, in pixels
CHANNELS = 8
CLASSES = 4
ELEMENTS = 8


def constants(values, dtype=np.float32):
    return [numpy_helper.from_array(np.asarray(value, dtype), name) for name, value in values.items()]


def model_of(name, nodes, input_, output, initializers):
    graph = helper.make_graph(nodes, name, [input_], [output], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.producer_name = "models/lesson/make.py"
    onnx.checker.check_model(model, full_check=True)
    return model


def weights():
    """Multiples of 1/64, so that nothing is rounded while they are made."""
    random = np.random.default_rng(45)
    shapes = {"w1": (CHANNELS, 3, 3, 3), "w2": (CHANNELS, CHANNELS, 3, 3), "w3": (CHANNELS, CLASSES)}
    values = {name: random.integers(-16, 17, shape) / 64 for name, shape in shapes.items()}
    values |= {"two": 2, "minus_one": -1}  # 0..1 becomes -1..1
    values |= {"gamma": np.ones(CHANNELS), "beta": np.zeros(CHANNELS)}
    values |= {"mean": np.full(CHANNELS, 0.25), "variance": np.full(CHANNELS, 0.5)}
    return constants(values)


def make_network(training):
    node = helper.make_node
    norm_outputs = ["normed"] + (["new_mean", "new_variance"] if training else [])
    nodes = [
        node("Mul", ["image", "two"], ["doubled"], name="scale"),
        node("Add", ["doubled", "minus_one"], ["centered"], name="shift"),
        node("Conv", ["centered", "w1"], ["features"], name="conv1", pads=[1, 1, 1, 1]),
        node("Relu", ["features"], ["kept"], name="relu1"),
        node("BatchNormalization", ["kept", "gamma", "beta", "mean", "variance"], norm_outputs, name="norm", training_mode=training),
        node("Conv", ["normed", "w2"], ["features2"], name="conv2", pads=[1, 1, 1, 1]),
        node("Relu", ["features2"], ["kept2"], name="relu2"),
        node("GlobalAveragePool", ["kept2"], ["pooled"], name="pool"),
        node("Flatten", ["pooled"], ["row"], name="flatten"),
        node("MatMul", ["row", "w3"], ["scores"], name="classify"),
        node("Softmax", ["scores"], ["probabilities"], name="softmax", axis=1),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIZE, SIZE])
    probabilities = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, CLASSES])
    return model_of("lesson", nodes, image, probabilities, weights())


def make_parts(type_):
    node = helper.make_node
    nodes = [
        node("Mul", ["x", "k"], ["scaled"], name="scale"),
        node("Add", ["scaled", "k"], ["shifted"], name="shift"),
        node("Relu", ["shifted"], ["kept"], name="relu"),
        node("Tanh", ["kept"], ["bent"], name="bend"),
        node("Mul", ["bent", "k"], ["grown"], name="grow"),
        node("Add", ["grown", "k"], ["y"], name="move"),
    ]
    x, y = (helper.make_tensor_value_info(name, type_, [1, ELEMENTS]) for name in "xy")
    k = constants({"k": np.arange(ELEMENTS) - 4}, helper.tensor_dtype_to_np_dtype(type_))
    return model_of("parts", nodes, x, y, k)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    onnx.save(make_network(training=1), folder / "train.onnx")
    onnx.save(make_network(training=0), folder / "eval.onnx")
    onnx.save(make_parts(TensorProto.FLOAT), folder / "parts.onnx")
    onnx.save(make_parts(TensorProto.DOUBLE), folder / "parts_double.onnx")

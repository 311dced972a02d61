"""The set of `make bench-kernels`: single products and convolutions of known shapes, and weights that are read once (bench.py).

    bench_kernels.py --tinyort build/tinyort --folder build/models --bench SECONDS [--only NAME,...] [--threads 1,2]

What counts here is the share of the peak. A 3x3 convolution by Winograd's method is counted as if it were none, so it may be beyond all
of it. `token` is the products of one token of a decoder, whose 100 MB of weights no cache holds: its share is that of memory.
"""

import numpy
import onnx
from onnx import helper, numpy_helper

from compare import arguments, chosen, run_cases

CLOSE = (1e-3, 1e-3)


def floats(*shape):
    return numpy.random.default_rng(7).standard_normal(shape).astype(numpy.float32)


def save(path, nodes, feeds, weights):
    """A model whose only output is that of the last node."""
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape) for name, value in feeds.items()]
    output = helper.make_empty_tensor_value_info(nodes[-1].output[0])
    graph = helper.make_graph(nodes, "kernel", ports, [output], [numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)


def product(rows, inner, columns):
    nodes, scale = [helper.make_node("MatMul", ["x", "w"], ["y"])], numpy.float32(inner**-0.5)
    return {"x": floats(rows, inner)}, lambda path, feeds: save(path, nodes, feeds, {"w": scale * floats(inner, columns)})


def convolution(channels, size, out, stride=1, kernel=3):
    pads, scale = [kernel // 2] * 4, numpy.float32((channels * kernel * kernel) ** -0.5)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=pads, strides=[stride, stride])]
    weights = lambda: {"w": scale * floats(out, channels, kernel, kernel)}
    return {"x": floats(1, channels, size, size)}, lambda path, feeds: save(path, nodes, feeds, weights())


def token(width=2048, layers=6):
    names = [f"w{i}" for i in range(layers)]
    nodes = [helper.make_node("MatMul", [f"x{i}" if i else "x", name], [f"x{i + 1}"]) for i, name in enumerate(names)]
    weights = lambda: {name: numpy.float32(width**-0.5) * floats(width, width) for name in names}
    return {"x": floats(1, width)}, lambda path, feeds: save(path, nodes, feeds, weights())


KERNELS = {
    "gemm_1024": product(1024, 1024, 1024),
    "gemm_128x768x3072": product(128, 768, 3072),
    "vgg_conv1_2": convolution(64, 224, 64),
    "vgg_conv3_2": convolution(256, 56, 256),
    "vgg_conv4_2": convolution(512, 28, 512),
    "vgg_conv5_2": convolution(512, 14, 512),
    "resnet_conv2": convolution(64, 56, 64),
    "resnet_conv3": convolution(128, 28, 128),
    "resnet_conv4": convolution(256, 14, 256),
    "resnet_conv5": convolution(512, 7, 512),
    "resnet_stem": convolution(3, 224, 64, stride=2, kernel=7),
    "resnet_1x1": convolution(256, 56, 64, kernel=1),
    "token_100MB": token(),
}


def case_of(folder, name, entry):
    feeds, write = entry
    path = folder / f"{name}.kernel.onnx"
    return {"label": name, "path": path, "export": lambda: write(path, feeds), "runs": [feeds], "threads": 1, "close": CLOSE}


def main():
    options = arguments().parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    run_cases(options, [case_of(options.folder, name, entry) for name, entry in chosen(options, KERNELS).items()])


if __name__ == "__main__":
    main()

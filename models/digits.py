"""Trains models/digits.onnx: hand-written digits, 8x8 grey pixels, a convolutional network of 15,338 weights.

The data is the digits set that scikit-learn carries (1,797 real pictures from the UCI repository, E. Alpaydin and C. Kaynak,
1998). A seeded shuffle holds 360 of them back; training never sees these. How many of them the finished file gets right,
judged by ONNX's reference evaluator, is written into the model's metadata as `held_back_accuracy`.

Writes beside itself: digits.onnx, digits.labels.txt, and pictures/0.png to 9.png, the first held-back picture of each digit,
8x8 pixels as in the data, grey levels 0..16 stretched to 0..255; pictures/7.npy is the seven for programs that read no pictures.
The model's input is `image`, float [N, 1, 8, 8] in 0..1, 1 is ink; the output `probabilities` is [N, 10].

Needs numpy, scikit-learn and onnx. Seeded: the same machine gives the same bytes; another BLAS may round otherwise.
"""

import struct
import zlib
from pathlib import Path

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_digits

SEED = 1998
HELD_BACK = 360
EPOCHS = 40
BATCH = 64
LEARNING_RATE = 2e-3
NOISE = 0.1  # added to the pictures while training, so that the network does not learn single pixels by heart
LABELS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def load_data():
    """Training and held-back pictures [n, 1, 8, 8] in 0..1, and their digits [n]."""
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    pictures = (digits.images[order] / 16).astype(np.float32)[:, np.newaxis]
    labels = digits.target[order]
    return pictures[HELD_BACK:], labels[HELD_BACK:], pictures[:HELD_BACK], labels[:HELD_BACK]


# ---- the layers: forward returns what backward needs ----


def convolve(x, weight):
    """3x3 convolution, padded by one: x [n, c, h, w], weight [o, c, 3, 3]; returns [n, o, h, w] and x's windows."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.tensordot(windows, weight, axes=([1, 4, 5], [1, 2, 3])).transpose(0, 3, 1, 2), windows


def convolve_backward(gradient, windows, weight):
    """Gradients of the input, the weight and the bias."""
    weight_gradient = np.tensordot(gradient, windows, axes=([0, 2, 3], [0, 2, 3]))
    input_gradient, _ = convolve(gradient, weight.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
    return input_gradient, weight_gradient, gradient.sum(axis=(0, 2, 3))


def max_pool(x):
    """The largest of each 2x2 block; also where it was (ties share the gradient)."""
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
    largest = blocks.max(axis=(3, 5), keepdims=True)
    chosen = (blocks == largest).astype(np.float32)
    return largest.reshape(n, c, h // 2, w // 2), chosen / chosen.sum(axis=(3, 5), keepdims=True)


def max_pool_backward(gradient, chosen):
    n, c, h, w = gradient.shape
    return (gradient.reshape(n, c, h, 1, w, 1) * chosen).reshape(n, c, 2 * h, 2 * w)


# ---- the network: conv1 relu pool, conv2 relu pool, conv3 relu, fc softmax ----


def initial_weights(random):
    """He's initialization: normal, variance 2 / inputs of a unit."""

    def normal(*shape):
        return (random.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)

    return {
        "conv1.weight": normal(16, 1, 3, 3),
        "conv1.bias": np.zeros(16, np.float32),
        "conv2.weight": normal(32, 16, 3, 3),
        "conv2.bias": np.zeros(32, np.float32),
        "conv3.weight": normal(32, 32, 3, 3),
        "conv3.bias": np.zeros(32, np.float32),
        "fc.weight": normal(10, 128),
        "fc.bias": np.zeros(10, np.float32),
    }


def gradients(weights, x, labels):
    """Gradients of the mean cross-entropy of one batch, by name of the weight."""
    result, kept = {}, {}
    for name in ("conv1", "conv2", "conv3"):
        y, windows = convolve(x, weights[name + ".weight"])
        y = np.maximum(y + weights[name + ".bias"].reshape(-1, 1, 1), 0)
        kept[name] = windows, y > 0
        x = y
        if name != "conv3":
            x, kept[name + ".pool"] = max_pool(y)
    features = x.reshape(len(x), -1)
    scores = features @ weights["fc.weight"].T + weights["fc.bias"]
    probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)

    gradient = (probabilities - np.eye(10, dtype=np.float32)[labels]) / np.float32(len(labels))
    result["fc.weight"] = gradient.T @ features
    result["fc.bias"] = gradient.sum(axis=0)
    gradient = (gradient @ weights["fc.weight"]).reshape(x.shape)
    for name in ("conv3", "conv2", "conv1"):
        if name != "conv3":
            gradient = max_pool_backward(gradient, kept[name + ".pool"])
        windows, positive = kept[name]
        gradient, result[name + ".weight"], result[name + ".bias"] = convolve_backward(
            gradient * positive, windows, weights[name + ".weight"]
        )
    return result


def train(pictures, labels):
    """Adam (Kingma and Ba, 2014) with a step that falls linearly to zero; returns the weights."""
    random = np.random.default_rng(SEED)
    weights = initial_weights(random)
    mean = {name: np.zeros_like(w) for name, w in weights.items()}
    square = {name: np.zeros_like(w) for name, w in weights.items()}
    steps = EPOCHS * -(-len(pictures) // BATCH)
    step = 0
    for _ in range(EPOCHS):
        order = random.permutation(len(pictures))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            step += 1
            noisy = pictures[chosen] + random.normal(0, NOISE, pictures[chosen].shape).astype(np.float32)
            rate = LEARNING_RATE * (1 - step / steps) * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            for name, g in gradients(weights, noisy, labels[chosen]).items():
                mean[name] = np.float32(0.9) * mean[name] + np.float32(0.1) * g
                square[name] = np.float32(0.999) * square[name] + np.float32(0.001) * g * g
                weights[name] -= np.float32(rate) * mean[name] / (np.sqrt(square[name]) + np.float32(1e-8))
    return weights


# ---- what is written ----


def export(weights):
    """The network as an ONNX model: what a PyTorch export of it would hold."""

    def conv(number, source):
        return helper.make_node(
            "Conv",
            [source, f"conv{number}.weight", f"conv{number}.bias"],
            [f"conv{number}_out"],
            name=f"conv{number}",
            kernel_shape=[3, 3],
            pads=[1, 1, 1, 1],
        )

    def relu(number):
        return helper.make_node("Relu", [f"conv{number}_out"], [f"relu{number}_out"], name=f"relu{number}")

    def pool(number):
        return helper.make_node(
            "MaxPool",
            [f"relu{number}_out"],
            [f"pool{number}_out"],
            name=f"pool{number}",
            kernel_shape=[2, 2],
            strides=[2, 2],
        )

    nodes = [
        *(conv(1, "image"), relu(1), pool(1)),
        *(conv(2, "pool1_out"), relu(2), pool(2)),
        *(conv(3, "pool2_out"), relu(3)),
        helper.make_node("Flatten", ["relu3_out"], ["features"], name="flatten", axis=1),
        helper.make_node("Gemm", ["features", "fc.weight", "fc.bias"], ["scores"], name="fc", transB=1),
        helper.make_node("Softmax", ["scores"], ["probabilities"], name="softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
        doc_string="Hand-written digits, 8x8 grey pixels, 1 is ink; trained by models/digits.py.",
    )
    return helper.make_model(
        graph, producer_name="models/digits.py", ir_version=8, opset_imports=[helper.make_opsetid("", 17)]
    )


def count_right(model, pictures, labels):
    (probabilities,) = ReferenceEvaluator(model).run(None, {"image": pictures})
    return int((probabilities.argmax(axis=1) == labels).sum())


def write_png(path, grey):
    """grey: [height, width] of 0..255. An 8-bit grey PNG by hand, so that no image library is needed."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = grey.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in grey.astype(np.uint8))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    )


def main():
    folder = Path(__file__).resolve().parent
    pictures, labels, held_back, held_back_labels = load_data()
    model = export(train(pictures, labels))
    right = count_right(model, held_back, held_back_labels)
    helper.set_model_props(model, {"held_back_accuracy": f"{right}/{len(held_back)}"})
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "digits.onnx")
    print(f"digits.onnx: {right} of {len(held_back)} held-back pictures right")

    (folder / "digits.labels.txt").write_text("\n".join(LABELS) + "\n")
    (folder / "pictures").mkdir(exist_ok=True)
    for digit in range(10):
        first = held_back[np.flatnonzero(held_back_labels == digit)[0], 0]
        write_png(folder / "pictures" / f"{digit}.png", np.rint(first * 255))
        if digit == 7:
            np.save(folder / "pictures/7.npy", first[np.newaxis, np.newaxis])


if __name__ == "__main__":
    main()

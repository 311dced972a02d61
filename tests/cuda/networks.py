"""ResNet-50, MobileNetV2, ViT, Swin, detectors, a speech encoder and BERT, also as onnxruntime optimizes it, on the CUDA provider alone, against cpu: on the simulated device, or on a GPU.

Usage: networks.py TINYORT [PROVIDER], cudasim by default; networks.py --bert FILE writes a BERT so wide that cuBLAS serves it; networks.py --write FOLDER
writes all in float32. The graphs have the depth, the operators and the order of the real networks, as exporters write them;
widths and pictures are small, weights are seeded. Each is made in two forms (an older exporter's: opset 14, normalizations
and GELU taken apart, shape arithmetic in many nodes; a newer one's: opset 20 and its operators), in float32 and in float16,
with a symbolic batch (Swin of one picture), and run with two sizes, with cuBLAS and without, float32 with tf32=on too. The chain is that provider alone, so a node without a
kernel there is a failure. On the simulated device every value must be near that of cpu; on a GPU, whose libraries round in ways of
their own, the outputs.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from graph import Graph
from onnx import TensorProto, helper


# ---- networks: each returns its output


def resnet50(g):
    x = g.node("Relu", g.conv(g.image(), 3, 8, 7, 2))
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 8
    for blocks, width, stride in ((3, 4, 1), (4, 8, 2), (6, 16, 2), (3, 32, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            inner = g.node("Relu", g.conv(x, channels, width, 1))
            inner = g.node("Relu", g.conv(inner, width, width, 3, step))
            inner = g.conv(inner, width, 4 * width, 1, gain=0.3)
            short = x if block else g.conv(x, channels, 4 * width, 1, step)
            x, channels = g.node("Relu", g.node("Add", inner, short)), 4 * width
    return g.classifier(x, channels)


def mobilenet_v2(g):
    def conv(x, *arguments):
        return g.node("Clip", g.conv(x, *arguments), g.scalar(0), g.scalar(6))

    x, channels = conv(g.image(), 3, 8, 3, 2), 8
    for factor, filters, blocks, stride in ((1, 4, 1, 1), (6, 6, 2, 2), (6, 8, 3, 2), (6, 12, 4, 2), (6, 16, 3, 1), (6, 20, 3, 2), (6, 40, 1, 1)):
        for block in range(blocks):
            step, inner, width = stride if block == 0 else 1, x, factor * channels
            if factor > 1:
                inner = conv(inner, channels, width, 1)
            inner = g.conv(conv(inner, width, width, 3, step, width), width, filters, 1, gain=0.5)
            x = g.node("Add", x, inner) if step == 1 and channels == filters else inner
            channels = filters
    return g.classifier(conv(x, channels, 80, 1), 80)


def vit(g):
    size, heads, patch, length = 24, 3, 8, 17
    image = g.image()
    x = g.node("Conv", image, g.weight(size, 3, patch, patch), g.weight(size), strides=[patch, patch], kernel_shape=[patch, patch])
    x = g.node("Transpose", g.reshape(x, g.size(x, 0), size, -1), perm=[0, 2, 1])
    token = g.expand(g.weight(1, 1, size), g.size(image, 0), 1 if not g.old else -1, 1 if not g.old else -1)
    x = g.node("Add", g.node("Concat", token, x, axis=1), g.weight(1, length, size))
    for _ in range(12):
        inner = g.norm(x, size, 1e-6)
        mixed = g.attention(inner, size, heads) if g.old else g.packed_attention(inner, size, heads, length)
        x = g.node("Add", mixed, x)
        x = g.node("Add", x, g.feed_forward(g.norm(x, size, 1e-6), size, 2 * size))
    return g.gemm(g.node("Gather", g.norm(x, size, 1e-6), g.small(np.int64(0)), axis=1), size, 10)


def swin(g):
    """Attention in windows of 4x4, in every other block shifted by half of one; padded, sliced and rolled as torchvision is exported."""
    side, size, heads, window = 8, 12, 2, 4
    most = g.integers(2**63 - 1)

    def sliced(x, axis, start, end=None):
        return g.node("Slice", x, g.integers(start), most if end is None else g.integers(end), g.integers(axis), g.integers(1))

    def roll(x, by):
        for axis in (1, 2):
            x = g.node("Concat", sliced(x, axis, by), sliced(x, axis, 0, by), axis=axis)
        return x

    def windows(x, side, size):
        count = side // window
        x = g.node("Transpose", g.reshape(x, 1, count, window, count, window, size), perm=[0, 1, 3, 2, 4, 5])
        return g.reshape(x, count * count, window * window, size)

    def picture(x, side, size):
        count = side // window
        x = g.node("Transpose", g.reshape(x, 1, count, count, window, window, size), perm=[0, 1, 3, 2, 4, 5])
        return g.reshape(x, 1, side, side, size)

    def attention(x, side, size, heads, shift):
        count, length, head = (side // window) ** 2, window * window, size // heads
        packed = g.reshape(g.linear(x, size, 3 * size), count, length, 3, heads, head)
        packed = g.node("Transpose", packed, perm=[2, 0, 3, 1, 4])
        query, key, value = (g.node("Gather", packed, g.small(np.int64(i)), axis=0) for i in range(3))
        query = g.node("Mul", query, g.scalar(head**-0.5))
        scores = g.node("MatMul", query, g.node("Transpose", key, perm=[0, 1, 3, 2]))
        scores = g.node("Add", scores, g.weight(1, heads, length, length, scale=0.1))
        if shift:
            hidden = g.initializer(np.where(g.random.random((count, 1, length, length)) < 0.3, -100, 0).astype(g.dtype))
            scores = g.node("Add", g.reshape(scores, 1, count, heads, length, length), g.unsqueeze(hidden, 0))
            scores = g.reshape(scores, -1, heads, length, length)
        mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), value)
        return g.linear(g.reshape(g.node("Transpose", mixed, perm=[0, 2, 1, 3]), count, length, size), size, size)

    image = g.input("image", helper.np_dtype_to_tensor_dtype(np.dtype(g.dtype)), 1, 3, 4 * side, 4 * side)
    x = g.node("Conv", image, g.weight(size, 3, 4, 4), g.weight(size), strides=[4, 4], kernel_shape=[4, 4])
    x = g.norm(g.node("Transpose", x, perm=[0, 2, 3, 1]), size, 1e-5)
    for stage in range(2):
        for block in range(2):
            shift = window // 2 if block and side > window else 0
            inner = g.node("Pad", g.norm(x, size, 1e-5), g.integers(*[0] * 8))
            inner = roll(inner, shift) if shift else inner
            inner = picture(attention(windows(inner, side, size), side, size, heads, shift), side, size)
            inner = roll(inner, -shift) if shift else inner
            x = g.node("Add", x, sliced(sliced(inner, 1, 0, side), 2, 0, side))
            x = g.node("Add", x, g.feed_forward(g.norm(x, size, 1e-5), size, 2 * size))
        if stage:
            break
        every = [g.node("Slice", x, g.integers(i % 2, i // 2), g.integers(side, side), g.integers(1, 2), g.integers(2, 2)) for i in range(4)]
        x = g.norm(g.node("Concat", *every, axis=-1), 4 * size, 1e-5)
        x = g.node("MatMul", x, g.weight(4 * size, 2 * size))
        side, size, heads = side // 2, 2 * size, 2 * heads
    return g.classifier(g.node("Transpose", g.norm(x, size, 1e-5), perm=[0, 3, 1, 2]), size)


def detector(g):
    """The parts that detectors have besides convolutions: halves that are joined again, pools that are joined, an upsampled
    image beside a larger one."""
    def conv(*arguments, **more):
        x = g.conv(*arguments, **more)
        return g.node("Mul", x, g.node("Sigmoid", x))

    def halves(x, channels):
        first, second = f"{x}_first", f"{x}_second"
        parts = [g.integers(channels, channels)]
        g.nodes.append(helper.make_node("Split", [x, *parts], [first, second], name=f"Split_{x}", axis=1))
        return first, second

    x = conv(conv(g.image(), 3, 16, stride=2), 16, 32, stride=2)
    first, second = halves(x, 16)
    inner = g.node("Add", second, conv(conv(second, 16, 16), 16, 16, gain=0.5))
    large = conv(g.node("Concat", first, second, inner, axis=1), 48, 32, kernel=1)
    x = conv(large, 32, 64, stride=2)
    pooled = [x]
    for _ in range(2):
        pooled.append(g.node("MaxPool", pooled[-1], kernel_shape=[5, 5], pads=[2] * 4))
    x = conv(g.node("Concat", *pooled, axis=1), 192, 64, kernel=1)
    x = g.node("Resize", x, "", g.small(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return g.conv(conv(g.node("Concat", x, large, axis=1), 96, 32), 32, 24, kernel=1)


def selecting_detector(g):
    """A detector that selects its boxes itself: as many as it finds, which only the run tells."""
    x = detector(g)
    boxes, logits = f"{x}_boxes", f"{x}_logits"
    g.nodes.append(helper.make_node("Split", [g.reshape(x, g.size(x, 0), 24, -1), g.integers(4, 20)], [boxes, logits], name="Split_head", axis=1))
    boxes = g.node("Mul", g.node("Sigmoid", g.node("Transpose", boxes, perm=[0, 2, 1])), g.scalar(64))
    scores = g.node("Sigmoid", logits)
    number = lambda value: g.small(np.array([value], np.float32))
    wide = [g.node("Cast", value, to=TensorProto.FLOAT) if g.dtype == np.float16 else value for value in (boxes, scores)]
    found = g.node("NonMaxSuppression", *wide, g.integers(9), number(0.5), number(0.6), center_point_box=1)
    places = g.node("Gather", found, g.integers(0, 2), axis=1)
    return g.node("Concat", g.node("GatherND", boxes, places), g.node("Unsqueeze", g.node("GatherND", scores, found), g.integers(1)), axis=1)


def speech(g, size=32, bins=20):
    """The encoder of a speech model: a spectrogram, by STFT or by an older exporter's convolution, a mel scale, two convolutions, two layers."""
    sound = g.input("sound", helper.np_dtype_to_tensor_dtype(np.dtype(g.dtype)), "batch", "samples")
    window = np.hanning(64).astype(g.dtype)
    if g.old:
        waves = np.exp(-2j * np.pi * np.outer(np.arange(33), np.arange(64)) / 64)
        filters = g.initializer((np.concatenate([waves.real, waves.imag])[:, None] * window).astype(g.dtype))
        parts = g.node("Conv", g.node("Unsqueeze", sound, g.integers(1)), filters, strides=[16])
        parts = [g.node("Slice", parts, g.integers(first), g.integers(first + 33), g.integers(1)) for first in (0, 33)]
        power = g.node("Add", *(g.node("Mul", part, part) for part in parts))
    else:
        parts = g.node("STFT", sound, g.small(np.int64(16)), g.initializer(window), g.small(np.int64(64)))
        power = g.node("Transpose", g.node("ReduceSumSquare", parts, g.integers(-1), keepdims=0), perm=[0, 2, 1])
    scale = g.initializer(np.abs(g.random.standard_normal((bins, 33))).astype(g.dtype))
    x = g.node("Log", g.node("Max", g.node("MatMul", scale, power), g.scalar(1e-3)))
    for channels, stride in ((bins, 1), (size, 2)):
        x = g.gelu(g.node("Conv", x, g.weight(size, channels, 3), g.weight(size, scale=0.1), pads=[1, 1], strides=[stride]))
    x = g.node("Transpose", x, perm=[0, 2, 1])
    for _ in range(2):
        x = g.node("Add", x, g.attention(g.norm(x, size, 1e-5), size, 4))
        x = g.node("Add", x, g.feed_forward(g.norm(x, size, 1e-5), size, 2 * size))
    return g.norm(x, size, 1e-5)


def padding_mask(g, mask, batch, length):
    """0 where a token counts, else what Softmax makes nothing of."""
    lowest = float(np.finfo(g.dtype).min)
    if g.old:
        mask = g.node("Cast", g.unsqueeze(mask, 1, 2), to=helper.np_dtype_to_tensor_dtype(np.dtype(g.dtype)))
        return g.node("Mul", g.node("Sub", g.scalar(1), mask), g.scalar(lowest))
    scalar = lambda size: g.node("Squeeze", size)
    count = lambda size: g.node("Range", g.small(np.int64(0)), scalar(size), g.small(np.int64(1)))
    rows, columns = g.unsqueeze(count(batch), 1, 2, 3), g.unsqueeze(count(length), 0, 1)
    columns, places = g.unsqueeze(columns, 2), g.unsqueeze(columns, 3)
    shape = g.node("Shape", g.node("Max", rows, columns), start=0)
    pairs = [g.unsqueeze(g.node("Expand", value, shape), -1) for value in (rows, columns)]
    counted = g.node("GatherND", g.node("Cast", mask, to=TensorProto.BOOL), g.node("Concat", *pairs, axis=-1), batch_dims=0)
    every = g.node("And", g.small(np.array(True)), g.node("GreaterOrEqual", places, g.small(np.int64(0))))
    return g.node("Where", g.node("And", every, counted), g.scalar(0), g.scalar(lowest))


def bert(g, size=32):
    heads, positions = 4, 64
    ids, mask = (g.input(name, TensorProto.INT64, "batch", "sequence") for name in ("input_ids", "attention_mask"))
    batch, length = g.size(ids, 0), g.size(ids, 1)
    row = g.small(np.arange(positions, dtype=np.int64)[None])
    row = g.node("Slice", row, g.integers(0), length, g.integers(1), g.integers(1))
    kinds = g.node("GatherElements", g.small(np.zeros((1, positions), np.int64)), row, axis=1)
    x = g.node("Add", g.node("Gather", g.weight(50, size, scale=1), ids, axis=0),
               g.node("Gather", g.weight(2, size, scale=1), g.expand(kinds, batch, length), axis=0))
    x = g.norm(g.node("Add", x, g.node("Gather", g.weight(positions, size, scale=1), row, axis=0)), size, 1e-12)
    mask = padding_mask(g, mask, batch, length)
    for _ in range(12):
        x = g.norm(g.node("Add", g.attention(x, size, heads, mask), x), size, 1e-12)
        x = g.norm(g.node("Add", g.feed_forward(x, size, 2 * size), x), size, 1e-12)
    return g.node("Tanh", g.gemm(g.node("Gather", x, g.small(np.int64(0)), axis=1), size, size))


def optimized_bert(g, size=32):
    """BERT as onnxruntime's optimizer leaves it, in operators of com.microsoft; `old` has the mask itself, else its length."""
    ids, mask = (g.input(name, TensorProto.INT64, "batch", "sequence") for name in ("input_ids", "attention_mask"))
    ids, mask = (g.node("Cast", value, to=TensorProto.INT32) for value in (ids, mask))

    def node(op, *inputs, **attributes):
        return g.node(op, *inputs, domain="com.microsoft", **attributes)

    def norm():
        return g.weight(size, scale=0.1, mean=1.0), g.weight(size, scale=0.1)

    def product(x, size, out):
        return g.node("MatMul", x, g.weight(size, out, scale=0.5 * size**-0.5))

    tables = g.weight(50, size, scale=1), g.weight(64, size, scale=1), ""
    x = node("EmbedLayerNormalization", ids, "", *tables, *norm(), "" if g.old else mask, epsilon=1e-12)
    g.nodes[-1].output.append("mask_index")
    for _ in range(12):
        projection = g.weight(size, 3 * size, scale=0.5 * size**-0.5), g.weight(3 * size, scale=0.1)
        mixed = node("Attention", x, *projection, mask if g.old else "mask_index", num_heads=4)
        x = node("SkipLayerNormalization", product(mixed, size, size), x, *norm(), g.weight(size, scale=0.1), epsilon=1e-12)
        inner = node("BiasGelu" if g.old else "FastGelu", product(x, size, 2 * size), g.weight(2 * size, scale=0.1))
        x = node("SkipLayerNormalization", product(inner, 2 * size, size), x, *norm(), g.weight(size, scale=0.1), epsilon=1e-12)
    return g.node("Tanh", g.gemm(g.node("Gather", x, g.small(np.int64(0)), axis=1), size, size))


def decoder(g, size=64, heads=4, shared=2, inner=160):
    """A decoder as onnxruntime's model builder makes it, of two layers; `old` has weights of the type of values, and biases, else of 4 bits."""
    ids, mask = (g.input(name, TensorProto.INT64, "batch", dim) for name, dim in (("input_ids", "sequence"), ("attention_mask", "all")))
    element, part = helper.np_dtype_to_tensor_dtype(np.dtype(g.dtype)), size // heads

    def node(op, *inputs, **attributes):
        return g.node(op, *inputs, domain="com.microsoft", **attributes)

    def packed(rows, columns, *shape):
        bits = g.initializer(g.random.integers(0, 256, shape, dtype=np.uint8))
        return bits, g.initializer((g.random.random((rows, columns // 32)) * 0.02).astype(g.dtype))

    def product(x, length, out):
        if g.old:
            return g.node("Add", g.node("MatMul", x, g.weight(length, out, scale=0.5 * length**-0.5)), g.weight(out, scale=0.1))
        return node("MatMulNBits", x, *packed(out, length, out, length // 32, 16), K=length, N=out, bits=4, block_size=32)

    def gain():
        return g.weight(size, scale=0.1, mean=1.0)

    def skip_norm(skip, x):
        normed = node("SkipSimplifiedLayerNormalization", skip, x, gain(), epsilon=1e-5)
        g.nodes[-1].output.extend(["", "", normed + "_sum"])
        return normed, normed + "_sum"

    one = g.small(np.array([1], np.int64))
    lengths = g.node("Cast", g.node("Sub", g.node("ReduceSum", mask, one, keepdims=0), g.small(np.int64(1))), to=TensorProto.INT32)
    total = g.node("Cast", g.node("Gather", g.node("Shape", mask), g.small(np.int64(1)), axis=0), to=TensorProto.INT32)
    angles = np.outer(np.arange(128), 10.0 ** -np.linspace(0, 3, part // 2))
    caches = [g.initializer(table(angles).astype(g.dtype)) for table in (np.cos, np.sin)]
    if g.old:
        skip = g.node("Gather", g.weight(50, size, scale=1), ids, axis=0)
    else:
        bits, scales = packed(50, size, 50, size // 2)
        skip = node("GatherBlockQuantized", bits, ids, scales, bits=4, block_size=32, gather_axis=0, quantize_axis=1)
    x = g.node("SimplifiedLayerNormalization", skip, gain(), axis=-1, epsilon=1e-5)
    for layer in range(2):
        parts = [product(x, size, count * part) for count in (heads, shared, shared)]
        past = [g.input(f"past_{kind}{layer}", element, "batch", shared, "past", part) for kind in ("key", "value")]
        mixed = node("GroupQueryAttention", *parts, *past, lengths, total, *caches, num_heads=heads, kv_num_heads=shared, do_rotary=1)
        g.outputs.extend([f"present_key{layer}", f"present_value{layer}"])
        g.nodes[-1].output.extend(g.outputs[-2:])
        x, skip = skip_norm(skip, product(mixed, size, size))
        gate = product(x, size, inner)
        x, skip = skip_norm(skip, product(g.node("Mul", g.node("Mul", gate, g.node("Sigmoid", gate)), product(x, size, inner)), inner, size))
    return g.node("MatMul", x, g.weight(size, 50))


# ---- feeds: two runs each, of different sizes


def pictures(dtype, *shapes):
    random = np.random.default_rng(5)
    return [{"image": random.standard_normal(shape).astype(dtype)} for shape in shapes]


def sounds(dtype, *shapes):
    random = np.random.default_rng(5)
    return [{"sound": random.standard_normal(shape).astype(dtype)} for shape in shapes]


def sentences(*shapes):
    random, feeds = np.random.default_rng(5), []
    for batch, length in shapes:
        mask = np.ones((batch, length), np.int64)
        mask[-1, length - 2 :] = 0
        feeds.append({"input_ids": random.integers(0, 50, (batch, length)), "attention_mask": mask})
    return feeds


def tokens(dtype, *shapes):
    """Runs of a decoder: (sequence, past)."""
    random, feeds = np.random.default_rng(5), []
    for length, before in shapes:
        feed = {"input_ids": random.integers(0, 50, (1, length)), "attention_mask": np.ones((1, length + before), np.int64)}
        pasts = {f"past_{kind}{layer}": (0.5 * random.standard_normal((1, 2, before, 16))).astype(dtype) for kind in ("key", "value") for layer in range(2)}
        feeds.append({**feed, **pasts})
    return feeds


NETWORKS = {
    resnet50: (53, lambda dtype: pictures(dtype, (1, 3, 64, 64), (2, 3, 45, 71))),
    mobilenet_v2: (52, lambda dtype: pictures(dtype, (1, 3, 64, 64), (2, 3, 41, 67))),
    vit: (1, lambda dtype: pictures(dtype, (1, 3, 32, 32), (3, 3, 32, 32))),
    swin: (1, lambda dtype: pictures(dtype, (1, 3, 32, 32))),
    detector: (9, lambda dtype: pictures(dtype, (1, 3, 64, 64), (2, 3, 32, 96))),
    selecting_detector: (9, lambda dtype: pictures(dtype, (1, 3, 64, 64), (2, 3, 32, 96))),
    speech: (2, lambda dtype: sounds(dtype, (1, 400), (2, 721))),
    bert: (0, lambda dtype: sentences((1, 11), (3, 20))),
    optimized_bert: (0, lambda dtype: sentences((1, 11), (3, 20))),
    decoder: (0, lambda dtype: tokens(dtype, (7, 0), (1, 12))),
}


def check(tinyort, path, chain, feeds):
    """What is wrong, or an empty text."""
    command = [tinyort, "compare", path, "--ep", "cpu", "--ep", chain] + ["--rtol", "1e-2", "--atol", "1e-2"] * ("tf32" in chain)
    for name, value in feeds.items():
        np.save(path.parent / f"{name}.npy", value)
        command += ["--input", f"{name}={path.parent / name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    good = done.returncode == 0 or (not chain.startswith("cudasim") and "output, 0 differ" in done.stdout)
    return "" if good else (done.stdout + done.stderr).strip()


def check_saved(tinyort, path, chain, feeds):
    """A plan that was saved for these sizes gives the bits of the model; what is wrong, or an empty text. Runs after check, which saved the inputs."""
    folder, plan = path.parent, path.parent / "network.plan"
    inputs = [word for name in feeds for word in ("--input", f"{name}={folder / name}.npy")]
    shapes = [word for name, value in feeds.items() for word in ("--shape", f"{name}={'x'.join(map(str, value.shape))}")]
    outputs = []
    for command in (["plan", path, "--ep", chain, "-o", plan, *shapes], ["run", path, "--ep", chain, *inputs, *shapes], ["run", "--plan", plan, *inputs]):
        done = subprocess.run([tinyort, *command, *["--save", folder] * (command[0] == "run")], capture_output=True, text=True)
        if done.returncode:
            return f"{' '.join(map(str, command[:2]))}: {done.stderr.strip()}"
        outputs.append((folder / "output_0.npy").read_bytes() if command[0] == "run" else b"")
    return "" if outputs[1] == outputs[2] else "the saved plan gives other bits"


def conversions(tinyort, path, chain):
    """How many values the plan converts between layouts."""
    done = subprocess.run([tinyort, "plan", path, "--ep", chain, "--json"], capture_output=True, text=True, check=True)
    return len(json.loads(done.stdout)["conversions"])


def rounding(tinyort, folder, provider):
    """TF32 by own kernels, held to products in double: no factor is more than 0.7 units of its 10th bit off, products are not too small
    in the mean, and factors of 10 bits are exact. Each is a product of 200 by 512 by 136, columns across or along k, or a convolution."""
    random = np.random.default_rng(9)
    wide = [0.5 + random.random(shape) for shape in ((200, 512), (512, 136))]
    for kind, bits in itertools.product(("MatMul", "Gemm", "Conv"), (23, 10)):
        a, b = (np.round(x * 2**bits) / 2**bits for x in wide)
        graph, path = Graph(False, np.float32), folder / "product.onnx"
        right = {"MatMul": b, "Gemm": b.T, "Conv": b.T[:, :, None, None]}[kind].astype(np.float32)
        image = a.T.reshape(1, 512, 20, 10).repeat(2, 2) if kind == "Conv" else a
        x = graph.input("x", TensorProto.FLOAT, *image.shape)
        y = graph.node(kind, x, graph.initializer(right), **{"transB": 1} if kind == "Gemm" else {"strides": [2, 1]} if kind == "Conv" else {})
        graph.save(path, y)
        np.save(folder / "x.npy", image.astype(np.float32))
        run = [tinyort, "run", path, "--ep", f"{provider}:tf32=on:libraries=off", "--input", f"x={folder}/x.npy", "--save", folder]
        subprocess.run(run, check=True, capture_output=True)
        found = np.load(folder / "output_0.npy").astype(np.float64)
        found = found[0].reshape(136, 200).T if kind == "Conv" else found
        error = found / (a @ b) - 1
        good = np.abs(error).max() < 2e-6 if bits == 10 else 1e-6 < np.abs(error).max() < 1.4 / 1024 and abs(error.mean()) < 1e-4
        yield "" if good else f"{kind} of {bits} bits: errors up to {np.abs(error).max():.2e}, {error.mean():.2e} in the mean"


def write(folder):
    """NETWORK-FORM.onnx, and what it is fed: NETWORK-FORM.0.INPUT.npy, and another run's."""
    for (make, (_, feeds)), old, half in itertools.product(NETWORKS.items(), (True, False), (False, True)):
        graph = Graph(old, np.float16 if half else np.float32)
        name = f"{make.__name__}-{'older' if old else 'newer'}{'-half' * half}"
        graph.save(folder / f"{name}.onnx", make(graph))
        for i, feed in enumerate(feeds(graph.dtype)):
            for port, value in feed.items():
                np.save(folder / f"{name}.{i}.{port}.npy", value)


def main():
    if sys.argv[1] == "--bert":
        graph = Graph(False, np.float32)
        graph.save(sys.argv[2], bert(graph, 160))
        return
    if sys.argv[1] == "--write":
        write(Path(sys.argv[2]))
        return
    passed = failed = 0
    provider = sys.argv[2] if len(sys.argv) > 2 else "cudasim"
    with tempfile.TemporaryDirectory() as folder:
        for (make, (convolutions, feeds)), old, dtype in itertools.product(NETWORKS.items(), (True, False), (np.float32, np.float16)):
            graph, path = Graph(old, dtype), Path(folder) / "network.onnx"
            graph.save(path, make(graph))
            assert sum(node.op_type == "Conv" for node in graph.nodes) == convolutions + (make is speech and old)
            tf32 = dtype == np.float32 and make is not selecting_detector  # whose choice is another with other scores
            options = itertools.product(("", ":libraries=off"), ("", ":tf32=on") if tf32 else ("",))
            for chain, feed in itertools.product([provider + a + b for a, b in options], feeds(dtype)):
                problem = check(sys.argv[1], path, chain, feed)
                if chain == provider:
                    problem += check_saved(sys.argv[1], path, chain, feed)
                # The last image alone becomes plain: nothing between convolutions with channels last is converted.
                if make is detector and dtype == np.float16 and not old and conversions(sys.argv[1], path, chain) != 1:
                    problem += " values are converted between convolutions"
                passed, failed = passed + (not problem), failed + bool(problem)
                if problem:
                    shapes = ", ".join("x".join(map(str, value.shape)) for value in feed.values())
                    form = f"{'older' if old else 'newer'} form, {dtype.__name__}, {shapes}, {chain}"
                    print(f"FAILED {make.__name__} ({form}): {problem}")
        for problem in rounding(sys.argv[1], Path(folder), provider):
            passed, failed = passed + (not problem), failed + bool(problem)
            if problem:
                print(f"FAILED TF32, {problem}")
    print(f"cuda-networks: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

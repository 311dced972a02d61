"""Tests of keyword spotters that compute their own features, as firmware: audio, frames, window, DFT or STFT, mel bands, logarithm, DCT, and a network.

Usage: keywords.py TINYORT, from the root of the tree. Graphs are written as exporters write them. Each is compiled, held to the bits of --ep firmware, to
onnxruntime, and to features that numpy computes in double.

Tolerances follow from E = 2^-24, the relative error of a float. A transform of length N errs by at most 6.7 k E |x| as the root of the mean square over its bins,
for k stages of 2 (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 24.2, where eta is about 6.7 E); a factor p counts as p stages, as
a sum of p products, and 3 more are for the window and the stage of real numbers. No bin is held to more than that. The sum of products of a convolution errs by
sqrt(N) E sum(|x|), as errors of roundings have no common sign. From there errors grow as derivatives say: of squares, sums, logarithms. The network is held to
onnxruntime's on the same coefficients: those of a steady tone differ so little between frames that normalization makes differences of 3 E c into 6 E c / sqrt(1e-3).
"""

import logging
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import run as firmware
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

SAMPLES, RATE, STEP, BANDS, COEFFICIENTS, CLASSES = 16000, 16000, 320, 40, 10, 12
LOW, HIGH, FLOOR, NEAR_ZERO = 20.0, 4000.0, 1e-6, 1e-3
EPSILON = 2.0**-24
BUILDS = (("gcc", "-O2"), ("clang", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"))


class Graph:
    """A graph that grows a node at a time, with the numbers that its features have in double."""

    def __init__(self, name, kind=np.float32, opset=17):
        self.name, self.kind, self.opset, self.nodes, self.weights = name, np.dtype(kind), opset, [], []
        self.rng = np.random.default_rng(sum(map(ord, name)))
        self.window, self.length, self.size, self.squared, self.direct, self.edges = None, 0, 0, True, False, 0

    def constant(self, value, kind=np.float32):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def whole(self, *values):
        return self.constant(values, np.int64)

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, f"n{len(self.nodes)}_{op}", **attributes))
        return names[0] if outputs == 1 else names

    def over(self, op, x, axis, keepdims=0):
        """A reduction, whose axes are an attribute before opset 18."""
        if self.opset >= 18 or op == "ReduceSum":
            return self.add(op, x, self.whole(axis), keepdims=keepdims)
        return self.add(op, x, axes=[axis], keepdims=keepdims)

    def save(self, path, **outputs):
        port = helper.make_tensor_value_info("audio", helper.np_dtype_to_tensor_dtype(self.kind), [1, SAMPLES])
        made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, self.name, [port], made, self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9), path)
        return path


# ---- features -----------------------------------------------------------------------------------------------------------------------------------


def signal(g):
    """The audio as floats from -1 to 1."""
    return "audio" if g.kind == np.float32 else g.add("Mul", g.add("Cast", "audio", to=TensorProto.FLOAT), g.constant(1 / 32768))


def window_values(op, length, periodic=1):
    at = 2 * np.pi * np.arange(length) / (length if periodic else length - 1)
    if op == "HannWindow":
        return 0.5 - 0.5 * np.cos(at)
    if op == "HammingWindow":
        return 25 / 46 - 21 / 46 * np.cos(at)
    return 0.42 - 0.5 * np.cos(at) + 0.08 * np.cos(2 * at)


def window(g, op, length, size=0, periodic=1):
    g.window, g.length, g.size = window_values(op, length, periodic), length, size or length
    return g.add(op, g.constant(length, np.int64), periodic=periodic)


def places(length, samples=SAMPLES):
    """Of each sample of each frame."""
    return np.arange(0, samples - length + 1, STEP)[:, None] + np.arange(length)


def by_ranges(g, audio, length):
    """Places are sums of two ranges, as torch's unfold has them."""
    begins = g.add("Range", g.constant(0, np.int64), g.constant(SAMPLES - length + 1, np.int64), g.constant(STEP, np.int64))
    within = g.add("Range", g.constant(0, np.int64), g.constant(length, np.int64), g.constant(1, np.int64))
    return g.add("Gather", audio, g.add("Add", g.add("Unsqueeze", begins, g.whole(1)), within), axis=1)


def by_slices(g, audio, length):
    """A slice for each frame, as a loop is exported."""
    frames = [g.add("Unsqueeze", g.add("Slice", audio, g.whole(at), g.whole(at + length), g.whole(1)), g.whole(1)) for at in places(length)[:, 0]]
    return g.add("Concat", *frames, axis=1)


def dft(g, frames):
    """The spectrum of frames, [1, frames, bins, 2]."""
    numbers, size = g.add("Unsqueeze", frames, g.whole(-1)), g.constant(g.size, np.int64)
    return g.add("DFT", numbers, size, g.constant(-2, np.int64), onesided=1) if g.opset >= 20 else g.add("DFT", numbers, size, axis=2, onesided=1)


def power(g, spectrum):
    """As torch exports real ** 2 + imag ** 2."""
    real, imaginary = (g.add("Gather", spectrum, g.constant(part, np.int64), axis=3) for part in (0, 1))
    return g.add("Add", g.add("Mul", real, real), g.add("Pow", imaginary, g.constant(2.0)))


def magnitude(g, spectrum):
    g.squared = False
    return g.over("ReduceL2", spectrum, 3)


def mel(g, energies):
    numbers = (g.constant(BANDS, np.int64), g.constant(g.size, np.int64), g.constant(RATE, np.int64), g.constant(LOW), g.constant(HIGH))
    return g.add("MatMul", energies, g.add("MelWeightMatrix", *numbers))


def mel_values(size):
    """The matrix of MelWeightMatrix as ONNX defines it: corners of triangles are whole bins, equally far apart in mel."""
    low, high = (2595 * np.log10(1 + edge / 700) for edge in (LOW, HIGH))
    corners = 700 * (10 ** ((low + np.arange(BANDS + 2) * ((high - low) / (BANDS + 2))) / 2595) - 1)
    bins = ((size + 1) * corners // RATE).astype(int)
    matrix = np.zeros((size // 2 + 1, BANDS))
    for band, (left, middle, right) in enumerate(zip(bins, bins[1:], bins[2:])):
        for i in range(left, middle + 1):
            matrix[i, band] = (i - left) / (middle - left) if middle > left else 1.0
        for i in range(middle, right):
            matrix[i, band] = (right - i) / (right - middle)
    return matrix


def cosines():
    return np.sqrt(2 / BANDS) * np.cos(np.pi / BANDS * (np.arange(BANDS)[:, None] + 0.5) * np.arange(COEFFICIENTS))


def coefficients(g, bands, floor):
    """The cepstrum, with a floor by Add, Max or Clip."""
    return g.add("MatMul", g.add("Log", g.add(floor, bands, g.constant(FLOOR))), g.constant(cosines()))


# ---- the network --------------------------------------------------------------------------------------------------------------------------------


def normalized(g, features):
    """Each coefficient over its frames."""
    away = g.add("Sub", features, g.over("ReduceMean", features, 1, keepdims=1))
    variance = g.over("ReduceMean", g.add("Mul", away, away), 1, keepdims=1)
    return g.add("Div", away, g.add("Sqrt", g.add("Add", variance, g.constant(NEAR_ZERO))))


def conv(g, x, channels, filters, kernel, group=1, **attributes):
    shape = (filters, channels // group, *kernel)
    weights, bias = g.rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:])), 0.1 * g.rng.standard_normal(filters)
    return g.add("Relu", g.add("Conv", x, g.constant(weights), g.constant(bias), group=group, **attributes))


def classes(g, features, width=16, blocks=2):
    """DS-CNN on one image of coefficients: [1, CLASSES] probabilities."""
    x = conv(g, g.add("Unsqueeze", features, g.whole(1)), 1, width, (10, 4), strides=[2, 2], pads=[4, 1, 5, 1])
    for _ in range(blocks):
        x = conv(g, x, width, width, (3, 3), group=width, pads=[1, 1, 1, 1])
        x = conv(g, x, width, width, (1, 1))
    x = g.add("Flatten", g.add("GlobalAveragePool", x))
    return g.add("Softmax", g.add("Gemm", x, g.constant(g.rng.standard_normal((width, CLASSES)) / np.sqrt(width)), g.constant(np.zeros(CLASSES))), axis=1)


def spotter(g, path, bands, floor, **options):
    features = coefficients(g, bands, floor)
    frames = len(places(g.length, SAMPLES + 2 * g.edges))
    return g, g.save(path, **{features: [1, frames, COEFFICIENTS], classes(g, normalized(g, features), **options): [1, CLASSES]})


# ---- graphs -------------------------------------------------------------------------------------------------------------------------------------


def ranges_dft(path):
    """16-bit audio; frames of 30 ms, padded to a power of two."""
    g = Graph(path.stem, np.int16, 17)
    weights = window(g, "HannWindow", 480, 512)
    return spotter(g, path, mel(g, power(g, dft(g, g.add("Mul", by_ranges(g, signal(g), 480), weights)))), "Add")


def slices_dft(path):
    g = Graph(path.stem, np.float32, 20)
    weights = window(g, "BlackmanWindow", 640, periodic=0)
    return spotter(g, path, mel(g, magnitude(g, dft(g, g.add("Mul", by_slices(g, signal(g), 640), weights)))), "Max")


def short_time(path, **options):
    g = Graph(path.stem, np.float32, 17)
    weights = window(g, "HammingWindow", 512)
    spectrum = g.add("STFT", signal(g), g.constant(STEP, np.int64), weights, g.constant(512, np.int64), onesided=1)
    return spotter(g, path, mel(g, g.over("ReduceSumSquare", spectrum, 3)), "Clip", **options)


def centered(path):
    """As torch.stft with center=True: the ends are reflected; 25 ms, no power of two."""
    g = Graph(path.stem, np.int16, 18)
    g.window, g.length, g.size, g.edges = window_values("HannWindow", 400), 400, 400, 200
    padded = g.add("Pad", signal(g), g.whole(0, 200, 0, 200), mode="reflect")
    spectrum = g.add("STFT", padded, g.constant(STEP, np.int64), g.constant(g.window), onesided=1)
    return spotter(g, path, mel(g, magnitude(g, spectrum)), "Add")


def convolved(path):
    """The transform as filters of a Conv, for runtimes without DFT."""
    g = Graph(path.stem, np.float32, 18)
    g.window, g.length, g.size, g.direct = window_values("HannWindow", 512), 512, 512, True
    turns = 2 * np.pi / 512 * np.arange(257)[:, None] * np.arange(512)
    filters = np.concatenate([np.cos(turns), -np.sin(turns)]) * g.window
    made = g.add("Conv", g.add("Unsqueeze", signal(g), g.whole(1)), g.constant(filters[:, None]), strides=[STEP])
    parts = g.add("Split", made, g.whole(257, 257), outputs=2, axis=1)
    energies = g.add("Add", *(g.add("Mul", part, part) for part in parts))
    return spotter(g, path, mel(g, g.add("Transpose", energies, perm=[0, 2, 1])), "Max")


MODELS = (ranges_dft, slices_dft, short_time, centered, convolved)


# ---- in double ----------------------------------------------------------------------------------------------------------------------------------


def stages(n):
    """Of a transform: the sum of its prime factors, and 3."""
    count, factor = 3, 2
    while n > 1:
        while n % factor == 0:
            count, n = count + factor, n // factor
        factor += 1
    return count


def features_in_double(g, audio):
    """Coefficients, and the errors that floats may make of them."""
    x = audio[0].astype(np.float64) / (32768 if g.kind == np.int16 else 1)
    x = np.pad(x, g.edges, mode="reflect") if g.edges else x
    frames = x[places(g.length, len(x))] * g.window
    spectrum = abs(np.fft.rfft(frames, g.size))
    if g.direct:
        error = np.sqrt(g.size) * EPSILON * abs(frames).sum(axis=1, keepdims=True)
    else:
        error = 6.7 * stages(g.size) * EPSILON * np.linalg.norm(frames, axis=1, keepdims=True)
    energies = spectrum**2 if g.squared else spectrum
    errors = (2 * spectrum * error + error**2 if g.squared else error) + 4 * EPSILON * energies
    matrix = mel_values(g.size)
    bands = energies @ matrix
    apart = (errors @ matrix + len(matrix) * EPSILON * bands) / (bands + FLOOR)
    logs = np.log(np.maximum(bands, FLOOR) if any(node.op_type in ("Max", "Clip") for node in g.nodes) else bands + FLOOR)
    wrong = -np.log1p(-np.minimum(2 * apart, 0.9)) + 4 * EPSILON * abs(logs)
    return logs @ cosines(), wrong @ abs(cosines()) + BANDS * EPSILON * (abs(logs) @ abs(cosines()))


def sounds(g):
    """Noise, tones, a sweep, a click, silence."""
    at = np.arange(SAMPLES) / RATE
    rng = np.random.default_rng(5)
    list_of = {"noise": 0.1 * rng.standard_normal(SAMPLES), "tone": 0.5 * np.sin(2 * np.pi * 440 * at), "chord": 0.2 * sum(np.sin(2 * np.pi * f * at) for f in (300, 1234.5, 3100)),
               "sweep": 0.8 * np.sin(2 * np.pi * (50 + 1900 * at) * at), "click": np.where(np.arange(SAMPLES) == 7777, 0.9, 0.0), "silence": np.zeros(SAMPLES)}
    for name, sound in list_of.items():
        yield name, (np.round(32767 * np.clip(sound, -1, 1)) if g.kind == np.int16 else sound)[None].astype(g.kind)


# ---- checks -------------------------------------------------------------------------------------------------------------------------------------


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_firmware(tally, tinyort, path, audio, folder):
    np.save(folder / "audio.npy", audio)
    (folder / "audio.raw").write_bytes(audio.tobytes())
    done = firmware.run(tinyort, "run", path, "--ep", "firmware", "--strict", "--input", f"audio={folder / 'audio.npy'}", "--save", folder / "own")
    tally.check(done.returncode == 0, f"{path.stem} on firmware: {done.stderr}")
    return [np.load(folder / "own" / f"output_{i}.npy") for i in range(len(onnx.load(path).graph.output))]


def check_bits(tally, out, name, folder, expected):
    for build in BUILDS[len(name) % 2 :][:1]:  # one of the two for each model
        if firmware.shutil.which(build[0]):
            firmware.check_build(tally, out, name, build, [folder / "audio.raw"], expected)
        else:
            tally.skip(f"{name} by {build[0]} (it is not installed)")


def check_folded(tally, tinyort, path):
    """No node of constants is left to the run."""
    told = firmware.run(tinyort, "plan", path, "--ep", "firmware").stdout
    left = [word for word in ("Window", "MelWeightMatrix", "Range") if f"{word}-" in told]
    tally.check(not left and "folded" in told, f"{path.stem}: the plan has {left}: {told}")


def check(tally, tinyort, make, folder):
    folder.mkdir()
    g, path = make(folder / f"{make.__name__}.onnx")
    name, out, other = path.stem, folder / "out", session(folder / f"{make.__name__}.onnx")
    done = firmware.run(tinyort, "compile", path, "-o", out, "--main")
    tally.check(done.returncode == 0, f"compile {name}: {done.stdout}{done.stderr}")
    check_folded(tally, tinyort, path)
    feature, result = other.get_outputs()[0].name, other.get_outputs()[1].name
    onnx.utils.extract_model(path, folder / "network.onnx", [feature], [result])
    network = session(folder / "network.onnx")
    for sound, audio in sounds(g):
        own = run_firmware(tally, tinyort, path, audio, folder)
        exact, error = features_in_double(g, audio)
        distance = abs(own[0][0] - exact)
        tally.check((distance <= error).all(), f"{name}, {sound}: a coefficient is {(distance / error).max():.3g} times as far from double as roundings explain")
        others = other.run(None, {"audio": audio})
        tally.check((abs(own[0] - others[0])[0] <= 2 * error).all(), f"{name}, {sound}: a coefficient is {(abs(own[0] - others[0])[0] / error).max():.3g} of its error from onnxruntime")
        (probabilities,) = network.run(None, {feature: own[0]})
        tally.check(np.allclose(own[1], probabilities, rtol=0, atol=1e-3), f"{name}, {sound}: probabilities are up to {abs(own[1] - probabilities).max():.3g} from onnxruntime")
        if sound in ("noise", "silence"):
            tally.check(np.allclose(own[1], others[1], rtol=0, atol=2e-3), f"{name}, {sound}: probabilities are up to {abs(own[1] - others[1]).max():.3g} from onnxruntime's, features too")
            check_bits(tally, out, name, folder, own)
    firmware.check_symbols(tally, out, name)


def check_lengths(tally, tinyort, folder):
    """Transforms of many lengths: real to one side and to both, complex, and their inverses; each against numpy, within the error above."""
    folder.mkdir()
    rng, nodes, weights, wanted = np.random.default_rng(1), [], [], []
    lengths = [*range(1, 26), 30, 32, 37, 48, 49, 64, 100, 125, 128, 160, 200, 243, 256, 320, 400, 480, 512, 640, 1024, 2048]
    signals = {"audio": rng.standard_normal((2, 700, 1)).astype(np.float32), "pairs": rng.standard_normal((2, 700, 2)).astype(np.float32)}
    complexes = (signals["pairs"] @ np.array([1, 1j]))
    for n in lengths:
        size = f"n{n}"
        weights.append(numpy_helper.from_array(np.array(n, np.int64), size))
        real = np.fft.fft(signals["audio"][:, :, 0].astype(np.float64), n)
        half = np.zeros((2, n), complex)
        half[:, : min(n // 2 + 1, 700)] = complexes[:, : n // 2 + 1]
        half[:, n // 2 + 1 :] = half[:, 1 : n - n // 2][:, ::-1].conj()
        for source, attributes, result in (("audio", {"onesided": 1}, real[:, : n // 2 + 1]), ("audio", {}, real), ("pairs", {}, np.fft.fft(complexes, n)),
                                           ("pairs", {"inverse": 1}, np.fft.ifft(complexes, n)), ("audio", {"inverse": 1}, np.fft.ifft(signals["audio"][:, :, 0], n)),
                                           ("pairs", {"inverse": 1, "onesided": 1}, np.fft.ifft(half)[:, :n].real)):
            nodes.append(helper.make_node("DFT", [source, size, "axis"], [f"y{len(nodes)}"], f"dft{len(nodes)}", **attributes))
            wanted.append((n, attributes, result, 1 / n if "inverse" in attributes else 1))
    weights.append(numpy_helper.from_array(np.array(1, np.int64), "axis"))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in signals.items()]
    made = [onnx.ValueInfoProto(name=node.output[0]) for node in nodes]
    path = folder / "lengths.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "lengths", ports, made, weights), opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    words = []
    for name, value in signals.items():
        np.save(folder / f"{name}.npy", value)
        (folder / f"{name}.raw").write_bytes(value.tobytes())
        words += ["--input", f"{name}={folder / f'{name}.npy'}"]
    done = firmware.run(tinyort, "run", path, "--ep", "firmware", "--strict", *words, "--save", folder / "own")
    tally.check(done.returncode == 0, f"lengths on firmware: {done.stderr}")
    own = [np.load(folder / "own" / f"output_{i}.npy") for i in range(len(nodes))]
    for value, (n, attributes, result, scale) in zip(own, wanted):
        found = value[..., 0] + 1j * value[..., 1] if value.shape[-1] == 2 else value[..., 0]
        norm = np.sqrt((abs(result) ** 2).sum(axis=1).max() * (2 if attributes.get("onesided") else 1) / n) / scale
        error = 6.7 * stages(n) * EPSILON * norm * scale * np.sqrt(2)
        tally.check(abs(found - result).max() <= error, f"DFT of {n} with {attributes}: {abs(found - result).max() / error:.3g} of the error that roundings explain")
    done = firmware.run(tinyort, "compile", path, "-o", folder / "out", "--main")
    tally.check(done.returncode == 0, f"compile lengths: {done.stderr}")
    for build in BUILDS:
        if firmware.shutil.which(build[0]):
            firmware.check_build(tally, folder / "out", "lengths", build, [folder / f"{name}.raw" for name in signals], own)


# ---- 8 bits -------------------------------------------------------------------------------------------------------------------------------------


class Sounds(CalibrationDataReader):
    def __init__(self, g):
        self.values = iter([{"audio": audio} for _, audio in sounds(g)])

    def get_next(self):
        return next(self.values, None)


def check_quantized(tally, tinyort, folder):
    """The network in 8 bits, its features in floats; these are the steps that `compile` lists."""
    folder.mkdir()
    g, path = short_time(folder / "plain.onnx")
    features = [node.op_type for node in g.nodes].index("Conv")
    logging.disable(logging.WARNING)  # of the quantizer, which asks for its own rewriting of the graph
    quantized = folder / "quantized.onnx"
    quantize_static(path, quantized, Sounds(g), quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, per_channel=True,
                    nodes_to_quantize=[node.name for node in g.nodes[features:] if node.op_type != "Softmax"])
    done = firmware.run(tinyort, "compile", quantized, "-o", folder / "out", "--main")
    tally.check(done.returncode == 0, f"compile quantized: {done.stdout}{done.stderr}")
    listed = all(word in done.stdout + done.stderr for word in ("STFT", "Log", "MatMul")) and "Conv" not in done.stdout + done.stderr
    tally.check(listed, f"compile quantized lists other steps of floats: {done.stdout}{done.stderr}")
    other = session(quantized)
    for sound, audio in sounds(g):
        own = run_firmware(tally, tinyort, quantized, audio, folder)
        others = other.run(None, {"audio": audio})
        tally.check(np.allclose(own[1], others[1], rtol=0, atol=0.03), f"quantized, {sound}: probabilities are up to {abs(own[1] - others[1]).max():.3g} from onnxruntime")
        if sound == "chord":
            check_bits(tally, folder / "out", "quantized", folder, own)


def main():
    tally, tinyort = firmware.Tally(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        check_lengths(tally, tinyort, Path(name) / "lengths")
        for make in MODELS:
            check(tally, tinyort, make, Path(name) / make.__name__)
        check_quantized(tally, tinyort, Path(name) / "quantized")
    print(f"firmware, keyword spotters: {tally.passed} passed, {tally.failed} failed" + (f", {tally.skipped} skipped" if tally.skipped else ""))
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()

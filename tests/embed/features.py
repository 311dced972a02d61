"""Fourier transforms, keyword spotters that compute their features, and forests of trees on an emulated Cortex-M4: instructions and bytes at -O2.

Usage: features.py TINYORT WORK, from the root of the tree. Every output has the bits of --ep firmware. A spotter is split in its features and its network, which is
measured alone, on the features.
"""

import os
import sys
from pathlib import Path

import boards
import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "firmware"))
import keywords  # noqa: E402
import trees  # noqa: E402

TARGET = boards.TARGETS["cortex-m4"]
LENGTHS = (256, 320, 400, 480, 512, 640, 1024, 2048)
ROWS = 50  # of features, for a forest: the mean over them


class Bench:
    def __init__(self, tinyort, work):
        self.tinyort, self.work = tinyort, work
        self.plugin = boards.build_plugins(os.environ.get("CC", "cc"), [TARGET], work)[TARGET.emulator[0]]

    def measure(self, path, inputs):
        """What a model takes, and the instructions of a run on each of some inputs."""
        folder, counts = self.work / path.stem, []
        told = boards.compile_model(self.tinyort, path, {}, TARGET, folder / "c")
        boards.build(TARGET, "-O2", folder / "c", path.stem, folder / "board")
        for values in inputs:
            expected = boards.expected_outputs(self.tinyort, path, values, TARGET, folder / "host")
            stack, functions = boards.execute(TARGET, folder / "board", values, self.plugin)
            boards.compare(boards.outputs(folder / "board", expected), expected)
            counts.append(sum(functions.values()))
        bytes_of = boards.sizes(folder / "board", path.stem)
        rest = f"code {bytes_of['code']:,}  weights {bytes_of['weights']:,}  lib {bytes_of['lib']:,}  arena {told['arena_bytes']:,}  stack {stack}"
        print(f"{path.stem:<22} {np.mean(counts):>12,.0f}  ({min(counts):,} to {max(counts):,})  {rest}", flush=True)
        return np.mean(counts), expected


def transform(path, n):
    """A frame with its window: STFT of one."""
    g = keywords.Graph(path.stem)
    window = g.constant(keywords.window_values("HannWindow", n))
    made = g.add("STFT", "audio", g.constant(n, np.int64), window, onesided=1)
    g.save(path, **{made: [1, 1, n // 2 + 1, 2]})
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = n
    onnx.save(model, path)
    return path


def spotter(bench, path, make, **options):
    g, _ = make(path, **options)
    model, audio = onnx.load(path), dict(keywords.sounds(g))["sweep"]
    feature, result = (port.name for port in model.graph.output)
    network = path.with_name(f"{path.stem}_network.onnx")
    onnx.utils.extract_model(path, network, [feature], [result])
    del model.graph.output[0]  # the features are inside the model
    onnx.save(model, path)
    whole, _ = bench.measure(path, [[("audio", audio)]])
    features = keywords.features_in_double(g, audio)[0].astype(np.float32)[None]
    part, _ = bench.measure(network, [[(feature, features)]])
    print(f"    features {whole - part:,.0f}, network {part:,.0f}")


def forest(bench, path, make):
    _, x = make(path)
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, path)
    bench.measure(path, [[("x", row[None])] for row in x[:ROWS]])


def main():
    bench = Bench(*(Path(word).resolve() for word in sys.argv[1:3]))
    for n in LENGTHS:
        count, _ = bench.measure(transform(bench.work / f"transform_{n}.onnx", n), [[("audio", np.random.default_rng(n).standard_normal((1, n)).astype(np.float32))]])
        print(f"    {count / (n * np.log2(n)):.1f} N log2 N")
    spotter(bench, bench.work / "spotter_stft.onnx", keywords.short_time, width=64, blocks=4)
    spotter(bench, bench.work / "spotter_centered.onnx", keywords.centered)
    spotter(bench, bench.work / "spotter_convolved.onnx", keywords.convolved)
    for make in (trees.random_forest_two, trees.random_forest_three):
        forest(bench, bench.work / f"{make.__name__}.onnx", make)


if __name__ == "__main__":
    main()

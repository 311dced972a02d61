"""Tests of layers that work in bands of rows (--bands, bands=on): the same bytes as whole layers, in no more memory.

Usage: bands.py TINYORT, from the root of the tree.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import run as firmware
from bytes import BOARDS, BUILDS, TARGETS, Graph, inputs_of, run_chain
from run import boards

RANDOM = 16  # graphs


class Network(Graph):
    """A graph whose last value is its output, and some in between."""

    def __init__(self, name, seed, kind, channels, height, width):
        super().__init__(name, seed, kind)
        self.shapes = {self.input("x", 1, channels, height, width): (channels, height, width)}
        self.last = "x"

    def keep(self, value, shape):
        self.shapes[value], self.last = shape, value

    def layer(self, filters, kernel, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0), x=None):
        """filters 0: depthwise."""
        x = x or self.last
        channels, height, width = self.shapes[x]
        size = [(n + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i, n in enumerate((height, width))]
        made = self.conv(x, channels, filters or channels, kernel, group=1 if filters else channels, strides=stride, dilations=dilation, pads=pads, scale=0.002 if filters else 0.01)
        self.keep(made, (filters or channels, *size))
        return made

    def square(self, filters, kernel, stride=1, x=None):
        return self.layer(filters, (kernel, kernel), (stride, stride), pads=[kernel // 2] * 4, x=x)

    def add(self, a, b):
        self.keep(self.node("QLinearAdd", [a, self.scale(), self.zero(), b, self.scale(), self.zero(), self.scale(), self.zero()], "com.microsoft"), self.shapes[a])

    def sigmoid(self):
        """Fused into a table."""
        floats = self.node("Sigmoid", [self.node("DequantizeLinear", [self.last, self.scale(), self.zero()])])
        self.keep(self.node("QuantizeLinear", [floats, self.scale(), self.zero()]), self.shapes[self.last])

    def pool(self):
        channels, height, width = self.shapes[self.last]
        self.keep(self.node("MaxPool", [self.last], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]), (channels, (height - 1) // 2 + 1, width))

    def average(self):
        channels, height, width = self.shapes[self.last]
        self.keep(self.node("QLinearAveragePool", [self.last, self.scale(), self.zero(), self.scale(), self.zero()], "com.microsoft", kernel_shape=[2, 3], pads=[1, 1, 0, 1]), (channels, height, width))

    def join(self, a, b):
        channels = self.shapes[a][0] + self.shapes[b][0]
        self.keep(self.node("QLinearConcat", [self.scale(), self.zero(), a, self.scale(), self.zero(), b, self.scale(), self.zero()], "com.microsoft", axis=1), (channels, *self.shapes[a][1:]))

    def mean(self):
        self.keep(self.node("QLinearGlobalAveragePool", [self.last, self.scale(), self.zero(), self.scale(), self.zero()], "com.microsoft"), (self.shapes[self.last][0], 1, 1))

    def finish(self, inner=()):
        self.outputs = [*inner, self.last]
        return self


def residual(kind):
    """Blocks of two convolutions and a sum with their input, of which one has a convolution beside it."""
    n = Network(f"residual_{np.dtype(kind).name}", 1, kind, 3, 20, 18)
    block = n.square(16, 3)
    n.square(16, 3)
    n.add(n.square(16, 3), block)
    block = n.last
    second = n.square(32, 3, 2)
    beside = n.square(32, 1, 2, x=block)
    n.add(n.square(32, 3, x=second), beside)
    n.square(8, 1)
    return n.finish()


def separable(kind):
    """Depthwise and pointwise layers, a table, a pool, and the mean of all pixels."""
    n = Network(f"separable_{np.dtype(kind).name}", 2, kind, 1, 61, 12)
    n.layer(16, (9, 4), (2, 2), pads=[4, 1, 5, 1])
    for _ in range(3):
        n.square(0, 3)
        n.square(16, 1)
    n.sigmoid()
    left = n.last
    n.average()
    n.join(left, n.last)
    n.pool()
    n.mean()
    return n.finish()


def seen(kind):
    """A value in the middle that is an output, too, and one that two later layers read."""
    n = Network(f"seen_{np.dtype(kind).name}", 3, kind, 8, 24, 16)
    n.square(8, 3)
    first = n.square(8, 3)
    second = n.square(8, 5, x=first)
    n.square(8, 3)
    n.add(n.last, first)
    n.add(n.last, second)
    n.square(4, 3, 2)
    return n.finish([second])


def random_layer(n, channels):
    rng, (height, width) = n.rng, n.shapes[n.last][1:]
    kernel = [int(rng.integers(1, 1 + min(5, size))) for size in (height, width)]
    dilation = [2 if rng.integers(4) == 0 and 2 * (k - 1) < size else 1 for k, size in zip(kernel, (height, width), strict=True)]
    pads = [int(rng.integers(0, 3)) for _ in range(4)]
    n.layer(0 if channels % 8 == 0 and rng.integers(3) == 0 else int(rng.choice([3, 8, 8, 16])), kernel, [int(rng.choice([1, 1, 1, 2])) for _ in range(2)], dilation, pads)


def random_network(seed, kind):
    n = Network(f"random{seed}_{np.dtype(kind).name}", 100 + seed, kind, int(np.random.default_rng(seed).choice([1, 3])), 31, 19)
    for _ in range(int(n.rng.integers(2, 12))):
        shape = n.shapes[n.last]
        same = [value for value, other in n.shapes.items() if other == shape and value != n.last]
        near = [value for value, other in n.shapes.items() if other[1:] == shape[1:] and value != n.last]
        what = n.rng.integers(10)
        if what == 0 and same:
            n.add(n.last, str(n.rng.choice(same)))
        elif what == 1:
            n.sigmoid()
        elif what == 2:
            n.pool()
        elif what == 3:
            n.square(shape[0], 3)
        elif what == 4:
            n.average()
        elif what == 5 and near:
            n.join(n.last, str(n.rng.choice(near)))
        else:
            random_layer(n, shape[0])
    if n.rng.integers(3) == 0:
        n.mean()
    inner = [value for value in n.shapes if value not in ("x", n.last)]
    return n.finish([str(n.rng.choice(inner))] if inner and n.rng.integers(4) == 0 else [])


def compile_model(tally, tinyort, model, out, target, *words):
    done = firmware.run(tinyort, "compile", model, "-o", out, "--main", "--target", target, "--json", *words)
    tally.check(done.returncode == 0, f"compile {model.name} for {target} {' '.join(words)}: {done.stderr[:600]}")
    return json.loads(done.stdout) if done.returncode == 0 else {"arena_bytes": 0, "banded": 0}


def check_bytes(tally, tinyort, model, target, folder):
    """Returns the outputs, which are those of whole layers and of the cpu's plain loops."""
    chains = ("cpu:isa=plain", f"firmware:target={target}", f"firmware:target={target}:bands=on")
    plain, whole, banded = [run_chain(tally, tinyort, model, chain, folder) for chain in chains]
    for other, what in ((whole, "whole layers"), (plain, "the cpu's plain loops")):
        same = len(banded) == len(other) and all(a.tobytes() == b.tobytes() for a, b in zip(banded, other, strict=True))
        tally.check(same, f"{model.name} on {target}: bands of rows differ from {what}")
    return banded


def check_network(tally, tinyort, graph, target, folder, builds, fraction=None):
    """fraction: the banded arena must be below this part of the other; None: not above it."""
    model, values = graph.save(folder), list(inputs_of(graph))
    for port, value in values:
        np.save(folder / f"in_{port}.npy", value)
    expected = check_bytes(tally, tinyort, model, target, folder)
    whole = compile_model(tally, tinyort, model, folder / "whole", target)
    banded = compile_model(tally, tinyort, model, folder / "out", target, "--bands")
    arenas = f"{model.name} on {target}: {banded['arena_bytes']} bytes in bands of rows, {whole['arena_bytes']} whole"
    tally.check(banded["arena_bytes"] <= whole["arena_bytes"] * (fraction or 1), arenas)
    tally.check(not fraction or banded["banded"] > 1, f"{model.name} on {target}: {banded['banded']} calls are banded")
    raw = []
    for name, value in values:
        raw.append(folder / f"{name}.raw")
        raw[-1].write_bytes(value.tobytes())
    for build in builds:
        firmware.check_build(tally, folder / "out", model.stem, build, raw, expected)
    return banded["banded"], values, expected


def main():
    tally, tinyort, banded = firmware.Tally(), Path(sys.argv[1]).resolve(), 0
    with tempfile.TemporaryDirectory() as name:
        for make, fraction in ((residual, 0.75), (separable, 0.85), (seen, 0.95)):
            for kind, target in [(np.int8, target) for target in TARGETS] + [(np.uint8, "generic")]:
                graph = make(kind)
                folder = Path(name) / f"{graph.name}_{target}"
                folder.mkdir()
                _, values, expected = check_network(tally, tinyort, graph, target, folder, BUILDS, fraction)
                for board in BOARDS[target] if make is residual else ():
                    firmware.check_board(tally, boards.TARGETS[board], folder / "out", graph.name, folder / board, values, expected)
        for seed in range(RANDOM):
            graph = random_network(seed, np.int8 if seed % 2 else np.uint8)
            folder = Path(name) / graph.name
            folder.mkdir()
            count, _, _ = check_network(tally, tinyort, graph, TARGETS[seed % len(TARGETS)], folder, BUILDS[1:] if seed % 4 == 0 else ())
            banded += count > 0
    tally.check(banded * 4 > RANDOM, f"of {RANDOM} random networks {banded} have bands of rows")
    print(f"firmware, bands: {tally.passed} passed, {tally.failed} failed" + (f", {tally.skipped} skipped" if tally.skipped else "") + f"; {banded} of {RANDOM} random networks banded")
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()

"""Nodes that share weights share what is packed of them: in a plan's bytes, in the file of a saved plan, in the arrays of `tinyort compile`."""

import numpy as np
from onnx import helper

from suite import floats, save_model, weight

WIDTH = 192
USES = 6


def matrix():
    return (np.random.default_rng(3).standard_normal((WIDTH, WIDTH)) / 16).astype(np.float32)


def products(path, uses, transposed=()):
    """x * c_i times one matrix, summed; the products of `transposed` take it the other way round."""
    nodes, weights = [], [weight("w", matrix())]
    for i in range(uses):
        weights.append(weight(f"c{i}", np.array(i + 1, np.float32)))
        nodes.append(helper.make_node("Mul", ["x", f"c{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Gemm", [f"m{i}", "w"], [f"g{i}"], transB=int(i in transposed)))
    nodes.append(helper.make_node("Sum", [f"g{i}" for i in range(uses)], ["y"]))
    save_model(path, nodes, [floats("x", [3, WIDTH])], [floats("y", [3, WIDTH])], weights=weights)


def levels(path, sizes):
    """One convolution over pictures of several sizes, each with a bias of its own."""
    filters = (np.random.default_rng(4).standard_normal((16, 16, 1, 1)) / 4).astype(np.float32)
    nodes, weights = [], [weight("w", filters)]
    for i, _ in enumerate(sizes):
        weights.append(weight(f"b{i}", np.full(16, i, np.float32)))
        nodes.append(helper.make_node("Conv", [f"x{i}", "w", f"b{i}"], [f"y{i}"]))
    save_model(path, nodes, [floats(f"x{i}", [1, 16, size, size]) for i, size in enumerate(sizes)],
               [floats(f"y{i}", [1, 16, size, size]) for i, size in enumerate(sizes)], weights=weights)


def weights_of(suite, path, *arguments):
    return suite.run("plan", path, "--json", *arguments).json()["memory"]["cpu"]["weights"]


def run(suite, folder, *model):
    x = np.random.default_rng(5).standard_normal((3, WIDTH)).astype(np.float32)
    np.save(folder / "x.npy", x)
    suite.expect(0, "", "run", *model, "--input", f"x={folder / 'x.npy'}", "--save", folder / "out")
    return x, np.load(folder / "out/output_0.npy")


def test_many_uses_of_one_matrix(suite, folder):
    one, many, plan = folder / "one.onnx", folder / "many.onnx", folder / "many.plan"
    products(one, 1)
    products(many, USES)
    alone, shared = weights_of(suite, one), weights_of(suite, many)
    suite.check(matrix().nbytes <= alone and shared <= 1.05 * alone, f"weights of one use {alone}, of {USES} {shared}")
    for path in (one, many):
        suite.expect(0, "", "plan", path, "-o", path.with_suffix(".plan"))
    sizes = [path.with_suffix(".plan").stat().st_size for path in (one, many)]
    suite.check(sizes[1] <= 1.05 * sizes[0], f"saved plans have {sizes} bytes")
    for model in ([many], ["--plan", plan], ["--plan", plan, "--map"]):
        x, y = run(suite, folder, *model)
        exact = x.astype(np.float64) @ matrix().astype(np.float64) * sum(range(1, USES + 1))
        suite.check(np.abs(y - exact).max() < 1e-4 * np.abs(exact).max(), f"{model}: {np.abs(y - exact).max()} from the exact sum")


def test_packed_in_another_way(suite, folder):
    """A transposed use packs other bytes: it has a block of its own, and its own numbers."""
    path = folder / "m.onnx"
    products(path, 4, transposed=(1, 3))
    suite.check(2 * matrix().nbytes <= weights_of(suite, path) < 3 * matrix().nbytes, f"two blocks: {weights_of(suite, path)}")
    x, y = run(suite, folder, path)
    w = matrix().astype(np.float64)
    exact = 4 * x.astype(np.float64) @ w + 6 * x.astype(np.float64) @ w.T
    suite.check(np.abs(y - exact).max() < 1e-4 * np.abs(exact).max(), f"{np.abs(y - exact).max()} from the exact sum")


def test_levels_of_a_pyramid(suite, folder):
    """Sizes of pictures and biases differ; filters are packed once. A bias takes 128 bytes with its padding."""
    path = folder / "m.onnx"
    levels(path, [9])
    alone = weights_of(suite, path)
    levels(path, [9, 5, 3])
    suite.check(weights_of(suite, path) <= alone + 2 * 128, f"{alone} bytes alone, {weights_of(suite, path)} of three")
    suite.expect(0, "no node differs", "compare", path, "--random", "1", "--ep", "cpu", "--ep", "cpu:isa=plain")


def test_flash(suite, folder):
    """`tinyort compile` writes the arrays once, whatever the order of the calls."""
    for uses in (1, USES):
        nodes = []
        for i in range(uses):
            nodes.append(helper.make_node("Conv", [f"r{i}", "w"], [f"c{i}"], pads=[1] * 4))
            nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i + 1}"]))
        filters = (np.random.default_rng(6).standard_normal((8, 8, 3, 3)) / 9).astype(np.float32)
        save_model(folder / f"m{uses}.onnx", nodes, [floats("r0", [1, 8, 6, 6])], [floats(f"r{uses}", [1, 8, 6, 6])], weights=[weight("w", filters)])
        suite.expect(0, f"weights        {filters.nbytes} bytes", "compile", folder / f"m{uses}.onnx", "-o", folder / f"out{uses}")

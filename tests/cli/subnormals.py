"""Subnormal weights are counted by `inspect` and `plan`; cpu:subnormals=off takes subnormal numbers as 0 in runs, on every thread."""

import numpy as np
from onnx import helper

from suite import floats, save_model, weight

TINY = np.float32(1e-40)


def product(path, count=1 << 18):
    """x times numbers of which every fourth is subnormal: enough for two threads."""
    numbers = np.ones(count, np.float32)
    numbers[::4] = TINY
    save_model(path, [helper.make_node("Mul", ["x", "w"], ["y"])], [floats("x", [count])], [floats("y", [count])], weights=[weight("w", numbers)])
    np.save(path.with_suffix(".npy"), np.full(count, 1e10, np.float32))
    return numbers


def test_counted(suite, folder):
    numbers = product(folder / "m.onnx")
    told = suite.run("inspect", folder / "m.onnx", "--json").json()
    suite.check(told["subnormal_parameters"] == numbers.size // 4, f"{told['subnormal_parameters']} of {numbers.size}")
    suite.expect(0, f"{numbers.size // 4} of them subnormal", "inspect", folder / "m.onnx")
    suite.expect(0, f"{numbers.size // 4} numbers of the weights are subnormal", "plan", folder / "m.onnx")
    suite.check(suite.run("plan", folder / "m.onnx", "--json").json()["subnormal_weights"] == numbers.size // 4, "plan --json")
    edge = np.array([0, -0.0, 1.1754944e-38, np.inf, np.nan, -1e-45], np.float32)
    save_model(folder / "e.onnx", [helper.make_node("Mul", ["x", "w"], ["y"])], [floats("x", [6])], [floats("y", [6])], weights=[weight("w", edge)])
    suite.check(suite.run("inspect", folder / "e.onnx", "--json").json()["subnormal_parameters"] == 1, "of zeros, the least normal number, infinity, NaN and -1e-45 the last")


def test_taken_as_zero(suite, folder):
    numbers = product(folder / "m.onnx")
    for option, kept in (("", True), (":subnormals=on", True), (":subnormals=off", False)):
        for threads in (1, 2):
            suite.expect(0, "", "run", folder / "m.onnx", "--input", f"x={folder / 'm.npy'}", "--save", folder / "out", "--ep", f"cpu{option}:threads={threads}")
            made = np.load(folder / "out/output_0.npy")
            wanted = (numbers.astype(np.float64) * 1e10 * (kept | (numbers == 1))).astype(np.float32)
            suite.check(np.array_equal(made, wanted), f"cpu{option} on {threads} threads: {np.count_nonzero(made != wanted)} numbers differ")
    suite.expect(0, "subnormals=off", "plan", folder / "m.onnx", "--ep", "cpu:subnormals=off")
    suite.expect(2, "neither on nor off", "plan", folder / "m.onnx", "--ep", "cpu:subnormals=zero")

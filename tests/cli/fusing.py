"""Nodes that are joined, in plans and placement lines; --no-fusion; `tinyort ops --fusions`."""

import numpy as np
from onnx import TensorProto, helper

from suite import DIGITS, save_model, tensor, weight


def test_joined_nodes_are_told(suite, folder):
    result = suite.expect(0, ["tinyort.FusedConv-1", "from conv1, relu1", "fused         3"], "plan", DIGITS, "--full")
    suite.expect(0, ["tinyort.FusedConv-1", "2 nodes"], "plan", DIGITS)
    suite.check("placement: 7 cpu, 1 host (of 8; 0 folded; 3 fused into others)" in result.err, result.err)
    told = suite.run("plan", DIGITS, "--json").json()
    suite.check([node["from"] for node in told["nodes"] if node["from"]] == [["conv1", "relu1"], ["conv2", "relu2"], ["conv3", "relu3"]], str(told["nodes"]))
    suite.expect(0, "3 of 8 nodes (--only)", "plan", DIGITS, "--only", "Relu")


def test_no_fusion(suite, folder):
    for command in (("plan",), ("run", "--random", "1"), ("bench", "--repeat", "1")):
        result = suite.expect(0, "", command[0], DIGITS, *command[1:], "--no-fusion")
        suite.check("placement: 10 cpu, 1 host (of 11; 0 folded)" in result.err, result.err)
    suite.expect(0, "(of 11; 0 folded)", "plan", DIGITS, "--no-fusion=activation_relu,bias")
    suite.expect(0, "(of 8; 0 folded; 3 fused into others)", "plan", DIGITS, "--no-fusion=bias")
    suite.expect(2, ['there is no fusion "relu"', "conv_batch_norm, ", "activation_relu"], "plan", DIGITS, "--no-fusion=relu")
    suite.expect(2, "has no name", "plan", DIGITS, "--no-fusion=")
    suite.expect(2, "--no-fusion is not an option of 'inspect'", "inspect", DIGITS, "--no-fusion")
    suite.expect(0, "--no-fusion[=NAME,...]", "plan", "--help")


def test_fusions_are_listed(suite, folder):
    result = suite.expect(0, ["conv_batch_norm", "tinyort::FusedConv"], "ops", "--fusions")
    told = suite.run("ops", "--json").json()["fusions"]
    suite.check(set(told[0]) == {"name", "nodes", "makes"} and 2 * len(told) + 1 == len(result.out.splitlines()), f"{len(told)} fusions")


def test_a_norm_of_halves_that_overflows(suite, folder):
    """Squares beyond 65,504: a joined node computes in float; node by node the mean is infinite, and the result 0."""
    node, half = helper.make_node, TensorProto.FLOAT16
    nodes = [node("Pow", ["x", "two"], ["p"]), node("ReduceMean", ["p"], ["m"], axes=[-1], keepdims=1), node("Add", ["m", "eps"], ["e"]),
             node("Sqrt", ["e"], ["s"]), node("Reciprocal", ["s"], ["r"]), node("Mul", ["x", "r"], ["n"]), node("Mul", ["w", "n"], ["y"])]
    weights = [weight(name, np.array(value, np.float16)) for name, value in (("two", 2), ("eps", 1e-5), ("w", np.ones(64)))]
    save_model(folder / "m.onnx", nodes, [tensor("x", half, [4, 64])], [tensor("y", half, [4, 64])], weights=weights)
    np.save(folder / "x.npy", (np.random.default_rng(0).standard_normal((4, 64)) * 400).astype(np.float16))
    run = ("run", folder / "m.onnx", "--input", folder / "x.npy", "--json")
    suite.check(abs(suite.run(*run).json()["outputs"][0]["std"] - 1) < 0.01, "joined, it is a norm")
    suite.check(suite.run(*run, "--no-fusion").json()["outputs"][0]["max"] == 0, "as the file has it, it is 0")


def test_long_functions_of_bytes_are_told(suite, folder):
    """A chain that changes no byte is left out: every node stays named, and one that is too long stays as it is."""
    node, ends = helper.make_node, ["scale", "zero"]
    for count in (29, 30):
        nodes = [node("QuantizeLinear", ["x", *ends], ["q"], "first"), node("DequantizeLinear", ["q", *ends], ["v0"], "back")]
        nodes += [node("Abs", [f"v{i}"], [f"v{i + 1}"], f"abs{i}") for i in range(count)]
        nodes += [node("QuantizeLinear", [f"v{count}", *ends], ["r"], "second"), node("DequantizeLinear", ["r", *ends], ["y"], "last")]
        weights = [weight("scale", np.array(0.05, np.float32)), weight("zero", np.array(0, np.uint8))]
        save_model(folder / "m.onnx", nodes, [tensor("x", TensorProto.FLOAT, [4])], [tensor("y", TensorProto.FLOAT, [4])], weights=weights)
        told = suite.run("plan", folder / "m.onnx", "--json").json()["nodes"]
        suite.check(sum(len(n["from"] or [n["name"]]) for n in told) == len(nodes), f"{count}: {[n['from'] for n in told]}")
        suite.check(len(told) == (2 if count == 29 else len(nodes)), f"{count}: {len(told)} nodes")


def test_an_axis_that_is_listed_again(suite, folder):
    """More axes than a tensor can have dimensions: the mean is not joined, and is the mean."""
    node, ends = helper.make_node, ["scale", "zero"]
    nodes = [node("QuantizeLinear", ["x", *ends], ["q"]), node("DequantizeLinear", ["q", *ends], ["v"]), node("ReduceMean", ["v", "axes"], ["m"], "mean"),
             node("QuantizeLinear", ["m", *ends], ["r"]), node("DequantizeLinear", ["r", *ends], ["y"])]
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(folder / "x.npy", x)
    for count in (1, 8, 9, 16):
        weights = [weight("scale", np.array(0.5, np.float32)), weight("zero", np.array(0, np.uint8)), weight("axes", np.full(count, -1, np.int64))]
        save_model(folder / "m.onnx", nodes, [tensor("x", TensorProto.FLOAT, [3, 4])], [tensor("y", TensorProto.FLOAT, [3, 1])], weights=weights, opset=18)
        told = suite.expect(0, "", "run", folder / "m.onnx", "--input", folder / "x.npy", "--save", folder / "out")
        suite.check((np.load(folder / "out" / "output_0.npy") == x.mean(-1, keepdims=True)).all(), f"{count} axes: {told.out}")

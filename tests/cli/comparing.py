"""`tinyort compare`: two chains, value by value."""

import re

import numpy as np
from onnx import TensorProto, helper

from suite import DIGITS, NO_CUDA, floats, save_model, tensor, weight


def test_same_chains(suite, folder):
    result = suite.expect(0, "no node differs", "compare", DIGITS, "--ep", "cpu", "--ep", "cpu:threads=1")
    suite.check(len(result.placements()) == 2, "both placements are told")
    suite.check("--ep cpu: 10 cpu" in result.placements()[0] and "--ep cpu:threads=1: 10 cpu" in result.placements()[1], result.err)
    suite.expect(2, "compares two chains", "compare", DIGITS, "--ep", "cpu")


def test_chains_that_came_to_the_same(suite, folder):
    """cuda is down: the comparison was one of cpu with cpu, and must not look like anything else."""
    result = suite.expect(4, ["came to the same placement", "no two devices are compared"], "compare", DIGITS, "--ep", "cuda,cpu", "--ep", "cpu", **NO_CUDA)
    told = suite.run("compare", DIGITS, "--ep", "cuda,cpu", "--ep", "cpu", "--json", **NO_CUDA).json()
    suite.check(told["same_placement"] is True and told["error"]["exit"] == 4, str(told))
    suite.check([(s["ep"], s["chain"]) for s in told["sessions"]] == [("cuda,cpu", ["cuda", "cpu"]), ("cpu", ["cpu"])], "both sessions")
    suite.check(told["sessions"][0]["providers"][0]["code"] == "DISABLED" and told["sessions"][0]["summary"]["cpu"] == 10, str(told["sessions"]))
    told = suite.run("compare", DIGITS, "--ep", "cpu", "--ep", "cpu:threads=1", "--json").json()
    suite.check(told["same_placement"] is True and "error" not in told, "asked for by two chains that are alike")


def test_values_that_differ(suite, folder):
    """The simulated device rounds products in another order: with no tolerance at all something differs."""
    if suite.run("providers", "--ep", "cudasim", "--require", "cudasim").status:
        suite.skip("differences between devices: there is no simulated device")
        return
    random = np.random.default_rng(1).standard_normal((300, 40)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "product"), helper.make_node("Relu", ["a"], ["y"], "relu")]
    save_model(folder / "m.onnx", nodes, [floats("x", [20, 300])], [floats("y", [20, 40])], weights=[weight("w", random)])
    exact = ("compare", folder / "m.onnx", "--ep", "cpu", "--ep", "cudasim", "--rtol", "0", "--atol", "0")
    result = suite.expect(5, ["the first is node #0 product", "elements differ", "the worst, at [", "values differ"], *exact)
    told = suite.run(*exact, "--json").json()
    suite.check(told["same_placement"] is False and told["first"]["path"] == "product" and told["missing"] == 0, str(told))
    suite.check(told["different"] == 2 and told["error"]["exit"] == 5 and "2 values differ" in result.err, str(told))
    suite.expect(0, "no node differs", "compare", folder / "m.onnx", "--ep", "cpu", "--ep", "cudasim")


def test_outputs_only(suite, folder):
    """The model as it runs otherwise: folded, fused, and its outputs alone."""
    random = np.random.default_rng(1).standard_normal((300, 40)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "product"), helper.make_node("Relu", ["a"], ["y"], "relu"), helper.make_node("Neg", ["w"], ["z"], "neg")]
    save_model(folder / "m.onnx", nodes, [floats("x", [20, 300])], [floats("y", [20, 40]), floats("z", [300, 40])], weights=[weight("w", random)])
    chains = ("--ep", "cpu", "--ep", "cpu:isa=plain")
    result = suite.expect(0, ["2 values compared", "no output differs", "1 fused into others", "1 folded"], "compare", folder / "m.onnx", *chains, "--outputs-only")
    suite.expect(0, "3 values compared", "compare", folder / "m.onnx", *chains)
    exact = ("compare", folder / "m.onnx", *chains, "--outputs-only", "--rtol", "0", "--atol", "0")
    told = suite.expect(5, "the worst", *exact, "--json").json()
    suite.check(told["compared"] == 2 and told["outputs_different"] == 1 and told["first"]["path"], str(told["first"]))
    found, expected = re.search(r"is (\S+), expected (\S+) ", told["first"]["difference"]).groups()
    suite.check(found != expected, f"digits enough to see the difference: {told['first']['difference']}")


def test_one_step_of_bytes_is_equal(suite, folder):
    """Sums of another order, rounded to bytes: of 65,536 some stand at the edge of a step, and become the next byte."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "product"), helper.make_node("QuantizeLinear", ["a", "s", "p"], ["y"], "bytes")]
    rng = np.random.default_rng(3)
    random = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    save_model(folder / "m.onnx", nodes, [floats("x", [128, 4096])], [tensor("y", TensorProto.UINT8, [128, 512])],
               weights=[weight("w", random(4096, 512)), weight("s", np.array(0.5, np.float32)), weight("p", np.array(128, np.uint8))])
    np.save(folder / "x.npy", random(128, 4096))
    plan = ("compare", folder / "m.onnx", "--ep", "cpu", "--ep", "cpu:isa=plain", "--input", folder / "x.npy")
    suite.expect(0, ["no node differs", "largest difference is 1"], *plan)


def test_nan_everywhere_is_no_success(suite, folder):
    nodes = [helper.make_node("Sub", ["x", "x"], ["a"], "nothing"), helper.make_node("Div", ["a", "a"], ["y"], "nan")]
    save_model(folder / "m.onnx", nodes, [floats("x", [4])], [floats("y", [4])])
    said = "1 output is without a number in both runs: NaN everywhere"
    told = suite.expect(5, said, "compare", folder / "m.onnx", "--ep", "cpu", "--ep", "cpu:threads=1", "--json").json()
    suite.check(told["outputs_nan"] == 1 and told["different"] == 0, str(told))
    suite.expect(5, said, "compare", folder / "m.onnx", "--ep", "cpu", "--ep", "cpu:threads=1", "--outputs-only")


def test_values_without_names(suite, folder):
    """Values inside of an expanded function have no name in the model: each is held against its own, whatever the order."""
    node = helper.make_node
    body = [node("Neg", ["a"], ["inner"]), node("Exp", ["inner"], ["deeper"]), node("Sin", ["deeper"], ["b"])]
    function = helper.make_function("my", "Three", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    nodes = [node("Three", [f"v{i}"], [f"v{i + 1}"], domain="my") for i in range(4)]
    save_model(folder / "m.onnx", nodes, [floats("v0", [3])], [floats("v4", [3])], domains=["my"], functions=[function])
    suite.expect(0, ["12 values compared", "no node differs"], "compare", folder / "m.onnx", "--ep", "cpu", "--ep", "cpu:threads=1")

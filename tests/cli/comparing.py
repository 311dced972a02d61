"""`tinyort compare`: two chains, value by value."""

import numpy as np
from onnx import helper

from suite import DIGITS, NO_CUDA, floats, save_model, weight


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


def test_values_without_names(suite, folder):
    """Values inside of an expanded function have no name in the model: each is held against its own, whatever the order."""
    node = helper.make_node
    body = [node("Neg", ["a"], ["inner"]), node("Exp", ["inner"], ["deeper"]), node("Sin", ["deeper"], ["b"])]
    function = helper.make_function("my", "Three", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    nodes = [node("Three", [f"v{i}"], [f"v{i + 1}"], domain="my") for i in range(4)]
    save_model(folder / "m.onnx", nodes, [floats("v0", [3])], [floats("v4", [3])], domains=["my"], functions=[function])
    suite.expect(0, ["12 values compared", "no node differs"], "compare", folder / "m.onnx", "--ep", "cpu", "--ep", "cpu:threads=1")

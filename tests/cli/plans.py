"""Saved plans: `plan MODEL -o FILE`, and `--plan FILE` in place of a model."""

import shutil

import numpy as np
from onnx import helper

from suite import DIGITS, NO_CUDA, SEVEN, floats, save_model, weight

LABELS = "models/digits.labels.txt"


def same(suite, folder, chain, **environment):
    """The same bytes of outputs and the same report, with the model away."""
    model, plan = folder / "m.onnx", folder / "m.plan"
    shutil.copy(DIGITS, model)
    arguments = ("--input", SEVEN, "--format", "pb", "--save")
    first = suite.run("run", model, "--ep", chain, *arguments, folder / "a", **environment)
    made = suite.run("plan", model, "--ep", chain, "-o", plan, "--json", **environment)
    report = made.json()
    suite.check(first.status == 0 and made.status == 0 and made.json()["saved"] == str(plan), made.err)
    model.unlink()
    for extra in ((), ("--map",)):
        again = suite.expect(0, "probabilities", "run", "--plan", plan, *extra, *arguments, folder / "b", **environment)
        suite.check(again.out == first.out and again.placements() == first.placements(), f"{again.out}{again.err}")
        suite.check((folder / "a/output_0.pb").read_bytes() == (folder / "b/output_0.pb").read_bytes(), f"bits on {chain}")
    told = suite.run("plan", "--plan", plan, "--json", **environment).json()
    ranges = [[operand.pop("min", None), operand.pop("max", None)] for node in told["nodes"] for operand in node["inputs"]]
    known = [[operand.pop("min", None), operand.pop("max", None)] for node in report["nodes"] for operand in node["inputs"]]
    suite.check(all(pair in ([None, None], before) for pair, before in zip(ranges, known)), f"the ranges of constants, but for packed ones: {ranges}")
    for key in ("nodes", "copies", "providers", "summary", "folded"):
        suite.check(told[key] == report[key], f"{key}: {told[key]}")


def test_the_same_without_the_model(suite, folder):
    same(suite, folder, "cpu")
    same(suite, folder, "cpu:isa=v2:threads=1")
    same(suite, folder, "cuda,cpu", **NO_CUDA)


def test_on_the_simulated_device(suite, folder):
    probe = suite.run("providers", "--json")
    if any(p["name"] == "cudasim" and p["status"] == "ready" for p in probe.json()["providers"]):
        same(suite, folder, "cudasim,cpu")


def test_all_that_a_run_takes(suite, folder):
    plan = folder / "digits.plan"
    result = suite.expect(0, f"saved as {plan}", "plan", DIGITS, "-o", plan)
    suite.check("provider  nodes" in result.out and "FusedConv" not in result.out, "the summary is printed, the nodes are not")
    whole = suite.expect(0, f"saved as {plan}", "plan", DIGITS, "-o", plan, "--full").out
    suite.check("FusedConv" in whole, "--full lists the nodes, too")
    suite.check([path.name for path in folder.iterdir()] == ["digits.plan"], "nothing else is left")
    result = suite.expect(0, "seven", "run", "--plan", plan, "--input", SEVEN, "--top", "1", "--labels", LABELS)
    told = suite.run("run", "--plan", plan, "--input", SEVEN, "--json").json()
    suite.check(told["summary"]["cpu"] == 7 and told["outputs"][0]["name"] == "probabilities", str(told))
    suite.expect(0, "", "run", "--plan", plan, "--random", "1", "--shape", "N=3", "--save", folder / "out")
    measured = suite.run("bench", "--plan", plan, "--repeat", "2", "--json").json()
    suite.check(measured["model"]["path"] == str(plan) and measured["chain"] == ["cpu"] and measured["runs"] == 2, str(measured))
    suite.expect(0, "on --ep cpu", "bench", "--plan", plan, "--repeat", "2")
    suite.expect(0, "3 of 8 nodes", "plan", "--plan", plan, "--only", "MaxPool", "--only", "Softmax")


def test_what_is_settled(suite, folder):
    plan = folder / "digits.plan"
    suite.expect(0, "saved as", "plan", DIGITS, "-o", plan)
    for option in (("--strict",), ("--require", "cpu"), ("--pin", "fc=cpu"), ("--no-fusion",), ("--assume-opset", "13"), ("--allow-links",)):
        suite.expect(2, f"{option[0]} beside --plan: the saved plan has settled it", "run", "--plan", plan, *option)
    suite.expect(0, "seven", "run", "--plan", plan, "--ep", "cpu:threads=1", "--input", SEVEN, "--top", "1", "--labels", LABELS)
    suite.expect(2, "made for other providers than those of the chain", "run", "--plan", plan, "--ep", "cudasim,cpu", "--random", "1")
    suite.expect(2, "option threads is not a number", "run", "--plan", plan, "--ep", "cpu:threads=many", "--random", "1")
    suite.expect(2, "--bind beside --plan", "bench", "--plan", plan, "--bind", "*=cpu")
    suite.expect(2, "in place of a model", "run", DIGITS, "--plan", plan)
    suite.expect(2, "--plan is not an option of 'inspect'", "inspect", "--plan", plan)
    suite.expect(2, "no device has packed", "plan", DIGITS, "-o", plan, "--ep", "cuda", "--target", "cuda:sm_86")


def test_what_is_refused(suite, folder):
    plan, bad = folder / "digits.plan", folder / "bad.plan"
    suite.expect(0, "saved as", "plan", DIGITS, "-o", plan)
    whole = plan.read_bytes()
    suite.expect(3, "not a saved plan: make one with tinyort plan MODEL -o FILE", "run", "--plan", DIGITS)
    suite.expect(3, "there is no file", "run", "--plan", folder / "none.plan")
    for damaged in (whole[:-1], whole[: len(whole) // 2], whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]):
        bad.write_bytes(damaged)
        suite.expect(3, "the saved plan is damaged", "run", "--plan", bad, "--random", "1")
    bad.write_bytes(whole[:8] + bytes([99]) + whole[9:])
    result = suite.expect(4, "is of version 99", "run", "--plan", bad, "--json")
    suite.check(result.json()["error"]["exit"] == 4, result.out)
    suite.expect(4, "was made where cpu was", "run", "--plan", plan, "--random", "1", TINYORT_DISABLE="cpu")
    suite.expect(3, "cannot write", "plan", DIGITS, "-o", folder / "no" / "such.plan")


def test_a_refused_placement_saves_nothing(suite, folder):
    plan = folder / "digits.plan"
    suite.expect(4, "cuda", "plan", DIGITS, "--ep", "cuda", "-o", plan, **NO_CUDA)
    suite.check(not plan.exists() and not list(folder.iterdir()), "nothing is written")


def test_inputs_with_defaults(suite, folder):
    """A saved plan has a default folded in, unless --open keeps its input; the message of a run says so."""
    save_model(folder / "m.onnx", [helper.make_node("Mul", ["x", "w"], ["y"])], [floats("x", [2]), floats("w", [2])], [floats("y", [2])], weights=[weight("w", np.array([2, 3], np.float32))])
    np.save(folder / "x.npy", np.ones(2, np.float32))
    np.save(folder / "w.npy", np.array([5, 7], np.float32))
    run = ("run", "--plan", folder / "p", "--input", f"x={folder}/x.npy", "--save", folder / "out")
    suite.expect(0, "saved", "plan", folder / "m.onnx", "-o", folder / "p")
    suite.expect(0, "placement", *run)
    suite.check(np.load(folder / "out/output_0.npy").tolist() == [2, 3], "the default")
    suite.expect(2, ["the saved plan has no input 'w'", "made with --open"], *run, "--input", f"w={folder}/w.npy")
    for name in ("w", "*"):
        suite.expect(0, "saved", "plan", folder / "m.onnx", "--open", name, "-o", folder / "p")
        suite.expect(0, "placement", *run, "--input", f"w={folder}/w.npy")
        suite.check(np.load(folder / "out/output_0.npy").tolist() == [5, 7], f"--open {name}")
        suite.expect(2, "w", *run)
    suite.expect(2, ["--open: the model has no input 'v'"], "plan", folder / "m.onnx", "--open", "v")
    suite.expect(2, "--open beside --plan", "plan", "--plan", folder / "p", "--open", "w")

"""Inside a run: `run --expect finite`, `--expect fp16`, `--stats`, `--dump NODE=DIR`."""

import json
import subprocess

import numpy as np
from onnx import TensorProto, helper

from saving import limited
from suite import DIGITS, SEVEN, floats, save_model, tensor, weight

CHAINS = ("cpu", "cpu:isa=plain", "cudasim,cpu")


def chains(suite):
    ready = {p["name"] for p in suite.run("providers", "--json").json()["providers"] if p["status"] == "ready"}
    return [chain for chain in CHAINS if chain.split(":")[0].split(",")[0] in ready]


def logarithm(folder):
    """x - w, whose logarithm is NaN where x is the smaller."""
    nodes = [helper.make_node("Sub", ["x", "w"], ["d"], "minus"), helper.make_node("Log", ["d"], ["l"], "log"), helper.make_node("Neg", ["l"], ["y"], "turned")]
    save_model(folder / "m.onnx", nodes, [floats("x", [4])], [floats("y", [4])], weights=[weight("w", np.array([0, 1, 2, 1e6], np.float32))])
    np.save(folder / "x.npy", np.array([1, 1, 1, 1], np.float32))
    return ("run", folder / "m.onnx", "--input", folder / "x.npy")


def test_the_first_nan(suite, folder):
    run = logarithm(folder)
    for chain in chains(suite):
        result = suite.expect(5, ["node #1 log (Log-13, ", "makes 2 NaN and 1 infinity of 4 elements in 'l'", "and 1 more value"], *run, "--ep", chain, "--expect", "finite")
        inputs = [line.split() for line in result.out.splitlines() if line.strip().startswith("d ")]
        suite.check(inputs == [["d", "float", "4", "-1e+06", "1", "-2.5e+05", "1"]], f"{chain}: {result.out}")
        told = suite.run(*run, "--ep", chain, "--expect", "finite", "--json").json()
        suite.check(told["error"]["exit"] == 5 and told["check"]["first"]["path"] == "log" and told["check"]["not_finite"] == 2, f"{told['check']}")
        suite.check([seen["value"] for seen in told["check"]["first"]["inputs"]] == ["d"] and told["outputs"][0]["name"] == "y", "the outputs are there, too")
    suite.expect(0, "finite: all elements of the 11 values", "run", DIGITS, "--input", SEVEN, "--expect", "finite")


def test_an_infinity_that_is_meant(suite, folder):
    """A mask of -inf, and behind it a NaN: both are named, with the weights and inputs that nodes read."""
    nodes = [helper.make_node("Where", ["c", "x", "low"], ["masked"], "mask"), helper.make_node("Exp", ["masked"], ["e"], "exp"),
             helper.make_node("Mul", ["masked", "e"], ["y"], "product")]
    save_model(folder / "m.onnx", nodes, [tensor("c", TensorProto.BOOL, [2]), floats("x", [2])], [floats("y", [2])], weights=[weight("low", np.array(-np.inf, np.float32))])
    np.save(folder / "c.npy", np.array([True, False]))
    np.save(folder / "x.npy", np.array([3, 4], np.float32))
    told = suite.run("run", folder / "m.onnx", "--input", folder / "c.npy", "--input", folder / "x.npy", "--expect", "finite", "--json").json()["check"]
    suite.check(told["first"]["path"] == "mask" and told["first"]["infinite"] == 1 and told["first"]["nan"] == 0, f"{told['first']}")
    suite.check([(seen["value"], seen["max"]) for seen in told["first"]["inputs"]] == [("c", 1), ("x", 4), ("low", None)], f"{told['first']['inputs']}")
    suite.check(told["first_nan"]["path"] == "product" and told["first_nan"]["nan"] == 1, f"{told['first_nan']}")
    suite.expect(5, ["the first that is not finite: node #0 mask", "the first NaN: node #2 product"], "run", folder / "m.onnx", "--input", folder / "c.npy",
                 "--input", folder / "x.npy", "--expect", "finite")


def test_what_float16_cannot_hold(suite, folder):
    nodes = [helper.make_node("Mul", ["x", "big"], ["a"], "large"), helper.make_node("Mul", ["x", "small"], ["y"], "tiny"), helper.make_node("Abs", ["a"], ["z"], "abs")]
    save_model(folder / "m.onnx", nodes, [floats("x", [4])], [floats("y", [4]), floats("z", [4])],
               weights=[weight("big", np.array([65504, 65519, 65520, 1], np.float32)), weight("small", np.array([2.0**-24, 2.0**-25, 2.0**-26, 0], np.float32))])
    np.save(folder / "x.npy", np.ones(4, np.float32))
    run = ("run", folder / "m.onnx", "--input", folder / "x.npy", "--expect", "fp16")
    told = suite.run(*run, "--stats", "--json").json()
    counts = {seen["value"]: (seen["overflows"], seen["vanishes"]) for seen in told["values"]}
    suite.check(counts == {"a": (1, 0), "y": (0, 2), "z": (1, 0), "big": (1, 0), "small": (0, 2)}, f"{counts}")
    for name, (overflows, vanishes) in counts.items():
        if name in ("big", "small"):
            array = np.array([65504, 65519, 65520, 1] if name == "big" else [2.0**-24, 2.0**-25, 2.0**-26, 0], np.float32)
            with np.errstate(over="ignore", under="ignore"):
                half = array.astype(np.float16)
            suite.check((np.isinf(half).sum(), ((half == 0) & (array != 0)).sum()) == (overflows, vanishes), f"{name}: as NumPy rounds")
    suite.expect(5, ["3 values would overflow in float16", "of 5 values 3 would overflow (above 65504), 2 lose elements to 0", "(weight)"], *run)
    suite.expect(0, "0 would overflow", "run", DIGITS, "--input", SEVEN, "--expect", "fp16")
    constants = [helper.make_node("Constant", [], ["big"], value=weight("big", np.array([9.8e7, 1, 1, 1], np.float32))), *nodes[:1], helper.make_node("Sub", ["a", "a"], ["y"])]
    save_model(folder / "c.onnx", constants, [floats("x", [4])], [floats("y", [4])])
    np.save(folder / "x.npy", np.zeros(4, np.float32))
    suite.expect(5, "1 value would overflow", "run", folder / "c.onnx", "--input", folder / "x.npy", "--expect", "fp16")
    both = ("run", folder / "c.onnx", "--input", folder / "x.npy", "--expect", "finite", "--expect", "fp16")
    suite.expect(5, ["finite: all elements of the 2 values", "1 would overflow"], *both)
    suite.check(suite.run(*both, "--json").json()["check"]["what"] == "finite and fp16", "the document names both")
    np.save(folder / "x.npy", np.full(4, np.inf, np.float32))
    for order in (both, (*both[:-3], "fp16", "--expect", "finite")):
        suite.expect(5, ["makes", "the first that is not finite", "1 would overflow"], *order)


def test_statistics(suite, folder):
    """Against NumPy, over the trips of a loop too."""
    body = helper.make_graph([helper.make_node("Add", ["v", "v"], ["w"], "double"), helper.make_node("Identity", ["c"], ["go"])], "body",
                             [tensor("i", TensorProto.INT64, []), tensor("c", TensorProto.BOOL, []), floats("v", [3])], [tensor("go", TensorProto.BOOL, []), floats("w", [3])])
    save_model(folder / "m.onnx", [helper.make_node("Loop", ["n", "", "x"], ["y"], "loop", body=body)], [tensor("n", TensorProto.INT64, []), floats("x", [3])], [floats("y", [3])])
    np.save(folder / "n.npy", np.array(4))
    x = np.array([0, 1, -2], np.float32)
    np.save(folder / "x.npy", x)
    for chain in chains(suite):
        told = suite.run("run", folder / "m.onnx", "--ep", chain, "--input", folder / "n.npy", "--input", folder / "x.npy", "--stats", "--json").json()
        seen = next(value for value in told["values"] if value["path"] == "loop/body/double")
        every = np.concatenate([x * 2**k for k in range(1, 5)])
        suite.check((seen["times"], seen["count"], seen["zeros"]) == (4, 12, 4), f"{chain}: {seen}")
        suite.check((seen["min"], seen["max"]) == (every.min(), every.max()) and abs(seen["mean"] - every.mean()) < 1e-6, f"{chain}: {seen}")
    result = suite.expect(0, "", "run", DIGITS, "--input", SEVEN, "--stats")
    suite.check(sum(" Relu " in line for line in result.out.splitlines()) == 3, f"nodes are seen one by one, not joined: {result.out}")


def test_files(suite, folder):
    for chain in chains(suite):
        out = folder / chain.split(":")[-1].replace("=", "_")
        suite.expect(0, "11 values written", "run", DIGITS, "--ep", chain, "--input", SEVEN, "--dump", f"all={out}")
        rows = [line.split("\t") for line in (out / "index.tsv").read_text().splitlines()]
        suite.check(rows[0] == ["file", "value", "node", "type", "shape"] and rows[1] == ["conv1_out.npy", "conv1_out", "conv1", "float", "1x16x8x8"], f"{rows[:2]}")
        arrays = {row[1]: np.load(out / row[0]) for row in rows[1:]}
        suite.check(np.array_equal(arrays["relu1_out"], np.maximum(arrays["conv1_out"], 0)), f"{chain}: relu")
        suite.check(np.array_equal(arrays["features"].reshape(-1), arrays["relu3_out"].reshape(-1)), f"{chain}: a view")
        e = np.exp(arrays["scores"] - arrays["scores"].max())
        suite.check(np.allclose(arrays["probabilities"], e / e.sum(), atol=1e-6), f"{chain}: softmax")
    for which in ("fc", "#9"):
        suite.expect(0, "2 values written", "run", DIGITS, "--input", SEVEN, "--dump", f"{which}={folder}/one", "--dump", f"conv1={folder}/two")
        suite.check(sorted(path.name for path in (folder / "one").iterdir()) == ["index.tsv", "scores.npy"], "of one node")
        suite.check((folder / "two/conv1_out.npy").exists(), "and of another")
    told = suite.run("run", DIGITS, "--input", SEVEN, "--dump", f"all={folder}/j", "--json").json()
    suite.check(told["dumped"] == 11, "the JSON counts them")


def test_names_of_files(suite, folder):
    names = ["../../up", "a b", "a/b", "", "x" * 300, ".hidden"]
    nodes = [helper.make_node("Abs", ["x" if i == 0 else names[i - 1] or "empty"], [name or "empty"]) for i, name in enumerate(names)]
    nodes.append(helper.make_node("Cast", [names[-1]], ["text"], to=TensorProto.STRING))
    save_model(folder / "m.onnx", nodes, [floats("x", [2])], [tensor("text", TensorProto.STRING, [2])])
    suite.expect(0, "7 values written", "run", folder / "m.onnx", "--random", "1", "--dump", f"all={folder}/d")
    files = sorted(path.name for path in (folder / "d").iterdir())
    suite.check(files == sorted([".._.._up.npy".replace("..", "_.", 1), "a_b.npy", "a_b#2.npy", "empty.npy", "x" * 100 + ".npy", "_hidden.npy", "text.pb", "index.tsv"]), f"{files}")


def test_what_is_refused(suite, folder):
    suite.expect(2, "did you mean 'conv1'", "run", DIGITS, "--random", "1", "--dump", f"conv0={folder}/d")
    suite.expect(2, "wants NODE=DIR or all=DIR", "run", DIGITS, "--random", "1", "--dump", "all")
    suite.expect(2, "has no node '#99'", "run", DIGITS, "--random", "1", "--dump", f"#99={folder}/d")
    suite.expect(2, "--dump", "run", DIGITS, "--random", "1", "--dump", f"all={DIGITS}/d")
    suite.expect(2, "wants finite|fp16", "run", DIGITS, "--random", "1", "--expect", "nan")
    suite.check(not (folder / "d").exists(), "nothing is made for what is refused")
    suite.expect(0, "saved", "plan", DIGITS, "-o", folder / "p")
    for option in (("--expect", "finite"), ("--stats",), ("--dump", f"all={folder}/d")):
        suite.expect(2, "which a saved plan has folded and fused", "run", "--plan", folder / "p", "--random", "1", *option)
    save_model(folder / "m.onnx", [helper.make_node("Abs", ["x"], ["y"])], [floats("x", [10000])], [floats("y", [10000])])
    done = subprocess.run([suite.tinyort, "run", str(folder / "m.onnx"), "--random", "1", "--dump", f"all={folder}/full", "--json"], capture_output=True, text=True,
                          preexec_fn=limited(4096))
    suite.check(done.returncode == 5 and "File too large" in done.stderr and json.loads(done.stdout)["error"]["exit"] == 5, f"{done.returncode} {done.stderr}")
    suite.check(list((folder / "full").iterdir()) == [], "no part of a file is left")

"""What a user sees of layouts, on a command line that has the provider "channels" of channels_provider.c.

Usage: run.py TINYORT, from the root of the tree. Prints `layouts: N passed, N failed`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from provider_checks import main  # noqa: E402

W = (np.arange(16, dtype=np.float32).reshape(4, 4, 1, 1) - 5) / 8
X = np.arange(2 * 4 * 3 * 5, dtype=np.float32).reshape(2, 4, 3, 5) % 7 - 3


def conv(x):
    return np.einsum("nchw,mc->nmhw", x, W[:, :, 0, 0])


EXPECTED = conv(np.tanh(conv(np.maximum(conv(X), 0)))).mean((2, 3), keepdims=True)


def write_model(path):
    """first, relu and second are in the layout; tanh is no operator of channels; third reads and average makes what is plain again."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["r"], "relu"),
        helper.make_node("Conv", ["r", "w"], ["b"], "second"),
        helper.make_node("Tanh", ["b"], ["t"], "tanh"),
        helper.make_node("Conv", ["t", "w"], ["c"], "third"),
        helper.make_node("GlobalAveragePool", ["c"], ["y"], "average"),
    ]
    graph = helper.make_graph(
        nodes,
        "layouts",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, 3, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4, 1, 1])],
        [numpy_helper.from_array(W, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def kernels(plan):
    return " ".join(node["kernel"] for node in plan["nodes"] if node["provider"] == "channels")


IN = {"value": "x", "bytes": 480, "provider": "channels", "from": "plain", "to": "nhwc", "before": "first", "node": 0}


def test_json(t):
    plan = t.plan("--shape", "x=2x4x3x5")
    t.check(kernels(plan) == "conv_last relu conv_last conv_last average_last", kernels(plan))
    t.check([c["value"] + " " + c["before"] for c in plan["conversions"]] == ["x first", "b tanh", "t third"], plan["conversions"])
    t.check(plan["conversions"][0] == IN, plan["conversions"][0])
    t.check(plan["copies"] == [], plan["copies"])
    t.check(t.plan()["conversions"][0]["bytes"] is None, "bytes of an open shape")


def test_none(t):
    plan = t.plan(chain="cpu")
    t.check("conversions" not in plan, plan)
    t.check("convert" not in t.run("plan", chain="cpu").stdout, "a plan without conversions")


def test_alone(t):
    plan = t.plan("--pin", "average=cpu", "--pin", "relu=cpu")
    third = plan["nodes"][4]
    t.check((third["kernel"], [v["code"] for v in third["verdicts"]]) == ("conv_plain", ["NO_SHAPE"]), third)
    t.check("layout nhwc" in third["verdicts"][0]["message"] and not third["fell_back"], third)
    t.check("conversions" not in plan, plan)


def test_pays_alone(t):
    """A convolution of many channels says that it pays for its conversions: it stays in the layout without a neighbour."""
    x, w = np.ones((1, 64, 3, 5), np.float32), np.full((2, 64, 1, 1), 0.25, np.float32)
    value = lambda name, channels: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, 3, 5])
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], "many")]
    graph = helper.make_graph(nodes, "many", [value("x", 64)], [value("y", 2)], [numpy_helper.from_array(w, "w")])
    shown, t.model = t.model, t.scratch / "many.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), t.model)
    np.save(t.scratch / "x.npy", x)
    plan = t.plan()
    t.check(kernels(plan) == "conv_last" and [c["value"] for c in plan["conversions"]] == ["x", "y"], plan)
    t.run("run", "--input", str(t.scratch / "x.npy"), "--save", str(t.scratch))
    t.check(np.array_equal(np.load(t.scratch / "output_0.npy"), np.full((1, 2, 3, 5), 16, np.float32)), "its output")
    t.model = shown


def test_text(t):
    out = t.run("plan", "--shape", "x=2x4x3x5").stdout
    t.check("conversions:  3 between layouts, 1.4 kB" in out, out)
    for line in "convert 480 B of 'x' plain->nhwc", "convert 480 B of 'b' nhwc->plain", "convert 480 B of 't' plain->nhwc":
        t.check(any(row.strip() == line for row in out.splitlines()), f"{line}: {out}")
    t.check("conversions:  3 between layouts" in t.run("plan").stdout, "a plan of an open shape")


def test_run(t):
    np.save(t.scratch / "x.npy", X)
    plan = str(t.scratch / "plan")
    t.run("plan", "-o", plan)
    saved = json.loads(t.run("plan", "--plan", plan, "--json").stdout)
    t.check([c["value"] for c in saved["conversions"]] == ["x", "b", "t"], saved)
    for options in [], ["--no-fusion"], ["--pin", "third=cpu"], ["--pin", "tanh=cpu"], ["--max", "n=3"], ["--plan", plan]:
        t.run("run", "--input", str(t.scratch / "x.npy"), "--save", str(t.scratch), *options)
        t.check(np.allclose(np.load(t.scratch / "output_0.npy"), EXPECTED, 1e-4, 1e-5), f"the output of {options}")


def test_compare(t):
    shape = ["--random", "1", "--shape", "x=3x4x3x5"]
    done = t.run("compare", "--ep", "cpu", *shape)
    t.check("6 values compared" in done.stdout and "no node differs" in done.stdout, done.stdout)
    done = t.run("compare", "--ep", "wrong,cpu", *shape, status=5)
    t.check("the first is node #0 first (Conv-11, wrong conv_last)" in done.stdout, done.stdout)
    t.run("bench", "--repeat", "2", "--shape", "x=3x4x3x5")


if __name__ == "__main__":
    main("layouts", "channels,cpu", write_model, (test_json, test_none, test_alone, test_pays_alone, test_text, test_run, test_compare))

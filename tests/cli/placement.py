"""Plans: where nodes go, what sends them elsewhere, pins, bindings, the JSON of a plan."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from suite import DIGITS, NO_CUDA, floats, save_model, tensor, unknown_operator

# A card that a build for sm_80 alone, as of make test, has code for too.
BOARD = ("plan", DIGITS, "--ep", "cuda,cpu", "--target", "cuda:sm_86")


def test_placement(suite, folder):
    run = ("run", DIGITS, "--random", "1", "--ep")
    suite.expect(0, ["cuda did not open: DISABLED", "unset"], *run, "cuda,cpu", **NO_CUDA)
    suite.expect(4, "DISABLED", *run, "cuda,cpu", "--require", "cuda", **NO_CUDA)
    suite.expect(4, "strict", *run, "cuda,cpu", "--strict", **NO_CUDA)
    suite.expect(4, "placement: ", *run, "cuda", **NO_CUDA)
    suite.expect(2, "for no provider", "plan", DIGITS, "--ep", "cuda,cpu", "--target", "cude:sm_86")
    suite.expect(0, "target sm_86, not opened", *BOARD)


def test_json_of_a_plan(suite, folder):
    plan = suite.run("plan", DIGITS, "--json").json()
    fused = plan["summary"].pop("fused")
    suite.check(sum(plan["summary"].values()) == len(plan["nodes"]), "the summary counts every node once")
    suite.check(fused == 3 and sum(max(len(entry["from"]), 1) for entry in plan["nodes"]) == len(plan["nodes"]) + fused, "and what was joined")
    suite.check([entry["since"] for entry in plan["nodes"]][:3] == [1, 12, 1], "versions of operators")
    suite.check(plan["nodes"][0]["domain"] == "tinyort" and plan["nodes"][0]["from"] == ["conv1", "relu1"], "what a joined node is made of")
    suite.check(set(plan["host_memory"]) == {"model", "weights", "session", "context", "arena", "total", "grows"}, "host_memory")
    unknown_operator(folder / "unknown.onnx", behind=1)
    failed = suite.expect(4, "sinus", "plan", folder / "unknown.onnx", "--json").json()
    suite.check(failed["nodes"][0]["provider"] is None, "a refused plan is printed all the same")
    suite.check(failed["nodes"][0]["verdicts"][0]["code"] == "NO_OP", "with its verdict")
    behind = failed["nodes"][1]["verdicts"][0]
    suite.check(behind["code"] == "UPSTREAM" and behind["root"] == 0, "a node behind it names its cause")


def test_pin_and_allow(suite, folder):
    free = suite.run(*BOARD, "--json").json()
    on_cuda = [node for node in free["nodes"] if node["provider"] == "cuda"]
    suite.check(on_cuda, "cuda claims something of digits.onnx")
    elsewhere = {node["op"] for node in free["nodes"] if node["provider"] == "cpu"}
    for pin in (f"{on_cuda[0]['path']}=cpu", "#0=cpu"):
        told = suite.run(*BOARD, "--json", "--pin", pin).json()
        pinned = next(node for node in told["nodes"] if node["path"] == on_cuda[0]["path"])
        suite.check(pinned["provider"] == "cpu" and pinned["pinned"], f"--pin {pin} moves the node")
        suite.check(not pinned["fell_back"], "a node that was put there did not fall back")
        suite.check(pinned["verdicts"][0]["code"] == "PINNED", f"--pin {pin} is the verdict")
        strict = (*BOARD, "--pin", pin, "--strict", *(("--allow", ",".join(sorted(elsewhere))) if elsewhere else ()))
        result = suite.expect(0, "1 node pinned: conv1", *strict)
        suite.check("fell back" not in result.err, "nor does the placement line say so")


def test_strict_allows(suite, folder):
    nodes = [helper.make_node("Relu", ["x"], ["a"], "relu"), helper.make_node("Cast", ["a"], ["y"], "wide", to=TensorProto.STRING)]
    save_model(folder / "m.onnx", nodes, [floats("x", [4])], [helper.make_tensor_value_info("y", TensorProto.STRING, [4])])
    plan = ("plan", folder / "m.onnx", "--ep", "cuda,cpu", "--target", "cuda:sm_86", "--strict")
    suite.expect(4, ["strict", "wide"], *plan)
    suite.expect(0, "1 node fell back: wide NO_TYPE", *plan, "--allow", "Cast")
    suite.expect(4, "strict", *plan, "--allow", "Relu")


def test_strict_tells_the_whole_plan(suite, folder):
    """What a strict session refuses is planned to the end, and its message is a sentence that ends."""
    refused = suite.expect(4, "strict", "run", DIGITS, "--random", "1", "--ep", "cuda,cpu", "--strict", **NO_CUDA)
    said = [line for line in refused.err.splitlines() if "strict:" in line]
    suite.check(len(said) == 1 and said[0].count("did not open") == 1, f"why cuda is down is said once: {refused.err}")
    suite.check(said and (said[0].endswith(" more") or said[0].endswith(")")), f"the sentence ends: {said}")
    names = [f"a_long_name_of_a_layer_in_a_network_{i}" for i in range(40)]
    nodes = [helper.make_node("Cast", ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"], name, to=TensorProto.STRING if i % 2 == 0 else TensorProto.FLOAT)
             for i, name in enumerate(names)]
    save_model(folder / "many.onnx", nodes, [floats("x", [4])], [floats("v39", [4])])
    refused = suite.expect(4, "strict: 40 nodes are not on cuda", "plan", folder / "many.onnx", *BOARD[2:], "--strict")
    suite.check("NO_TYPE" in refused.err and " more" in refused.err.splitlines()[0], f"some nodes, and how many more: {refused.err}")
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], "conv"), helper.make_node("Relu", ["a"], ["b"], "relu"),
             helper.make_node("Cast", ["b"], ["y"], "text", to=TensorProto.STRING)]
    save_model(folder / "mixed.onnx", nodes, [floats("x", [1, 3, 8, 8])], [helper.make_tensor_value_info("y", TensorProto.STRING, [1, 4, 8, 8])],
               weights=[numpy_helper.from_array(np.ones((4, 3, 1, 1), np.float32), "w")])
    plan = ("plan", folder / "mixed.onnx", *BOARD[2:], "--json")
    free, refused = suite.expect(0, "text", *plan).json(), suite.expect(4, "text", *plan, "--strict").json()
    for key in ("nodes", "copies", "summary", "memory"):
        suite.check(free[key] == refused[key], f"a strict refusal tells the same {key} as the plan: {refused[key]}")
    suite.check(free["copies"] and free["nodes"][0]["from"] == ["conv", "relu"], "and these are copies and a fusion")


def test_bind(suite, folder):
    suite.expect(0, "1  conv1", "plan", DIGITS, "--bind", "*=cpu")
    suite.expect(2, 'no input or output "picture"', "plan", DIGITS, "--bind", "picture=cpu")
    suite.expect(2, "not of the form NAME=PROVIDER", "plan", DIGITS, "--bind", "image")
    suite.expect(2, "provider cuda is not in the chain cpu", "plan", DIGITS, "--bind", "image=cuda")
    suite.expect(2, "--bind", "run", DIGITS, "--bind", "image=cpu")
    told = suite.run("plan", DIGITS, "--ep", "cuda", "--target", "cuda:sm_86", "--bind", "*=cuda", "--json").json()
    suite.check(told["copies"] == [], "a bound plan has no copies")
    told = suite.run("plan", DIGITS, "--ep", "cuda", "--target", "cuda:sm_86", "--json").json()
    suite.check([c["before"] for c in told["copies"]] == ["conv1", ""] and told["copies"][1]["node"] is None, "copies of a plan, the last at the end")


def test_cast_to_the_same_type(suite, folder):
    """Exporters cast to be sure: what has the type already is not copied."""
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Cast", ["a"], ["b"], "same", to=TensorProto.FLOAT),
             helper.make_node("Neg", ["b"], ["c"]), helper.make_node("Cast", ["c"], ["d"], "other", to=TensorProto.INT32),
             helper.make_node("Abs", ["d"], ["y"])]
    save_model(folder / "m.onnx", nodes, [floats("x", [8, 8])], [tensor("y", TensorProto.INT32, [8, 8])])
    for chain in ("cpu", "cudasim,cpu"):
        kernels = {node["name"]: node["kernel"] for node in suite.run("plan", folder / "m.onnx", "--json", "--ep", chain).json()["nodes"]}
        suite.check(kernels["same"] == "view" and kernels["other"] != "view", f"{chain}: {kernels}")


def test_resize_of_blocks(suite, folder):
    """A Resize between convolutions is of blocks of channels if its output is read so; the pictures' sizes may be open, but not which axes change."""
    rng = np.random.default_rng(3)
    weights = [numpy_helper.from_array(rng.standard_normal((16, 16, 1, 1), np.float32), name) for name in ("v", "w")]
    first, last = helper.make_node("Conv", ["x", "v"], ["c"], "first"), helper.make_node("Conv", ["r", "w"], ["y"], "last")
    turned = {"axes": [2, 3, 0, 1]}  # the same numbers are the scales of N and C then
    cases = [("blocks", [first], last, {}, ["n", 16, "h", "w"]),
             ("known sizes", [first], last, {}, [1, 16, 4, 6]), ("read in planes", [first], helper.make_node("Softmax", ["r"], ["y"], "last", axis=3), {}, ["n", 16, "h", "w"]),
             ("other axes", [first], helper.make_node("Relu", ["r"], ["y"], "last"), turned, ["n", 16, "h", "w"])]
    for case, before, after, attributes, shape in cases:
        scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s")
        resize = helper.make_node("Resize", ["c", "", "s"], ["r"], "resize", mode="linear", **attributes)
        save_model(folder / "m.onnx", [*before, resize, after], [floats("x", shape)], [floats("y", None)], opset=18, weights=[*weights, scales])
        sizes = () if shape[0] == 1 else ("--shape", "x=1x16x4x6")
        kernels = {node["name"]: node["kernel"] for node in suite.run("plan", folder / "m.onnx", "--json").json()["nodes"]}
        suite.check((kernels["resize"] == "resize_blocked") == (case in ("blocks", "known sizes")), f"{case}: {kernels}")
        told = suite.run("run", folder / "m.onnx", "--random", "1", *sizes, "--json").json()["outputs"][0]
        suite.check(told["shape"] == ([2, 32, 4, 6] if attributes else [1, 16, 8, 12]), f"{case}: {told}")


def test_unread(suite, folder):
    """A node that no output needs does not run, and is told apart from what is computed while planning."""
    nodes = [helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["z"], "lonely")]
    save_model(folder / "m.onnx", nodes, [floats("x", [4])], [floats("y", [4])])
    suite.expect(0, "1 unread: no output needs it", "plan", folder / "m.onnx")
    suite.expect(2, "no output of the model needs it", "plan", folder / "m.onnx", "--pin", "lonely=cpu")


def test_broken_machines(suite, folder):
    """cudasim:play=NAME: what a chain says of a machine that is broken, and that the next one is whole again."""
    if not any(p["name"] == "cudasim" and p["status"] == "ready" for p in suite.run("providers", "--json").json()["providers"]):
        return suite.skip("broken machines: cudasim is not ready here")
    for name, code, cure in (("no_driver", "NO_DRIVER", "install"), ("old_driver", "OLD_DRIVER", "update"), ("no_device", "NO_DEVICE", "take cuda out"),
                             ("hidden_device", "HIDDEN", "CUDA_VISIBLE_DEVICES"), ("no_image", "NO_IMAGE", "CUDA_ARCHS"), ("stub_driver", "FAILED", "")):
        told = suite.run("plan", DIGITS, "--ep", f"cudasim:play={name},cpu", "--json").json()
        provider = told["providers"][0]
        suite.check((provider["status"], provider["code"]) == ("down", code) and cure in provider["cure"], f"{name}: {provider}")
        suite.check(told["summary"]["cudasim"] == 0 and told["summary"]["cpu"] == 7, f"{name}: {told['summary']}")
        suite.expect(4, code, "run", DIGITS, "--random", "1", "--ep", f"cudasim:play={name},cpu", "--require", "cudasim")
    families = [{node["path"]: node["family"] for node in suite.run("plan", "models/lesson/eval.onnx", "--ep", chain, "--json").json()["nodes"]}["classify"]
                for chain in ("cudasim", "cudasim:play=no_libraries")]
    suite.check(families == ["cuBLAS", "kernel"], f"without libraries own kernels serve: {families}")
    suite.expect(2, ["play=rusty is no machine", "no_driver old_driver"], "run", DIGITS, "--random", "1", "--ep", "cudasim:play=rusty,cpu")
    told = suite.run("compare", DIGITS, "--ep", "cudasim:play=old_driver,cpu", "--ep", "cudasim,cpu", "--json").json()
    suite.check([session["providers"][0]["status"] for session in told["sessions"]] == ["down", "ready"], f"whole again: {told['sessions']}")

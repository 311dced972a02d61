"""What a user sees of plugins of ONNX Runtime, with the plugin of hostile.c, which has one fault at a time.

Usage: run.py TINYORT PLUGIN, from the root of the tree. Prints `plugin-host: N passed, N failed`.
"""

import os
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from provider_checks import main  # noqa: E402

PLUGIN = str(Path(sys.argv[2]).resolve())
K = np.array([1, -2, 3, -4], np.float32)
X = np.array([[1, -2, 3, -4], [5, 6, -7, 8]], np.float32)
EXPECTED = np.maximum(np.tanh(-np.maximum(X, 0) * K) * K, 0)


def write_model(path):
    """Two chains that the plugin takes, with a Tanh between that it does not."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "relu"),
        helper.make_node("Mul", ["r", "k"], ["m"], "scaled"),
        helper.make_node("Neg", ["m"], ["n"], "negative"),
        helper.make_node("Tanh", ["n"], ["t"], "tanh"),
        helper.make_node("Mul", ["t", "k"], ["s"], "again"),
        helper.make_node("Relu", ["s"], ["y"], "cut"),
    ]
    graph = helper.make_graph(
        nodes,
        "chains",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(K, "k")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def run_model(t, fault, *options, status=0, chain=None):
    os.environ["HOSTILE"] = fault
    np.save(t.scratch / "x.npy", X)
    return t.run("run", "--input", str(t.scratch / "x.npy"), "--save", str(t.scratch), *options, status=status, chain=chain)


def test_run(t):
    for fault in "", "constants", "planned", "serial", "no_name", "many_devices", "release_fails", "slots":
        (t.scratch / "output_0.npy").unlink(missing_ok=True)
        done = run_model(t, fault)
        t.check(np.allclose(np.load(t.scratch / "output_0.npy"), EXPECTED, 1e-5, 1e-5), f"the output with {fault}")
        t.check("2 plugin, 1 cpu (of 3" in done.stderr, f"{fault}: {done.stderr}")
    t.run("bench", "--repeat", "3", "--shape", "x=3x4")


# What is said of a provider that does not open, by fault.
DOWN = {
    "new": "asks for version 99 of ONNX Runtime's interface, tinyort gives up to 30",
    "factories_fail": "CreateEpFactories: no factories today",
    "no_factories": "CreateEpFactories: it gives no factory",
    "no_factory": "CreateEpFactories: it gives no factory",
    "many_factories": "CreateEpFactories: it gives no factory",
    "old_factory": "its factory lacks functions, or is older than version 23",
    "no_function": "its factory lacks functions",
    "devices_fail": "GetSupportedDevices: no devices today",
    "no_devices": "the plugin supports no device of this machine",
    "foreign_device": "the plugin supports no device of this machine",
    "far": "keeps tensors in memory of its own",
    "create_fails": "CreateEp: no provider today; log: the log knows more",
    "no_ep": "CreateEp: it gives no EP",
    "old_ep": "its EP compiles no nodes",
    "no_compile": "its EP compiles no nodes",
}


def test_down(t):
    for fault, words in DOWN.items():
        os.environ["HOSTILE"] = fault
        plan = t.plan()
        plugin = plan["providers"][0]
        t.check(plugin["status"] == "down" and words in plugin["message"] and plugin["cure"], f"{fault}: {plugin}")
        t.check(plan["summary"]["plugin"] == 0 and plan["summary"]["unplaced"] == 0, f"{fault}: {plan['summary']}")


# What is said of nodes whose plugin fails in GetCapability.
CHOICES = {
    "capability_fails": "no choice today",
    "twice": "node 1 of a group is fused twice",
    "foreign": "node 0 of a group is not of this graph",
    "empty": "no nodes are given",
    "mixed": "some fused nodes are with constants, and some are not",
    "slot": "tinyort's host of plugins has no OrtApi::CreateSession (slot 7)",
    "ep_slot": "tinyort's host of plugins has no OrtEpApi::CreateKernelRegistry (slot 18)",
    "editor_slot": "tinyort's host of plugins has no OrtModelEditorApi::CreateGraph (slot 7)",
    "tells": "x[-1:n,4:] k(loaded) by Relu, 1 reader, opset 21 of ''; "
    "there are 6 of them, more than the 1 of the list",
}


def refusals(plan):
    return [verdict["message"] for node in plan["nodes"] for verdict in node["verdicts"] if verdict["provider"] == "plugin"]


def test_choices(t):
    for fault, words in CHOICES.items():
        os.environ["HOSTILE"] = fault
        texts = refusals(t.plan())
        t.check(len(texts) == 6 and all(f"HostileExecutionProvider: GetCapability: {words}" in text for text in texts), f"{fault}: {texts}")
    os.environ["HOSTILE"] = "alone"
    texts = refusals(t.plan())
    t.check(len(texts) == 6 and all("kernels of its own for single nodes are not hosted" in text for text in texts), texts)


def test_compile(t):
    faults = {
        "compile_fails": "Compile: two lines: no code today",
        "compile_nothing": "Compile: it succeeds, and gives nothing that runs",
        "no_compute": "Compile: what it gives lacks CreateState, Compute or ReleaseState",
    }
    for fault, words in faults.items():
        os.environ["HOSTILE"] = fault
        plan = t.plan()
        texts = refusals(plan)
        t.check(any(words in text for text in texts) and plan["summary"]["plugin"] == 0, f"{fault}: {texts}")


def test_run_fails(t):
    faults = {
        "state_fails": "CreateState: no state today",
        "run_fails": "Compute: no run today",
        "wrong_shape": "Compute: output 0 is asked for with shape [3,4], planned is [2,4]",
        "wrong_rank": "Compute: output 0 is asked for with shape [2], planned is [2,4]",
        "no_dims": "Compute: output 0 is asked for with shape [], planned is [2,4]",
        "wrong_output": "Compute: there is no output 7 of 1",
        "wrong_input": "Compute: there is no input 99 of 1",
        "no_output": "Compute succeeds, and has not written output 0",
    }
    for fault, words in faults.items():
        done = run_model(t, fault, status=None)
        t.check(done.returncode and f"HostileExecutionProvider: {words}" in done.stderr, f"{fault}: {done.stderr}")


def test_options(t):
    chain = f"plugin:library={PLUGIN}:{{}},cpu"
    for option, words in ("mode=fast", "CreateEp: fast;"), ("other=1", "CreateEp;"):
        os.environ["HOSTILE"] = "options"
        text = t.run("plan", chain=chain.format(option)).stdout
        t.check(words in text, text)
    os.environ["HOSTILE"] = ""
    for device, kind in ("0", "first"), ("1", "second"), ("second", "second"), ("HostileExecutionProvider", "first"):
        text = t.run("plan", chain=chain.format(f"device={device}")).stdout
        t.check(f"HostileExecutionProvider 6.6.6, kind={kind}, by " in text, text)
    text = t.run("plan", chain=chain.format("device=third"), status=2).stderr
    t.check("there are: 0 HostileExecutionProvider kind=first, 1 HostileExecutionProvider kind=second" in text, text)
    os.environ["HOSTILE"] = "warns"
    text = t.run("plan").stdout
    t.check("beware" in text, text)


def test_files(t):
    os.environ["HOSTILE"] = ""
    plain = t.run("plan", chain="plugin,cpu").stdout
    t.check("no shared object is named" in plain and "plugin:library=FILE" in plain, plain)
    none = t.run("plan", chain="plugin:library=/nowhere/none.so,cpu").stdout
    t.check("cannot be loaded: /nowhere/none.so" in none, none)
    other = t.run("plan", chain="plugin:library=libm.so.6,cpu").stdout
    t.check("cannot be loaded: ./libm.so.6" in other, other)


def test_saved(t):
    """A saved plan may be anybody's: it sets no option of a plugin but the device."""
    os.environ["HOSTILE"] = ""
    saved = str(t.scratch / "saved.plan")
    t.run("plan", "-o", saved)
    run = ("run", "--plan", saved, "--random", "1", "--shape", "x=2x4")
    text = t.run(*run, status=3).stderr
    t.check("the saved plan sets the option library" in text and "give the chain, too" in text, text)
    t.run(*run, "--ep", t.chain)


def test_found(t):
    """A package is found in the folders of the environment, and nowhere else."""
    folder = t.scratch / "venv/lib/python3.99/site-packages/onnxruntime_ep_webgpu"
    folder.mkdir(parents=True)
    (folder / "libonnxruntime_providers_webgpu.so").symlink_to(PLUGIN)
    (t.scratch / "bin").mkdir()
    before = dict(os.environ)
    places = (
        ({"TINYORT_PLUGINS": f":relative:{folder}"}, True),
        ({"VIRTUAL_ENV": str(t.scratch / "venv")}, True),
        ({"PATH": f":relative:{t.scratch / 'venv/bin'}"}, True),
        ({"PATH": str(t.scratch / "pyenv/shims")}, True),
        ({"HOME": str(t.scratch / "user")}, True),
        ({"TINYORT_PLUGINS": "venv"}, False),
        ({"PATH": str(t.scratch / "bin")}, False),
    )
    for other in "pyenv/versions/3.99.1", "user/.local":
        (t.scratch / other / "lib/python3.99").mkdir(parents=True)
        (t.scratch / other / "lib/python3.99/site-packages").symlink_to(folder.parent)
    (t.scratch / "pyenv/shims").mkdir()
    (t.scratch / "pyenv/shims/python3").symlink_to("/bin/sh")
    (t.scratch / "venv/bin").mkdir()
    (t.scratch / "venv/bin/python3").symlink_to("/bin/sh")
    for values, found in places:
        os.environ.update({"HOSTILE": "", "TINYORT_PLUGINS": "", "VIRTUAL_ENV": "", "PATH": "", "HOME": ""} | values)
        text = t.run("plan", chain="webgpu,cpu").stdout
        t.check(("HostileExecutionProvider 6.6.6" in text) == found, f"{values}: {text}")
        t.check(found or ("is in none of" in text and "pip install onnxruntime-ep-webgpu" in text), f"{values}: {text}")
    os.environ.update(before)


if __name__ == "__main__":
    main(
        "plugin-host",
        f"plugin:library={PLUGIN},cpu",
        write_model,
        (test_run, test_down, test_choices, test_compile, test_run_fails, test_options, test_files, test_saved, test_found),
    )

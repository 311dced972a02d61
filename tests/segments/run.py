"""What a user sees of segments, on a command line that has the providers "engine" and "ahead" of this folder.

Usage: run.py TINYORT, from the root of the tree. Prints `segments: N passed, N failed`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from provider_checks import main  # noqa: E402

K = np.array([1, -2, 3, -4], np.float32)
X = np.array([[1, -2, 3, -4], [5, 6, -7, 8]], np.float32)
EXPECTED = np.maximum(np.tanh(np.maximum(X, 0) * K + K) + K, 0) * K  # of the model below, but for its last node


def write_model(path):
    """relu, scaled and shifted are one segment; tanh is no operator of the engine; added, cut and again are another; last reads a
    column, which the engine does not broadcast."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "relu"),
        helper.make_node("Mul", ["r", "k"], ["m"], "scaled"),
        helper.make_node("Add", ["m", "k"], ["s"], "shifted"),
        helper.make_node("Tanh", ["s"], ["t"], "tanh"),
        helper.make_node("Add", ["t", "k"], ["a"], "added"),
        helper.make_node("Relu", ["a"], ["c"], "cut"),
        helper.make_node("Mul", ["c", "k"], ["g"], "again"),
        helper.make_node("Add", ["g", "column"], ["y"], "last"),
    ]
    graph = helper.make_graph(
        nodes,
        "segments",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(K, "k"), numpy_helper.from_array(np.ones((1, 1), np.float32), "column")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def made_of(plan):
    """What each node that runs is made of, or its name."""
    return [" ".join(node["from"]) or node["name"] for node in plan["nodes"]]


def node_of(plan, name):
    return next(node for node in plan["nodes"] if name in (node["from"] or [node["name"]]))


def test_json(t):
    plan = t.plan()
    t.check(made_of(plan) == ["relu scaled shifted", "tanh", "added cut again", "last"], made_of(plan))
    segment = node_of(plan, "cut")
    t.check((segment["provider"], segment["kernel"]) == ("engine", "compiled"), segment)
    t.check((segment["domain"], segment["op"], segment["index"]) == ("tinyort", "Segment", 6), segment)
    t.check(plan["summary"] == {"engine": 2, "cpu": 2, "host": 0, "folded": 0, "fused": 4, "unplaced": 0, "fallen_back": 2}, plan["summary"])
    last = node_of(plan, "last")
    t.check([v["code"] for v in last["verdicts"] if v["provider"] == "engine"] == ["NO_SHAPE"] and "segment" not in last["verdicts"][0], last["verdicts"])


def test_left_out(t):
    plan = t.plan("--pin", "scaled=cpu")
    t.check(made_of(plan) == ["relu", "scaled", "shifted", "tanh", "added cut again", "last"], made_of(plan))
    verdicts = node_of(plan, "shifted")["verdicts"]
    t.check(verdicts[0]["segment"] and verdicts[0]["message"] == "a segment of one node is not worth compiling", verdicts)
    t.check(node_of(plan, "scaled")["pinned"] and not node_of(plan, "scaled")["fell_back"], node_of(plan, "scaled"))


def test_text(t):
    lines = t.run("plan", "--pin", "scaled=cpu", "--full").stdout.splitlines()
    t.check(any(line.split()[:5] == ["6", "added", "tinyort.Segment-1", "engine", "compiled"] for line in lines), lines)
    t.check(any(line.split() == ["from", "added,", "cut,", "again"] for line in lines), lines)
    reason = "engine: NO_SHAPE a segment of one node is not worth compiling"
    t.check(any("shifted" in line and reason in line for line in lines), lines)
    only = t.run("plan", "--only", "Relu").stdout
    t.check("added" in only and "tanh" not in only, only)


def test_run(t):
    np.save(t.scratch / "x.npy", X)
    for options in [], ["--no-fusion"], ["--pin", "cut=cpu"], ["--pin", "cut=engine"], ["--shape", "x=2x4"]:
        done = t.run("run", "--input", str(t.scratch / "x.npy"), "--save", str(t.scratch), *options)
        t.check(np.allclose(np.load(t.scratch / "output_0.npy"), EXPECTED + 1, 1e-5, 1e-5), f"the output of {options}")
    t.check("placement: 2 engine, 2 cpu (of 4; 0 folded; 4 fused into others)" in done.stderr, done.stderr)
    t.check("2 nodes fell back: tanh NO_OP, last NO_SHAPE" in done.stderr, done.stderr)


def test_others(t):
    done = t.run("compare", "--ep", "cpu", "--random", "1", "--shape", "x=3x4")
    t.check("4 values compared" in done.stdout and "no node differs" in done.stdout, done.stdout)
    done = t.run("compare", "--ep", "wrong,cpu", "--random", "1", "--shape", "x=3x4", status=5)
    t.check("the first is node #2 relu (Segment-1, wrong compiled)" in done.stdout, done.stdout)
    t.check("values compared" in done.stdout and "one of the runs alone" not in done.stdout, done.stdout)
    done = t.run("compare", "--ep", "wrong,cpu", "--random", "1", "--pin", "shifted=cpu", "--shape", "x=3x4", status=5)
    t.check("the first is node #1 relu (Segment-1, wrong compiled)" in done.stdout, done.stdout)
    t.run("bench", "--repeat", "2", "--shape", "x=3x4")
    done = t.run("plan", "--strict", status=4)
    t.check("strict: 2 nodes are not on engine" in done.stderr, done.stderr)
    t.run("plan", "--strict", "--allow", "Tanh,Add")
    refused = t.run("plan", "--json", chain="engine", status=4)
    t.check(json.loads(refused.stdout)["error"]["node"] == 3, refused.stdout)


# ---- an engine that compiles ahead ----


def test_ahead_runs(t):
    np.save(t.scratch / "x.npy", X)
    for chain in "ahead,cpu", "ahead:declines=Mul,cpu", "ahead:room=2,cpu", "ahead,engine,cpu", "ahead:declines=Relu,engine,cpu":
        for options in [], ["--shape", "x=2x4"], ["--max", "n=5"], ["--pin", "cut=cpu"]:
            t.run("run", "--input", str(t.scratch / "x.npy"), "--save", str(t.scratch), *options, chain=chain)
            t.check(np.allclose(np.load(t.scratch / "output_0.npy"), EXPECTED + 1, 1e-5, 1e-5), f"the output of {chain} {options}")
    done = t.run("run", "--random", "1", "--shape", "x=2x4", chain="ahead:fails=1,cpu", status=5)
    t.check("the device was told to fail" in done.stderr and "made of relu, scaled, shifted" in done.stderr, done.stderr)


def test_ahead_declines(t):
    plan = t.plan(chain="ahead:declines=Mul,cpu")
    t.check(made_of(plan) == ["relu", "scaled", "shifted", "tanh", "added cut", "again", "last"], made_of(plan))
    verdict = node_of(plan, "scaled")["verdicts"][0]
    t.check((verdict["code"], verdict["segment"]) == ("NO_CAPABILITY", True), verdict)
    t.check(verdict["message"] == "the device declines Mul" and verdict["cure"] == "leave out declines", verdict)
    t.run("plan", "--strict", chain="ahead:declines=Mul,cpu", status=4)


def test_ahead_refuses_to_compile(t):
    """Its nodes are placed again, once: on the next provider that takes them, which may join them anew."""
    plan = t.plan(chain="ahead:room=2,cpu")
    t.check([node["provider"] for node in plan["nodes"]] == ["cpu"] * 8, plan["nodes"])
    verdict = node_of(plan, "shifted")["verdicts"][0]
    t.check((verdict["code"], verdict["message"]) == ("NO_MEMORY", "3 instructions do not fit, there is room for 2"), verdict)
    plan = t.plan(chain="ahead:room=2,engine,cpu")
    t.check([node["provider"] for node in plan["nodes"]] == ["engine", "cpu", "engine", "cpu"], plan["nodes"])
    refused = t.run("plan", "--json", chain="ahead:room=2", status=4)
    t.check("3 instructions do not fit" in refused.stdout, refused.stdout)


def test_ahead_sizes(t):
    """Compiled once for all sizes, with the upper bounds where there are some."""
    t.check(node_of(t.plan(chain="ahead,cpu"), "cut")["kernel"] == "compiled ahead, any size", "no bounds")
    kernel = node_of(t.plan("--max", "n=6", chain="ahead,cpu"), "cut")["kernel"]
    t.check(kernel == "compiled ahead, at most 24 elements", kernel)


def test_ahead_is_told(t):
    """What was compiled, how long that took, and the memory that the engine holds for it."""
    plan = t.plan(chain="ahead,cpu")
    t.check(plan["memory"]["ahead"]["engine"] > 2 * 4 * 4 and "engine" not in plan["memory"]["cpu"], plan["memory"])
    t.check(next(p for p in plan["providers"] if p["name"] == "ahead")["message"].startswith("compiled 6 nodes in "), plan["providers"])
    first = t.run("plan", chain="ahead,cpu").stdout.splitlines()[1]
    t.check("; its engine holds " in first, first)


def test_ahead_profile(t):
    """What the engine tells of its parts are lines of the profile; a segment has what is left."""
    done = t.run("bench", "--json", "--profile", "--repeat", "4", "--shape", "x=3x4", chain="ahead,cpu")
    units = json.loads(done.stdout)["profile"]["units"]
    parts = {(unit["node"], unit["path"], unit["op"]): unit for unit in units if unit["kind"] == "part"}
    names = [(2, "relu", "Relu"), (2, "scaled", "Mul"), (2, "shifted", "Add"), (6, "added", "Add"), (6, "again", "Mul"), (6, "cut", "Relu")]
    t.check(sorted(parts) == names, sorted(parts))
    t.check(all(unit["calls"] == 1 and unit["provider"] == "ahead" for unit in parts.values()), parts)


def test_saved(t):
    """A saved plan has the segments, whatever engine; one that stores them gets its bytes back, and checks them."""
    np.save(t.scratch / "x.npy", X)
    saved = str(t.scratch / "model.plan")
    for chain in "engine,cpu", "ahead,cpu", "ahead:declines=Mul,cpu", "ahead:declines=Mul,engine,cpu":
        for options in [], ["--shape", "x=2x4"], ["--max", "n=5"], ["--pin", "cut=cpu"]:
            t.run("plan", "-o", saved, *options, chain=chain)
            t.run("run", "--plan", saved, "--input", str(t.scratch / "x.npy"), "--save", str(t.scratch))
            t.check(np.allclose(np.load(t.scratch / "output_0.npy"), EXPECTED + 1, 1e-5, 1e-5), f"the output of {chain} {options}")
            before, after = t.plan(*options, chain=chain), json.loads(t.run("plan", "--plan", saved, "--json").stdout)
            kernel = lambda node: node["kernel"].replace(", stored", "")
            for key in "provider", "from", "index", "pinned", "fell_back":
                t.check([node[key] for node in after["nodes"]] == [node[key] for node in before["nodes"]], f"{chain} {options}: {key}")
            t.check([kernel(node) for node in after["nodes"]] == [node["kernel"] for node in before["nodes"]], f"{chain} {options}")
            stored = [node["kernel"].startswith("compiled ahead, stored") for node in after["nodes"] if node["provider"] == "ahead"]
            t.check(all(stored), after["nodes"])


def test_saved_for_another_device(t):
    """A device that would not compile a segment of the plan refuses the plan; one of another version compiles it anew."""
    saved = str(t.scratch / "model.plan")
    t.run("plan", "-o", saved, chain="ahead,cpu")
    newer = json.loads(t.run("plan", "--plan", saved, "--json", "--ep", "ahead:version=2,cpu").stdout)
    t.check(node_of(newer, "cut")["kernel"] == "compiled ahead, any size", newer["nodes"])
    for options, words in ("ahead:room=2,cpu", "3 instructions do not fit"), ("cpu", "made for other providers"):
        done = t.run("run", "--plan", saved, "--random", "1", "--shape", "x=2x4", "--ep", options, status=4 if "room" in options else 2)
        t.check(words in done.stderr and ("make the plan again" in done.stderr or options == "cpu"), done.stderr)


if __name__ == "__main__":
    tests = test_json, test_left_out, test_text, test_run, test_others
    ahead = test_ahead_runs, test_ahead_declines, test_ahead_refuses_to_compile, test_ahead_sizes, test_ahead_is_told, test_ahead_profile
    saved = test_saved, test_saved_for_another_device
    main("segments", "engine,cpu", write_model, tests + ahead + saved)

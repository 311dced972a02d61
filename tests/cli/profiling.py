"""`tinyort bench --profile` and `--trace`: each unit once, shares of all of the time, FLOPs that were counted by hand."""

import json
import re

import numpy as np
from onnx import TensorProto, helper

from suite import DIGITS, floats, save_model, tensor, weight

RUNS = 7


def profile_of(suite, model, *arguments):
    return suite.run("bench", model, "--repeat", RUNS, "--profile", "--json", *arguments).json()["profile"]


def check_shares(suite, profile, text):
    """Of all units and of all operators; nothing is counted twice."""
    for key in ("units", "operators"):
        sum_of = sum(item["percent"] for item in profile[key]) + profile["between_percent"]
        suite.check(abs(sum_of - 100) < 1e-6, f"{text}: the shares of {key} add up to {sum_of}")
    suite.check(0 <= profile["between_percent"] < 100, f"{text}: {profile['between_percent']} % between units")
    units = sum(item["ms"] for item in profile["units"])
    suite.check(units <= profile["ms"], f"{text}: units take {units} of {profile['ms']} ms")
    suite.check(sum(item["units"] for item in profile["operators"]) == len(profile["units"]), f"{text}: operators have all units")


def plan_nodes(suite, model, *arguments):
    return {node["path"] for node in suite.run("plan", model, "--json", *arguments).json()["nodes"] if node["provider"] not in (None, "folded")}


def chains(suite):
    """With a device, where there is a simulated one."""
    if suite.run("providers", "--ep", "cudasim", "--require", "cudasim").status == 0:
        return "cpu:threads=1", "cudasim,cpu"
    suite.skip("profiles of a device: there is no simulated one")
    return ("cpu:threads=1",)


def test_each_unit_once(suite, folder):
    for chain in chains(suite):
        profile = profile_of(suite, DIGITS, "--ep", chain)
        nodes = [unit["path"] for unit in profile["units"] if unit["kind"] == "node"]
        suite.check(sorted(nodes) == sorted(plan_nodes(suite, DIGITS, "--ep", chain)), f"{chain}: units {nodes}")
        suite.check(all(unit["calls"] == 1 for unit in profile["units"]), f"{chain}: each runs once: {profile['units']}")
        copies = [unit["path"] for unit in profile["units"] if unit["kind"] == "copy"]
        suite.check(copies == [] if chain.startswith("cpu") else len(copies) == 2, f"{chain}: copies {copies}")
        suite.check(profile["runs"] == RUNS and profile["counted_runs"] == 4 and profile["overhead"] > 0, f"{chain}: {profile}")
        check_shares(suite, profile, chain)


def products(path):
    """A grouped convolution with strides and padding, its transpose, a product of batches, and Gemm with A transposed."""
    nodes = [helper.make_node("Conv", ["x", "cw"], ["c"], "conv", group=2, strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node("ConvTranspose", ["x", "tw"], ["t"], "spread", strides=[2, 2]),
             helper.make_node("MatMul", ["a", "b"], ["m"], "product"),
             helper.make_node("Gemm", ["p", "q"], ["g"], "gemm", transA=1),
             helper.make_node("Gather", ["table", "rows"], ["picked"], "pick"),
             helper.make_node("Neg", ["a"], ["n"], "negated")]
    inputs = [floats("x", [3, 4, 9, 9]), floats("a", [2, 5, 6]), floats("p", [7, 8]), floats("table", [1000, 16]), tensor("rows", TensorProto.INT64, [5])]
    weights = [weight("cw", np.ones((6, 2, 3, 3), np.float32)), weight("tw", np.ones((4, 5, 2, 2), np.float32)),
               weight("b", np.ones((6, 10), np.float32)), weight("q", np.ones((7, 9), np.float32))]
    save_model(path, nodes, inputs, [floats(name, None) for name in ("c", "t", "m", "g", "picked", "n")], weights=weights)


def test_work(suite, folder):
    products(folder / "m.onnx")
    units = {unit["path"]: unit for unit in profile_of(suite, folder / "m.onnx")["units"]}
    flops = {"conv": 2 * 3 * 6 * 5 * 5 * 2 * 9, "spread": 2 * 3 * 4 * 9 * 9 * 5 * 4, "product": 2 * 2 * 5 * 10 * 6, "gemm": 2 * 8 * 9 * 7,
             "pick": None, "negated": None}
    told = {path: units[path]["flops"] for path in flops}
    suite.check(told == flops, f"FLOPs {told}, counted by hand {flops}")
    moved = {"conv": 4 * (3 * 4 * 81 + 6 * 18 + 3 * 6 * 25), "product": 4 * (60 + 60 + 100), "negated": 4 * 120, "pick": 4 * 2 * 80 + 8 * 5}
    told = {path: units[path]["bytes"] for path in moved}
    suite.check(told == moved, f"bytes {told}, counted by hand {moved}")
    suite.check(all((unit["flops_per_s"] is None) == (unit["flops"] is None) for unit in units.values()), "no speed of what is not counted")
    inspected = suite.run("inspect", folder / "m.onnx", "--json").json()
    suite.check(inspected["flops"] == sum(count for count in flops.values() if count), f"inspect counts the same: {inspected['flops']}")


def test_peaks(suite, folder):
    profile = profile_of(suite, DIGITS, "--ep", "cpu:threads=1")
    peak = profile["peaks"]["cpu"]
    suite.check(peak["flops_per_s"] > 1e8 and peak["bytes_per_s"] > 1e7, f"what a processor can do: {peak}")
    gemm = next(unit for unit in profile["units"] if unit["op"] == "Gemm")
    percent = 100 * gemm["flops_per_s"] / peak["flops_per_s"]
    suite.check(abs(gemm["flops_percent_of_peak"] / percent - 1) < 1e-6, f"percent of the peak: {gemm}")
    for chain in chains(suite)[1:]:
        peaks = profile_of(suite, DIGITS, "--ep", chain)["peaks"]
        suite.check(peaks["cudasim"] == {"flops_per_s": None, "bytes_per_s": None}, f"a peak that nobody knows: {peaks}")


def control_flow(path):
    """A loop of five trips, and a choice whose other branch never runs."""
    body = [helper.make_node("MatMul", ["carried", "w"], ["p"], "product"), helper.make_node("Tanh", ["p"], ["next"], "bent"),
            helper.make_node("Identity", ["going"], ["goes_on"], "same")]
    loop = helper.make_graph(body, "body", [tensor("i", TensorProto.INT64, []), tensor("going", TensorProto.BOOL, []), floats("carried", [8, 16])],
                             [tensor("goes_on", TensorProto.BOOL, []), floats("next", [8, 16])])
    branches = {name: helper.make_graph([helper.make_node(op, ["looped"], ["b"], op.lower())], name, [], [floats("b", [8, 16])])
                for name, op in (("then_branch", "Abs"), ("else_branch", "Neg"))}
    nodes = [helper.make_node("Loop", ["trips", "", "x"], ["looped"], "loop", body=loop), helper.make_node("If", ["chosen"], ["y"], "choose", **branches)]
    inputs = [floats("x", [8, 16]), tensor("trips", TensorProto.INT64, []), tensor("chosen", TensorProto.BOOL, [])]
    save_model(path, nodes, inputs, [floats("y", [8, 16])], weights=[weight("w", np.full((16, 16), 0.01, np.float32))])


def run_control_flow(suite, folder, *arguments):
    control_flow(folder / "m.onnx")
    np.save(folder / "trips.npy", np.int64(5))
    np.save(folder / "chosen.npy", np.bool_(False))
    return suite.run("bench", folder / "m.onnx", "--repeat", RUNS, "--profile", "--input", f"trips={folder}/trips.npy", "--input",
                     f"chosen={folder}/chosen.npy", *arguments)


def test_bodies(suite, folder):
    profile = run_control_flow(suite, folder, "--json").json()["profile"]
    calls = {unit["path"]: unit["calls"] for unit in profile["units"] if unit["kind"] == "node"}
    wanted = {"loop": 1, "loop/body/product": 5, "loop/body/bent": 5, "choose": 1, "choose/then_branch/abs": 0, "choose/else_branch/neg": 1}
    suite.check(calls == wanted, f"calls {calls}")
    units = {unit["path"]: unit for unit in profile["units"]}
    suite.check(units["loop/body/product"]["flops"] == 5 * 2 * 8 * 16 * 16, f"FLOPs of all trips: {units['loop/body/product']}")
    suite.check(units["loop"]["bytes"] is None and units["loop"]["flops"] is None, f"the work of a loop is that of its body: {units['loop']}")
    check_shares(suite, profile, "bodies")


def test_trace(suite, folder):
    told = run_control_flow(suite, folder, "--json", "--trace", folder / "t.json")
    profile, trace = told.json()["profile"], json.loads((folder / "t.json").read_text())
    steps = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    calls = sum(unit["calls"] for unit in profile["units"])
    suite.check(len(steps) == calls * RUNS, f"{len(steps)} events of {calls} steps in {RUNS} runs")
    suite.check(all(event["ts"] >= 0 and event["dur"] >= 0 for event in steps), "times begin with the first step")
    loops = [event for event in steps if event["name"] == "loop"]
    inside = [event for event in steps if event["name"] == "loop/body/product"]
    around = [sum(loop["ts"] <= event["ts"] and event["ts"] + event["dur"] <= loop["ts"] + loop["dur"] + 1e-3 for loop in loops) for event in inside]
    suite.check(around == [1] * 5 * RUNS, f"each trip is within its loop: {around}")


def test_table(suite, folder):
    for chain in chains(suite):
        out = suite.expect(0, ["profile: the faster half of 7 more runs", "peak of ", "between units", "a run: "], "bench", DIGITS, "--repeat", RUNS, "--profile", "--ep", chain).out
        for path in plan_nodes(suite, DIGITS, "--ep", chain):
            suite.check(sum(f" {path} " in line and "before" not in line for line in out.splitlines()) == 1, f"{chain}: {path} is there once: {out}")
    names = [f"node{i}" for i in range(25)]
    nodes = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"], name) for i, name in enumerate(names)]
    save_model(folder / "m.onnx", nodes, [floats("v0", [64])], [floats("v25", [64])])
    for option, shown in (("--profile", 20), ("--profile=all", 25)):
        out = suite.expect(0, "between units", "bench", folder / "m.onnx", "--repeat", "3", option).out
        suite.check(sum(f" {name} " in out for name in names) == shown, f"{option} shows {shown} units: {out}")
        suite.check(("5 more: " in out) == (shown == 20), f"{option} says what it leaves out: {out}")


def test_a_narrow_terminal(suite, folder):
    """Of long names the part that differs is kept; columns that have no room are named, not lost."""
    names = [f"/model/encoder/transformer/blocks.{i}/attention/output/dense/Neg" for i in range(12)]
    nodes = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"], name) for i, name in enumerate(names)]
    save_model(folder / "m.onnx", nodes, [floats("v0", [64])], [floats("v12", [64])])
    for columns in (80, 120):
        out = suite.expect(0, "between units", "bench", folder / "m.onnx", "--repeat", "3", "--profile", "--width", columns).out
        table = [line for line in out.splitlines() if " Neg " in line or "left out" in line]
        suite.check(max(map(len, table)) <= columns, f"{columns} columns: {out}")
        suite.check(all(sum(f"blocks.{i}/" in line for line in table) == 1 for i in range(12)), f"{columns} columns: each block is told: {out}")
    narrow, wide = (suite.run("bench", DIGITS, "--repeat", "3", "--profile", "--width", columns).out for columns in (70, 200))
    suite.check("left out: " in narrow and "left out: " not in wide, f"what has no room is named: {narrow}")
    wide = int(re.search(r"--width (\d+) shows", narrow)[1])
    suite.check("left out: " not in suite.run("bench", DIGITS, "--repeat", "3", "--profile", "--width", wide + 4).out, "the width that is told has room")


def test_above_the_peak(suite, folder):
    """4 kB are added in a cache, many times faster than memory."""
    save_model(folder / "m.onnx", [helper.make_node("Add", ["x", "x"], ["y"])], [floats("x", [1 << 14])], [floats("y", [1 << 14])])
    told = suite.run("bench", folder / "m.onnx", "--repeat", "200", "--profile", "--ep", "cpu:threads=1")
    above = any(int(number) > 100 for number in re.findall(r"(\d+) %", told.out))
    suite.check(above == ("above 100 % of the peak" in told.out), f"a rate above the peak is explained: {told.out}")


def test_refused(suite, folder):
    suite.expect(2, "add --profile", "bench", DIGITS, "--trace", folder / "t.json")
    suite.expect(2, "--profile takes no value but 'all'", "bench", DIGITS, "--profile=some")
    suite.expect(2, "--trace FILE", "bench", DIGITS, "--profile=trace.json")
    suite.expect(2, "--profile is not an option of 'run'", "run", DIGITS, "--profile")
    suite.expect(3, "cannot write", "bench", DIGITS, "--repeat", "1", "--profile", "--trace", folder / "none" / "t.json")


def test_a_model_without_steps(suite, folder):
    """Its units are copies to outputs alone, which come up while runs are observed."""
    model = folder / "constant.onnx"
    save_model(model, [helper.make_node("Identity", ["c"], ["y"])], [], [floats("y", [2])], weights=[weight("c", np.ones(2, np.float32))])
    for options in (["--profile"], ["--profile=all"], ["--profile", "--trace", folder / "trace.json"]):
        suite.expect(0, "placement", "bench", model, "--repeat", "3", *options)
    units = profile_of(suite, model)["units"]
    suite.check([unit["op"] for unit in units] == ["(copy)"] and units[0]["bytes"] == 16, f"the units are {units}")

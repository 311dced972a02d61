"""`tinyort bench`: what is measured, where it ran, and what Ctrl-C leaves."""

import json
import os
import re
import signal
import subprocess
import time

import numpy as np
from onnx import TensorProto, helper

from suite import DIGITS, NO_CUDA, SECONDS, Skipped, floats, save_model, tensor, weight


def test_json(suite, folder):
    told = suite.run("bench", DIGITS, "--repeat", "3", "--json", "--ep", "cpu:threads=1").json()
    suite.check(told["runs"] == 3 and told["threads"] == 1 and told["chain"] == ["cpu"] and told["ep"] == "cpu:threads=1", str(told))
    suite.check(1e6 < told["peak_rss_bytes"] < 30e6, f"the memory of this program, not of who started it: {told['peak_rss_bytes']}")
    suite.check(list(told["latency_ms"]) == ["min", "median", "mean", "p90", "p99"], "latencies of bench --json")


def test_what_ran(suite, folder):
    bench = ("bench", DIGITS, "--repeat", "2", "--ep", "cuda,cpu:threads=2")
    result = suite.expect(0, ["0 cuda, 7 cpu, 1 host", "nothing ran on cuda"], *bench, **NO_CUDA)
    suite.check("2 runs, 2 threads" in result.out, f"the threads that there are: {result.out}")
    told = suite.run(*bench, "--json", **NO_CUDA).json()
    suite.check(told["providers"][0]["status"] == "down" and told["summary"]["cpu"] == 7 and told["threads"] == 2, str(told))


def test_processors(suite, folder):
    """As many threads as there are processors for this process, which in a container, or here, are fewer than the machine has."""
    allowed = os.sched_getaffinity(0)
    for some in (allowed, {min(allowed)}):
        os.sched_setaffinity(0, some)
        told = suite.run("bench", DIGITS, "--repeat", "1", "--json", "--ep", "cpu").json()
        suite.check(told["threads"] == len(some), f"{told['threads']} threads on {len(some)} processors")
    os.sched_setaffinity(0, allowed)


def interrupt(suite, folder, *arguments):
    """Ctrl-C after a second of measuring."""
    random = np.ones((300, 300), np.float32)
    save_model(folder / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [floats("x", [300, 300])], [floats("y", [300, 300])], weights=[weight("w", random)])
    program = subprocess.Popen([suite.tinyort, "bench", folder / "m.onnx", "--seconds", "1000", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=SECONDS)
    return program.returncode, out, err


def test_interrupted(suite, folder):
    status, out, err = interrupt(suite, folder)
    suite.check(status == 130 and re.search(r"\d+ runs? until interrupted", out) and "median" in out, f"{status}: {out} {err}")
    suite.check(err.splitlines()[-1].startswith("placement: 1 cpu"), err)
    status, out, err = interrupt(suite, folder, "--json")
    told = json.loads(out)
    suite.check(status == 130 and told["interrupted"] is True and told["runs"] > 0 and "error" not in told, out)
    status, out, err = interrupt(suite, folder, "--warmup", "1000000", "--json")
    suite.check(status == 130 and json.loads(out)["error"]["exit"] == 130 and "before a run was measured" in err, f"{status}: {out} {err}")


def chains(suite):
    return ["cpu:threads=1", "cpu:threads=3"] + ["cudasim,cpu"] * (not suite.run("providers", "--ep", "cudasim", "--require", "cudasim").status)


def test_contexts(suite, folder):
    """Every context makes its runs; one is what there is without the option."""
    bench = ("bench", DIGITS, "--repeat", "7", "--shape", "image=1x1x8x8")
    for chain in chains(suite):
        for count in (1, 2, 5):
            told = suite.run(*bench, "--contexts", count, "--ep", chain, "--json").json()
            suite.check(told["contexts"] == count and told["runs"] == 7 * count and told["runs_per_second"] > 0, f"{count} contexts on {chain}: {told}")
            latency = list(told["latency_ms"].values())
            suite.check(0 < latency[0] <= latency[1] <= latency[3] <= latency[4], f"sorted, those of all contexts: {latency}")
        suite.check(re.search(r"2 contexts: \d+\.\d runs/s, \d+\.\d each\n .*\n  14 runs", suite.run(*bench, "--contexts", "2", "--ep", chain).out), f"2 contexts on {chain}, as text")
    told = suite.run(*bench, "--json").json()
    suite.check(told["contexts"] == 1 and told["runs_per_second"] > 0 and "context" not in suite.run(*bench).out, "without the option")
    told = suite.run("bench", DIGITS, "--contexts", "3", "--seconds", "0.05", "--json").json()
    suite.check(told["runs"] >= 3, f"--seconds: at least a run of each: {told}")
    if len(chains(suite)) > 2:
        suite.expect(0, "14 runs", *bench, "--contexts", "2", "--ep", "cudasim,cpu", "--bind", "*=cudasim")
        suite.expect(0, ["copies 0", "sizes were made up"], "bench", DIGITS, "--repeat", "1", "--ep", "cudasim,cpu", "--bind", "*=cudasim")


def test_contexts_with_sequences(suite, folder):
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [2])
    save_model(folder / "m.onnx", [helper.make_node("SequenceConstruct", ["x", "x"], ["s"])], [floats("x", [2])], [sequence])
    suite.check(suite.run("bench", folder / "m.onnx", "--contexts", "3", "--repeat", "5", "--json").json()["runs"] == 15, "values that are no tensors")


def test_contexts_refused(suite, folder):
    bench = ("bench", DIGITS, "--contexts")
    suite.expect(2, "--profile beside --contexts observes one context alone", *bench, "2", "--profile")
    suite.expect(2, "--profile beside --contexts", *bench, "2", "--profile", "--trace", folder / "t.json")
    suite.expect(2, "--profile beside --contexts", *bench, "2", "--profile", "--html", folder / "p.html")
    suite.expect(2, "--contexts 257: at most 256", *bench, "257")
    suite.expect(2, "--contexts wants", *bench, "0")
    suite.expect(2, "not an option of 'run'", "run", DIGITS, "--contexts", "2")


def test_contexts_that_fail(suite, folder):
    """One error ends all, with its message: of every run, and of one in some thousands."""
    index = tensor("i", TensorProto.INT64, [1])
    save_model(folder / "m.onnx", [helper.make_node("Gather", ["w", "i"], ["y"], name="pick")], [index], [floats("y", [1])], weights=[weight("w", np.ones(3, np.float32))])
    np.save(folder / "i.npy", np.array([7]))
    for chain in chains(suite)[::2]:
        for warmup in ("0", "2"):
            told = suite.expect(5, "pick", "bench", folder / "m.onnx", "--input", folder / "i.npy", "--contexts", "4", "--seconds", "1000", "--warmup", warmup, "--ep", chain)
            suite.check(told.out == "" and len(told.placements()) == 1, f"{told.out} {told.err}")
    nodes = [helper.make_node("RandomUniform", [], ["r"], shape=[1], high=1000.0), helper.make_node("Cast", ["r"], ["c"], to=TensorProto.INT64),
             helper.make_node("Gather", ["w", "c"], ["y"], name="pick")]
    save_model(folder / "m.onnx", nodes, [], [floats("y", [1])], weights=[weight("w", np.ones(999, np.float32))])
    told = suite.run("bench", folder / "m.onnx", "--contexts", "3", "--seconds", "1000", "--warmup", "0", "--json")
    suite.check(told.status == 5 and "pick" in told.json()["error"]["message"] and "runs" not in told.json(), f"{told.status}: {told.out}")


def test_contexts_interrupted(suite, folder):
    status, out, err = interrupt(suite, folder, "--contexts", "3", "--json")
    told = json.loads(out)
    suite.check(status == 130 and told["interrupted"] is True and told["runs"] >= 3 and told["contexts"] == 3, out)
    status, out, err = interrupt(suite, folder, "--contexts", "3", "--warmup", "1000000")
    suite.check(status == 130 and "before a run was measured" in err, f"{status}: {out} {err}")


def test_step_by_step(suite, folder):
    for command in (("run", "--random", "1"), ("bench", "--repeat", "1"), ("compare", "--ep", "cpu", "--ep", "cpu:threads=1")):
        suite.expect(0, "placement", command[0], DIGITS, *command[1:], "--step-by-step")


def rows_of(text):
    """The rows of numbers of a table of --sweep."""
    return [[float(word) for word in line.split()] for line in text.splitlines() if re.fullmatch(r"[ 0-9.]+", line)]


def test_sweep(suite, folder):
    """Each size is a row; the last column is what that many sizes are worth in a second."""
    sweep = ("bench", DIGITS, "--repeat", "5", "--sweep")
    rows = rows_of(suite.expect(0, f"{DIGITS} on --ep cpu", *sweep, "N=1,2,64").out)
    suite.check([row[0] for row in rows] == [1, 2, 64], f"{rows}")
    suite.check(all(abs(row[6] - row[0] * row[5]) <= 0.06 * row[0] + 1 and row[1] <= row[2] <= row[3] <= row[4] for row in rows), f"{rows}")
    save_model(folder / "two.onnx", [helper.make_node("Reshape", ["x", "two"], ["y"], "only_two")], [floats("x", ["N"])], [floats("y", None)], weights=[weight("two", np.array([2]))])
    result = suite.expect(3, ["N=3 on --ep cpu: ", "only_two"], "bench", folder / "two.onnx", "--repeat", "1", "--sweep", "N=2,3")
    suite.check(len(rows_of(result.out)) == 1, f"what was measured before an error is told: {result.out}")
    told = suite.run("bench", folder / "two.onnx", "--repeat", "1", "--sweep", "N=2,3", "--json").json()
    suite.check(len(told["sweep"]["points"]) == 1 and told["error"]["exit"] == 3, f"{told}")
    suite.expect(0, "", "bench", folder / "two.onnx", "--repeat", "1", "--sweep", "N=2,2")
    rows = rows_of(suite.expect(0, "speedup", *sweep, "threads=1,2", "--shape", "N=8").out)
    suite.check([row[0] for row in rows] == [1, 2] and rows[0][6] == 1, f"{rows}")
    told = suite.run(*sweep, "threads=2,1", "--ep", "cuda,cpu:isa=v2", "--json", **NO_CUDA).json()
    suite.check([(point["value"], point["threads"]) for point in told["sweep"]["points"]] == [(2, 2), (1, 1)], f"{told['sweep']}")
    suite.check(told["sweep"]["points"][0]["ep"] == "cuda,cpu:isa=v2" and told["providers"][1]["threads"] == 1 and told["summary"]["cpu"] == 7, f"{told}")
    told = suite.run(*sweep, "contexts=1,3", "--json").json()
    suite.check([(point["contexts"], point["runs"]) for point in told["sweep"]["points"]] == [(1, 5), (3, 15)], f"{told['sweep']}")
    result = suite.expect(0, "sizes were made up", *sweep, "contexts=1,2")
    suite.check(result.err.count("made up") == 1, f"it is told once: {result.err}")
    suite.expect(0, "saved as", "plan", DIGITS, "-o", folder / "p")
    suite.check(len(rows_of(suite.expect(0, "", "bench", "--plan", folder / "p", "--repeat", "2", "--sweep", "N=1,2").out)) == 2, "a saved plan")


def test_sweep_of_two_chains(suite, folder):
    chains = ("cpu", "cpu:isa=v2")
    sweep = ("bench", DIGITS, "--repeat", "3", "--ep", chains[0], "--ep", chains[1], "--sweep")
    result = suite.expect(0, "", *sweep, "N=1,2,4,8")
    suite.check(len(rows_of(result.out)) == 8 and "placement: --ep cpu:isa=v2: 7 cpu" in result.err, result.err)
    told = suite.run(*sweep, "N=1", "--json").json()
    suite.check([session["ep"] for session in told["sessions"]] == list(chains), f"{told}")


def test_sweep_refused(suite, folder):
    for words in ("N", "N=", "=1", "N=0", "N=1,", "N=1,x", "N=" + ",".join(["1"] * 65), "N=99999999999"):
        suite.expect(2, "--sweep wants a name and at most 64 numbers", "bench", DIGITS, "--sweep", words)
    suite.expect(2, "--sweep: the model has no input and no dimension 'Q'; dimensions are: 'N'", "bench", DIGITS, "--sweep", "Q=1")
    suite.expect(2, "in the model, which 1 does not fit", "bench", DIGITS, "--sweep", "image=1")
    suite.expect(2, "at most 256", "bench", DIGITS, "--sweep", "contexts=1,257")
    suite.expect(2, "take one of them", "bench", DIGITS, "--sweep", "contexts=1", "--contexts", "2")
    suite.expect(2, "--sweep N beside --shape N", "bench", DIGITS, "--sweep", "N=1,2", "--shape", "N=4")
    suite.expect(2, "has no cpu whose threads are open", "bench", DIGITS, "--sweep", "threads=1", "--ep", "cpu:threads=2")
    suite.expect(2, "the saved plan has settled", "bench", "--plan", folder / "p", "--sweep", "threads=1")
    suite.expect(2, "profile one size alone", "bench", DIGITS, "--sweep", "N=1", "--profile")
    status, out, err = interrupt(suite, folder, "--sweep", "contexts=1,2")
    suite.check(status == 130 and len(rows_of(out)) == 1, f"what was measured is told: {status}: {out} {err}")


def test_two_chains_in_turns(suite, folder):
    """The faster one is told, with what the factor was in single turns; every chain makes as many runs."""
    rows = np.random.default_rng(1).random((600, 600)).astype(np.float32)
    save_model(folder / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [floats("x", [64, 600])], [floats("y", [64, 600])], weights=[weight("w", rows)])
    bench = ("bench", folder / "m.onnx", "--ep", "cpu:isa=plain:threads=1", "--ep", "cpu:threads=1", "--repeat", "20", "--warmup", "1")
    result = suite.expect(0, ["2 chains in turns", "of 10 turns"], *bench)
    suite.check("device" not in result.out and len(result.placements()) == 2, result.out + result.err)
    told = suite.run(*bench, "--json").json()["versus"]
    suite.check(told["turns"] == 10 and [chain["runs"] for chain in told["chains"]] == [20, 20], f"{told}")
    fast, slow = sorted(told["chains"], key=lambda chain: chain["latency_ms"]["median"])
    suite.check(told["fastest"] == fast["ep"] and fast["factor"] == fast["factor_low"] == fast["factor_high"] == 1 and fast["copy_ms"] is None, f"{told}")
    suite.check(slow["factor_low"] <= slow["factor"] <= slow["factor_high"] and slow["factor"] <= slow["latency_ms"]["p99"] / fast["latency_ms"]["min"], f"{told}")
    suite.expect(0, ["3 chains in turns"], *bench, "--ep", "cpu:isa=v2:threads=1")
    suite.expect(0, "no node ran on a device", "bench", DIGITS, "--ep", "cuda,cpu", "--ep", "cpu", "--repeat", "3", **NO_CUDA)
    suite.expect(2, "--profile observes one chain alone, and --ep is given 2 times", *bench, "--profile")
    suite.expect(3, "there is no file", "bench", folder / "none.onnx", "--ep", "cpu", "--ep", "cpu:threads=1")
    status, out, err = interrupt(suite, folder, "--ep", "cpu", "--ep", "cpu:threads=1")
    suite.check(status == 130 and ("times as fast" in out or "do not differ" in out or "before each chain had a turn" in err), f"{status}: {out} {err}")


def test_is_the_device_worth_it(suite, folder):
    """A chain with a device beside one without: what its copies take, and one line that answers."""
    if suite.run("providers", "--ep", "cudasim", "--require", "cudasim").status:
        raise Skipped("copies of a device: there is no simulated device")
    bench = ("bench", DIGITS, "--ep", "cudasim,cpu", "--ep", "cpu", "--repeat", "10", "--shape", "N=4")
    out = suite.expect(0, ["cpu is ", "cudasim is not worth it for this model, these inputs and this machine", "% of a run are copies", "it is simulated"], *bench).out
    suite.check("copies ms" in out, out)
    told = suite.run(*bench, "--json").json()["versus"]
    suite.check(told["chains"][0]["copy_ms"] > 0 and told["chains"][1]["copy_ms"] is None and told["fastest"] == "cpu", f"{told}")

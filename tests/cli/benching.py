"""`tinyort bench`: what is measured, where it ran, and what Ctrl-C leaves."""

import json
import os
import re
import signal
import subprocess
import time

import numpy as np
from onnx import helper

from suite import DIGITS, NO_CUDA, SECONDS, floats, save_model, weight


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


def test_step_by_step(suite, folder):
    for command in (("run", "--random", "1"), ("bench", "--repeat", "1"), ("compare", "--ep", "cpu", "--ep", "cpu:threads=1")):
        suite.expect(0, "placement", command[0], DIGITS, *command[1:], "--step-by-step")

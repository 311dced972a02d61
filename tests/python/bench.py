"""What Python adds to a run: the time of session.run less that of the same run in C, and beside onnxruntime's.

Runs are interleaved in rounds; figures are medians of the rounds. Usage: bench.py TINYORT
"""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import onnxruntime

sys.path.insert(0, str(Path(__file__).parent))
import models  # noqa: E402
import tinyort  # noqa: E402

ROUNDS, RUNS = 15, 4000


def seconds(run, feed):
    begin = time.perf_counter()
    for _ in range(RUNS):
        run(None, feed)
    return (time.perf_counter() - begin) / RUNS


def in_c(program, path):
    done = subprocess.run([program, "bench", path, "--ep", "cpu:threads=1", "--repeat", "20000", "--random", "1", "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def sessions(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return tinyort.InferenceSession(model, chain="cpu:threads=1").run, onnxruntime.InferenceSession(model, options).run


def overhead(program):
    relu = models.build([models.value("x", 1, [16])], [models.value("y", 1, [16])], [models.node("Relu", "x", "y")])
    feed = {"x": np.ones(16, np.float32)}
    ours, theirs = sessions(relu)
    rounds = [(seconds(ours, feed), seconds(theirs, feed)) for _ in range(ROUNDS)]
    mine, their = (statistics.median(column) for column in zip(*rounds))
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(relu)
        file.flush()
        report = in_c(program, file.name)
    c = report["latency_ms"]["median"] / 1e3
    print(f"a run of one small Relu   Python {1e6 * mine:6.2f} us   C {1e6 * c:6.2f} us   Python adds {1e6 * (mine - c):5.2f} us"
          f"   onnxruntime {1e6 * their:6.2f} us   ratio {mine / their:.2f}")


def loading(path="models/digits.onnx"):
    pairs = []
    for _ in range(ROUNDS):
        times = []
        for make in (tinyort.InferenceSession, onnxruntime.InferenceSession):
            begin = time.perf_counter()
            make(path)
            times.append(time.perf_counter() - begin)
        pairs.append(times)
    mine, their = (statistics.median(column) for column in zip(*pairs))
    print(f"a session of {path}   tinyort {1e3 * mine:.2f} ms   onnxruntime {1e3 * their:.2f} ms   ratio {mine / their:.2f}")


def threads():
    """Runs a second of two threads on one session over those of one."""
    run, _ = sessions(models.product(128, 256, 256))
    feed = {"x": np.ones((128, 256), np.float32)}
    ratios = []
    for _ in range(ROUNDS):
        one = rate(run, feed, 1)
        ratios.append(rate(run, feed, 2) / one)
    print(f"two threads on one session   {statistics.median(ratios):.2f} of the runs of one")


def rate(run, feed, count, span=0.2):
    done, counts = time.perf_counter() + span, [0] * count

    def work(at):
        while time.perf_counter() < done:
            run(None, feed)
            counts[at] += 1

    workers = [threading.Thread(target=work, args=(at,)) for at in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / span


if __name__ == "__main__":
    overhead(sys.argv[1])
    loading()
    threads()

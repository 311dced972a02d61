"""The cases of a set in an unchanged onnxruntime by tinyort's provider (compare.py --plugin LIBRARY): what they give, whether nodes stay with
onnxruntime, and, with --bench SECONDS, their time in turns with onnxruntime's provider and with tinyort alone, and the memory of all three.

A case whose results differ from those of tinyort alone is an error, and is not timed. With each number of threads a row: the medians of
a run, and the medians of the ratios of pairs; TOO SLOW: over 1.05 of tinyort alone and over 30 us more. With the first number of threads
also the memory that a fresh process takes, less what onnxruntime itself takes for a model of 5 kB, over that of tinyort alone with the
file in memory once.
"""

import collections
import pathlib
import statistics
import sys

import numpy

from bench import first_line, geometric_mean, memory_of
from pairs import Ours, Plugged, Theirs, in_turns

HEAD = f"{'model':28} threads {'plugin':>12} {'onnxruntime':>11}   {'tinyort':>9}  of onnxruntime  of tinyort  memory"


def own_memory(options):
    """What a session of onnxruntime takes, whatever its model is."""
    return memory_of(options, "models/digits.onnx", {"image": numpy.zeros((1, 1, 8, 8), numpy.float32)}, "plugin", options.plugin)


def differs(plugged, ours, feeds, tolerance):
    """How the outputs differ from those of tinyort alone; empty: not. Both have the same kernels, but onnxruntime removes casts and puts
    nodes in another order, so that others are fused: in float16 a value is rounded elsewhere. tolerance: a part of the largest value."""
    found, expected = plugged.session.run(None, feeds), ours.session.run(None, feeds)
    for port, a, b in zip(plugged.session.get_outputs(), found, expected):
        a, b = numpy.asarray(a), numpy.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{port.name} is {a.dtype}{list(a.shape)}, alone {b.dtype}{list(b.shape)}"
        if a.dtype.kind == "f" and not numpy.allclose(a, b, rtol=1e-4, atol=tolerance * max(1.0, float(numpy.abs(b).max(initial=0))), equal_nan=True):
            return f"{port.name} is {numpy.abs(a - b).max():g} away from tinyort alone"
        if a.dtype.kind != "f" and not numpy.array_equal(a, b):
            return f"{port.name} has other numbers than tinyort alone"
    return ""


def time_of(options, case, threads, library, first):
    feeds, path = case["runs"][0], case["path"]
    plugged, theirs, ours = Plugged(path, threads, options.plugin, options.isa), Theirs(path, threads), Ours(path, threads, library, options.isa)
    mine, alone, of_alone = in_turns(plugged, ours, feeds, options.bench / 2, threads)
    _, other, of_other = in_turns(plugged, theirs, feeds, options.bench / 2, threads)
    ours.close()
    row = {"threads": threads, "of_onnxruntime": of_other, "of_tinyort": of_alone, "slow": of_alone > 1.05 and mine - alone > 30e-6}
    memory = ""
    if first:
        whole, part = memory_of(options, path, feeds, "plugin", options.plugin), memory_of(options, path, feeds, "ours", library)
        row["memory"] = (whole - options.own_memory) / (part + path.stat().st_size)
        memory = f"{row['memory']:6.2f}"
    print(f"{case['label'][:28]:28} {threads:7} {1e3 * mine:9.3f} ms {1e3 * other:8.3f} ms {1e3 * alone:6.3f} ms {of_other:15.2f} {of_alone:11.2f}  {memory}"
          f"{' TOO SLOW' if row['slow'] else ''}", flush=True)
    return row


def check(options, case, library):
    """What is wrong with the results, and the nodes that stay with onnxruntime."""
    plugged = Plugged(case["path"], options.threads[0], options.plugin, options.isa, case.get("optimized", True))
    ours = Ours(case["path"], options.threads[0], library, options.isa)
    tolerance = case.get("of_largest", 1e-5) if case["label"].endswith("half") else 1e-5
    try:
        return next((words for feeds in case["runs"] if (words := differs(plugged, ours, feeds, tolerance))), ""), plugged.declined
    finally:
        ours.close()


def run_plugin(options, cases):
    (options.folder / "bench").mkdir(exist_ok=True, parents=True)
    library = pathlib.Path(options.tinyort).with_name("libtinyort.so")
    results, rows = collections.Counter(), []
    if options.bench:
        print(HEAD)
        options.own_memory = own_memory(options)
    for case in cases:
        try:
            if not case["path"].exists():
                case["export"]()
            Theirs(case["path"], 1)
        except Exception as error:  # those of onnxruntime have no base of their own
            results["left out"] += 1
            print(f"left out: {case['label']}: {first_line(error)[:120]}", flush=True)
            continue
        try:
            problem, declined = check(options, case, library)
            if options.bench and not problem:
                rows += [time_of(options, case, threads, library, threads == options.threads[0]) for threads in options.threads]
        except Exception as error:  # noqa: BLE001
            problem, declined = str(error)[-300:], []
        results["failed" if problem else "passed"] += 1
        if problem or declined or not options.bench:
            print(f"{'FAIL' if problem else 'PASS'} {case['label']}: {problem or 'as tinyort alone'}; {len(declined)} nodes stay with onnxruntime {declined[:5]}", flush=True)
    for threads in options.threads:
        some = [row for row in rows if row["threads"] == threads]
        if some:
            print(f"{threads} thread{'s' * (threads > 1)}: {geometric_mean([row['of_onnxruntime'] for row in some]):.3f} of onnxruntime's time, "
                  f"{geometric_mean([row['of_tinyort'] for row in some]):.3f} of tinyort's, {sum(row['slow'] for row in some)} too slow, {len(some)} models")
    memory = [row["memory"] for row in rows if "memory" in row]
    if memory:
        print(f"memory: {geometric_mean(memory):.2f} of tinyort's and the file, median {statistics.median(memory):.2f}, {max(memory):.2f} at worst; "
              f"{options.own_memory / 1e6:.0f} MB of onnxruntime itself are not counted")
    print(f"{results['passed']} passed, {results['failed']} failed, {results['left out']} left out")
    sys.exit(bool(results["failed"] or not results["passed"]))

"""How fast the cases of a set are in tinyort, compared with onnxruntime (compare.py --bench SECONDS). A measurement, not a test.

A case whose results differ from onnxruntime's is an error, and is not timed. A row for each model and number of threads: the medians of
a run, the median of the ratios of pairs, and the ratio of loading; with the first number of threads also that of the memory that a fresh
process takes, and the shares of the machine's multiply-adds and of its memory's bytes, as `tinyort bench --profile` measures them. Below
1 tinyort is the faster, or smaller, one. FOLDER/bench/ keeps SET.json and, for each number of threads, a chart.
"""

import json
import math
import pathlib
import statistics
import subprocess
import sys

import numpy

from chart import chart
from pairs import OpenVINO, Ours, Theirs, chain, in_turns, loading

LARGE_FILE = 10e6  # bytes: loading a smaller model takes a few milliseconds, of which most is not for its weights
SLOW = 1.3  # of onnxruntime's time: what a single operator may take
LONG = 1e-3  # seconds of onnxruntime: below that the clock, and the call from Python, weigh too much to name a worst
HEAD = f"{'model':28} {'input':>16} threads   {'tinyort':>9}    {'onnxruntime':>11}  ratio loading memory  FLOP/s  bytes/s"


def memory_of(options, path, feeds, side, library):
    """The bytes that a fresh process grows by for a model: peak_memory.py."""
    file = options.folder / "bench" / "feeds.npz"
    numpy.savez(file, **feeds)
    script = pathlib.Path(__file__).with_name("peak_memory.py")
    return int(subprocess.run([sys.executable, script, side, path, file, library], capture_output=True, text=True, check=True).stdout)


def peak_memory(options, case, library):
    """Tinyort's growth of memory, and onnxruntime's, in bytes."""
    return [memory_of(options, case["path"], case["runs"][0], side, library) for side in ("ours", "theirs")]


def first_line(error):
    return (str(error).strip().splitlines() or [repr(error)])[0]


def shares_of_peak(options, case, threads):
    """The FLOPs of a run, as its operators ask for them, and the bytes that they read and write, over what the machine could do in its time."""
    words = []
    for index, (name, value) in enumerate(case["runs"][0].items()):
        file = options.folder / "bench" / f"input_{index}.npy"
        numpy.save(file, value)
        words += ["--input", f"{name}={file}"]
    command = [options.tinyort, "bench", case["path"], "--ep", chain(threads, options.isa), "--seconds", "0.3", "--profile", "--json", *words]
    profile = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["profile"]
    return {name: sum(operator[kind] or 0 for operator in profile["operators"]) / (1e-3 * profile["ms"]) / profile["peaks"]["cpu"][f"{kind}_per_s"]
            for name, kind in (("peak", "flops"), ("bandwidth", "bytes"))}


def beside(options, case, threads, ours, alone):
    """The same with OpenVINO: the ratio of pairs, and that to the better of both; `alone` is onnxruntime's time over tinyort's."""
    try:
        mine, other, ratio = in_turns(ours, OpenVINO(case["path"], threads), case["runs"][0], options.bench, threads)
    except Exception as error:  # a model that it refuses, mostly
        print(f"OpenVINO refuses {case['label']}: {first_line(error)[:120]}", flush=True)
        return {}
    return {"openvino_ms": 1e3 * other, "openvino_ratio": ratio, "best_ratio": max(ratio, 1 / alone)}


def measure(options, case, threads):
    library = pathlib.Path(options.tinyort).with_name("libtinyort.so")
    ours, theirs = Ours(case["path"], threads, library, options.isa), Theirs(case["path"], threads)
    mine, other, ratio = in_turns(ours, theirs, case["runs"][0], options.bench, threads)
    peer = beside(options, case, threads, ours, other / mine) if options.peer else {}
    ours.close()
    row = {"model": case["label"], "input": "x".join(map(str, next(iter(case["runs"][0].values())).shape)), "threads": threads,
           "ms": 1e3 * mine, "onnxruntime_ms": 1e3 * other, "ratio": ratio, "file_bytes": case["path"].stat().st_size} | peer
    if case.get("operator"):
        return row
    row["loading"] = loading(case["path"], threads, library, options.isa)
    if threads != options.threads[0]:
        return row
    memory = peak_memory(options, case, library)
    return row | {"memory": memory[0] / memory[1], "bytes": memory[0], "onnxruntime_bytes": memory[1]} | shares_of_peak(options, case, threads)


def row_of(row):
    rest = f"{row['memory']:6.2f} {100 * row['peak']:5.0f} % {100 * row['bandwidth']:6.0f} %" if "memory" in row else ""
    loads = f"{row['loading']:7.2f}" if "loading" in row else ""
    if "openvino_ms" in row:
        rest += f" {row['openvino_ms']:10.3f} ms {row['openvino_ratio']:5.2f}"
    return f"{row['model'][:28]:28} {row['input']:>16} {row['threads']:7} {row['ms']:9.3f} ms {row['onnxruntime_ms']:11.3f} ms {row['ratio']:6.2f} {loads} {rest}".rstrip()


def bench_case(options, case, wrong):
    """The rows of a case, and what is wrong with its results. What is not exported, or only one of both runs, is named and left out."""
    rows = []
    try:
        if not case["path"].exists():
            case["export"]()
        problem = wrong(options, case)
        if problem:
            print(f"WRONG, not timed: {case['label']}: {problem}", flush=True)
            return [], problem
        for threads in options.threads:
            rows.append(measure(options, case, threads))
            print(row_of(rows[-1]), flush=True)
    except Exception as error:  # those of onnxruntime have no base of their own
        print(f"left out: {case['label']}: {first_line(error)[:120]}", flush=True)
    return rows, ""


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def tell(rows):
    for threads in sorted({row["threads"] for row in rows}):
        some = [row for row in rows if row["threads"] == threads]
        ratios = [row["ratio"] for row in some]
        worst = max((row for row in some if row["onnxruntime_ms"] >= 1e3 * LONG), key=lambda row: row["ratio"], default=None)
        words = f"; of those that take it 1 ms or more {worst['model']} at worst, {worst['ratio']:.2f}" if worst else ""
        print(f"{threads} thread{'s' * (threads > 1)}: {geometric_mean(ratios):.3f} of onnxruntime's time, median {statistics.median(ratios):.2f}, "
              f"{len(some)} models{words}")
    for threads in sorted({row["threads"] for row in rows if "best_ratio" in row}):
        some = [row for row in rows if row["threads"] == threads and "best_ratio" in row]
        on = f" on {threads} thread{'s' * (threads > 1)}"
        tell_means(f"time beside OpenVINO{on}", [row["openvino_ratio"] for row in some], "OpenVINO")
        tell_means(f"time beside the better of both{on}", [row["best_ratio"] for row in some], "the better one")
    for threads in sorted({row["threads"] for row in rows}):
        loaded = [row for row in rows if row["threads"] == threads and "loading" in row]
        on = f" on {threads} thread{'s' * (threads > 1)}"
        tell_means(f"time of loading{on}", [row["loading"] for row in loaded])
        tell_means(f"that of files of 10 MB and more{on}", [row["loading"] for row in loaded if row["file_bytes"] >= LARGE_FILE])
    tell_means("memory", [row["memory"] for row in rows if "memory" in row])


def tell_means(words, values, whose="onnxruntime"):
    if values:
        print(f"{words}: {geometric_mean(values):.3f} of {whose}'s, median {statistics.median(values):.2f}, {max(values):.2f} at worst, {len(values)} models")


def tell_operators(rows):
    """Single operators, which are only timed: those that are to be faster are listed, and a mean says little."""
    slow = sorted((row for row in rows if row["ratio"] > SLOW), key=lambda row: -row["ratio"])
    if rows:
        print(f"{len(slow)} of {len(rows)} rows above {SLOW} of onnxruntime's time{':' if slow else ''}")
    for row in slow:
        print(f"    {row['ratio']:6.2f}  {row['model']}, {row['threads']} thread{'s' * (row['threads'] > 1)}")


def keep(options, rows):
    folder = options.folder / "bench"
    (folder / f"{options.set}.json").write_text(json.dumps(rows, indent=1))
    for threads in options.threads:
        some = [row for row in rows if row["threads"] == threads]
        if some:
            title = f"Time of a run, onnxruntime = 1, {threads} thread{'s' * (threads > 1)}"
            (folder / f"{options.set}.{threads}.svg").write_text(chart(some, title))
    print(f"kept in {folder}: {options.set}.json and a chart for each number of threads")


def run_bench(options, cases, wrong):
    """`wrong(options, case)` says how results differ from onnxruntime's. Ends the program with 1 where some do."""
    (options.folder / "bench").mkdir(exist_ok=True, parents=True)
    print(HEAD + ("   OpenVINO  ratio" if options.peer else ""))
    rows, problems = [], []
    for number, case in enumerate(cases, 1):
        print(f"[{number}/{len(cases)}] {case['label']}", end="\r", flush=True, file=sys.stderr)
        made, problem = bench_case(options, case, wrong)
        rows += made
        problems += [problem] if problem else []
    tell(rows)
    tell_operators([row for row in rows if "loading" not in row])
    keep(options, rows)
    sys.exit(bool(problems))

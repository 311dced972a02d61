"""How fast the cases of a set are in tinyort, compared with onnxruntime (compare.py --bench SECONDS). A measurement, not a test.

A row for each model and number of threads: the medians of a run, the median of the ratios of pairs, and that of loading; below 1 tinyort
is the faster one. Then, for each number of threads, the geometric mean of the ratios. FOLDER/bench/SET.json keeps the rows.
"""

import json
import math
import pathlib
import statistics

from pairs import Ours, Theirs, in_turns, loading

LONG = 1e-3  # seconds of onnxruntime: below that the clock, and the call from Python, weigh too much to name a worst


def measure(options, case, threads):
    library = pathlib.Path(options.tinyort).with_name("libtinyort.so")
    ours, theirs = Ours(case["path"], threads, library), Theirs(case["path"], threads)
    mine, other, ratio = in_turns(ours, theirs, case["runs"][0], options.bench, threads)
    ours.close()
    return {"model": case["label"], "threads": threads, "ms": 1e3 * mine, "onnxruntime_ms": 1e3 * other, "ratio": ratio,
            "loading": loading(case["path"], threads, library)}


def row_of(row):
    return f"{row['model'][:44]:44} {row['threads']:7} {row['ms']:9.3f} ms {row['onnxruntime_ms']:9.3f} ms {row['ratio']:6.2f} {row['loading']:7.2f}"


def bench_case(options, case):
    """The rows of a case. What is not exported, or only one of both runs, or not by tensors alone, is named and left out."""
    rows = []
    try:
        if not case["path"].exists():
            case["export"]()
        for threads in options.threads:
            rows.append(measure(options, case, threads))
            print(row_of(rows[-1]), flush=True)
    except Exception as error:  # those of onnxruntime have no base of their own
        print(f"left out: {case['label']}: {(str(error).strip().splitlines() or [repr(error)])[0][:120]}", flush=True)
    return rows


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def tell(rows):
    for threads in sorted({row["threads"] for row in rows}):
        some = [row for row in rows if row["threads"] == threads]
        worst = max((row for row in some if row["onnxruntime_ms"] >= 1e3 * LONG), key=lambda row: row["ratio"], default=None)
        words = f"; of those that take it 1 ms or more {worst['model']} at worst, {worst['ratio']:.2f}" if worst else ""
        print(f"{threads} thread{'s' * (threads > 1)}: {geometric_mean([row['ratio'] for row in some]):.3f} of onnxruntime's time, {len(some)} models, "
              f"loading {statistics.median(row['loading'] for row in some):.2f}{words}")


def run_bench(options, cases):
    print(f"{'model':44} threads   {'tinyort':>9}    {'onnxruntime':>9}  ratio loading")
    rows = [row for case in cases for row in bench_case(options, case)]
    file = options.folder / "bench" / f"{options.set}.json"
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(json.dumps(rows, indent=1))
    tell(rows)

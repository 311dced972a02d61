"""Models that others export, run by tinyort and by onnxruntime on the same inputs.

A case is a dict: `label`; `path` of the model; `export`, called where the file is not there; `runs`, the inputs of each as a dict of
arrays; `exporter`, the tool that wrote the file, `package` that it comes in, and the `architecture`, empty for programs. Not every case has these:
`placed`: every node must be on the first provider of the chain, and those that are not are listed, with the reason that the provider gave;
`optimized`: whether onnxruntime may rewrite the graph, which it may; `itself`: what the exported program makes of the inputs of a run,
for models that onnxruntime cannot run; `original`: a model that means the same, which onnxruntime runs in its place; `refused`: whether
tinyort must refuse the file, and `refusal`: what is wrong with how it does; `align`: puts what tinyort made into the reference's order; `close`: the two tolerances;
`of_largest`, in their place: the one tolerance as a part of an output's largest value; `threads` of onnxruntime, 2 where it is absent; `operator`: a single one, which --bench only times; `truth`: says what else is wrong with what tinyort makes of the inputs of a run.
Equal means |a-b| <= 1e-4 + 1e-3 |b|, where `close` does not say otherwise, and exactly for integers and strings.

With --bench SECONDS the cases are timed in place of that (bench.py); with --plugin LIBRARY onnxruntime runs them by tinyort's provider
(bench_plugin.py).

`run_cases` prints one line a case, then `N passed, N failed, N skipped`. An export that the exporter refuses, or that onnxruntime
cannot run, is a skip, and is named. With --fusions, every case runs with all fusions, with none, and without each one that joins
nodes of it. What came of a case on `cpu` is kept in FOLDER/results for table.py.
"""

import argparse
import collections
import importlib.metadata
import json
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from bench import first_line, run_bench  # noqa: E402
from bench_plugin import run_plugin  # noqa: E402
from saturation import has_operators, unsaturated  # noqa: E402

CLOSE = (1e-3, 1e-4)

def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tinyort", default="build/tinyort")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/models"))
    parser.add_argument("--only", default="", help="NAME,...")
    parser.add_argument("--ep", default="cpu", help="the chain of providers")
    parser.add_argument("--fusions", action="store_true", help="with all fusions, with none, and without each")
    parser.add_argument("--bench", type=float, metavar="SECONDS", help="time each model in turns with onnxruntime")
    parser.add_argument("--threads", default=[1, 2], type=lambda text: [int(n) for n in text.split(",")], help="of --bench: 1,2")
    parser.add_argument("--isa", default="", help="of --bench: the instruction set of tinyort, v2, v3 ...; onnxruntime has all of the machine")
    parser.add_argument("--peer", default="", choices=["", "openvino"], help="of --bench: another runtime beside onnxruntime")
    parser.add_argument("--plugin", default="", help="the provider for onnxruntime, in place of tinyort alone (bench_plugin.py)")
    parser.add_argument("--set", default=pathlib.Path(sys.argv[0]).stem, help="the name under which the results are kept")
    return parser


def chosen(options, entries):
    """Those of the entries, a dict by name, that --only names; all without it."""
    return {name: entry for name, entry in entries.items() if not options.only or name in options.only.split(",")}


class NoReference(Exception):
    """onnxruntime cannot run the export: the exporter has fixed a size that it was told to leave open."""


def exact(path):
    """What onnxruntime loads: the file, or bytes of a model whose products of bytes do not saturate (saturation.py)."""
    if not has_operators(onnx.load(path, load_external_data=False)):
        return str(path)
    model = onnx.load(path)
    inferred = onnx.shape_inference.infer_shapes(model).graph
    types = {value.name: value.type.tensor_type.elem_type for value in [*inferred.value_info, *inferred.input, *inferred.output]}
    return unsaturated(model, types).SerializeToString()


def open_session(case):
    """One whose products of bytes are exact: also those that its optimizer makes of QuantizeLinear and DequantizeLinear."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 4
    options.intra_op_num_threads = case.get("threads", 2)
    if not case.get("optimized", True):
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(exact(case.get("original", case["path"])), options, providers=["CPUExecutionProvider"])


def reference(case):
    """The inputs of each run, those that the export has kept, and what onnxruntime makes of them."""
    try:
        session = open_session(case)
        names = {port.name for port in session.get_inputs()}
        runs = [{name: value for name, value in feeds.items() if name in names} for feeds in case["runs"]]
        return [(feeds, session.run(None, feeds)) for feeds in runs]
    except Exception as error:  # its classes have no base of their own
        if "itself" in case:
            return [(feeds, case["itself"](feeds)) for feeds in case["runs"]]
        raise NoReference(f"onnxruntime failed: {str(error).strip().splitlines()[0][:150]}") from error


def difference(got, want, tolerances=CLOSE):
    """A sentence on how far two tensors are apart, or two lists or maps of tensors; empty: not at all."""
    if isinstance(want, dict):
        got = {key.decode() if isinstance(key, bytes) else key: element for key, element in got.items()}
        if got.keys() != want.keys():
            return f"keys {sorted(got)} instead of {sorted(want)}"
        return difference(*([np_value(map_[key]) for key in want] for map_ in (got, want)), tolerances)
    if isinstance(want, list):
        problems = [difference(*pair, tolerances) for pair in zip(got, want)]
        return f"{len(got)} tensors instead of {len(want)}" if len(got) != len(want) else next(filter(None, problems), "")
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        return "" if numpy.array_equal(got, want) else f"{(got != want).sum()} of {want.size} {want.dtype} elements differ"
    got, want = got.astype(numpy.float64), want.astype(numpy.float64)
    close = numpy.isclose(got, want, rtol=tolerances[0], atol=tolerances[1], equal_nan=True)
    if close.all():
        return ""
    worst = numpy.nanmax(numpy.abs(got - want))
    return f"{(~close).sum()} of {close.size} elements differ, by {worst:.3g} at most (values up to {numpy.abs(want).max():.3g})"


def np_value(value):
    """What is in a map: onnxruntime has plain numbers there."""
    return numpy.asarray(value, numpy.float32 if isinstance(value, float) else None)


class Failed(Exception):
    """tinyort does not plan or run the model."""


def call(tinyort, *words):
    done = subprocess.run([str(word) for word in (tinyort, *words)], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"exit {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[0]}")
    return done.stdout


def plan(options, case, *switch):
    return json.loads(call(options.tinyort, "plan", case["path"], "--ep", options.ep, "--json", *switch))["nodes"]


def elsewhere(options, case):
    """Why nodes are not on the first provider of the chain: one sentence an operator and reason, the most frequent first."""
    reasons = collections.Counter()
    for node in plan(options, case):
        if node["provider"] not in (options.ep.split(",")[0].split(":")[0], "host", "folded"):
            reasons[f"{node['op']} on {node['provider'] or 'nothing'}: " + "; ".join(f"{v['code']} {v['message']}" for v in node["verdicts"])] += 1
    return [f"{count} {reason}" for reason, count in reasons.most_common()]


def switches(options, case):
    """The options of each run: with all fusions; if asked, with none, and without each one that joins nodes here."""
    if not options.fusions:
        return [[]]
    rows = json.loads(call(options.tinyort, "ops", "--json"))["fusions"]
    names = list(dict.fromkeys(row["name"] for row in rows))
    joined = plan(options, case)
    each = [f"--no-fusion={name}" for name in names]
    return [[], ["--no-fusion"]] + [[switch] for switch in each if plan(options, case, switch) != joined]


def keep(got, want):
    return got


def plain(value):
    """Whether a .npy file holds it; strings, lists and maps are in files of ONNX."""
    return isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub"


def map_of(value):
    """A map from strings to floats."""
    proto = onnx.MapProto(key_type=onnx.TensorProto.STRING, values=onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR))
    proto.string_keys.extend(key.encode() for key in value)
    proto.values.tensor_values.extend(onnx.numpy_helper.from_array(numpy.array(element, numpy.float32)) for element in value.values())
    return proto


def save(folder, index, value):
    file = folder / f"input_{index}.{'npy' if plain(value) else 'pb'}"
    if isinstance(value, dict):
        file.write_bytes(map_of(value).SerializeToString())
        return file
    if plain(value):
        numpy.save(file, value)
    else:
        file.write_bytes(onnx.numpy_helper.from_array(numpy.asarray(value, object)).SerializeToString())
    return file


def load_pb(file, like):
    if isinstance(like, list):
        return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(file.read_bytes()))
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes()))


def load_outputs(folder, wanted):
    if all(map(plain, wanted)):
        return [numpy.load(folder / f"output_{index}.npy") for index in range(len(wanted))]
    return [load_pb(folder / f"output_{index}.pb", want) for index, want in enumerate(wanted)]


def tolerances_of(case, want):
    if "of_largest" not in case or not plain(want) or not want.size:
        return case.get("close", CLOSE)
    return 0, case["of_largest"] * float(numpy.abs(want.astype(numpy.float64)).max())


def wrong(options, case):
    """What is wrong with the runs of a case, all fusions on; empty: nothing."""
    return next(filter(None, (compare(options, case, i, *run, []) for i, run in enumerate(reference(case)))), "")


def compare(options, case, number, feeds, want, switch):
    """What is wrong with a run; empty: nothing."""
    folder = case["path"].with_suffix(f".run{number}")
    folder.mkdir(exist_ok=True)
    inputs = [word for index, (name, value) in enumerate(feeds.items()) for word in ("--input", f"{name}={save(folder, index, value)}")]
    form = [] if all(map(plain, want)) else ["--format", "pb"]
    call(options.tinyort, "run", case["path"], "--ep", options.ep, "--save", folder, *form, *inputs, *switch)
    got = case.get("align", keep)(load_outputs(folder, want), want)
    for index, value in enumerate(want):
        problem = difference(got[index], value, tolerances_of(case, value))
        if problem:
            return f"{' '.join(['run', str(number), *switch])}, output {index}: {problem}"
    return case["truth"](feeds, got) if "truth" in case else ""


def check(options, case):
    """The problems of a case, and how many comparisons were made of it."""
    wanted = reference(case)
    try:
        tried = switches(options, case)
        problems = [compare(options, case, i, *run, switch) for switch in tried for i, run in enumerate(wanted)]
        if case.get("placed"):
            problems += elsewhere(options, case)
    except Failed as error:
        return [str(error)], 0
    return [problem for problem in problems if problem], len(tried) * len(wanted)


def run_case(options, case):
    """PASS, FAIL or SKIP, with what there is to say."""
    try:
        if not case["path"].exists():
            case["export"]()
    except Exception as error:  # the exporter's own refusal
        case["path"].unlink(missing_ok=True)
        return "SKIP", f"export failed: {first_line(error)[:150]}"
    if case.get("refused", bool)():
        problem = case["refusal"](options, case)
        return ("FAIL", problem) if problem else ("PASS", "refused")
    try:
        problems, compared = check(options, case)
    except NoReference as error:
        return "SKIP", str(error)
    return ("FAIL", " | ".join(problems)) if problems else ("PASS", f"{compared} runs")


def record(case, result):
    """What table.py reads of a case."""
    return {"label": case["label"], "exporter": case["exporter"], "version": importlib.metadata.version(case["package"]),
            "architecture": case["architecture"], "result": result}


def keep_results(options, records):
    """Of a set on `cpu`: under the name of the set. A whole run replaces what was kept, that of some cases what was kept of them."""
    if not records or options.ep != "cpu":
        return
    file = options.folder / "results" / f"{options.set}.json"
    file.parent.mkdir(exist_ok=True)
    kept = json.loads(file.read_text()) if options.only and file.exists() else []
    merged = {record["label"]: record for record in kept + records}
    file.write_text(json.dumps([*merged.values()], indent=1))


def run_cases(options, cases):
    """Runs them all and ends the program: 1 where one failed, or none passed."""
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.plugin:
        return run_plugin(options, cases)
    if options.bench:
        return run_bench(options, cases, wrong)
    results, records = collections.Counter(), []
    for case in cases:
        result, words = run_case(options, case)
        results[result] += 1
        records += [record(case, result)] if "exporter" in case else []
        print(f"{result} {case['label']}: {words}", flush=True)
    keep_results(options, records)
    print(f"{results['PASS']} passed, {results['FAIL']} failed, {results['SKIP']} skipped")
    sys.exit(1 if results["FAIL"] or not results["PASS"] else 0)

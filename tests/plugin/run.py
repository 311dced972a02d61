"""tinyort inside an unchanged onnxruntime: ONNX's backend cases and the models of the tree, by the provider in a shared object.

Usage: run.py LIBRARY CASES [WORD], from the root of the tree; CASES is the folder of backend cases. What onnxruntime alone does
not load or run is counted, not compared: its model is refused before any provider sees it. Prints `plugin: N passed, N failed`.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import onnxruntime
import tinyort
from onnx import helper, numpy_helper

NAME = "TinyortExecutionProvider"
DIGITS = "models/digits.onnx"
onnxruntime.set_default_logger_severity(4)
# As the page has it.
TWO_LINES = """
import onnxruntime
onnxruntime.register_execution_provider_library("tinyort", "{library}")
options = onnxruntime.SessionOptions()
options.add_provider_for_devices([d for d in onnxruntime.get_ep_devices() if d.ep_name == "TinyortExecutionProvider"], {{"chain": "{chain}"}})
print(len(onnxruntime.InferenceSession("{model}", options).get_outputs()))
"""


def devices(library):
    onnxruntime.register_execution_provider_library("tinyort", str(Path(library).resolve()))
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]


def session(model, found, **options):
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if found:
        settings.add_provider_for_devices(found, options or {"chain": "cpu"})
    return onnxruntime.InferenceSession(str(model), settings)


def taken(made):
    """Nodes of the provider, and all."""
    graphs = made.get_provider_graph_assignment_info()
    return sum(len(g.get_nodes()) for g in graphs if g.ep_name == NAME), sum(len(g.get_nodes()) for g in graphs)


def value_of(path):
    tensor = onnx.TensorProto.FromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def same(found, expected):
    if isinstance(expected, list) or isinstance(found, list):
        return len(found) == len(expected) and all(same(a, b) for a, b in zip(found, expected))
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if expected.dtype.kind in "fc":
        return np.allclose(found, expected, rtol=1e-3, atol=1e-5, equal_nan=True)
    return np.array_equal(found, expected)


class Counts:
    def __init__(self):
        self.passed = self.failed = self.others = self.nodes = self.all = 0
        self.refused = []

    def check(self, good, text):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"FAILED {text}")


def feeds_of(folder, names):
    """(inputs by name, expected outputs) of each data set."""
    for data in sorted(folder.glob("test_data_set_*")):
        inputs = {name: value_of(data / f"input_{i}.pb") for i, name in enumerate(names) if (data / f"input_{i}.pb").exists()}
        yield inputs, [value_of(data / f"output_{i}.pb") for i in range(len(list(data.glob("output_*.pb"))))]


def is_right(found, expected, model, feed):
    """What the data set has; or what tinyort alone gives, whose sums are in another order or which draws other numbers."""
    if same(found, expected):
        return True
    alone = tinyort.InferenceSession(str(model))
    once, again = alone.run(None, feed), alone.run(None, feed)
    drawn = not same(once, again)
    return same(found, once) or (drawn and all(np.shape(a) == np.shape(b) for a, b in zip(found, once)))


# Types that onnxruntime's package does not take from numpy.
BITS = {"bfloat16": 16, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2} | {f"float8{kind}": 8 for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0")}


def memory_of(value):
    """The bytes of a tensor of onnxruntime's, some of which hold two or four elements."""
    bits = BITS.get(value.data_type()[7:-1]) or 8 * value.numpy().itemsize
    return ctypes.string_at(value.data_ptr(), (bits * int(np.prod(value.shape())) + 7) // 8)


def raw_value(path):
    tensor = onnx.TensorProto.FromString(path.read_bytes())
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(tensor.dims), tensor.data_type)
    content = tensor.raw_data or numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
    ctypes.memmove(value.data_ptr(), content, len(content))
    return value


def test_bytes(counts, folder, alone, inside):
    """Values of those types are what onnxruntime makes of them, byte for byte, or what the data set has."""
    for data in sorted(folder.glob("test_data_set_*")):
        feeds = {port.name: raw_value(data / f"input_{i}.pb") for i, port in enumerate(alone.get_inputs())}
        try:
            expected = alone.run_with_ort_values(None, feeds)
        except Exception:  # noqa: BLE001
            counts.others += 1
            return
        for i, (a, b) in enumerate(zip(inside.run_with_ort_values(None, feeds), expected)):
            good = a.data_type() == b.data_type() and a.shape() == b.shape()
            counts.check(good and memory_of(a) in (memory_of(b), memory_of(raw_value(data / f"output_{i}.pb"))), f"{folder.name}: other bytes")


def test_case(counts, folder, found, report):
    model = folder / "model.onnx"
    try:
        alone = session(model, [])
    except Exception as error:  # noqa: BLE001 - refused before any provider sees it
        counts.refused.append(f"{folder.name}: {' '.join(str(error).split())}")
        return
    if any(port.type[7:-1] in BITS for port in [*alone.get_inputs(), *alone.get_outputs()]):
        inside = session(model, found)
        some, every = taken(inside)
        counts.nodes, counts.all = counts.nodes + some, counts.all + every
        return test_bytes(counts, folder, alone, inside)
    try:
        sets = list(feeds_of(folder, [port.name for port in alone.get_inputs()]))
        for feed, _ in sets:
            alone.run(None, feed)
    except Exception:  # noqa: BLE001 - no tensors, or types that its Python package does not take from numpy
        counts.others += 1
        return
    try:
        inside = session(model, found, chain="cpu", report=str(report))
        some, every = taken(inside)
        declined = json.loads(report.read_text())["declined"]
        counts.check(len(declined) == every - some and all(node["message"] for node in declined), f"{folder.name}: {some} of {every} nodes, and reasons for {declined}")
        counts.nodes, counts.all = counts.nodes + some, counts.all + every
        for feed, expected in sets:
            counts.check(is_right(inside.run(None, feed), expected, model, feed), f"{folder.name}: other values")
    except Exception as error:  # noqa: BLE001
        counts.check(False, f"{folder.name}: {str(error)[:300]}")


def model_of(folder, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(array, name) for name, array in weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    return folder / "m.onnx"


def declined_model(folder):
    """A sequence goes over the border: its node stays with onnxruntime."""
    nodes = [helper.make_node("Relu", ["x"], ["r"], "cut"), helper.make_node("SplitToSequence", ["r"], ["y"], "say")]
    return model_of(folder, nodes, [floats("x", [3, 2])], [helper.make_tensor_sequence_value_info("y", onnx.TensorProto.FLOAT, None)])


def test_sequences(counts, found, folder):
    """Sequences and optionals that stay in a part, in a loop too, are taken; those that would leave it are not, with both of their nodes."""
    body = helper.make_graph([helper.make_node("Identity", ["going"], ["go_on"]), helper.make_node("Add", ["state", "state"], ["doubled"]),
                              helper.make_node("SequenceInsert", ["so_far", "doubled"], ["more"])], "body",
                             [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []), helper.make_tensor_value_info("going", onnx.TensorProto.BOOL, []), floats("state", None), helper.make_tensor_sequence_value_info("so_far", onnx.TensorProto.FLOAT, None)],
                             [helper.make_tensor_value_info("go_on", onnx.TensorProto.BOOL, []), floats("doubled", None), helper.make_tensor_sequence_value_info("more", onnx.TensorProto.FLOAT, None)])  # fmt: skip
    nodes = [helper.make_node("SequenceEmpty", [], ["none"], "none"), helper.make_node("Loop", ["count", "", "x", "none"], ["last", "all"], "loop", body=body),
             helper.make_node("ConcatFromSequence", ["all"], ["y"], "join", axis=0)]  # fmt: skip
    many = helper.make_tensor_value_info("count", onnx.TensorProto.INT64, [])
    feed = {"x": np.ones((1, 2), np.float32), "count": np.array(3, np.int64)}
    inside = session(model_of(folder, nodes, [floats("x", [1, 2]), many], [floats("y", None)]), found)
    counts.check(taken(inside) == (3, 3), f"sequences in a part: {taken(inside)}")
    counts.check(same(inside.run(None, feed), [np.array([[2, 2], [4, 4], [8, 8]], np.float32)]), "a sequence that a loop makes")
    seen = helper.make_tensor_sequence_value_info("all", onnx.TensorProto.FLOAT, None)
    outside = session(model_of(folder, nodes, [floats("x", [1, 2]), many], [floats("y", None), seen]), found, report=str(folder / "s.json"))
    declined = {node["path"] for node in json.loads((folder / "s.json").read_text())["declined"]}
    counts.check(declined == {"none", "loop", "join"}, f"a sequence that leaves: {declined}")
    y, parts = outside.run(None, feed)
    counts.check(same([y], [np.array([[2, 2], [4, 4], [8, 8]], np.float32)]) and len(parts) == 3, "and their values")


def floats(name, shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def raised(call):
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return str(error)
    return ""


def test_failures(counts, found, folder):
    """A run that fails is an error, with node and reason: onnxruntime's class makes no second session and returns no numbers."""
    indices = helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [1])
    model = model_of(folder, [helper.make_node("Gather", ["x", "i"], ["y"], "pick")], [floats("x", [3]), indices], [floats("y", [1])])
    made = session(model, found)
    text = raised(lambda: made.run(None, {"x": np.zeros(3, np.float32), "i": np.array([7])}))
    counts.check("pick" in text and "7" in text and "tinyort" in text, f"a failure: {text}")
    counts.check(made.get_providers()[0] == NAME, "the session is as it was")
    counts.check(same(made.run(None, {"x": np.arange(3, dtype=np.float32), "i": np.array([2])}), [np.array([2], np.float32)]), "and usable")


def test_constants(counts, found, folder):
    """Large constants, which onnxruntime frees when the session is made, behind shapes that only a run knows."""
    random = np.random.default_rng(0)
    weights = [("table", random.random((3000, 100), np.float32)), ("w", random.random((100, 300), np.float32)), ("b", random.random(40000, np.float32)), ("zero", np.array([0]))]
    nodes = [helper.make_node("Gather", ["table", "i"], ["g"]), helper.make_node("MatMul", ["g", "w"], ["m"]), helper.make_node("NonZero", ["m"], ["at"]),
             helper.make_node("Transpose", ["at"], ["places"]), helper.make_node("GatherND", ["m", "places"], ["flat"]), helper.make_node("Shape", ["flat"], ["size"]),
             helper.make_node("Slice", ["b", "zero", "size", "zero"], ["part"]), helper.make_node("Add", ["flat", "part"], ["y"])]  # fmt: skip
    indices = helper.make_tensor_value_info("i", onnx.TensorProto.INT64, ["n"])
    model = model_of(folder, nodes, [indices], [floats("y", None)], weights)
    inside, alone = session(model, found), session(model, [])
    counts.check(taken(inside)[0] == len(nodes), f"all nodes are taken: {taken(inside)}")
    for rows in (1, 4, 2):
        feed = {"i": np.arange(rows)}
        counts.check(same(inside.run(None, feed), alone.run(None, feed)), f"{rows} rows")


def strings(name, shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.STRING, shape)


def test_strings(counts, found, folder):
    """Strings over the border of a part, of any length and characters, also of a shape that only a run knows, and constants."""
    words = np.array(["", "é\U0001f600", "x" * 100000, "tail"], object)
    indices = helper.make_tensor_value_info("i", onnx.TensorProto.INT64, ["n"])
    nodes = [helper.make_node("Concat", ["x", "words"], ["all"], axis=0), helper.make_node("Gather", ["all", "i"], ["picked"]), helper.make_node("Unique", ["picked"], ["y"])]
    model = model_of(folder, nodes, [strings("x", ["m"]), indices], [strings("picked", ["n"]), strings("y", ["k"])], [("words", words)])
    inside, alone = session(model, found), session(model, [])
    counts.check(taken(inside)[0] == 3, f"strings are taken: {taken(inside)}")
    for x, i in (([], [0, 1, 2]), (["a", "", "b" * 5000], [2, 1, 3, 0, 6, 0]), (["é"], [])):
        feed = {"x": np.array(x, object), "i": np.array(i, np.int64)}
        found_, expected = inside.run(None, feed), alone.run(None, feed)
        counts.check(all(a.tolist() == b.tolist() and a.shape == b.shape for a, b in zip(found_, expected)), f"strings {x}: {found_}")


def test_options(counts, found, folder):
    declined = declined_model(folder)
    strict = raised(lambda: session(declined, found, strict="1"))
    counts.check("strict" in strict and "say" in strict, f"strict: {strict}")
    counts.check("wrong" in raised(lambda: session(DIGITS, found, chain="wrong")), "a chain that there is not")
    counts.check('option strict is "0" or "1"' in raised(lambda: session(DIGITS, found, strict="yes")), "a value of strict")
    counts.check(taken(session(DIGITS, found, chain="cpu:threads=1")) == (11, 11), "a chain")
    def told_with(chain):
        program = TWO_LINES.format(library=str(Path(sys.argv[1]).resolve()), chain=chain, model=declined)
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})

    told = told_with("cpu")
    counts.check("nodes stay with onnxruntime" in told.stderr and "say (SplitToSequence): NO_KIND output 0" in told.stderr, f"reasons in the host's log: {told.stderr}")
    counts.check("cuda did not open: " in told_with("cuda,cpu").stderr, "a provider of the chain that does not open is told")
    counts.check(told.stdout == "1\n" and told.returncode == 0, f"as a user types it: {told.stdout}")


def test_report(counts, found, folder):
    """The file of option report: every node once, taken or declined, in the form of `tinyort schema`; names of any bytes."""
    schema = json.loads(Path("runtime/cli/schema.json").read_text())
    y = helper.make_tensor_sequence_value_info("y", onnx.TensorProto.FLOAT, None)
    odd = model_of(folder, [helper.make_node("SequenceConstruct", ["x"], ["y"], 'say "é\\\n\U0001f600')], [floats("x", [2])], [y])
    told = {}
    for model in ("models/edges.onnx", DIGITS, odd):
        session(model, found, chain="cuda,cpu", report=str(folder / "report.json"))
        told[model] = json.loads((folder / "report.json").read_text())
        jsonschema.validate(told[model], schema)
    edges, digits, declined = told["models/edges.onnx"], told[DIGITS], told[odd]["declined"]
    counts.check((edges["taken"], edges["declined"], told[odd]["taken"]) == (6, [], 0), f"edges: {edges['declined']}")
    part = edges["parts"][0]
    counts.check([node["op"] for node in part["nodes"]] == ["Conv", "Abs", "GlobalAveragePool", "Flatten", "ArgMax", "Gather"], "the nodes of a part")
    counts.check(part["summary"]["cpu"] == 5 and part["summary"]["fallen_back"] == 5 and part["nodes"][0]["verdicts"][0]["provider"] == "cuda", f"where it runs: {part['summary']}")
    counts.check(digits["taken"] == 11 and not digits["declined"] and digits["host"] == onnxruntime.__version__, "all nodes")
    counts.check(declined[0]["path"] == 'say "é\\\n\U0001f600' and not told[odd]["parts"], f"a name: {declined}")
    raised(lambda: session(declined_model(folder), found, strict="1", report=str(folder / "report.json")))
    counts.check("say" in json.loads((folder / "report.json").read_text())["refused"], "a refusal")
    raised(lambda: session(DIGITS, found, strict="yes", report=str(folder / "report.json"), chain="cpu"))
    refused = json.loads((folder / "report.json").read_text()) if (folder / "report.json").stat().st_size else {}
    jsonschema.validate(refused, schema)
    counts.check("option strict" in refused["refused"], f"a wrong option: {refused}")


def test_names(counts, found, folder):
    """Dimensions of one name are equal, and "?" is no name: exporters write it for every open one."""
    add = [helper.make_node("Add", ["x", "x"], ["y"], "add")]
    open_twice = session(model_of(folder, add, [floats("x", ["?", "?"])], [floats("y", ["?", "?"])]), found)
    counts.check(open_twice.run(None, {"x": np.ones((2, 3), np.float32)})[0].shape == (2, 3), "two dimensions called ?")
    named = session(model_of(folder, add, [floats("x", ["N", "N"])], [floats("y", ["N", "N"])]), found)
    counts.check('"N"' in raised(lambda: named.run(None, {"x": np.ones((2, 3), np.float32)})), "two dimensions called N")


def test_max(counts, found, folder):
    """Upper bounds: larger runs are errors, and memory is there from the first run on."""
    model = model_of(folder, [helper.make_node("Relu", ["x"], ["y"], "relu")], [floats("x", ["N", 3])], [floats("y", ["N", 3])])
    made = session(model, found, max="N=4")
    counts.check(made.run(None, {"x": np.ones((4, 3), np.float32)})[0].shape == (4, 3), "at the bound")
    counts.check("4" in raised(lambda: made.run(None, {"x": np.ones((5, 3), np.float32)})), "beyond the bound")
    for wrong in ("N", "N=", "=4", "N=0", "N=4,", "N=x"):
        counts.check(("option max" in raised(lambda: session(model, found, max=wrong))) == (wrong != "N=4,"), f"max={wrong}")
    counts.check('called "M"' in raised(lambda: session(model, found, max="M=4")), "a name that there is not")


# A session of one thread, with a provider that splits loops for two.
ONE_THREAD = """
import numpy, onnxruntime
onnxruntime.register_execution_provider_library("tinyort", "{library}")
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.add_provider_for_devices([d for d in onnxruntime.get_ep_devices() if d.ep_name == "TinyortExecutionProvider"], {{"threads": "{threads}"}})
session = onnxruntime.InferenceSession("{model}", options)
for _ in range(2000):
    session.run(None, {{"x": numpy.ones((1, 1 << 17), numpy.float32)}})
"""


def test_split(counts, folder):
    """Loops that are split for more threads than the session has are told, with the cure."""
    model = model_of(folder, [helper.make_node("Exp", ["x"], ["y"], "exp")], [floats("x", [1, 1 << 17])], [floats("y", [1, 1 << 17])])
    for threads, expected in ((2, 1), (1, 0)):
        program = ONE_THREAD.format(library=str(Path(sys.argv[1]).resolve()), threads=threads, model=model)
        told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        counts.check(told.stderr.count("give the provider the option threads") == expected and not told.returncode, f"{threads} threads: {told.stderr}")


def test_page_in_c(counts, found, folder):
    """The lines of the page in C, in a program without Python: they compile, and their session is tinyort's."""
    page = Path("runtime/plugin/README.md").read_text()
    lines = page.split("```c\n")[1].split("```")[0].replace("/path/to/libtinyort_onnxruntime.so", str(Path(sys.argv[1]).resolve()))
    (folder / "lines.h").write_text(lines.replace('{"chain"}, *values[] = {"cpu"}', '{"report"}, *values[] = {"' + str(folder / "c.json") + '"}'))
    made, library = session(DIGITS, found), next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))
    output = made.get_outputs()[0].name
    subprocess.run(["cc", "-Wall", "-Werror", f"-I{folder}", f'-DOUTPUT="{output}"', "tests/plugin/host.c", "-o", folder / "host", "-ldl"], check=True)
    told = subprocess.run([folder / "host", library, DIGITS], capture_output=True, text=True)
    expected = made.run([output], {"image": np.zeros((1, 1, 8, 8), np.float32)})[0].ravel()
    counts.check(told.returncode == 0 and np.allclose(np.array(told.stdout.split(), float), expected[:10], atol=1e-5), f"the lines in C: {told}")
    counts.check(json.loads((folder / "c.json").read_text())["taken"] == 11, "all nodes are taken")


def test_policies(counts):
    """onnxruntime's policies put every other provider before its own of the CPU: one that was not asked for takes no node."""
    policies = onnxruntime.OrtExecutionProviderDevicePolicy
    for name in ("DEFAULT", "PREFER_CPU", "PREFER_GPU", "PREFER_NPU", "MAX_PERFORMANCE", "MAX_EFFICIENCY", "MIN_OVERALL_POWER"):
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        settings.set_provider_selection_policy(getattr(policies, name))
        counts.check(taken(onnxruntime.InferenceSession(DIGITS, settings))[0] == 0, f"policy {name}")


def test_threads(counts, found):
    """Four threads on one session, each with inputs of its own."""
    made = session(DIGITS, found)
    inputs = [np.random.default_rng(i).random((1 + i % 3, 1, 8, 8), np.float32) for i in range(64)]
    expected = [made.run(None, {"image": x}) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        counts.check(all(same(a, b) for a, b in zip(pool.map(lambda x: made.run(None, {"image": x}), inputs), expected)), "four threads")


def test_growth(counts, found):
    """1,000 sessions, opened, run and closed."""
    x = np.zeros((1, 1, 8, 8), np.float32)
    for i in range(1000):
        session(DIGITS, found).run(None, {"image": x})
        if i == 200:
            before = resident()
    counts.check(resident() - before < 4 << 20, f"{resident() - before} bytes more after 800 sessions")


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main():
    library, cases, word = sys.argv[1], Path(sys.argv[2]), (sys.argv[3:] or [""])[0]
    counts, found = Counts(), devices(library)
    counts.check(len(found) == 1, f"one device: {found}")
    test_growth(counts, found)
    test_policies(counts)
    test_threads(counts, found)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        test_failures(counts, found, scratch)
        test_constants(counts, found, scratch)
        test_strings(counts, found, scratch)
        test_sequences(counts, found, scratch)
        test_options(counts, found, scratch)
        test_report(counts, found, scratch)
        test_names(counts, found, scratch)
        test_split(counts, scratch)
        test_page_in_c(counts, found, scratch)
        test_max(counts, found, scratch)
        for folder in sorted(path.parent for path in cases.glob("**/model.onnx")):
            if word in folder.name:
                test_case(counts, folder, found, scratch / "report.json")
    listed = Path(library).with_name("onnxruntime-refuses.txt")
    listed.write_text("".join(f"{line}\n" for line in counts.refused))
    print(f"{counts.nodes} of {counts.all} nodes ran on {NAME}; onnxruntime {onnxruntime.__version__} refuses {len(counts.refused)} models, listed in "
          f"{listed}; {counts.others} it does not run, or not from numpy")
    print(f"plugin: {counts.passed} passed, {counts.failed} failed")
    sys.exit(1 if counts.failed or not counts.passed else 0)


if __name__ == "__main__":
    main()

"""Names are hostile: whatever bytes a file brings along, a terminal gets none that do anything, and JSON stays JSON."""

import json
import os
import re
import subprocess
import unicodedata
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from suite import NO_CUDA, SEVEN, save_model, floats, tensor, visible, weight

FORGED = "n\x1b[2K\rplacement: 1 cuda, 0 cpu (of 1; 0 folded)\n\x1b[8m"
# A line of its own, an erased line, C1 controls, text that runs backwards, what cannot be seen, what ends lines elsewhere.
HOSTILE = FORGED + "\x9b31m\u0085\x7f\t\u202e\u2066\u200b\u200e\u061c\ufeff\u2028\u2029\u00ad\U000e0041\ufe0f\u3164" + "Zähler 日本"
PLACEHOLDER = b"INVALID-UTF8"  # replaced in the file by as many bytes that are none
INVALID = b"\xff\xc3(\xe2\x82\x80!\xed\xa0\x80\xf8."
TEXT = HOSTILE  # of names, which must be UTF-8
BYTES = HOSTILE + PLACEHOLDER.decode()  # of strings that are bytes to the format: attributes and elements of tensors
ESCAPED = ["\\x1b[2K\\rplacement", "\\n\\x1b[8m", "\\u{9b}31m", "\\u{85}", "\\x7f", "\\u{202e}", "\\u{200b}", "Zähler 日本"]


def spoil(path):
    """Writes invalid UTF-8 over the placeholders, which the onnx package would not."""
    path.write_bytes(path.read_bytes().replace(PLACEHOLDER, INVALID))
    return path


def name(text):
    return f"{text} {TEXT}"


def good_model(path):
    """A model that runs, every string of which is hostile."""
    node = helper.make_node
    nodes = [
        node("Abs", [name("x")], [name("a")], name("abs"), doc_string=TEXT),
        node("Neg", [name("a")], [name("y")], name("neg")),
        node("Identity", [name("words")], [name("s")], name("same")),
    ]
    words = helper.make_tensor(name("words"), TensorProto.STRING, [2], [BYTES.encode(), b"\x1b[8m\x00\xffafter"])
    graph = helper.make_graph(nodes, name("graph"), [floats(name("x"), [name("n"), 3])],
                              [floats(name("y"), [name("n"), 3]), tensor(name("s"), TensorProto.STRING, [2])], [words], doc_string=TEXT)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name=TEXT,
                              producer_version=TEXT, doc_string=TEXT, domain=TEXT)
    helper.set_model_props(model, {name("key"): TEXT})
    onnx.save(model, path)
    return spoil(path)


def unknown_model(path):
    nodes = [helper.make_node(name("op"), [name("x")], [name("y")], name("node"), domain=name("domain"), **{name("attribute"): 1}),
             helper.make_node("Abs", [name("y")], [name("z")], name("behind"))]
    graph = helper.make_graph(nodes, TEXT, [floats(name("x"), [2])], [floats(name("z"), [2])])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(name("domain"), 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return spoil(path)


def external_model(path):
    """A weight in a file whose path is hostile and not there."""
    array = numpy_helper.from_array(np.ones(4, np.float32), name("w"))
    array.ClearField("raw_data")
    array.data_location = TensorProto.EXTERNAL
    array.external_data.add(key="location", value=TEXT)
    array.external_data.add(key="offset", value="0")
    array.external_data.add(key="length", value="16")
    graph = helper.make_graph([helper.make_node("Add", [name("x"), name("w")], [name("y")], name("add"))], TEXT,
                              [floats(name("x"), [4])], [floats(name("y"), [4])], [array])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return spoil(path)


def invalid_model(path, kind):
    """Models that the loader or the planner refuses, with a message that quotes what they are made of."""
    node, x, y = helper.make_node, floats(name("x"), [2]), floats(name("y"), [2])
    nodes = {
        "attribute": [node("Abs", [name("x")], [name("y")], name("abs"), **{name("attribute"): 1})],
        "input": [node("Abs", [name("nowhere")], [name("y")], name("abs"))],
        "value": [node("Cast", [name("x")], [name("y")], name("cast"), to=1, saturate=BYTES)],
        "mode": [node("Pad", [name("x"), name("p")], [name("y")], name("pad"), mode=BYTES)],
        "shape": [node("Add", [name("x"), name("w")], [name("y")], name("add"))],
    }[kind]
    weights = [weight(name("w"), np.ones(3, np.float32)), weight(name("p"), np.array([0, 0]))]
    graph = helper.make_graph(nodes, TEXT, [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), path)
    return spoil(path)


# ---- what may come out --------------------------------------------------------------------------------------------------


def bad_characters(text):
    """What a terminal or a reader must not get, in text that is known to be UTF-8."""
    return [c for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in "\ufe0f\u3164")]


def check_terminal(suite, *arguments, **environment):
    where = " ".join(map(str, arguments))[:60].encode("unicode_escape").decode()
    _, seen = suite.terminal(*arguments, **environment)
    shown = visible(seen)
    try:
        text = shown.decode()
    except UnicodeDecodeError as error:
        suite.check(False, f"{where}: no UTF-8 reaches the terminal: {shown[error.start - 20 : error.end + 20]}")
        return ""
    bad = bad_characters(text)
    at = text.index(bad[0]) if bad else 0
    suite.check(not bad, f"{where}: {[hex(ord(c)) for c in bad[:5]]} reach the terminal: {text[max(0, at - 40) : at + 20]!r}")
    placements = [line for line in text.splitlines() if line.startswith("placement: ")]
    suite.check(len(placements) <= (2 if arguments[0] == "compare" else 1), f"{where}: a forged placement line: {placements}")
    return text


def check_json(suite, *arguments, **environment):
    where = " ".join(map(str, arguments))[:60].encode("unicode_escape").decode()
    done = subprocess.run([suite.tinyort, *map(str, arguments), "--json"], capture_output=True, env={**os.environ, **environment})
    try:
        text = done.stdout.decode("utf-8", errors="strict")
    except UnicodeDecodeError as error:
        suite.check(False, f"{where}: JSON is no UTF-8: {done.stdout[error.start - 30 : error.end + 30]}")
        return
    bad = bad_characters(text.replace("\t", ""))
    suite.check(not bad, f"{where}: {[hex(ord(c)) for c in bad[:5]]} in JSON that one may look at")
    try:
        documents = [json.loads(text)]
    except json.JSONDecodeError:
        documents = [json.loads(line) for line in text.splitlines()]
    suite.check(documents, f"{where}: there is a document")
    for document in documents:
        suite.check_schema(document, where)
    return documents[-1]


def commands(model):
    run = (model, "--random", "1")
    return [("run", *run), ("plan", model), ("plan", model, "--ep", "cuda,cpu"), ("plan", model, "--ep", "cuda", "--target", "cuda:sm_86"), ("bench", model, "--repeat", "1", "--profile"),
            ("inspect", model), ("compare", model, "--ep", "cpu", "--ep", "cpu:threads=1"), ("run", *run, "--step-by-step"),
            ("plan", model, "--ep", "cpu", "--strict")]


def test_every_command(suite, folder):
    good, unknown, external = good_model(folder / "good.onnx"), unknown_model(folder / "unknown.onnx"), external_model(folder / "external.onnx")
    for model in (good, unknown, external):
        for arguments in commands(model):
            check_terminal(suite, *arguments, **NO_CUDA)
            check_json(suite, *arguments, **NO_CUDA)
    for kind in ("attribute", "input", "value", "mode", "shape"):
        model = invalid_model(folder / f"{kind}.onnx", kind)
        for command in ("run", "plan", "inspect"):
            check_terminal(suite, command, model, *(("--random", "1") if command == "run" else ()))
            check_json(suite, command, model, *(("--random", "1") if command == "run" else ()))


def test_names_are_shown_escaped(suite, folder):
    good, unknown = good_model(folder / "good.onnx"), unknown_model(folder / "unknown.onnx")
    for arguments in (("run", good, "--random", "1"), ("plan", good), ("inspect", good), ("plan", unknown), ("run", unknown, "--random", "1")):
        result = suite.run(*arguments)
        everything = result.out + result.err
        missing = [words for words in ESCAPED if words not in everything]
        suite.check(not missing, f"{arguments[0]}: not shown as escapes: {missing}")
    told = suite.run("inspect", good, "--json").json()
    shown = told["inputs"][0]["name"]
    suite.check(shown.startswith("x " + HOSTILE), f"JSON has the very name: {shown!r}")
    suite.check("\\x" not in shown, f"without escapes: {shown[-20:]!r}")
    text = suite.run("run", good, "--random", "1").out
    suite.check("\\x00\\xffafter" in text, "a string tensor is shown behind its NULs, and where it is no UTF-8")


def test_names_that_are_no_utf8(suite, folder):
    """Refused with the byte; what quotes them stays harmless."""
    model = folder / "names.onnx"
    save_model(model, [helper.make_node("Abs", ["x"], ["y"], PLACEHOLDER.decode())], [floats("x", [1])], [floats("y", [1])])
    spoil(model)
    text = check_terminal(suite, "plan", model)
    suite.check("graph: node 0: name: byte" in text and "not UTF-8" in text, f"which name, and where: {text!r}")
    check_json(suite, "plan", model)


def test_a_forged_placement_line(suite, folder):
    save_model(folder / "m.onnx", [helper.make_node("Cast", ["x"], ["y"], FORGED, to=TensorProto.STRING)], [floats("x", [1])],
               [tensor("y", TensorProto.STRING, [1])])
    for arguments in (("run", folder / "m.onnx", "--random", "1"), ("plan", folder / "m.onnx"), ("bench", folder / "m.onnx", "--repeat", "1", "--profile")):
        plan = ("--target", "cuda:sm_86") if arguments[0] == "plan" else ()
        result = suite.run(*arguments, "--ep", "cuda,cpu", *plan, **({} if plan else NO_CUDA))
        suite.check(len(result.placements()) == 1, f"{arguments[0]}: one placement line: {result.err!r}")
        suite.check("of 1; 0 folded" in result.placements()[0] and "0 cuda, 1 cpu" in result.placements()[0], f"the true one: {result.err!r}")


def test_what_is_typed(suite, folder):
    """The command line may be made by a script out of names of files: those are hostile too."""
    model, typed = good_model(folder / "good.onnx"), HOSTILE.replace("\n", "") + "\udcff"
    hostile_file = Path(os.fsdecode(os.fsencode(folder) + b"/\x1b[8m\x9b\xc2\x85\xe2\x80\xae.onnx"))
    hostile_file.write_bytes(model.read_bytes())
    labels = folder / "labels.txt"
    labels.write_bytes((HOSTILE.replace("\n", "") + "\n").encode() * 3)
    picture = Path(os.fsdecode(os.fsencode(folder) + b"/\x1b[8m\xe2\x80\xae.png"))
    picture.write_bytes(b"\x1b[8m")
    os.makedirs(os.fsdecode(os.fsencode(folder) + b"/\x1b[8mcase\xff"))
    run = ("run", model, "--random", "1")
    for arguments in [
        (typed,), (typed + ".onnx",), ("run", hostile_file, "--random", "1"), ("plan", hostile_file), ("bench", hostile_file, "--repeat", "1"),
        ("run", str(hostile_file) + "x", "--random", "1"), ("run", model, "--" + typed), ("run", model, "-\x1b"), (*run, "--pin", typed + "=cpu"),
        (*run, "--shape", typed + "=1"), (*run, "--random", typed + "=1"), (*run, "--input", typed + "=x"), (*run, "--input", picture),
        (*run, "--ep", typed), (*run, "--ep", "cpu:" + typed + "=1"), (*run, "--strict", "--allow", typed), (*run, "--require", typed),
        (*run, "--top", "2", "--labels", labels), (*run, "--save", str(hostile_file) + "/x"), (*run, "--top", typed),
        ("plan", model, "--only", typed), ("plan", model, "--bind", typed + "=cpu"), ("test", os.fsdecode(os.fsencode(folder) + b"/\x1b[8mcase\xff")),
        ("test", typed), ("providers", "--ep", typed), ("inspect", hostile_file),
    ]:
        check_terminal(suite, *arguments)
        if len(arguments) > 1:
            check_json(suite, *arguments)
    check_terminal(suite, *run, TINYORT_DISABLE=typed)


def test_a_test_case(suite, folder):
    (folder / "case" / "test_data_set_0").mkdir(parents=True)
    good_model(folder / "case" / "model.onnx")
    data = folder / "case" / "test_data_set_0"
    for file, array in (("input_0", np.ones((1, 3), np.float32)), ("output_0", np.zeros((1, 3), np.float32))):
        (data / f"{file}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    text = check_terminal(suite, "test", folder / "case")
    suite.check("FAIL" in text, "the case fails, and quotes a name")
    check_json(suite, "test", folder / "case")
    words = helper.make_tensor("s", TensorProto.STRING, [2], [b"\x1b[8m\xff", b"\x9b"])
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(-np.ones((1, 3), np.float32)).SerializeToString())
    (data / "output_1.pb").write_bytes(words.SerializeToString())
    suite.check("expected" in check_terminal(suite, "test", folder / "case"), "string tensors are quoted")
    check_json(suite, "test", folder / "case")


def test_nothing_goes_round(suite, folder):
    """Only print.c and json.c write to a stream, memory.c when there is none left to print with, and serial.c to a board."""
    forbidden = re.compile(r"\b(v?f?printf|v?dprintf|f?puts|f?putc|putchar|fwrite|perror|psignal|write)\s*\(")
    for path in sorted(Path("runtime/cli").glob("*.[ch]")):
        if path.name in ("print.c", "json.c", "memory.c", "serial.c"):
            continue
        text = re.sub(r"/\*.*?\*/|__attribute__.*", "", path.read_text())
        code = [line for line in text.splitlines() if not line.lstrip().startswith(("*", "/*"))]
        found = [line.strip() for line in code if forbidden.search(line)]
        suite.check(not found, f"{path} writes by itself: {found}")

"""Commands, options and help: what can be typed."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from suite import DIGITS, SEVEN, floats, save_model, tensor, weight, visible

def test_usage(suite, folder):
    suite.expect(0, "tinyort run MODEL")
    suite.expect(2, "did you mean 'run'?", "rnu")
    suite.expect(2, "did you mean '--version'?", "--verison")
    suite.expect(2, "tinyort run model.onnx", "model.onnx")
    suite.expect(2, "tell it which MODEL", "run")
    suite.expect(2, "one too many", "run", DIGITS, SEVEN)
    suite.expect(2, "takes no operand", "providers", DIGITS)
    suite.expect(2, "not from standard input", "run", "-")
    suite.expect(2, "did you mean --random?", "run", DIGITS, "--radom", "1")
    suite.expect(2, "did you mean --repeat?", "bench", DIGITS, "--iterations", "9")
    suite.expect(2, "did you mean --ep cpu:threads=N?", "run", DIGITS, "--threads", "2")
    suite.expect(2, "did you mean --ep?", "run", DIGITS, "--provider", "cuda")
    suite.expect(2, "'tinyort ops --help' lists them", "ops", "--iterations", "9")
    suite.expect(2, "there is no option -v;", "run", DIGITS, "-v")
    suite.expect(2, ["short for several", "--require, --random, --resize"], "run", DIGITS, "--r", "1")
    suite.expect(2, "--top wants a whole number", "run", DIGITS, "--top", "many")
    suite.expect(2, "--top needs a value: --top K;", "run", DIGITS, "--top")
    suite.expect(2, "takes no value", "run", DIGITS, "--json=yes")
    suite.expect(2, "did you mean 'npy'?", "run", DIGITS, "--save", "x", "--format", "np")
    suite.expect(2, "a chain is one list: --ep cpu,cuda", "run", DIGITS, "--ep", "cpu", "--ep", "cuda")
    suite.expect(2, "not an option of 'plan'", "plan", DIGITS, "--top", "1")


def test_old_names(suite, folder):
    """The table of runtime/cli/README.md: each old name is refused with the new one, which the command takes."""
    page = Path("runtime/cli/README.md").read_text().partition("## Options that had another name")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `--([a-z]+)\b[^|]*\| (?:`-o FILE`, )?`--([a-z-]+)", page, re.M)
    suite.check(len(rows) == 5, f"the table has {rows}")
    for command, was, now in rows:
        suite.expect(2, f"--{was} of '{command}' is now --{now}", command, DIGITS, f"--{was}=x")
        suite.expect(2, f"--{was} of '{command}' is now --{now}", command, DIGITS, f"--{was}", "x")
        suite.check(f"  --{now} " in suite.run(command, "--help").out, f"{command} takes --{now}")


def test_commands_of_others(suite, folder):
    for typed, meant in (("benchmark", "bench"), ("diff", "compare"), ("optimize", "plan MODEL --optimized OUT.onnx"), ("profile", "bench MODEL --profile"), ("view", "plan MODEL --html FILE"), ("rn", "run")):
        suite.expect(2, f"there is no command '{typed}'; did you mean '{meant}'?", typed)


def test_lines_of_a_terminal(suite, folder):
    """An error and the placement line are broken between words, and in a pipe are one line."""
    for arguments in (("run", DIGITS, "--input", "labels=none.npy"), ("plan", DIGITS, "--ep", "cuda,cpu", "--target", "cuda:sm_86", "--pin", "conv1=cpu", "--pin", "conv2=cpu"),
                      ("compare", DIGITS, "--ep", "cpu", "--ep", "cpu:isa=plain", "--rtol", "0", "--atol", "0", "--random", "1"), ("plan", DIGITS, "--target", "sm_90")):
        piped = suite.run(*arguments)
        words = sorted((piped.out + piped.err).split())
        for columns in (80, 50)[: 1 if "--pin" in arguments else 2]:
            lines = visible(suite.terminal(*arguments, columns=columns)[1]).decode().splitlines()
            if arguments[0] != "plan" or "--ep" not in arguments:
                suite.check(sorted(" ".join(lines).split()) == words, f"{arguments[0]} at {columns}: the same words: {lines}")
            suite.check(max(map(len, lines)) <= columns, f"{arguments[0]} at {columns} columns: {max(lines, key=len)}")


def test_every_command_at_80_columns(suite, folder):
    """A model with names as exporters write them, in a terminal of 80 columns. Only a path of a file may be longer than a line."""
    model, names = "m.onnx", [f"/model/encoder/layers.{i}/self_attention/rotary_embedding/{{}}_{i}" for i in range(6)]
    nodes, value = [], "x"
    for name in names:
        for op in ("MatMul", "Softmax", "Neg"):
            made = f"{name.format(op)}_output_0"
            nodes.append(helper.make_node(op, [value] if op != "MatMul" else [value, "w"], [made], name.format(op)))
            value = made
    save_model(folder / model, nodes, [floats("x", ["batch", 8])], [floats(value, ["batch", 8])], weights=[weight("w", np.eye(8, dtype=np.float32) * 1e5)])
    commands = (["run", model, "--random", "1"], ["run", model, "--random", "1", "--stats"], ["run", model, "--random", "1", "--expect", "fp16", "--expect", "finite"],
                ["run", model, "--random", "1", "--top", "3"], ["plan", model], ["plan", model, "--full"], ["plan", model, "--ep", "cuda,cpu", "--target", "cuda:sm_86"],
                ["plan", model, "--only", "Softmax_3"], ["inspect", model], ["inspect", model, "--nodes"], ["inspect", model, "--ops"],
                ["bench", model, "--repeat", "3", "--profile=all"], ["bench", model, "--repeat", "10", "--ep", "cpu", "--ep", "cpu:threads=1"],
                ["bench", model, "--repeat", "3", "--sweep", "batch=1,2,4"], ["compare", model, "--ep", "cpu", "--ep", "cpu:isa=plain", "--rtol", "0", "--atol", "0"],
                ["plan", model, "--lock", "lock"], ["plan", model, "--check", "lock", "--no-fusion"], ["providers"], ["version"], ["ops"], ["ops", "Conv"], ["ops", "--fusions"],
                ["compile", model, "--shape", "batch=1", "-o", "made"], ["extract", model, "--to", value, "-o", "part.onnx"])  # fmt: skip
    before = os.getcwd()
    tinyort, suite.tinyort = suite.tinyort, str(Path(suite.tinyort).resolve())
    os.chdir(folder)
    try:
        for command in commands:
            status, seen = suite.terminal(*command, columns=80)
            lines = [line.split("\r")[-1] for line in visible(seen).decode().replace("\r\n", "\n").split("\n")]
            suite.check(max(map(len, lines)) <= 80, f"{' '.join(command)}: {max(lines, key=len)}")
            suite.check(status in (0, 5), f"{' '.join(command)}: exit status {status}")
    finally:
        os.chdir(before)
        suite.tinyort = tinyort


def test_cures_of_the_command_line(suite, folder):
    suite.expect(2, ['is for no provider of the chain "cpu"', 'as in "cuda,cpu"'], "plan", DIGITS, "--target", "cuda:sm_90")
    suite.expect(2, 'as in cuda:sm_87, and the chain has that provider, as in "cuda,cpu"', "plan", DIGITS, "--target", "sm_90")


def test_options_given_twice(suite, folder):
    """They add up where they are lists, and are refused otherwise; a flag says the same again."""
    for command, option, values, said in (("plan", "--html", "ab", "--html is given twice, and takes one value"), ("plan", "--output", "ab", "--output is given twice"),
                                          ("bench", "--sweep", ("N=1", "N=2"), "--sweep is given twice"), ("run", "--top", "12", "--top is given twice"),
                                          ("run", "--format", ("npy", "pb"), "--format is given twice"), ("run", "--crop", "12", "--crop is given twice"),
                                          ("run", "--random", "12", "--random has two seeds, 1 and '2'"), ("run", "--save", "ab", "--save is given twice"),
                                          ("run", "--require", ("cpu", "cuda"), "--require is given twice; it takes one list: --require cpu,cuda"),
                                          ("run", "--allow", ("Conv", "Relu"), "--allow Conv,Relu"), ("run", "--time-limit", "12", "--time-limit is given twice"),
                                          ("bench", "--profile=all", ("--profile=all",), "--profile is given twice"), ("run", "--max", ("N=1", "N=2"), "N"),
                                          ("run", "--no-fusion=Gelu", ("--no-fusion=Conv",), "--no-fusion=Gelu,Conv"), ("run", "--shape", ("N=1", "N=2"), "N"),
                                          ("run", "--input", (f"image={SEVEN}", f"image={SEVEN}"), "image"), ("plan", "--pin", ("conv1=cpu", "conv1=cuda"), "--pin says two things of one name"),
                                          ("plan", "--bind", ("image=cpu", "image=cuda"), "--bind says two things of one name"), ("run", "--random", ("image=0..1", "image=0..2"), "image")):  # fmt: skip
        typed = [option, *values] if len(values) == 1 else [word for value in values for word in (option, value)]
        suite.expect(2, said, command, DIGITS, *typed)
    suite.expect(0, "placement", "run", DIGITS, "--random", "1", "--strict", "--strict", "--expect", "finite", "--expect", "finite")


def test_help_at_the_width_of_the_terminal(suite, folder):
    """Every word of the help, in lines of the terminal's width, broken between words; option names stay whole."""
    for command in ("run", "bench", "compile", "providers"):
        piped = suite.run(command, "--help").out
        for columns in (80, 60):
            status, seen = suite.terminal(command, "--help", columns=columns)
            lines = visible(seen).decode().splitlines()
            suite.check(status == 0 and max(map(len, lines)) <= columns, f"{command} --help at {columns}: {max(lines, key=len)}")
            suite.check(sorted(" ".join(lines).split()) == sorted(piped.split()), f"{command} --help at {columns}: the same words")


def test_help_fits_a_screen(suite, folder):
    commands = re.findall(r"^  tinyort (\w+) .*  ?[A-Z]", suite.run("--help").out, re.M)
    suite.check(len(commands) > 12, f"commands: {commands}")
    pages = {command: suite.expect(0, f"usage: tinyort {command}", command, "--help").out for command in commands}
    for command, text in pages.items():
        suite.check(suite.run("help", command).out == text, f"help {command}")
    for command, text in {**pages, "": suite.run("--help").out}.items():
        suite.check(len(text.splitlines()) <= 46, f"{command} --help has {len(text.splitlines())} lines")
        longest = max(text.splitlines(), key=len)
        suite.check(len(longest) <= 100, f"{command} --help: {len(longest)} columns: {longest}")
    told = suite.run("providers", "--help").out
    for option in ("device=", "mem_limit=", "tf32=", "libraries=", "threads=", "isa=", "TINYORT_DISABLE"):
        suite.check(option in told, f"providers --help says nothing of {option}")
    known = [option for provider in suite.run("providers", "--json").json()["providers"] for option in provider["options"]]
    suite.check(all(f"{option}=" in told for option in known), f"providers --help: all of {known}")
    told = suite.run("run", "--help").out
    suite.check("TINYORT_DISABLE" in told and "cuda:device=1" in told and "providers --help" in told, "run --help tells of provider options")


def test_version(suite, folder):
    suite.expect(0, ["tinyort 0.", "commit", "gcc" if "gcc" in suite.run("version").out else "clang"], "version")
    suite.check(suite.run("--version").out == suite.run("version").out, "--version")
    told = suite.run("version", "--json").json()
    suite.check(re.fullmatch(r"[0-9a-f]{7,}(-dirty)?|unknown", told["commit"]), f"commit {told['commit']}")
    suite.check(told["opsets"]["ai.onnx"]["newest"] >= 26 and told["opsets"]["ai.onnx"]["oldest"] == 1, "opsets")
    suite.check(told["ir_versions"]["newest"] >= 13, "IR versions")
    suite.check(set(told["libraries"]) == {"libpng", "libjpeg", "zlib", "cJSON"}, "libraries")
    suite.check(all(told["libraries"].values()), "versions of libraries")
    suite.check(told["built_for"]["cpu"], "instruction sets")
    suite.expect(2, "takes no operand", "version", "x")


def test_output_that_cannot_be_written(suite, folder):
    with open("/dev/full", "w") as full:
        done = subprocess.run([suite.tinyort, "ops"], stdout=full, stderr=subprocess.PIPE, text=True)
        suite.check(done.returncode == 5 and "could not be written" in done.stderr, "output that cannot be written")


def test_reader_that_has_gone(suite, folder):
    for ignored in (False, True):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([suite.tinyort, "ops", "--json"], stdout=write, stderr=subprocess.PIPE, restore_signals=not ignored)
        os.close(write)
        suite.check(not done.stderr, f"a closed pipe is quiet (SIGPIPE ignored: {ignored}): {done.stderr}")
        suite.check(done.returncode == (141 if ignored else -13), f"its status is {done.returncode}")


def test_inspect_and_ops(suite, folder):
    told = suite.run("inspect", DIGITS, "--json", "--shape", "image=1x1x8x8").json()
    suite.check(told["parameters"] == 15338, "parameters of digits.onnx")
    macs = 64 * 16 * 9 + 16 * 32 * 16 * 9 + 4 * 32 * 32 * 9 + 128 * 10
    suite.check(told["flops"] == 2 * macs, f"FLOPs of digits.onnx: {told['flops']}, counted by hand {2 * macs}")
    names = suite.expect(0, "", "inspect", DIGITS, "--ops").out.split()
    suite.check(sorted(names) == sorted(entry["op"] for entry in told["operators"]), f"--ops lists each operator once: {names}")
    suite.expect(2, "lists names alone", "inspect", DIGITS, "--ops", "--width", "80")
    by_symbol = suite.run("inspect", DIGITS, "--json", "--shape", "N=1").json()
    suite.check(by_symbol["flops"] == 2 * macs, "FLOPs with the size of a dimension by its name")
    open_shape = suite.run("inspect", DIGITS, "--json").json()
    suite.check(open_shape["flops"] is None and open_shape["nodes_of_unknown_flops"] == 4, "FLOPs of an open shape are not known")
    flops = {operator["op"]: operator["flops"] for operator in open_shape["operators"]}
    suite.check(flops["Conv"] is None and flops["Gemm"] is None and flops["Relu"] == 0, f"nor are those of its operators: {flops}")
    suite.check(len(suite.run("ops", "--json").json()["operators"]) > 400, "ops --json")
    suite.expect(0, "operators", "ops")
    suite.expect(0, ["Conv", "? FLOPs"], "inspect", DIGITS)


def test_inspect_knows_what_a_plan_knows(suite, folder):
    """Shapes that constants decide, by way of nodes that the file says nothing of; products in bodies are not forgotten."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Slice", ["s", "zero", "one"], ["n"]),
             helper.make_node("Concat", ["n", "rest"], ["to"], axis=0), helper.make_node("Reshape", ["x", "to"], ["r"]),
             helper.make_node("MatMul", ["r", "w"], ["y"])]
    held = [weight("zero", np.array([0])), weight("one", np.array([1])), weight("rest", np.array([6])), weight("w", np.ones((6, 5), np.float32))]
    save_model(folder / "m.onnx", nodes, [floats("x", [4, 2, 3])], [floats("y", None)], weights=held)
    told = suite.run("inspect", folder / "m.onnx", "--json").json()
    suite.check(told["outputs"][0]["shape"] == [4, 5] and told["flops"] == 2 * 4 * 6 * 5, f"of a fixed shape: {told['outputs']}, {told['flops']}")
    branches = {name: helper.make_graph([helper.make_node("MatMul", ["x", "w"], [name])], name, [], [floats(name, None)])
                for name in ("then_branch", "else_branch")}
    save_model(folder / "m.onnx", [helper.make_node("If", ["c"], ["y"], **branches)], [floats("x", [4, 6]), tensor("c", TensorProto.BOOL, [])],
               [floats("y", None)], weights=held[3:])
    suite.expect(0, "without 2 nodes in bodies", "inspect", folder / "m.onnx")
    told = suite.run("inspect", folder / "m.onnx", "--json").json()
    suite.check(told["flops"] is None and told["nodes_of_unknown_flops"] == 2, f"of bodies: {told['flops']}")


def test_weights_in_constant_nodes(suite, folder):
    value = helper.make_tensor("w", TensorProto.FLOAT, [3, 4], [1.0] * 12)
    save_model(folder / "m.onnx", [helper.make_node("Constant", [], ["w"], value=value), helper.make_node("MatMul", ["x", "w"], ["y"])],
               [floats("x", [2, 3])], [floats("y", [2, 4])])
    told = suite.run("inspect", folder / "m.onnx", "--json").json()
    suite.check(told["parameters"] == 12 and told["parameter_bytes"] == 48, f"weights in a Constant node are counted: {told['parameters']}")


def test_inspect_shows_types_that_are_no_tensors(suite, folder):
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    types = {"s": sequence, "o": helper.make_optional_type_proto(sequence), "m": helper.make_map_type_proto(TensorProto.INT64, sequence)}
    inputs = [helper.make_value_info(name, type) for name, type in types.items()]
    outputs = [helper.make_value_info("t", sequence)]
    save_model(folder / "values.onnx", [helper.make_node("Identity", ["s"], ["t"])], inputs, outputs)
    told = suite.run("inspect", folder / "values.onnx", "--json").json()
    seen = [port["type"] for port in told["inputs"] + told["outputs"]]
    text = "seq(tensor(float))"
    suite.check(seen == [text, f"optional({text})", f"map(int64,{text})", text], f"types of values: {seen}")
    suite.expect(0, ["map(int64,seq(tensor(float)))", "optional(seq(tensor(float)))"], "inspect", folder / "values.onnx")

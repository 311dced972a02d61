"""Reading a plan: the summary of reasons, names that are shortened, lines that fit, what is left out."""

import re

import numpy as np
from onnx import TensorProto, helper

from suite import DIGITS, NO_CUDA, floats, save_model, tensor, unknown_operator, visible, weight

BOARD = ("--ep", "cuda,cpu", "--target", "cuda:sm_86")
LAYER = "/model/encoder/layers.{0}/self_attention/rotary_embedding/{1}"


def layers(path, count):
    """Layers as exporters name them: a Cast to string, which cuda refuses, between Relus."""
    nodes, value = [], "x"
    for i in range(count):
        for op, kind in (("Relu", None), ("Cast", TensorProto.STRING), ("Cast", TensorProto.FLOAT)):
            made = LAYER.format(i, f"{op}_{kind}_output_0")
            more = {} if kind is None else {"to": kind}
            nodes.append(helper.make_node(op, [value], [made], LAYER.format(i, f"{op}_{kind}"), **more))
            value = made
    save_model(path, nodes, [floats("x", ["batch", 7])], [floats(value, ["batch", 7])])


def lines_of(suite, *arguments, columns=100):
    status, seen = suite.terminal("plan", *arguments, columns=columns)
    return visible(seen).decode().splitlines()


def test_lines_fit_the_terminal(suite, folder):
    layers(folder / "m.onnx", 4)
    piped = suite.run("plan", folder / "m.onnx", *BOARD)
    wide, words = piped.out, set((piped.out + piped.err).split())
    suite.check(len(piped.err.splitlines()) == 1, "the placement line is one line in a pipe")
    suite.check(max(map(len, wide.splitlines())) > 150, "a pipe has no limit")
    for columns in (100, 80, 132):
        lines = lines_of(suite, folder / "m.onnx", *BOARD, columns=columns)
        table = list(lines)
        longest = max(table, key=len)
        suite.check(len(longest) <= columns, f"{columns} columns: {len(longest)}: {longest}")
        table.remove("… in front of a name stands for /model/encoder/")
        broken = [word for line in table for word in line.split() if word not in words and f"/model/encoder/{word}" not in words and "…" not in word and word != "..."]
        suite.check(not broken, f"{columns} columns: words that were broken: {broken[:5]}")
        suite.check(columns > 100 or any("layers.0" in line and "…" in line for line in table), "names are shortened in their middle")
    plain = suite.run("plan", folder / "m.onnx", *BOARD, "--width", "100").out
    suite.check(max(map(len, plain.splitlines())) <= 100, "--width limits a pipe")
    suite.check("\x1b" not in plain, "without colours")
    _, seen = suite.terminal("plan", folder / "m.onnx", *BOARD)
    suite.check(b"\x1b[32m" in seen, "a terminal has colours")
    _, seen = suite.terminal("plan", folder / "m.onnx", *BOARD, NO_COLOR="1")
    suite.check(b"\x1b[3" not in seen, "but for NO_COLOR")


def test_explanations_hang_below_themselves(suite, folder):
    layers(folder / "m.onnx", 1)
    lines = lines_of(suite, folder / "m.onnx", *BOARD, columns=80)
    start = next(i for i, line in enumerate(lines) if line.startswith("nodes  op"))
    column = lines[start].index("why")
    rows = lines[start + 1 : start + 1 + lines[start + 1 :].index("")]
    suite.check(any(re.match(" " * column + r"\S", row) for row in rows), f"a long reason goes on below its beginning: {rows}")
    suite.check(all(row[:column].strip() or row.startswith(" " * column) for row in rows), f"nothing hangs elsewhere: {rows}")


def test_reasons_come_first(suite, folder):
    layers(folder / "m.onnx", 12)
    out = suite.run("plan", folder / "m.onnx", *BOARD).out
    summary = out[: out.index(LAYER.format(0, "Relu_None"))]
    row = next((line for line in summary.splitlines() if re.match(r" +12  Cast-13  cpu +cuda: NO_TYPE", line)), "")
    suite.check(row, f"12 nodes, one reason, one row: {summary}")
    suite.check(len(summary.splitlines()) < 14, f"the summary is short: {len(summary.splitlines())} lines")
    told = suite.run("plan", folder / "m.onnx", *BOARD, "--json").json()
    cures = {v["cure"] for node in told["nodes"] for v in node["verdicts"] if v["cure"]}
    suite.check(all(f"-> {cure}" in summary for cure in cures), f"the summary has the cures: {cures}")


def test_numbers_do_not_part_reasons(suite, folder):
    """Two convolutions in groups, refused by each kernel for depthwise filters with other numbers."""
    w, v = np.zeros((4, 3, 1, 1), np.float32), np.zeros((4, 2, 1, 1), np.float32)
    nodes = [helper.make_node("Conv", [f"x{i}", name], [f"y{i}"], f"conv{i}") for i, name in enumerate("wv")]
    save_model(folder / "m.onnx", nodes, [floats("x0", [1, 3, 5, 5]), floats("x1", [1, 2, 5, 5])],
               [floats(f"y{i}", [1, 4, 5, 5]) for i in range(2)], weights=[weight("w", w), weight("v", v)])
    told = suite.run("plan", folder / "m.onnx", "--json", "--ep", "cpu").json()
    messages = [v["message"] for node in told["nodes"] for v in node["verdicts"] if v["kernel"] == "conv_depthwise"]
    suite.check(len(set(messages)) == 2, f"two nodes, refused for 3 and 2 channels: {messages}")
    suite.expect(0, f"conv_depthwise: NO_SHAPE {messages[0]} (numbers differ)", "plan", folder / "m.onnx", "--ep", "cpu", "--full")
    brief = suite.expect(0, "2 nodes were refused by kernels made for others (--full tells them)", "plan", folder / "m.onnx", "--ep", "cpu").out
    suite.check("conv_depthwise: NO_SHAPE" not in brief, f"which is no loss: {brief}")


def test_nodes_behind_an_unknown_one_are_one_row(suite, folder):
    unknown_operator(folder / "m.onnx", behind=233)
    plan = suite.expect(4, ["sinus", "+ 233 nodes behind sinus"], "plan", folder / "m.onnx")
    suite.check(len(plan.out.splitlines()) < 15, f"a plan of {len(plan.out.splitlines())} lines")
    for command in ("run", "bench"):
        result = suite.expect(4, ["sinus (my.Sinus-1)", "NO_OP", "tort_load_options.operators in C, by @tinyort.op in Python", "+ 233 nodes behind sinus"], command, folder / "m.onnx", *(("--random", "1") if command == "run" else ()))
        suite.check(len(result.err.splitlines()) <= 4, f"{command}: {len(result.err.splitlines())} lines on stderr")
        suite.check("234 nodes without a provider: sinus NO_OP and 233 behind it" in result.placements()[0], result.err)


def test_unknown_operators_are_grouped(suite, folder):
    nodes = [helper.make_node("Sinus", ["x"], [f"y{i}"], f"sinus_{i}", domain="my") for i in range(40)]
    save_model(folder / "m.onnx", nodes, [floats("x", [2])], [floats(f"y{i}", [2]) for i in range(40)], domains=["my"])
    result = suite.expect(4, "sinus_0, sinus_1, sinus_2 ... (40 my.Sinus-1)", "run", folder / "m.onnx", "--random", "1")
    suite.check(len(result.err.splitlines()) <= 4, f"{len(result.err.splitlines())} lines on stderr")
    suite.expect(4, "   40  my.Sinus-1  nowhere", "plan", folder / "m.onnx")


def test_operators_that_are_refused_by_name(suite, folder):
    node = helper.make_node("Conv", ["x"], ["y"], "conv", domain="com.microsoft.nchwc")
    save_model(folder / "m.onnx", [node], [floats("x", [2])], [floats("y", [2])], domains=["com.microsoft.nchwc"])
    why = "com.microsoft.nchwc::Conv is onnxruntime's own form for one kind of machine -> save the model at a lower optimization level"
    suite.expect(4, why, "run", folder / "m.onnx", "--random", "1")


def test_providers_that_say_the_same(suite, folder):
    unknown_operator(folder / "m.onnx")
    suite.expect(4, "cuda, cpu: NO_OP", "plan", folder / "m.onnx", *BOARD)
    told = suite.run("plan", folder / "m.onnx", *BOARD, "--json").json()
    suite.check([v["provider"] for v in told["nodes"][0]["verdicts"]] == ["cuda", "cpu"], "the JSON has each")


def test_many_reasons_are_cut(suite, folder):
    nodes = [helper.make_node(f"Sinus{'abcdefghijklmnopqrstuvwxyz'[i]}", ["x"], [f"y{i}"], domain="my") for i in range(25)]
    save_model(folder / "m.onnx", nodes, [floats("x", [2])], [floats(f"y{i}", [2]) for i in range(25)], domains=["my"])
    result = suite.expect(4, "... and 5 more operators and reasons", "run", folder / "m.onnx", "--random", "1")
    suite.check(len(result.err.splitlines()) <= 24, f"{len(result.err.splitlines())} lines on stderr")
    suite.check(suite.run("plan", folder / "m.onnx").out.count("my.Sinus") == 50, "the plan has all of them, twice")


def test_only(suite, folder):
    layers(folder / "m.onnx", 3)
    plan = ("plan", folder / "m.onnx", *BOARD)
    table = lambda result: result.out.split("\n\n")[2]
    fallback = table(suite.expect(0, "6 of 9 nodes (--only)", *plan, "--only", "fallback", "--pin", LAYER.format(0, "Cast_1") + "=cpu"))
    suite.check("Relu" not in fallback.replace("Relu_None_output", "") and "Cast_8" in fallback and "PINNED" in fallback, fallback)
    suite.expect(0, "0 of 8 nodes (--only)", "plan", DIGITS, "--only", "fallback")
    relus = table(suite.expect(0, "3 of 9 nodes (--only)", *plan, "--only", "Relu"))
    suite.check("Relu-14" in relus and "Cast-13" not in relus, relus)
    suite.expect(0, "9 of 9 nodes (--only)", *plan, "--only", "Relu", "--only", "Cast")
    none = suite.expect(0, "0 of 9 nodes (--only)", *plan, "--only", "unplaced")
    suite.check("\\" not in none.out + suite.run(*plan, "--only", "Relu").out, "line ends of our own are not escapes")
    unknown_operator(folder / "u.onnx", behind=3)
    suite.expect(4, ["1 of 4 nodes", "+ 3 nodes behind sinus"], "plan", folder / "u.onnx", "--only", "unplaced")


def test_a_node_takes_two_lines_at_most(suite, folder):
    """Long names, refusals and fusions: 100 columns are enough for a line a node, and what was cut is there when it is asked for."""
    layers(folder / "m.onnx", 20)
    lines = lines_of(suite, folder / "m.onnx", *BOARD, columns=100)
    start = next(i for i, line in enumerate(lines) if "runs on" in line and "kernel" in line)
    rows = lines[start + 1 : start + 1 + lines[start + 1 :].index("")]
    numbers = [i for i, row in enumerate(rows) if row[:4].strip().isdigit()]
    suite.check(len(numbers) == 60 and max(b - a for a, b in zip(numbers, numbers[1:] + [len(rows)])) <= 3, f"two lines, and one for a copy: {rows[:12]}")
    begin = [i for i, line in enumerate(lines) if line.startswith("provider")]
    suite.check(begin and begin[0] > start + 60, "what matters stands behind a list that scrolls away")
    by_number = suite.expect(0, "1 of 60 nodes (--only)", "plan", folder / "m.onnx", *BOARD, "--only", "#1").out
    suite.check("layers.0" in by_number and "layers.1" not in by_number, by_number)
    suite.expect(0, "3 of 60 nodes (--only)", "plan", folder / "m.onnx", *BOARD, "--only", "layers.7/")
    copies = suite.expect(0, "0 of 60 nodes (--only)", "plan", folder / "m.onnx", *BOARD, "--only", "copies").out
    made = len(suite.run("plan", folder / "m.onnx", *BOARD, "--json").json()["copies"])
    suite.check(copies.count("copy ") == made == 40 and "Relu-14" not in copies, f"the copies alone: {copies[:600]}")
    whole = suite.expect(0, "from conv1, relu1", "plan", DIGITS, "--only", "conv1").out
    suite.check("1 of 8 nodes" in whole, whole)


def test_copies_that_are_left_out_are_counted(suite, folder):
    names = [f"x{i}" for i in range(12)]
    nodes = [helper.make_node("Concat", names, ["y"], "join", axis=0)]
    save_model(folder / "m.onnx", nodes, [floats(name, [250]) for name in names], [floats("y", [3000])])
    plan = ("plan", folder / "m.onnx", "--ep", "cuda", "--target", "cuda:sm_86")
    suite.expect(0, ["copy 1.0 kB of 'x0'", "'x2' host->cuda ... and 9 more, 9.0 kB"], *plan)
    suite.check(len(suite.run(*plan, "--json").json()["copies"]) == 13, "the JSON has all of them")


def test_a_provider_that_is_down_is_told_once(suite, folder):
    layers(folder / "m.onnx", 2)
    out = suite.run("plan", folder / "m.onnx", "--ep", "cuda,cpu", **NO_CUDA).out
    suite.check(out.count("TINYORT_DISABLE") == 2, f"cause and cure, in one row: {out}")
    out = suite.expect(4, "6 nodes have no provider: nothing that could take them has opened", "plan", folder / "m.onnx", "--ep", "cuda", **NO_CUDA).out
    suite.check(out.count("TINYORT_DISABLE") == 2 and "cuda did not open" in out, f"also where nothing else is left: {out}")


def test_east_asian_names_are_aligned(suite, folder):
    nodes = [helper.make_node("Abs", ["x"], ["a"], "日本語"), helper.make_node("Neg", ["a"], ["y"], "a\u0308bc")]
    save_model(folder / "m.onnx", nodes, [floats("x", [2])], [floats("y", [2])])
    lines = suite.run("plan", folder / "m.onnx").out.splitlines()
    first, second = (next(line for line in lines if name in line) for name in ("日本語", "a\u0308bc"))
    # three wide characters take six columns, an accent none
    suite.check(first.index("Abs-13") + 3 == second.index("Neg-13") - 1, f"aligned as a terminal shows it:\n{first}\n{second}")


def test_host_memory(suite, folder):
    told = suite.run("plan", DIGITS, "--shape", "N=1", "--json").json()["host_memory"]
    parts = [told[key] for key in ("model", "weights", "session", "context", "arena")]
    suite.check(not told["grows"], "nothing in it depends on data")
    save_model(folder / "n.onnx", [helper.make_node("NonZero", ["x"], ["y"])], [floats("x", [4])], [tensor("y", TensorProto.INT64, [1, "n"])])
    suite.check(suite.run("plan", folder / "n.onnx", "--json").json()["host_memory"]["grows"], "how many there are, data tell")
    suite.expect(0, "what depends on data comes on top (--dynamic-limit)", "plan", folder / "n.onnx")
    suite.check(all(part > 0 for part in parts) and told["total"] == sum(parts), f"{told}")
    suite.expect(0, ["host memory:", "= model", "arena"], "plan", DIGITS, "--shape", "N=1")
    suite.check(suite.run("plan", DIGITS, "--json").json()["host_memory"]["total"] is None, "not known while a shape is open")
    suite.expect(0, ["host memory:  model", "once shapes are known"], "plan", DIGITS)


def test_what_a_node_is(suite, folder):
    """Operands with types and shapes, ranges of constants and attributes: one description, by plan --only, inspect --nodes, and their JSON."""
    node = helper.make_node
    w = np.array([[[[-2.5, 7]]]], np.float32)
    body = helper.make_graph([node("Neg", ["c"], ["n"], "inside")], "b", [], [floats("n", None)])
    other = helper.make_graph([node("Abs", ["c"], ["p"], "else_inside")], "e", [], [floats("p", None)])
    nodes = [node("Conv", ["x", "w"], ["c"], "conv", kernel_shape=[1, 2], strides=[1, 1]), node("If", ["yes"], ["i"], "choice", then_branch=body, else_branch=other),
             node("LeakyRelu", ["i"], ["l"], "leaky", alpha=0.25), node("Resize", ["l", "", "s"], ["y"], "grow", mode="nearest")]  # fmt: skip
    save_model(folder / "m.onnx", nodes, [floats("x", ["N", 1, 2, 4]), tensor("yes", TensorProto.BOOL, [])], [floats("y", None)], opset=13,
               weights=[weight("w", w), weight("s", np.array([1, 1, 2, 2], np.float32))])
    shown = ["in x: float Nx1x2x4; w: float 1x1x1x2, constant, -2.5 to 7", "out c: float Nx1x2x3", "kernel_shape = [1, 2]; strides = [1, 1]"]
    for only in ("conv", "#0"):
        suite.expect(0, shown, "plan", folder / "m.onnx", "--only", only)
    suite.expect(0, ["body 'choice/then_branch' of 1 nodes"], "plan", folder / "m.onnx", "--only", "choice")
    suite.expect(0, [*shown, "alpha = 0.25", "mode = 'nearest'", "(absent)", "inside"], "inspect", folder / "m.onnx", "--nodes")
    for command in (("plan",), ("inspect", "--nodes")):
        told = {item["path"]: item for item in suite.run(*command[:1], folder / "m.onnx", *command[1:], "--json").json()["nodes"]}
        suite.check(told["conv"]["inputs"][1] == {"name": "w", "type": "float", "shape": "1x1x1x2", "bytes": 8, "constant": True, "min": -2.5, "max": 7}, f"{told['conv']}")
        suite.check(told["grow"]["inputs"][1]["name"] == "" and told["leaky"]["attributes"] == ["alpha = 0.25"], f"{told['grow']}")
    suite.check(len(suite.run("plan", folder / "m.onnx", "--shape", "N=3", "--json").json()["nodes"][0]["outputs"]) == 1, "one output")
    joined = suite.expect(0, ["from conv1, relu1", "in image: float Nx1x8x8"], "plan", DIGITS, "--only", "#1").out
    suite.check("1 of 8 nodes (--only)" in joined and "0 of" not in joined, f"a node that was joined is found by its number: {joined}")
    nodes = [helper.make_node("Constant", [], ["two"], "held", value=weight("two", np.array(2, np.float32))), helper.make_node("Mul", ["x", "two"], ["y"], "twice")]
    save_model(folder / "f.onnx", nodes, [floats("x", [2])], [floats("y", [2])])
    suite.expect(0, ["held", "Constant-", "folded", "out two: float, constant, 2 to 2"], "plan", folder / "f.onnx", "--only", "#0")
    suite.expect(2, "--only #99: the model has the nodes #0 to #10", "plan", DIGITS, "--only", "#99")

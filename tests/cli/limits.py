"""Small files that ask for much time or memory: each is refused by a limit that has a name, and the node is told."""

import os
import resource
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper

from suite import DIGITS, SECONDS, case_folder, save_model, tensor

FLOAT, DOUBLE, INT64, STRING = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING


def write(path, nodes, inputs, outputs, weights=(), opset=21, domain=None):
    graph = helper.make_graph(nodes, "limits", inputs, outputs, list(weights))
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=9), path)
    return path


def chains(suite):
    """The processor, and a device before it where one is simulated."""
    return ["cpu"] if suite.run("providers", "--ep", "cudasim", "--require", "cudasim").status else ["cpu", "cudasim,cpu"]


def numbers(name, *values):
    return helper.make_tensor(name, INT64, [len(values)], values)


# What makes a run of minutes of a few inputs: operator, shapes of its inputs, attributes; where not floats, the type of these.
LONG = [
    ("MaxPool", [[1, 1, 2400, 2400]], {"kernel_shape": [1200, 1200]}),
    ("AveragePool", [[1, 1, 2400, 2400]], {"kernel_shape": [1200, 1200]}),
    ("LpPool", [[1, 1, 2400, 2400]], {"kernel_shape": [1200, 1200]}),
    ("Conv", [[1, 1, 2000, 2000], [1, 1, 700, 700]], {}, DOUBLE),
    ("ConvTranspose", [[1, 1, 1000, 1000], [1, 1, 700, 700]], {}, DOUBLE),
    ("DFT", [[1, 200003, 1]], {}),
    ("LRN", [[1, 20000, 50, 50]], {"size": 20001}),
    ("Einsum", [[4000, 4000], [4000, 4000]], {"equation": "ij,jk->ik"}, DOUBLE),
    ("Einsum", [[300, 300, 300], [300, 300, 300]], {"equation": "abc,dbe->"}, DOUBLE),
    ("MatMul", [[4000, 4000], [4000, 4000]], {}, DOUBLE),
    ("Gemm", [[4000, 4000], [4000, 4000]], {}, DOUBLE),
    ("Det", [[4000, 4000]], {}, DOUBLE),
    ("LSTM", [[40000, 1, 256], [1, 1024, 256], [1, 1024, 256]], {"hidden_size": 256}, DOUBLE),
    ("GRU", [[40000, 1, 256], [1, 768, 256], [1, 768, 256]], {"hidden_size": 256}, DOUBLE),
    ("RNN", [[90000, 1, 256], [1, 256, 256], [1, 256, 256]], {"hidden_size": 256}, DOUBLE),
    ("DeformConv", [[1, 16, 200, 200], [64, 16, 9, 9], [1, 162, 192, 192]], {}),
    ("Multinomial", [[10, 100000]], {"sample_size": 10000}),
    ("Unique", [[4000000]], {}),
]


def test_a_run_ends_inside_of_a_node(suite, folder):
    """Without the limit each takes from seconds to many minutes, in one node."""
    for index, (op, shapes, attributes, *kind) in enumerate(LONG):
        names = [f"x{i}" for i in range(len(shapes))]
        out = TensorProto.INT32 if op == "Multinomial" else kind[0] if kind else FLOAT
        model = write(folder / f"{index}.onnx", [helper.make_node(op, names, ["y"], op.lower(), **attributes)],
                      [tensor(name, kind[0] if kind else FLOAT, shape) for name, shape in zip(names, shapes)], [tensor("y", out, None)])
        for chain in ("cpu:threads=1:isa=plain", "cpu:threads=2"):
            if op in ("Conv", "MatMul", "Gemm", "Einsum", "DeformConv") and chain == "cpu:threads=2":
                continue
            result = suite.expect(5, [f'"{op.lower()}" ({op}-', "did not end within 0.1 s (option time_limit)"],
                                  "run", model, "--random", "1", "--ep", chain, "--time-limit", "0.1")
            suite.check(f'"{op.lower()}"' in result.err, f"{op}: the node is told")


def test_a_run_that_ends_in_time(suite, folder):
    model = write(folder / "short.onnx", [helper.make_node("Abs", ["x"], ["y"])], [tensor("x", FLOAT, [4])], [tensor("y", FLOAT, [4])])
    suite.expect(0, "placement", "run", model, "--random", "1", "--time-limit", "60")
    suite.expect(5, "making the session did not end within 1e-09 s", "run", model, "--random", "1", "--time-limit", "1e-9")
    told = suite.run("run", model, "--random", "1", "--time-limit", "1e-9", "--json")
    suite.check(told.status == 5 and told.json()["error"]["code"] == "TORT_E_CANCELLED", "it is in the JSON")
    suite.expect(2, "--time-limit", "run", model, "--random", "1", "--time-limit", "0")
    suite.expect(2, "--time-limit", "run", model, "--random", "1", "--time-limit", "soon")


MIB = 1 << 20
ONE_THREAD = "cpu:threads=1"  # stacks of others would count


def within(suite, most, *arguments):
    """Runs it with so many bytes of memory of its own."""
    done = subprocess.run([suite.tinyort, *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)))  # fmt: skip
    suite.check(done.returncode in (0, 2), f"{arguments} within {most} bytes: {done.returncode} {done.stderr[-300:]}")
    suite.check(len(done.stdout) < 16 * MIB, f"{arguments}: {len(done.stdout)} bytes are told")
    return done


def test_locks_take_what_they_have(suite, folder):
    """The most nodes that a file of the largest size can have, empty lines alone, fields of megabytes, a chain of them."""
    head, lock = "tinyort-lock 1\nchain\tcpu\n", folder / "junk.lock"
    few, long = "".join(f"n{i}\t\t\t\t\n" for i in range(999)), "z" * (3 * MIB)
    junk = {"nodes": head + "\t\t\t\t\n" * ((4 * MIB - len(head)) // 5), "lines": head + "\n" * (4 * MIB - len(head)),
            "name": head + few + f"{long}\ta\tb\tc\td\n", "op": head + few + f"z\t{long}\tb\tc\td\n", "provider": head + few + f"z\ta\t{long}\tc\td\n",
            "codes": head + few + f"z\ta\tb\tc\t{long}\n", "chain": head[:-4] + "cpu," * (MIB // 2) + "cpu\n"}  # fmt: skip
    for name, text in junk.items():
        lock.write_text(text)
        for form, gone in (((), "gone "), (("--json",), '"kind":"gone"'), (("--github",), " gone%3A ")):
            chain = () if name == "chain" else ("--ep", ONE_THREAD)
            done = within(suite, 32 * MIB + 24 * len(text), "plan", DIGITS, *chain, "--check", lock, *form)
            suite.check(done.returncode == 2 * (name == "chain"), f"{name} {form}: {done.returncode} {done.stderr[-300:]}")
            if name == "nodes":
                told = done.stdout.replace('": "', '":"').replace('":\t"', '":"').count(gone)
                suite.check(told == (1000 if form == ("--json",) else 1), f"{form}: {told} are told, those of one reason together")
    lock.write_text(junk["nodes"])
    suite.expect(0, "838855 gone, of which the first are told", "plan", DIGITS, "--check", lock)
    suite.check(suite.run("plan", DIGITS, "--check", lock, "--json").json()["check"]["gone"] == 838855, "all are counted")
    lock.write_text(head + "\n" * (4 * MIB))
    suite.expect(3, "4194304", "plan", DIGITS, "--check", lock)


def test_labels_take_what_they_have(suite, folder):
    labels = folder / "labels.txt"
    labels.write_bytes(b"\n" * (4 * MIB))
    within(suite, 32 * MIB + 9 * 4 * MIB, "run", DIGITS, "--ep", ONE_THREAD, "--random", "1", "--top", "1", "--labels", labels)
    labels.write_bytes(b"\n" * (4 * MIB + 1))
    suite.expect(3, "4194304", "run", DIGITS, "--random", "1", "--top", "1", "--labels", labels)


def test_data_sets_take_what_they_have(suite, folder):
    """One set at a time: strings, which take the fewest bytes in a file."""
    count = MIB // 2
    strings = helper.make_tensor("x", STRING, [count], [b""] * count).SerializeToString()
    ports = [tensor(name, STRING, [count]) for name in "xy"]
    save_model(folder / "model.onnx", [helper.make_node("Identity", ["x"], ["y"])], ports[:1], ports[1:])
    (folder / "strings.pb").write_bytes(strings)
    for number in range(100):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for name in ("input_0.pb", "output_0.pb"):
            os.link(folder / "strings.pb", data / name)
    done = within(suite, 16 * MIB + 256 * 2 * len(strings), "test", folder, "--ep", ONE_THREAD)
    suite.check("1 passed" in done.stdout, done.stdout + done.stderr)


def constants(count, op, shape, **attributes):
    fill = helper.make_tensor("value", FLOAT, [1], [1.0])
    nodes = []
    for i in range(count):
        nodes.append(helper.make_node("ConstantOfShape", ["shape"], [f"c{i}"], value=fill))
        nodes.append(helper.make_node(op, [f"c{i}"], [f"y{i}"], **attributes))
    nodes.append(helper.make_node("Sum", [f"y{i}" for i in range(count)], ["y"]))
    return nodes, numbers("shape", *shape)


def test_folding_is_bounded_in_work(suite, folder):
    """Each node folds in 10 to 200 ms; all of them would take minutes inside of `plan`, which runs nothing."""
    cases = [("DFT", [1, 7993, 1], {}, 900), ("AveragePool", [1, 1, 127, 127], {"kernel_shape": [127, 127], "pads": [63] * 4}, 900),
             ("LpPool", [1, 1, 127, 127], {"kernel_shape": [127, 127], "pads": [63] * 4}, 900)]
    for op, shape, attributes, count in cases:
        nodes, weight = constants(count, op, shape, **attributes)
        model = write(folder / f"{op}.onnx", nodes, [], [tensor("y", FLOAT, None)], [weight])
        told = suite.expect(0, "", "plan", model, "--json").json()
        nodes_left = sum(1 for node in told["nodes"] if node["op"] == op and node["provider"] == "cpu")
        suite.check(nodes_left > count // 2, f"{op}: {nodes_left} of {count} are left to the run")
        suite.expect(5, "did not end within 0.3 s", "run", model, "--time-limit", "0.3")


def test_text_is_charged(suite, folder):
    doubling = [helper.make_node("StringConcat", [f"s{i}", f"s{i}"], [f"s{i + 1}"], f"double{i}") for i in range(45)]
    word = helper.make_tensor("s0", STRING, [1], [b"hello"])
    constant = write(folder / "constant.onnx", doubling, [], [tensor("s45", STRING, [1])], [word])
    started = [helper.make_node("Cast", ["x"], ["s0"], to=STRING), *doubling]
    given = write(folder / "given.onnx", started, [tensor("x", FLOAT, [1])], [tensor("s45", STRING, [1])])
    for chain in chains(suite):
        for command in ([constant, "--ep", chain], [given, "--random", "1", "--ep", chain]):
            suite.expect(0, "placement", "plan", command[0])
            suite.expect(4, ['(StringConcat-', "sequences, maps and text need", "option dynamic_limit"], "run", *command)
            suite.expect(4, ["of at most 1048576 are in use"], "run", *command, "--dynamic-limit", "1M")


def growing(folder, kind):
    """A loop that appends its input to a sequence in each of a million trips."""
    body = helper.make_graph(
        [helper.make_node("SequenceInsert", ["before", "x"], ["after"], "insert"), helper.make_node("Identity", ["go"], ["on"])], "body",
        [tensor("i", INT64, []), tensor("go", TensorProto.BOOL, []), helper.make_tensor_sequence_value_info("before", kind, None)],
        [tensor("on", TensorProto.BOOL, []), helper.make_tensor_sequence_value_info("after", kind, None)])
    nodes = [helper.make_node("SequenceEmpty", [], ["empty"], dtype=kind), helper.make_node("Loop", ["trips", "", "empty"], ["all"], "loop", body=body),
             helper.make_node("SequenceLength", ["all"], ["y"])]
    trips = helper.make_tensor("trips", INT64, [], [1000000])
    return write(folder / "growing.onnx", nodes, [tensor("x", kind, [262144])], [tensor("y", INT64, [])], [trips])


def test_sequences_are_charged(suite, folder):
    model = growing(folder, FLOAT)
    for chain in chains(suite):
        suite.expect(4, ['/insert" (SequenceInsert-', "sequences, maps and text need 1048", "of at most 16777216 are in use"],
                     "run", model, "--random", "1", "--dynamic-limit", "16M", "--ep", chain)
        suite.expect(5, "all loops of the run have made 10 trips (option trip_limit)",
                     "run", model, "--random", "1", "--trip-limit", "10", "--ep", chain)


def nested(depth, counts):
    """A loop of loops, whose innermost body adds 1."""
    def body(level):
        names = [f"i{level}", f"go{level}", f"v{level}"]
        inner = [helper.make_node("Add", [names[2], "one"], [f"w{level}"], f"add{level}")]
        if level + 1 < depth:
            inner = [helper.make_node("Loop", ["trips", "", names[2]], [f"w{level}"], f"loop{level + 1}", body=body(level + 1))]
        inner.append(helper.make_node("Identity", [names[1]], [f"on{level}"]))
        return helper.make_graph(inner, f"body{level}", [tensor(names[0], INT64, []), tensor(names[1], TensorProto.BOOL, []), tensor(names[2], FLOAT, [])],
                                 [tensor(f"on{level}", TensorProto.BOOL, []), tensor(f"w{level}", FLOAT, [])])

    return [helper.make_node("Loop", ["trips", "", "x"], ["y"], "loop0", body=body(0))], [
        helper.make_tensor("trips", INT64, [], [counts]), helper.make_tensor("one", FLOAT, [], [1.0])]


def test_trips_are_counted_together(suite, folder):
    nodes, weights = nested(3, 10)
    model = write(folder / "nested.onnx", nodes, [tensor("x", FLOAT, [])], [tensor("y", FLOAT, [])], weights)
    nodes, weights = nested(6, 1000)
    endless = write(folder / "endless.onnx", nodes, [tensor("x", FLOAT, [])], [tensor("y", FLOAT, [])], weights)
    for chain in chains(suite):
        suite.expect(0, "placement", "run", model, "--random", "1", "--trip-limit", "1110", "--ep", chain)
        suite.expect(5, "all loops of the run have made 1109 trips", "run", model, "--random", "1", "--trip-limit", "1109", "--ep", chain)
        suite.expect(5, "did not end within 0.2 s", "run", endless, "--random", "1", "--time-limit", "0.2", "--ep", chain)


def test_many_symbols(suite, folder):
    """A comparison of all with all would take minutes; a suite that waits so long gives the program up."""
    count = 60000
    inputs = [tensor(f"x{i}", FLOAT, [f"s{i}"]) for i in range(count)]
    model = write(folder / "symbols.onnx", [helper.make_node("Identity", ["x0"], ["y"])], inputs, [tensor("y", FLOAT, ["s0"])])
    suite.expect(0, "x59999", "inspect", model)
    suite.expect(0, "placement", "plan", model)
    result = suite.expect(0, "placement", "run", model, "--random", "1", "--shape", "s7=3")
    suite.check("--shape x59999=1" in result.err, "sizes were made up for all")
    suite.expect(2, "no dimension 'nothing'", "run", model, "--random", "1", "--shape", "nothing=3")
    same = write(folder / "same.onnx", [helper.make_node("Abs", ["x0"], ["y"])], [tensor(f"x{i}", FLOAT, ["n"]) for i in range(count)], [tensor("y", FLOAT, ["n"])])
    suite.expect(0, "placement", "run", same, "--random", "1", "--shape", "x5=3")


def test_every_command_that_reads_a_model_has_limits(suite, folder):
    """`test` runs what strangers send; the others plan, which computes constants."""
    nodes, weights = nested(1, 1 << 30)
    def loop(path):
        write(path, nodes, [tensor("x", FLOAT, [])], [tensor("y", FLOAT, [])], weights)
    case = case_folder(folder / "loop", loop, [np.float32(1)], [np.float32(1)])
    suite.expect(5, ["FAIL", "all loops of the run have made 1000 trips (option trip_limit)", "1 of 1 case failed"], "test", case, "--trip-limit", "1000")
    suite.expect(5, ["FAIL", "the run did not end within 0.1 s (option time_limit)"], "test", case, "--time-limit", "0.1")
    one = case_folder(folder / "growing", lambda path: growing(path.parent, FLOAT).rename(path), [np.ones(262144, np.float32)], [np.array(1000000)])
    suite.expect(5, ["FAIL", "of at most 16777216 are in use (option dynamic_limit)"], "test", one, "--dynamic-limit", "16M")
    nodes, weight = constants(900, "AveragePool", [1, 1, 127, 127], kernel_shape=[127, 127], pads=[63] * 4)
    bomb = write(folder / "bomb.onnx", nodes, [], [tensor("y", FLOAT, None)], [weight])
    for command in ("plan", "inspect", "compile"):
        out = ["--output", folder / "out"] if command == "compile" else []
        suite.expect(5, "making the session did not end within 0.01 s (option time_limit)", command, bomb, "--time-limit", "0.01", *out)
    for command in ("run", "plan", "test", "compare", "bench", "inspect", "compile", "extract", "reduce"):
        told = suite.run(command, "--help").out
        suite.check(all(f"--{what}-limit" in told for what in ("dynamic", "trip", "time")), f"{command} --help tells of all limits")


def bodies(depth):
    """An If in an If in an If ..., in the bytes of its file: the package onnx reads fewer."""
    def field(number, content):
        size, length = len(content), b""
        while size > 127:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + content

    def branch(name, node):
        graph = field(1, node) + field(2, b"body") + field(12, field(1, b"out"))
        return field(5, field(1, name) + field(6, graph) + b"\xa0\x01\x05")

    node = helper.make_node("Abs", ["x"], ["out"]).SerializeToString()
    short = helper.make_node("Neg", ["x"], ["out"]).SerializeToString()
    for _ in range(depth):
        node = field(1, b"c") + field(2, b"out") + field(4, b"If") + branch(b"then_branch", node) + branch(b"else_branch", short)
    ports = [tensor("c", TensorProto.BOOL, []), tensor("x", FLOAT, [2])]
    graph = field(1, node) + field(2, b"g") + b"".join(field(11, port.SerializeToString()) for port in ports)
    graph += field(12, tensor("out", FLOAT, [2]).SerializeToString())
    return b"\x08\x09" + field(7, graph) + field(8, helper.make_opsetid("", 21).SerializeToString())


def test_the_smallest_stack(suite, folder):
    """The deepest nesting that is read, on the stack that loader/SECURITY.md asks for."""
    stack = 128 << 10
    (folder / "one_more.onnx").write_bytes(bodies(33))
    (folder / "deepest.onnx").write_bytes(bodies(32))
    suite.expect(3, "messages are nested more than 100 deep", "plan", folder / "one_more.onnx")
    for command in (["plan"], ["run", "--random", "1"], ["inspect"], ["compile", "--output", folder / "out"]):
        words = [suite.tinyort, command[0], folder / "deepest.onnx", *command[1:]]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (stack, stack)))
        suite.check(done.returncode == (4 if command[0] == "compile" else 0), f"{command[0]}: status {done.returncode}: {done.stderr[-300:]}")

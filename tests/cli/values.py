"""Sequences, optionals and maps as inputs and outputs: run, test, compare, bench, inspect."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from suite import floats, save_model

ONE, TWO = np.array([1], np.float32), np.array([[2, 3]], np.float32)
FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
SEQUENCE = helper.make_sequence_type_proto(FLOATS)


def value(name, kind):
    return helper.make_value_info(name, kind)


def appending(path):
    """A sequence, what is put behind it, and how many there are then; the optional decides nothing."""
    nodes = [helper.make_node("SequenceInsert", ["s", "x"], ["more"], "insert"), helper.make_node("SequenceLength", ["more"], ["length"], "count"),
             helper.make_node("OptionalHasElement", ["o"], ["has"], "ask")]
    inputs = [value("s", SEQUENCE), floats("x", [1, "n"]), value("o", helper.make_optional_type_proto(SEQUENCE))]
    outputs = [value("more", SEQUENCE), helper.make_tensor_value_info("length", TensorProto.INT64, []), helper.make_tensor_value_info("has", TensorProto.BOOL, [])]
    save_model(path, nodes, inputs, outputs, opset=18)


def split(path, parts=6):
    """A tensor becomes a sequence."""
    save_model(path, [helper.make_node("SplitToSequence", ["x"], ["parts"], "split")], [floats("x", [parts, 2])], [value("parts", SEQUENCE)])


def passing(path, kind):
    """A value of any type that goes through as it is: no operator of the main domain takes a map."""
    save_model(path, [], [value("v", kind)], [value("v", kind)])


def write(path, message):
    path.write_bytes(message.SerializeToString())
    return path


def sequence(path, *arrays):
    return write(path, numpy_helper.from_list(list(arrays), "s"))


def tensor_file(path, array):
    return write(path, numpy_helper.from_array(array, "x"))


def mapping(path, kind, keys, arrays):
    """numpy_helper.from_dict takes no strings of several lengths."""
    message = onnx.MapProto(key_type=kind, values=numpy_helper.from_list(list(arrays)))
    if kind == TensorProto.STRING:
        message.string_keys.extend(key.encode() for key in keys)
    else:
        message.keys.extend(keys)
    return write(path, message)


def prepared(folder):
    """The model and its files."""
    appending(folder / "m.onnx")
    return folder / "m.onnx", sequence(folder / "s.pb", ONE), tensor_file(folder / "x.pb", TWO)


def test_a_sequence_goes_in_and_comes_out(suite, folder):
    model, given, x = prepared(folder)
    result = suite.expect(0, ["seq(tensor(float))", "2 elements", "more[0]", "more[1]", "1x2"], "run", model, "--input", f"s={given}", "--input", f"x={x}",
                          "--save", folder / "out", "--format", "pb")
    suite.check("input 'o' is not given: an optional without an element" in result.err and "false" in result.out, result.out + result.err)
    made = numpy_helper.to_list(onnx.SequenceProto.FromString((folder / "out" / "output_0.pb").read_bytes()))
    suite.check(len(made) == 2 and np.array_equal(made[0], ONE) and np.array_equal(made[1], TWO), f"the sequence is saved: {made}")
    length = numpy_helper.to_array(TensorProto.FromString((folder / "out" / "output_1.pb").read_bytes()))
    suite.check(length == 2, f"the tensor beside it too: {length}")
    suite.expect(0, "3 elements", "run", model, "--input", folder / "out" / "output_0.pb", "--input", x)
    optional = write(folder / "o.pb", numpy_helper.from_optional([ONE, ONE], "o"))
    suite.expect(0, "true", "run", model, "--input", given, "--input", x, "--input", optional)
    suite.expect(0, "input 'x' is 1 x n: taken as 1x1", "run", model, "--input", given, "--random", "1")


def test_json_has_all_elements(suite, folder):
    split(folder / "m.onnx")
    outputs = suite.run("run", folder / "m.onnx", "--random", "1", "--json").json()["outputs"]
    suite.check(outputs[0]["name"] == "parts" and outputs[0]["type"] == "seq(tensor(float))" and len(outputs[0]["elements"]) == 6, str(outputs))
    suite.check(all(element["shape"] == [1, 2] and element["type"] == "float" and "max" in element for element in outputs[0]["elements"]), str(outputs))
    table = suite.run("run", folder / "m.onnx", "--random", "1").out
    suite.check("6 elements" in table and "parts[3]" in table and "parts[4]" not in table and "\n..." in table, f"a table has the first four: {table}")


def test_maps(suite, folder):
    for key, keys, shown in ((TensorProto.INT64, [7, -1], "v[7]"), (TensorProto.STRING, ["a", "\x1b[2J"], 'v["a"]')):
        passing(folder / "m.onnx", helper.make_map_type_proto(key, FLOATS))
        given = mapping(folder / "v.pb", key, keys, (ONE, TWO))
        result = suite.expect(0, ["map(", "2 elements", shown], "run", folder / "m.onnx", "--input", given)
        suite.check("\x1b" not in result.out, "keys are hostile")
        item = suite.run("run", folder / "m.onnx", "--input", given, "--json").json()["outputs"][0]
        suite.check(item["keys"] == [str(key) for key in keys] and item["elements"][1]["shape"] == [1, 2], str(item))


def classifier(path):
    """A map of words to numbers becomes a row, and the row a map of colours to scores, as classifiers give them."""
    words = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    colours = helper.make_map_type_proto(TensorProto.STRING, FLOATS)
    nodes = [helper.make_node("DictVectorizer", ["words"], ["row"], "row", domain="ai.onnx.ml", string_vocabulary=["a", "b"]),
             helper.make_node("LinearClassifier", ["row"], ["label", "scores"], "classify", domain="ai.onnx.ml", coefficients=[1.0, 0.0, 0.0, 1.0],
                              intercepts=[0.0, 0.5], classlabels_strings=["red", "\x1b[2Jblue"]),
             helper.make_node("ZipMap", ["scores"], ["chances"], "zip", domain="ai.onnx.ml", classlabels_strings=["red", "\x1b[2Jblue"])]
    outputs = [helper.make_tensor_value_info("label", TensorProto.STRING, [1]), value("chances", helper.make_sequence_type_proto(colours))]
    save_model(path, nodes, [value("words", words)], outputs, domains=["ai.onnx.ml"])


def test_a_classifier_takes_a_map_and_gives_maps(suite, folder):
    classifier(folder / "m.onnx")
    given = mapping(folder / "words.pb", TensorProto.STRING, ["b", "a", "unknown"], [np.float32(n) for n in (3, 1, 7)])
    row = 'chances[0]  map(string,tensor(float))       2 elements  "red": 1, "\\x1b[2Jblue": 3.5'
    result = suite.expect(0, ["1 element", row], "run", folder / "m.onnx", "--input", given, "--save", folder / "out", "--format", "pb")
    suite.check("\x1b" not in result.out, "labels are hostile")
    (made,) = onnx.SequenceProto.FromString((folder / "out" / "output_1.pb").read_bytes()).map_values
    scores = [numpy_helper.to_array(score) for score in made.values.tensor_values]
    suite.check(list(made.string_keys) == [b"red", b"\x1b[2Jblue"] and scores == [1, 3.5], f"the maps are saved: {made}")
    item = suite.run("run", folder / "m.onnx", "--input", given, "--json").json()["outputs"][1]
    suite.check(item["elements"][0] == {"type": "map(string,tensor(float))", "keys": ["red", "\x1b[2Jblue"], "values": [1, 3.5]}, str(item))
    suite.expect(2, ["output 'chances' is seq(map(string,tensor(float)))", "--format pb"], "run", folder / "m.onnx", "--input", given, "--save", folder / "no")
    suite.expect(2, ["input 'words' (map(string,tensor(float))) is not given", "--input words=FILE.pb"], "run", folder / "m.onnx")


def test_what_does_not_fit(suite, folder):
    model, given, x = prepared(folder)
    np.save(folder / "x.npy", TWO)
    np.savez(folder / "s.npz", s=TWO)
    wrong = write(folder / "wrong.pb", numpy_helper.from_list([np.array([1])], "s"))
    suite.expect(2, ["input 's' (seq(tensor(float))) is not given", "--input s=FILE.pb"], "run", model, "--input", f"x={x}")
    suite.expect(2, ["--random cannot fill input 's', which is seq(tensor(float))", "give it a file"], "run", model, "--random", "1")
    suite.expect(2, "which only a .pb file holds", "run", model, "--input", f"s={folder / 'x.npy'}")
    suite.expect(3, ["s.npz is a tensor", "input 's' wants seq(tensor(float)), from a .pb file"], "run", model, "--input", folder / "s.npz")
    suite.expect(3, ["wrong.pb", "a tensor of int64 where one of float belongs"], "run", model, "--input", f"s={wrong}")
    suite.expect(3, "x.pb", "run", model, "--input", f"s={x}")
    suite.expect(2, "input 's' is given twice", "run", model, "--input", f"s={given}", "--input", f"s={given}")
    suite.expect(2, "which has no shape to fix", "run", model, "--input", given, "--input", x, "--shape", "s=2")
    both = ("run", model, "--input", given, "--input", x)
    suite.expect(2, ["output 'more' is seq(tensor(float)), which .npy cannot hold", "--format pb"], *both, "--save", folder / "out")
    suite.check(not (folder / "out").exists(), "and that is known before the run")
    suite.expect(2, "--top: the first output is seq(tensor(float))", *both, "--top", "1")


# ---- test -------------------------------------------------------------------------------------------------------------


def splitting_case(folder, expected):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    split(folder / "model.onnx", 2)
    tensor_file(data / "input_0.pb", np.array([[1, 2], [3, 4]], np.float32))
    sequence(data / "output_0.pb", *(np.array(array, np.float32) for array in expected))
    return folder


def test_sequences_are_compared(suite, folder):
    suite.expect(0, "1 passed", "test", splitting_case(folder / "good", [[[1, 2]], [[3, 4.00001]]]))
    off = splitting_case(folder / "off", [[[1, 2]], [[3, 5]]])
    suite.expect(5, ["output 0 ('parts'): element 1: 1 of 2 elements differs", "is 4, expected 5"], "test", off)
    suite.expect(0, "1 passed", "test", off, "--atol", "1")
    suite.expect(0, "1 passed", "test", off, "--shapes-only")
    suite.expect(5, "has 2 elements, expected 1", "test", splitting_case(folder / "fewer", [[[1, 2]]]))
    flat = splitting_case(folder / "flat", [[1, 2], [3, 4]])
    for more in ((), ("--shapes-only",)):
        suite.expect(5, "element 0: is 1x2, expected 2", "test", flat, *more)


def test_types_are_compared(suite, folder):
    data = folder / "case" / "test_data_set_0"
    data.mkdir(parents=True)
    passing(folder / "case" / "model.onnx", helper.make_map_type_proto(TensorProto.INT64, FLOATS))
    mapping(data / "input_0.pb", TensorProto.INT64, [1, 2], (ONE, ONE))
    mapping(data / "output_0.pb", TensorProto.INT64, [1, 3], (ONE, ONE))
    suite.expect(5, ["its keys: 1 of 2 elements differs", "is 2, expected 3"], "test", folder / "case")
    mapping(data / "output_0.pb", TensorProto.INT64, [1, 2], (ONE, ONE))
    suite.expect(0, "1 passed", "test", folder / "case")
    write(data / "output_0.pb", numpy_helper.from_list([ONE], "v"))
    suite.expect(5, "reading data", "test", folder / "case")


# ---- the other commands -----------------------------------------------------------------------------------------------


def test_compare(suite, folder):
    model, given, x = prepared(folder)
    chains = ("--ep", "cpu", "--ep", "cpu:threads=1", "--input", given, "--input", x)
    suite.expect(0, ["3 values compared", "no node differs"], "compare", model, *chains)
    split(folder / "split.onnx")
    suite.expect(0, ["1 value compared", "no node differs"], "compare", folder / "split.onnx", "--ep", "cpu", "--ep", "cpu:threads=1")


def test_bench(suite, folder):
    model, given, x = prepared(folder)
    suite.expect(0, "ms", "bench", model, "--repeat", "3", "--input", given, "--input", x)
    suite.expect(2, "--random cannot fill input 's'", "bench", model, "--repeat", "3")
    split(folder / "split.onnx")
    result = suite.run("bench", folder / "split.onnx", "--repeat", "3", "--json")
    suite.check(result.status == 0 and result.json()["runs"] == 3, result.out + result.err)


def test_inspect(suite, folder):
    model, _, _ = prepared(folder)
    suite.expect(0, ["seq(tensor(float))", "optional(seq(tensor(float)))"], "inspect", model)


def test_loops_carry_sequences(suite, folder):
    """Control flow from the command line: a loop that makes a sequence, its length known only while it runs."""
    body = helper.make_graph([helper.make_node("SequenceInsert", ["in", "trip"], ["out"]), helper.make_node("Identity", ["go"], ["on"])], "body",
                             [helper.make_tensor_value_info("trip", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                              value("in", helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.INT64, [])))],
                             [helper.make_tensor_value_info("on", TensorProto.BOOL, []),
                              value("out", helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.INT64, [])))])
    nodes = [helper.make_node("SequenceEmpty", [], ["none"], "empty", dtype=TensorProto.INT64),
             helper.make_node("Loop", ["trips", "", "none"], ["all"], "loop", body=body)]
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.INT64, []))
    save_model(folder / "m.onnx", nodes, [helper.make_tensor_value_info("trips", TensorProto.INT64, [])], [value("all", kind)], opset=18)
    for trips in (0, 3):
        given = tensor_file(folder / "trips.pb", np.array(trips))
        elements = suite.run("run", folder / "m.onnx", "--input", given, "--json").json()["outputs"][0]["elements"]
        suite.check([element["max"] for element in elements] == list(range(trips)), f"{trips} trips: {elements}")

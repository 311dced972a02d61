"""`compare A.onnx B.onnx`, `compare --against DIR`, and the channel where a difference is."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from suite import DIGITS, SEVEN, floats, save_model, weight


def two_steps(path, factor, names=("x", "a", "b", "y"), channel=None):
    """y = relu(x * w) + 1, with w = factor, or only in one of the three channels."""
    x, a, b, y = names
    w = np.ones((3, 1, 1), np.float32)
    w[slice(None) if channel is None else channel] = factor
    nodes = [helper.make_node("Mul", [x, "w"], [a], "scale"), helper.make_node("Relu", [a], [b], "relu"), helper.make_node("Add", [b, "one"], [y], "add")]
    save_model(path, nodes, [floats(x, [1, 3, 4, 4])], [floats(y, [1, 3, 4, 4])], weights=[weight("w", w), weight("one", np.float32(1))])


def test_two_models(suite, folder):
    two_steps(folder / "a.onnx", 2)
    two_steps(folder / "b.onnx", 2)
    two_steps(folder / "c.onnx", 3)
    result = suite.expect(0, ["4 values compared", "b.onnx against ", "no node differs"], "compare", folder / "a.onnx", folder / "b.onnx")
    suite.check(len(result.placements()) == 2, "both placements")
    result = suite.expect(5, ["of the model's 1 output, 1 differs", "the first is node #0 scale", "'a' on "], "compare", folder / "a.onnx", folder / "c.onnx")
    told = suite.run("compare", folder / "a.onnx", folder / "c.onnx", "--json").json()
    suite.check(told["a"].endswith("a.onnx") and told["b"].endswith("c.onnx") and told["outputs_different"] == 1 and told["first"]["path"] == "scale", f"{told['first']}")
    suite.expect(0, "no node differs", "compare", folder / "a.onnx", folder / "b.onnx", "--ep", "cpu", "--ep", "cpu:isa=plain")


def test_models_of_other_names(suite, folder):
    """Inputs are found by place, outputs by their order; what is inside has no counterpart."""
    two_steps(folder / "a.onnx", 2)
    two_steps(folder / "b.onnx", 2, ("in", "p", "q", "out"))
    suite.expect(0, ["1 value compared", "no node differs"], "compare", folder / "a.onnx", folder / "b.onnx")
    two_steps(folder / "c.onnx", 4, ("in", "p", "q", "out"))
    suite.expect(5, ["the first is node #2 add", "'y' on "], "compare", folder / "a.onnx", folder / "c.onnx")
    save_model(folder / "swapped.onnx", [helper.make_node("Sub", ["p", "q"], ["r"])], [floats("q", [2]), floats("p", [2])], [floats("r", [2])])
    save_model(folder / "straight.onnx", [helper.make_node("Sub", ["p", "q"], ["s"])], [floats("p", [2]), floats("q", [2])], [floats("s", [2])])
    suite.expect(0, "no node differs", "compare", folder / "swapped.onnx", folder / "straight.onnx")
    suite.expect(3, "has 2 inputs and 1 outputs, the second 1 and 1", "compare", folder / "swapped.onnx", folder / "a.onnx")


def test_channels(suite, folder):
    two_steps(folder / "a.onnx", 1)
    two_steps(folder / "b.onnx", 5, channel=2)
    suite.expect(5, "in 1 of 3 channels, most of them in 2: 16", "compare", folder / "a.onnx", folder / "b.onnx", "--random", "x=1..2")


def test_against_files(suite, folder):
    """The files of --dump, and a framework's array in place of one of them."""
    suite.expect(0, "11 values written", "run", DIGITS, "--input", SEVEN, "--dump", f"all={folder}/d")
    suite.expect(0, ["11 values compared, cpu against ", "no node differs"], "compare", DIGITS, "--input", SEVEN, "--against", folder / "d")
    suite.expect(0, "11 values compared", "compare", DIGITS, "--ep", "cpu:isa=plain", "--input", SEVEN, "--against", folder / "d")
    array = np.load(folder / "d/pool1_out.npy")
    array[0, 3, 1, 1] += 1
    np.save(folder / "d/pool1_out.npy", array)
    result = suite.expect(5, ["1 differ; the first is node #2 pool1", "in 1 of 16 channels, most of them in 3: 1"], "compare", DIGITS, "--input", SEVEN, "--against", folder / "d")
    suite.check(len(result.placements()) == 1, "one run")
    told = suite.run("compare", DIGITS, "--input", SEVEN, "--against", folder / "d", "--json").json()
    suite.check(told["different"] == 1 and told["a"] == str(folder / "d") and told["b"] == "cpu", f"{told}")
    np.save(folder / "d/pool1_out.npy", array[:, :1])
    suite.expect(5, "is 1x16x4x4, expected 1x1x4x4", "compare", DIGITS, "--input", SEVEN, "--against", folder / "d")
    (folder / "d/pool1_out.npy").write_bytes(b"nothing")
    suite.expect(3, "pool1_out.npy", "compare", DIGITS, "--input", SEVEN, "--against", folder / "d")
    (folder / "empty").mkdir()
    suite.expect(3, "no file in ", "compare", DIGITS, "--input", SEVEN, "--against", folder / "empty")
    suite.expect(3, "cannot read the folder", "compare", DIGITS, "--input", SEVEN, "--against", folder / "none")


def test_against_what_run_saved(suite, folder):
    """output_0.npy is the first output; files of no value are told; with index.tsv, names are names."""
    against = ("compare", DIGITS, "--input", SEVEN, "--against", folder / "d")
    for form, ending in (("npy", "npy"), ("pb", "pb")):
        suite.expect(0, "", "run", DIGITS, "--input", SEVEN, "--save", folder / "d", "--format", form)
        for only in ((), ("--outputs-only",)):
            suite.expect(0, ["1 value compared", "differs"], *against, *only)
        (folder / f"d/output_0.{ending}").rename(folder / f"d/logit.{ending}")
        suite.expect(3, ["no value of the model has a file", f"logit.{ending}"], *against)
        (folder / f"d/logit.{ending}").unlink()
    suite.expect(0, "", "run", DIGITS, "--input", SEVEN, "--save", folder / "d")
    np.save(folder / "d/logit.npy", np.zeros(3, np.float32))
    result = suite.expect(0, "1 value compared", *against)
    suite.check("not compared, as no value has this name: logit.npy" in result.err, result.err)
    array = np.load(folder / "d/output_0.npy")
    np.save(folder / "d/output_0.npy", array + 1)
    suite.expect(5, ["1 differ", "of the model's 1 output, 1 differs"], *against)
    (folder / "d/index.tsv").write_text("")
    suite.expect(3, "no value of the model has a file", *against)
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [2])
    save_model(folder / "s.onnx", [helper.make_node("SequenceConstruct", ["x", "x"], ["s"])], [floats("x", [2])], [sequence])
    suite.expect(0, "", "run", folder / "s.onnx", "--random", "1", "--save", folder / "s", "--format", "pb")
    suite.expect(0, "1 value compared", "compare", folder / "s.onnx", "--random", "1", "--against", folder / "s")
    suite.expect(5, "1 differ", "compare", folder / "s.onnx", "--random", "2", "--against", folder / "s")


def test_a_tolerance_grows_with_the_range(suite, folder):
    """What is off by one bit of the largest element is equal near 0, too; not beside a mask of -1e9, nor where --atol says so."""
    save_model(folder / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [floats("x", [4])], [floats("y", [4])])
    for values, off, given, status in (([413.8, -2.25, 0, 1], 0.000147, (), 0), ([413.8, -2.25, 0, 1], 0.000147, ("--atol", "1e-4"), 5), ([1, 0.5, 0, 1], 0.000147, (), 5),
                                       ([-1e9, 0.5, 0, 1], 0.000147, (), 5), ([-np.inf, 0.5, 0, 1], 0.000147, (), 5), ([413.8, -2.25, 0, 1], 0.1, (), 5), ([9999, 0.5, 0, 1], 0.9, (), 0)):
        array = np.array(values, np.float32)
        np.save(folder / "x.npy", array)
        (folder / "d").mkdir(exist_ok=True)
        array[2] += off
        np.save(folder / "d/y.npy", array)
        suite.expect(status, "1 value compared", "compare", folder / "m.onnx", "--input", folder / "x.npy", "--against", folder / "d", *given)
        case = folder / "case"
        (case / "test_data_set_0").mkdir(parents=True, exist_ok=True)
        save_model(case / "model.onnx", [helper.make_node("Identity", ["x"], ["z"]), helper.make_node("Identity", ["z"], ["y"])], [floats("x", [4])], [floats("y", [4])])
        for name, data in (("input_0", np.load(folder / "x.npy")), ("output_0", array)):
            (case / f"test_data_set_0/{name}.pb").write_bytes(numpy_helper.from_array(data).SerializeToString())
        suite.expect(status, "", "test", case, *given)


def test_what_is_refused(suite, folder):
    suite.expect(2, "one model, one --ep", "compare", DIGITS, "--ep", "cpu", "--ep", "cpu", "--against", folder)
    suite.expect(2, "two models at a time", "compare", DIGITS, DIGITS, DIGITS)
    suite.expect(2, "compares two chains", "compare", DIGITS)
    suite.expect(3, "there is no file", "compare", DIGITS, folder / "none.onnx")

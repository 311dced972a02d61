"""Inputs at random: sizes of dimensions, and integers that are indices, lengths, sizes or masks."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from suite import floats, save_model, tensor, weight

INT = TensorProto.INT64


def saved(suite, folder, model, *arguments):
    """Output 0 of a run with random inputs that must succeed."""
    suite.expect(0, "placement", "run", model, "--save", folder / "saved", *arguments)
    path = folder / "saved" / "output_0.npy"
    array = np.load(path) if path.exists() else None
    path.unlink(missing_ok=True)
    return array


def embeddings(path):
    """What exporters make of BERT: three tables of different sizes, a mask, positions that are moved on by a constant."""
    node = helper.make_node
    nodes = [
        node("Gather", ["words", "input_ids"], ["a"]),
        node("Cast", ["token_type_ids"], ["types32"], to=TensorProto.INT32),
        node("Gather", ["types", "types32"], ["b"]),
        node("Unsqueeze", ["position_ids", "axes"], ["unsqueezed"]),
        node("Squeeze", ["unsqueezed", "axes"], ["squeezed"]),
        node("Add", ["squeezed", "two"], ["moved"]),
        node("Gather", ["positions", "moved"], ["c"]),
        node("Sum", ["a", "b", "c"], ["sum"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["mask", "last"], ["wide"]),
        node("Mul", ["sum", "wide"], ["y"]),
    ]
    names = ("input_ids", "token_type_ids", "position_ids", "attention_mask")
    weights = [weight("words", np.ones((3000, 4), np.float32)), weight("types", np.ones((2, 4), np.float32)),
               weight("positions", np.ones((5, 4), np.float32)), weight("axes", np.array([0])), weight("last", np.array([2])),
               weight("two", np.array(2))]
    save_model(path, nodes, [tensor(name, INT, ["batch", "sequence"]) for name in names], [floats("y", ["batch", "sequence", 4])], weights=weights)


def test_indices_are_in_range(suite, folder):
    model = folder / "embeddings.onnx"
    embeddings(model)
    for seed in range(5):
        result = saved(suite, folder, model, "--random", seed, "--shape", "batch=2", "--shape", "sequence=50")
        suite.check(result is not None and (result == 3).all(), "nothing is masked, and every index is in range")
    suite.expect(5, ["is not in", "--random token_type_ids=0..1"], "run", model, "--random", "1", "--random", "token_type_ids=7..7")
    suite.expect(0, "ms", "bench", model, "--repeat", "2", "--shape", "sequence=20")
    suite.expect(0, "no node differs", "compare", model, "--ep", "cpu", "--ep", "cpu:threads=1", "--shape", "sequence=20")


def test_ranges_by_name(suite, folder):
    inputs = [tensor("i", INT, [1000]), floats("f", [1000]), tensor("small", TensorProto.UINT8, [1000])]
    nodes = [helper.make_node("Cast", [name], [f"y_{name}"], to=TensorProto.DOUBLE) for name in ("i", "f", "small")]
    nodes.append(helper.make_node("Concat", ["y_i", "y_f", "y_small"], ["y"], axis=0))
    save_model(folder / "m.onnx", nodes, inputs, [tensor("y", TensorProto.DOUBLE, [3000])])
    result = saved(suite, folder, folder / "m.onnx", "--random", "i=-3..4", "--random", "f=-2.5..-1", "--random", "7", "--random", "small=9")
    suite.check(set(result[:1000]) == set(range(-3, 5)), "whole numbers, both ends included")
    suite.check((result[1000:2000] >= -2.5).all() and (result[1000:2000] <= -1).all() and result[1000:2000].std() > 0.3, "floats")
    suite.check((result[2000:] == 9).all(), "a single value")
    plain = saved(suite, folder, folder / "m.onnx", "--random", "7")
    suite.check(set(plain[:1000]) == set(range(10)) and plain[1000:2000].max() < 1, "without a range")
    suite.check(np.array_equal(plain, saved(suite, folder, folder / "m.onnx", "--random", "7")), "a seed is a seed")
    suite.check(not np.array_equal(plain, saved(suite, folder, folder / "m.onnx", "--random", "8")), "another is another")
    suite.expect(2, "takes whole numbers from 0 to 255", "run", folder / "m.onnx", "--random", "small=0..256")
    suite.expect(2, "takes whole numbers", "run", folder / "m.onnx", "--random", "i=0.5..2")
    suite.expect(2, "a range as in NAME=0..9", "run", folder / "m.onnx", "--random", "i=5..2")
    suite.expect(2, "a range as in NAME=0..9", "run", folder / "m.onnx", "--random", "i=")


def test_the_input_to_blame(suite, folder):
    """The input whose numbers decide, behind other nodes, and all the numbers that would do; not the first that is at random."""
    node = helper.make_node
    nodes = [node("Gather", ["table", "chars"], ["embedded"]), node("Transpose", ["embedded"], ["x"], perm=[1, 0, 2]),
             node("Mul", ["lengths", "three"], ["more"]), node("Cast", ["more"], ["lens"], to=TensorProto.INT32),
             node("LSTM", ["x", "w", "r", "", "lens"], ["", "y"], hidden_size=2)]  # fmt: skip
    weights = [weight("table", np.zeros((20, 3), np.float32)), weight("w", np.zeros((1, 8, 3), np.float32)), weight("r", np.zeros((1, 8, 2), np.float32)), weight("three", np.array(3))]
    save_model(folder / "m.onnx", nodes, [tensor("chars", INT, [1, 4]), tensor("lengths", INT, [1])], [floats("y", None)], weights=weights)
    suite.expect(5, ['the numbers come from input "lengths"', "--random lengths=0..4 or"], "run", folder / "m.onnx", "--random", "lengths=3..9")
    suite.expect(0, "placement", "run", folder / "m.onnx", "--random", "lengths=0..1")
    suite.expect(5, ['the numbers come from input "chars"', "--random chars=0..19 or"], "run", folder / "m.onnx", "--random", "chars=572..572", "--random", "lengths=1..1")
    np.save(folder / "c.npy", np.full((1, 4), 572))
    result = suite.run("run", folder / "m.onnx", "--input", f"chars={folder}/c.npy", "--random", "lengths=1..1")
    suite.check('the numbers come from input "chars"' in result.err and "--random" not in result.err, f"a file is no random input: {result.err}")


def one_integer_input(path, node, out, weights=(), shape=(1,), kind=INT):
    out_type, out_shape = out
    save_model(path, [node], [tensor("k", kind, list(shape))], [tensor("y", out_type, out_shape)], weights=weights)


def test_sizes_and_shapes(suite, folder):
    """An integer that is the size of something, a target of a Reshape, an axis, a length: a value that works."""
    data, node, model = weight("data", np.ones((4, 6), np.float32)), helper.make_node, folder / "m.onnx"
    cases = [
        (node("Reshape", ["data", "k"], ["y"]), ["a", "b", "c"], [3]),
        (node("Expand", ["data", "k"], ["y"]), [4, 6], [2]),
        (node("Tile", ["data", "k"], ["y"]), ["a", "b"], [2]),
        (node("ConstantOfShape", ["k"], ["y"]), ["a", "b"], [2]),
        (node("GatherND", ["data", "k"], ["y"]), [3, "c"], [3, 1]),
        (node("GatherElements", ["data", "k"], ["y"], axis=1), [4, 3], [4, 3]),
        (node("CumSum", ["data", "k"], ["y"]), [4, 6], []),
        (node("Unsqueeze", ["data", "k"], ["y"]), ["a", "b", "c"], [1]),
    ]
    for made, out, shape in cases:
        one_integer_input(model, made, (TensorProto.FLOAT, out), [data], shape)
        for seed in (1, 2, 3):
            suite.expect(0, "placement", "run", model, "--random", seed)
    one_integer_input(model, node("OneHot", ["k", "depth", "values"], ["y"]), (TensorProto.FLOAT, [50, 3]), [weight("depth", np.array(3)), weight("values", np.array([0, 1], np.float32))], [50])
    suite.check((saved(suite, folder, model, "--random", "1").sum(1) == 1).all(), "indices of OneHot are below its depth")


def test_sizes_of_dimensions(suite, folder):
    inputs = [floats(name, ["n"]) for name in ("a", "b")]
    save_model(folder / "sum.onnx", [helper.make_node("Add", ["a", "b"], ["y"])], inputs, [floats("y", ["n"])])
    run = ("run", folder / "sum.onnx", "--random", "1")
    np.save(folder / "four.npy", np.ones(4, np.float32))
    suite.expect(0, "float  3 ", *run, "--shape", "b=3")
    suite.expect(0, "float  5 ", *run, "--shape", "n=5")
    suite.expect(0, "float  4 ", *run, "--input", f"b={folder}/four.npy")
    suite.expect(0, "taken as 1\n", *run)
    suite.expect(3, "four.npy is 4, and input 'b' wants 5", *run, "--input", f"b={folder}/four.npy", "--shape", "n=5")
    told = suite.run("plan", folder / "sum.onnx", "--shape", "n=5", "--json").json()
    suite.check(told["memory"]["cpu"]["peak"] is not None, "a plan with the size of a dimension is complete")
    save_model(folder / "both.onnx", [helper.make_node("Abs", ["n"], ["y"])], [floats("n", ["n", "m"])], [floats("y", ["n", "m"])])
    suite.expect(0, "float  2x3 ", "run", folder / "both.onnx", "--random", "1", "--shape", "n=2x3")
    suite.expect(2, "does not fit", "run", folder / "both.onnx", "--random", "1", "--shape", "n=2")


def conv_net(path, kernel, name="images"):
    """Of pictures of any size, halved twice: multiples of 4 alone come out as they went in."""
    node = helper.make_node
    nodes = [
        node("Conv", [name, "w"], ["a"], kernel_shape=[kernel, kernel], pads=[0, 0, 0, 0]),
        node("MaxPool", ["a"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    save_model(path, nodes, [floats(name, ["batch", 3, "height", "width"])], [floats("y", ["batch", 4, None, None])],
               weights=[weight("w", np.ones((4, 3, kernel, kernel), np.float32))])


def test_sizes_are_found(suite, folder):
    conv_net(folder / "m.onnx", 5)
    result = suite.expect(0, ["taken as 1x3x8x8", "--shape images=1x3x8x8"], "run", folder / "m.onnx", "--random", "1")
    suite.check(result.err.count("taken as") == 1, "what was tried before is not told")
    suite.expect(0, "taken as 1x3x8x8", "bench", folder / "m.onnx", "--repeat", "1")
    suite.expect(0, "taken as 1x3x8x8", "compare", folder / "m.onnx", "--ep", "cpu", "--ep", "cpu:threads=1")
    suite.expect(0, "taken as 1x3x16x8", "run", folder / "m.onnx", "--random", "1", "--shape", "height=16")
    conv_net(folder / "large.onnx", 2000)
    suite.expect(2, ["found no sizes", "--shape", "the window spans 2000"], "run", folder / "large.onnx", "--random", "1")


def test_a_size_that_leaves_nothing_is_none(suite, folder):
    """A picture of one pixel has no window of two: its mean is that of nothing. Inside of a run, the sizes are those of a run."""
    node = helper.make_node
    nodes = [node("MaxPool", ["x"], ["a"], kernel_shape=[2, 2], strides=[2, 2]), node("ReduceMean", ["a"], ["y"], axes=[2, 3])]
    save_model(folder / "m.onnx", nodes, [floats("x", ["N", 3, "H", "W"])], [floats("y", None)], opset=13)
    suite.check(np.isfinite(saved(suite, folder, folder / "m.onnx", "--random", "1")).all(), "a mean of something")
    for option in (("--stats",), ("--expect", "finite"), ("--dump", f"all={folder}/d")):
        suite.expect(0, "taken as 1x3x2x2", "run", folder / "m.onnx", "--random", "1", *option)
    nodes = [node("NonZero", ["x"], ["i"]), node("ReduceSum", ["x"], ["y"], keepdims=0)]
    save_model(folder / "e.onnx", nodes, [floats("x", ["N", "C"])], [floats("y", None), tensor("i", INT, None)], opset=13)
    suite.expect(0, "taken as 1x1", "run", folder / "e.onnx", "--random", "x=0..0")
    # A size that only folding makes known: the window is as wide as a constant that an If chooses.
    window = lambda size: helper.make_graph([node("Constant", [], ["p"], value=weight("p", np.array([0, 0, 0, size], np.int64)))], "b", [], [tensor("p", INT, [4])])
    nodes = [node("Constant", [], ["yes"], value=weight("yes", np.array(True))), node("If", ["yes"], ["pads"], then_branch=window(-3), else_branch=window(0)),
             node("Pad", ["x", "pads"], ["y"]), node("ReduceMean", ["y"], ["z"])]
    save_model(folder / "p.onnx", nodes, [floats("x", ["N", "L"])], [floats("z", None)], opset=13)
    told = suite.run("run", folder / "p.onnx", "--random", "1").err.splitlines()[0]
    for option in (("--stats",), ("--expect", "finite")):
        suite.expect(0, told, "run", folder / "p.onnx", "--random", "1", *option)
    suite.expect(0, told, "compare", folder / "p.onnx", "--ep", "cpu", "--ep", "cpu:threads=1", "--random", "1")


def test_sizes_that_differ(suite, folder):
    """A state has the width of the model, which no picture has: one dimension is large, the other is 1."""
    nodes = [helper.make_node("Conv", ["audio", "w"], ["a"], kernel_shape=[100]), helper.make_node("Mul", ["a", "state"], ["y"])]
    save_model(folder / "m.onnx", nodes, [floats("audio", ["batch", 1, "samples"]), floats("state", ["batch", 4, "lanes"])],
               [floats("y", ["batch", 4, None])], weights=[weight("w", np.ones((4, 1, 100), np.float32))])
    suite.expect(0, ["audio=1x1x128", "state=1x4x1"], "run", folder / "m.onnx", "--random", "1")


def test_a_number_that_is_compared(suite, folder):
    """A sampling rate, say: the one that the model knows."""
    nodes = [helper.make_node("Equal", ["rate", "known"], ["e"]), helper.make_node("Cast", ["e"], ["y"], to=INT)]
    save_model(folder / "m.onnx", nodes, [tensor("rate", INT, [])], [tensor("y", INT, [])], weights=[weight("known", np.array(16000))])
    result = saved(suite, folder, folder / "m.onnx", "--random", "5")
    suite.check(result == 1, f"the constant that an input is compared with is given: {result}")


def test_sound(suite, folder):
    """A front end drops the first 400 samples, and says how many are left: with fewer, one of its outputs is empty."""
    nodes = [helper.make_node("Slice", ["sound", "from", "to", "axis"], ["rest"]), helper.make_node("Shape", ["rest"], ["left"])]
    save_model(folder / "m.onnx", nodes, [floats("sound", ["batch", "samples"])], [floats("rest", ["batch", "n"]), tensor("left", TensorProto.INT64, [2])],
               weights=[weight("from", np.array([400])), weight("to", np.array([2**31])), weight("axis", np.array([1]))])  # fmt: skip
    suite.expect(0, "taken as 1x416", "run", folder / "m.onnx", "--random", "1")

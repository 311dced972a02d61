"""`tinyort extract`: a part of a model with its values; and what `tinyort reduce` refuses (tests/reduce has its networks)."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from suite import DIGITS, SEVEN, floats, save_model, tensor, weight


def data_of(folder, what):
    paths = sorted((folder / "test_data_set_0").glob(f"{what}_*.pb"))
    return [numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes())) for path in paths]


def test_between_two_values(suite, folder):
    piece = folder / "p/model.onnx"
    suite.expect(0, f"{piece}: 6 of 11 nodes, 1 input, 1 output", "extract", DIGITS, "--input", SEVEN, "--from", "pool1_out", "--to", "features", "-o", piece)
    model = onnx.load(piece)
    onnx.checker.check_model(model, full_check=True)
    suite.check([node.name for node in model.graph.node] == ["conv2", "relu2", "pool2", "conv3", "relu3", "flatten"], "its nodes")
    suite.check({array.name for array in model.graph.initializer} == {"conv2.w", "conv2.b", "conv3.w", "conv3.b"} or len(model.graph.initializer) == 4, "its weights alone")
    (given,), (made,) = data_of(folder / "p", "input"), data_of(folder / "p", "output")
    suite.check(np.allclose(ReferenceEvaluator(model).run(None, {"pool1_out": given})[0], made, atol=1e-4), "as onnx computes it")
    suite.expect(0, "1 passed", "test", folder / "p")
    told = suite.run("extract", DIGITS, "--input", SEVEN, "--to", "scores", "--to", "pool1_out", "--output", piece, "--json").json()
    suite.check((told["nodes"], told["inputs"], told["outputs"], told["piece"]) == (10, ["image"], ["scores", "pool1_out"], str(piece)), f"{told}")


def test_bodies_and_constants(suite, folder):
    """What a body reads from around it is an input of its node; initializers and constants come along."""
    then = helper.make_graph([helper.make_node("Add", ["a", "w"], ["t"])], "then", [], [floats("t", [2])])
    other = helper.make_graph([helper.make_node("Identity", ["b"], ["e"])], "else", [], [floats("e", [2])])
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"]), helper.make_node("Exp", ["b"], ["unused"]),
             helper.make_node("Constant", [], ["one"], value=numpy_helper.from_array(np.ones(2, np.float32))),
             helper.make_node("If", ["c"], ["d"], "choice", then_branch=then, else_branch=other), helper.make_node("Mul", ["d", "one"], ["y"])]
    save_model(folder / "m.onnx", nodes, [floats("x", [2]), tensor("c", TensorProto.BOOL, [])], [floats("y", [2]), floats("unused", [2])],
               weights=[weight("w", np.array([5, 6], np.float32))])
    piece = folder / "p.onnx"
    suite.expect(0, "3 of 6 nodes, 3 inputs", "extract", folder / "m.onnx", "--from", "a", "--from", "b", "--to", "y", "-o", piece)
    model = onnx.load(piece)
    onnx.checker.check_model(model)
    suite.check({value.name for value in model.graph.input} == {"a", "b", "c"} and [array.name for array in model.graph.initializer] == ["w"], f"{model.graph.input}")
    suite.expect(0, "4 of 6 nodes", "extract", folder / "m.onnx", "--from", "a", "--to", "y", "-o", piece)
    suite.expect(0, "no node differs", "compare", piece, "--ep", "cpu", "--ep", "cpu:isa=plain")


def test_weights_of_other_files(suite, folder):
    """They become part of the piece, which so can be anywhere."""
    onnx.save(onnx.load(DIGITS), folder / "e.onnx", save_as_external_data=True, location="e.bin", size_threshold=0)
    for command in (("extract", "--from", "pool1_out", "--to", "scores"), ("reduce", "--ep", "cpu", "--ep", "cpu:isa=plain", "--rtol", "0", "--atol", "0")):
        piece = folder / command[0] / "model.onnx"
        piece.parent.mkdir()
        result = suite.run(command[0], folder / "e.onnx", *command[1:], "-o", piece)
        suite.check(result.status == 0, f"{command[0]}: {result.err}")
        made = onnx.load(piece, load_external_data=False)
        onnx.checker.check_model(made, full_check=True)
        suite.check(made.graph.initializer and not any(weight.external_data for weight in made.graph.initializer), f"{command[0]}: weights are inside")
        old = {weight.name: numpy_helper.to_array(weight) for weight in onnx.load(DIGITS).graph.initializer}
        suite.check(all((numpy_helper.to_array(weight) == old[weight.name]).all() for weight in made.graph.initializer), f"{command[0]}: the same weights")
    suite.expect(0, "PASS", "test", folder / "extract")


def test_what_is_refused(suite, folder):
    suite.expect(2, "-o FILE.onnx", "extract", DIGITS, "--to", "scores")
    suite.expect(2, "--to VALUE", "extract", DIGITS, "-o", folder / "p.onnx")
    suite.expect(2, "did you mean 'scores'", "extract", DIGITS, "--to", "score", "-o", folder / "p.onnx")
    suite.expect(2, "--from: no node", "extract", DIGITS, "--from", "nothing", "--to", "scores", "-o", folder / "p.onnx")
    suite.expect(2, "nothing on the way to --to reads 'scores'", "extract", DIGITS, "--from", "scores", "--to", "pool1_out", "-o", folder / "p.onnx")
    suite.expect(2, "is read from", "extract", DIGITS, "--to", "scores", "-o", DIGITS)
    suite.expect(2, "compares two chains", "reduce", DIGITS, "--ep", "cpu", "-o", folder / "p.onnx")
    suite.expect(2, "--pin is not an option of 'reduce'", "reduce", DIGITS, "--ep", "cpu", "--ep", "cudasim,cpu", "--pin", "scores=cpu", "-o", folder / "p.onnx")
    result = suite.expect(5, "there is nothing to reduce", "reduce", DIGITS, "--ep", "cpu", "--ep", "cpu:threads=1", "-o", folder / "p.onnx", "--json")
    suite.check(result.json()["error"]["exit"] == 5 and not (folder / "p.onnx").exists(), "nothing is written")
    model = onnx.load(DIGITS)
    onnx.save(model, folder / "e.onnx", save_as_external_data=True, location="e.bin", size_threshold=0)
    (folder / "e.bin").write_bytes((folder / "e.bin").read_bytes()[:-4])
    suite.expect(3, "e.bin", "extract", folder / "e.onnx", "--to", "scores", "-o", folder / "p.onnx")
    backwards = helper.make_graph([helper.make_node("Abs", ["a"], ["y"]), helper.make_node("Neg", ["x"], ["a"])], "g", [floats("x", [2])], [floats("y", [2])])
    onnx.save(helper.make_model(backwards, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "b.onnx")
    suite.expect(3, "stands before one whose output it reads", "extract", folder / "b.onnx", "--to", "y", "-o", folder / "p.onnx")


def test_rounding_alone(suite, folder):
    """With no tolerance the plain loops differ, in a part of the model that can be run by itself."""
    piece = folder / "p/model.onnx"
    told = suite.run("reduce", DIGITS, "--ep", "cpu", "--ep", "cpu:isa=plain", "--rtol", "0", "--atol", "0", "-o", piece, "--json").json()
    suite.check(told["of"] == 11 and len(told["nodes"]) == 1 and told["difference"], f"{told}")
    suite.expect(5, "differ", "compare", piece, "--input", folder / "p/test_data_set_0/input_0.pb", "--ep", "cpu", "--ep", "cpu:isa=plain", "--rtol", "0", "--atol", "0")

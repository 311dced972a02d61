"""plan --optimized: what is left of a model after planning, as a model that any runtime takes."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from suite import DIGITS, floats, save_model, tensor


def optimized(suite, folder, *more):
    """The model made of folder/m.onnx, which the onnx package accepts."""
    suite.expect(0, f"optimized as {folder}/o.onnx", "plan", folder / "m.onnx", "--optimized", folder / "o.onnx", *more)
    model = onnx.load(folder / "o.onnx")
    onnx.checker.check_model(model, full_check=True)
    return model


def weights_of(model):
    return {weight.name: numpy_helper.to_array(weight) for weight in model.graph.initializer}


def operators(graph):
    return [node.op_type for node in graph.node]


def same_outputs(suite, folder, *more):
    suite.expect(0, "no node differs", "compare", folder / "m.onnx", folder / "o.onnx", "--random", "1", *more)


def constant(name, values):
    return numpy_helper.from_array(np.array(values, dtype=np.float32) if isinstance(values, list) else values, name)


def test_what_is_constant_becomes_a_weight(suite, folder):
    """Constants and what follows from them; a weight behind an Identity once; what no output needs is gone."""
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    nodes = [helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("Identity", ["t"], ["same"]), helper.make_node("MatMul", ["x", "t"], ["a"], "first"),
             helper.make_node("MatMul", ["x", "same"], ["b"], "second"), helper.make_node("Add", ["a", "b"], ["y"], "sum"), helper.make_node("Exp", ["x"], ["unread"]),
             helper.make_node("Constant", [], ["k"], value_float=2.0), helper.make_node("Sqrt", ["k"], ["z"])]
    save_model(folder / "m.onnx", nodes, [floats("x", ["n", 3])], [floats("y", ["n", 2]), floats("z", [])], weights=[constant("w", w)])
    model = optimized(suite, folder)
    weights = weights_of(model)
    suite.check([node.name for node in model.graph.node] == ["first", "second", "sum"], f"{operators(model.graph)}")
    suite.check(sorted(weights) == ["t", "z"] and (weights["t"] == w.T).all() and weights["z"] == np.float32(np.sqrt(2.0)), f"{weights}")
    suite.check(list(model.graph.node[1].input) == ["x", "t"], "both read one weight")
    suite.check([port.name for port in model.graph.output] == ["y", "z"], "outputs keep their names")
    same_outputs(suite, folder, "--shape", "n=4")
    before = (folder / "o.onnx").read_bytes()
    (folder / "m.onnx").write_bytes(before)
    optimized(suite, folder)
    suite.check((folder / "o.onnx").read_bytes() == before, "what is optimized stays as it is")


def test_shapes_that_are_given_are_folded(suite, folder):
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]), helper.make_node("Concat", ["n", "minus"], ["to"], axis=0),
             helper.make_node("Reshape", ["x", "to"], ["y"], "reshape")]
    lists = [numpy_helper.from_array(np.array([value], np.int64), name) for name, value in (("zero", 0), ("minus", -1))]
    save_model(folder / "m.onnx", nodes, [floats("x", ["n", 2, 3])], [floats("y", ["n", 6])], weights=lists)
    model = optimized(suite, folder)
    suite.check(operators(model.graph) == ["Shape", "Gather", "Concat", "Reshape"], f"open sizes are computed: {operators(model.graph)}")
    suite.check(model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n", "the symbol stays")
    same_outputs(suite, folder, "--shape", "n=4")
    model = optimized(suite, folder, "--shape", "n=4")
    suite.check(operators(model.graph) == ["Reshape"] and weights_of(model)["to"].tolist() == [4, -1], f"{operators(model.graph)}")
    suite.check(model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 4, "the input has the size that was given")
    same_outputs(suite, folder, "--shape", "n=4")


def test_fusions_become_operators_of_onnx(suite, folder):
    """Only operators that the model's opset has; nothing where the folded shape of a value inside is needed."""
    rng = np.random.default_rng(1)
    numbers = [constant("w", rng.random((4, 3, 3, 3), np.float32))] + [constant(name, rng.random(4, np.float32)) for name in ("scale", "bias", "mean", "var")]
    norm = [helper.make_node("Conv", ["x", "w"], ["c"], "conv"), helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["n"], "norm")]
    ends = [helper.make_node("Relu", ["n"], ["r"], "relu"), helper.make_node("HardSigmoid", ["r"], ["h"], alpha=1 / 6, beta=0.5), helper.make_node("Mul", ["r", "h"], ["y"], "swish")]
    for opset, ops in ((13, ["Conv", "Relu", "HardSigmoid", "Mul"]), (14, ["Conv", "Relu", "HardSwish"])):
        save_model(folder / "m.onnx", norm + ends, [floats("x", [1, 3, 8, 8])], [floats("y", None)], opset, weights=numbers)
        model = optimized(suite, folder)
        suite.check(operators(model.graph) == ops, f"opset {opset}: {operators(model.graph)}")
        suite.check(model.opset_import[0].version == opset, "the opset stays")
        suite.expect(0, "", "compare", folder / "m.onnx", folder / "o.onnx", "--random", "1", "--outputs-only")
    suite.check(operators(optimized(suite, folder, "--no-fusion").graph) == ["Conv", "BatchNormalization", "Relu", "HardSigmoid", "Mul"], "--no-fusion")
    looked = norm + [helper.make_node("Shape", ["c"], ["y"])]
    save_model(folder / "m.onnx", looked + [helper.make_node("Relu", ["n"], ["z"])], [floats("x", ["n", 3, 8, 8])], [tensor("y", TensorProto.INT64, [4]), floats("z", None)], weights=numbers)
    suite.check(operators(optimized(suite, folder).graph) == ["Conv", "BatchNormalization", "Shape", "Relu"], "c is needed for its shape")
    same_outputs(suite, folder, "--shape", "n=2")


def test_bodies_are_written_too(suite, folder):
    """A captured constant is written once, where it is; an output of a body that no node makes is made by an Identity."""
    def branch(name, nodes, output):
        return helper.make_graph(nodes, name, [], [floats(output, None)])

    w = constant("w", np.arange(9, dtype=np.float32).reshape(3, 3))
    then = branch("then", [helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["out"], "product")], "out")
    other = branch("other", [helper.make_node("Constant", [], ["out"], value=constant("", [[1.0, 2.0, 3.0]]))], "out")
    body = helper.make_graph([helper.make_node("Identity", ["c"], ["go"], "same"), helper.make_node("MatMul", ["v", "w"], ["m"], "step")], "body",
                             [tensor("i", TensorProto.INT64, []), tensor("c", TensorProto.BOOL, []), floats("v", None)],
                             [tensor("go", TensorProto.BOOL, []), floats("m", None), floats("x", None)])
    nodes = [helper.make_node("If", ["b"], ["p"], "if", then_branch=then, else_branch=other), helper.make_node("Loop", ["trips", "", "p"], ["y", "all"], "loop", body=body)]
    save_model(folder / "m.onnx", nodes, [floats("x", [1, 3]), tensor("b", TensorProto.BOOL, [])], [floats("y", None), floats("all", None)],
               weights=[w, numpy_helper.from_array(np.array(2, np.int64), "trips")])
    model = optimized(suite, folder)
    suite.check(operators(model.graph) == ["If", "Loop"] and sorted(weights_of(model)) == ["trips", "w"], f"{sorted(weights_of(model))}")
    graphs = {attribute.name: attribute.g for node in model.graph.node for attribute in node.attribute}
    suite.check(operators(graphs["then_branch"]) == ["MatMul"] and len(graphs["then_branch"].initializer) == 1, "folded in the body")
    suite.check(operators(graphs["else_branch"]) == ["Identity"] and len(graphs["else_branch"].initializer) == 1, "a branch that is a constant")
    suite.check(not graphs["body"].initializer and operators(graphs["body"])[-1] == "Identity", "x is captured and returned")
    for chosen in (True, False):
        np.save(folder / "b.npy", np.array(chosen))
        for name in ("m", "o"):
            suite.expect(0, "", "run", folder / f"{name}.onnx", "--random", "1", "--input", f"b={folder}/b.npy", "--save", folder / name)
        for number in (0, 1):
            old, new = (np.load(folder / name / f"output_{number}.npy") for name in ("m", "o"))
            suite.check(old.shape == new.shape and np.allclose(old, new), f"output {number} for {chosen}")


def test_quantized_weights_stay_small(suite, folder):
    """DequantizeLinear of a weight would be four times its size: it stays, and so does what follows from it."""
    weights = numpy_helper.from_array(np.ones((256, 512), np.int8), "q")
    nodes = [helper.make_node("DequantizeLinear", ["q", "scale"], ["w"], "unpack"), helper.make_node("Transpose", ["w"], ["t"], "turn", perm=[1, 0]),
             helper.make_node("MatMul", ["x", "t"], ["y"], "product")]
    save_model(folder / "m.onnx", nodes, [floats("x", ["n", 512])], [floats("y", ["n", 256])], weights=[weights, numpy_helper.from_array(np.float32(0.5), "scale")])
    model = optimized(suite, folder)
    suite.check([node.name for node in model.graph.node] == ["unpack", "turn", "product"] and "q" in weights_of(model), f"{operators(model.graph)}")
    same_outputs(suite, folder, "--shape", "n=2")


def test_functions_and_external_data_become_part_of_it(suite, folder):
    twice = helper.make_function("my", "Twice", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["r"]), helper.make_node("Add", ["r", "r"], ["b"])], [helper.make_opsetid("", 17)])
    nodes = [helper.make_node("Twice", ["x"], ["s"], "one", domain="my"), helper.make_node("Twice", ["s"], ["t"], "two", domain="my"), helper.make_node("Add", ["t", "w"], ["y"])]
    save_model(folder / "m.onnx", nodes, [floats("x", [300])], [floats("y", [300])], weights=[constant("w", np.ones(300, np.float32))], domains=["my"], functions=[twice])
    onnx.save(onnx.load(folder / "m.onnx"), folder / "m.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    model = optimized(suite, folder)
    (folder / "weights").rename(folder / "gone")
    suite.check(operators(model.graph) == ["Relu", "Add", "Relu", "Add", "Add"] and not model.functions, f"{operators(model.graph)}")
    suite.check(len({name for node in model.graph.node for name in node.output}) == 5, "each value has a name of its own")
    suite.expect(0, "", "run", folder / "o.onnx", "--random", "1")


def test_what_cannot_be_optimized(suite, folder):
    (folder / "d.onnx").write_bytes(Path(DIGITS).read_bytes())
    suite.expect(2, "is read from", "plan", folder / "d.onnx", "--optimized", folder / "d.onnx")
    suite.expect(2, "would write a model, which a saved plan is not", "plan", "--plan", folder / "p", "--optimized", folder / "o.onnx")
    suite.expect(3, "No such file", "plan", DIGITS, "--optimized", folder / "none/o.onnx")
    save_model(folder / "m.onnx", [helper.make_node("What", ["x"], ["y"], domain="my")], [floats("x", [1])], [floats("y", [1])], domains=["my"])
    suite.expect(4, "NO_OP", "plan", folder / "m.onnx", "--optimized", folder / "o.onnx")
    suite.check(not (folder / "o.onnx").exists(), "nothing is written")
    told = suite.run("plan", DIGITS, "--optimized", folder / "o.onnx", "--json").json()
    suite.check(told["optimized"] == str(folder / "o.onnx"), "the JSON names it")

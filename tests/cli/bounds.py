"""Upper bounds of dimensions: what a plan says of them, and runs up to them and beyond."""

import numpy as np
from onnx import TensorProto, helper

from suite import floats, save_model, tensor, weight


def cache_model(path):
    """A cache that grows by one row."""
    concat = helper.make_node("Concat", ["past", "new"], ["present"], "grow", axis=0)
    save_model(path, [concat], [floats("past", ["n", 4]), floats("new", [1, 4])], [floats("present", None)])


def rest_model(path):
    """As many zeros as x is longer than w."""
    nodes = [helper.make_node("Shape", ["x"], ["n"]), helper.make_node("Shape", ["w"], ["m"])]
    nodes += [helper.make_node("Sub", ["n", "m"], ["rest"]), helper.make_node("ConstantOfShape", ["rest"], ["y"], "zeros")]
    save_model(path, nodes, [floats("x", ["n"]), floats("w", ["m"])], [floats("y", None)])


def save_arrays(folder, rows):
    np.save(folder / "past.npy", np.arange(4 * rows, dtype=np.float32).reshape(rows, 4))
    np.save(folder / "new.npy", np.ones((1, 4), np.float32))
    return "--input", folder / "past.npy", "--input", folder / "new.npy"


def test_a_plan_tells_the_bytes_at_the_bounds(suite, folder):
    cache_model(folder / "m.onnx")
    suite.expect(0, "with n at most 999", "plan", folder / "m.onnx", "--max", "n=999")
    for bound in ("n=999", "past=999x4"):
        told = suite.run("plan", folder / "m.onnx", "--json", "--max", bound).json()
        suite.check(told["bounds"] == {"n": 999}, f"{bound}: {told['bounds']}")
        suite.check(told["bounds_note"] == "", f"{bound}: all sizes grow with n")
        suite.check(told["memory"]["cpu"]["peak"] == 16000, f"{bound}: 1000 rows of 16 bytes: {told['memory']}")
    fixed = suite.run("plan", folder / "m.onnx", "--json").json()
    suite.check("bounds" not in fixed and fixed["host_memory"]["total"] is None, "nothing is said without a bound")


def test_what_is_larger_below_the_bounds_is_told(suite, folder):
    rest_model(folder / "m.onnx")
    told = suite.run("plan", folder / "m.onnx", "--json", "--max", "n=9", "--max", "m=9").json()
    suite.check("'y' is n-m" in told["bounds_note"] and "layout of its own" in told["bounds_note"], told["bounds_note"])
    suite.expect(0, "layout of its own", "plan", folder / "m.onnx", "--max", "n=9", "--max", "m=9")
    np.save(folder / "x.npy", np.ones(9, np.float32))
    np.save(folder / "w.npy", np.ones(2, np.float32))
    files = ("--input", folder / "x.npy", "--input", folder / "w.npy")
    told = suite.run("run", folder / "m.onnx", *files, "--json", "--max", "n=9", "--max", "m=9").json()
    suite.check(told["outputs"][0]["shape"] == [7], "and such a run works")


def test_runs_up_to_the_bound_and_beyond(suite, folder):
    cache_model(folder / "m.onnx")
    for rows in (0, 1, 6):
        arguments = ("run", folder / "m.onnx", *save_arrays(folder, rows), "--save", folder / "out")
        suite.expect(0, "present", *arguments, "--max", "n=6")
        made = np.load(folder / "out" / "output_0.npy")
        expected = np.concatenate([np.load(folder / "past.npy"), np.load(folder / "new.npy")])
        suite.check(np.array_equal(made, expected), f"{rows} rows: {made}")
    for command in ("run", "bench"):
        arguments = (command, folder / "m.onnx", *save_arrays(folder, 7))
        suite.expect(3, ['input "past"', '"n", is 7', "at most 6", "--max n=7"], *arguments, "--max", "n=6")
    suite.expect(0, "median", "bench", folder / "m.onnx", *save_arrays(folder, 6), "--max", "n=6", "--repeat", "3")


def test_tensors_that_are_moved(suite, folder):
    """Operators with the channels last move tensors into scratch, whose size waits for the batch."""
    turned = np.eye(4)[::-1].reshape(4, 4, 1, 1)
    for name, kind, dtype in (("NhwcConv", TensorProto.FLOAT, np.float32), ("NhwcConv", TensorProto.FLOAT16, np.float16),
                              ("NhwcFusedConv", TensorProto.FLOAT, np.float32), ("NhwcMaxPool", TensorProto.UINT8, np.uint8)):
        names = ["x"] if name == "NhwcMaxPool" else ["x", "w"]
        node = helper.make_node(name, names, ["y"], "node", domain="com.microsoft", kernel_shape=[1, 1])
        save_model(folder / "m.onnx", [node], [tensor("x", kind, ["n", 2, 3, 4])], [tensor("y", kind, None)], domains=["com.microsoft"],
                   weights=[weight("w", turned.astype(dtype))][: len(names) - 1])
        suite.expect(0, "node", "plan", folder / "m.onnx")
        for batch in (0, 1, 3):
            x = np.arange(24 * batch).reshape(batch, 2, 3, 4).astype(dtype)
            np.save(folder / "x.npy", x)
            suite.expect(0, "placement", "run", folder / "m.onnx", "--input", folder / "x.npy", "--save", folder / "out", "--max", "n=3")
            made = np.load(folder / "out" / "output_0.npy")
            suite.check(np.array_equal(made, x if len(names) == 1 else x[..., ::-1]), f"{name}, {dtype}, {batch}: {made}")


def test_bounds_that_do_not_fit_the_model(suite, folder):
    rest_model(folder / "m.onnx")
    suite.expect(2, "--max: the model has no input and no dimension 'k'", "plan", folder / "m.onnx", "--max", "k=1")
    suite.expect(2, "--max wants", "plan", folder / "m.onnx", "--max", "n=many")
    suite.expect(2, "--max: 'n' is given twice", "plan", folder / "m.onnx", "--max", "n=1", "--max", "n=2")
    suite.expect(2, '"m", has no upper bound', "plan", folder / "m.onnx", "--max", "n=1")
    suite.expect(2, "needs no upper bound", "plan", folder / "m.onnx", "--max", "n=1", "--max", "m=1", "--shape", "n=1")
    suite.expect(2, "--max", "inspect", folder / "m.onnx", "--max", "n=1")
    suite.expect(2, "the saved plan has settled it", "run", "--plan", folder / "m.plan", "--max", "n=1")

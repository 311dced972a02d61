"""`tinyort test`: outcomes, tolerances, where nodes ran."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from suite import NO_CUDA, case_folder, floats, identity_model, save_model, tensor, unknown_operator

ONES = np.ones(1000, np.float32)


def identity(path):
    identity_model(path, TensorProto.FLOAT, [1000])


def two_nodes(path):
    nodes = [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("Identity", ["a"], ["y"])]
    save_model(path, nodes, [floats("x", [1000])], [floats("y", [1000])])


def off_by(difference, count=1):
    array = ONES.copy()
    array[5 : 5 + count] += np.float32(difference)
    return array


def test_outcomes(suite, folder):
    good = case_folder(folder / "good", identity, [ONES], [ONES])
    bad = case_folder(folder / "bad", identity, [ONES], [off_by(0.01, 3)])
    suite.expect(0, ["PASS", "1 passed, 0 failed, 0 skipped"], "test", good)
    result = suite.expect(5, ["FAIL", "expected 1.01", "1 passed, 1 failed", "1 of 2 cases failed"], "test", good, bad)
    suite.check("3 of 1000 elements differ by more than 1.01e-5 + 1e-4*|b|; the worst, at [5], is 1, expected 1.01" in result.out, result.out)
    suite.expect(0, "1 passed, 0 failed", "test", bad, "--atol", "0.1")
    told = suite.expect(5, "2 of 2", "test", bad, bad, "--atol", "1e-3", "--rtol", "0").out
    suite.check("3 of 1000 elements differ by more than 1e-3 + 0*|b|" in told, told)
    whole = case_folder(folder / "whole", lambda path: identity_model(path, TensorProto.INT64, [3]), [np.array([1, 2, 3])], [np.array([1, 5, 9])])
    suite.expect(5, "2 of 3 elements differ; the worst, at [2], is 3, expected 9 (off by 6)", "test", whole)
    shape = case_folder(folder / "shape", identity, [ONES], [ONES.reshape(10, 100)])
    suite.expect(5, "is 1000, expected 10x100", "test", shape)


def test_tolerance_of_a_whole_model(suite, folder):
    for difference, one, several in ((5e-5, "PASS", "PASS"), (5e-4, "FAIL", "PASS"), (5e-3, "FAIL", "FAIL")):
        for model, outcome in ((identity, one), (two_nodes, several)):
            case = case_folder(folder / f"{model.__name__}_{difference}", model, [ONES], [off_by(difference)])
            result = suite.run("test", case)
            suite.check(result.out.startswith(outcome), f"{model.__name__}, off by {difference}: {result.out}")
    suite.check("more than 1.005e-4 + 1e-3*|b|" in result.out, result.out)


def test_nothing_passed(suite, folder):
    unknown = case_folder(folder / "unknown", unknown_operator, [np.ones(2, np.float32)], [np.ones(2, np.float32)])
    suite.expect(5, ["SKIP", "NO_OP", "the only one was skipped"], "test", unknown)
    good = case_folder(folder / "good", identity, [ONES], [ONES])
    suite.expect(0, "1 passed, 0 failed, 1 skipped", "test", unknown, good)
    suite.expect(2, "there is no such folder", "test", good, folder / "nothing")
    suite.expect(5, ["has no model.onnx; its folders do", f"{folder}/*"], "test", folder)
    result = suite.expect(2, "is a file", "test", good, good / "model.onnx")
    suite.check("PASS" not in result.out, "no case runs before the words are right")
    numpy_file = numpy_helper.from_array(np.ones(1000, np.float32)).SerializeToString()
    for what in ("input", "output"):
        excess = case_folder(folder / f"excess_{what}", identity, [ONES], [ONES])
        (excess / "test_data_set_0" / f"{what}_1.pb").write_bytes(numpy_file)
        suite.expect(5, f"there is {what}_1.pb, and the model has only 1 {what}", "test", excess)


def test_where_nodes_ran(suite, folder):
    case = case_folder(folder / "case", identity_and_wide, [np.ones(4, np.float32)], [np.ones(4)])
    result = suite.expect(0, "nodes: 0 cuda, 2 cpu", "test", case, "--ep", "cuda,cpu", **NO_CUDA)
    suite.check(result.out.startswith("PASS") and "(0 cuda, 2 cpu)" in result.out.splitlines()[0], f"per case: {result.out}")
    suite.check("0 cuda, 2 cpu" in result.placements()[0] and "cuda did not open" in result.placements()[0], result.err)
    suite.expect(4, "cuda did not open", "test", case, "--ep", "cuda,cpu", "--require", "cuda", **NO_CUDA)
    suite.expect(0, "1 passed", "test", case, "--no-fusion")
    suite.expect(4, ["FAIL", "strict"], "test", case, "--ep", "cuda,cpu", "--strict", **NO_CUDA)
    result = suite.run("test", case, case, "--ep", "cuda,cpu", "--json", **NO_CUDA)
    lines = result.documents()
    suite.check(len(lines) == 3 and all(line["summary"]["cpu"] == 2 for line in lines[:2]), f"one line a case, and the sum: {result.out}")
    suite.check(lines[0]["nodes"][0][:3] == ["Relu", "cpu", "PROVIDER_DOWN"] or lines[0]["nodes"][0][:3] == ["Relu", "cpu", "DISABLED"], str(lines[0]["nodes"]))
    suite.check(lines[-1]["passed"] == 2 and lines[-1]["summary"]["cpu"] == 4 and lines[-1]["providers"][0]["status"] == "down", str(lines[-1]))


def identity_and_wide(path):
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Cast", ["a"], ["y"], to=TensorProto.DOUBLE)]
    save_model(path, nodes, [floats("x", [4])], [tensor("y", TensorProto.DOUBLE, [4])])


def test_json_of_a_failure(suite, folder):
    bad = case_folder(folder / "bad", identity, [ONES], [off_by(1)])
    lines = suite.run("test", bad, "--json").documents()
    suite.check(lines[0]["outcome"] == "FAIL" and "1 of 1000 elements" in lines[0]["error"]["message"], str(lines[0]))
    suite.check(lines[0]["error"]["exit"] == 5 and lines[1]["error"]["exit"] == 5 and lines[1]["failed"] == 1, str(lines[1]))

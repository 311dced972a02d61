"""What a replica does with its queue, and the plan that replicas share; without Ray's processes."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tinyort
from conftest import DIGITS
from onnx import TensorProto, helper
from tinyort import serve


class Counted:
    """A session that counts its runs."""

    def __init__(self, model):
        self.session, self.runs = tinyort.InferenceSession(model, chain="cpu:threads=1"), 0
        self.get_inputs, self.get_outputs = self.session.get_inputs, self.session.get_outputs

    def run(self, names, feed):
        self.runs += 1
        return self.session.run(names, feed)


def model(op, shape, out, **attributes):
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], **attributes)], "graph",
                              [value("x", TensorProto.FLOAT, shape)], [value("y", TensorProto.FLOAT, out)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()


def test_import_is_without_ray():
    code = "import sys, tinyort; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ).returncode == 0


def test_requests_of_one_kind_run_together():
    session = Counted(model("Softmax", ["n", "m"], ["n", "m"]))
    assert serve.can_batch(session)
    shapes = [(1, 3), (2, 5), (4, 3), (0, 3), (1, 5)]
    feeds = [{"x": np.random.rand(*shape).astype("f4")} for shape in shapes]
    answers = serve.run_batch(session, feeds)
    assert session.runs == 2
    for feed, answer in zip(feeds, answers):
        np.testing.assert_allclose(answer["y"], session.run(None, feed)[0], rtol=1e-6)


def test_a_wrong_request_fails_alone():
    session = Counted(model("Relu", ["n", 3], ["n", 3]))
    good, rank, dtype = np.ones((1, 3), "f4"), np.ones((1, 3, 1), "f4"), np.ones((1, 3), "f8")
    answers = serve.run_batch(session, [{"x": good}, {"x": rank}, {"q": good}, {}, {"x": dtype}, {"x": good}])
    assert [isinstance(answer, dict) for answer in answers] == [True, False, False, False, False, True]


def test_models_that_cannot_batch():
    assert not serve.can_batch(Counted(model("Relu", [2, 3], [2, 3])))
    assert not serve.can_batch(Counted(model("ReduceSum", ["n", 3], [], keepdims=0)))
    declared = Counted(model("ReduceSum", ["n", 3], ["n", 3]))  # with one row, whatever it says of itself
    answers = serve.run_batch(declared, [{"x": np.full((1, 3), 1, "f4")}, {"x": np.full((1, 3), 2, "f4")}])
    assert [answer["y"].item() for answer in answers] == [3, 6]


def test_one_plan_for_one_model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model("Relu", ["n", 3], ["n", 3]))

    def plans(**options):
        session = serve.shared_session(str(path), "cpu:threads=1", str(tmp_path), **options)
        assert session.run(None, {"x": -np.ones((1, 3), "f4")})[0].max() <= 0
        return sorted(tmp_path.glob("*.plan"))

    (first,) = plans()
    made = first.stat().st_mtime_ns
    assert plans() == [first] and first.stat().st_mtime_ns == made
    first.write_bytes(b"not a plan")
    assert plans() == [first] and first.stat().st_size > 100
    assert len(plans(symbols={"n": 1})) == 2
    path.write_bytes(model("Neg", ["n", 3], ["n", 3]))
    with pytest.raises(AssertionError):
        plans()
    assert len(sorted(tmp_path.glob("*.plan"))) == 3 and not list(tmp_path.glob("*.part"))


def test_health():
    replica = serve.Model.__new__(serve.Model)
    replica._chain, replica._required, replica._lost = "cuda:device=99,cpu", ["cuda"], None
    with pytest.raises(tinyort.errors.EPFail, match="cuda did not open"):
        replica.check_health()
    replica._lost, replica._required = tinyort.errors.EPFail("the device was lost"), []
    with pytest.raises(tinyort.errors.EPFail, match="lost"):
        replica.check_health()


def test_arguments():
    with pytest.raises(ValueError, match="replicas"):
        serve.build({"model": DIGITS, "replicas": "many"})
    with pytest.raises(tinyort.errors.InvalidArgument, match="unknown provider"):
        serve.build({"model": DIGITS, "providers": ["nothing"]})


def test_a_folder_of_plans_is_no_link(tmp_path, monkeypatch):
    """Whoever lays a link where the folder is expected must not have files written in another one."""
    monkeypatch.setattr(serve.tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / "mine").mkdir()
    os.symlink(tmp_path / "mine", tmp_path / f"tinyort-{os.getuid()}")
    with pytest.raises(PermissionError, match="name a folder"):
        serve.shared_session("models/digits.onnx", "cpu:threads=1")
    assert not list((tmp_path / "mine").iterdir())

"""What a replica does with its queue, and the plan that replicas share; without Ray's processes."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections import Counter

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
    assert len(sorted(tmp_path.glob("*.plan"))) == 2 and not first.exists(), "the plan of the old file stays"
    assert {lock.stat().st_mode & 0o777 for lock in tmp_path.glob("*.lock")} == {0o600}


def test_a_lock_is_no_link(tmp_path):
    """Whoever lays a link where a lock is expected must not have its file written or locked."""
    kept = tmp_path / "kept"
    kept.write_text("kept")
    serve.shared_session(DIGITS, "cpu:threads=1", tmp_path)
    (lock,) = tmp_path.glob("*.lock")
    lock.unlink()
    lock.symlink_to(kept)
    with pytest.raises(OSError, match="symbolic link"):
        serve.shared_session(DIGITS, "cpu:threads=1", tmp_path)
    assert kept.read_text() == "kept"


def counting(count):
    """A loop of as many trips as its input says."""
    value = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node("Add", ["before", "before"], ["after"]),
                              helper.make_node("Identity", ["go"], ["on"])], "body",
                             [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []),
                              value("before", TensorProto.FLOAT, [])],
                             [value("on", TensorProto.BOOL, []), value("after", TensorProto.FLOAT, [])])
    graph = helper.make_graph([helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)], "graph",
                              [value("x", TensorProto.FLOAT, [])], [value("y", TensorProto.FLOAT, [])],
                              [helper.make_tensor("trips", TensorProto.INT64, [], [count])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()


def test_a_run_has_a_time_limit(tmp_path):
    for _ in range(2):  # of the plan that was made, and of the one that was found
        session = serve.shared_session(counting(10**8), "cpu:threads=1", str(tmp_path), time_limit=0.2)
        with pytest.raises(tinyort.errors.Fail, match="did not end within 0.2 s"):
            session.run(None, {"x": np.float32(1)})
    assert len(list(tmp_path.glob("*.plan"))) == 1


def test_a_batch_that_took_too_long_is_not_repeated():
    session = Counted(model("Relu", ["n", 3], ["n", 3]))
    session.session.run = lambda *_: (_ for _ in ()).throw(tinyort.errors.Fail("too long", "TORT_E_CANCELLED"))
    answers = serve.run_batch(session, [{"x": np.ones((1, 3), "f4")}] * 8)
    assert session.runs == 1 and [str(answer) for answer in answers] == ["too long"] * 8


def no_constant(name):
    raise AssertionError(f"{name} is no JSON")


def test_json_has_no_nan():
    odd = np.array([[1.5, np.nan], [np.inf, -np.inf]], "f4")
    results = {"y": odd, "sequence": [odd[0], odd[:, 0]], "map": [{7: np.float32("nan")}], "scalar": np.array(np.nan),
               "text": np.array(["NaN", "\ud800"], object), "truth": np.array([True])}
    found = json.loads(serve.write_json(results), parse_constant=no_constant)
    assert found == {"y": [[1.5, None], [None, None]], "sequence": [[1.5, None], [1.5, None]], "map": [{"7": None}],
                     "scalar": None, "text": ["NaN", "\ud800"], "truth": [True]}


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (0, 3), (3, 2), (1, 1, 40000), (40000,), (3, 20001), (20001, 3)])
def test_pieces_of_json_are_one_text(shape):
    array = np.random.default_rng(0).random(shape)
    array[array > 0.999] = np.nan
    expected = json.dumps({"y": array.tolist()}).replace("NaN", "null")
    assert json.loads(serve.write_json({"y": array})) == json.loads(expected)


def test_json_does_not_hold_up_other_requests(monkeypatch):
    """The first number that is read of each kind, and the first text that is written, wait until the loop has seen them."""
    replica, half = serve.Model.__new__(serve.Model), 20000
    replica._dtypes, replica._latency = {"x": "float32"}, type("Latency", (), {"observe": lambda *_: None})
    body, calls, seen = json.dumps({"x": [0.5] * half + [2] * half}).encode(), Counter(), {}

    def gate(module, name):
        made, seen[name] = getattr(module, name), threading.Event()

        def gated(*arguments, **options):
            calls[name] += 1
            assert seen[name].wait(10), "the loop is held up"
            return made(*arguments, **options)

        monkeypatch.setattr(module, name, gated)

    async def batched(feed):
        return ({"y": feed["x"]},)

    async def watched():
        answer = asyncio.ensure_future(replica.run(body))
        while not answer.done():
            for name in list(calls):
                seen[name].set()
            await asyncio.sleep(0)
        return await answer

    for module, name in [(serve, "_float"), (serve, "_int"), (serve.json, "dumps")]:
        gate(module, name)
    replica._batched = batched
    assert json.loads(asyncio.run(watched())) == {"y": [0.5] * half + [2] * half}
    assert calls["_float"] == calls["_int"] == half
    assert calls["dumps"] > 2, "the result is written in one piece"


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
    for limit in ("0", "-1", "inf", "nan", "soon"):
        with pytest.raises(ValueError, match="time_limit"):
            serve.build({"model": DIGITS, "time_limit": limit})
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


def test_a_folder_of_plans_is_written_by_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(serve.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"tinyort-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="others may write there"):
        serve.shared_session(DIGITS, "cpu:threads=1")
    assert not list(folder.iterdir())

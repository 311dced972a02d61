"""Keyword arguments of a wrong kind: TypeError or ValueError with the name and an example, never SystemError."""

import pickle

import numpy as np
import onnxruntime
import pytest
import tinyort

DIGITS = "models/digits.onnx"
WRONG = [
    ({"shapes": {"image": "1x1x8x8"}}, TypeError), ({"shapes": {"batch": 1}}, TypeError), ({"shapes": [1, 1, 8, 8]}, TypeError), ({"shapes": {"image": (-5, 1, 8, 8)}}, ValueError),
    ({"shapes": {"image": (1.5, 1, 8, 8)}}, TypeError), ({"shapes": {"image": (1,) * 9}}, ValueError), ({"max_shapes": {"image": 4}}, TypeError), ({"pins": "conv1=cpu"}, TypeError),
    ({"pins": [1]}, TypeError), ({"pins": {"conv1": 1}}, TypeError), ({"outputs": "probabilities"}, TypeError), ({"bindings": 3}, TypeError), ({"max_symbols": [1]}, TypeError),
    ({"symbols": {"N": "1"}}, TypeError), ({"symbols": {1: 1}}, TypeError), ({"open_inputs": "x"}, TypeError), ({"dynamic_limit": -1}, ValueError), ({"dynamic_limit": 1.5}, TypeError),
    ({"trip_limit": "many"}, TypeError), ({"time_limit": -1}, ValueError), ({"time_limit": float("nan")}, ValueError), ({"time_limit": "1"}, TypeError), ({"strict": "yes"}, TypeError),
    ({"require": 1}, TypeError), ({"allow": {1}}, TypeError),
]  # fmt: skip


@pytest.mark.parametrize("given, kind", WRONG, ids=lambda value: str(value)[:40])
def test_wrong_kinds(given, kind):
    (name,) = given
    for call in (lambda: tinyort.InferenceSession(DIGITS, **given), lambda: tinyort.plan(DIGITS, **given)):
        with pytest.raises(kind, match=rf"^{name}: .*as in {name}=|^{name}: .*an example is {name}="):
            call()


def test_unknown_names():
    with pytest.raises(TypeError, match="no argument 'shape'; did you mean 'shapes'"):
        tinyort.InferenceSession(DIGITS, shape={"image": (1, 1, 8, 8)})
    with pytest.raises(TypeError, match="no argument 'nonsense'"):
        tinyort.plan(DIGITS, nonsense=3)
    with pytest.raises(tinyort.errors.InvalidArgument, match="open_inputs: the model has no input 'nope'; it has image"):
        tinyort.InferenceSession(DIGITS, open_inputs=["nope"])
    with pytest.raises(tinyort.errors.InvalidArgument, match="require: 'cuda' is not in the chain 'cpu'"):
        tinyort.InferenceSession(DIGITS, require="cuda")
    with pytest.raises(ValueError, match="assert_on: there is no provider 'gpu'; there are cpu, cuda"):
        tinyort.InferenceSession(DIGITS).assert_on("gpu")


def test_natural_forms():
    """Lists, arrays and NumPy's numbers as shapes, a dict of pins, a list as chain."""
    image = {"image": np.zeros((2, 1, 8, 8), np.float32)}
    for shape in ([2, 1, 8, 8], (2, 1, 8, 8), np.array([2, 1, 8, 8]), (np.int64(2), None, 8, 8)):
        session = tinyort.InferenceSession(DIGITS, shapes={"image": shape}, pins={"conv1": "cpu"}, chain=["cpu:threads=1"])
        assert session.run(None, image)[0].shape == (2, 10)
        assert [node["path"] for node in session.placement().nodes if node["pinned"]] == ["conv1"]
    assert tinyort.InferenceSession(DIGITS, symbols={"N": np.int32(2)}).get_inputs()


def test_a_picture_with_channels_last():
    session = tinyort.InferenceSession(DIGITS)
    with pytest.raises(tinyort.errors.InvalidArgument, match="its channels seem to be last; transpose it to 1x1x8x8"):
        session.run(None, {"image": np.zeros((1, 8, 8, 1), np.float32)})


def test_profile_of_no_feed():
    session = tinyort.InferenceSession(DIGITS)
    for feed in (np.zeros((1, 1, 8, 8), np.float32), [1], None, "image"):
        with pytest.raises(TypeError, match=r'^profile: expected a dict of values by input, as in {"x": array}; found'):
            session.profile(feed)
        with pytest.raises((AttributeError, TypeError)):  # onnxruntime's kind of either
            session.run(None, feed)


def test_sessions_pickle():
    """By path, or with the bytes; options, chain and sizes go along."""
    image = {"image": np.random.default_rng(1).random((1, 1, 8, 8), np.float32)}
    for model in (DIGITS, open(DIGITS, "rb").read()):
        options = tinyort.SessionOptions()
        options.intra_op_num_threads = 1
        session = tinyort.InferenceSession(model, options, shapes={"image": (1, 1, 8, 8)}, pins=["conv1=cpu"])
        again = pickle.loads(pickle.dumps(session))
        assert np.array_equal(again.run(None, image)[0], session.run(None, image)[0])
        assert again.placement().line() == session.placement().line() and again.get_session_options().intra_op_num_threads == 1


def test_sizes_that_options_fix_are_shown():
    options = tinyort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 4)
    assert tinyort.InferenceSession(DIGITS, options).get_inputs()[0].shape == [4, 1, 8, 8]
    assert tinyort.InferenceSession(DIGITS, symbols={"N": 3}).get_inputs()[0].shape == [3, 1, 8, 8]
    assert tinyort.InferenceSession(DIGITS).get_inputs()[0].shape == ["N", 1, 8, 8]


def test_what_onnxruntime_tells_of_assignments():
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    theirs = onnxruntime.InferenceSession(DIGITS, options, providers=["CPUExecutionProvider"]).get_provider_graph_assignment_info()
    (ours,) = tinyort.InferenceSession(DIGITS, unfolded=True).get_provider_graph_assignment_info()
    nodes = [node for graph in theirs for node in graph.get_nodes()]
    assert ours.ep_name == theirs[0].ep_name == "CPUExecutionProvider" and ours.get_nodes()[0].domain == ""
    assert {(node.name, node.op_type) for node in ours.get_nodes()} == {(node.name, node.op_type) for node in nodes}


def test_an_optimized_model_is_written(tmp_path):
    """onnxruntime runs it, with what the model itself gives, and nodes are fewer."""
    options = tinyort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "o.onnx")
    assert not tinyort.InferenceSession(DIGITS, options).ignored_options()
    feed = {"image": np.random.default_rng(0).random((3, 1, 8, 8), np.float32)}
    before, after = (onnxruntime.InferenceSession(model).run(None, feed)[0] for model in (DIGITS, str(tmp_path / "o.onnx")))
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-6)
    options.optimized_model_filepath = str(tmp_path)
    with pytest.raises(tinyort.errors.NoSuchFile, match="is a folder"):
        tinyort.InferenceSession(DIGITS, options)


def test_bytes_with_weights_elsewhere(tmp_path):
    """onnxruntime, too, looks for such files only beside a path; the message says what to give."""
    onnx = pytest.importorskip("onnx")
    weight = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [onnx.helper.make_tensor_value_info("x", 1, [1, 64])],
                                   [onnx.helper.make_tensor_value_info("y", 1, [1, 64])], [weight])  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    assert tinyort.InferenceSession(tmp_path / "m.onnx").get_inputs()
    with pytest.raises(tinyort.errors.InvalidArgument, match="its weights are in other files: give its path instead"):
        tinyort.InferenceSession((tmp_path / "m.onnx").read_bytes())


@pytest.mark.parametrize("given, known", [({"shapes": {"imgae": (1, 1, 8, 8)}}, r'no input "imgae" \(it has: image\)'),
                                          ({"max_shapes": {"imgae": (1, 1, 8, 8)}}, r'no input "imgae" \(it has: image\)'),
                                          ({"symbols": {"batch": 1}}, r'called "batch" that is still open \(open: N\)'),
                                          ({"outputs": ["digits"]}, r'no output "digits" \(it has: probabilities\)')])  # fmt: skip
def test_names_that_are_not_there(given, known):
    with pytest.raises(tinyort.errors.InvalidArgument, match=known):
        tinyort.InferenceSession(DIGITS, **given)

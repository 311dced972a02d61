"""Making sessions, and what they tell of a model, beside onnxruntime."""

import io
import os
import pathlib

import models
import numpy as np
import pytest
import tinyort


@pytest.mark.parametrize("make", [models.two, models.declared, models.sequence, models.maps, models.reshape, models.from_map])
def test_ports(same, make):
    same(lambda o: [(p.name, p.type, p.shape) for p in o.InferenceSession(make()).get_inputs()])
    same(lambda o: [(p.name, p.type, p.shape) for p in o.InferenceSession(make()).get_outputs()])


def test_port_text(same):
    same(lambda o: [str(p) for p in o.InferenceSession(models.two()).get_inputs()])


@pytest.mark.parametrize("dims", [[], ["n"], ["n", 3], [None, 3], ["", 2], [0], [1, 2, 3, 4, 5, 6, 7, 8]])
def test_shapes_of_ports(same, dims):
    model = models.identity(1, dims)
    same(lambda o: [p.shape for p in o.InferenceSession(model).get_inputs()])


def test_sources(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(models.two())
    with open(path, "rb") as file:
        sources = [str(path), path, models.two(), bytearray(models.two()), memoryview(models.two()),
                   io.BytesIO(models.two()), file]
        for source in sources:
            assert [p.name for p in tinyort.InferenceSession(source).get_inputs()] == ["x", "k"]


def test_bytes_may_go():
    source = bytearray(models.product())
    session = tinyort.InferenceSession(source)
    del source
    assert session.run(None, {"x": np.ones((64, 64), np.float32)})[0].shape == (64, 64)


def test_path(same, tmp_path):
    path = tmp_path / "modél.onnx"
    path.write_bytes(models.two())
    same(lambda o: o.InferenceSession(str(path)).get_providers())
    same(lambda o: o.InferenceSession(pathlib.Path(path)).get_providers())
    for source in (str(path), path, models.two()):
        same(lambda o: o.InferenceSession(source)._model_path)


@pytest.mark.parametrize("source", [b"\x00\x01", "/nowhere/model.onnx", 3, None, [1, 2]])
def test_bad_sources(same, source):
    same(lambda o: o.InferenceSession(source))


@pytest.mark.parametrize("make", [models.unknown_operator, models.wrong_type])
def test_bad_models(same, make):
    same(lambda o: o.InferenceSession(make()))


def test_bad_models_say_where():
    with pytest.raises(tinyort.errors.InvalidGraph, match='"q" is not made by any node') as caught:
        tinyort.InferenceSession(models.dangling())
    assert caught.value.code == "TORT_E_MODEL" and caught.value.node == 0
    with pytest.raises(tinyort.errors.InvalidProtobuf):
        tinyort.InferenceSession(b"")


def test_metadata(same):
    names = ("graph_name", "producer_name", "custom_metadata_map", "domain", "description", "version",
             "graph_description")
    for name in names:
        same(lambda o: getattr(o.InferenceSession(models.two()).get_modelmeta(), name))


def test_overridable_initializers(same):
    same(lambda o: o.InferenceSession(models.product()).get_overridable_initializers())


# ---- providers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("providers", [
    ["CPUExecutionProvider"], [("CPUExecutionProvider", {})], ("CPUExecutionProvider",), None, [],
    ["CUDAExecutionProvider", "CPUExecutionProvider"], ["TensorrtExecutionProvider", "CPUExecutionProvider"],
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_providers(same, providers):
    same(lambda o: o.InferenceSession(models.two(), providers=providers).get_providers())


def test_get_available_providers():
    assert tinyort.get_available_providers()[-1] == "CPUExecutionProvider"
    assert tinyort.get_device() == ("GPU" if len(tinyort.get_available_providers()) > 1 else "CPU")


def test_get_all_providers(same):
    assert {"CPUExecutionProvider", "CUDAExecutionProvider"} <= set(tinyort.get_all_providers())
    import onnxruntime

    assert set(onnxruntime.get_all_providers()) <= set(tinyort.get_all_providers())


def test_set_providers(same):
    def question(o):
        session = o.InferenceSession(models.two())
        session.set_providers(["CPUExecutionProvider"])
        return session.get_providers(), session.run(["z"], {"x": np.ones((1, 3), np.float32), "k": np.array(2)})

    same(question)


@pytest.mark.parametrize("arguments", [
    {}, {"providers": ["CPUExecutionProvider"]}, {"providers": ["CPUExecutionProvider"], "provider_options": [{}]},
])  # fmt: skip
def test_provider_options(same, arguments):
    same(lambda o: o.InferenceSession(models.two(), **arguments).get_provider_options())


def test_fallback_switches(same):
    def question(o):
        session = o.InferenceSession(models.two())
        return session.disable_fallback(), session.enable_fallback(), session.get_providers()

    same(question)


def test_our_names():
    session = tinyort.InferenceSession(models.two(), providers=[("cpu", {"threads": 1})])
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.get_provider_options() == {"CPUExecutionProvider": {"threads": "1"}}
    assert session.placement().providers[0]["threads"] == 1
    session = tinyort.InferenceSession(models.two(), chain="cpu:threads=1")
    assert session.placement().providers[0]["threads"] == 1


def test_threads_of_options():
    options = tinyort.SessionOptions()
    options.intra_op_num_threads = 1
    assert tinyort.InferenceSession(models.two(), options).placement().providers[0]["threads"] == 1


def test_unknown_provider():
    with pytest.raises(tinyort.errors.InvalidArgument, match="CUDAExecutionProivder.*known are"):
        tinyort.InferenceSession(models.two(), providers=["CUDAExecutionProivder", "CPUExecutionProvider"])


@pytest.mark.parametrize("providers, options", [
    (["CPUExecutionProvider"], [{}, {}]), (["CPUExecutionProvider"], [3]), ([3], None), (3, None),
    ([("CPUExecutionProvider", {})], [{}]),
])  # fmt: skip
def test_malformed_providers(providers, options):
    with pytest.raises((ValueError, tinyort.Error)):
        tinyort.InferenceSession(models.two(), providers=providers, provider_options=options)


no_gpu = pytest.mark.skipif(len(tinyort.get_available_providers()) > 1, reason="there is a GPU here")


@no_gpu
def test_a_provider_that_does_not_open_raises():
    with pytest.raises(tinyort.errors.EPFail, match="cuda did not open: .*fallback"):
        tinyort.InferenceSession(models.two(), providers=["CUDAExecutionProvider"])
    with pytest.raises(tinyort.errors.EPFail, match="TensorrtExecutionProvider is no provider of tinyort"):
        tinyort.InferenceSession(models.two(), providers=["TensorrtExecutionProvider"])


@no_gpu
def test_fallback_report(capfd):
    session = tinyort.InferenceSession(models.two(), providers=["CUDAExecutionProvider"], fallback="report")
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert "did not open" in session.placement().line() and 'fallback="report"' in session.placement().line()


def test_falling_back_is_said_once():
    import subprocess
    import sys

    code = f"""
import tinyort
for _ in range(3):
    s = tinyort.InferenceSession({models.two()!r}, providers=["TensorrtExecutionProvider", "CPUExecutionProvider"])
assert "TensorrtExecutionProvider is no provider" in s.placement().line()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "tinyort: TensorrtExecutionProvider is no provider of tinyort; running on cpu\n"
    assert done.stdout == ""


# ---- saved plans -----------------------------------------------------------------------------------------------------


def without_ranges(session):
    """The nodes but for the ranges of constants, which a plan that holds them packed does not have."""
    nodes = session.placement().to_dict()["nodes"]
    for operand in (operand for node in nodes for operand in node["inputs"]):
        operand.pop("min", None), operand.pop("max", None)
    return nodes



def test_saved_plans(tmp_path):
    path = tmp_path / "saved.plan"
    x = np.random.default_rng(0).random((64, 64), np.float32)
    session = tinyort.InferenceSession(models.product())
    session.save_plan(path)
    for map_weights in (False, True):
        loaded = tinyort.load_plan(path, map=map_weights)
        assert np.array_equal(loaded.run(None, {"x": x})[0], session.run(None, {"x": x})[0])
        assert loaded.get_providers() == ["CPUExecutionProvider"]
        assert without_ranges(loaded) == without_ranges(session)
    os.truncate(path, 100)
    with pytest.raises(tinyort.errors.InvalidGraph):
        tinyort.load_plan(path)


def test_messages_steer_no_terminal(tmp_path):
    for name, shown in (("\x1b[31m", "\\x1b[31m"), ("a\nb\r", "a\\nb\\r"), ("\x9b2J", "\\x9b2J"), ("\u202e", "\\u202e"), ("größe 字", "größe 字")):
        with pytest.raises(tinyort.Error) as caught:
            tinyort.InferenceSession(str(tmp_path / f"{name}.onnx"))
        assert f"{shown}.onnx" in str(caught.value) and str(caught.value).isprintable()

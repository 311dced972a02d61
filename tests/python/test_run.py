"""Runs: values, types and errors, beside onnxruntime."""

import collections

import ml_dtypes
import models
import numpy as np
import onnxruntime
import pytest
import tinyort
from onnx import TensorProto as T

X = np.array([[1.0, -2.0, 3.0]], np.float32)
K = np.array(3)


def asking(feed, names=None, make=models.two):
    return lambda o: o.InferenceSession(make()).run(names, feed)


@pytest.mark.parametrize("feed", [
    {"x": X, "k": K},
    {"k": K, "x": X},
    {"x": [[1, 2, 3]], "k": K},
    {"x": [[1.5, 2, 3], [4, 5, 6]], "k": K},
    {"x": np.asfortranarray(np.ones((3, 3), np.float32)), "k": K},
    {"x": np.ones((3, 2), np.float32).T, "k": K},
    {"x": np.ones((4, 6), np.float32)[::2, ::2], "k": K},
    {"x": np.zeros((0, 3), np.float32), "k": K},
    {"x": X, "k": np.array(-(2**63))},
    collections.OrderedDict(x=X, k=K),
])  # fmt: skip
def test_feeds(same, feed):
    same(asking(feed))


@pytest.mark.parametrize("feed", [
    {},
    {"x": X},
    {"k": K},
    {"x": X.astype(np.float64), "k": K},
    {"x": X.astype(np.float16), "k": K},
    {"x": X, "k": np.array(3, np.int32)},
    {"x": X[0], "k": K},
    {"x": X[:, :2], "k": K},
    {"x": [1.0, 2.0], "k": K},
    {"x": np.array([["a", "b", "c"]]), "k": K},
    {"x": X, "k": K, "w": X},
    {1: X, "k": K},
    [X, K],
    3,
])  # fmt: skip
def test_bad_feeds(same, feed):
    if isinstance(feed, dict) and len(feed) == 2 and getattr(feed.get("x"), "dtype", X.dtype).kind == "U":
        with pytest.raises(tinyort.errors.InvalidArgument):  # onnxruntime: a RuntimeError without a cause
            asking(feed)(tinyort)
        return
    same(asking(feed))


@pytest.mark.parametrize("names", [None, [], ["y"], ["z", "y"], ["y", "y"], ("z",), {"z": 1}])
def test_output_names(same, names):
    if isinstance(names, dict):
        assert asking({"x": X, "k": K}, names)(tinyort)[0] == 3
    else:
        same(asking({"x": X, "k": K}, names))


@pytest.mark.parametrize("names", [["q"], ["y", "q"], "z", [3]])
def test_bad_output_names(same, names):
    if names == [3]:
        with pytest.raises((TypeError, ValueError)):
            asking({"x": X, "k": K}, names)(tinyort)
    else:
        same(asking({"x": X, "k": K}, names))


def test_more_than_onnxruntime_takes():
    """Numbers, tuples, buffers and tensors of other libraries, which onnxruntime refuses."""
    run = tinyort.InferenceSession(models.two()).run
    for k in (3, np.int64(3), K):
        for x in (X, X.tolist(), ((1, -2, 3),), memoryview(X), tinyort.OrtValue.ortvalue_from_numpy(X)):
            y, z = run(None, {"x": x, "k": k})
            assert np.array_equal(y, [[1, 0, 3]]) and z == 3
    y, _ = run(None, {"x": X.astype(">f4"), "k": 3})  # onnxruntime reads the bytes in the wrong order
    assert np.array_equal(y, [[1, 0, 3]])
    unaligned = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(1, 3)
    assert not unaligned.flags.aligned
    assert np.array_equal(run(["y"], {"x": unaligned, "k": 3})[0], [[1, 0, 3]])


NUMERIC = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (1, 2, 1, 3)])
def test_types(same, dtype, shape):
    from onnx import helper

    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model = models.identity(number, [f"d{i}" for i in range(len(shape))])
    array = (np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype)
    same(lambda o: o.InferenceSession(model).run(None, {"x": array}))
    if shape:
        same(lambda o: o.InferenceSession(model).run(None, {"x": array.tolist()}))


@pytest.mark.parametrize("dtype, number", [("bfloat16", T.BFLOAT16), ("float8_e4m3fn", T.FLOAT8E4M3FN),
                                           ("float8_e5m2", T.FLOAT8E5M2)])
def test_types_that_numpy_lacks(dtype, number):
    array = np.arange(4).astype(getattr(ml_dtypes, dtype))
    model = models.build([models.value("x", number, ["n"])], [models.value("y", number, ["n"])],
                         [models.node("Identity", "x", "y")], opsets=(("", 21),))  # fmt: skip
    result = tinyort.InferenceSession(model).run(None, {"x": array})[0]
    assert result.dtype == array.dtype and np.array_equal(result, array)


def test_complex():
    for dtype, number in ((np.complex64, T.COMPLEX64), (np.complex128, T.COMPLEX128)):
        array = np.array([1 + 2j, 3], dtype)
        result = tinyort.InferenceSession(models.identity(number)).run(None, {"x": array})[0]
        assert result.dtype == array.dtype and np.array_equal(result, array)


@pytest.mark.parametrize("text", [
    ["a", "bé", ""], np.array(["a", "bé"]), np.array(["a", "bé"], object), np.array([1, "b"], object), [],
    np.array(["x" * 1000]),
])  # fmt: skip
def test_strings(same, text):
    same(lambda o: o.InferenceSession(models.identity(T.STRING)).run(None, {"x": text}))


def test_strings_of_two_dimensions(same):
    text = np.array([["a", "b"], ["c", "d"]])
    same(lambda o: o.InferenceSession(models.identity(T.STRING, ["r", "c"])).run(None, {"x": text}))


ONES = np.ones(2, np.float32)


@pytest.mark.parametrize("items", [[ONES], [ONES, 2 * ONES], [ONES, ONES[:1]]])
def test_sequences(same, items):
    same(asking({"x": items}, None, models.sequence))


@pytest.mark.parametrize("items", [[], ONES])
def test_bad_sequences(same, items):
    same(asking({"x": items}, None, models.sequence))


def test_maps(same):
    same(asking({"x": np.arange(6, dtype=np.float32).reshape(2, 3)}, None, models.maps))


def test_map_inputs(same):
    same(asking({"x": {"a": 1.0, "c": 3.0}}, None, models.from_map))


def test_failing_run(same):
    same(asking({"x": ONES[:1], "s": np.array([5, 5])}, None, models.reshape))


def test_a_run_after_a_failed_one():
    session = tinyort.InferenceSession(models.reshape())
    for _ in range(3):
        with pytest.raises(tinyort.errors.Fail, match="Reshape") as caught:
            session.run(None, {"x": ONES[:1], "s": np.array([5, 5])})
        assert caught.value.code == "TORT_E_RUN" and caught.value.node == 0
        assert session.run(None, {"x": ONES[:1], "s": np.array([1, 1])})[0].shape == (1, 1)


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_results_are_their_own():
    session = tinyort.InferenceSession(models.product())
    first = session.run(None, {"x": np.ones((64, 64), np.float32)})[0]
    kept = first.copy()
    second = session.run(None, {"x": np.zeros((64, 64), np.float32)})[0]
    assert np.array_equal(first, kept) and not np.shares_memory(first, second)
    first[0, 0] = 5  # results are the caller's to write
    del session
    assert first[0, 0] == 5


def test_an_input_is_not_written():
    x = np.ones((64, 64), np.float32)
    x.flags.writeable = False
    tinyort.InferenceSession(models.product()).run(None, {"x": x})
    assert np.array_equal(x, np.ones((64, 64)))


def test_a_contiguous_input_is_not_copied():
    """The run reads the caller's memory: Python's allocators see no copy of it."""
    import tracemalloc

    session = tinyort.InferenceSession(models.build(
        [models.value("x", T.FLOAT, ["n"])], [models.value("y", T.FLOAT, [])],
        [models.node("ReduceMax", "x", "y", keepdims=0)]))  # fmt: skip
    x = np.ones(4_000_000, np.float32)
    session.run(None, {"x": x})
    tracemalloc.start()
    session.run(None, {"x": x})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


# ---- options of a run ------------------------------------------------------------------------------------------------


def test_run_options(same):
    def question(o):
        options = o.RunOptions()
        options.log_severity_level = 3
        return o.InferenceSession(models.two()).run(["z"], {"x": X, "k": K}, options)

    same(question)


def test_terminate(same):
    def question(o):
        options = o.RunOptions()
        options.terminate = True
        return o.InferenceSession(models.two()).run(None, {"x": X, "k": K}, options)

    same(question)


def test_terminate_from_another_thread():
    import threading
    import time

    loop = models.build(
        [models.value("n", T.INT64, []), models.value("x", T.FLOAT, [64, 64])], [models.value("y", T.FLOAT, [64, 64])],
        [models.helper.make_node("Loop", ["n", "", "x"], ["y"], body=models.helper.make_graph(
            [models.node("MatMul", "a a", "p"), models.node("Clip", "p lo hi", "b"), models.node("Identity", "c", "d")],
            "body", [models.value("i", T.INT64, []), models.value("c", T.BOOL, []), models.value("a", T.FLOAT, [64, 64])],
            [models.value("d", T.BOOL, []), models.value("b", T.FLOAT, [64, 64])]))],
        [("lo", np.array(-1, np.float32)), ("hi", np.array(1, np.float32))],
    )  # fmt: skip
    session, options = tinyort.InferenceSession(loop), tinyort.RunOptions()
    caught = []

    def work():
        try:
            session.run(None, {"n": np.array(2**31 - 1), "x": np.ones((64, 64), np.float32)}, options)
        except tinyort.errors.Fail as error:
            caught.append(error.code)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    options.terminate = True
    thread.join(30)
    assert caught == ["TORT_E_CANCELLED"]


def test_run_async():
    import threading

    done, results = threading.Event(), []

    def callback(outputs, user, error):
        results.append((outputs, user, error))
        done.set()

    session = tinyort.InferenceSession(models.two())
    session.run_async(["z"], {"x": X, "k": K}, callback, "mine")
    assert done.wait(30)
    assert results[0][0][0] == 3 and results[0][1:] == ("mine", "")


def test_against_onnxruntime_on_a_network():
    """A model of this tree, on many inputs."""
    from pathlib import Path

    path = str(Path(__file__).parents[2] / "models" / "digits.onnx")
    x = np.random.default_rng(1).random((16, 1, 8, 8), np.float32)
    theirs, ours = (o.InferenceSession(path).run(None, {"image": x})[0] for o in (onnxruntime, tinyort))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_sizes_that_do_not_fit_a_node():
    """The file is right, the sizes of this run are not: onnxruntime fails the run, too, and never says InvalidGraph."""
    model = models.build([models.value("x", T.FLOAT, ["n"])], [models.value("y", T.FLOAT, None)],
                         [models.node("Reshape", "x s", "y")], [("s", np.array([2, -1]))])  # fmt: skip
    session = tinyort.InferenceSession(model)
    assert session.run(None, {"x": np.zeros(4, np.float32)})[0].shape == (2, 2)
    with pytest.raises(tinyort.errors.InvalidArgument, match="a multiple of 2"):
        session.run(None, {"x": np.zeros(3, np.float32)})
    with pytest.raises(Exception, match="FAIL"):
        onnxruntime.InferenceSession(model).run(None, {"x": np.zeros(3, np.float32)})


def test_outputs_that_are_not_there():
    with pytest.raises(tinyort.errors.InvalidArgument, match=r"Invalid output name:q; the model has \('y', 'z'\)"):
        tinyort.InferenceSession(models.two()).run(["q"], {"x": X, "k": K})

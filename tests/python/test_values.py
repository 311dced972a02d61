"""OrtValue, buffers and DLPack, beside onnxruntime where that has them."""

import gc

import models
import numpy as np
import pytest
import tinyort
from onnx import TensorProto as T

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def of(array):
    return lambda o: o.OrtValue.ortvalue_from_numpy(array)


@pytest.mark.parametrize("method", ["shape", "data_type", "element_type", "device_name", "is_tensor", "has_value",
                                    "is_tensor_sequence", "is_sparse_tensor", "tensor_size_in_bytes", "numpy",
                                    "__dlpack_device__"])
@pytest.mark.parametrize("array", [X, np.array(5, np.float32), X.astype(np.int64), np.zeros((0, 2), np.float16), X > 2])
def test_methods(same, method, array):
    same(lambda o: getattr(of(array)(o), method)())


def test_shares_memory(same):
    def question(o):
        array = X.copy()
        value = of(array)(o)
        array[0, 0] = 9
        return value.numpy(), value.data_ptr() == array.ctypes.data

    same(question)


def test_keeps_its_array():
    value = of(np.ones(1000, np.float32))(tinyort)
    gc.collect()
    assert value.numpy().sum() == 1000


def test_a_copy_where_it_must_be(same):
    same(lambda o: of(X.T)(o).numpy())


def test_strings():
    value = of(np.array(["a", "b"]))(tinyort)  # onnxruntime makes none of such an array
    assert value.numpy().tolist() == ["a", "b"] and value.data_type() == "tensor(string)"


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.float16, 1, 7])
def test_from_shape_and_type(same, dtype):
    same(lambda o: o.OrtValue.ortvalue_from_shape_and_type([2, 3], dtype, "cpu", 0).data_type())
    same(lambda o: o.OrtValue.ortvalue_from_shape_and_type([2, 3], dtype).shape())
    assert not tinyort.OrtValue.ortvalue_from_shape_and_type([2, 3], dtype).numpy().any()


def test_update_inplace(same):
    def question(o):
        value = of(X.copy())(o)
        value.update_inplace(X + 1)
        return value.numpy()

    same(question)
    with pytest.raises(tinyort.errors.InvalidArgument):
        of(X.copy())(tinyort).update_inplace(X.astype(np.float64))


def test_array_function():
    value = of(X)(tinyort)
    assert np.array_equal(np.asarray(value), X) and np.asarray(value, np.float64).dtype == np.float64
    assert "tensor(float)" in repr(value)


def test_sequences_and_maps():
    q = tinyort.InferenceSession(models.sequence()).run_with_ort_values(
        ["q"], {"x": tinyort.OrtValue(tinyort._core.make([X, X], "s", 1))})[0]  # fmt: skip
    assert q.is_tensor_sequence() and q.data_type() == "seq(tensor(float))" and not q.is_tensor()
    assert [np.array_equal(a, X) for a in q.numpy()] == [True, True]
    with pytest.raises(BufferError):
        memoryview(q._value)


def test_run_with_ort_values(same):
    def question(o):
        feed = {"x": of(X)(o), "k": of(np.array(4))(o)}
        return [value.numpy() for value in o.InferenceSession(models.two()).run_with_ort_values(["z", "y"], feed)]

    same(question)


# ---- DLPack ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64", "uint8", "uint64", "bool"])
def test_dlpack_round(dtype):
    array = np.array([[0, 1, 1]], dtype)
    value = tinyort.OrtValue.from_dlpack(array)
    assert value.data_ptr() == array.ctypes.data
    back = np.from_dlpack(value)
    assert back.dtype == array.dtype and np.shares_memory(back, array)
    del value, array
    gc.collect()
    assert np.array_equal(back, np.array([[0, 1, 1]], dtype))


def test_dlpack_between_both():
    import onnxruntime

    theirs = onnxruntime.OrtValue.from_dlpack(tinyort.OrtValue.ortvalue_from_numpy(X))
    assert np.array_equal(theirs.numpy(), X)
    assert np.array_equal(tinyort.OrtValue.from_dlpack(theirs).numpy(), X)


def test_dlpack_refusals():
    with pytest.raises(BufferError, match="contiguous"):
        tinyort.OrtValue.from_dlpack(X.T)
    with pytest.raises(BufferError, match="no type string"):
        of(np.array(["a"]))(tinyort).__dlpack__()
    with pytest.raises((ValueError, TypeError)):
        tinyort.OrtValue.from_dlpack(3)


def test_a_capsule_that_nobody_takes():
    import sys

    array = np.ones(10, np.float32)
    before = sys.getrefcount(array)
    for _ in range(100):
        tinyort.OrtValue.ortvalue_from_numpy(array).__dlpack__()
        tinyort.OrtValue.from_dlpack(array)
    gc.collect()
    assert sys.getrefcount(array) == before


# ---- without numpy ---------------------------------------------------------------------------------------------------


def test_without_numpy():
    """The package where numpy cannot be imported: buffers and lists in, buffers out."""
    import subprocess
    import sys

    code = f"""
import sys
sys.modules["numpy"] = None
import array, tinyort
assert "numpy" not in [name.split(".")[0] for name, module in sys.modules.items() if module]
session = tinyort.InferenceSession({models.two()!r})
for x in ([[1, -2, 3]], memoryview(array.array("f", [1, -2, 3])).cast("B").cast("f", [1, 3])):
    y, z = session.run(None, {{"x": x, "k": 3}})
    assert memoryview(y._value).tolist() == [[1.0, 0.0, 3.0]] and y.shape() == [1, 3], memoryview(y._value).tolist()
    assert memoryview(z._value).tolist() == 3 and z.data_type() == "tensor(int64)"
again = session.run(["y"], {{"x": y, "k": z}})[0]
assert memoryview(again._value).tolist() == [[1.0, 0.0, 3.0]]
try:
    session.run(None, {{"x": [[1, 2], [3]], "k": 3}})
except ValueError as error:
    assert "uneven" in str(error)
else:
    raise SystemExit("uneven lists were taken")
strings = tinyort.InferenceSession({models.identity(T.STRING)!r}).run(None, {{"x": ["a", "b"]}})[0]
assert strings._value.strings() == ["a", "b"]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_brings_no_numpy():
    import subprocess
    import sys

    code = "import sys, tinyort; sys.exit(any(name in sys.modules for name in ('numpy', 'json', 'typing', 'inspect')))"
    subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"], check=True)

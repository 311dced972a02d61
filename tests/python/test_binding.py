"""IOBinding, beside onnxruntime; memory of a device on the simulated one."""

import os

import models
import numpy as np
import pytest
import tinyort

X = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) % 5


def bound(o, how):
    session = o.InferenceSession(models.product())
    binding = session.io_binding()
    keep = how(o, session, binding)
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu(), [v.numpy().copy() for v in binding.get_outputs()], keep and keep[-1]


def cpu_input(o, session, binding):
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")


def pointers(o, session, binding):
    y = np.zeros((64, 64), np.float32)
    binding.bind_input("x", "cpu", 0, np.float32, [64, 64], X.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, [64, 64], y.ctypes.data)
    return X, y


def values(o, session, binding):
    y = o.OrtValue.ortvalue_from_shape_and_type([64, 64], np.float32)
    binding.bind_ortvalue_input("x", o.OrtValue.ortvalue_from_numpy(X))
    binding.bind_ortvalue_output("y", y)
    return (y.numpy(),)


@pytest.mark.parametrize("how", [cpu_input, pointers, values])
def test_binding(same, how):
    def question(o):
        copied, viewed, kept = bound(o, how)
        return copied, viewed, kept is None or np.array_equal(kept, copied[0])

    assert same(question)[2] in (True, None)


def read_only(folder):
    """Memory of an array, and what is looked at afterwards."""
    np.save(folder / "y.npy", np.zeros((64, 64), np.float32))
    yield np.load(folder / "y.npy", mmap_mode="r")
    frozen = np.zeros((64, 64), np.float32)
    frozen.flags.writeable = False
    yield frozen
    yield frozen[::1]
    yield np.frombuffer(bytes(64 * 64 * 4), np.float32).reshape(64, 64)


def test_read_only_memory_is_not_written(tmp_path):
    session = tinyort.InferenceSession(models.product())
    for y in read_only(tmp_path):
        value = tinyort.OrtValue.ortvalue_from_numpy(y)
        binding = session.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_ortvalue_output("y", value)
        with pytest.raises(tinyort.Error, match='output "y": its memory is read-only: bind an array that may be written'):
            session.run_with_iobinding(binding)
        with pytest.raises(ValueError, match="read-only"):
            value.update_inplace(X)
        with pytest.raises(ValueError, match="read-only"):
            value.numpy()[0, 0] = 1
        assert not y.any()
        assert session.run(None, {"x": value})[0].shape == (64, 64), "as an input it is as good as any other"


def test_output_is_written_where_it_is_bound():
    session = tinyort.InferenceSession(models.product())
    y = np.zeros((64, 64), np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_ortvalue_output("y", tinyort.OrtValue.ortvalue_from_numpy(y))
    for factor in (1, 2):
        binding.bind_cpu_input("x", factor * X)
        session.run_with_iobinding(binding)
        assert np.array_equal(y, session.run(None, {"x": factor * X})[0]) and y.any()


def test_again_after_clearing(same):
    def question(o):
        session = o.InferenceSession(models.product())
        binding = session.io_binding()
        cpu_input(o, session, binding)
        binding.synchronize_inputs()
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        binding.clear_binding_inputs()
        binding.clear_binding_outputs()
        cpu_input(o, session, binding)
        session.run_with_iobinding(binding, None)
        return binding.copy_outputs_to_cpu()

    same(question)


def test_refusals():
    session = tinyort.InferenceSession(models.product())
    binding = session.io_binding()
    with pytest.raises(tinyort.errors.InvalidArgument, match="no 'w': known are x"):
        binding.bind_cpu_input("w", X)
    with pytest.raises(tinyort.errors.InvalidArgument, match="known are y"):
        binding.bind_output("w")
    with pytest.raises(ValueError, match="Required inputs"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("x", X)
    binding.bind_output("y", "cpu", 0, np.float32, [64, 63], X.ctypes.data)
    with pytest.raises(tinyort.errors.InvalidArgument):
        session.run_with_iobinding(binding)
    binding.bind_output("y", "cpu", 0, np.float64, [64, 64], X.ctypes.data)
    with pytest.raises(tinyort.errors.InvalidArgument):
        session.run_with_iobinding(binding)


cudasim = pytest.mark.skipif(not os.environ.get("TINYORT_CUDASIM"), reason="no simulated device in this build")


@cudasim
def test_memory_of_a_device():
    """Input and output stay in the device's memory: the plan has no copy."""
    session = tinyort.InferenceSession(models.product(), providers=["cudasim", "cpu"])
    expected = tinyort.InferenceSession(models.product()).run(None, {"x": X})[0]
    assert len(session.placement().to_dict()["copies"]) == 2
    x = session.create_ortvalue_from_shape_and_type([64, 64], np.float32, "cudasim")
    y = session.create_ortvalue_from_shape_and_type([64, 64], np.float32, "cudasim")
    assert x.device_name() == "cudasim"
    session._core.copy(x._value, tinyort.OrtValue.ortvalue_from_numpy(X)._value)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", x)
    binding.bind_ortvalue_output("y", y)
    session.run_with_iobinding(binding)
    assert session.placement().to_dict()["copies"] == []
    np.testing.assert_allclose(binding.copy_outputs_to_cpu()[0], expected, rtol=1e-5)
    with pytest.raises(RuntimeError, match="copy_outputs_to_cpu"):
        y.numpy()
    binding.bind_input("x", "cudasim", 0, np.float32, [64, 64], x.data_ptr())
    assert binding._inputs["x"].provider == "cudasim"
    session.run_with_iobinding(binding)
    np.testing.assert_allclose(binding.copy_outputs_to_cpu()[0], expected, rtol=1e-5)
    with pytest.raises(tinyort.errors.InvalidArgument, match='no provider "npu"'):
        binding.bind_input("x", "npu", 0, np.float32, [64, 64], x.data_ptr())
    with pytest.raises(ValueError, match="at most 8 dimensions"):
        session.create_ortvalue_from_shape_and_type([1] * 9, np.float32, "cudasim")
    del session, binding, x
    assert y.shape() == [64, 64]

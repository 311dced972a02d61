"""tinyort.compare, the plugin of pytest, and onnx's backend interface."""

from pathlib import Path

import models
import numpy as np
import onnx
import pytest
import tinyort
import tinyort.backend

pytest_plugins = "pytester"
DIGITS = str(Path(__file__).parents[2] / "models" / "digits.onnx")


def test_equal():
    found = tinyort.compare(DIGITS, "cpu:isa=plain", "cpu")
    assert found and found.first is None and found.compared == 11 and found.worst < 1e-3
    assert "11 values are equal" in repr(found)
    assert tinyort.compare(DIGITS, "cpu", "cpu", {"image": np.ones((3, 1, 8, 8), np.float32)})


def test_different():
    """An operator that is another function for each session."""
    calls = []

    @tinyort.op("com.example::Drift", shape=lambda x: x)
    def drift(x):
        calls.append(x)
        return x + np.float32(len(calls) - 1)

    model = models.build([models.value("x", 1, [2])], [models.value("z", 1, [2])],
                         [models.node("Relu", "x", "a"), models.node("Drift", "a", "y", domain="com.example", name="here"),
                          models.node("Neg", "y", "z")], opsets=(("", 18), ("com.example", 1)))  # fmt: skip
    found = tinyort.compare(model, "cpu", "cpu:threads=1")
    assert not found and found.first["node"] == "here" and found.first["op"] == "Drift" and found.first["value"] == "y"
    assert [d["value"] for d in found.different] == ["y", "z"] and found.compared == 3
    assert "2 elements differ" in found.first["text"] or "2 of 2 elements differ" in found.first["text"]
    assert "first 'y' of here (Drift)" in repr(found)


def test_fixture(placement):
    placement.assert_on(DIGITS, "cpu")
    placement.assert_on(DIGITS, "cuda", target="cuda:sm_87")
    assert placement.of(tinyort.InferenceSession(DIGITS)).on("cpu")
    with pytest.raises(AssertionError, match="nodes are not on cuda"):
        placement.assert_on(DIGITS, "cuda", chain="cpu")


def test_plugin(pytester):
    """As a user's test shows it."""
    pytester.makepyfile(f"""
        def test_it(placement):
            placement.assert_on({DIGITS!r}, "cuda", chain="cpu")
    """)
    result = pytester.runpytest_subprocess("-p", "tinyort.pytest_plugin")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*7 of * nodes are not on cuda*", "*conv1 (FusedConv) is on cpu*"])


def test_backend():
    model = onnx.load_from_string(models.two())
    x, k = np.array([[1, -2, 3]], np.float32), np.array(3)
    outputs = tinyort.backend.run_model(model, [x, k])
    assert np.array_equal(outputs.y, [[1, 0, 3]]) and outputs[1] == 3
    assert tinyort.backend.prepare(model).run({"x": x, "k": k}).z == 3
    node = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    assert np.array_equal(tinyort.backend.run_node(node, [x, x]).c, 2 * x)
    assert tinyort.backend.is_compatible(model)
    assert not tinyort.backend.is_compatible(onnx.load_from_string(models.unknown_operator()))
    assert tinyort.backend.supports_device("CPU") and not tinyort.backend.supports_device("TPU")

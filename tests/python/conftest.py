"""What the tests of the package share: a question asked of onnxruntime and of tinyort, whose answers must be equal."""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import tinyort
import tinyort.binding
import tinyort.errors
from onnxruntime.capi import onnxruntime_pybind11_state as states

sys.path.insert(0, str(Path(__file__).parent))


def equal(a, b):
    """Equal values of equal types; arrays with equal dtypes and shapes."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        same = isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
        return same and (np.array_equal(a, b) if a.dtype == object else np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return type(a) is type(b) and a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def answer(question, module, capi):
    """("value", result) or ("raises", name of the exception's class)."""
    try:
        return "value", question(module)
    except Exception as error:  # noqa: BLE001 - its class is the answer
        names = [kind.__name__ for kind in type(error).__mro__ if kind.__name__ not in ("Error", "object")]
        assert not isinstance(error, tinyort.errors.Error) or str(error), "an error has a message"
        return "raises", names[0] if names[0] != "UnknownOperator" else "InvalidGraph"


@pytest.fixture
def same(capfd):
    """same(question): asks both, and holds the answers against each other; returns tinyort's."""

    def ask(question):
        theirs, ours = answer(question, onnxruntime, states), answer(question, tinyort, tinyort.errors)
        assert theirs[0] == ours[0], (theirs, ours)
        assert equal(theirs[1], ours[1]), (theirs, ours)
        return ours[1]

    return ask

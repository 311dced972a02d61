"""Runs ONNX's backend cases by onnx's own runner over tinyort.backend, and holds them against tests/node/expected.txt.

Usage: backend_cases.py EXPECTED. A case must end as on the command line: `yes` passes, a code such as NO_OP is a refusal
with that code. Where the list says `shape`, values are random, and a difference of values is no failure. Tolerances of the
list are those of the case.
"""

import sys
import unittest
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import onnx.backend.test

sys.path.insert(0, str(Path(__file__).parents[1] / "node"))
import tinyort.backend  # noqa: E402
from run import read_expectations  # noqa: E402

KINDS = {"OnnxBackendNodeModelTest": "node", "OnnxBackendSimpleModelTest": "simple",
         "OnnxBackendPyTorchConvertedModelTest": "pytorch-converted",
         "OnnxBackendPyTorchOperatorModelTest": "pytorch-operator"}  # fmt: skip


def close(found, expected, rtol, atol):
    """What the command line takes for equal: types and shapes, values within its tolerance, NaN equal to NaN."""
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), f"{len(found)} elements, expected {len(expected)}"
        for a, b in zip(found, expected):
            close(a, b, rtol, atol)
    elif expected is None or found is None:
        assert found is expected
    else:
        found, expected = np.asarray(found), np.asarray(expected)
        assert found.shape == expected.shape, (found.shape, expected.shape)
        if expected.dtype.kind in "OUS":
            assert found.tolist() == expected.astype(object).tolist()
        else:
            assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
            as_numbers = complex if expected.dtype.kind == "c" else float
            if expected.dtype.name in ("float16", "bfloat16"):
                rtol, atol = max(rtol, 1e-2), max(atol, 1e-2)
            np.testing.assert_allclose(found.astype(as_numbers), expected.astype(as_numbers), rtol=rtol, atol=atol)


def expectation(case, expectations):
    """(outcome, rtol, atol): of the lines that fit, the last counts."""
    outcome, rtol, atol = None, None, None
    for pattern, words, _ in expectations:
        if fnmatchcase(case, pattern):
            outcome = words.get("cpu", outcome)
            rtol, atol = words.get("rtol", rtol), words.get("atol", atol)
    return outcome, rtol, atol


def end_of(test):
    """("yes" | code | "no", text) of a case."""
    result = unittest.TestResult()
    test.run(result)
    if result.skipped:
        return ("NO_OP" if "Not compatible" in result.skipped[0][1] else "skipped"), result.skipped[0][1]
    wrong = result.failures + result.errors
    if not wrong:
        return "yes", ""
    text = wrong[0][1].strip().splitlines()[-1]
    return ("NO_OP", text) if "UnknownOperator" in text else ("no", text)


def main():
    expectations = read_expectations(sys.argv[1])
    suite = onnx.backend.test.BackendTest(tinyort.backend, __name__)
    current = {}

    def assert_similar(_, ref_outputs, outputs, rtol, atol, *__, **___):
        wanted, own_rtol, own_atol = current["expected"]
        if wanted == "shape":
            assert [np.shape(a) for a in outputs] == [np.shape(b) for b in ref_outputs]
        else:
            close(list(outputs), list(ref_outputs), max(float(own_rtol or rtol), 1e-4), max(float(own_atol or atol), 1e-5))

    type(suite).assert_similar_outputs = classmethod(assert_similar)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for class_name, cases in suite.test_cases.items():
        for name in unittest.defaultTestLoader.getTestCaseNames(cases):
            if class_name not in KINDS or not name.endswith("_cpu"):
                continue
            case = f"{KINDS[class_name]}/{name[: -len('_cpu')]}"
            current["expected"] = expectation(case, expectations)
            wanted = "yes" if current["expected"][0] == "shape" else current["expected"][0]
            found, text = end_of(cases(name))
            if found != wanted:
                print(f"FAILED  {case}: expected {wanted}, found {found}: {text[:200]}")
            counts["failed" if found != wanted else "passed" if found == "yes" else "skipped"] += 1
    print(f"python-backend: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return counts["failed"] > 0 or not counts["passed"]


if __name__ == "__main__":
    sys.exit(main())

"""Runs: what is printed, what is written."""

import numpy as np
from onnx import TensorProto, numpy_helper

from suite import DIGITS, SEVEN


def test_run(suite, folder):
    arguments = ("run", DIGITS, "--input", SEVEN)
    result = suite.expect(0, "placement: ", *arguments, "--top", "3", "--labels", "models/digits.labels.txt")
    suite.check("seven" in result.out.split("label")[1].splitlines()[1], "the digit is a seven")
    suite.check(result.err.splitlines()[-1].startswith("placement: "), "the last line on stderr is the placement")
    told = suite.run(*arguments, "--json", "--top", "1").json()
    suite.check(told["top"][0]["index"] == 7 and told["outputs"][0]["shape"] == [1, 10], "run --json")
    suite.expect(0, "output", *arguments, "--save", folder / "npy")
    suite.expect(0, "output", *arguments, "--save", folder / "pb", "--format", "pb")
    saved = np.load(folder / "npy" / "output_0.npy")
    again = numpy_helper.to_array(TensorProto.FromString((folder / "pb" / "output_0.pb").read_bytes()))
    suite.check(saved.shape == (1, 10) and saved.argmax() == 7 and np.array_equal(saved, again), "saved outputs")

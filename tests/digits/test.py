"""Runs models/digits.onnx by the command line: on the held-back pictures, where the accuracy must be the one that the model's
metadata states, and on each picture of models/pictures. Usage: test.py TINYORT SCRATCH_FOLDER, from the root of the tree."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, "models")
sys.dont_write_bytecode = True
import digits  # noqa: E402  (models/digits.py)

MODEL = "models/digits.onnx"


def run(tinyort, *arguments):
    """Standard output of `tinyort run MODEL arguments`; an error ends the test."""
    done = subprocess.run([tinyort, "run", MODEL, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
    return done.stdout


def probabilities(tinyort, scratch, pictures):
    np.save(scratch / "pictures.npy", pictures)
    run(tinyort, "--input", str(scratch / "pictures.npy"), "--save", str(scratch))
    return np.load(scratch / "output_0.npy")


def test_size(tinyort, scratch):
    assert Path(MODEL).stat().st_size < 200_000


def test_stated_accuracy(tinyort, scratch):
    _, _, pictures, labels = digits.load_data()
    stated = {p.key: p.value for p in onnx.load(MODEL).metadata_props}["held_back_accuracy"]
    right = int((probabilities(tinyort, scratch, pictures).argmax(axis=1) == labels).sum())
    assert f"{right}/{len(labels)}" == stated, f"{right} of {len(labels)} right, stated {stated}"
    assert right >= 0.98 * len(labels)


def test_same_as_reference_at_any_batch(tinyort, scratch):
    _, _, pictures, _ = digits.load_data()
    for batch in (1, 2, 7, 33):
        (expected,) = ReferenceEvaluator(MODEL).run(None, {"image": pictures[:batch]})
        found = probabilities(tinyort, scratch, pictures[:batch])
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_pictures(tinyort, scratch):
    for digit, label in enumerate(digits.LABELS):
        picture = f"models/pictures/{digit}.png"
        output = run(tinyort, "--input", picture, "--top", "1", "--labels", "models/digits.labels.txt")
        named = [other for other in digits.LABELS if other in output.split()]
        assert named == [label], f"{picture}: {output}"


def main():
    tinyort, scratch = sys.argv[1], Path(sys.argv[2])
    scratch.mkdir(parents=True, exist_ok=True)
    failed = 0
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        try:
            test(tinyort, scratch)
        except AssertionError as error:
            failed += 1
            print(f"digits: FAILED: {name}: {error}")
    print(f"digits: {len(tests) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

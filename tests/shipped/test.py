"""Runs the models of the tree by the command line. models/digits.onnx: on the held-back pictures, where the accuracy must be the
one that the model's metadata states, and on each picture of models/pictures. models/edges.onnx: it is what its script makes, it is
right, and of a device it falls back with the reason that README.md teaches.

Usage: test.py TINYORT SCRATCH_FOLDER, from the root of the tree. Prints `shipped: N passed, N failed, N skipped`: without the
simulated device (libtinyort-cudasim.so beside TINYORT) the fallback is not seen."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, "models")
sys.dont_write_bytecode = True
import digits  # noqa: E402  (models/digits.py)
import edges  # noqa: E402  (models/edges.py)

MODEL = "models/digits.onnx"
EDGES = "models/edges.onnx"


class Skipped(Exception):
    pass


def tell(tinyort, *arguments):
    """Standard output and error; a failure ends the test."""
    done = subprocess.run([tinyort, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
    return done.stdout, done.stderr


def run(tinyort, *arguments):
    return tell(tinyort, "run", MODEL, *arguments)[0]


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
    for picture in sorted(map(str, Path("models/pictures").iterdir())):
        label = digits.LABELS[int(Path(picture).stem)]
        output = run(tinyort, "--input", picture, "--top", "1", "--labels", "models/digits.labels.txt")
        named = [other for other in digits.LABELS if other in output.split()]
        assert named == [label], f"{picture}: {output}"


def test_edges_are_what_the_script_makes(tinyort, scratch):
    assert Path(EDGES).read_bytes() == edges.make().SerializeToString()


def test_edges_are_right(tinyort, scratch):
    reference = ReferenceEvaluator(EDGES)
    pictures, _, _, _ = digits.load_data()
    for picture in pictures[:20, np.newaxis]:
        np.save(scratch / "picture.npy", picture)
        tell(tinyort, "run", EDGES, "--input", str(scratch / "picture.npy"), "--save", str(scratch), "--format", "pb")
        direction = onnx.TensorProto.FromString((scratch / "output_0.pb").read_bytes()).string_data[0].decode()
        (expected,) = reference.run(["direction"], {"image": picture})[0]
        assert direction == expected, f"{direction}, expected {expected}"


def test_edges_fall_back(tinyort, scratch):
    if not Path(tinyort).with_name("libtinyort-cudasim.so").exists():
        raise Skipped("no simulated device in this build")
    chain = ("--ep", "cudasim,cpu")
    plan = json.loads(tell(tinyort, "plan", EDGES, *chain, "--json")[0])
    fell_back = [node for node in plan["nodes"] if node["provider"] == "cpu"]
    assert [node["name"] for node in fell_back] == ["say"], fell_back
    assert fell_back[0]["verdicts"][0]["code"] == "NO_TYPE", fell_back
    assert plan["summary"]["cudasim"] == 4, plan["summary"]
    _, said = tell(tinyort, "run", EDGES, *chain, "--random", "1")
    assert "1 node fell back: say NO_TYPE" in said, said


def main():
    tinyort, scratch = sys.argv[1], Path(sys.argv[2])
    scratch.mkdir(parents=True, exist_ok=True)
    failed = skipped = 0
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        try:
            test(tinyort, scratch)
        except AssertionError as error:
            failed += 1
            print(f"shipped: FAILED: {name}: {error}")
        except Skipped as reason:
            skipped += 1
            print(f"shipped: skipped: {name}: {reason}")
    print(f"shipped: {len(tests) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

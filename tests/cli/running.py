"""Runs: what is printed, what is written."""

import json
import resource
import subprocess

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from suite import DIGITS, SEVEN, floats, save_model


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


def test_small_and_large_entries(suite, folder):
    """Scores that are tiny or huge are told as they are, not as 0.0000."""
    for value, told in ((1e-10, "1.000e-10"), (2.5e30, "2.500e+30"), (0.25, "0.2500"), (0, "0.0000")):
        np.save(folder / "x.npy", np.array([value], np.float32))
        save_model(folder / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [floats("x", [1])], [floats("y", [1])])
        suite.expect(0, told, "run", folder / "m.onnx", "--input", folder / "x.npy", "--top", "1")
    np.save(folder / "x.npy", -np.abs(np.array([np.nan], np.float32)))
    out = suite.expect(0, "nan", "run", folder / "m.onnx", "--input", folder / "x.npy").out
    suite.check("-nan" not in out, f"NaN has no sign: {out}")


def test_labels_are_counted_before_the_run(suite, folder):
    (folder / "few.txt").write_text("one\ntwo\n")
    told = suite.expect(2, "--labels: 2 names for rows of 10", "run", DIGITS, "--random", "1", "--top", "1", "--labels", folder / "few.txt")
    suite.check("taken as" not in told.err, f"nothing was run: {told.err}")


def test_too_little_memory(suite, folder):
    """Whatever the process may take, the program works or is refused with exit status 4: never a bug, never a signal."""
    commands = (["run", DIGITS, "--input", SEVEN], ["plan", DIGITS, "--json"], ["inspect", DIGITS], ["ops"], ["bench", DIGITS, "--repeat", "1"],
                ["plan", DIGITS, "--optimized", folder / "o.onnx", "--html", folder / "p.html", "--lock", folder / "l"],
                ["bench", DIGITS, "--repeat", "1", "--sweep", "N=1,2"], ["extract", DIGITS, "--to", "scores", "-o", folder / "p.onnx"],
                ["compare", DIGITS, "--ep", "cpu", "--ep", "cpu:isa=plain"], ["compile", DIGITS, "--shape", "N=1", "-o", folder])

    def ending(kilobytes, command):
        limit = [kilobytes * 1024] * 2
        done = subprocess.run([suite.tinyort, *map(str, command)], capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))  # fmt: skip
        return done.returncode, done

    def works(kilobytes):
        return ending(kilobytes, ["ops"])[0] in (0, 4)  # else the loader finds no room for libraries and what they set up

    low, high = 1000, 4_000_000
    while high - low > 10:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    refused = 0
    for command in commands:
        for more in range(0, 3000, 60):
            status, done = ending(high + more, command)
            suite.check(status in (0, 4), f"{command} in {high + more} kB: {status} {done.stderr[-200:]}")
            refused += status == 4
            if status == 4 and "--json" in command and done.stdout:
                suite.check(json.loads(done.stdout)["error"]["code"] == "TORT_E_MEMORY", done.stdout)
    suite.check(refused > 10, f"some had too little: {refused}")


def test_a_value_that_is_no_probability(suite, folder):
    """The device tells of it after the run, in cpu's words."""
    save_model(folder / "m.onnx", [helper.make_node("Bernoulli", ["p"], ["y"], name="coins", seed=1.0)], [floats("p", [3])], [floats("y", [3])], opset=22)
    np.save(folder / "p.npy", np.array([0.5, 1.5, 0], np.float32))
    has_cudasim = not suite.run("providers", "--ep", "cudasim", "--require", "cudasim").status
    for provider in ("cpu", "cudasim") if has_cudasim else ("cpu",):
        words = ["element 1 is 1.5, expected a probability from 0 to 1", "coins"]
        suite.expect(5, words, "run", folder / "m.onnx", "--ep", provider, "--input", f"p={folder}/p.npy")

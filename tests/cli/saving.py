"""--save: a file is there whole or not at all, and what cannot be written is known before the run."""

import os
import resource
import select
import signal
import subprocess

import numpy as np
from onnx import TensorProto, helper

from suite import DIGITS, SECONDS, identity_model, save_model, tensor

RUN = ("run", DIGITS, "--random", "1", "--save")


def test_folders(suite, folder):
    suite.expect(0, "placement", *RUN, folder / "a" / "b" / "c")
    suite.check(np.load(folder / "a" / "b" / "c" / "output_0.npy").shape == (1, 10), "folders are made")
    suite.expect(0, "placement", *RUN, str(folder / "a" / "b") + "/")
    suite.check((folder / "a" / "b" / "output_0.npy").exists(), "a folder that is there, with a slash")
    (folder / "file").write_text("x")
    for wrong in (folder / "file", folder / "file" / "x", ""):
        result = suite.expect(2, "--save", *RUN, wrong)
        suite.check("taken as" not in result.err and "placement" not in result.err, f"'{wrong}' is refused before anything is loaded")
    if os.getuid() != 0:  # root may write everywhere
        (folder / "locked").mkdir(mode=0o500)
        suite.expect(2, "--save", *RUN, folder / "locked" / "x")
    result = suite.expect(3, "there is no file", "run", folder / "none.onnx", "--save", folder / "early")
    suite.check(not (folder / "early").exists(), "nothing is made for a run that does not come about")


def limited(limit):
    """A disk that is full after so many bytes of a file."""

    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return prepare


def test_types_that_numpy_lacks(suite, folder):
    """Their bits, a number each, which is said; and what was saved goes in again."""
    kinds = {"BFLOAT16": (np.uint16, 16), "FLOAT8E4M3FN": (np.uint8, 8), "INT4": (np.uint8, 4), "UINT2": (np.uint8, 2), "FLOAT6E2M3": (np.uint8, 6)}
    for kind, (holder, bits) in kinds.items():
        port = [tensor(name, getattr(TensorProto, kind), [7]) for name in "xy"]
        save_model(folder / "m.onnx", [helper.make_node("Cast", ["x"], ["y"], to=getattr(TensorProto, kind))], port[:1], port[1:], opset=28)
        given = (np.arange(7) * 37 + 11) % (1 << bits)
        np.save(folder / "x.npy", given.astype(holder))
        suite.expect(0, ["holds the bits of", "--format pb"], "run", folder / "m.onnx", "--input", folder / "x.npy", "--save", folder / kind)
        got = np.load(folder / kind / "output_0.npy")
        suite.check(got.dtype == holder and np.array_equal(got, given), f"{kind}: {got} of {given}")
    result = suite.expect(0, "placement", *RUN, folder / "plain")
    suite.check("bits of" not in result.err, "nothing is said of a type that NumPy has")


def test_a_full_disk(suite, folder):
    identity_model(folder / "m.onnx", TensorProto.FLOAT, [100000])
    for form in ("npy", "pb"):
        target = folder / form
        target.mkdir()
        (target / f"output_0.{form}").write_bytes(b"what was there before")
        done = subprocess.run([suite.tinyort, "run", folder / "m.onnx", "--random", "1", "--save", target, "--format", form],
                              capture_output=True, text=True, preexec_fn=limited(4096))
        suite.check(done.returncode == 5 and f"output_0.{form}' cannot be written: File too large" in done.stderr, f"{done.returncode}: {done.stderr}")
        left = {path.name: path.read_bytes() for path in target.iterdir()}
        suite.check(left == {f"output_0.{form}": b"what was there before"}, f"no part of a file is left: {list(left)}")
        suite.check(".tinyort" not in done.stderr, "and its passing name is not told")


def test_an_interruption(suite, folder):
    """The program waits for its labels; the file that it will write is then a pipe that takes only a part."""
    identity_model(folder / "m.onnx", TensorProto.FLOAT, [100000])
    target, labels = folder / "out", folder / "labels"
    target.mkdir()
    os.mkfifo(labels)
    program = subprocess.Popen([suite.tinyort, "run", folder / "m.onnx", "--random", "1", "--top", "1", "--labels", labels, "--save", target],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.mkfifo(target / f".tinyort-{program.pid}-output_0.npy")
    reader = os.open(target / f".tinyort-{program.pid}-output_0.npy", os.O_RDONLY | os.O_NONBLOCK)
    with open(labels, "w") as names:
        names.write("a\n" * 100000)
    suite.check(select.select([reader], [], [], SECONDS)[0], "a file has another name until it is whole")
    program.send_signal(signal.SIGINT)
    suite.check(program.wait(timeout=SECONDS) == -signal.SIGINT, "Ctrl-C ends the run")
    suite.check(not list(target.iterdir()), f"and leaves nothing: {list(target.iterdir())}")
    os.close(reader)

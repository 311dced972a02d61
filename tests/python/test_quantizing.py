"""quantize() and convert(): the models and reports of the command line, and what ends them."""

import _thread
import io
import json
import os
import signal
import subprocess
import threading

import models
import numpy as np
import onnx
import pytest
import tinyort
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader
from tinyort import arguments

DIGITS = "models/digits.onnx"
IMAGES = [np.random.default_rng(i).random((1, 1, 8, 8), np.float32) for i in range(16)]
DATA = [{"image": image} for image in IMAGES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("samples")
    for i, sample in enumerate(DATA):
        np.savez(made / f"{i:03}.npz", **sample)
    (made.parent / "labels.txt").write_text("".join(f"{i % 10}\n" for i in range(16)))
    return made


def told(tmp_path, command, *options):
    """The model and the report of the command line."""
    path = tmp_path / "cli.onnx"
    done = subprocess.run([os.environ["TINYORT"], command, DIGITS, "-o", path, "--json", *map(str, options)], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    report = json.loads(done.stdout)
    for key in ("schema", "command", "output", "costs"):
        report.pop(key, None)
    return path.read_bytes(), shown(report)


def shown(report):
    """The report with as many digits as JSON has of its numbers."""
    return json.loads(json.dumps(report), parse_float=lambda number: float(f"{float(number):.14g}"))


def answers(model, images=IMAGES):
    session = tinyort.InferenceSession(model)
    return [session.run(None, {"image": image})[0] for image in images]


# ---- what the command line does --------------------------------------------------------------------------------------


@pytest.mark.parametrize("given, options", [
    ({}, []), ({"scheme": "tensorrt", "sensitivity": False}, ["--scheme", "tensorrt", "--quick"]),
    ({"max_error": 30, "max_bytes": 1 << 20}, ["--max-error", 30, "--max-bytes", "1M"]), ({"keep": ["conv1"], "keep_ops": ["Softmax"]}, ["--keep", "conv1", "--keep-op", "Softmax"]),
    ({"truth": np.arange(16) % 10, "min_agreement": 0.5}, ["--truth", "labels.txt", "--min-agreement", 0.5]), ({"weight_type": "int4", "block": 16}, ["--weight-type", "int4", "--block", 16]),
])  # fmt: skip
def test_as_the_command_line(tmp_path, folder, given, options):
    model, report = told(tmp_path, "quantize", "--data", folder, *[folder.parent / o if o == "labels.txt" else o for o in options])
    found = tinyort.quantize(DIGITS, DATA, **given)
    assert found.model == model and shown(found) == report
    written = tinyort.quantize(DIGITS, DATA, tmp_path / "p.onnx", **given)
    assert written == {**found, "output": str(tmp_path / "p.onnx")} and written.model is None
    assert (tmp_path / "p.onnx").read_bytes() == model


@pytest.mark.parametrize("given, options", [
    ({"weight_type": "int4"}, ["--weight-type", "int4"]), ({"weight_type": "int8", "block": 64}, ["--weight-type", "int8", "--block", 64]), ({"dynamic": True}, ["--dynamic"]),
])  # fmt: skip
def test_without_samples(tmp_path, given, options):
    model, report = told(tmp_path, "quantize", *options)
    found = tinyort.quantize(DIGITS, **given)
    assert found.model == model and shown(found) == report and found["samples"] == 0
    assert max(np.abs(a - b).max() for a, b in zip(answers(DIGITS), answers(found.model))) < 0.2


@pytest.mark.parametrize("given, options", [({"to": "float16"}, []), ({"to": "bfloat16", "min_db": 20}, ["--min-db", 20]), ({"to": "float16", "io": "convert", "keep": ["conv1"]}, ["--io", "convert", "--keep", "conv1"])])
def test_conversion_as_the_command_line(tmp_path, folder, given, options):
    model, report = told(tmp_path, "convert", "--to", given["to"], "--data", folder, *options)
    found = tinyort.convert(DIGITS, data=DATA, **given)
    assert found.model == model and shown(found) == report and found["random"] is False


def test_conversion_and_back():
    half = tinyort.convert(DIGITS)
    assert half["random"] and half["samples"] == 2 and half["finite"] and half["met"] and half["changed"] > 3
    assert len(half.model) < 0.6 * os.path.getsize(DIGITS)
    whole = tinyort.convert(half.model, to="float32")
    types = {numpy_helper.to_array(t).dtype for t in onnx.load_from_string(whole.model).graph.initializer}
    assert np.float16 not in types and whole["to"] == "float32" and whole["casts"] == 0
    assert max(np.abs(a - b).max() for a, b in zip(answers(DIGITS), answers(whole.model))) < 1e-2


# ---- models and samples ----------------------------------------------------------------------------------------------


class Reader(CalibrationDataReader):
    def __init__(self):
        self.left = iter(DATA)

    def get_next(self):
        return next(self.left, None)


class Lazy:
    """Samples that are made when they are asked for."""

    def __init__(self):
        self.asked = []

    def __len__(self):
        return len(IMAGES)

    def __getitem__(self, index):
        self.asked.append(index)
        return {"image": IMAGES[index]}


def test_samples_in_other_forms():
    want = tinyort.quantize(DIGITS, DATA)
    lazy = Lazy()
    for data in (Reader(), lazy, (sample for sample in DATA), tuple(DATA), IMAGES, np.stack(IMAGES), [image.tolist() for image in IMAGES]):
        found = tinyort.quantize(DIGITS, data)
        assert found.model == want.model and found == want
    assert lazy.asked[:16] == list(range(16)) and len(lazy.asked) > 16


def test_sizes_that_options_fix():
    """By name or by shape, in a model of an old opset, too, which is folded a second time."""
    weights = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    data = [np.random.default_rng(i).random((2, 8), np.float32) for i in range(16)]
    for opset in (18, 9):
        model = models.build([models.value("x", 1, ["n", 8])], [models.value("y", 1, ["n", 8])],
                             [models.node("MatMul", "x w", "m"), models.node("Relu", "m", "y")], [("w", weights)], opsets=(("", opset),))  # fmt: skip
        for sizes in ({"symbols": {"n": 2}}, {"shapes": {"x": (2, 8)}}):
            for made in (tinyort.convert(model, **sizes), tinyort.convert(model, to="bfloat16", **sizes), tinyort.quantize(model, data, **sizes)):
                assert tinyort.InferenceSession(made.model).get_inputs()[0].shape == [2, 8]


def test_models_in_other_forms(tmp_path):
    want = tinyort.quantize(DIGITS, DATA, sensitivity=False).model
    content = open(DIGITS, "rb").read()
    for model in (content, onnx.load(DIGITS), io.BytesIO(content)):
        assert tinyort.quantize(model, DATA, sensitivity=False, chain=["cpu"]).model == want
    path = tmp_path / "same.onnx"
    path.write_bytes(content)
    tinyort.quantize(path, DATA, path, sensitivity=False)
    assert path.read_bytes() == want


@pytest.mark.parametrize("sample, message", [
    ({"picture": IMAGES[0]}, "sample 3: the model has no input 'picture'; it has image"), ({}, "sample 3: input 'image' is missing"),
    ({"image": IMAGES[0][0]}, 'sample 3: .*"image".*'), ({"image": np.zeros((1, 1, 8, 9), np.float32)}, 'sample 3: .*"image".*is 9, the model wants 8'),
    ({"image": IMAGES[0].astype(float)}, 'sample 3: .*"image".*double'), ({"image": np.array(["a"])}, 'sample 3: .*"image"'),
    ({"image": IMAGES[0] + np.nan}, "sample 3: '.*' has a NaN"),
])  # fmt: skip
def test_a_wrong_sample_is_named(sample, message):
    with pytest.raises(tinyort.errors.InvalidArgument, match=message):
        tinyort.quantize(DIGITS, [*DATA[:3], sample, *DATA[4:]])
    if "NaN" not in message:
        with pytest.raises(tinyort.errors.InvalidArgument, match=message):
            tinyort.convert(DIGITS, data=[*DATA[:3], sample])


def test_samples_that_are_none():
    with pytest.raises(tinyort.errors.InvalidArgument, match="there are no samples"):
        tinyort.quantize(DIGITS)
    spent = iter(DATA)
    list(spent)
    for data in ([], spent):
        with pytest.raises(tinyort.errors.InvalidArgument, match="data: there are no samples.*a generator gives its own once"):
            tinyort.quantize(DIGITS, data, dynamic=True)
    for data in ("samples", DATA[0], 3):
        with pytest.raises(TypeError, match=r'^data: expected the inputs of many runs, as in \[{"x": array}'):
            tinyort.quantize(DIGITS, data)
    with pytest.raises(tinyort.errors.InvalidArgument, match="sample 0: expected a dict with x, k; found ndarray"):
        tinyort.quantize(models.two(), IMAGES)
    with pytest.raises(tinyort.errors.Fail, match="sample 0: node 0 .*; the inputs are made up"):
        tinyort.convert(models.reshape(), shapes={"s": (3,)})


# ---- arguments -------------------------------------------------------------------------------------------------------

WRONG = [
    ({"scheme": "qdq"}, ValueError), ({"scheme": 1}, TypeError), ({"keep": "conv1"}, TypeError), ({"keep_ops": [1]}, TypeError), ({"max_error": "30"}, TypeError),
    ({"max_error": -1}, ValueError), ({"min_agreement": 99}, ValueError), ({"truth": "3"}, TypeError), ({"truth": [0.5]}, TypeError), ({"truth": [1 << 70]}, ValueError),
    ({"max_bytes": 1.5}, TypeError), ({"sensitivity": "no"}, TypeError), ({"weight_type": "int5"}, ValueError), ({"block": 24}, ValueError), ({"block": 8}, ValueError),
    ({"dynamic": 2}, TypeError), ({"symbols": 3}, TypeError),
]  # fmt: skip


@pytest.mark.parametrize("given, kind", WRONG, ids=str)
def test_wrong_kinds(given, kind):
    (name,) = given
    with pytest.raises(kind, match=rf"^{name}: .*as in {name}=|^{name}: .*an example is {name}="):
        tinyort.quantize(DIGITS, DATA, **given)


def test_other_wrong_arguments(tmp_path):
    for given, message in (({"to": "int8"}, "to: .*none of float16, bfloat16, float32"), ({"io": "float16"}, "io: ")):
        with pytest.raises(ValueError, match=message):
            tinyort.convert(DIGITS, **given)
    with pytest.raises(TypeError, match="no argument 'shape'; did you mean 'shapes'"):
        tinyort.convert(DIGITS, shape=(1, 1, 8, 8))
    with pytest.raises(TypeError, match="^progress: expected a function"):
        tinyort.quantize(DIGITS, DATA, progress=True)
    with pytest.raises(tinyort.errors.InvalidArgument, match="truth: 2 labels for 16 samples"):
        tinyort.quantize(DIGITS, DATA, truth=[1, 2])
    with pytest.raises(tinyort.errors.InvalidArgument, match="no node 'nowhere'"):
        tinyort.quantize(DIGITS, DATA, keep=["nowhere"])
    with pytest.raises(tinyort.errors.InvalidArgument, match="quantized already"):
        tinyort.quantize(tinyort.quantize(DIGITS, dynamic=True).model, DATA)
    phases = []
    with pytest.raises(tinyort.errors.NoSuchFile, match="is a folder"):
        tinyort.quantize(DIGITS, DATA, tmp_path, progress=lambda *what: phases.append(what))
    assert not phases, "the path is checked before the work"


def test_examples_are_right():
    for table in (arguments.QUANTIZE, arguments.CONVERT):
        for name, (_, _, example) in table.items():
            given = eval(f"dict({example})")  # noqa: S307 - an example of the table
            assert list(given) == [name] and arguments.checked(given, table)


# ---- what ends the work ----------------------------------------------------------------------------------------------


def test_progress():
    phases = []
    tinyort.quantize(DIGITS, DATA, progress=lambda phase, done, of: phases.append((phase, done, of)))
    assert {"calibration", "ranges", "sensitivity"} <= {phase for phase, _, _ in phases}
    assert all(0 <= done <= of for _, done, of in phases) and phases[0] == ("calibration", 0, 16)
    phases.clear()
    tinyort.convert(DIGITS, data=DATA, progress=lambda *what: phases.append(what))
    assert phases


@pytest.mark.parametrize("work", [lambda **given: tinyort.quantize(DIGITS, DATA, **given), lambda **given: tinyort.convert(DIGITS, data=DATA, **given)])
def test_progress_ends_the_work(work, tmp_path):
    with pytest.raises(tinyort.errors.Fail, match="cancelled") as caught:
        work(progress=lambda phase, done, of: done < 3, output=tmp_path / "m.onnx")
    assert caught.value.code == "TORT_E_CANCELLED" and not list(tmp_path.iterdir())
    mine = RuntimeError("mine")

    def fails(phase, done, of):
        raise mine

    with pytest.raises(RuntimeError) as caught:
        work(progress=fails)
    assert caught.value is mine


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, StopIteration])
def test_exceptions_of_samples(kind):
    mine = kind("mine")

    class Failing(Lazy):
        def __getitem__(self, index):
            if index == 5:
                raise mine
            return super().__getitem__(index)

    with pytest.raises(kind) as caught:
        tinyort.quantize(DIGITS, Failing())
    assert caught.value is mine

    def generator():
        yield from DATA[:3]
        raise LookupError("mine")

    with pytest.raises(LookupError, match="^mine$"):
        tinyort.quantize(DIGITS, generator())


def test_an_interrupt_ends_the_work():
    """Ctrl+C while the library works, without a function of progress."""
    asked = threading.Event()

    class Slow(Lazy):
        def __getitem__(self, index):
            asked.set()
            return super().__getitem__(index)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs behind a shell ignores it
    threading.Thread(target=lambda: (asked.wait(), _thread.interrupt_main())).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            tinyort.quantize(DIGITS, Slow())
    finally:
        signal.signal(signal.SIGINT, before)


def test_threads_go_on():
    """The lock is free while the library works, and calls run side by side."""
    found = []
    threads = [threading.Thread(target=lambda: found.append(tinyort.quantize(DIGITS, DATA, chain="cpu:threads=1").model)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and len(set(found)) == 1

"""python -m tinyort.as_onnxruntime: programs that import onnxruntime."""

import subprocess
import sys
from pathlib import Path

import models

DIGITS = str(Path(__file__).parents[2] / "models" / "digits.onnx")
PROGRAM = f"""
import sys
import numpy as np
import onnxruntime as ort
import onnxruntime.capi.onnxruntime_pybind11_state as C
from onnxruntime import InferenceSession, SessionOptions
from onnxruntime.capi import _pybind_state
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from onnxruntime.capi.onnxruntime_inference_collection import OrtValue

print(sys.argv[1:], __name__, ort.__version__)
session = InferenceSession({DIGITS!r}, SessionOptions(), providers=ort.get_available_providers())
try:
    session.run(None, {{"image": np.zeros((1, 1, 8, 9), np.float32)}})
except InvalidArgument as error:
    print("caught", C.InvalidArgument is _pybind_state.InvalidArgument)
print(session.run(None, {{"image": np.zeros((1, 1, 8, 8), np.float32)}})[0].shape)
"""


def run(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **options)


def test_a_script(tmp_path):
    (tmp_path / "helper.py").write_text("")
    script = tmp_path / "app.py"
    script.write_text("import helper\n" + PROGRAM)
    plain = run(str(script), "a", "--b")
    done = run("-m", "tinyort.as_onnxruntime", str(script), "a", "--b")
    assert plain.returncode == done.returncode == 0, done.stderr
    assert done.stdout == plain.stdout and "caught True\n(1, 10)" in done.stdout
    assert done.stderr == "tinyort: digits.onnx: 7 cpu, 1 host (of 8; 0 folded; 3 fused into others)\n"


def test_a_module(tmp_path):
    (tmp_path / "app.py").write_text(PROGRAM)
    done = run("-m", "tinyort.as_onnxruntime", "-m", "app", "x", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("['x'] __main__ 1.")


def test_code(tmp_path):
    done = run("-m", "tinyort.as_onnxruntime", "-c", PROGRAM, "x", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("['x'] __main__ 1.") and "7 cpu" in done.stderr


def test_exit_status_and_errors(tmp_path):
    script = tmp_path / "app.py"
    script.write_text("import onnxruntime, sys; sys.exit(7)")
    assert run("-m", "tinyort.as_onnxruntime", str(script)).returncode == 7
    script.write_text("import onnxruntime\nonnxruntime.InferenceSession('nowhere.onnx')")
    done = run("-m", "tinyort.as_onnxruntime", str(script))
    assert done.returncode == 1 and "NoSuchFile" in done.stderr and "nowhere.onnx" in done.stderr


def test_usage():
    for arguments in ((), ("-m",), ("-c",), ("nowhere.py",)):
        done = run("-m", "tinyort.as_onnxruntime", *arguments)
        assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "there is no script 'nowhere.py'" in done.stderr
    done = run("-m", "tinyort.as_onnxruntime", "--help")
    assert done.returncode == 0 and "SCRIPT" in done.stdout


def test_tools_stay_onnxruntimes(tmp_path):
    (tmp_path / "model.onnx").write_bytes(models.product())
    script = tmp_path / "app.py"
    script.write_text(f"""
import onnxruntime
from onnxruntime.quantization import quantize_dynamic
quantize_dynamic({str(tmp_path / "model.onnx")!r}, {str(tmp_path / "small.onnx")!r})
print(onnxruntime.InferenceSession({str(tmp_path / "small.onnx")!r}).placement().line())
""")
    done = run("-m", "tinyort.as_onnxruntime", str(script))
    assert done.returncode == 0 and "cpu" in done.stdout, done.stderr


def test_install():
    code = """
import tinyort.as_onnxruntime as hook
import importlib.metadata, importlib.util
hook.install()
import onnxruntime, tinyort
assert onnxruntime.InferenceSession is tinyort.InferenceSession and hook.install() is onnxruntime
assert onnxruntime.__file__.endswith("__init__.py") and importlib.util.find_spec("onnxruntime") and importlib.metadata.version("onnxruntime") == onnxruntime.__version__
"""
    assert run("-c", code).returncode == 0
    done = run("-c", "import onnxruntime, tinyort.as_onnxruntime as hook\nhook.install()")
    assert "imported already" in done.stderr


def test_what_tinyort_lacks():
    done = run("-m", "tinyort.as_onnxruntime", "-c", "import onnxruntime; onnxruntime.OrtDevice.make('cuda', 0)")
    assert done.returncode == 1 and "ortvalue_from_numpy(array, 'cuda', 0)" in done.stderr


def test_where_onnxruntime_is_not_installed(tmp_path):
    code = f"""
import sys
sys.path[:] = [p for p in sys.path if "site-packages" not in p] + [{str(Path(__import__("tinyort").__file__).parents[1])!r}]
import tinyort.as_onnxruntime as hook
hook.install()
import importlib.metadata, importlib.util, onnxruntime
assert importlib.metadata.version("onnxruntime") == hook.STANDS_FOR
try:
    import onnxruntime.quantization
except ModuleNotFoundError:
    pass
else:
    raise SystemExit("where is that from?")
"""
    done = run("-c", code)
    assert done.returncode == 0, done.stderr

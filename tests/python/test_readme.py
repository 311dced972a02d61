"""The programs in the README and in the package's page do what they say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tinyort
import tinyort.operators

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "runtime" / "python" / "README.md").read_text()


def blocks(text, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def test_the_program_in_the_readme():
    (program,) = blocks((ROOT / "README.md").read_text())
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "placement: 7 cpu, 1 host" in done.stdout, done.stderr


@pytest.mark.parametrize("program", blocks(PAGE), ids=range(len(blocks(PAGE))))
def test_the_page(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "models" / "digits.onnx", "model.onnx")
    program = program.replace('{"x": array}', '{"image": array}')
    session = tinyort.InferenceSession("model.onnx")
    array = np.zeros((1, 1, 8, 8), np.float32)
    names = {"tinyort": tinyort, "session": session, "array": array}
    before = dict(tinyort.operators._registered)
    lines = program.replace('session.assert_on("cuda", allow=["Gather"])', 'session.assert_on("cpu", allow=["Gather"])')
    exec(compile(lines, "page", "exec"), names)  # noqa: S102 - it is the page that is tested
    tinyort.operators._registered.clear()
    tinyort.operators._registered.update(before)


def test_names_in_the_page():
    """Attributes, options and exceptions that the tables name are there."""
    options = tinyort.SessionOptions()
    for name in re.findall(r"`([a-z_]+)`(?=[,| ])", PAGE.split("### Options of a session")[1].split("### Runs")[0]):
        assert hasattr(options, name) or hasattr(tinyort.SessionOptions, name) or name.startswith("max_"), name
    for name in re.findall(r"^\| `([A-Za-z]+)` \|", PAGE.split("### Errors")[1], re.M):
        assert issubclass(getattr(tinyort.errors, name), tinyort.Error), name
    targets = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "MAKEFLAGS": ""})
    for target in re.findall(r"`make ([a-z-]+)`", PAGE):
        assert f"  {target} " in targets.stdout, target

"""What only tinyort tells: where nodes run and why, memory, times; the same as the command line's JSON."""

import json
import os
import subprocess
from pathlib import Path

import models
import numpy as np
import pytest
import tinyort

ROOT = Path(__file__).parents[2]
EDGES = str(ROOT / "models" / "edges.onnx")
DIGITS = str(ROOT / "models" / "digits.onnx")
cudasim = pytest.mark.skipif(not os.environ.get("TINYORT_CUDASIM"), reason="no simulated device in this build")


def command_line(*arguments):
    done = subprocess.run([os.environ["TINYORT"], *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout), done.stderr


def rounded(value):
    """Numbers to twelve digits: JSON of the program has fifteen where they do."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, list) else value



@pytest.mark.parametrize("model", [EDGES, DIGITS])
@pytest.mark.parametrize("chain", ["cpu", "cuda,cpu", pytest.param("cudasim,cpu", marks=cudasim)])
def test_as_the_command_line_says(model, chain):
    theirs, line = command_line("plan", model, "--ep", chain)
    ours = tinyort.plan(model, chain)
    built_alike = not any(p["code"] == "NOT_BUILT" for p in ours.providers)
    for key, value in ours.to_dict().items():
        if key in ("chain", "summary", "nodes", "copies", "memory", "host_memory") or built_alike:
            if key == "nodes" and not built_alike:
                continue
            assert rounded(theirs[key]) == rounded(value), key
    if built_alike:
        assert line.strip().removesuffix(" (tinyort plan shows all)") == "placement: " + ours.line()


@cudasim
def test_fallbacks():
    session = tinyort.InferenceSession(EDGES, providers=["cudasim", "cpu"])
    assert [f["node"] for f in session.placement().fallbacks] == ["say"]
    fallback = session.placement().fallbacks[0]
    assert fallback["op"] == "Gather" and fallback["runs_on"] == "cpu" and fallback["provider"] == "cudasim"
    assert fallback["code"] == "NO_TYPE" and fallback["message"]
    session.assert_on("cudasim", allow=["Gather"])
    with pytest.raises(AssertionError, match=r"1 of 6 nodes are not on cudasim:\n  say \(Gather\) is on cpu: NO_TYPE"):
        session.assert_on("cudasim")


WIDENED = """<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,4] y)
    <float s = {0.1}, int8 z = {0}, int8[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}> {
    q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  v = DequantizeLinear (w, s, z)  [product] y = MatMul (d, v) }"""


def test_products_in_float32(tmp_path):
    import onnx

    path = str(tmp_path / "widened.onnx")
    onnx.save(onnx.parser.parse_model(WIDENED), path)
    theirs, line = command_line("plan", path)
    ours = tinyort.InferenceSession(path).placement()
    assert theirs["precision"] == ours.precision == ours.to_dict()["precision"] and ours.precision["products"] == 1
    (entry,) = ours.precision["float32"]
    assert entry["message"] == "its result is not quantized" and entry["bytes"] == 3 * (2 * 3 + 3 * 4 + 2 * 4)
    assert line.strip().removesuffix(" (tinyort plan shows all)") == "placement: " + ours.line()
    assert "1 of 1 products of 8-bit numbers in float32" in ours.line() and "in float32: NO_TYPE" in str(ours)
    with pytest.raises(Exception, match="strict integers: 1 product of 8-bit numbers in float32"):
        tinyort.InferenceSession(path, strict_integers=True)


def test_assert_on():
    session = tinyort.InferenceSession(DIGITS)
    session.assert_on("CPUExecutionProvider")
    session.assert_on("cpu")
    with pytest.raises(AssertionError, match="nodes are not on cuda"):
        session.assert_on("cuda")


def test_a_plan_for_another_device():
    placement = tinyort.plan(DIGITS, "cuda,cpu", target="cuda:sm_87")
    assert len(placement.on("cuda")) == 7 and not placement.on("cpu")
    with pytest.raises(tinyort.errors.InvalidArgument):
        tinyort.plan(DIGITS, "cuda,cpu", target="cuda:sm_1")


def test_a_plan_that_does_not_work_out():
    """Nodes that nothing takes are in the plan, not an exception."""
    placement = tinyort.plan(models.unknown_operator())
    assert placement.nodes[0]["provider"] is None and placement.nodes[0]["verdicts"][0]["code"] == "NO_OP"
    assert "nowhere" in str(placement)


def test_text_and_html():
    placement = tinyort.InferenceSession(DIGITS).placement()
    lines = str(placement).splitlines()
    assert lines[0].split() == ["#", "node", "op", "runs", "on", "kernel", "why"]
    assert lines[-1].startswith("placement: 7 cpu, 1 host (of 8")
    html = placement._repr_html_()
    assert html.count("<tr>") == 9 and "<td>conv1</td>" in html
    hostile = models.build([models.value("x", 1, [1])], [models.value("y", 1, [1])],
                           [models.helper.make_node("Relu", ["x"], ["y"], name="<script>")])  # fmt: skip
    assert "<script>" not in tinyort.InferenceSession(hostile).placement()._repr_html_()


def test_providers():
    found = {p["name"]: p for p in tinyort.providers()}
    assert found["cpu"]["status"] == "ready" and "cuda" in found
    assert all(p["status"] == "ready" or p["cure"] for p in found.values())


def test_memory():
    memory = tinyort.InferenceSession(DIGITS, symbols={"N": 1}).memory()
    assert memory["host"]["total"] > memory["host"]["weights"] == memory["cpu"]["weights"] > 0


def test_profile():
    profile = tinyort.InferenceSession(DIGITS).profile({"image": np.zeros((1, 1, 8, 8), np.float32)}, runs=5)
    assert {"conv1", "conv2", "fc"} <= {row["node"] for row in profile.rows}
    assert profile.total > 0 and all(row["ms"] >= 0 for row in profile.rows)
    assert str(profile).splitlines()[-1].endswith("a run")


def test_upper_bounds_and_shapes():
    session = tinyort.InferenceSession(DIGITS, max_symbols={"N": 4})
    assert session.run(None, {"image": np.zeros((3, 1, 8, 8), np.float32)})[0].shape == (3, 10)
    with pytest.raises(tinyort.errors.InvalidArgument):
        session.run(None, {"image": np.zeros((5, 1, 8, 8), np.float32)})
    session = tinyort.InferenceSession(DIGITS, shapes={"image": (2, 1, 8, 8)})
    assert session.run(None, {"image": np.zeros((2, 1, 8, 8), np.float32)})[0].shape == (2, 10)
    with pytest.raises(tinyort.errors.InvalidArgument):
        session.run(None, {"image": np.zeros((1, 1, 8, 8), np.float32)})


def test_options_of_the_command_line():
    for require in ("cuda", ["cuda"], ["CUDAExecutionProvider"]):
        with pytest.raises(tinyort.errors.EPFail):
            tinyort.InferenceSession(DIGITS, chain="cuda,cpu", require=require)
    tinyort.InferenceSession(DIGITS, strict=True, allow=["Gather", "Conv"], require=["cpu"])
    with pytest.raises(tinyort.errors.InvalidArgument, match="nothing"):
        tinyort.InferenceSession(DIGITS, pins=["nothing=cpu"])
    with pytest.raises(TypeError):
        tinyort.InferenceSession(DIGITS, no_such_option=1)

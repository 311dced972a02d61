"""How many models `tinyort compile` makes firmware of, and whether it runs right: not part of `make test`, as it takes long.

Usage: coverage.py TINYORT [--weights MB] [--only WORD] MODEL_OR_FOLDER..., from the root of the tree.

Every model is compiled, with size 1 for a dimension that has no number unless SIZES knows better, built by gcc under strict flags,
and run on random inputs: its outputs have the bits of `--ep firmware`, and are near those of `--ep cpu`. Models with more weights
than --weights are compared by the provider alone, as arrays of C of hundreds of MB take a compiler hours. Models whose operands are
not tensors of known shape (sequences, strings, control flow, shapes that depend on data) are not counted.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

STRICT = ["-std=c99", "-ffp-contract=off", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
OTHERS = ("string", "String", "sequence", "Sequence", "training", "depends on data", "control flow", "has no size before", "not tensors", "complex", "optional")
SIZES = {
    "320n": {"images": [1, 3, 320, 320]},
    "ch_PP-OCRv4_det_infer": {"x": [1, 3, 96, 96]},
    "ch_PP-OCRv4_rec_infer": {"x": [1, 3, 48, 96]},
    "ch_ppocr_mobile_v2.0_cls_infer": {"x": [1, 3, 48, 192]},
    "common": {"input1": [1, 1, 64, 96]},
    "common_old": {"input1": [1, 1, 64, 96]},
    "silero_vad": {"input": [1, 576], "state": [2, 1, 128]},
    "silero_vad_16k_op15": {"input": [1, 576], "state": [2, 1, 128]},
    "silero_vad_half": {"input": [1, 576], "state": [2, 1, 128]},
    "silero_vad_op18_ifless": {"input": [1, 576], "state": [2, 1, 128]},
    "silero_vad_16k_sequence": {"input": [4, 576]},
}
VALUES = {"sr": 16000}


class Trouble(Exception):
    pass


def run(*command, seconds=900):
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds, errors="replace")
    except subprocess.TimeoutExpired:
        raise Trouble(f"{Path(command[0]).name} takes more than {seconds} s") from None


def inputs_of(path, name):
    """Random values of the inputs without an initializer, by name; and whether the model computes in 8 bits."""
    graph = onnx.load(path, load_external_data=False).graph
    quantized = any("Quantize" in node.op_type or "Integer" in node.op_type or node.op_type.startswith("QLinear") for node in graph.node)
    weights = {tensor.name for tensor in graph.initializer}
    rng = np.random.default_rng(1)
    values = {}
    for port in graph.input:
        if port.name in weights:
            continue
        if not port.type.HasField("tensor_type"):
            raise Trouble(f"input '{port.name}' is a sequence or an optional")
        kind = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        shape = SIZES.get(name, {}).get(port.name) or [max(dim.dim_value, 1) for dim in port.type.tensor_type.shape.dim]
        value = rng.standard_normal(shape) if np.dtype(kind).kind == "f" else rng.integers(0, 2, shape)
        values[port.name] = np.full(shape, VALUES.get(port.name, value)).astype(kind)
    return values, quantized


def outputs_of(tinyort, path, chain, words, folder):
    done = run(tinyort, "run", path, "--ep", chain, *words, "--save", folder)
    if done.returncode:
        raise Trouble(f"run --ep {chain}: {(done.stderr or done.stdout).strip()[:300]}")
    return [np.load(file) for file in sorted(folder.glob("output_*.npy"), key=lambda file: int(file.stem.split("_")[1]))]


def compare(own, other, quantized):
    for i, (a, b) in enumerate(zip(own, other)):
        steps = 2.5 if quantized and a.dtype.kind in "iu" else 0
        a, b = a.astype(np.float64), b.astype(np.float64)
        near = 3e-2 if quantized else 2e-3
        scale = np.abs(b[np.isfinite(b)]).max(initial=0)
        if not np.allclose(a, b, rtol=near, atol=near * scale + steps + 1e-6, equal_nan=True):
            raise Trouble(f"WRONG: output {i} is {np.nanmax(np.abs(a - b), initial=0):.3g} away from cpu's of up to {scale:.3g}")


def check(tinyort, path, name, folder, limit):
    """What became of a model: 'bits' or 'near', and the number of calls. A Trouble says why not."""
    values, quantized = inputs_of(path, name)
    shapes = [word for key, value in values.items() for word in ("--shape", f"{key}={'x'.join(map(str, value.shape))}") if value.ndim]
    done = run(tinyort, "compile", path, "-o", folder / "out", "--name", "model", "--main", "--json", *shapes)
    if done.returncode:
        raise Trouble(" ".join((done.stderr or done.stdout).split()).removeprefix("tinyort compile: ")[:400])
    report = json.loads(done.stdout)
    words = [*shapes]
    for i, (key, value) in enumerate(values.items()):
        np.save(folder / f"in{i}.npy", value)
        (folder / f"in{i}.raw").write_bytes(value.tobytes())
        words += ["--input", f"{key}={folder}/in{i}.npy"]
    own = outputs_of(tinyort, path, "firmware", words, folder / "firmware")
    compare(own, outputs_of(tinyort, path, "cpu", words, folder / "cpu"), quantized)
    if sum(file.stat().st_size for file in (folder / "out").glob("*.c")) > 4 * limit * 2**20:
        return "near", report
    sources = [folder / "out" / f"model{part}.c" for part in ("", "_main", "_weights")]
    done = run("gcc", *STRICT, "-o", folder / "program", *sources, "-lm")
    if done.returncode:
        raise Trouble(f"WRONG: gcc: {done.stderr.strip()[:300]}")
    done = subprocess.run([folder / "program", *(folder / f"in{i}.raw" for i in range(len(values)))], cwd=folder, capture_output=True, timeout=900)
    if done.returncode:
        raise Trouble(f"WRONG: the program ends with {done.returncode}")
    for i, value in enumerate(own):
        if (folder / f"output_{i}.raw").read_bytes() != value.tobytes():
            raise Trouble(f"WRONG: output {i} has other bits than --ep firmware")
    return "bits", report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tinyort")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--weights", type=float, default=24, metavar="MB")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    tinyort = Path(options.tinyort).resolve()
    paths = [path for given in map(Path, options.models) for path in (sorted(given.rglob("*.onnx")) if given.is_dir() else [given])]
    tally = Counter()
    for path in paths:
        name = path.parent.name if path.stem == "model" and path.parent.name.startswith("test_") else path.stem
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                state, report = check(tinyort, path, name, Path(folder), options.weights)
                why = f"{report.get('calls', '?')} calls"
            except Trouble as trouble:
                why = str(trouble)
                state = "wrong" if why.startswith("WRONG") else "other" if any(word in why for word in OTHERS) else "refused"
            except Exception as error:  # the tool's own report ends with a summary in any case
                state, why = "wrong", f"{type(error).__name__}: {error}"
        tally[state] += 1
        print(f"{state:8} {name:44} {why}", flush=True)
    counted = sum(tally.values()) - tally["other"]
    right = tally["bits"] + tally["near"]
    print(f"coverage: {right} of {counted} ({100 * right / max(counted, 1):.1f} %): {tally['bits']} with the bits of --ep firmware, {tally['near']} by the provider alone; {tally['refused']} refused, {tally['wrong']} wrong; {tally['other']} not counted")
    sys.exit(tally["wrong"] > 0 or not counted or right < 0.9 * counted)


if __name__ == "__main__":
    main()

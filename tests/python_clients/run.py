"""Runs client packages of onnxruntime, unchanged, with onnxruntime and with tinyort in its place.

    run.py FOLDER [--only NAME,...]                   compares the results
    run.py FOLDER --bench SECONDS [--only NAME,...]   compares the times of each client's main call

Run it with the Python that has the packages; PYTHONPATH has tinyort. What both runs write is in FOLDER.
"""

import argparse
import importlib.metadata
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIENTS = {  # the script NAME_client.py, and the distributions that it needs
    "rapidocr": ["rapidocr-onnxruntime"],
    "silero": ["silero-vad"],
    "magika": ["magika"],
    "ddddocr": ["ddddocr"],
    "nudenet": ["nudenet"],
    "basic_pitch": ["basic-pitch"],
    "piper": ["piper-tts"],
    "fastembed": ["fastembed", "optimum-onnx"],
    "sentence_transformers": ["sentence-transformers", "optimum-onnx"],
    "optimum": ["optimum-onnx"],
}
RUNTIMES = {"onnxruntime": [], "tinyort": ["-m", "tinyort.as_onnxruntime"]}
ROUNDS = 3


class Failure(Exception):
    """A client that failed, or gave other results."""


def missing(name):
    """Why the client cannot run; "" if it can."""
    for distribution in CLIENTS[name]:
        try:
            importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            return f"{distribution} is not installed; .ci/setup.sh has said why"
    return ""


def run(name, runtime, folder, *options):
    """What the client's script wrote, and its stderr."""
    out = folder / f"{name}-{runtime}.json"
    out.unlink(missing_ok=True)
    command = [sys.executable, *RUNTIMES[runtime], str(HERE / f"{name}_client.py"), str(out), *options]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, check=False)
    if done.returncode or not out.exists():
        raise Failure(f"with {runtime}: exit status {done.returncode}: " + " | ".join(done.stderr.splitlines()[-3:]))
    return json.loads(out.read_text()), done.stderr


def difference(a, b, tolerance, path="result"):
    """The largest difference of floats; Failure where the values differ by more, or in another way."""
    if isinstance(a, float) and isinstance(b, float):
        found = 0 if a == b or a != a and b != b else abs(a - b) / max(1, abs(a))
        if not found <= tolerance:
            raise Failure(f"{path}: {a} of onnxruntime, {b} of tinyort")
        return found
    if type(a) is not type(b) or not isinstance(a, (list, dict)) and a != b:
        raise Failure(f"{path}: {a!r:.60} of onnxruntime, {b!r:.60} of tinyort")
    if isinstance(a, dict):
        difference(list(a), list(b), tolerance, f"{path} keys")
        return max([difference(a[key], b[key], tolerance, f"{path}.{key}") for key in a], default=0)
    if isinstance(a, list):
        if len(a) != len(b):
            raise Failure(f"{path}: {len(a)} entries of onnxruntime, {len(b)} of tinyort")
        return max([difference(x, y, tolerance, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b))], default=0)
    return 0


def compare(name, folder):
    """What to say of a client that passes."""
    theirs, _ = run(name, "onnxruntime", folder)
    ours, stderr = run(name, "tinyort", folder)
    models = re.findall(r"^tinyort: (\S+): \d+ cpu\b.*$", stderr, re.MULTILINE)
    if not models:
        raise Failure("tinyort did not tell where nodes ran")
    if not theirs["result"]:
        raise Failure("nothing to compare: the client found nothing")
    found = difference(theirs["result"], ours["result"], theirs["tolerance"])
    return f"{len(models)} model{'s'[: len(models) > 1]}, floats differ by {found:.1e} of {theirs['tolerance']:.0e}"


def test(names, folder):
    """Compares the clients. Returns the exit status."""
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for name in names:
        verdict, text = "skipped", missing(name)
        if not text:
            try:
                verdict, text = "passed", compare(name, folder)
            except Failure as failure:
                verdict, text = "failed", str(failure)
        counts[verdict] += 1
        print(f"{name:22} {verdict}: {text}", flush=True)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"python-clients: {counts['passed']} passed, {counts['failed']} failed{skipped}")
    return counts["failed"] != 0


def seconds(name, folder, options):
    """Medians over rounds, in which the runtimes take turns: {runtime: seconds of a call}."""
    rounds = [{r: run(name, r, folder, *options)[0]["seconds"] for r in RUNTIMES} for _ in range(ROUNDS)]
    return {runtime: statistics.median(times[runtime] for times in rounds) for runtime in RUNTIMES}


def bench(names, folder, length):
    """Prints a table: milliseconds of a call, and tinyort's as a part of onnxruntime's."""
    print(f"{'client':22} {'threads':>8} {'onnxruntime ms':>15} {'tinyort ms':>11} {'ratio':>6}")
    for name in names:
        if missing(name):
            print(f"{name:22} skipped: {missing(name)}")
            continue
        settable = "def prepare(threads)" in (HERE / f"{name}_client.py").read_text()
        for threads in (1, 2) if settable else (0,):
            time = seconds(name, folder, ["--seconds", str(length), "--threads", str(threads)])
            theirs, ours = time["onnxruntime"], time["tinyort"]
            shown = f"{theirs * 1e3:15.2f} {ours * 1e3:11.2f} {ours / theirs:6.2f}"
            print(f"{name:22} {threads or 'default':>8} {shown}", flush=True)
    return 0


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bench", type=float, metavar="SECONDS")
    parser.add_argument("--only", default=",".join(CLIENTS))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    names = arguments.only.split(",")
    if arguments.bench:
        return bench(names, arguments.folder, arguments.bench)
    return test(names, arguments.folder)


if __name__ == "__main__":
    sys.exit(main())

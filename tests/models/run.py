"""Exports real networks and compares tinyort with onnxruntime on seeded inputs, at sizes other than the export's too.

    run.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--dynamo both|true|false] [--ep CHAIN] [--narrow]

Prints one line a model and exporter, then `N passed, N failed, N skipped`. An export that PyTorch refuses, or that onnxruntime
cannot run, is a skip, and is named. Equal means |a-b| <= 1e-4 + 1e-3 |b|. Every node must be on the first provider of the chain; those that
are not are listed, with the reason that the provider gave. --narrow takes the NARROW networks: for devices that are slow.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import warnings

import numpy
import onnxruntime
import torch

from models import MODELS, NARROW

warnings.filterwarnings("ignore")


def export(entry, path, dynamo):
    module = entry["make"]()
    options = dict(input_names=entry["names"], opset_version=18)
    if dynamo:
        symbols = {}
        shapes = {
            name: {axis: symbols.setdefault(label, torch.export.Dim(label, min=1, max=4096)) for axis, label in axes.items()}
            for name, axes in entry["axes"].items()
        }
        torch.onnx.export(module, entry["example"], str(path), dynamo=True, dynamic_shapes=tuple(shapes[n] for n in entry["names"]),
                          verbose=False, **options)
    else:
        torch.onnx.export(module, entry["example"], str(path), dynamo=False, dynamic_axes=entry["axes"], **options)


class NoReference(Exception):
    """onnxruntime cannot run the export: the exporter has fixed a size that it was told to leave open."""


def reference(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    wanted = {port.name for port in session.get_inputs()}
    try:
        return session.run(None, {name: value for name, value in feeds.items() if name in wanted}), wanted
    except Exception as error:  # its classes have no base of their own
        raise NoReference(f"onnxruntime failed: {str(error).strip().splitlines()[0][:150]}") from error


def difference(got, want):
    """The largest excess over the tolerance, 0 where all is equal; a sentence where shapes differ."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        return "" if numpy.array_equal(got, want) else "integers differ"
    close = numpy.isclose(got, want, rtol=1e-3, atol=1e-4, equal_nan=True)
    if close.all():
        return ""
    worst = numpy.nanmax(numpy.abs(got - want))
    return f"{(~close).sum()} of {close.size} elements differ, by {worst:.3g} at most (values up to {numpy.abs(want).max():.3g})"


def elsewhere(tinyort, path, chain):
    """Why nodes are not on the first provider of the chain: one sentence an operator and reason, the most frequent first."""
    done = subprocess.run([tinyort, "plan", path, "--ep", chain, "--json"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1:]
    reasons = collections.Counter()
    for node in json.loads(done.stdout)["nodes"]:
        if node["provider"] not in (chain.split(",")[0].split(":")[0], "host", "folded"):
            reasons[f"{node['op']} on {node['provider'] or 'nothing'}: " + "; ".join(f"{v['code']} {v['message']}" for v in node["verdicts"])] += 1
    return [f"{count} {reason}" for reason, count in reasons.most_common()]


def check(tinyort, path, entry, chain):
    for number, inputs in enumerate(entry["runs"]):
        folder = path.with_suffix(f".run{number}")
        folder.mkdir(exist_ok=True)
        feeds = {name: value.numpy() for name, value in zip(entry["names"], inputs)}
        want, wanted = reference(path, feeds)
        command = [tinyort, "run", path, "--ep", chain, "--save", folder]
        for name, value in feeds.items():
            if name in wanted:
                numpy.save(folder / f"{name}.npy", value)
                command += ["--input", f"{name}={folder / name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return f"run {number}: exit {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
        for index, value in enumerate(want):
            problem = difference(numpy.load(folder / f"output_{index}.npy"), value)
            if problem:
                return f"run {number}, output {index}: {problem}"
    return " | ".join(elsewhere(tinyort, path, chain))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tinyort", default="build/tinyort")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/models"))
    parser.add_argument("--only", default="")
    parser.add_argument("--dynamo", default="both", choices=["both", "true", "false"])
    parser.add_argument("--ep", default="cpu", help="the chain of providers")
    parser.add_argument("--narrow", action="store_true")
    options = parser.parse_args()
    models = NARROW if options.narrow else MODELS
    options.folder.mkdir(parents=True, exist_ok=True)
    passed = failed = skipped = 0
    names = options.only.split(",") if options.only else models
    for name in names:
        for dynamo in {"both": [True, False], "true": [True], "false": [False]}[options.dynamo]:
            label = f"{name} (dynamo={dynamo})"
            path = options.folder / f"{name}.{'dynamo' if dynamo else 'script'}.onnx"
            try:
                if not path.exists():
                    export(models[name], path, dynamo)
            except Exception as error:  # PyTorch's own refusal
                skipped += 1
                print(f"SKIP {label}: export failed: {str(error).strip().splitlines()[0][:150]}", flush=True)
                path.unlink(missing_ok=True)
                continue
            try:
                problem = check(options.tinyort, path, models[name], options.ep)
            except NoReference as error:
                skipped += 1
                print(f"SKIP {label}: {error}", flush=True)
                continue
            passed, failed = passed + (not problem), failed + bool(problem)
            print(f"{'FAIL' if problem else 'PASS'} {label}{': ' + problem if problem else ''}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

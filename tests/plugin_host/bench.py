"""Times networks on OpenVINO's plugin, hosted by tinyort and by onnxruntime, in turns, and compares results.

Usage: bench.py [--rounds N] [--config FILE.json] [--size NAME=N]... MODEL.onnx ..., with PYTHONPATH at tinyort's package, in an environment that has
onnxruntime and onnxruntime-ep-openvino. The plugin, its options and its threads are the same on both sides. A plugin serves one host of a
process, so that each side is a process, and waits while the other one runs. Inputs are made up; dimensions without a size are 1, or as --size says. Of each
model: the nodes on each of tinyort's providers, the median time on both sides, their ratio, and the largest difference of an output against
onnxruntime's, relative to its largest element.
"""

import argparse
import multiprocessing
import statistics
import time

import numpy as np

TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_, "tensor(float16)": np.float16}


def open_peer(path, options):
    import onnxruntime
    import onnxruntime_ep_openvino

    onnxruntime.register_execution_provider_library("openvino", onnxruntime_ep_openvino.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "OpenVINOExecutionProvider"]
    told = onnxruntime.SessionOptions()
    told.log_severity_level = 4
    told.add_provider_for_devices(devices[:1], options)
    return onnxruntime.InferenceSession(path, told), "onnxruntime"


def open_own(path, options):
    import tinyort

    session = tinyort.InferenceSession(path, providers=[("openvino", options), "cpu"])
    placed = session.placement().to_dict()["summary"]
    return session, ", ".join(f"{placed[name]} {name}" for name in ("openvino", "cpu", "host") if placed.get(name))


def made_up(session, sizes):
    random = np.random.default_rng(1)
    inputs = {}
    for port in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else sizes.get(d, 1) for d in port.shape]
        kind = TYPES[port.type]
        inputs[port.name] = random.random(shape).astype(kind) if kind in (np.float32, np.float16) else np.ones(shape, kind)
    return inputs


def serve(pipe, own, path, options, sizes):
    """A side: says what it is and its results, then runs each time that it is told to, and answers with the seconds."""
    try:
        session, words = (open_own if own else open_peer)(path, options)
        inputs = made_up(session, sizes)
        pipe.send((words, session.run(None, inputs)))
    except Exception as error:  # noqa: BLE001 - whatever it is, the table shows it
        pipe.send((f"{type(error).__name__}: {error}"[:100], None))
        return
    while pipe.recv():
        begin = time.perf_counter()
        session.run(None, inputs)
        pipe.send(time.perf_counter() - begin)


def difference(ours, theirs):
    worst = 0.0
    for a, b in zip(ours, theirs):
        if a.dtype.kind == "f" and a.size:
            scale = max(float(np.abs(b).max()), 1e-6)
            worst = max(worst, float(np.abs(a.astype(np.float64) - b).max()) / scale)
    return worst


def measure(path, options, rounds, sizes):
    """The ratio of the median times; None: one of the sides does not run the model."""
    pipes, told, times = [], [], ([], [])
    for own in (True, False):
        here, there = multiprocessing.Pipe()
        multiprocessing.Process(target=serve, args=(there, own, path, options, sizes), daemon=True).start()
        there.close()
        pipes.append(here)
        try:
            told.append(here.recv())
        except EOFError:
            told.append(("crashed", None))
    name = path.split("/")[-1]
    if told[0][1] is None or told[1][1] is None:
        print(f"{name:36} tinyort: {told[0][0]}; peer: {told[1][0]}", flush=True)
        return None
    for index in range(2 * rounds):
        for side in (0, 1) if index % 2 else (1, 0):
            pipes[side].send(True)
            times[side].append(pipes[side].recv())
    for pipe in pipes:
        pipe.send(False)
    a, b = (1e3 * statistics.median(side) for side in times)
    print(f"{name:36} {told[0][0]:28} {a:9.3f} ms {b:9.3f} ms {a / b:7.3f}  {difference(told[0][1], told[1][1]):.1e}", flush=True)
    return a / b


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--size", action="append", default=[], help="NAME=N: of a dimension without a size")
    parser.add_argument("--config", help="option load_config of the plugin")
    options = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    sizes = {name: int(size) for name, _, size in (text.partition("=") for text in options.size)}
    given = {"load_config": options.config} if options.config else {}
    ratios = [ratio for path in options.models if (ratio := measure(path, given, options.rounds, sizes))]
    if ratios:
        print(f"tinyort / onnxruntime: geometric mean {statistics.geometric_mean(ratios):.3f}, largest {max(ratios):.3f} of {len(ratios)}")


if __name__ == "__main__":
    main()

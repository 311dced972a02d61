"""A model in tinyort and in onnxruntime, in one process and in turns, on the same inputs and at the same number of threads.

Each side runs as an application would that is in a hurry: inputs and outputs are bound, nothing is copied for Python. Loading is the whole
way from the file to a session that can run.
"""

import json
import pathlib
import statistics
import tempfile
import time

import numpy
import onnxruntime

from session import Session, Tensor, tensor_of


def chain(threads, isa):
    return f"cpu:threads={threads}" + (f":isa={isa}" if isa else "")


class Ours:
    def __init__(self, path, threads, library, isa=""):
        self.session = Session(path, chain(threads, isa), library)

    def run(self, feeds):
        """A call that runs once. A run that fails raises."""
        session = self.session
        arrays = [numpy.ascontiguousarray(feeds[name]).reshape(numpy.shape(feeds[name])) for name in session.inputs]
        inputs, outputs = (Tensor * len(arrays))(*map(tensor_of, arrays)), (Tensor * len(session.outputs))()
        function, context, counts = session.library.tort_context_run, session.context, (len(arrays), len(outputs))
        session.call("tort_context_run", context, inputs, counts[0], outputs, counts[1])
        return lambda _kept=arrays: function(context, inputs, counts[0], outputs, counts[1], None)

    def close(self):
        self.session.close()


class Theirs:
    """With all its optimizations, which is how it is when nothing is said. Where its products of bytes saturate (saturation.py) that
    is less work than tinyort's exact ones."""

    def __init__(self, path, threads):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads
        self.open(path, options)

    def open(self, path, options):
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(self, feeds):
        binding = self.session.io_binding()
        for port in self.session.get_inputs():
            binding.bind_cpu_input(port.name, numpy.ascontiguousarray(feeds[port.name]).reshape(numpy.shape(feeds[port.name])))
        for output in self.session.get_outputs():
            binding.bind_output(output.name)
        try:
            for _ in range(2):
                self.session.run_with_iobinding(binding)
        except Exception:  # the second run holds outputs against the ranks that the file declares, which may be wrong
            return lambda: self.session.run(None, feeds)
        return lambda: self.session.run_with_iobinding(binding)


class OpenVINO:
    """In float32, as tinyort computes: on processors with bfloat16 it would otherwise take that, unasked."""

    def __init__(self, path, threads):
        import openvino

        self.openvino = openvino
        config = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
        self.model = openvino.Core().compile_model(str(path), "CPU", config)

    def run(self, feeds):
        request = self.model.create_infer_request()
        for port in self.model.inputs:
            value = next(feeds[name] for name in port.get_names() if name in feeds)
            request.set_tensor(port, self.openvino.Tensor(numpy.ascontiguousarray(value).reshape(numpy.shape(value)), shared_memory=True))
        request.infer()
        return request.infer


class Plugged(Theirs):
    """onnxruntime with tinyort's provider, the library of `make plugin`. `declined`: the nodes that stay with onnxruntime."""

    def __init__(self, path, threads, library, isa="", optimized=True):
        self.optimized = optimized
        self.library, self.chain, self.declined = str(pathlib.Path(library).resolve()), chain(threads, isa), []
        super().__init__(path, threads)

    def open(self, path, options):
        if not self.optimized:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        if not (devices := self.devices()):
            onnxruntime.register_execution_provider_library("tinyort", self.library)
            devices = self.devices()
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            options.add_provider_for_devices(devices, {"chain": self.chain, "report": report.name})
            self.session = onnxruntime.InferenceSession(str(path), options)
            self.declined = [f"{node['path']} ({node['op']}): {node['code']} {node['message']}" for node in json.load(report)["declined"]]

    @staticmethod
    def devices():
        return [device for device in onnxruntime.get_ep_devices() if device.ep_name == "TinyortExecutionProvider"]


QUIET = 0.06  # seconds: onnxruntime's threads spin for 35 ms behind a run, on the cores that the other side would use


def seconds_of(run, times, quiet=0):
    """Of one run. One before them is not timed: the caches are the other side's."""
    time.sleep(quiet)
    run()
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def in_turns(ours, theirs, feeds, seconds, threads):
    """Medians of both and of the ratios of pairs, each pair in the other order than the last one."""
    a, b = ours.run(feeds), theirs.run(feeds)
    quiet = QUIET if threads > 1 else 0
    times = max(1, int(0.02 / max(seconds_of(a, 1, quiet), seconds_of(b, 1, quiet))))
    ours_took, theirs_took = [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(ours_took) < 5:
        for run, took in ((a, ours_took), (b, theirs_took))[:: 1 if len(ours_took) % 2 else -1]:
            took.append(seconds_of(run, times, quiet))
    ratios = [p / q for p, q in zip(ours_took, theirs_took)]
    return statistics.median(ours_took), statistics.median(theirs_took), statistics.median(ratios)


def loading(path, threads, library, isa="", pairs=5):
    """The median ratio of the times that both take to load a file; one pair before them is not timed."""
    ratios = []
    for _ in range(pairs + 1):
        start = time.perf_counter()
        ours = Ours(path, threads, library, isa)
        middle = time.perf_counter()
        theirs = Theirs(path, threads)
        ratios.append((middle - start) / (time.perf_counter() - middle))
        ours.close()
        del theirs
    return statistics.median(ratios[1:])

"""Who runs a case: tinyort by its harness, and the oracles, each in a process of its own that may crash or hang.

An answer is an Answer: `outputs` (a list of Tensors; of onnx.shape_inference, of Shapes) or an error with its code: what tinyort calls
its status, SHAPES where its run contradicts what it had inferred, of an oracle UNSUPPORTED (it has no kernel), ERROR, CRASH or HANG. Of
tinyort it also has `inferred`, the Shapes of the outputs that the loading of the model found; None where it failed.
"""

import math
import pickle
import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from values import STRING, Map, Shape, Tensor, from_raw

STATUS = ["OK", "INTERNAL", "USAGE", "MODEL", "INPUT", "PLACEMENT", "RUN", "MEMORY", "IO", "DEVICE_LOST", "UNSUPPORTED"]
LEAK, SHAPES = 100, 101
UNRANKED = 2**32 - 1
NUMPY_MOST = 2**58  # elements that an array may have, were it not for its dimension of 0
UNFOLDED = 1
MAP = 1000  # in the place of a tensor's type


class Answer:
    def __init__(self, code="OK", message="", outputs=None):
        self.code, self.message, self.outputs, self.inferred = code, message, outputs, None

    def __str__(self):
        if self.outputs is None:
            return f"{self.code}: {self.message}"
        if any(isinstance(output, Shape) for output in self.outputs):
            return "; ".join(map(str, self.outputs))
        return "; ".join(f"{t.array.dtype}{list(t.shape)} {t.array.ravel()[:12].tolist()}" for t in self.outputs)


class Harness:
    """tinyort: one process for many cases, started again after one that ended it."""

    def __init__(self, path, errors, chain=None):
        self.path, self.errors, self.chain, self.process = path, errors, chain, None

    def _start(self):
        self.log = open(self.errors, "wb")
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)

    def close(self):
        """The message of a failure that only shows at the end (a leak that the allocator hook does not see)."""
        if self.process is None:
            return None
        self.process.stdin.close()
        status = self.process.wait(60)
        self.process = None
        return None if status == 0 else f"ended with status {status}: {self._last_words()}"

    def _last_words(self):
        text = Path(self.errors).read_text(errors="replace")
        lines = [line for line in text.splitlines() if "runtime error" in line or "ERROR:" in line or "#" in line[:8]]
        return " | ".join(lines[:6]) or text[-300:]

    @staticmethod
    def _tensor_bytes(tensor):
        head = struct.pack(f"<II{len(tensor.shape)}q", tensor.type, len(tensor.shape), *tensor.shape)
        if tensor.type != STRING:
            raw = tensor.raw()
            return head + struct.pack("<I", len(raw)) + raw
        texts = [str(v).encode() for v in tensor.array.ravel()]
        return head + b"".join(struct.pack("<I", len(t)) + t for t in texts)

    @classmethod
    def _value_bytes(cls, value):
        if isinstance(value, Map):
            return struct.pack("<I", MAP) + cls._tensor_bytes(value.keys) + cls._tensor_bytes(value.values)
        return cls._tensor_bytes(value)

    def send(self, case):
        if self.process is None:
            self._start()
        chain, model = (self.chain or case.chain).encode(), case.model.SerializeToString()
        parts = [struct.pack("<III", case.seconds, UNFOLDED if case.unfolded else 0, len(chain)), chain,
                 struct.pack("<I", len(model)), model, struct.pack("<I", len(case.feeds))]
        parts += [self._value_bytes(value) for _, value in case.feeds]
        try:
            self.process.stdin.write(b"".join(parts))
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() finds the end

    def _read(self, form):
        size = struct.calcsize("<" + form)
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise EOFError
        return struct.unpack("<" + form, data)

    def _text(self):
        (length,) = self._read("I")
        return self._read(f"{length}s")[0]

    def _tensor(self):
        number, rank = self._read("II")
        shape = self._read(f"{rank}q")
        if 0 in shape and math.prod(d for d in shape if d) >= NUMPY_MOST:
            if number != STRING:
                self._text()
            return None
        if number != STRING:
            return from_raw(number, shape, self._text())
        texts = [self._text().decode(errors="replace") for _ in range(int(np.prod(shape, dtype=np.int64)))]
        return Tensor(STRING, np.array(texts, dtype=object).reshape(shape))

    def _shape(self):
        number, rank = self._read("II")
        return Shape(number, None if rank == UNRANKED else [None if d < 0 else d for d in self._read(f"{rank}q")])

    def receive(self):
        try:
            (status,) = self._read("I")
            if status == 0:
                (count,) = self._read("I")
                answer = Answer(outputs=[self._tensor() for _ in range(count)])
                if None in answer.outputs:
                    answer = Answer("MEMORY", "an empty tensor of dimensions that numpy cannot hold")
            else:
                answer = Answer(STATUS[status], self._text().decode(errors="replace"))
            wrong, text = self._read("I")[0], self._text().decode()
            inferred = [self._shape() for _ in range(self._read("I")[0])] or None
            if wrong == LEAK:
                answer = Answer("LEAK", "memory of the case was not given back, or with a wrong size")
            if wrong == SHAPES:
                answer = Answer("SHAPES", text)
            answer.inferred = inferred
            return answer
        except EOFError:
            status = self.process.wait()
            self.process = None
            if status in (-signal.SIGPROF, -signal.SIGALRM):
                return Answer("HANG", "the case took too long")
            return Answer("CRASH", f"status {status}: {self._last_words()}")


class Oracle:
    """A process of oracles.py for 'onnxruntime', 'onnx.reference' or 'onnx.shape_inference'."""

    def __init__(self, name):
        self.name, self.process = name, None
        self.output = Shape if name == "onnx.shape_inference" else Tensor

    def _start(self):
        self.process = subprocess.Popen([sys.executable, str(Path(__file__).with_name("oracles.py")), self.name],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(60)

    def send(self, case):
        if self.process is None:
            self._start()
        feeds = [(name, 0, value.python()) if isinstance(value, Map) else (name, value.type, value.array) for name, value in case.feeds]
        model = case.unsaturated_model if self.name == "onnxruntime" else case.oracle_model
        data = pickle.dumps((model.SerializeToString(), feeds))
        try:
            self.process.stdin.write(struct.pack("<I", len(data)) + data)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def receive(self):
        head = self.process.stdout.read(4)
        data = self.process.stdout.read(struct.unpack("<I", head)[0]) if len(head) == 4 else b""
        if not data:
            status = self.process.wait()
            self.process = None
            return Answer("HANG" if status == -signal.SIGALRM else "CRASH", f"status {status}")
        code, message, outputs = pickle.loads(data)
        return Answer(code, message, None if outputs is None else [self.output(*output) for output in outputs])

"""A session of libtinyort.so with the calls of onnxruntime's InferenceSession, for clients that were written for that one."""

import ctypes
import os

import numpy

TYPES = [None, "f4", "u1", "i1", "u2", "i2", "i4", "i8", None, "?", "f2", "f8", "u4", "u8"]  # by TORT_FLOAT and the rest
STRING = 8
CODES = {numpy.dtype(name): code for code, name in enumerate(TYPES) if name}


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("node", ctypes.c_int32), ("provider", ctypes.c_char_p), ("msg", ctypes.c_char * 512)]


class Tensor(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 8), ("data", ctypes.c_void_p)]


class Port(ctypes.Structure):
    """tort_port as far as its name."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p)]


class Options(ctypes.Structure):
    """tort_session_options as far as the chain."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("chain", ctypes.c_char_p)]


class String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def tensor_of(array):
    return Tensor(CODES[array.dtype], array.ndim, (ctypes.c_int64 * 8)(*array.shape), array.ctypes.data)


def array_of(tensor):
    """A copy: the context's memory is of its next run."""
    shape = tuple(tensor.dims[: tensor.rank])
    if tensor.type == STRING:
        strings = (String * int(numpy.prod(shape, dtype=numpy.int64))).from_address(tensor.data)
        return numpy.array([ctypes.string_at(s.data, s.length).decode() for s in strings], object).reshape(shape)
    dtype = numpy.dtype(TYPES[tensor.type])
    size = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
    return numpy.frombuffer(ctypes.string_at(tensor.data, size) if size else b"", dtype).reshape(shape)


class Session:
    def __init__(self, path, chain="cpu", library="build/libtinyort.so"):
        self.library = ctypes.CDLL(os.path.abspath(library))
        self.model, self.session, self.context = (ctypes.c_void_p() for _ in range(3))
        options = Options(ctypes.sizeof(Options), chain.encode())
        self.call("tort_model_load", None, str(path).encode(), None, ctypes.byref(self.model))
        self.call("tort_session_create", None, self.model, ctypes.byref(options), ctypes.byref(self.session))
        self.call("tort_context_create", self.session, ctypes.byref(self.context))
        self.inputs, self.outputs = self.ports("input"), self.ports("output")

    def call(self, function, *arguments):
        error = Error()
        if getattr(self.library, function)(*arguments, ctypes.byref(error)):
            raise RuntimeError(error.msg.decode())

    def ports(self, kind):
        names = []
        for index in range(getattr(self.library, f"tort_model_{kind}_count")(self.model)):
            port = Port(ctypes.sizeof(Port))
            self.call(f"tort_model_{kind}", self.model, index, ctypes.byref(port))
            names.append(port.name.decode())
        return names

    def run(self, names, feeds):
        arrays = [numpy.ascontiguousarray(feeds[name]).reshape(numpy.shape(feeds[name])) for name in self.inputs]
        inputs = (Tensor * len(arrays))(*map(tensor_of, arrays))
        outputs = (Tensor * len(self.outputs))()
        self.call("tort_context_run", self.context, inputs, len(inputs), outputs, len(outputs))
        made = dict(zip(self.outputs, map(array_of, outputs)))
        return [made[name] for name in names or self.outputs]

    def close(self):
        for kind in ("context", "session", "model"):
            getattr(self.library, f"tort_{kind}_free")(getattr(self, kind))

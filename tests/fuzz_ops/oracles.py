"""The process of one oracle: oracles.py onnxruntime | onnx.reference | onnx.shape_inference.

Reads pickled (model bytes, [(name, type, array)]) from standard input, each behind its length as u32, and answers with pickled
(code, message, [(type, array)] or None) in the same form. A case that takes too long ends the process by SIGALRM.
"""

import os
import pickle
import resource
import signal
import struct
import sys
import warnings

import numpy as np

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
SECONDS = 20
MEMORY = 6 << 30


def type_of(array):
    from onnx import TensorProto, helper

    array = np.asarray(array)
    if array.dtype.kind in "OUS":
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


class OnnxRuntime:
    """Without graph optimizations, which fold and fuse what is to be tested."""

    def __init__(self):
        import onnxruntime

        self.ort = onnxruntime
        onnxruntime.set_default_logger_severity(4)
        self.options = onnxruntime.SessionOptions()
        self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.options.intra_op_num_threads = self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 4

    def value(self, number, array):
        from onnx import TensorProto

        if isinstance(array, dict):
            return array
        array = np.asarray(array)
        if number > TensorProto.COMPLEX128:  # types that numpy does not have
            return self.ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, number)
        return array

    def run(self, model, feeds):
        session = self.ort.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])
        if any(number > 16 for _, number, _ in feeds):
            raise NotImplementedError("NOT_IMPLEMENTED : inputs of this type cannot be passed from Python")
        outputs = session.run(None, {name: self.value(number, array) for name, number, array in feeds})
        return [self.typed(info.type, value) for info, value in zip(session.get_outputs(), outputs)]

    def typed(self, name, value):
        """8-bit floats come as bytes."""
        from onnx import TensorProto, helper

        if any(part in name for part in ("float4", "int4", "int2")):
            raise NotImplementedError("elements of less than a byte come in a form of their own")
        if "float8" not in name:
            return value
        number = TensorProto.DataType.Value(name.removeprefix("tensor(").removesuffix(")").upper())
        return np.asarray(value).view(helper.tensor_dtype_to_np_dtype(number))


class Reference:
    def run(self, model, feeds):
        from onnx import load_from_string
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(load_from_string(model)).run(None, {name: array for name, _, array in feeds})


class ShapeInference:
    """Answers (type, dims) of each output, as values.Shape has them."""

    def run(self, model, feeds):
        from onnx import load_from_string, shape_inference

        inferred = shape_inference.infer_shapes(load_from_string(model), check_type=True, strict_mode=True, data_prop=True)
        return [self.shape(value.type.tensor_type) for value in inferred.graph.output]

    def shape(self, tensor):
        if not tensor.HasField("shape"):
            return tensor.elem_type, None
        return tensor.elem_type, [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]


ENGINES = {"onnxruntime": OnnxRuntime, "onnx.reference": Reference, "onnx.shape_inference": ShapeInference}

# What an oracle says when it lacks something, which is no opinion on the model. The cast is onnxruntime's own: it runs float16
# as float, and puts a Cast-6 into models of opsets before 6; types that clash are those in functions it made of a node. Of maps its
# Python binding passes few: none that is empty, and of a string to numbers those of floats alone.
LACKS = ("NOT_IMPLEMENTED", "NotImplementedError", "not implemented", "RuntimeImplementationError", "No Op registered",
         "not supported", "Unsupported", "unsupported", "or supported", "No corresponding Numpy type", "InsertedPrecisionFreeCast",
         "bound to different types", "does not support", "Failed to construct locale", "Tensor type mismatch",
         "Invalid tensor data type", "does not have valid data type", "is not a registered function/op",
         "Size of dictionary is empty", "cannot be linked to C type", "Unexpected input data type. Actual: ((map")


def code_of(error):
    text = f"{type(error).__name__} {error}"
    return "UNSUPPORTED" if any(words in text for words in LACKS) else "ERROR"


def tensors_in(value):
    """A sequence gives its elements, a map its keys, sorted, and then their values."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [tensor for element in value for tensor in tensors_in(element)]
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode() if isinstance(key, str) else key)
        texts = keys and isinstance(keys[0], str)
        return [np.array(keys, dtype=object if texts else np.int64)] + [np.array(value[key], np.float32) for key in keys]
    return [value]


def answer(engine, model, feeds):
    try:
        outputs = engine.run(model, feeds)
        if isinstance(engine, ShapeInference):
            return ("OK", "", outputs)
        outputs = [tensor for value in outputs for tensor in tensors_in(value)]
        return ("OK", "", [(type_of(v), np.asarray(v)) for v in outputs])
    except MemoryError:
        return ("UNSUPPORTED", "out of memory", None)
    except Exception as error:  # noqa: BLE001 - whatever an oracle raises is its answer
        return (code_of(error), f"{type(error).__name__}: {error}"[:600], None)


def main():
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    engine = ENGINES[sys.argv[1]]()
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not an answer
    while head := source.read(4):
        model, feeds = pickle.loads(source.read(struct.unpack("<I", head)[0]))
        signal.alarm(SECONDS)
        data = pickle.dumps(answer(engine, model, feeds))
        signal.alarm(0)
        sink.write(struct.pack("<I", len(data)) + data)
        sink.flush()


if __name__ == "__main__":
    main()

"""Tensors of random contents in every element type of ONNX."""

import math

import ml_dtypes  # noqa: F401 - numpy learns its types
import numpy as np
from onnx import MapProto, SequenceProto, TensorProto, helper, numpy_helper

STRING = TensorProto.STRING
BOOL = TensorProto.BOOL
FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
COMPLEX = {TensorProto.COMPLEX64, TensorProto.COMPLEX128}
WORDS = ["", "a", "Bee", "ABC", "the cat", " x ", "a,b", "\u00c4rger", "0", "-7"]


def type_name(number):
    """1 -> 'float'"""
    return TensorProto.DataType.Name(number).lower()


def type_number(name):
    """'tensor(float)' or 'float' -> 1"""
    return TensorProto.DataType.Value(name.removeprefix("tensor(").removesuffix(")").upper())


def dtype_of(number):
    return np.dtype(object) if number == STRING else np.dtype(helper.tensor_dtype_to_np_dtype(number))


def is_integer(number):
    return "INT" in TensorProto.DataType.Name(number)


def is_float(number):
    return "FLOAT" in TensorProto.DataType.Name(number) or number == TensorProto.DOUBLE


def integer_range(number):
    name = TensorProto.DataType.Name(number)
    bits = int(name.lstrip("UINT"))
    return (0, 2**bits - 1) if name.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class Tensor:
    """A numpy array with the ONNX type it stands for."""

    def __init__(self, number, array):
        self.type = number
        self.array = np.asarray(array, dtype_of(number))

    @property
    def shape(self):
        return self.array.shape

    def raw(self):
        """The bytes as in TensorProto.raw_data."""
        if self.array.size == 0:
            return b""
        return numpy_helper.from_array(self.array).raw_data

    def proto(self, name):
        if self.type == STRING:
            return helper.make_tensor(name, STRING, self.shape, [str(v).encode() for v in self.array.ravel()])
        if self.array.size == 0:
            return helper.make_tensor(name, self.type, self.shape, b"", raw=True)
        return numpy_helper.from_array(self.array, name)


class Shape:
    """What is known of a value before it is computed. type: 0 where it is not known; dims: None, or a list with None for each that is not."""

    def __init__(self, number, dims):
        self.type, self.dims = number, dims

    def __str__(self):
        return f"{type_name(self.type)}{'?' if self.dims is None else ['?' if d is None else d for d in self.dims]}"


class Map:
    """Keys and values that belong together: two Tensors of one length."""

    def __init__(self, keys, values):
        self.keys, self.values = keys, values

    def type_proto(self):
        return helper.make_map_type_proto(self.keys.type, helper.make_tensor_type_proto(self.values.type, []))

    def python(self):
        """As the oracles take it."""
        return dict(zip(self.keys.array.tolist(), self.values.array.tolist()))

    def proto(self, name):
        proto = MapProto(name=name, key_type=self.keys.type, values=SequenceProto(elem_type=SequenceProto.TENSOR))
        if self.keys.type == STRING:
            proto.string_keys.extend(key.encode() for key in self.keys.array)
        else:
            proto.keys.extend(self.keys.array.tolist())
        proto.values.tensor_values.extend(Tensor(self.values.type, value).proto("") for value in self.values.array)
        return proto


def from_raw(number, shape, raw):
    proto = TensorProto(data_type=number, dims=shape, raw_data=raw)
    return Tensor(number, numpy_helper.to_array(proto).reshape(shape))


def _floats(rng, count, values):
    if values == "unit":
        return rng.random(count)
    if values == "positive":
        return 0.1 + 3 * rng.random(count)
    if values == "nonzero":
        return np.copysign(0.25 + 3 * rng.random(count), rng.random(count) - 0.5)
    numbers = np.round(rng.normal(0, 2, count), 2)
    if values == "ties":  # many equal values, and halves
        numbers = np.round(numbers * 2) / 2
    return numbers


def _special_floats(rng, number, numbers, limits):
    info = ml_dtypes.finfo(dtype_of(number))
    tiny = float(getattr(info, "smallest_subnormal", info.tiny))
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, tiny, -tiny, 1.0] + limits * [float(info.max), float(info.min)]
    for i in np.flatnonzero(rng.random(numbers.size) < 0.3):
        numbers[i] = special[rng.integers(len(special))]


def random_array(rng, number, shape, values="usual", special=False, limits=True):
    """`special`: NaN, infinities, denormals and, with `limits`, the largest numbers of the type are among the values."""
    count = int(np.prod(shape, dtype=np.int64))
    if number == STRING:
        return np.array([WORDS[i] for i in rng.integers(len(WORDS), size=count)], dtype=object).reshape(shape)
    if number == BOOL:
        return (rng.random(count) < 0.5).reshape(shape)
    if number in COMPLEX:
        numbers = _floats(rng, count, values) + 1j * _floats(rng, count, values)
    elif is_integer(number):
        low, high = integer_range(number)
        few = (max(low, -6), min(high, 9))
        numbers = rng.integers(few[0], few[1] + 1, count).astype(object)
        if values in ("positive", "unit", "nonzero"):
            numbers = np.maximum(np.abs(numbers), 1)
        for i in np.flatnonzero(rng.random(count) < 0.3) if special else ():
            numbers[i] = [low, high, 0, high // 2][rng.integers(4)]
        return np.array([int(v) for v in numbers], np.uint64 if high > 2**63 else np.int64).astype(dtype_of(number)).reshape(shape)
    else:
        numbers = _floats(rng, count, values)
        if special:
            _special_floats(rng, number, numbers, limits)
    with np.errstate(all="ignore"):
        return numbers.astype(dtype_of(number)).reshape(shape)

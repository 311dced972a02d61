"""Tensors and other values: OrtValue, and how objects of Python become what the library reads.

numpy is imported when a program first runs a model and has numpy, never by `import tinyort`. Without numpy a run returns
OrtValue, which any library takes through the buffer protocol or DLPack.
"""

from . import _core
from .errors import InvalidArgument

TYPE_NAMES = _core.type_names()
TYPE_NUMBERS = {name: number for number, name in enumerate(TYPE_NAMES)}
STRING, BFLOAT16 = TYPE_NUMBERS["string"], TYPE_NUMBERS["bfloat16"]

# Names of numpy's and ml_dtypes' dtypes; numpy has those without a package, ml_dtypes brings the others.
NUMPY = {
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "uint8": "uint8",
    "int8": "int8",
    "uint16": "uint16",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint32": "uint32",
    "uint64": "uint64",
    "bool": "bool",
    "complex64": "complex64",
    "complex128": "complex128",
}
EXTENDED = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
}
PACKED = {"int4": "int4", "uint4": "uint4", "float4e2m1": "float4_e2m1fn", "int2": "int2", "uint2": "uint2"}
TYPE_OF_DTYPE = {dtype: TYPE_NUMBERS[name] for names in (NUMPY, EXTENDED, PACKED) for name, dtype in names.items()}
# Codes of the module array, for numbers without numpy.
ARRAY_CODES = dict(float="f", double="d", uint8="B", int8="b", uint16="H", int16="h", int32="i", int64="q", uint32="I",
                   uint64="Q", bool="B")

_numpy = None  # the module; False: there is none


def numpy_or_none():
    """numpy if it can be imported. The first call tells the extension its dtypes."""
    global _numpy
    if _numpy is None:
        try:
            import numpy
        except ImportError:
            _numpy = False
            return None
        dtypes = [numpy.dtype(NUMPY[name]) if name in NUMPY else None for name in TYPE_NAMES]
        _core.use_numpy(numpy.ndarray, dtypes)
        _numpy = numpy
    return _numpy or None


def _extended_dtype(type_name):
    """The dtype of ml_dtypes for a type that numpy does not have; None: not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    import numpy

    return numpy.dtype(getattr(ml_dtypes, {**EXTENDED, **PACKED}[type_name]))


def _bits(type_name):
    return int(type_name.split("e")[0][-1])


def _pack(array, type_name):
    """Bytes of elements below 8 bits, the first in the lowest bits; ml_dtypes has one in each byte."""
    numpy = numpy_or_none()
    bits = _bits(type_name)
    flat = numpy.ascontiguousarray(array).view(numpy.uint8).ravel() & (1 << bits) - 1
    rows = numpy.zeros((-(-flat.size * bits // 8), 8 // bits), numpy.uint8)
    rows.ravel()[: flat.size] = flat
    return numpy.bitwise_or.reduce(rows << numpy.arange(0, 8, bits, dtype=numpy.uint8), 1)


def _unpack(value, type_name):
    """The array of ml_dtypes for such bytes."""
    numpy = numpy_or_none()
    bits = _bits(type_name)
    rows = numpy.asarray(value)[:, None] >> numpy.arange(0, 8, bits, dtype=numpy.uint8) & (1 << bits) - 1
    flat = rows.astype(numpy.uint8).ravel()[: numpy.prod(value.shape, dtype=int)]
    return flat.view(_extended_dtype(type_name)).reshape(value.shape)


# ---- from Python to the library --------------------------------------------------------------------------------------


def _strings(numpy, value):
    """(shape, list of bytes) of an array, list or str."""
    array = numpy.asarray(value) if numpy else None
    if array is not None:
        shape, items = array.shape, array.ravel().tolist()
        if not isinstance(items, list):
            items = [items]
    else:
        shape, items = _flat(value)
    encoded = [item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogateescape") for item in items]
    return tuple(shape), encoded


def _flat(value):
    """(shape, flat list) of nested lists, which must be even."""
    if not isinstance(value, (list, tuple)):
        return (), [value]
    parts = [_flat(item) for item in value]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise ValueError("lists of uneven lengths are no tensor")
    return (len(value), *(parts[0][0] if parts else ())), [item for _, items in parts for item in items]


def _numbers(value, type_name):
    """A Value of nested lists of numbers, without numpy."""
    from array import array

    shape, items = _flat(value)
    code = ARRAY_CODES.get(type_name)
    if code is None:
        raise InvalidArgument(f"lists of {type_name} need numpy", "TORT_E_INPUT")
    return _core.from_buffer(array(code, items), TYPE_NUMBERS[type_name], shape)


def _contiguous(numpy, array, type_number):
    """An array in native byte order, in a row; a type without a code goes as the integers of its bits."""
    array = numpy.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.aligned:
        array = array.copy()
    extended = TYPE_OF_DTYPE.get(array.dtype.name)
    if array.dtype.name in PACKED.values():
        return _core.from_buffer(_pack(array, TYPE_NAMES[extended]), extended, array.shape)
    if array.dtype.name in EXTENDED.values():
        return _core.from_buffer(array.view(f"uint{8 * array.dtype.itemsize}"), extended)
    if type_number == BFLOAT16 and array.dtype == numpy.uint16:
        return _core.from_buffer(array, BFLOAT16)
    return array


def tensor(value, type_number, name):
    """What tinyort._core calls for an input that is no contiguous buffer of numbers: returns one, a Value, or the
    shape and the bytes of strings."""
    numpy = numpy_or_none()
    if isinstance(value, OrtValue):
        return value._value
    if type_number == STRING:
        return _strings(numpy, value)
    type_name = TYPE_NAMES[type_number]
    if numpy is not None:
        if isinstance(value, numpy.ndarray):
            if value.dtype.kind in "OUS":
                raise InvalidArgument(
                    f'input "{name}": an array of {value.dtype}; expected {type_name}', "TORT_E_INPUT")
            return _contiguous(numpy, value, type_number)
        if isinstance(value, (list, tuple, int, float, bool, complex, numpy.generic)):
            return _listed(numpy, value, type_name, name)
    elif isinstance(value, (list, tuple, int, float, bool)):
        return _numbers(value, type_name)
    if hasattr(value, "__dlpack__"):
        return _core.from_dlpack(value.detach().__dlpack__() if hasattr(value, "detach") else value.__dlpack__())
    if numpy is not None and hasattr(value, "__array__"):
        return _contiguous(numpy, numpy.asarray(value), type_number)
    raise InvalidArgument(
        f'input "{name}": expected an array or list for a tensor of {type_name}, found {type(value).__name__}',
        "TORT_E_INPUT")


def _listed(numpy, value, type_name, name):
    """A list or number in the model's type, as onnxruntime converts lists."""
    dtype = numpy.dtype(NUMPY[type_name]) if type_name in NUMPY else _extended_dtype(type_name)
    try:
        array = numpy.array(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f'input "{name}": not a tensor of {type_name}: {error}', "TORT_E_INPUT") from None
    return _contiguous(numpy, array, TYPE_NUMBERS[type_name])


def array(value):
    """What tinyort._core calls for a tensor that no dtype of numpy itself fits, or without numpy."""
    numpy = numpy_or_none()
    if numpy is None or value.provider:
        return OrtValue(value)
    type_name = TYPE_NAMES[value.element_type]
    if type_name == "string":
        result = numpy.empty(value.shape, object)
        result.ravel()[:] = value.strings()
        return result if value.shape else numpy.array(value.strings()[0], object)
    if type_name in NUMPY:
        return numpy.ndarray(value.shape, numpy.dtype(NUMPY[type_name]), value)
    dtype = _extended_dtype(type_name) if type_name in {**EXTENDED, **PACKED} else None
    if dtype is None:
        return numpy.asarray(value)
    return _unpack(value, type_name) if type_name in PACKED else numpy.asarray(value).view(dtype)


# ---- OrtValue --------------------------------------------------------------------------------------------------------


def _onnx_type(dtype):
    """ONNX's number of a numpy dtype, its scalar type or its name, or of ONNX's own number."""
    if isinstance(dtype, int):
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    if getattr(dtype, "kind", "") in ("O", "U", "S") or name in ("object", "object_", "str", "str_"):
        return STRING
    number = TYPE_OF_DTYPE.get(name.rstrip("_")) or TYPE_NUMBERS.get(name)
    if number is None:
        numpy = numpy_or_none()
        number = TYPE_OF_DTYPE.get(numpy.dtype(dtype).name) if numpy else None
    if number is None:
        raise InvalidArgument(f"no tensor has elements of {dtype}")
    return number


def provider_of_device(device_type):
    """The provider whose memory a device of onnxruntime is; None: host memory."""
    device_type = str(device_type).lower()
    return None if device_type in ("cpu", "cuda_pinned") else "cuda" if device_type in ("gpu", "cuda") else device_type


class OrtValue:
    """A tensor, sequence, map or optional that a session takes and returns without a copy."""

    __slots__ = ("_value", "__weakref__")

    def __init__(self, value):
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj, device_type="cpu", device_id=0):
        """A tensor that shares an array's memory. In memory of a device there is one only with a session:
        session.create_ortvalue(...)."""
        if provider_of_device(device_type):
            raise InvalidArgument("a value in a device's memory is made by session.io_binding() or "
                                  "session.create_ortvalue_from_shape_and_type()")
        made = tensor(numpy_obj, _onnx_type(numpy_obj.dtype), "value")
        if isinstance(made, tuple):
            return OrtValue(_core.make(numpy_obj, "", STRING))
        return OrtValue(made if isinstance(made, _core.Value) else _core.from_buffer(made, 0))

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data, /, onnx_element_type):
        """A tensor of a type that numpy does not have, from the bits of its elements."""
        return OrtValue(_core.from_buffer(data, onnx_element_type, tuple(data.shape)))

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type, device_type="cpu", device_id=0):
        """A tensor of zeros."""
        if provider_of_device(device_type):
            raise InvalidArgument("memory of a device belongs to a session: "
                                  "session.create_ortvalue_from_shape_and_type()")
        return OrtValue(_core.from_shape(tuple(shape), _onnx_type(element_type)))

    @classmethod
    def from_dlpack(cls, data, /):
        """A tensor that shares the memory of any library's tensor, or of a capsule."""
        return cls(_core.from_dlpack(data.__dlpack__() if hasattr(data, "__dlpack__") else data))

    def numpy(self):
        """The array, list or dict that a run returns for it; an array shares its memory."""
        numpy_or_none()
        if self._value.provider:
            raise RuntimeError("the tensor is in memory of a device: IOBinding.copy_outputs_to_cpu() copies it")
        return self._value.result()

    def __array__(self, dtype=None, copy=None):
        result = self.numpy()
        return result.astype(dtype) if dtype is not None and result.dtype != dtype else result.copy() if copy else result

    def __dlpack__(self, *, stream=None, **_):
        return self._value.dlpack()

    def __dlpack_device__(self):
        return (2, 0) if self._value.provider else (1, 0)

    def data_ptr(self):
        """Address of the first element."""
        return self._value.pointer

    def device_name(self):
        """ "cpu", or the provider whose memory it is."""
        return self._value.provider or "cpu"

    def shape(self):
        """Sizes of the dimensions."""
        return list(self._value.shape)

    def data_type(self):
        """As ONNX writes it: "tensor(float)", "seq(tensor(int64))"."""
        return self._value.type

    def element_type(self):
        """ONNX's number of the element type."""
        return self._value.element_type

    def tensor_size_in_bytes(self):
        """Bytes of the elements."""
        return self._value.nbytes

    def has_value(self):
        """False for an empty optional."""
        return not self._value.type.startswith("optional") or self._value.count > 0

    def is_tensor(self):
        """True for a tensor."""
        return self._value.type.startswith("tensor")

    def is_tensor_sequence(self):
        """True for a sequence of tensors."""
        return self._value.type.startswith("seq(tensor")

    def is_sparse_tensor(self):
        """False: tinyort has none."""
        return False

    def update_inplace(self, data):
        """Copies an array of the same type and size into the tensor."""
        numpy = numpy_or_none()
        if numpy is None:
            target = memoryview(self._value).cast("B")
            target[:] = memoryview(data).cast("B")
            return
        target = self.numpy()
        if data.dtype != target.dtype or data.size != target.size:
            raise InvalidArgument(f"an array of {data.dtype} {data.shape} for a tensor of {target.dtype} {target.shape}")
        target[...] = data.reshape(target.shape)

    def __repr__(self):
        return f"OrtValue({self.data_type()}, shape={self.shape()}, device={self.device_name()})"

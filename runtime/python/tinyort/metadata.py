"""The fields of an ONNX file that describe it and that no run needs, which the library does not read."""

import mmap
import os

# Numbers of fields in ONNX's ModelProto and GraphProto.
DOMAIN, MODEL_VERSION, DOC_STRING, GRAPH = 4, 5, 6, 7
GRAPH_DOC_STRING = 10
NO_VERSION = 2**63 - 1  # what onnxruntime says where the file says nothing


def _varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80 or shift > 63:
            return number, at


def _fields(data, at, end):
    """(number, value) of each field of a message; a value is an int, or (begin, end) of its bytes. Fields that are not
    wanted are stepped over, so that the cost is that of their number."""
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            length, at = _varint(data, at)
            value, at = (at, at + length), at + length
        elif kind in (1, 5):
            value, at = None, at + (8 if kind == 1 else 4)
        else:
            return
        yield tag >> 3, value


def _text(data, span):
    return bytes(data[span[0]:span[1]]).decode("utf-8", "replace") if isinstance(span, tuple) else ""


def _read(data):
    found = {"version": NO_VERSION}
    for number, value in _fields(data, 0, len(data)):
        if number == DOMAIN:
            found["domain"] = _text(data, value)
        elif number == DOC_STRING:
            found["description"] = _text(data, value)
        elif number == MODEL_VERSION and isinstance(value, int):
            found["version"] = value - 2**64 if value >= 2**63 else value
        elif number == GRAPH and isinstance(value, tuple):
            for inner, text in _fields(data, *value):
                if inner == GRAPH_DOC_STRING:
                    found["graph_description"] = _text(data, text)
    return found


def read(model):
    """{"domain", "description", "graph_description", "version"} of a path or bytes, as far as the file has them. The
    library has checked the file before."""
    try:
        if not isinstance(model, (str, os.PathLike)):
            return _read(model.SerializeToString() if hasattr(model, "SerializeToString") else memoryview(model).cast("B"))
        with open(model, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(data)
    except (IndexError, OSError, TypeError, ValueError):
        return {}

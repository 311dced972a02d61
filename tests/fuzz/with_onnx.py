"""Compares the loader with the onnx package: mutated models, which both must accept, or both refuse.

    with_onnx.py LIBRARY SEEDS FINDINGS --seconds N | --cases N [--seed N]

To accept is for onnx that the protobuf parser takes the bytes and onnx.checker finds nothing; for tinyort that the model loads. Of
what both accept the header must be the same: versions, names, imports, metadata, inputs and outputs. A difference that DIFFERENCES does
not explain is a finding: the model is written into FINDINGS, and the exit status is 1.
"""

import argparse
import collections
import copy
import ctypes
import random
import re
import sys
import time
from pathlib import Path

import onnx
from onnx import ModelProto

# What tinyort says of models that onnx accepts, and why. The first expression that is found in the message counts.
DIFFERENCES = [
    ("not UTF-8", "protobuf asks for UTF-8 in a string; onnx hands out the bytes"),
    ("NUL character", "a name that is not a whole C string"),
    ("a second time", "protobuf merges the pieces of a message, which no writer of models leaves (wire.h)"),
    ("wire type", "protobuf takes a field of another wire type for one that it does not know"),
    ("not a field of a protobuf message", "groups, which protobuf has not used since 2008; onnx skips them"),
    ("is there twice|is the same|two of this name|two inputs|has a second source", "names that must be unique; the checker looks at some of them"),
    (r"\(\S+-\d+\)|\(FlexAttention\)", "the rules of an operator, which tests/fuzz_ops holds against three oracles; the checker infers nothing"),
    ("the data of a tensor|_data has|string_data", "data that does not fit its shape; the checker looks whether there is any"),
    (r"element type|data_type -?\d+ is not|says nothing|does not say what|opaque type|has no type|sequences, optionals", "a declared type that is none, or none that tinyort has"),
    ("it has no (name|op_type|data_type)", "what must be there, also in a function that nobody calls; the checker looks at what is used"),
    ("its type is -?\\d+; ONNX has", "a type of an attribute that is none: to onnx it is not there"),
    ("outside a function|no parameter of the function", "a reference to a parameter that is not there"),
    ("the main domain has version|uses opset|is not in opset_import|ir_version is", "versions that nobody knows"),
    ("rank .* at most|nested more than|takes more than|at most 1000|more than 4 bodies|stored in segments", "limits (loader/limits.h, README.md)"),
]

# What onnx says of models that tinyort loads, and why.
LENIENT = [
    ("No Op registered|Unrecognized attribute|put size \\d+ not in|is marked single|Mismatched attribute type|is deprecated", "nodes are judged when they are placed, not when the model is loaded"),
    ("topologically sorted", "nodes may come in any order"),
    ("Unrecognized type value case|Field '(shape|elem_type|type|key_type|value_type)' of '(type|value_info|tensor_type)'", "a declared type that nothing needs may say nothing"),
    ("IR version|in initializer but not in graph input", "what a version of the format asks for, and nothing depends on"),
    ("is not an output of any node", "a body may give what it takes from around it"),
    ("Field 'name' of '(graph|init)'|initializers must have a non-empty name", "a graph needs no name, nor does a weight that nothing reads"),
    (r"\w+_data size \(\d+\) is too small", "the numbers of a weight are counted when it is read"),
    ("Field 'type' of 'attr'|type field and data field mismatch", "an attribute without a type, as the oldest files have them: the field that is there tells it"),
    ("No opset import for domain 'ai.onnx'", "the main domain has two names"),
    ("No opset import for domain '.+'", "a domain of functions alone need not be imported"),
    ("No opset import for domain ''|out of supported range", "an import without a version that exists is none, and a model without imports is one of the oldest"),
]
# What onnx's parser refuses, and tinyort does not look at when it loads a model: it is found when the parser takes the rest.
UNSEEN = [
    ((), "fields that tinyort does not read are skipped, whatever they hold"),
    ((4, 5, 7, 10, 11), "the numbers of a weight are looked at when it is read"),  # of TensorProto
]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("node", ctypes.c_int32), ("provider", ctypes.c_char_p), ("msg", ctypes.c_char * 512)]


class Metadata(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Loader:
    """libtinyort.so."""

    def __init__(self, path):
        self.library = library = ctypes.CDLL(path)
        for name in ("graph_name", "producer", "producer_version", "opset_domain"):
            getattr(library, f"tort_model_{name}").restype = ctypes.c_char_p
        for name in ("ir_version", "opset"):
            getattr(library, f"tort_model_{name}").restype = ctypes.c_int64
        library.tort_model_metadata.restype = Metadata

    def load(self, data):
        """The header, and None; or None, and what is wrong."""
        model, error = ctypes.c_void_p(), Error()
        if self.library.tort_model_load_buffer(None, data, ctypes.c_size_t(len(data)), None, ctypes.byref(model), ctypes.byref(error)):
            return None, error.msg.decode(errors="replace")
        header = self.header(model)
        self.library.tort_model_free(model)
        return header, None

    def header(self, model):
        ask = self.library
        domains = [ask.tort_model_opset_domain(model, i) for i in range(ask.tort_model_opset_count(model))]
        metadata = [ask.tort_model_metadata(model, i) for i in range(ask.tort_model_metadata_count(model))]
        return {
            "ir_version": ask.tort_model_ir_version(model),
            "graph": ask.tort_model_graph_name(model),
            "producer": ask.tort_model_producer(model),
            "producer_version": ask.tort_model_producer_version(model),
            "opsets": {domain: ask.tort_model_opset(model, domain) for domain in domains},
            "metadata": [(entry.key, entry.value) for entry in metadata],
            "outputs": ask.tort_model_output_count(model),
        }


def header_of(model):
    """The same of onnx's."""
    opsets = {}
    for entry in model.opset_import:
        if 1 <= entry.version < 2**31:
            opsets.setdefault("" if entry.domain == "ai.onnx" else entry.domain, entry.version)
    return {
        "ir_version": model.ir_version,
        "graph": model.graph.name.encode(),
        "producer": model.producer_name.encode(),
        "producer_version": model.producer_version.encode(),
        "opsets": {domain.encode(): version for domain, version in opsets.items()},
        "metadata": [(entry.key.encode(), entry.value.encode()) for entry in model.metadata_props],
        "outputs": len(model.graph.output),
    }


def check(data):
    """What onnx has of a model: the model, and None; or None, and what is wrong."""
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # DecodeError
        return None, f"parser: {error}"
    try:
        onnx.checker.check_model(data)
    except Exception as error:
        return None, f"checker: {error}"
    return model, None


# ---- mutations ------------------------------------------------------------------------------------------------------------


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError


def parse(data):
    """The fields of a message: [number, wire type, content], content a number, bytes, or where these look like a message its fields."""
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0 or wire not in (0, 1, 2, 5):
            raise ValueError
        if wire == 0:
            content, at = read_varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = read_varint(data, at)
            if at + size > len(data):
                raise ValueError
            content = data[at : at + size]
            at += size
            if wire == 2 and size > 1:
                try:
                    content = parse(content)
                except (ValueError, IndexError):
                    pass
        fields.append([number, wire, content])
    return fields


def write(fields):
    out = bytearray()
    for number, wire, content in fields:
        out += varint(number << 3 | wire)
        if isinstance(content, list):
            content = write(content)
        if wire == 0:
            out += varint(content if isinstance(content, int) else len(content))
            continue
        content = content if isinstance(content, bytes) else varint(content)
        out += varint(len(content)) + content if wire == 2 else content.ljust(8, b"\0")[: 8 if wire == 1 else 4]
    return bytes(out)


NUMBERS = [0, 1, 2, 3, 7, 8, 9, 16, 17, 127, 128, 255, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
TEXTS = [b"", b"x", b"y", b"\xff", b"a\0b", "ä".encode(), b"ai.onnx", b"Abs", b"\xed\xa0\x80", b"\xc0\x80"]


def all_lists(fields):
    yield fields
    for _, _, content in fields:
        if isinstance(content, list):
            yield from all_lists(content)


def mutate_fields(fields, dice):
    message = dice.choice(list(all_lists(fields)))
    other = dice.choice(list(all_lists(fields)))
    kind = dice.randrange(8)
    if not message or kind == 0:
        message.insert(dice.randint(0, len(message)), [dice.choice([*range(1, 31), 999, 1000, 1001]), *dice.choice([[0, dice.choice(NUMBERS)], [2, dice.choice(TEXTS)]])])
        return
    at = dice.randrange(len(message))
    field = message[at]
    if kind == 1:
        del message[at]
    elif kind == 2:
        message.insert(dice.randint(0, len(message)), list(field))
    elif kind == 3:
        dice.shuffle(message)
    elif kind == 4:
        field[0] = dice.randint(1, 25)
    elif kind == 5:
        field[2] = dice.choice(NUMBERS) if field[1] == 0 else dice.choice(TEXTS)
    elif kind == 6 and other:
        message.insert(at, copy.deepcopy(dice.choice(other)))
    else:
        field[1] = dice.choice([0, 1, 2, 5])


def mutate_bytes(data, dice):
    data = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data))
        kind = dice.randrange(4)
        if kind == 0:
            data[at] = dice.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 2:
            del data[at : at + dice.randint(1, 3)]
        else:
            data[at:at] = dice.choice(TEXTS)
        if not data:
            break
    return bytes(data)


def mutated(seed, dice):
    if dice.random() < 0.3:
        return mutate_bytes(seed, dice)
    fields = parse(seed)
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        mutate_fields(fields, dice)
    return write(fields)


# ---- what tinyort reads of a model ----------------------------------------------------------------------------------------


def read_schema(path):
    """The messages of onnx.proto: name -> number of a field -> its type."""
    schema, open_messages = {}, []
    for line in path.read_text().splitlines():
        if line.strip().startswith("message "):
            name = line.split()[1]
            if not line.split("//")[0].rstrip().endswith("}"):
                open_messages.append(name)
            schema[name] = {}
        elif re.match(r"\s*(oneof|enum) ", line):
            open_messages.append(None)
        elif line.strip() == "}":
            open_messages.pop()
        elif field := re.match(r"\s*(?:optional |required |repeated )?(\w+) \w+ = (\d+)", line):
            if int(field[2]) < 1000:  # the others are the loader's own
                schema[next(name for name in reversed(open_messages) if name)][int(field[2])] = field[1]
    return schema


def pruned(data, schema, message="ModelProto"):
    """The bytes without the fields that tinyort does not read."""
    out, at = bytearray(), 0
    while at < len(data):
        start = at
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            _, at = read_varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = read_varint(data, at)
            content, at = data[at : at + size], at + size
        kind = schema[message].get(number)
        if kind in schema and wire == 2:
            inner = pruned(content, schema, kind)
            out += varint(tag) + varint(len(inner)) + inner
        elif kind:
            out += data[start:at]
    return bytes(out)


# ---- the comparison -------------------------------------------------------------------------------------------------------


def explain(table, message):
    return next((why for words, why in table if re.search(words, message, re.S)), None)


def explain_unseen(data, schema):
    for numbers, why in UNSEEN:
        tensor = {number: kind for number, kind in schema["TensorProto"].items() if number not in numbers}
        _, refusal = check(pruned(data, {**schema, "TensorProto": tensor}))
        if not (refusal or "").startswith("parser"):
            return why
    return None


def compare(loader, data, schema):
    """What differs, and why it may: None, None where nothing does."""
    header, refusal = loader.load(data)
    model, theirs = check(data)
    if header is not None and model is None and theirs.startswith("parser"):
        return f"onnx refuses: {theirs}", explain_unseen(data, schema)
    if header is None and model is not None:
        return f"tinyort refuses: {refusal}", explain(DIFFERENCES, refusal)
    if header is not None and model is None:
        return f"onnx refuses: {theirs}", explain(LENIENT, theirs)
    if header is not None and header != header_of(model):
        return f"the headers differ: {header} and {header_of(model)}", None
    return None, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("library", "seeds", "findings"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--cases", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=None, help="the same mutations each time")
    arguments = parser.parse_args()
    loader, dice = Loader(arguments.library), random.Random(arguments.seed)
    schema = read_schema(Path("loader/onnx.proto"))
    seeds = [path.read_bytes() for path in sorted(arguments.seeds.glob("*.onnx"))]
    arguments.findings.mkdir(parents=True, exist_ok=True)
    counts, findings, cases = collections.Counter(), {}, 0
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end and cases < arguments.cases:
        data = mutated(dice.choice(seeds), dice)
        (arguments.findings / "last.onnx").write_bytes(data)  # what ended the process, if it ends
        difference, why = compare(loader, data, schema)
        cases += 1
        if difference and why:
            counts[why] += 1
        elif difference:
            key = re.sub(r"\d+|\"[^\"]*\"|'[^']*'|\(.*?\)|OpType.*|for \S+ with|name: .*?\)", "", difference)[:70]  # one of each kind
            if key not in findings:
                path = arguments.findings / f"differs-{len(findings)}.onnx"
                path.write_bytes(data)
                findings[key] = path
                print(f"{path}: {difference[:400]}", flush=True)
    for why, count in counts.most_common():
        print(f"{count:8} {why}")
    print(f"with-onnx: {cases - len(findings)} passed, {len(findings)} failed")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()

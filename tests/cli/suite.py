"""What the tests of the command line share: running it, in a pipe or in a terminal, and small models."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import jsonschema
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DIGITS = "models/digits.onnx"
SEVEN = "models/pictures/7.png"
NO_CUDA = {"TINYORT_DISABLE": "cuda"}  # a chain with cuda in it then behaves alike on every machine
SECONDS = 120  # until a program that should have ended is given up


class Skipped(Exception):
    """The rest of a test needs something that this machine has not."""


class Result:
    def __init__(self, suite, arguments, status, out, err):
        self.suite, self.arguments, self.status, self.out, self.err = suite, arguments, status, out, err

    def json(self):
        return self.documents()[-1]

    def documents(self):
        """The documents on stdout, each held against `tinyort schema`: one, but for `test`, which has one a line."""
        try:
            told = [json.loads(self.out)]
        except json.JSONDecodeError:
            told = [json.loads(line) for line in self.out.splitlines()]
        for document in told:
            self.suite.check_schema(document, " ".join(map(str, self.arguments)))
        return told

    def placements(self):
        return [line for line in self.err.splitlines() if line.startswith("placement: ")]


class Suite:
    """Counts checks; each test is a function of it and a folder of its own."""

    def __init__(self, tinyort):
        self.tinyort, self.passed, self.failed, self.skipped = tinyort, 0, 0, 0
        self.schemas = {}  # of each command

    def run(self, *arguments, given=None, **environment):
        """given: bytes on standard input."""
        done = subprocess.run([self.tinyort, *map(str, arguments)], input=given, capture_output=True, env={**os.environ, **environment}, timeout=SECONDS)
        return Result(self, arguments, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def terminal(self, *arguments, columns=100, **environment):
        """The exit status and every byte that reached a terminal of so many columns."""
        try:
            parent, child = pty.openpty()
        except OSError as error:
            raise Skipped(f"what a terminal shows: {error} (is /dev/pts mounted?)") from error
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        environment = {key: value for key, value in {**os.environ, "TERM": "xterm", **environment}.items() if value is not None}
        environment.pop("COLUMNS", None)
        program = subprocess.Popen([self.tinyort, *map(str, arguments)], stdin=child, stdout=child, stderr=child, env=environment)
        os.close(child)
        seen, until = b"", time.monotonic() + SECONDS
        while time.monotonic() < until:
            if not select.select([parent], [], [], 1)[0]:
                continue
            try:
                more = os.read(parent, 65536)
            except OSError:  # what Linux says when the other end is closed
                break
            if not more:
                break
            seen += more
        os.close(parent)
        return program.wait(), seen

    def check(self, condition, text):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {text}")

    def schema_error(self, document):
        """What the schema of the document's command says against it; None: nothing."""
        if not self.schemas:
            whole = json.loads(self.run("schema").out)
            for name in whole["$defs"]:
                self.schemas[name] = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name.replace(' ', '%20')}", "$defs": whole["$defs"]})
        schema = self.schemas.get(f"tinyort {document.get('command')}")
        return jsonschema.exceptions.best_match(schema.iter_errors(document)) if schema else "no command of the schema"

    def check_schema(self, document, text):
        error = self.schema_error(document)
        self.check(error is None, f"{text}: against the schema: {str(error)[:600]}")

    def skip(self, text):
        self.skipped += 1
        print(f"skipped: {text}")

    def expect(self, status, said, *arguments, given=None, **environment):
        """The exit status, and words that stand in what is printed on stderr (on stdout where all is well)."""
        result = self.run(*arguments, given=given, **environment)
        text = " ".join(map(str, arguments))
        self.check(result.status == status, f"{text}: status {result.status}, expected {status}: {result.err.strip()}")
        for words in [said] if isinstance(said, str) else said:
            everything = result.out + result.err
            self.check(words in everything, f"{text}: says nothing of {words!r}: {everything.strip()[:400]}")
        told = [line for line in result.err.splitlines() if not line.startswith(("placement: ", "input '"))]
        if status in (2, 3):
            self.check(len(told) == 1, f"{text}: an error is one line: {result.err.strip()}")
        return result


def visible(seen):
    """What a terminal shows: without our colours and the line that tells of progress."""
    text = re.sub(rb"\x1b\[(0|1|2|31|32|33|36)m", b"", seen)
    text = re.sub(rb"\r\x1b\[K[^\r\n]*\.\.\.(?=\r\x1b\[K)", b"", text)
    return text.replace(b"\r\x1b[K", b"").replace(b"\r\n", b"\n")


# ---- models -----------------------------------------------------------------------------------------------------------


def save_model(path, nodes, inputs, outputs, opset=17, domains=(), weights=(), **more):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(weights))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, 1) for domain in domains]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8, **more), path)


def tensor(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def floats(name, shape):
    return tensor(name, TensorProto.FLOAT, shape)


def weight(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def identity_model(path, kind, shape):
    save_model(path, [helper.make_node("Identity", ["x"], ["y"])], [tensor("x", kind, shape)], [tensor("y", kind, shape)])


def unknown_operator(path, behind=0):
    """A node that nobody knows, and so many nodes behind it."""
    nodes = [helper.make_node("Sinus", ["x"], ["v0"], "sinus", domain="my")]
    nodes += [helper.make_node("Abs", [f"v{i}"], [f"v{i + 1}"], f"abs_{i}") for i in range(behind)]
    save_model(path, nodes, [floats("x", [2])], [floats(f"v{behind}", [2])], domains=["my"])


def case_folder(folder, model_of, inputs, outputs):
    """An ONNX test directory."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    model_of(folder / "model.onnx")
    for what, arrays in (("input", inputs), ("output", outputs)):
        for k, array in enumerate(arrays):
            (data / f"{what}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())
    return folder

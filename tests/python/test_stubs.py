"""The type stubs say what is there: the same names, and the same parameters."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import tinyort

STUBS = ast.parse((Path(tinyort.__file__).parent / "__init__.pyi").read_text())
FUNCTIONS = [node for node in STUBS.body if isinstance(node, ast.FunctionDef)]
CLASSES = [node for node in STUBS.body if isinstance(node, ast.ClassDef) and node.name != "SessionArguments"]


def parameters(arguments):
    named = [*arguments.posonlyargs, *arguments.args, *([arguments.vararg] if arguments.vararg else []),
             *arguments.kwonlyargs, *([arguments.kwarg] if arguments.kwarg else [])]  # fmt: skip
    return [a.arg for a in named if a.arg not in ("self", "cls")]


def names_of(function):
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


@pytest.mark.parametrize("stub", FUNCTIONS, ids=lambda f: f.name)
def test_functions(stub):
    assert parameters(stub.args) == names_of(getattr(tinyort, stub.name))
    assert getattr(tinyort, stub.name).__doc__


@pytest.mark.parametrize("stub", CLASSES, ids=lambda c: c.name)
def test_classes(stub):
    kind = getattr(tinyort, stub.name)
    assert kind.__doc__
    declared = set()
    for member in stub.body:
        if isinstance(member, ast.FunctionDef):
            declared.add(member.name)
            assert parameters(member.args) == names_of(inspect.getattr_static(kind, member.name).__func__
                                                       if isinstance(inspect.getattr_static(kind, member.name),
                                                                     (staticmethod, classmethod))
                                                       else getattr(kind, member.name)), member.name  # fmt: skip
            assert member.name.startswith("__") or getattr(kind, member.name).__doc__, member.name
    public = {name for name, value in vars(kind).items() if callable(value) and not name.startswith("_")}
    assert public <= declared | {"ortvalue_from_numpy", "from_dlpack"} or issubclass(kind, int), public - declared


def test_names():
    declared = {node.name for node in STUBS.body if hasattr(node, "name") and node.name != "SessionArguments"} | {"SessionIOBinding", "Error", "errors"}
    assert set(tinyort.__all__) == declared


def test_arguments():
    """The stub has the arguments of the one table that checks them."""
    from tinyort import arguments

    text = (Path(tinyort.__file__).parent / "__init__.pyi").read_text()
    assert arguments.stub() in text and "**options: Any" not in text


@pytest.mark.parametrize("name", ["quantize", "convert"])
def test_arguments_of_functions(name):
    """Types in the stub are those of the tables, and defaults those of the program."""
    from tinyort import arguments

    (stub,) = (f for f in FUNCTIONS if f.name == name)
    table, program = getattr(arguments, name.upper()), inspect.signature(getattr(tinyort, name)).parameters
    for argument, default in zip(stub.args.kwonlyargs, stub.args.kw_defaults):
        assert ast.literal_eval(default) == program[argument.arg].default
        if argument.arg in table:
            assert ast.unparse(argument.annotation).replace("'", '"').removesuffix(" | None") == table[argument.arg][1]
    assert table.keys() <= {argument.arg for argument in stub.args.kwonlyargs}


PROGRAM = """
import tinyort
right = tinyort.InferenceSession("m.onnx", providers=["cpu"], require="cpu", time_limit=2.5)
wrong = tinyort.InferenceSession("m.onnx", nonsense=3)
right.runn(None, {})
report = tinyort.quantize("m.onnx", ({"x": i} for i in range(16)), scheme="tensorrt", progress=lambda phase, done, of: done < of, shapes={"x": (1,)})
tinyort.convert(report.model or b"", to="float64")
"""


def test_a_type_checker(tmp_path):
    """mypy finds the argument and the method that are not there, and takes what is right."""
    (tmp_path / "program.py").write_text(PROGRAM)
    place = str(Path(tinyort.__file__).parents[1])
    told = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "program.py"], cwd=tmp_path,
                          env={"MYPYPATH": place, "PATH": "/usr/bin"}, capture_output=True, text=True).stdout  # fmt: skip
    lines = [line for line in told.splitlines() if "error: " in line]
    assert len(lines) == 3, told
    assert lines[2].startswith("program.py:7:") and "'float64'" in lines[2]
    assert lines[0].startswith("program.py:4:") and '"nonsense"' in lines[0]
    assert lines[1].startswith("program.py:5:") and '"runn"' in lines[1]

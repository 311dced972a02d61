"""Runs tinyort under locales with a decimal comma, of which the Turkish one has no 'i' for 'I' either: as a package in a program that sets
the locale, and as a command line that is told to. Results are those of numpy, whatever is printed or written is as without a locale.

Usage: run.py TINYORT FOREIGN LOCALES, the second and third as tests.mk makes them
"""

import itertools
import locale
import math
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper

TINYORT, FOREIGN, LOCALES = (str(Path(argument).resolve()) for argument in sys.argv[1:])
NAMES = ["de_DE.UTF-8", "tr_TR.UTF-8"]
X = np.array([[-3, -1, -0.25, 0, 0.5, 2]], np.float32)
D = X.astype(np.float64)
passed = failed = 0


def check(right, what):
    global passed, failed
    passed, failed = passed + bool(right), failed + (not right)
    if not right:
        print("locale: FAILED:", what)


def model(nodes, outputs, constants=()):
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("x", T.FLOAT, X.shape)],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in constants])  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()


SELU, ALPHA = 1.05070102214813232421875, 1.67326319217681884765625
# What the attributes of nodes are when none are given, a fusion whose pattern has numbers, text, and a function named in capitals.
RESULTS = {
    "LeakyRelu": np.where(D < 0, 0.01 * D, D),
    "HardSigmoid": np.clip(0.2 * D + 0.5, 0, 1),
    "Selu": SELU * np.where(D < 0, ALPHA * (np.exp(D) - 1), D),
    "ThresholdedRelu": np.where(D > 1, D, 0),
    "HardSwish": D * np.clip(D / 6 + 0.5, 0, 1),
    "gelu": D * 0.5 * (1 + np.vectorize(math.erf)(D / math.sqrt(2))),
    "number": D,
    "rnn": (1 / (1 + np.exp(-D * 0.5))).reshape(6, 1, 1, 1),
}
TEXT = ["-3.0", "-1.0", "-0.25", "0.0", "0.5", "2.0"]


def everything():
    node = helper.make_node
    nodes = [node(name, ["x"], [name]) for name in list(RESULTS)[:5]]
    nodes += [
        node("Div", ["x", "root"], ["d"]), node("Erf", ["d"], ["e"]), node("Add", ["e", "one"], ["a"]),
        node("Mul", ["x", "a"], ["m"]), node("Mul", ["m", "half"], ["gelu"]),
        node("Cast", ["x"], ["text"], to=T.STRING), node("Cast", ["text"], ["number"], to=T.FLOAT),
        node("Transpose", ["x"], ["t"]), node("Unsqueeze", ["t", "last"], ["u"]),
        node("RNN", ["u", "w", "r"], ["rnn"], activations=["SIGMOID"], hidden_size=1),
        node("Constant", [], ["last"], value_ints=[2]),
    ]  # fmt: skip
    constants = [("root", math.sqrt(2)), ("one", 1), ("half", 0.5), ("w", [[[0.5]]]), ("r", [[[0]]])]
    return model(nodes, [(name, T.FLOAT) for name in RESULTS] + [("text", T.STRING)], constants)


def refused():
    """A node that fails with a number in its message."""
    nodes = [helper.make_node("Dropout", ["x", "ratio", "training"], ["y"]), helper.make_node("Cast", ["one"], ["training"], to=T.BOOL)]
    return model(nodes, [("y", T.FLOAT)], [("ratio", 1.5), ("one", 1)])


# ---- the package in a program ----------------------------------------------------------------------------------------------


def check_results(session, what):
    found = dict(zip([*RESULTS, "text"], session.run(None, {"x": X})))
    for name, expected in RESULTS.items():
        check(np.allclose(found[name], expected, rtol=1e-5, atol=1e-6), f"{what}: {name} is {found[name].ravel()}")
    check(list(found["text"].ravel()) == TEXT, f"{what}: text is {found['text']}")


def message_of(tinyort):
    try:
        tinyort.InferenceSession(refused()).run(None, {"x": X})
    except Exception as exception:  # whatever its class is
        return str(exception)
    return ""


def in_a_program(folder):
    import tinyort

    for name in ["C", *NAMES]:
        locale.setlocale(locale.LC_ALL, name)
        check(locale.localeconv()["decimal_point"] == ("." if name == "C" else ","), f"the locale {name} is not there")
        for level in tinyort.GraphOptimizationLevel.ORT_DISABLE_ALL, tinyort.GraphOptimizationLevel.ORT_ENABLE_ALL:
            options = tinyort.SessionOptions()
            options.graph_optimization_level = level
            try:
                session = tinyort.InferenceSession(everything(), options)
                check_results(session, f"{name}, {level}")
                session.save_plan(folder / f"{name} {level}")
            except Exception as exception:  # a locale must not keep a session from being made
                check(False, f"{name}: {exception}")
        check("1.5" in message_of(tinyort), f"{name}: {message_of(tinyort)}")
    for plan, name in itertools.product(sorted(folder.iterdir()), ["C", *NAMES]):
        locale.setlocale(locale.LC_ALL, name)
        check_results(tinyort.load_plan(plan), f"the plan of {plan.name} under {name}")
    locale.setlocale(locale.LC_ALL, "C")


# ---- the command line ------------------------------------------------------------------------------------------------------

# Each with its exit status.
COMMANDS = """
0 inspect m.onnx --json
0 plan m.onnx --full
0 plan m.onnx --json
0 plan m.onnx -o m.plan
0 plan m.onnx --lock m.lock
0 plan m.onnx --optimized optimized.onnx
0 run m.onnx --random 1 --random x=-0.5..1.5 --stats --save saved
0 run m.onnx --random 1 --json --expect FINITE
2 run m.onnx --random x=-0,5..1
2 run m.onnx --random 1 --time-limit 0,5
4 run m.onnx --random 1 --ep CUDAEXECUTIONPROVIDER
2 run m.onnx --random 1 --ep TENSORRTEXECUTIONPROVIDER
5 run refused.onnx --random 1
0 run --plan m.plan --random 1 --top 3
0 compile mlp.onnx -o compiled --main
0 ops HardSigmoid
3 plan m.onnx -o none/m.plan
""".strip().splitlines()


def around(name):
    own = {key: value for key, value in os.environ.items() if not key.startswith("LC_") and key != "LANG"}
    return own if name == "C" else {**own, "LC_ALL": name, "LOCPATH": LOCALES, "LD_PRELOAD": FOREIGN}


def what_happens(folder, name):
    """All that the commands print, and all files that they leave."""
    folder.mkdir()
    (folder / "m.onnx").write_bytes(everything())
    (folder / "refused.onnx").write_bytes(refused())
    (folder / "mlp.onnx").write_bytes(model([helper.make_node("LeakyRelu", ["x"], ["h"]), helper.make_node("Mul", ["h", "c"], ["y"])],
                                            [("y", T.FLOAT)], [("c", 0.3)]))  # fmt: skip
    happened = {}
    for command in COMMANDS:
        status, *words = command.split()
        done = subprocess.run([TINYORT, *words], cwd=folder, env=around(name), capture_output=True, timeout=60)
        happened[command] = done.stdout + done.stderr
        check(done.returncode == int(status), f"{name}: {command}: {done.returncode}, {happened[command].decode()}")
    files = (path for path in folder.rglob("*") if path.is_file())
    return happened | {str(path.relative_to(folder)): path.read_bytes() for path in files}


def as_commands(folder):
    plain = what_happens(folder / "C", "C")
    for name in NAMES:
        told = subprocess.run([sys.executable, "-c", "import locale; print(locale.localeconv()['decimal_point'])"],
                              env=around(name), capture_output=True, text=True).stdout  # fmt: skip
        check(told == ",\n", f"programs under {name} have the decimal point {told!r}")
        found = what_happens(folder / name, name)
        check(found.keys() == plain.keys(), f"{name}: other files: {found.keys() ^ plain.keys()}")
        for key in plain.keys() & found.keys():
            a, b = ([*text[key].splitlines(), b""] for text in (plain, found))
            where = next((i for i, (p, q) in enumerate(zip(a, b)) if p != q), 0)
            check(plain[key] == found[key], f"{name}: {key}: {b[where][:200]}, expected {a[where][:200]}")


def main():
    if not all(Path(LOCALES, name, "LC_NUMERIC").is_file() for name in NAMES):
        print("skipped: locales with a decimal comma: localedef made none here (Debian's package locales)")
        print("locale: 0 passed, 0 failed, 1 skipped")
        return 0
    with TemporaryDirectory() as folder:
        for part in in_a_program, as_commands:
            path = Path(folder, part.__name__)
            path.mkdir()
            part(path)
    print(f"locale: {passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())

"""One way for all commands: the placement line, --require, --strict, the objects of --json, also after a failure."""

import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from suite import DIGITS, NO_CUDA, SEVEN, case_folder, floats, save_model, tensor, unknown_operator

CHAIN = ("--ep", "cuda,cpu")


def commands(folder):
    """Every command that places nodes, on a model of which cuda (that is down) would take something."""
    image = np.zeros((1, 1, 8, 8), np.float32)
    case_folder(folder / "digits", lambda path: path.write_bytes(Path(DIGITS).read_bytes()), [image], [np.zeros((1, 10), np.float32)])
    return {
        "run": ("run", DIGITS, "--input", SEVEN, *CHAIN),
        "plan": ("plan", DIGITS, *CHAIN),
        "bench": ("bench", DIGITS, "--repeat", "1", *CHAIN),
        "compare": ("compare", DIGITS, "--input", SEVEN, "--ep", "cpu", *CHAIN),
        "test": ("test", folder / "digits", "--shapes-only", *CHAIN),
    }


def test_placement_line(suite, folder):
    for command, arguments in commands(folder).items():
        result = suite.run(*arguments, **NO_CUDA)
        lines = result.placements()
        suite.check(len(lines) == (2 if command == "compare" else 1), f"{command}: placement lines: {result.err}")
        suite.check(lines and result.err.splitlines()[-1] == lines[-1], f"{command}: it is the last line: {result.err}")
        suite.check(lines and "cuda did not open: DISABLED" in lines[-1] and "unset" in lines[-1], f"{command}: with cause and cure")
        suite.check(lines and "fell back" not in lines[-1], f"{command}: nodes of a provider that is down are not listed")


def test_require_and_strict(suite, folder):
    for command, arguments in commands(folder).items():
        suite.expect(4, "cuda did not open", *arguments, "--require", "cuda", **NO_CUDA)
        suite.expect(4, "strict" if command != "test" else "1 of 1 case failed", *arguments, "--strict", **NO_CUDA)
        result = suite.run(*arguments, "--require", "cpu", **NO_CUDA)
        suite.check(result.status == (4 if command == "compare" else 0), f"{command} --require cpu: {result.err}")
        suite.expect(2 if command != "test" else 5, "no node", *arguments, "--pin", "conv9=cpu", **NO_CUDA)
    suite.expect(4, "cuda did not open", "providers", "--require", "cuda", **NO_CUDA)
    suite.expect(0, "cpu", "providers", "--require", "cpu")


def test_json_of_all(suite, folder):
    plan = suite.run("plan", DIGITS, *CHAIN, "--json", **NO_CUDA).json()
    for command, arguments in commands(folder).items():
        told = suite.run(*arguments, "--json", **NO_CUDA).documents()[0]
        for part in told["sessions"] if command == "compare" else [told]:
            for key in ("chain", "providers", "summary", "fallbacks"):
                suite.check(part.get(key) == plan[key] or command == "compare", f"{command} --json: {key} is {part.get(key)}, of plan {plan[key]}")
        suite.check(command == "test" or told["model"]["opsets"] == {"": 17}, f"{command}: {told.get('model')}")


def test_fallbacks(suite, folder):
    """Nodes that are not where they were meant to be, each with the refusal and its cure, wherever a session was planned."""
    nodes = [helper.make_node("Relu", ["x"], ["a"], "relu"), helper.make_node("Cast", ["a"], ["y"], "wide", to=TensorProto.STRING)]
    save_model(folder / "m.onnx", nodes, [floats("x", [4])], [tensor("y", TensorProto.STRING, [4])])
    told = suite.run("plan", folder / "m.onnx", "--ep", "cuda,cpu", "--target", "cuda:sm_86", "--json").json()
    told_of = {key: told["fallbacks"][0][key] for key in ("node", "op", "runs_on", "provider", "code")}
    wanted = {"node": "wide", "op": "Cast", "runs_on": "cpu", "provider": "cuda", "code": "NO_TYPE"}
    suite.check(len(told["fallbacks"]) == 1 and told_of == wanted and told["summary"]["fallen_back"] == 1, str(told["fallbacks"]))
    down = suite.run("run", DIGITS, "--random", "1", "--ep", "cuda,cpu", "--json", **NO_CUDA).json()
    suite.check(len(down["fallbacks"]) == down["summary"]["fallen_back"] == down["summary"]["cpu"], "a provider that is down lost all of them")
    suite.check(all(entry["code"] == "DISABLED" and "unset" in entry["cure"] for entry in down["fallbacks"]), str(down["fallbacks"][:1]))
    strict = suite.expect(4, "strict", "run", DIGITS, "--random", "1", "--ep", "cuda,cpu", "--strict", "--json", **NO_CUDA).json()
    suite.check(strict["fallbacks"] == down["fallbacks"] and strict["error"]["cure"], "a strict refusal has every node")


def test_schema(suite, folder):
    """The schema refuses what no command says: without this the check of every document would be worth nothing."""
    told = suite.run("plan", DIGITS, "--json").json()
    for key, value in (("chain", "cpu"), ("mistake", 1), ("command", "run"), ("model", "m.onnx"), ("summary", {"cpu": 1})):
        suite.check(suite.schema_error({**told, key: value}), f"the schema takes {key}: {value}")
    schema = json.loads(suite.expect(0, "$defs", "schema").out)
    commands_of_it = {name.removeprefix("tinyort ") for name in schema["$defs"] if name.startswith("tinyort ")}
    listed = {line.split()[1] for line in suite.run("--help").out.splitlines() if line.startswith("  tinyort ") and line.split()[1].isalpha()}
    listed = {command for command in listed if "\n  --json " in suite.run(command, "--help").out}
    suite.check(len(listed) > 9 and listed <= commands_of_it, f"commands without a schema: {listed - commands_of_it}")


def check_error(suite, result, status, where, *said):
    told = result.json()
    error = told.get("error", {})
    suite.check(result.status == status and error.get("exit") == status, f"{where}: status {result.status}, {error}")
    suite.check(error.get("cure") and {"code", "exit", "message", "node", "provider"} <= set(error), f"{where}: keys of error: {sorted(error)}")
    suite.check(all(words in json.dumps(error) for words in said), f"{where}: error says nothing of {said}: {error}")
    return told


def test_json_of_failures(suite, folder):
    """stdout holds one document with `error`, whatever went wrong."""
    unknown_operator(folder / "unknown.onnx")
    for command, arguments in commands(folder).items():
        wrong = [arguments[0], "--json", *arguments[1:]]
        check_error(suite, suite.run(*wrong, "--ep", "x", "--ep", "y", "--ep", "z"), 2, f"{command}: a wrong chain", {"compare": "chains", "bench": "unknown provider"}.get(command, "--ep"))
        check_error(suite, suite.run(*wrong, "--nonsense"), 2, f"{command}: an unknown option", "there is no option --nonsense")
        check_error(suite, suite.run(*wrong, "--require", "cuda", **NO_CUDA), 4, f"{command}: --require", "DISABLED")
        if command != "test":
            broken = [command, folder / "none.onnx", "--json", *CHAIN, *(("--ep", "cpu") if command == "compare" else ())]
            check_error(suite, suite.run(*broken), 3, f"{command}: no model", "there is no file")
            refused = [command, folder / "unknown.onnx", "--json", "--ep", "cpu", *(("--ep", "cpu") if command == "compare" else ())]
            refused += ["--random", "1"] if command == "run" else []
            told = check_error(suite, suite.run(*refused), 4, f"{command}: an unknown operator", "Sinus", "TORT_E_PLACEMENT", '"node": 0', "cure")
            suite.check(command == "compare" or told["summary"]["unplaced"] == 1, f"{command}: a refused placement has its summary")
    for command in ("inspect", "ops", "providers", "version"):
        check_error(suite, suite.run(command, "--json", "--nonsense"), 2, command, "nonsense")
    check_error(suite, suite.run("inspect", folder / "none.onnx", "--json"), 3, "inspect", "there is no file")
    check_error(suite, suite.run("providers", "--json", "--ep", "gpu"), 2, "providers", "NVIDIA GPU is cuda")
    told = check_error(suite, suite.run("providers", "--json", "--require", "cuda", **NO_CUDA), 4, "providers --require", "DISABLED")
    suite.check(len(told["providers"]) >= 2, "providers --require tells of all of them all the same")


def test_one_exit_for_memory(suite, folder):
    """A device that is too small is a refusal of the placement, whenever it is noticed."""
    if "cudasim" not in suite.run("providers").out or "down" in suite.run("providers", "--ep", "cudasim").out:
        suite.skip("the exit status of a device that is too small: there is no simulated device")
        return
    small = ("--ep", "cudasim:mem_limit=65536,cpu")
    for command in ("run", "bench", "plan"):
        fill = ("--random", "1") if command == "run" else ()
        for shape in ((), ("--shape", "image=1x1x8x8")):
            if command == "plan" and not shape:
                continue
            suite.expect(4, "", command, DIGITS, *small, *fill, *shape)
    # values of 40 MB whose shape depends on data, where 1 MB is allowed
    nodes = [helper.make_node("NonZero", ["x"], ["i"])]
    save_model(folder / "dynamic.onnx", nodes, [floats("x", [1000, 1000])], [tensor("i", TensorProto.INT64, [2, "n"])])
    suite.expect(4, "dynamic", "run", folder / "dynamic.onnx", "--random", "1", "--dynamic-limit", "1M")

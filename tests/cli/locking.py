"""Locks: `plan --lock FILE` writes where every node runs, `plan --check FILE` names those that have moved, and why."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from onnx import TensorProto, helper

from suite import DIGITS, NO_CUDA, Skipped, floats, save_model, unknown_operator

LOCKS = {"models/digits.lock": DIGITS, "models/edges.lock": "models/edges.onnx"}
BOARD = ("plan", DIGITS, "--ep", "cuda,cpu", "--target", "cuda:sm_86")


def lines_of(path):
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def placed(path):
    return {line.split("\t")[0]: line.split("\t")[1:] for line in lines_of(path)[2:] if line.count("\t") == 4}


def chain_of(path, *names):
    """A Relu of each name, one behind the other."""
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"], name) for i, name in enumerate(names)]
    save_model(path, nodes, [floats("v0", [2])], [floats(f"v{len(names)}", [2])])


def test_what_it_holds(suite, folder):
    lock = folder / "d.lock"
    suite.expect(0, f"locked as {lock}", "plan", DIGITS, "--lock", lock)
    lines = lines_of(lock)
    suite.check(lines[:2] == ["tinyort-lock 1", "chain\tcpu"] and lines[2:] == sorted(lines[2:]), f"a head, and sorted nodes: {lines}")
    suite.check(placed(lock)["conv1"] == ["Conv", "cpu", "kernel", "-"] and placed(lock)["relu1"] == ["Relu", "cpu", "kernel", "-"],
                "nodes of the model, joined ones too")
    suite.check(placed(lock)["flatten"] == ["Flatten", "host", "alias", "-"], "steps of the executor")
    told = suite.run("plan", DIGITS, "--lock", lock, "--json").json()
    suite.check(told["locked"] == str(lock), "the JSON names it")


def test_one_lock_for_every_machine(suite, folder):
    """The locks of the repository, which were made with AVX-512."""
    for lock, model in LOCKS.items():
        for options in ("", ":isa=v2", ":isa=v3", ":isa=v4_vnni", ":isa=neon", ":isa=rvv", ":threads=1"):
            if suite.run("plan", model, "--ep", f"cpu{options}").status == 2:  # a set that this processor has not
                continue
            suite.expect(0, "0 moved, 0 new, 0 gone", "plan", model, "--ep", f"cpu{options}", "--check", lock)
        suite.run("plan", model, "--no-fusion", "--lock", folder / "again.lock")
        suite.check(lines_of(folder / "again.lock") == lines_of(Path(lock)), f"{lock}: the same without fusions")


def test_a_kernel_is_lost(suite, folder):
    check = ("plan", DIGITS, "--ep", "cpu:isa=plain", "--check", "models/digits.lock")
    result = suite.expect(4, ["10 of 11 nodes are not where 'models/digits.lock' has them", "10 moved, 0 new, 0 gone"], *check)
    rows = [line.split() for line in result.out.splitlines() if line.startswith("moved ")]
    suite.check(["moved", "1", "fc", "Gemm", "cpu", "kernel", "->", "cpu", "plain", "gemm_packed:", "NO_CAPABILITY"] in [row[:11] for row in rows], f"{rows}")
    suite.check(sum(int(row[1]) for row in rows) == 10 and len(rows) < 10, f"nodes of one reason are in one row: {rows}")
    told = suite.expect(4, "", *check, "--json").json()
    suite.check(told["error"]["exit"] == 4 and told["check"]["failed"] == 10 and told["check"]["nodes"] == 11, f"{told['check']}")
    move = next(move for move in told["check"]["moves"] if move["node"] == "fc")
    suite.check(move["was"]["family"] == "kernel" and move["is"]["family"] == "plain" and "NO_CAPABILITY" in move["why"], f"{move}")


def test_a_provider_does_not_open(suite, folder):
    lock = folder / "d.lock"
    suite.expect(0, "locked as", *BOARD, "--lock", lock)
    suite.check("cuda" in {place[1] for place in placed(lock).values()} and lines_of(lock)[1] == "chain\tcuda,cpu", "cuda takes something")
    suite.expect(0, "0 moved", *BOARD, "--check", lock)
    suite.check(lines_of(lock)[2] == "target\tcuda:sm_86", f"the target is kept: {lines_of(lock)[:3]}")
    suite.expect(0, "0 moved", "plan", DIGITS, "--check", lock)
    suite.expect(0, "0 moved, 0 new, 0 gone", "plan", DIGITS, "--target", "cuda:sm_80", "--check", lock)
    result = suite.expect(4, "cuda did not open: DISABLED", "plan", DIGITS, "--check", lock, **NO_CUDA)
    suite.check("--ep" not in result.err and " -> cpu kernel" in result.out, "the chain is that of the lock")
    suite.expect(2, "is for no provider of the chain", "plan", DIGITS, "--ep", "cpu", "--check", lock)
    lock.write_text("".join(line + "\n" for line in lines_of(lock) if not line.startswith("target\t")))
    suite.expect(4, "cuda is not in the chain", "plan", DIGITS, "--ep", "cpu", "--check", lock)
    suite.expect(4, "pinned to cpu by an option", *BOARD, "--pin", "conv1=cpu", "--check", lock)
    back = folder / "cpu.lock"
    suite.expect(0, "locked as", "plan", DIGITS, "--ep", "cpu", "--lock", back)
    suite.expect(4, "cuda takes it", *BOARD, "--check", back)


def test_a_flood_is_told_as_groups(suite, folder):
    """Nodes that are gone for one reason are a row; of many reasons 20 are told, failures first, and the rest is counted."""
    gone = "".join(f"was{i}\tConv\tcpu\tkernel\t-\n" for i in range(300))
    (folder / "a.lock").write_text("tinyort-lock 1\nchain\tcpu\n" + gone)
    out = suite.expect(0, "0 moved, 11 new, 300 gone", "plan", DIGITS, "--check", folder / "a.lock").out
    suite.check(len(out.splitlines()) < 20 and ["gone", "300", "was0", "Conv", "cpu", "kernel"] in [line.split() for line in out.splitlines()], out)
    many = "".join(f"was{i}\tConv\tp{i}\tkernel\t-\n" for i in range(40))
    (folder / "b.lock").write_text("tinyort-lock 1\nchain\tcpu\nconv1\tConv\tcuda\tkernel\t-\n" + many)
    out = suite.expect(4, "1 moved, 10 new, 40 gone", "plan", DIGITS, "--check", folder / "b.lock").out
    suite.check("more, for other reasons (--json has all)" in out and len(out.splitlines()) <= 25 and out.splitlines()[1].startswith("moved"), out)
    out = suite.expect(4, "", "plan", DIGITS, "--check", folder / "b.lock", "--github").out.splitlines()
    suite.check(len(out) == 21 and out[0].startswith("::error") and "more moves, for other reasons" in out[-1], f"{out}")


def test_an_opset_later(suite, folder):
    """ArgMax from opset 12 on may return the last of equal elements: for that cpu has no kernel."""
    lock = folder / "m.lock"
    for opset, last in ((11, {}), (12, {"select_last_index": 1})):
        nodes = [helper.make_node("Relu", ["x"], ["a"], "relu"), helper.make_node("ArgMax", ["a"], ["y"], "scores", axis=1, **last)]
        output = helper.make_tensor_value_info("y", TensorProto.INT64, [4, 1, 8])
        save_model(folder / f"{opset}.onnx", nodes, [floats("x", [4, 64, 8])], [output], opset=opset)
    suite.expect(0, "locked as", "plan", folder / "11.onnx", "--lock", lock)
    result = suite.expect(4, ["1 of 2 nodes", "1 moved, 0 new, 0 gone"], "plan", folder / "12.onnx", "--check", lock)
    row = next(line.split() for line in result.out.splitlines() if line.startswith("moved"))
    suite.check(row[:10] == "moved 1 scores ArgMax cpu kernel -> cpu plain arg_vectors:".split(), f"{row}")
    unknown_operator(folder / "unknown.onnx")
    suite.expect(4, "no provider", "plan", folder / "unknown.onnx", "--lock", folder / "refused.lock")
    suite.check(not (folder / "refused.lock").exists(), "a plan that is refused has no lock")
    suite.expect(4, ["sinus", "nowhere", "NO_OP", "2 gone"], "plan", folder / "unknown.onnx", "--check", lock)


def test_other_nodes(suite, folder):
    before, after, lock = folder / "a.onnx", folder / "b.onnx", folder / "m.lock"
    chain_of(before, "relu", "first\tof\nall")
    chain_of(after, "relu", "second")
    suite.expect(0, "locked as", "plan", before, "--lock", lock)
    suite.check(len(lines_of(lock)) == 4 and "first\\tof\\nall" in placed(lock), f"a name is escaped: {lines_of(lock)}")
    suite.expect(0, "0 moved, 0 new, 0 gone", "plan", before, "--check", lock)
    suite.expect(0, ["0 moved, 1 new, 1 gone", "first\\tof\\nall"], "plan", after, "--check", lock)
    suite.expect(4, ["1 of 2 nodes", "0 moved, 1 new, 1 gone", "cuda did not open: DISABLED"], "plan", after, "--ep", "cuda,cpu", "--check", lock, **NO_CUDA)
    chain_of(before, "same", "same", "same")
    suite.expect(0, "locked as", "plan", before, "--lock", lock)
    suite.expect(0, "3 nodes, 0 moved, 0 new, 0 gone", "plan", before, "--check", lock)


def test_annotations_of_github(suite, folder):
    check = ("plan", DIGITS, "--ep", "cpu:isa=plain", "--check", "models/digits.lock", "--github")
    github = suite.expect(4, "", *check).out.splitlines()
    suite.check(1 < len(github) < 10 and re.match(rf"::error file={DIGITS},title=conv1 and \d+ more moved%3A cpu kernel -> cpu plain::conv_", github[0]), f"{github[:1]}")
    hostile = folder / "a,b%:<&>.onnx"
    shutil.copy(DIGITS, hostile)
    out = suite.run("plan", hostile, *check[2:]).out
    suite.check("a%2Cb%25%3A<&>.onnx,title=" in out, out[:200])


def test_files_that_are_no_locks(suite, folder):
    bad = folder / "bad.lock"
    for text, said, status in (("", "is not a lock", 3), ("hello", "is not a lock", 3), ("tinyort-lock 2\n", "is of version 2", 4), ("tinyort-lock 1\n", "should follow", 3),
                               ("tinyort-lock 1\nchain\tcpu\nconv1\tConv\tcpu\n", "has 3 fields, expected 5", 3),
                               ("tinyort-lock 1\nchain\tcpu\na\tb\tc\td\te\tf\n", "has 6 fields", 3), ("tinyort-lock 1\nchain\tgpu\n", "gpu", 2)):
        bad.write_text(text)
        suite.expect(status, said, "plan", DIGITS, "--check", bad)
    bad.write_text("# a comment\r\ntinyort-lock 1\r\nchain\tcpu\r\n\r\nconv1\tConv\tcpu\tkernel\t-\r\n")
    suite.expect(0, "0 moved, 10 new, 0 gone", "plan", DIGITS, "--check", bad)
    suite.expect(3, "there is no file", "plan", DIGITS, "--check", folder / "none.lock")
    suite.expect(3, "a folder, not a file", "plan", DIGITS, "--check", folder)
    suite.expect(2, "take one of them", "plan", DIGITS, "--check", bad, "--lock", bad)
    suite.expect(2, "add --check", "plan", DIGITS, "--github")
    suite.expect(2, "take one of them", "plan", DIGITS, "--check", bad, "--github", "--json")
    suite.expect(2, "", "plan", DIGITS, "--lock", DIGITS)


def test_the_workflow(suite, folder):
    """The steps of the example, as plain shell, and the hook in a repository."""
    steps, step = [], None
    for line in Path("models/ci/placement.yml").read_text().splitlines():
        if line.strip() == "run: |":
            step = []
            steps.append(step)
        elif step is not None and line.startswith(" " * 10):
            step.append(line.strip())
        else:
            step = None
    program, environment = Path(suite.tinyort).resolve(), {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    (folder / "tinyort").symlink_to(program)
    shutil.copy(DIGITS, folder / "model.onnx")
    shell = lambda text: subprocess.run(["sh", "-ec", text], cwd=folder, env=environment, capture_output=True, text=True)
    made = next(line.strip("# ") for line in Path("models/ci/placement.yml").read_text().splitlines() if "--lock" in line)
    suite.check(shell(made).returncode == 0, made)
    suite.check(len(steps) == 1 and shell("\n".join(steps[0])).returncode == 0, "the step passes")
    (folder / "model.lock").write_text((folder / "model.lock").read_text().replace("\tcuda\t", "\tcpu\t"))
    failed = shell("\n".join(steps[0]))
    suite.check(failed.returncode == 4 and failed.stdout.startswith("::error file=model.onnx,title=conv1 "), f"{failed.stdout[:300]}{failed.stderr}")
    if shutil.which("git") is None:
        raise Skipped("the hook: no git here")
    hook = Path("models/ci/pre-commit").resolve()
    suite.check(shell(f"tinyort plan model.onnx --lock model.lock; git init -q .; git add model.onnx model.lock; {hook}").returncode == 0, "the hook passes")
    shell("sed -i 's/kernel/cuDNN/' model.lock")
    suite.check("conv1" in shell(f"{hook} || exit 1").stdout and shell(f"{hook}").returncode == 1, "the hook refuses")

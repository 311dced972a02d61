"""--save: a file is there whole or not at all, and what cannot be written is known before the run."""

import os
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from suite import DIGITS, SECONDS, floats, identity_model, save_model, tensor, weight

RUN = ("run", DIGITS, "--random", "1", "--save")


def test_folders(suite, folder):
    suite.expect(0, "placement", *RUN, folder / "a" / "b" / "c")
    suite.check(np.load(folder / "a" / "b" / "c" / "output_0.npy").shape == (1, 10), "folders are made")
    suite.expect(0, "placement", *RUN, str(folder / "a" / "b") + "/")
    suite.check((folder / "a" / "b" / "output_0.npy").exists(), "a folder that is there, with a slash")
    (folder / "file").write_text("x")
    suite.expect(2, f"--save {folder}/out", *RUN, folder / "out.npy")
    for wrong in (folder / "file", folder / "file" / "x", ""):
        result = suite.expect(2, "--save", *RUN, wrong)
        suite.check("taken as" not in result.err and "placement" not in result.err, f"'{wrong}' is refused before anything is loaded")
    if os.getuid() != 0:  # root may write everywhere
        (folder / "locked").mkdir(mode=0o500)
        suite.expect(2, "--save", *RUN, folder / "locked" / "x")
    result = suite.expect(3, "there is no file", "run", folder / "none.onnx", "--save", folder / "early")
    suite.check(not (folder / "early").exists(), "nothing is made for a run that does not come about")


def limited(limit):
    """A disk that is full after so many bytes of a file: ulimit -f, whose signal SIGXFSZ has its default action."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def test_types_that_numpy_lacks(suite, folder):
    """Their bits, a number each, which is said; and what was saved goes in again."""
    kinds = {"BFLOAT16": (np.uint16, 16), "FLOAT8E4M3FN": (np.uint8, 8), "INT4": (np.uint8, 4), "UINT2": (np.uint8, 2), "FLOAT6E2M3": (np.uint8, 6)}
    for kind, (holder, bits) in kinds.items():
        port = [tensor(name, getattr(TensorProto, kind), [7]) for name in "xy"]
        save_model(folder / "m.onnx", [helper.make_node("Cast", ["x"], ["y"], to=getattr(TensorProto, kind))], port[:1], port[1:], opset=28)
        given = (np.arange(7) * 37 + 11) % (1 << bits)
        np.save(folder / "x.npy", given.astype(holder))
        suite.expect(0, ["holds the bits of", "--format pb"], "run", folder / "m.onnx", "--input", folder / "x.npy", "--save", folder / kind)
        got = np.load(folder / kind / "output_0.npy")
        suite.check(got.dtype == holder and np.array_equal(got, given), f"{kind}: {got} of {given}")
    result = suite.expect(0, "placement", *RUN, folder / "plain")
    suite.check("bits of" not in result.err, "nothing is said of a type that NumPy has")


def test_a_full_disk(suite, folder):
    identity_model(folder / "m.onnx", TensorProto.FLOAT, [100000])
    save_model(folder / "w.onnx", [helper.make_node("Add", ["x", "w"], ["y"])], [floats("x", [10000])], [floats("y", [10000])],
               weights=[weight("w", np.zeros(10000, np.float32))])
    save_model(folder / "many.onnx", [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(500)], [floats("v0", [2])], [floats("v500", [2])])
    was = b"what was there before"
    for name, arguments in {
        "output_0.npy": ("run", folder / "m.onnx", "--random", "1", "--save", folder / "full"),
        "output_0.pb": ("run", folder / "m.onnx", "--random", "1", "--format", "pb", "--save", folder / "full"),
        "m.plan": ("plan", folder / "w.onnx", "-o", folder / "full/m.plan"),
        "m.lock": ("plan", folder / "many.onnx", "--lock", folder / "full/m.lock"),
        "o.onnx": ("plan", folder / "many.onnx", "--optimized", folder / "full/o.onnx"),
        "t.json": ("bench", DIGITS, "--repeat", "50", "--profile", "--trace", folder / "full/t.json"),
        "digits_weights.c": ("compile", DIGITS, "--shape", "N=1", "--force", "-o", folder / "full"),
    }.items():
        (folder / "full").mkdir()
        (folder / "full" / name).write_bytes(was)
        done = subprocess.run([suite.tinyort, *map(str, arguments)], capture_output=True, text=True, preexec_fn=limited(4096))
        told = f"cannot write \"{folder / 'full'}/" in done.stderr and "File too large" in done.stderr and ".tinyort" not in done.stderr
        suite.check(done.returncode == 5 and told, f"{name}: {done.returncode}: {done.stderr}")
        left = sorted(path.name for path in (folder / "full").iterdir() if path.name != "digits.h")
        suite.check(left == [name] and (folder / "full" / name).read_bytes() == was, f"{name}: no part of a file is left: {left}")
        shutil.rmtree(folder / "full")


def without_name(program, target):
    """Files of the folder that the program writes and that have no name."""
    found = []
    for link in Path(f"/proc/{program.pid}/fd").iterdir() if program.poll() is None else []:
        try:
            found += [to for to in [os.readlink(link)] if to.startswith(f"{target}/#") and to.endswith("(deleted)")]
        except OSError:
            pass  # it was closed meanwhile
    return found


def has_unfinished(program, target):
    names = [path.name[:9] for path in target.iterdir()]
    return names == [".tinyort-"] or (not names and bool(without_name(program, target)))


def caught(suite, target, arguments):
    """The program, stopped while its file in the folder has not its name yet. What is too fast for that is tried again."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)  # nohup and background shells hand on that they are ignored

    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        program = subprocess.Popen([suite.tinyort, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=prepare)
        while program.poll() is None and not has_unfinished(program, target):
            pass
        program.send_signal(signal.SIGSTOP)
        while program.poll() is None and Path(f"/proc/{program.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "TZ":
            pass
        if program.poll() is None and has_unfinished(program, target):
            return program
        program.kill()
        program.wait()
        for path in target.iterdir():
            path.unlink()
    raise TimeoutError("no unfinished file was seen")


def test_an_interruption(suite, folder):
    size, target = 1 << 23, folder / "out"
    identity_model(folder / "m.onnx", TensorProto.FLOAT, [size])
    save_model(folder / "w.onnx", [helper.make_node("Add", ["x", "w"], ["y"])], [floats("x", [size])], [floats("y", [size])],
               weights=[weight("w", np.zeros(size, np.float32))])
    target.mkdir()
    run, plan = ("run", folder / "m.onnx", "--random", "1", "--save", target), ("plan", folder / "w.onnx", "-o", target / "w.plan")
    for arguments, number in [(run, signal.SIGINT), (run, signal.SIGTERM), (run, signal.SIGHUP), (run, signal.SIGQUIT), (plan, signal.SIGINT), (run, signal.SIGKILL)]:
        program = caught(suite, target, arguments)
        unfinished = [path.name for path in target.iterdir()]
        if unfinished and number == signal.SIGKILL:
            program.kill()
            suite.skip("what a kill leaves: files of this file system have names")
            break
        suite.check(not unfinished or re.fullmatch(r"\.tinyort-[0-9a-f]{16}", unfinished[0]), f"a name that nobody can guess: {unfinished}")
        program.send_signal(number)
        program.send_signal(signal.SIGCONT)
        suite.check(program.wait(timeout=SECONDS) == -number, f"{number!r} ends {arguments[0]}: {program.returncode}")
        suite.check(not list(target.iterdir()), f"{number!r} leaves nothing: {list(target.iterdir())}")


def writers(folder):
    """Every command that writes: the file, and what one types."""
    return {
        "output_0.npy": ("run", DIGITS, "--random", "1", "--save", folder),
        "digits.plan": ("plan", DIGITS, "-o", folder / "digits.plan"),
        "trace.json": ("bench", DIGITS, "--repeat", "1", "--profile", "--trace", folder / "trace.json"),
        "digits.c": ("compile", DIGITS, "--shape", "N=1", "--force", "-o", folder),
    }


def test_what_is_no_regular_file(suite, folder):
    """Neither replaced, nor written to, nor waited for; and nothing else is written."""
    precious = folder / "precious"
    precious.write_text("of another user")
    kinds = {"a folder": os.mkdir, "a symbolic link": lambda path: os.symlink(precious, path), "a device, a pipe or a socket": os.mkfifo}
    for kind, make in kinds.items():
        for name, arguments in writers(folder / "out").items():
            (folder / "out").mkdir()
            make(folder / "out" / name)
            suite.expect(3, [f"{name}\" is {kind}, and only a regular file is replaced"], *arguments)
            suite.check([path.name for path in (folder / "out").iterdir()] == [name], f"{name}, {kind}: is as it was")
            shutil.rmtree(folder / "out")
    suite.check(precious.read_text() == "of another user", "a link is not followed")


def test_what_is_replaced(suite, folder):
    """By a file of its own, so that other names of the old one keep it, and with its permissions."""
    for name, arguments in writers(folder / "out").items():
        (folder / "out").mkdir()
        (folder / "out" / name).write_text("old")
        (folder / "out" / name).chmod(0o600)
        os.link(folder / "out" / name, folder / "link")
        suite.expect(0, "", *arguments)
        suite.check((folder / "link").read_text() == "old", f"{name}: another name of the file that is replaced")
        suite.check((folder / "out" / name).stat().st_mode & 0o777 == 0o600, f"{name}: permissions")
        suite.check(not list((folder / "out").glob(".*")), f"{name}: nothing is left")
        shutil.rmtree(folder / "out")
        (folder / "link").unlink()


def test_the_model_is_not_replaced(suite, folder):
    """Under any of its names: the model, its external data, its saved plan."""
    model, plan = folder / "output_0.npy", folder / "saved.plan"
    proto = onnx.load(DIGITS)
    onnx.save(proto, model, save_as_external_data=True, location="m_weights.bin", size_threshold=0)
    suite.expect(0, "saved as", "plan", model, "-o", plan)
    os.link(model, folder / "linked")
    before = {path: path.read_bytes() for path in (model, plan, folder / "m_weights.bin")}
    often = ("--repeat", "1", "--profile", "--trace")
    for arguments in [
        ("run", model, "--random", "1", "--save", folder), ("plan", model, "-o", model), ("plan", model, "-o", folder / "linked", "--allow-links"),
        ("plan", model, "-o", folder / "m_weights.bin"), ("plan", "--plan", plan, "-o", plan), ("bench", "--plan", plan, *often, plan),
        ("bench", model, *often, folder / "m_weights.bin"), ("compile", model, "--shape", "N=1", "--name", "m", "--weights", "bin", "-o", folder),
    ]:
        suite.expect(2, "is a file that this model is read from", *arguments)
    suite.check(all(path.read_bytes() == was for path, was in before.items()), "all is as it was")
    suite.check(not (folder / "m.c").exists(), "and nothing else is written")


def test_writers_side_by_side(suite, folder):
    """Each writes a file of its own, and the last one stays."""
    programs = [subprocess.Popen([suite.tinyort, "plan", DIGITS, "-o", folder / "d.plan"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                for _ in range(12)]
    for program in programs:
        said = program.communicate(timeout=SECONDS)[1]
        suite.check(program.returncode == 0, f"{program.returncode}: {said}")
    suite.check([path.name for path in folder.iterdir()] == ["d.plan"], f"one file: {list(folder.iterdir())}")
    suite.expect(0, "placement", "run", "--plan", folder / "d.plan", "--random", "1")


def test_strings_of_unequal_length(suite, folder):
    """In .npy every one of them takes the space of the longest: told, and beyond a limit refused before anything is written."""
    identity_model(folder / "m.onnx", TensorProto.STRING, ["n"])

    def save(count, longest, status, said, *more):
        words = helper.make_tensor("x", TensorProto.STRING, [count], [b"x" * longest] + [b""] * (count - 1))
        (folder / "x.pb").write_bytes(words.SerializeToString())
        return suite.expect(status, said, "run", folder / "m.onnx", "--input", folder / "x.pb", "--save", folder / "out", *more)

    save(65537, 65536, 4, ["output_0.npy\" would be filled up with 17.2 GB", "add --format pb"])
    suite.check(not (folder / "out").exists(), "nothing is written")
    save(65537, 65536, 0, "placement", "--format", "pb")
    suite.check((folder / "out" / "output_0.pb").stat().st_size < 300000, "a .pb is as large as its strings")
    save(1025, 1 << 14, 0, ["output_0.npy: filled up with 67.1 MB", "--format pb"])
    suite.check(np.load(folder / "out" / "output_0.npy").shape == (1025,), "and is what NumPy reads")
    suite.check("filled up" not in save(100, 1 << 14, 0, "placement").err, "of a small file nothing is said")


def test_files_of_others(suite, folder):
    """compile replaces what it has written, and nothing else; none of its files is written if one must not be."""
    model, target = folder / "main.onnx", folder / "out"
    shutil.copy(DIGITS, model)
    command = ("compile", model, "--shape", "N=1", "--main", "-o", target)
    suite.expect(0, "written", *command)
    made = {path.name: path.read_bytes() for path in target.iterdir()}
    suite.check(sorted(made) == ["Makefile", "main.c", "main.h", "main_main.c", "main_weights.c"], f"{sorted(made)}")
    suite.expect(0, "written", *command)
    suite.expect(0, "written", "compile", model, "--shape", "N=1", "--name", "digits", "--main", "--weights", "bin", "-o", target)  # the Makefile of another
    suite.expect(0, "written", "compile", model, "--shape", "N=1", "--name", "digits", "--main", "--weights", "bin", "-o", target)
    made["digits_weights.bin"] = b""
    for name in made:
        for theirs in (b"", b"all:\n\tcc main.c\n", b"/* tinyort */\n", b"# tinyort\n", b"\0" * 4096):
            for path in target.iterdir():
                path.unlink()
            (target / name).write_bytes(theirs)
            typed = (*command, "--name", "digits", "--weights", "bin") if name == "digits_weights.bin" else command
            suite.expect(3, [f'"{target}/{name}" is not of tinyort', "--force", "-o"], *typed)
            suite.check([path.name for path in target.iterdir()] == [name] and (target / name).read_bytes() == theirs, f"{name}: it stays as it was, alone")
            suite.expect(0, "written", *typed, "--force")
            suite.check((target / name).read_bytes() != theirs, f"{name}: with --force it is replaced")

"""`tinyort validate` with programs of `compile --serial`: on this machine at the end of a pseudo-terminal that loses and repeats bytes, and on
emulated boards by their UART.

Usage: validate.py TINYORT, from the root of the tree. A board without its tools is skipped, which is said.
"""

import json
import os
import pty
import random
import re
import select
import subprocess
import sys
import tempfile
import threading
import tty
from pathlib import Path

import numpy as np
import products
import run as firmware

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "embed"))
import boards  # noqa: E402

HERE = Path(__file__).resolve().parent


class Line:
    """Two pseudo-terminals and what is between them: a wire that changes one byte of `faults` in each direction."""

    def __init__(self, faults, seed=1):
        self.near, near = pty.openpty()
        self.far, self.board = pty.openpty()
        self.path, self.open = os.ttyname(near), [self.near, near, self.far, self.board]
        for end in (near, self.board):
            tty.setraw(end)
        self.random, self.faults, self.damaged, self.ends = random.Random(seed), faults, 0, False
        self.thread = threading.Thread(target=self.carry)
        self.thread.start()

    def change(self, data):
        out = bytearray()
        for byte in data:
            fault = self.faults and self.random.randrange(self.faults) == 0
            self.damaged += fault
            kind = self.random.randrange(3) if fault else None
            out += {None: bytes([byte]), 0: b"", 1: bytes([byte, byte]), 2: bytes([byte ^ 1 << self.random.randrange(8)])}[kind]
        return bytes(out)

    def carry(self):
        while not self.ends:
            for end in select.select([self.near, self.far], [], [], 0.1)[0]:
                os.write(self.far if end == self.near else self.near, self.change(os.read(end, 4096)))

    def close(self):
        self.ends = True
        self.thread.join()
        for end in self.open:
            os.close(end)


def compile_serial(tally, tinyort, network, target, folder, *options):
    words = ["compile", network.path, "-o", folder, "--name", "net", "--serial", *options, *(["--target", target.name] if target else [])]
    done = firmware.run(tinyort, *words)
    tally.check(done.returncode == 0, f"compile {options}: {done.stderr}")


def validate(tinyort, network, target, port, *options):
    words = [tinyort, "validate", network.path, "--name", "net", "--port", port, "--random", "1", "--json", *options, *(["--target", target.name] if target else [])]
    done = firmware.run(*words)
    return done.returncode, json.loads(done.stdout)


def build_here(folder):
    sources = [folder / "net.c", folder / "net_weights.c", folder / "net_serial.c", HERE / "serial_board.c"]
    words = [*products.SANITIZE, "-std=gnu99", *firmware.STRICT[1:], f"-I{folder}", f"-I{boards.ROOT}", *sources, "-lm", "-o", folder / "program"]
    boards.succeed("clang", *words)


def check_line(tally, tinyort, folder):
    """The same bits through a wire that damages a byte of 1,000, and how often frames were sent again."""
    network = products.Network(folder, "line", np.int8, 1)
    for options in ([], ["--io", "integer"], ["--bands"], ["--arena", "fast=1K,slow=64K"], ["--io", "integer", "--update", "--align", "32"]):
        own = folder / f"line_{len(list(folder.iterdir()))}"
        compile_serial(tally, tinyort, network, None, own, *options)
        build_here(own)
        for faults in (0, 1000):
            line = Line(faults)
            board = subprocess.Popen([own / "program"], stdin=line.board, stdout=line.board)
            status, told = validate(tinyort, network, None, line.path, *options)
            board.kill()
            board.wait()
            line.close()
            tally.check(status == 0 and told.get("equal"), f"{options}, one byte of {faults}: {status} {told}")
            if status == 0:
                tally.check((told["sent_again"] > 0) == (faults > 0) == (line.damaged > 0), f"{told['sent_again']} frames again, {line.damaged} damaged bytes")
                tally.check(len(told["steps"]) > 4 and all(step["ticks"] >= 100 and step["node"] for step in told["steps"]), f"{told['steps']}")


def check_errors(tally, tinyort, folder):
    """Another program, other weights, wrong bits, no board, no port: each is told from the others."""
    one, two = (products.Network(folder, f"errors{seed}", np.int8, seed) for seed in (1, 2))
    programs = {}
    for name, network, options in (("plain", one, []), ("update", one, ["--update"])):
        programs[name] = folder / f"errors_{name}"
        compile_serial(tally, tinyort, network, None, programs[name], *options)
        build_here(programs[name])
    wrong = folder / "errors_wrong"
    compile_serial(tally, tinyort, one, None, wrong)
    code = (wrong / "net.c").read_text()
    (wrong / "net.c").write_text(code.replace("return step;\n}", "if (step == 0) {\n        state->out0[2] += 1.0f;\n    }\n    return step;\n}", 1))
    build_here(wrong)
    programs["wrong"] = wrong
    for name, network, options, status, said in (
        ("plain", one, ["--update"], 2, "compile it with the same options"),
        ("plain", two, [], 2, "compile it with the same options"),
        ("update", two, ["--update"], 2, "the board has weights"),
        ("wrong", one, [], 5, None),
    ):
        line = Line(0)
        board = subprocess.Popen([programs[name] / "program"], stdin=line.board, stdout=line.board)
        found, told = validate(tinyort, network, None, line.path, *options)
        board.kill()
        board.wait()
        line.close()
        told_so = said in told["error"]["message"] if said else told.get("equal") is False and told["outputs"][0]["differing"] > 0
        tally.check(found == status and told_so, f"{name} {options}: {found} {told}")
    line = Line(0)
    for port, said in ((line.path, "the board does not answer"), (folder / "none", "No such file"), ("/dev/null", "is no serial port")):
        status, told = validate(tinyort, one, None, port, "--time-limit", "2")
        tally.check(status == 3 and said in told["error"]["message"], f"{port}: {status} {told}")
    line.close()
    status, told = validate(tinyort, one, None, "/dev/null", "--baud", "1234")
    tally.check(status == 2 and "115200" in told["error"]["message"], f"--baud 1234: {told}")


def check_boards(tally, tinyort, folder):
    """The UART of emulated boards; instructions of the RISC-V one are those that it retired."""
    network = products.Network(folder, "board", np.int8, 1)
    for target in filter(None, products.places(tally)):
        own = folder / f"board_{target.name}"
        compile_serial(tally, tinyort, network, target, own, "--io", "integer")
        command = products.build_board(target, own, [own / "net.c", own / "net_weights.c", own / "net_serial.c", HERE / "serial_board.c"])
        command[command.index("-serial") + 1] = "pty"
        board = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        port = None
        while port is None and (line := board.stdout.readline()):
            port = re.search(r"redirected to (/dev/pts/\d+)", line)
        status, told = validate(tinyort, network, target, port[1] if port else "/dev/null", "--io", "integer")
        board.kill()
        board.wait()
        ticks = [step["ticks"] for step in told.get("steps", [])]
        # Two convolutions of 8 filters over 120 pixels are 26,000 and 69,000 multiply-adds.
        tally.check(status == 0 and told.get("equal"), f"{target.name}: {status} {told}")
        bound = re.search(r"#define NET_STACK_BYTES (\d+)", (own / "net.h").read_text())
        tally.check(bound and 100 < told.get("stack_bytes", 0) <= int(bound[1]), f"{target.name}: {told.get('stack_bytes')} bytes of stack, the header: {bound}")
        tally.check(ticks and 60000 < sum(ticks) < 1500000, f"{target.name}: {ticks}")


def main():
    tally = firmware.Tally()
    with tempfile.TemporaryDirectory() as folder:
        for part in (check_line, check_errors, check_boards):
            try:
                part(tally, Path(sys.argv[1]).resolve(), Path(folder))
            except (boards.Failure, subprocess.TimeoutExpired) as failure:
                tally.check(False, f"{part.__name__}: {failure}")
    print(f"firmware-validate: {tally.passed} passed, {tally.failed} failed{f', {tally.skipped} skipped' if tally.skipped else ''}")
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()

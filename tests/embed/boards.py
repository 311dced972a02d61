"""Builds compiled models for boards and runs them in emulators; what they take is read from the linker's map and a plugin of qemu.

The targets, by the words of `tinyort compile --target`: three Cortex-M and a 32-bit RISC-V without an operating system, which reach
files by semihosting (board/), and a Cortex-A under Linux.
"""

import bisect
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STRICT = ["-std=c99", "-ffp-contract=off", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
# Loops of the harness stay loops: a memset in place of one would count as a function of the library that the model needs.
HARNESS = ["-O1", "-fno-tree-loop-distribute-patterns", f"-I{ROOT}"]
TIMEOUT = 300  # seconds for one run of an emulator: some hang where a program faults before it has set its handlers


@dataclass(frozen=True)
class Target:
    name: str
    tools: str  # prefix of the compiler and its tools
    flags: tuple
    emulator: tuple
    start: str = ""  # source of the board's start; empty for programs of Linux
    regions: tuple = ()  # (name, origin, length) of memories, for the linker script
    libraries: tuple = ()

    @property
    def compiler(self):
        return f"{self.tools}gcc"

    @property
    def without_floats(self):
        return "-mfloat-abi=soft" in self.flags or "-mabi=ilp32" in self.flags


def cortex_m(name, machine, *flags, regions, abi="hard"):
    flags = (f"-mcpu={name}", "-mthumb", f"-mfloat-abi={abi}", *flags)
    emulator = ("qemu-system-arm", "-M", machine)
    return Target(name, "arm-none-eabi-", flags, emulator, "start_arm.c", regions, ("-lc_nano", "-lm", "-lgcc"))


# The sizes are those of the emulated boards. The M55's first memory is its 512 kB of ITCM, so weights have the DDR.
MPS2 = (("FLASH", 0x00000000, "4M"), ("RAM", 0x20000000, "4M"))
MPS3 = (("FLASH", 0x00000000, "512K"), ("DDR", 0x60000000, "64M"), ("RAM", 0x21000000, "4M"))
VIRT = (("FLASH", 0x80000000, "8M"), ("RAM", 0x81000000, "8M"))
RISCV_EMULATOR = ("qemu-system-riscv32", "-M", "virt", "-bios", "none")


def riscv(name, architecture, abi):
    flags = ("--specs=picolibc.specs", f"-march={architecture}", f"-mabi={abi}", "-mcmodel=medany")
    return Target(name, "riscv64-unknown-elf-", flags, RISCV_EMULATOR, "start_riscv.c", VIRT, ("-lc", "-lm", "-lgcc"))


# Code for Cortex-M0+ and M23, of which qemu has no board of this size, runs on boards of Cortex-M3 and M4, whose instructions include theirs.
ALL = (
    cortex_m("cortex-m0plus", "mps2-an385", regions=MPS2, abi="soft"),
    cortex_m("cortex-m3", "mps2-an385", regions=MPS2, abi="soft"),
    cortex_m("cortex-m23", "mps2-an386", regions=MPS2, abi="soft"),
    cortex_m("cortex-m4", "mps2-an386", "-mfpu=fpv4-sp-d16", regions=MPS2),
    cortex_m("cortex-m7", "mps2-an500", "-mfpu=fpv5-d16", regions=MPS2),
    cortex_m("cortex-m55", "mps3-an547", regions=MPS3),
    riscv("riscv32", "rv32imafc", "ilp32f"),
    riscv("rv32imac", "rv32imac", "ilp32"),
    Target("cortex-a53", "aarch64-linux-gnu-", ("-mcpu=cortex-a53", "-static"), ("qemu-aarch64",), libraries=("-lm",)),
)
TARGETS = {target.name: target for target in ALL}


class Failure(Exception):
    """A step that did not work; its text is for people."""


class Refusal(Exception):
    """The reason why `tinyort compile` has no form for a model."""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


def succeed(what, *command, **options):
    try:
        done = run(*command, **options)
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{what} ran past {late.timeout} s") from late
    if done.returncode:
        raise Failure(f"{what}: status {done.returncode}: {(done.stdout + done.stderr).strip()[:600]}")
    return done.stdout + done.stderr  # semihosting prints to the one, or to the other


def missing(target):
    """What a target lacks here first, or None."""
    for program in (target.compiler, target.emulator[0]):
        if not shutil.which(program):
            return program
    header = run(target.compiler, *target.flags, "-E", "-include", "math.h", "-x", "c", "/dev/null")
    return f"the C library of {target.compiler}" if header.returncode else None


# ---- tinyort ----------------------------------------------------------------------------------------------------------


def compile_options(target):
    """The options that make `tinyort compile` write for a target."""
    return ["--target", target.name]


def chain(target):
    """The provider whose results a target must give: the one that runs the same code on the host."""
    return f"firmware:target={target.name}"


def compile_model(tinyort, model, shapes, target, out, *more):
    """Writes the model's files into the folder `out`; returns what `tinyort compile --json` tells of them."""
    fixed = [word for name, shape in shapes.items() for word in ("--shape", f"{name}={'x'.join(map(str, shape))}")]
    done = run(tinyort, "compile", model, "-o", out, "--json", *fixed, *compile_options(target), *more)
    told = json.loads(done.stdout)
    if done.returncode == 4:
        raise Refusal(told["error"]["message"])
    if done.returncode:
        raise Failure(f"tinyort compile: {told['error']['message']}")
    return told


def expected_outputs(tinyort, model, values, target, folder):
    """The outputs that the provider gives on the host for a list of (name, input)."""
    shutil.rmtree(folder, ignore_errors=True)  # outputs of another model of this name would be counted
    folder.mkdir(parents=True)
    words = []
    for i, (name, value) in enumerate(values):
        np.save(folder / f"in{i}.npy", value)
        words += ["--input", f"{name}={folder / f'in{i}.npy'}"]
    succeed("tinyort run", tinyort, "run", model, "--ep", chain(target), *words, "--save", folder / "out")
    return [np.load(folder / "out" / f"output_{i}.npy") for i in range(len(list((folder / "out").glob("output_*.npy"))))]


# ---- building ---------------------------------------------------------------------------------------------------------


def ports_of(header, name):
    """(type, parameter) of each buffer that NAME_run takes, without the arena."""
    signature = re.search(rf"\bint {name}_run\(([^)]*)\);", header)
    if not signature:
        raise Failure(f"{name}.h declares no {name}_run")
    return re.findall(r"(\w+) \*((?:in|out)\d+)", signature[1])


def print_ports(kind, ports, capitals):
    """C of the buffers of inputs or of outputs, and their table."""
    own = [(element, port) for element, port in ports if port.startswith(kind)]
    buffers = [f"static {element} {port}[{capitals}_{port.upper()}_SIZE];" for element, port in own]
    rows = ", ".join(f'{{"{port}.raw", {port}, sizeof {port}}}' for _, port in own)
    table = f"harness_{kind}puts"
    count = f"const size_t harness_{kind}put_count = sizeof {table} / sizeof *{table};"
    return "\n".join([*buffers, f"const harness_port {table}[] = {{{rows}}};", count])


def print_model(name, header):
    """C of what harness.c knows of the model."""
    ports, capitals = ports_of(header, name), name.upper()
    return f"""#include "{name}.h"
#include "tests/embed/harness.h"
#include <stdint.h>

{print_ports("in", ports, capitals)}
{print_ports("out", ports, capitals)}
static unsigned char arena[{capitals}_ARENA_BYTES + 1] __attribute__((aligned({capitals}_ARENA_ALIGN)));
const harness_port harness_arena = {{"", arena, {capitals}_ARENA_BYTES}};

int harness_run(void) {{
    return {name}_run({", ".join(port for _, port in ports)}, arena);
}}
"""


def linker_script(target):
    weights = "DDR" if any(name == "DDR" for name, _, _ in target.regions) else "FLASH"
    rows = [f"    {name} : ORIGIN = {origin:#x}, LENGTH = {length}" for name, origin, length in target.regions]
    return (HERE / "board/board.ld.in").read_text().replace("@REGIONS@", "\n".join(rows)).replace("@WEIGHTS@", weights)


def link_options(target, folder):
    if not target.start:
        return []
    (folder / "board.ld").write_text(linker_script(target))
    return ["-nostdlib", "-T", folder / "board.ld", "-Wl,--no-warn-rwx-segments"]


def build(target, option, generated, name, folder):
    """Builds the files in `generated` for a target, with an option as -O2: FOLDER/program and the map of it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ports.c").write_text(print_model(name, (generated / f"{name}.h").read_text()))
    board = ("semihost.c", "start.c", target.start) if target.start else ("host_files.c",)
    sources = [(generated / f"{part}.c", [option]) for part in (name, f"{name}_weights")]
    harness = [folder / "ports.c", HERE / "harness.c", *(HERE / "board" / source for source in board)]
    sources += [(source, HARNESS) for source in harness]
    objects = []
    for source, flags in sources:
        objects.append(folder / f"{source.stem}.o")
        words = [*target.flags, *STRICT, *flags, f"-I{generated}", "-ffunction-sections", "-fdata-sections"]
        succeed(f"{target.compiler} {source.name}", target.compiler, *words, "-c", source, "-o", objects[-1])
    libraries = ["-Wl,--start-group", *target.libraries, "-Wl,--end-group"]
    words = [*target.flags, "-Wl,--gc-sections", f"-Wl,-Map={folder / 'map'}", *link_options(target, folder)]
    succeed("linking", target.compiler, *words, *objects, *libraries, "-o", folder / "program")


# Routines of libgcc, by its own names and by those of Arm's ABI, and of libm.
FLOATS = r"__aeabi_(c?[fd]|u?[il]2[fd])|__(fix|float|extend|trunc)\w*[sd]f|__\w+[sd]f[23]$|(exp|log|sqrt|floor|ceil|rint|fma|fmod|pow)f?$"


def float_routines(target, folder, name):
    """Routines of floats that the model's own code calls."""
    words = succeed("nm", f"{target.tools}nm", "-u", folder / f"{name}.o").split()
    return sorted(word for word in words if re.match(FLOATS, word))


def sizes(folder, name):
    """Bytes of code and constants by the linker's map: of the model, of its weights, of the libraries."""
    found = {"code": 0, "weights": 0, "lib": 0}
    text = (folder / "map").read_text().split("Linker script and memory map", 1)[1]
    # A section whose name is long has its numbers in the line below.
    for size, file in re.findall(r"^ \.(?:text|s?rodata|s?data)\S*\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (\S.*)$", text, re.M):
        part = {f"{name}.o": "code", f"{name}_weights.o": "weights"}.get(Path(file).name, "lib" if ".a(" in file else None)
        if part:
            found[part] += int(size, 16)
    return found


# ---- running ----------------------------------------------------------------------------------------------------------


def build_plugins(compiler, targets, folder):
    """insn.c for each emulator, by its program: newer ones want a newer version of the interface."""
    plugins = {}
    for program in {target.emulator[0] for target in targets}:
        release = int(re.search(r"version (\d+)", succeed(program, program, "--version"))[1])
        plugins[program] = folder / f"{program}.so"
        words = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-DPLUGIN_VERSION={1 if release < 9 else 2}"]
        folder.mkdir(parents=True, exist_ok=True)
        succeed("insn.c", *compiler.split(), *words, HERE / "insn.c", "-o", plugins[program])
    return plugins


def symbols(target, folder):
    """[(address, name)] of functions, by address."""
    lines = (line.split() for line in succeed("nm", f"{target.tools}nm", folder / "program").splitlines())
    return sorted((int(words[0], 16) & ~1, words[2]) for words in lines if len(words) == 3 and words[1] in "tTwW")


def plugin_words(target, folder, plugin):
    address = {name: where for where, name in symbols(target, folder)}
    places = f"begin={address['harness_begin']:x},end={address['harness_end']:x}"
    return ["-plugin", f"{plugin},{places},out=blocks"]


def execute(target, folder, values, plugin=None):
    """Runs FOLDER/program on the inputs; returns its stack's depth and, with a plugin, the instructions by function."""
    for i, (_, value) in enumerate(values):
        (folder / f"in{i}.raw").write_bytes(value.tobytes())
    counting = plugin_words(target, folder, plugin) if plugin else []
    quiet = ["-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native"]
    words = [*target.emulator, *counting, *([*quiet, "-kernel"] if target.start else []), "./program"]
    told = succeed(target.emulator[0], *words, cwd=folder, timeout=TIMEOUT)
    return int(re.search(r"^stack (\d+)$", told, re.M)[1]), by_function(target, folder) if plugin else {}


def by_function(target, folder):
    places = symbols(target, folder)
    starts, found = [address for address, _ in places], {}
    for line in (folder / "blocks").read_text().splitlines():
        address, instructions, executions = line.split()
        name = places[bisect.bisect_right(starts, int(address, 16)) - 1][1]
        found[name] = found.get(name, 0) + int(instructions) * int(executions)
    return found


def outputs(folder, expected):
    """The outputs that FOLDER/program has written, with the types and shapes of the expected ones."""
    found = []
    for i, value in enumerate(expected):
        data = (folder / f"out{i}.raw").read_bytes()
        if len(data) != value.nbytes:
            raise Failure(f"output {i} has {len(data)} bytes, expected {value.nbytes}")
        found.append(np.frombuffer(data, value.dtype).reshape(value.shape))
    return found


# ---- comparing --------------------------------------------------------------------------------------------------------

def compare(found, expected):
    """Raises Failure unless all outputs have the expected bits; no function of the target's math library is involved that could differ."""
    for i, (own, other) in enumerate(zip(found, expected, strict=True)):
        if own.tobytes() == other.tobytes():
            continue
        with np.errstate(invalid="ignore"):
            distance = np.abs(own.astype(np.float64) - other).max()
        raise Failure(f"output {i} has other bits than --ep firmware: {distance:.3g} from it")

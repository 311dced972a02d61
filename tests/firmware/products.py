"""What a product does with a compiled model besides running it (product.c): on this machine with sanitizers, and on emulated boards.

Usage: products.py TINYORT, from the root of the tree. A small network in 8 bits, whose callers have integers, in the forms that options make of it;
its outputs are those of --ep firmware, and the helpers of its ports are held to numpy. A board without its tools is skipped, which is said.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import run as firmware
from integers import Form

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "embed"))
import boards  # noqa: E402

HERE = Path(__file__).resolve().parent
SANITIZE = ["clang", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
BOARDS = ("cortex-m4", "riscv32")
VALUES = 4000
CONFIG = """\
void product_before(int step);
void product_after(int step);
int product_cancels(int step);
#define NET_BEFORE(step) product_before(step)
#define NET_AFTER(step) product_after(step)
#define NET_CANCELS(step) product_cancels(step)
"""
SECTIONS = """\
#define PRODUCT_SECTIONS
#define NET_CODE __attribute__((section("product_code")))
#define NET_WEIGHTS __attribute__((section("product_weights")))
#define NET_HOT_WEIGHTS __attribute__((section("product_hot_weights")))
"""


class Network:
    """Two convolutions, a sum, a pool and a product; its scales and weights are those of one training."""

    def __init__(self, folder, name, kind, training):
        form = Form(kind, training)
        x = form.quantize("x")
        self.x_scale, self.x_zero = (number_of(form.weights[i]) for i in (0, 1))

        def conv(x, filters, channels, scale):
            weight = form.weight(filters, channels, 3, 3)
            return form.quantize(form.node("Relu", form.node("Conv", x, weight, form.bias(scale), pads=[1, 1, 1, 1])))

        first = conv(x, 8, 3, self.x_scale)
        second = conv(first, 8, 8, number_of(form.weights[-2]))
        pooled = form.quantize(form.node("GlobalAveragePool", form.quantize(form.node("Add", first, second))))
        scale = number_of(form.weights[-2])
        weight = form.weight(5, 8)
        y = form.node("Gemm", form.node("Flatten", pooled), weight, form.bias(scale), transB=1)
        y = form.quantize(y)
        self.y_scale, self.y_zero = (number_of(w) for w in form.weights[-2:])
        form.save(name, [1, 3, 12, 10], [y], folder)
        self.name, self.path, self.kind = name, folder / f"{name}.onnx", np.dtype(kind)
        self.x = form.rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, (1, 3, 12, 10)).astype(kind)


def number_of(tensor):
    from onnx import numpy_helper

    return numpy_helper.to_array(tensor).reshape(())


def quantized(values, scale, zero, kind):
    """QuantizeLinear by the standard's text, in float32."""
    info = np.iinfo(kind)
    with np.errstate(over="ignore"):
        steps = np.rint(values / np.float32(scale))
    return np.clip(steps.astype(np.float64) + int(zero), info.min, info.max).astype(kind)


def write_files(network, tinyort, target, folder):
    """The files that product.c reads: input, output of --ep firmware, and values of ports by numpy."""
    real = (network.x.astype(np.float32) - np.float32(int(network.x_zero))) * network.x_scale
    expected, = boards.expected_outputs(tinyort, network.path, [("x", real)], target, folder / "host")
    network.x.tofile(folder / "in0.raw")
    quantized(expected, network.y_scale, network.y_zero, network.kind).tofile(folder / "out0.raw")
    random = np.random.default_rng(5)
    steps = random.integers(-600, 600, VALUES).astype(np.float32) / 2  # half of them between two integers
    values = np.concatenate([steps[: VALUES // 2] * network.x_scale, random.normal(0, 4, VALUES // 2).astype(np.float32)])
    values[:6] = np.inf, -np.inf, 0, -0.0, 3e38, -3e38
    values.astype(np.float32).tofile(folder / "values.raw")
    quantized(values.astype(np.float32), network.x_scale, network.x_zero, network.kind).tofile(folder / "integers.raw")
    integers = np.arange(256).astype(np.uint8).view(network.kind)
    ((integers.astype(np.float32) - np.float32(int(network.y_zero))) * network.y_scale).tofile(folder / "reals.raw")


def prepare(tally, network, tinyort, target, folder, *options):
    """Compiles the network and writes what it is tried with."""
    folder.mkdir(parents=True)
    words = [tinyort, "compile", network.path, "-o", folder, "--name", "net", "--io", "integer", "--target", target.name, *options]
    done = firmware.run(*words)
    tally.check(done.returncode == 0, f"compile {network.name} {options}: {done.stderr}")
    tally.check(("tinyort_next_band(" in (folder / "net.c").read_text()) == ("--bands" in options), f"{network.name} {options}: bands")
    write_files(network, tinyort, target, folder)
    (folder / "net_config.h").write_text(CONFIG + SECTIONS + ("#define PRODUCT_UPDATE\n" if "--update" in options else ""))


def build_here(folder):
    sources = [*folder.glob("net*.c"), HERE / "product.c", HERE.parent / "embed/board/host_files.c"]
    boards.succeed("clang", *SANITIZE, *firmware.STRICT, f"-DPRODUCT_VALUES={VALUES}", f"-I{folder}", f"-I{boards.ROOT}", *sources, "-lm", "-o", folder / "program")
    return [folder / "program"]


def build_board(target, folder, sources):
    """The command that runs a program of these sources on a board, but for what the board begins with."""
    board = HERE.parent / "embed/board"
    sources = [*sources, board / "semihost.c", board / "start.c", board / target.start]
    words = [*target.flags, *boards.STRICT, "-O2", f"-DPRODUCT_VALUES={VALUES}", "-DNET_STACK_PAINTED=4096", f"-I{folder}", f"-I{boards.ROOT}", *boards.link_options(target, folder)]
    libraries = ["-Wl,--start-group", *target.libraries, "-Wl,--end-group"]
    boards.succeed(target.compiler, target.compiler, *words, *sources, *libraries, "-o", folder / "program")
    quiet = ["-icount", "shift=0", "-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native"]
    return [*target.emulator, *quiet, "-kernel", folder / "program"]


def try_product(tally, what, command, folder):
    done = firmware.run(*command, cwd=folder)
    told = done.stdout + done.stderr
    checks = re.search(r"^checks +(\d+)$", told, re.M)
    tally.check(done.returncode == 0 and checks and "FAILED" not in told, f"{what}: {told[-800:]}")
    tally.passed += int(checks[1]) - 1 if checks and done.returncode == 0 else 0
    if "-icount" in command:  # two convolutions of 26,000 and 69,000 multiply-adds, a sum, a mean, a product and what is between
        steps = {name: int(count) for name, count in re.findall(r"^(\S+): instructions +(\d+)$", told, re.M)}
        tally.check(len(steps) > 3 and 60000 < sum(steps.values()) < 1500000, f"{what}: instructions of steps are {steps}")


def check_sections(tally, what, target, folder):
    """Code, weights and those that a run reads many times have the sections that the product gives them."""
    words = boards.succeed("objdump", f"{target.tools}objdump" if target else "objdump", "-h", folder / "program")
    sizes = {name: int(size, 16) for name, size in re.findall(r"^ *\d+ (product_\w+) +([0-9a-f]+)", words, re.M)}
    apart = (folder / "net_weights.bin").exists()
    told = all(sizes.get(f"product_{name}", 0) > least for name, least in (("code", 400), ("weights", 40), ("hot_weights", 700))[: 1 if apart else 3])
    tally.check(told, f"{what}: sections are {sizes}")


def build(target, folder):
    return build_board(target, folder, [*folder.glob("net*.c"), HERE / "product.c"]) if target else build_here(folder)


def places(tally):
    """This machine, and the boards whose tools are here."""
    for target in (None, *map(boards.TARGETS.get, BOARDS)):
        lack = target and boards.missing(target)
        if lack:
            tally.skip(f"{target.name} ({lack} is not installed: make setup-embed)")
        else:
            yield target


def check_forms(tally, tinyort, folder):
    networks = [Network(folder, f"product_{np.dtype(kind).name}", kind, 1) for kind in (np.int8, np.uint8)]
    forms = {"plain": [], "bands": ["--bands"], "aligned": ["--align", "64"], "two": ["--arena", "fast=1K,slow=64K"], "apart": ["--weights", "bin", "--align", "16"]}
    for network in networks:
        for name, options in forms.items():
            for target in places(tally):
                own = folder / f"{network.name}_{name}_{target.name if target else 'here'}"
                prepare(tally, network, tinyort, target or boards.TARGETS["cortex-m4"], own, *options)
                try_product(tally, own.name, build(target, own), own)
                check_sections(tally, own.name, target, own)


def check_update(tally, tinyort, folder):
    """With --update the code of two trainings is the same to the byte: the weights of one, in the program of the other, give what they should. Those of another
    network, and of no --update, are refused."""
    one, two = (Network(folder, f"training_{seed}", np.int8, seed) for seed in (1, 2))
    for form in ("c", "bin"):
        for target in places(tally):
            what = f"update_{form}_{target.name if target else 'here'}"
            a, b = (folder / f"{what}_{name}" for name in "ab")
            for network, own in ((one, a), (two, b)):
                prepare(tally, network, tinyort, target or boards.TARGETS["cortex-m4"], own, "--update", "--weights", form)
            tally.check((a / "net.c").read_bytes() == (b / "net.c").read_bytes(), f"{what}: the code is another")
            headers = ["".join(line for line in (own / "net.h").open() if "NET_WEIGHTS_HASH" not in line) for own in (a, b)]
            tally.check(headers[0] == headers[1], f"{what}: the header is another")
            try_product(tally, what, build(target, a), a)
            weights = f"net_weights.{form}"
            for name in (weights, "in0.raw", "out0.raw", "values.raw", "integers.raw", "reals.raw"):
                (a / name).write_bytes((b / name).read_bytes())
            try_product(tally, f"{what}: the other's weights", build(target, a), a)
            if form == "bin":
                plain = folder / f"{what}_plain"
                prepare(tally, two, tinyort, target or boards.TARGETS["cortex-m4"], plain, "--weights", form)
                data = (plain / weights).read_bytes()
                (a / weights).write_bytes(data + bytes(8192))
                done = firmware.run(*build(target, a), cwd=a)
                tally.check(done.returncode != 0 and "FAILED a run fails" in done.stdout + done.stderr, f"{what}: weights of other code run")


def check_options(tally, tinyort, folder):
    """Values of options that are refused, with a word on what to do; what JSON tells of two memories."""
    network = Network(folder, "options", np.int8, 1)
    for options, said in (
        (["--align", "12"], "a power of two from 8 to 4096, got 12"),
        (["--align", "8192"], "a power of two"),
        (["--arena", "64K"], "as in fast=64K,slow=1M"),
        (["--arena", "fast=0,slow=1M"], "as in fast=64K,slow=1M"),
        (["--update", "--bands"], "--update: not with --bands"),
        (["--arena", "fast=1K,slow=1K"], "beside 1024 bytes of fast memory,"),
    ):
        done = firmware.run(tinyort, "compile", network.path, "-o", folder / "refused", *options)
        tally.check(done.returncode != 0 and said in done.stderr and not (folder / "refused").exists(), f"{options}: {done.returncode}, {done.stderr}")
    told = boards.compile_model(tinyort, network.path, {}, boards.TARGETS["cortex-m4"], folder / "json", "--arena", "fast=1K,slow=64K")
    tally.check(0 < told["arena_bytes"] <= 1024 and 0 < told["slow_arena_bytes"] <= 65536, f"{told['arena_bytes']} {told['slow_arena_bytes']}")
    told = boards.compile_model(tinyort, network.path, {}, boards.TARGETS["cortex-m4"], folder / "json", "--arena", "fast=1M,slow=0")
    tally.check(0 < told["arena_bytes"] and told["slow_arena_bytes"] == 0, "all values fit a fast memory that is large")


def main():
    tally = firmware.Tally()
    with tempfile.TemporaryDirectory() as folder:
        for part in (check_forms, check_update, check_options):
            try:
                part(tally, Path(sys.argv[1]).resolve(), Path(folder))
            except (boards.Failure, subprocess.TimeoutExpired) as failure:
                tally.check(False, f"{part.__name__}: {failure}")
    print(f"firmware-products: {tally.passed} passed, {tally.failed} failed{f', {tally.skipped} skipped' if tally.skipped else ''}")
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()

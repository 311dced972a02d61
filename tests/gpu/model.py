#!/usr/bin/env python3
"""Says without a GPU what a kernel or a network should take on one.

How to reason about the time of a kernel. A GPU has a few resources, each with a rate, and a kernel asks for so much of each:

  memory        bytes that it must read and write           at the rate of the memory
  instructions  of all its warps (machine code, counted)    4 a clock of a multiprocessor: it has 4 schedulers
  multiplying   multiplications with addition               by FMA or by tensor cores
  shared        bytes of products that go through it        128 a clock of a multiprocessor
  waiting       a warp waits for memory and for its own instructions: it lives (trips to memory) x (latency) + (its instructions)
                x (4 clocks, until a result can be used). Registers, threads and shared memory say how many warps live at a
                time; the rest come in waves behind them. (Little's law: rate = what is under way / how long it takes.)

All of these go on at a time, so the slowest decides (the roofline, Williams et al. 2009), and the name of the slowest says what to
improve. Before it comes the start: until a launch has its first bytes, and its last are written. A recorded run is a sum of launches.

Three figures are measured, once for all kernels (MEASURED); rates are those of data sheets, and the rest is counted: bytes from
shapes, instructions and registers from the machine code that was timed (COUNTS). No kernel and no network has a figure of its own."""

import argparse
import math
import re
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci"))
from model_counts import A_DIMENSION, COUNTS, DEPENDENT, DEVICES, ISSUED, L2, LIBRARY_TILES, PARTS, SHARED, SINCE, TILES, TILES_SINCE, Count  # noqa: E402
from model_nodes import INPUTS, TYPES, family_of, flops, joined, plan, product_of, read_lines  # noqa: E402
from sass import resident_warps  # noqa: E402: occupancy by registers, threads and shared memory, and where that stands

# ---- what is measured ----


class Measured(NamedTuple):
    start: float  # seconds of a launch beside its work
    share: float  # of a data sheet's peak that the best code reaches: memory, tensor cores, FMA
    latency: float  # seconds of a trip to memory


# Of the H200. The start is that of copies: what their time has that does not grow with their bytes. The others are those for which
# the median error of every second case of RESULTS.md is least (--fit; cuDNN's are not among them). No other device was measured: theirs
# are taken to be the same.
MEASURED = Measured(4e-6, 0.83, 0.5e-6)
PLANNED = (COUNTS, TILES), ({**COUNTS, **SINCE}, TILES_SINCE)  # code as it was timed, and today's

# ---- the model ----


class Time(NamedTuple):
    seconds: float
    bound: str  # what decided


def launch(measured, **limits):
    bound = max(limits, key=limits.get)
    return Time(measured.start + limits[bound], bound)


def together(times):
    """Launches one after the other; what decides is that of the longest."""
    return Time(sum(time.seconds for time in times), max(times).bound)


class Unit(NamedTuple):
    """What multiplies: elements of the depth in a step (tiling.c), and their bytes."""

    step: int
    bytes: int


FMA, HALF, TF32 = Unit(16, 4), Unit(64, 2), Unit(32, 4)


def unit_of(kernel):
    return {"float": FMA, "tf32": TF32}.get(kernel.rsplit("_", 1)[1], HALF)


def pieces(length, piece):
    return -(-int(length) // int(piece))


class Model:
    """One device, with measured figures, and code of one day: counts of kernels, tiles of products."""

    def __init__(self, device, measured, planned):
        self.device, self.measured, (self.counts, self.tiles) = device, measured, planned

    def copying(self, count):
        return count / self.device.memory / self.measured.share

    def cycles(self, clocks):
        return clocks / self.device.clock

    def stream(self, count, elements, count_bytes):
        """A kernel whose threads each take some elements."""
        d, warps = self.device, pieces(elements, count.elements * 32)
        resident = d.processors * resident_warps(d.architecture, count.threads, count.registers, count.shared)
        alive = count.trips * self.measured.latency + self.cycles(DEPENDENT * count.instructions)
        return launch(self.measured, memory=self.copying(count_bytes), waiting=math.ceil(warps / resident) * alive,
                      instructions=self.cycles(warps * count.instructions / ISSUED / d.processors))

    def product(self, kernel, size, count_bytes):
        """A product (m, n, k, batches) by tiles of our own, of which, and in how many parts, kernels/cuda/tiling.c decides."""
        unit = unit_of(kernel)
        _, tile, parts = min((self.estimate(tile, parts, unit, size), at, parts) for at, tile in enumerate(self.tiles[kernel])
                             for parts in self.offered(tile, unit, size))
        return self.tiled(self.tiles[kernel][tile], parts, unit, size, count_bytes)

    def macs(self, unit):
        """Multiplications a clock of a multiprocessor: tensor cores take half as many floats as halves."""
        return self.device.fma if unit is FMA else self.device.mma * 2 / unit.bytes

    def blocks(self, tile, size):
        return pieces(size[0], tile.rows) * pieces(size[1], tile.columns) * size[3]

    def resident(self, tile):
        return resident_warps(self.device.architecture, tile.threads, tile.registers, tile.shared * 1024) * 32 // tile.threads

    def offered(self, tile, unit, size):
        """Numbers of parts to be tried, none if the tile is not: choose_tile and best_parts in tiling.c."""
        m, n, k, _ = size
        large = tile.rows * tile.columns > 4096 and (tile.rows >= 2 * m or tile.columns >= 2 * n)
        if (tile.rows == 32) != (m <= 32) or (m > 32 and large) or not self.resident(tile):
            return []
        max_parts = 1 if self.blocks(tile, size) >= self.device.processors else min(32, pieces(k, unit.step))
        return [parts for parts in (1, 2, 3, 4, 6, 8, 11, 14, 18, 23, 29) if parts <= max_parts]

    def estimate(self, tile, parts, unit, size):
        """Its clocks as tiling.c estimates them (clocks_of), which is to choose a tile, and cruder than what follows."""
        step, mine = unit.step, pieces(self.blocks(tile, size) * parts, self.device.processors)
        elements, lines = tile.rows * tile.columns, tile.rows + tile.columns
        macs = elements * step // self.macs(unit)
        shared = self.through_shared(tile, unit) * step if unit is not FMA and self.tiles is TILES_SINCE else 0
        a_step = max(pieces(mine, self.resident(tile)) * 400, mine * max(macs, shared, lines * step * unit.bytes // L2))
        return pieces(pieces(size[2], step), parts) * a_step + (2500 + (parts + 1) * elements * 4 // L2 if parts > 1 else 0)

    def through_shared(self, tile, unit):
        """Clocks for one of the depth on tensor cores: what a block copies in, and what its warps read."""
        return (tile.rows + tile.columns + tile.threads // 32 * (tile.warp_rows + tile.warp_columns)) * unit.bytes / SHARED

    def tiled(self, tile, parts, unit, size, count_bytes):
        d, (m, n, k, batch) = self.device, size
        steps, mine = pieces(pieces(k, tile.step), parts), pieces(self.blocks(tile, size) * parts, d.processors)
        elements, lines = tile.rows * tile.columns, tile.rows + tile.columns
        macs = elements * tile.step / self.macs(unit) / self.measured.share
        waves, latency = pieces(mine, self.resident(tile)), self.measured.latency
        clocks = {"multiplying": mine * steps * macs, "instructions": mine * steps * tile.instructions * tile.threads / 32 / ISSUED,
                  "shared": mine * steps * tile.step * self.through_shared(tile, unit) if unit is not FMA else 0,
                  "L2": mine * steps * lines * tile.step * unit.bytes / L2}
        joined = self.cycles(mine * elements * 4 * 2 / L2) + 2 * latency if parts > 1 else 0
        return launch(self.measured, memory=self.copying(count_bytes),
                      waiting=joined + waves * (latency + self.cycles(steps * tile.instructions * DEPENDENT)),
                      **{name: latency + joined + self.cycles(count) for name, count in clocks.items()})

    def library(self, rate, size, count_bytes):
        """A product by a library, whose code is not there to count: whole tiles at the rate of the device."""
        d, (m, n, k, batch) = self.device, size

        def seconds(tile, parts):
            mine = pieces(pieces(m, tile[0]) * pieces(n, tile[1]) * batch * parts, d.processors)
            joining = self.cycles(mine * tile[0] * tile[1] * 8 / L2) + 2 * self.measured.latency if parts > 1 else 0
            return joining + mine * tile[0] * tile[1] * 2 * k / parts * d.processors / rate / self.measured.share

        return launch(self.measured, memory=self.copying(count_bytes),
                      multiplying=min(seconds(tile, parts) for tile in LIBRARY_TILES for parts in PARTS if parts * 32 <= max(k, 32)))

    def attention(self, unit, q, k, count_bytes, batch, width):
        """Blocks of 64 queries by 4 warps, which go through the keys: attend_mma.cu, attend_float.cu."""
        d, keys = self.device, 32 if unit is FMA else 64  # of a step; the loop of floats by FMA is 8 of the width
        instructions, registers, shared = {FMA: (295 * width / 32, 214, 56000), HALF: (423, 161, 35000), TF32: (869, 161, 52000)}[unit]
        blocks, steps = pieces(q, 64) * batch, pieces(k, keys)
        resident = resident_warps(d.architecture, 128, registers, shared) // 4
        macs = 2 * 64 * width * keys / self.macs(unit) / self.measured.share
        mine = pieces(blocks, d.processors)
        return launch(self.measured, memory=self.copying(count_bytes), multiplying=self.cycles(mine * steps * macs),
                      instructions=self.cycles(mine * steps * instructions),
                      waiting=pieces(mine, resident) * (2 * self.measured.latency + self.cycles(steps * instructions * DEPENDENT)))


# ---- operators: what each asks for, from its shapes ----


def broadcast_rank(shapes):
    """Dimensions that are left once neighbours are merged which all operands repeat alike."""
    rank = max(len(shape) for shape in shapes)
    full = [[1] * (rank - len(shape)) + list(shape) for shape in shapes]
    kinds = [tuple(shape[d] == 1 for shape in full) for d in range(rank) if max(shape[d] for shape in full) > 1]
    return sum(a != b for a, b in zip(kinds, kinds[1:])) + 1


def more(count, rank):
    return count._replace(instructions=count.instructions + A_DIMENSION * (rank - 1))


def elementwise(model, node):
    name = node.op if node.op in model.counts else "where" if node.op == "Where" else "binary"
    count, shapes = model.counts[name][node.half], [shape for shape in node.inputs if shape] + [node.output]
    return model.stream(more(count, broadcast_rank(shapes)) if name in ("binary", "where") else count, math.prod(node.output), node.moved())


def rows(model, node):
    return model.stream(model.counts[node.kernel][node.half], math.prod(node.output), node.moved())


def softmax(model, node):
    if node.inputs[0][-1] <= 256 * 16:
        return rows(model, node)
    each = node.inputs[0][-1] / 256  # elements of a thread, one at a time, twice: 49 instructions, then 31
    return model.stream(Count(80 * each, each, each / 2, 48), math.prod(node.output), node.moved() + math.prod(node.output) * node.bytes)


def batch_norm(model, node):
    inner, pack = math.prod(node.output[2:]), 16 // node.bytes
    threads = min(256, pieces(pieces(inner / pack, 2), 32) * 32)
    loops = inner / pack / threads
    return model.stream(Count(130 + loops * (44 if node.half else 24), loops * pack, 1 + loops, 30, threads), math.prod(node.output), node.moved())


def reduce(model, node):
    read, loop = math.prod(node.inputs[0]), 91
    if node.output[-1] == node.inputs[0][-1]:  # columns: 32 a block, a row in eight a thread
        each = read / math.prod(node.output) / 8
        return model.stream(Count(200 + each / 8 * loop, each, each / 8, 37), read, node.moved())
    length = read / math.prod(node.output)
    threads = min(256, pieces(length / 8, 32) * 32)
    eights, rest = divmod(length / threads, 8)
    return model.stream(Count(160 + eights * loop + rest * 45, length / threads, eights + rest, 32, threads), read, node.moved())


def pool_global(model, node):
    return model.stream(model.counts[node.kernel][node.half], math.prod(node.inputs[0]), node.moved())


def move(model, node):
    """Boxes: in packs where the last dimension stays, else by tiles of 64 x 64 in shared memory. Concat: a launch an input."""
    order = node.numbers("perm", None)
    if order and order[-1] != len(order) - 1:
        return model.stream(model.counts["tiles"][node.half], math.prod(node.output), node.moved())
    count = model.counts["move_box"][node.half]
    if order:
        return model.stream(count, math.prod(node.output), node.moved())
    parts = [model.stream(count._replace(instructions=160), math.prod(shape), 2 * math.prod(shape) * node.bytes) for shape in node.inputs]
    return together(parts)


def gather(model, node):
    return model.stream(model.counts["gather"][node.half], math.prod(node.output), node.moved())


def epilogue(model, node):
    elements = math.prod(node.output)
    return model.stream(model.counts["epilogue"][node.half], elements, 2 * elements * node.bytes)


def added(model, node, time):
    """What an own kernel does to its sums before it stores them: only the instructions of an activation by erf count."""
    if "gelu" not in node.attributes.get("activation", ""):
        return time
    count = model.counts["epilogue"][node.half]
    warps = math.prod(node.output) / 32 / count.elements
    return time._replace(seconds=time.seconds + model.cycles(warps * count.instructions / ISSUED / model.device.processors))


def rate_of(model, node):
    d = model.device
    return d.half if node.half else d.tf32 if node.tf32 else 2 * d.fma * d.processors * d.clock


def few_rows(model, node, size):
    """A reader of the weights: bound by them. 44 instructions for 16 floats, 207 for 64 halves, as many loads as that at a time."""
    each = 64 if node.half else 16
    d, resident = model.device, model.device.processors * 32 * 32
    trips = size[1] * size[2] / resident / each
    alive = model.measured.latency + model.cycles((207 if node.half else 44) * DEPENDENT)
    return launch(model.measured, memory=model.copying(node.moved()), waiting=trips * alive)


def matmul(model, node):
    (m, n, k, batches), count = product_of(node), joined(node)
    own = "matmul_half" if node.half else "matmul_tf32" if node.tf32 else "matmul_float"
    idle = count > 1 and pieces(m, 128) * pieces(n, 128) < model.device.processors  # then one launch of the own kernel serves all
    if "cublas" in node.kernel and not idle:
        times = [model.library(rate_of(model, node), (m, n, k, batches), node.moved() / count)] * count
        return together(times + ([epilogue(model, node)] if "gelu" in node.attributes.get("activation", "") else []))
    if m <= 8:
        return few_rows(model, node, (m, n, k))
    return added(model, node, model.product(own, (m, n, k, batches * count), node.moved()))


def conv(model, node):
    (images, channels, *_), (filters, taken, *kernel), pixels = node.inputs[0], node.inputs[1], math.prod(node.output[2:])
    depth = taken * math.prod(kernel)
    if "cudnn" in node.kernel:
        return model.library(rate_of(model, node), (images * pixels, filters, depth, 1), node.moved())
    if node.kernel == "conv_implicit_gemm":
        return model.product("conv_float", (filters, pixels, depth, images), node.moved())
    if node.kernel == "conv_stem":  # taps of a row are 8; reads what it multiplies once, and so is bound by bytes or its instructions
        depth = taken * kernel[0] * 8
    name = "conv_to_nhwc" if node.kernel == "conv_to_nhwc" else "conv_nhwc" if node.half else "conv_nhwc_tf32"
    return model.product(name, (images * pixels, filters, depth, 1), node.moved())


def attention(model, node):
    (batch, queries, heads, width), keys = node.inputs[0], node.inputs[1][1]
    return model.attention(HALF if node.half else TF32 if node.tf32 and model.tiles is TILES_SINCE else FMA, queries, keys, node.moved(), batch * heads, width)


OPERATORS = {"Softmax": softmax, "LayerNormalization": rows, "BatchNormalization": batch_norm, "ReduceMean": reduce, "ReduceSum": reduce,
             "GlobalAveragePool": pool_global, "MaxPool": rows, "Transpose": move, "Concat": move, "Gather": gather, "Gemm": matmul,
             "MatMul": matmul, "FusedMatMul": matmul, "JoinedMatMul": matmul, "Conv": conv, "FusedConv": conv, "FusedAttention": attention}


def time_of(model, node):
    return OPERATORS.get(node.op, elementwise)(model, node)


# ---- against tests/gpu/RESULTS.md ----


def error(line, measured=MEASURED):
    return time_of(Model(DEVICES[0], measured, PLANNED[0]), line.node).seconds / line.seconds - 1


def start_of_copies(text):
    """Of the time of a copy, what does not grow with its bytes: a line through (MB, time) of the copies that bench.sh took."""
    copies = [(float(mb), float(mb) / float(rate)) for mb, rate in re.findall(r"\| ([\d.]+) \| [\d.]+ \| \d+ \| (\d+) \| \d+ %", text)]
    return statistics.linear_regression(*zip(*copies)).intercept * 1e-3


def fit(text):
    """The measured figures, of the half of the lines that is not held out."""
    lines = [line for line in read_lines(text) if not line.held_out and line.family != "cuDNN"]
    choices = [Measured(round(start_of_copies(text), 7), share / 100, latency * 5e-8) for share in range(65, 100) for latency in range(4, 21)]
    return min(choices, key=lambda measured: statistics.median(abs(math.log1p(error(line, measured))) for line in lines))


FAMILIES = ("bound by memory", "own products", "own convolutions", "cuBLAS", "cuDNN")
CLOSE = 0.25


def table(head, rows):
    """Aligned: text to the left, numbers to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    numbers = [all(re.match(r"[-+\d.]|$", row[at]) for row in rows) for at in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(row, widths, numbers)).rstrip())


def check(text):
    """Prints the held-out lines; false if fewer of them are close than the page says."""
    held = [line for line in read_lines(text) if line.held_out]
    errors, model = [error(line) for line in held], Model(DEVICES[0], MEASURED, PLANNED[0])
    table(["held-out line", "family", "measured us", "modelled us", "error %", "bound by"],
          [[line.text[:86], line.family, f"{line.seconds * 1e6:.1f}", f"{line.seconds * (1 + off) * 1e6:.1f}",
            f"{off * 100:+.0f}", time_of(model, line.node).bound + ("" if abs(off) <= CLOSE else "  *")] for line, off in zip(held, errors)])
    print()
    of = {family: [off for line, off in zip(held, errors) if line.family == family] for family in FAMILIES}
    table(["family", "held out", "within 25 %", "median error %", "worst %"],
          [[family, len(found), sum(abs(off) <= CLOSE for off in found), f"{statistics.median(found) * 100:+.0f}",
            f"{max(found, key=abs) * 100:+.0f}"] for family, found in of.items()])
    modelled = [off for family in FAMILIES if family != "cuDNN" for off in of[family]]
    close = [sum(abs(off) <= CLOSE for off in found) for found in (modelled, errors)]
    print(f"held out: {close[0]} of {len(modelled)} held-out lines within 25 % without cuDNN's, {close[1]} of {len(errors)} with them; start "
          f"{MEASURED.start * 1e6:.1f} us, share {MEASURED.share:.2f}, latency {MEASURED.latency * 1e6:.2f} us")
    said = re.search(r"(\d+) of (\d+) held-out\s+lines", text)
    return bool(said) and int(said[2]) == len(modelled) and close[0] >= int(said[1])


# ---- networks ----

def measured_networks(text):
    """(network, batch, type): ms of tinyort, and of PyTorch's best, as RESULTS.md has them."""
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\w+) \| ([\d.]+) \| [\d.]+ \| ([\d.]+) ", text, re.M)
    return {(name, int(batch), kind): (float(ours), float(best)) for name, batch, kind, ours, best in rows}


def seconds(nodes, device):
    return sum(time_of(Model(device, MEASURED, PLANNED[1]), node).seconds for node in nodes)


def convolving(nodes):
    """Percent of a network's time that is convolutions, of which the model says too little."""
    return 100 * seconds([node for node in nodes if "Conv" in node.op], DEVICES[0]) / seconds(nodes, DEVICES[0])


def show_networks(options, text):
    """Modelled ms, with libraries and by own kernels alone, of each device."""
    measured, lines = measured_networks(text), []
    for name, batch, kind in [(name, batch, kind) for name in INPUTS for batch in (1, 32) for kind in TYPES]:
        plans = {(architecture, libraries): plan(options, name, batch, kind, architecture, libraries)
                 for architecture in sorted({device.architecture for device in DEVICES}) for libraries in (True, False)}
        cells = [[seconds(plans[device.architecture, libraries], device) * 1e3 for libraries in (True, False)] for device in DEVICES]
        ours, best = measured.get((name, batch, kind), (None, None))
        lines.append([name, batch, kind, len(plans["sm_90", True])] + [f"{a:.2f} / {b:.2f}" for a, b in cells]
                     + [f"{ours:.2f}" if ours else "", f"{best:.2f}" if best else "", f"{cells[0][0] / best:.2f}" if best else "",
                        f"{convolving(plans['sm_90', True]):.0f}"])
    print("Modelled, not measured: ms with cuBLAS and cuDNN / by own kernels alone, today's. The last columns are H200's: measured on 2026-11-27, "
          "PyTorch's best, modelled / PyTorch's best, and the share of convolutions, of which the model says too little.")
    table(["network", "batch", "type", "nodes"] + [device.name for device in DEVICES] + ["measured", "PyTorch", "ratio", "conv. %"], lines)


def show_nodes(options, name, batch, kind, wanted, libraries="on"):
    """A network's launches on one device, those that are alike in a line."""
    device = next(device for device in DEVICES if device.name == wanted)
    model, lines = Model(device, MEASURED, PLANNED[1]), {}
    for node in plan(options, name, int(batch), kind, device.architecture, libraries == "on"):
        key = node.op, node.kernel, " ".join("x".join(map(str, shape)) for shape in node.inputs[:2] if shape)
        lines.setdefault(key, []).append((time_of(model, node), node))
    table(["number", "op", "kernel", "inputs", "MB each", "GFLOP", "us each", "us", "bound by"],
          [[len(alike), *key, f"{node.moved() / 1e6:.2f}", f"{flops(node) / 1e9:.2f}", f"{time.seconds * 1e6:.1f}",
            f"{time.seconds * len(alike) * 1e6:.0f}", time.bound] for key, alike in lines.items() for time, node in alike[:1]])
    print(f"{name}, batch {batch}, {kind}, {device.name}: {sum(time.seconds for alike in lines.values() for time, _ in alike) * 1e3:.2f} ms, modelled")


def main():
    parser = argparse.ArgumentParser(description="Says without a GPU what kernels and networks should take on one; the head of this file tells how.")
    parser.add_argument("--networks", metavar="FOLDER", help="model the networks there, as tests/gpu/networks.c writes them")
    parser.add_argument("--nodes", metavar="NETWORK:BATCH:TYPE:DEVICE[:off]", help="show its launches: bert:32:float16:H200; off: without libraries")
    parser.add_argument("--tinyort", default="tinyort", metavar="PROGRAM", help="what plans them")
    parser.add_argument("--page", default=ROOT / "tests/gpu/RESULTS.md", type=Path, metavar="FILE", help="what was measured (default tests/gpu/RESULTS.md)")
    parser.add_argument("--fit", action="store_true", help="print the measured figures that the lines not held out give")
    options = parser.parse_args()
    text = options.page.read_text()
    if options.fit:
        print(fit(text))
    elif options.nodes:
        show_nodes(options, *options.nodes.split(":"))
    elif options.networks:
        show_networks(options, text)
    else:
        sys.exit(0 if check(text) else f"gpu-model: fewer than {options.page} says, or of another number")


if __name__ == "__main__":
    main()

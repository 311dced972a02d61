"""What model.py knows of devices, from data sheets, and of kernels, counted in their machine code."""

from typing import NamedTuple

# ---- devices ----


class Device(NamedTuple):
    name: str
    architecture: str
    processors: int  # multiprocessors
    clock: float  # boost, in Hz
    memory: float  # bytes a second
    fma: int  # multiplications with addition a clock of a multiprocessor, of floats
    mma: int  # likewise of halves, by mma.sync, as kernels/cuda/tiling.c has it
    half: float  # FLOP/s of tensor cores as libraries use them, halves with float sums
    tf32: float


# NVIDIA's data sheets of H200 SXM, H100 SXM5 and A100 SXM4 80 GB (dense), and the whitepaper on the Ada architecture.
DEVICES = [Device("H200", "sm_90", 132, 1.98e9, 4.8e12, 128, 1024, 989e12, 494e12),
           Device("H100", "sm_90", 132, 1.98e9, 3.35e12, 128, 1024, 989e12, 494e12),
           Device("A100", "sm_80", 108, 1.41e9, 2.039e12, 64, 1024, 312e12, 156e12),
           Device("RTX 4090", "sm_89", 128, 2.52e9, 1.008e12, 128, 256, 165e12, 82.6e12)]
ISSUED, DEPENDENT, SHARED, L2 = 4, 4, 128, 64  # warps and clocks, see above; bytes a clock of a multiprocessor

# ---- what is counted ----


class Count(NamedTuple):
    """Of a thread: what it executes on its way, the elements that it makes on it, and how often it waits for memory."""

    instructions: float
    elements: float
    trips: float
    registers: int
    threads: int = 256  # of a block
    shared: int = 0  # bytes of a block


# Read out of the code of ptxas 13.0 for sm_90 of commit 43d07aeb, which is what tests/gpu/RESULTS.md timed, to some 15 %: the way of
# a thread that goes through packs, past what edges and other shapes need. float, half.
COUNTS = {
    "Relu": (Count(53, 4, 1, 19), Count(73, 8, 1, 25)),
    "Gelu": (Count(152, 4, 1, 31), Count(264, 8, 1, 32)),
    "Tanh": (Count(107, 4, 1, 28), Count(179, 8, 1, 32)),
    "Clip": (Count(76, 4, 2, 24), Count(106, 8, 2, 28)),
    "Cast": (Count(45, 4, 1, 19), Count(47, 4, 1, 19)),
    "binary": (Count(106, 4, 1, 34), Count(150, 8, 1, 32)),
    "where": (Count(118, 4, 1, 40), Count(162, 8, 1, 40)),
    "epilogue": (Count(340, 4, 1, 36), Count(585, 8, 1, 40)),
    "softmax": (Count(370, 8, 1, 56, 32), Count(375, 8, 1, 64, 32)),
    "norm": (Count(610, 24, 1, 123), Count(580, 24, 1, 120)),
    "move_box": (Count(230, 4, 1, 40), Count(230, 8, 1, 40)),
    "tiles": (Count(740, 16, 4, 56, 256, 16640), Count(740, 16, 4, 56, 256, 8448)),
    "gather": (Count(127, 4, 2, 28), Count(127, 8, 2, 28)),
    "pool_global": (Count(305, 4 * 49 / 32, 2, 32), Count(305, 4 * 49 / 32, 2, 32)),
    "pool_global_nhwc": (None, Count(180, 8 * 49 / 32, 2, 34, 256, 9216)),
    "pool_window": (Count(1320, 3.5, 14.5, 42, 224, 12992), Count(1320, 3.5, 14.5, 42, 224, 6496)),
    "pool_window_nhwc": (None, Count(870, 8, 6, 66)),
}
A_DIMENSION = 50  # instructions for the place of a pack in one more dimension, of a broadcast or a box
# What has changed since and networks are made of today: code of ptxas 12.9 for sm_90, which stands for the other architectures too.
SINCE = {"norm": (Count(550, 24, 1, 80), Count(500, 24, 1, 96)), "epilogue": (Count(290, 4, 1, 34), Count(410, 8, 1, 40)),
         "pool_window_nhwc": (Count(420, 8, 6, 56), Count(620, 8, 6, 50)), "pool_global_nhwc": (Count(180, 8 * 49 / 32, 2, 40, 256, 9216),) * 2}


class Tile(NamedTuple):
    """Of the output of a product, that a block makes; its loop over the depth, `step` at a time."""

    rows: int
    columns: int
    threads: int
    registers: int
    shared: int  # KiB of a block
    instructions: int  # of a thread, in a step
    warp_rows: int = 0  # of which a warp of halves reads its operands
    warp_columns: int = 0
    step: int = 64


def float_tiles(instructions, registers):
    sizes = zip(((128, 128, 256, 64), (128, 64, 256, 32), (64, 64, 128, 32), (32, 128, 128, 32)), instructions, registers)
    return [Tile(rows, columns, threads, used, shared, count, step=8) for (rows, columns, threads, shared), count, used in sizes]


def half_tiles(instructions, registers):
    sizes = zip(((128, 128, 256, 64, 64, 32), (128, 64, 128, 48, 64, 32), (64, 64, 128, 48, 32, 32), (32, 128, 128, 60, 32, 32)),
                instructions, registers)
    return [Tile(*size[:3], used, size[3], count, *size[4:]) for size, count, used in sizes]


def large_tiles(wide, square, others):
    """Today's: warps of 64 x 64, of which 64 of k are 128 tensor-core operations of so many instructions."""
    return [Tile(128, 256, 256, 240, 144, round(128 * wide), 64, 64), Tile(128, 128, 128, 230, 64, round(128 * square), 64, 64)] + others[1:]


# Loops as .ci/sass.py finds them: instructions of a step, registers.
TILES = {"matmul_float": float_tiles((657, 351, 367, 385), (127, 115, 121, 123)),
         "conv_float": float_tiles((692, 369, 412, 479), (128, 113, 113, 107)),
         "matmul_half": half_tiles((190, 200, 116, 127), (122, 149, 106, 105)),
         "conv_nhwc": half_tiles((200, 220, 124, 124), (122, 160, 123, 119)),
         "conv_to_nhwc": half_tiles((876, 870, 463, 464), (179, 179, 136, 136))}
TILES_SINCE = {**TILES, "matmul_half": large_tiles(1.9, 2.3, TILES["matmul_half"]), "conv_nhwc": large_tiles(1.9, 2.4, TILES["conv_nhwc"])}
# Floats on tensor cores: as many operations for half of the depth, and a multiplication for each operand that is rounded.
for kernel, like, wide, square, small in (("matmul_tf32", "matmul_half", 2.9, 3.2, (290, 178, 186)),
                                          ("conv_nhwc_tf32", "conv_nhwc", 2.4, 2.8, (274, 151, 151))):
    tiles = large_tiles(wide, square, TILES[like])
    TILES_SINCE[kernel] = [tile._replace(step=32) for tile in tiles[:2]] + [
        tile._replace(step=32, instructions=count) for tile, count in zip(tiles[2:], small)]
LIBRARY_TILES = [(256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (32, 128)]
PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # into which sums are divided, where multiprocessors would idle

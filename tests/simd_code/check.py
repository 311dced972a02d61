"""Reads the machine code of kernels/cpu/simd: no load of a vector may take in two stores.

    check.py OBJECT...     those that the build has made, of x86-64

A processor forwards a store to a load only where the store has all of its bytes. Compilers copy blocks by pieces of 16 bytes, and a vector
of 32 that is then loaded from the stack waits until both pieces have left for the cache: some ten cycles each, six times the time of a loop
of sums. Found here: in one function, stores of part of a place on the stack, and a wider load of that place.

Loops on the matrix unit (amx.c) have as many loads of tiles as products, four each, and store none: their sums stay in tiles.
"""

import re
import subprocess
import sys

BYTES = {"x": 16, "y": 32, "z": 64}
# Functions that put the rest of a row, fewer elements than a vector has, together on the stack: one such load a row.
RESTS = {"tort_simd_to_float16", "tort_simd_softmax_row", "tort_simd_exp_row"}
# What is found in these instructions: of the first, a copy by pieces of 16 bytes, nothing is forwarded.
TORN = ["\tvmovups (%rsi),%xmm0", "\tvmovaps %xmm0,-0x40(%rsp)", "\tvmovaps %xmm1,-0x30(%rsp)", "\tvaddps -0x40(%rsp),%ymm2,%ymm3"]
WHOLE = ["\tvmovaps %ymm0,-0x40(%rsp)", "\tvmovaps %ymm1,-0x20(%rsp)", "\tvaddps -0x40(%rsp),%ymm2,%ymm3", "\tvmovaps -0x40(%rsp),%xmm4"]
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
PLACE = r"(-?0x[0-9a-f]+|)\((%r\w+)(?:,(%\w+),\d)?\)"
ADDRESS = re.compile(r"\tlea\s+(-?0x[0-9a-f]+|)\(%rsp\),(%r\w+)$")
STORE = re.compile(r"\tv?mov\w*\s+%([xyz])mm\d+," + PLACE)
NARROW = re.compile(r"\tvp?(broadcast|mov[sz]x|cvtp[sh]2p[ds]|cvtdq2pd|cvtph2ps)")  # reads less of memory than it makes
LOAD = re.compile(r"\tv?\w+\s+(?:\$0x[0-9a-f]+,)?" + PLACE + r",(?:%[xyz]mm\d+,)?%([xyz])mm\d+")


def functions(path):
    """Names, and the lines of their code."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    name, lines = None, []
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            if name:
                yield name, lines
            name, lines = match[1], []
        elif name:
            lines.append(line)
    if name:
        yield name, lines


def offset(text):
    return int(text or "0", 16)


def stack_addresses(lines):
    """Registers that hold one address of the stack throughout: its offset from %rsp."""
    held = {"%rsp": 0}
    for line in lines:
        if match := ADDRESS.search(line):
            held[match[2]] = None if match[2] in held else offset(match[1])
    written = {line.rsplit(",", 1)[-1].strip() for line in lines if not ADDRESS.search(line)}
    return {name: at for name, at in held.items() if at is not None and (name == "%rsp" or name not in written)}


def torn_loads(lines):
    """Loads that take in stores of less than what they load."""
    stores, found, stack = {}, [], stack_addresses(lines)
    for line in lines:
        if (match := STORE.search(line)) and match[3] in stack:
            stores[match[4], offset(match[2]) + stack[match[3]]] = BYTES[match[1]]
    for line in lines:
        if (match := LOAD.search(line)) and match[2] in stack and not STORE.search(line) and not NARROW.search(line):
            size, at = BYTES[match[4]], offset(match[1]) + stack[match[2]]
            parts = [start for (index, start), length in stores.items()
                     if index == match[3] and at <= start and start + length <= at + size and length < size]
            if len(parts) > 1:
                found.append(line.split("\t", 1)[1].strip())
    return found


def tile_loops(lines):
    """The products, loads and stores of tiles of each innermost loop that has any."""
    places = {line.split(":")[0].strip(): at for at, line in enumerate(lines) if ":" in line}
    jumps = [(places.get(match[1], at), at) for at, line in enumerate(lines) if (match := re.search(r"\tj\w+\s+([0-9a-f]+) <", line))]
    loops = {(first, last) for first, last in jumps if any("tdpb" in line for line in lines[first:last])}
    for first, last in loops:
        if not any(first <= begin and end <= last and (begin, end) != (first, last) for begin, end in loops):
            yield [sum(word in line for line in lines[first:last]) for word in ("tdpb", "tileload", "tilestore")]


def main():
    passed = int(len(torn_loads(TORN)) == 1) + int(not torn_loads(WHOLE))
    failed, squares = 2 - passed, 0
    for path in sys.argv[1:]:
        for name, lines in functions(path):
            torn = [] if re.sub(r"_v\d(_vnni)?$", "", name) in RESTS else torn_loads(lines)
            passed += not torn
            failed += bool(torn)
            loops = list(tile_loops(lines))
            passed += sum(loads <= products + 1 and not stores for products, loads, stores in loops)
            for products, loads, stores in loops:
                if loads > products + 1 or stores:
                    failed += 1
                    print(f"FAILED: {path}: {name}: a loop of {products} products has {loads} loads and {stores} stores of tiles")
            squares += [4, 4, 0] in loops
            if torn:
                print(f"FAILED: {path}: {name}: {len(torn)} loads of what was stored in pieces: {torn[0]}")
    if any("_amx" in path for path in sys.argv[1:]) and squares < 2:
        failed += 1
        print(f"FAILED: of the two kinds of tiles {squares} have a loop of four loads and four products")
    print(f"simd-code: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

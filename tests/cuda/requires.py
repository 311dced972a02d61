"""What a program, or a wheel, with CUDA code asks of a machine: of the processor, the driver and the GPU, read from its bytes and
compared with what the build says.

Usage: requires.py FILE MACHINE DRIVER "ARCHITECTURES" "PTX"     (FILE an ELF file or a .whl; MACHINE x86_64 or aarch64;
                                                                  DRIVER 525, 550 or 580; lists as CUDA_ARCHS and CUDA_PTX)

The section .nv_fatbin is a row of containers, one a source file, each with an image an architecture. Image headers have the kind,
the architecture, the version of the PTX or of the layout of the machine code (1.7 by ptxas 12; 1.8 by ptxas 13, and by both from
sm_100 on, whose GPUs need drivers that know it), and how the image is compressed: bit 13 is LZ4, which every driver reads, and bit 15 is
Zstandard, which those before 550 do not (NVIDIA's page of nvcc, --compress-mode; `cuobjdump -lelf -lptx` lists the same images)."""

import struct
import sys
import zipfile
from collections import Counter

CONTAINER, PTX, MACHINE_CODE = 0xBA55ED50, 1, 2
LZ4, ZSTANDARD = 0x2000, 0x8000
MACHINES = {62: "x86_64", 183: "aarch64"}
NEWEST_PTX = {"525": (8, 7), "550": (8, 7), "580": (9, 0)}  # that the assembler of CUDA 12.9, or of 13.0, knows
passed = failed = 0


def check(what, holds, found):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print(f"FAILED: {what}: found {found}")


def read(path):
    if not path.endswith(".whl"):
        with open(path, "rb") as file:
            return file.read()
    with zipfile.ZipFile(path) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith("libtinyort-cuda.so")]
        return wheel.read(name)


def sections(elf):
    """(name, bytes) of each section of a 64-bit little-endian ELF file."""
    offset, size, count, names = *struct.unpack_from("<Q", elf, 40), *struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, offset + i * size) for i in range(count)]
    for name, kind, _, _, begin, length in headers:
        start = headers[names][4] + name
        yield elf[start : elf.index(b"\0", start)].decode(), b"" if kind == 8 else elf[begin : begin + length]


def images(fatbin):
    """For each container a list of (kind, architecture, (major, minor) of it, flags, stored bytes)."""
    at = 0
    while at + 16 <= len(fatbin):
        magic, _, header, length = struct.unpack_from("<IHHQ", fatbin, at)
        if magic != CONTAINER:  # padding
            at += 8
            continue
        found, image, at = [], at + header, at + header + length
        while image < at:
            kind, _, bytes_before, stored = struct.unpack_from("<HHIQ", fatbin, image)
            minor, major, architecture = struct.unpack_from("<HHI", fatbin, image + 24)
            found.append((kind, architecture, (major, minor), struct.unpack_from("<Q", fatbin, image + 40)[0], stored))
            image += bytes_before + stored
        yield found


def needed(elf):
    """Names of the shared libraries that the file asks for by itself."""
    table = dict(sections(elf))
    dynamic, strings = table[".dynamic"], table[".dynstr"]
    entries = [struct.unpack_from("<QQ", dynamic, at) for at in range(0, len(dynamic), 16)]
    return [strings[value : strings.index(b"\0", value)].decode() for tag, value in entries if tag == 1]


path, machine, driver, architectures, ptx = sys.argv[1:]
elf = read(path)
architectures, ptx = {int(one) for one in architectures.split()}, {int(one) for one in ptx.split()}
check("the machine", MACHINES.get(struct.unpack_from("<H", elf, 18)[0]) == machine, struct.unpack_from("<H", elf, 18)[0])
libraries = needed(elf)
check("no library of NVIDIA's is linked", not any(name.startswith(("libcu", "libnv")) for name in libraries), libraries)
containers = list(images(dict(sections(elf)).get(".nv_fatbin", b"")))
check("there is code for GPUs", containers, "none")
in_all = set.intersection(*({one[:2] for one in container} for container in containers)) if containers else set()
everything = [image for container in containers for image in container]
coded = {architecture for kind, architecture, *_ in everything if kind == MACHINE_CODE}
check(f"machine code for {sorted(architectures)}", coded == architectures, sorted(coded))
shared = architectures - ({86, 89} if 80 in architectures else set())
check("of every kernel, but where sm_80's runs", {(MACHINE_CODE, one) for one in shared} <= in_all, sorted(in_all))
check(f"PTX for {sorted(ptx)}, of every kernel", {(PTX, one) for one in ptx} <= in_all, sorted(in_all))
versions = {version for kind, _, version, *_ in everything if kind == PTX}
check("PTX that the assembler knows", all(version <= NEWEST_PTX[driver] for version in versions), sorted(versions))
layouts = {version for kind, architecture, version, *_ in everything if kind == MACHINE_CODE and architecture < 100}
check(f"machine code laid out as driver {driver} knows it", driver == "580" or layouts <= {(1, 7)}, sorted(layouts))
compressed = Counter("LZ4" if flags & LZ4 else "Zstandard" if flags & ZSTANDARD else "not compressed" for _, _, _, flags, _ in everything)
allowed = {"LZ4", "not compressed"} if driver == "525" else {"Zstandard", "not compressed"}
check(f"a form that driver {driver} reads", set(compressed) <= allowed, dict(compressed))
for kind, architecture in sorted({image[:2] for image in everything}):
    stored = [image[4] for image in everything if image[:2] == (kind, architecture)]
    print(f"{'PTX-' if kind == PTX else 'sm_'}{architecture:<4} {len(stored):3} files {sum(stored):10,} bytes")
print(f"all       {len(containers):3} files {sum(image[4] for image in everything):10,} bytes, {dict(compressed)}")
print(f"cuda-requires: {passed} passed, {failed} failed")
sys.exit(failed != 0)
